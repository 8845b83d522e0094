"""Inputs and outputs: brought, refused, brought at last."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pulsar_rig import Rig


def test_inputs_output_streams_and_exit_code(any_rig: Rig) -> None:
    job = any_rig.job("cat $2 >$1; echo out; echo err >&2; exit 3", inputs={"in.txt": "given"})
    job.arguments = (f'"{job.folder}/in.txt"',)
    ended = job.launch().wait()
    assert (ended["status"], ended["returncode"]) == ("complete", 3), ended
    assert (ended["stdout"], ended["stderr"]) == ("out\n", "err\n")
    assert job.output.read_text() == "given"
    assert job.new_client().ending().reason is None
    assert not job.finish()


def test_an_input_that_is_refused_fails_the_job_and_the_tool_does_not_run(any_rig: Rig) -> None:
    job = any_rig.job('touch "$2"', inputs={"secret.txt": "x"})
    job.arguments = (str(job.mark("ran")), f"{job.folder}/secret.txt")
    any_rig.files.refuse("GET", 403, path=f"{job.job_id}/secret.txt")
    ended = job.launch().wait()
    assert (ended["status"], ended["complete"]) == ("failed", "true")
    reason, message = job.reason()
    assert reason == "unknown_error"
    assert "could not bring the job's inputs to the node" in message
    assert "403" in message
    assert "key-of-the-job" not in message
    assert not job.mark("ran").exists()


def test_a_galaxy_that_is_busy_is_asked_again_by_the_node(rig: Rig) -> None:
    job = rig.job("cat $2 >$1", inputs={"busy.txt": "at last"})
    job.arguments = (f'"{job.folder}/busy.txt"',)
    rig.files.refuse("GET", 500, path=f"{job.job_id}/busy.txt", times=2)
    rig.files.refuse("POST", 500, path=f"{job.job_id}/dataset_1", times=2)
    ended = job.launch().wait()
    assert (ended["status"], ended["returncode"]) == ("complete", 0), ended
    assert job.output.read_text() == "at last"
    assert rig.files.count("GET", f"{job.job_id}/busy.txt", 500) == 2
    assert rig.files.count("POST", f"{job.job_id}/dataset_1", 500) == 2


def test_outputs_that_cannot_be_brought_away_fail_the_job(any_rig: Rig) -> None:
    job = any_rig.job("echo made >$1")
    any_rig.files.refuse("POST", 500, path=f"{job.job_id}/dataset_1")
    ended = job.launch().wait()
    assert ended["status"] == "failed", ended
    reason, message = job.reason()
    assert reason == "unknown_error"
    assert (
        message == "Pulsar could not bring the job's outputs back to Galaxy: its log is in the task's stderr"
    )


def test_names_and_values_are_text_and_nothing_else(rig: Rig) -> None:
    """What has a meaning to a shell, and what is not ASCII."""
    name = "a b'c $HOME ü.txt"
    job = rig.job('cat "$2" >$1; printf %s "$3" >>$1', inputs={name: "x"})
    words = "it's \"5 $PATH `id` ; ü\n2"
    quoted = "'" + words.replace("'", "'\\''") + "'"
    job.arguments = ("'" + f"{job.folder}/{name}".replace("'", "'\\''") + "'", quoted)
    ended = job.launch().wait()
    assert ended["status"] == "complete", ended
    assert job.output.read_text() == f"x{words}"


def test_four_hundred_inputs(rig: Rig) -> None:
    job = rig.job('out=$1; shift; cat "$@" >$out', inputs={f"in-{number}.txt": "x" for number in range(400)})
    job.arguments = tuple(f"{job.folder}/{name}" for name in job.inputs)
    ended = job.launch().wait()
    assert ended["status"] == "complete", ended
    assert job.output.read_text() == "x" * 400
    task = rig.batch.job(job.batch_id).documents()["tasks"][0]
    assert len(str(task)) < 10_000
