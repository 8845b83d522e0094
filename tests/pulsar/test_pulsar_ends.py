"""Jobs that are killed, launched twice, run again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from files_endpoint import files_endpoint
from pulsar.client.exceptions import PulsarClientTransportError
from pulsar_rig import HOST, Rig, until

from azbatch_core.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker_daemon import DockerPlace

WAITS = 'echo $$ >"$2"; while [ ! -e "$3" ]; do sleep 0.05; done; echo done >$1'


def waiting_job(rig: Rig, **options: Any) -> Any:
    """A job whose tool writes its process into the mark `pid`, and waits for the mark `go`."""
    job = rig.job(WAITS, **options)
    job.arguments = (f'"{job.mark("pid")}"', f'"{job.mark("go")}"')
    return job


def begun(job: Any) -> int:
    """The process of a job's tool, once it runs."""
    return int(until(lambda: job.mark("pid").exists() and job.mark("pid").read_text()))


def containers_of(docker: DockerPlace, job: Any) -> list[str]:
    """All containers of a job."""
    return docker.docker("ps", "-aq", "--filter", f"label=azbatch.job={job.batch_id}").split()


def test_a_job_that_is_killed_before_a_node_is_there(rig: Rig, fault: Callable[..., None]) -> None:
    fault("slow-boot", seconds=600)
    job = waiting_job(rig, azure_batch_vm_size="standard_d4s_v3").launch()
    assert job.status()["status"] == "queued"
    job.new_client().kill()
    assert job.wait()["status"] == "cancelled"
    assert not job.mark("pid").exists()


def test_a_job_that_is_killed_while_its_inputs_come(any_rig: Rig) -> None:
    job = waiting_job(any_rig, inputs={"slow.txt": "x"})
    job.arguments += (f"{job.folder}/slow.txt",)
    with any_rig.files.hold(f"{job.job_id}/slow.txt") as held:
        job.launch()
        assert held.wait(60)
        job.new_client().kill()
        assert job.wait()["status"] == "cancelled"
    assert not job.mark("pid").exists()


def test_a_tool_that_is_killed_is_gone_and_killing_again_is_fine(rig: Rig) -> None:
    job = waiting_job(rig).launch()
    pid = begun(job)
    assert until(lambda: job.status()["status"] == "running")
    for _ in range(2):
        job.new_client().kill()
    assert job.wait()["status"] == "cancelled"
    until(lambda: not Path(f"/proc/{pid}").exists())
    job.new_client().kill()
    assert job.wait()["status"] == "cancelled"
    assert job.new_client().ending().reason is None, "Galaxy asked for it: nothing is to be submitted again"


def test_containers_are_gone_after_a_kill_and_at_the_end(docker_rig: Rig, docker: DockerPlace) -> None:
    job = waiting_job(docker_rig).launch()
    begun(job)
    assert containers_of(docker, job)
    job.new_client().kill()
    assert job.wait()["status"] == "cancelled"
    until(lambda: not containers_of(docker, job))
    other = waiting_job(docker_rig).launch()
    begun(other)
    other.mark("go").touch()
    assert other.wait()["returncode"] == 0
    assert not containers_of(docker, other)
    other.new_client().kill()
    assert other.wait()["status"] == "complete", "a kill that comes too late changes nothing"


def test_what_is_cleaned_leaves_nothing(rig: Rig) -> None:
    job = rig.job("echo x >$1").launch()
    job.wait()
    results = f"results/{job.batch_id}"
    assert rig.batch.staged("pulsar", f"{results}/stderr.txt")
    assert rig.batch.staged("pulsar", f"{results}/status.json")
    assert rig.batch.unstage("pulsar", f"{job.batch_id}/") == 0, "its keys went as soon as it was over"
    assert not job.finish()
    assert rig.batch.unstage("pulsar", f"{results}/") == 0
    until(lambda: not rig.batch.job(job.batch_id).exists())
    job.new_client().clean()


def test_a_launch_that_comes_twice_finds_its_job(rig: Rig) -> None:
    job = waiting_job(rig).launch()
    begun(job)
    again = rig.job(WAITS, job_id=job.job_id)
    again.arguments = job.arguments
    assert again.launch().batch_id == job.batch_id
    job.mark("go").touch()
    assert job.wait()["returncode"] == 0
    assert again.launch().batch_id == job.batch_id, "it ended well: that is what was asked for"
    assert list(rig.batch.job_phases(job.batch_id)) == [job.batch_id]
    assert rig.files.count("POST", f"{job.job_id}/dataset_1") == 1


def test_a_launch_that_broke_off_between_job_and_task_is_made_whole(
    rig: Rig, fault: Callable[..., None]
) -> None:
    job = rig.job("echo once >>$1")
    fault("error", operation="create_task*", code="InvalidRequestBody", status=400, count=1)
    with pytest.raises(PulsarClientTransportError):
        job.launch()
    assert list(rig.batch.job_phases(f"galaxy-{job.new_client().instance}-{job.job_id}"))
    job.launch()
    assert job.wait()["returncode"] == 0
    assert job.output.read_text() == "once\n"


def test_a_launch_after_a_failure_is_another_run(rig: Rig) -> None:
    job = rig.job("exit $(( $(cat $2) ))", inputs={"code": "3"})
    job.arguments = (f"{job.folder}/code",)
    first = job.launch().batch_id
    assert job.wait()["returncode"] == 3
    again = rig.job("exit 0", job_id=job.job_id)
    assert again.launch().batch_id == f"{first}-2"
    assert again.wait()["returncode"] == 0
    assert job.wait()["returncode"] == 3
    plain = rig.manager.get_client({**job.params}, job.job_id)
    assert plain.batch_id == f"{first}-2", "who knows only Galaxy's number means the last run"


def test_another_galaxy_has_the_same_numbers(rig: Rig) -> None:
    with files_endpoint() as other_files:
        other = Rig(other_files, rig.folder / "other", HOST, rig.manager)
        mine, others = (place.job("echo x >$1; exit $2", job_id="7") for place in (rig, other))
        mine.arguments, others.arguments = ("0",), ("5",)
        mine.launch(), others.launch()
        assert mine.batch_id != others.batch_id
        assert (mine.wait()["returncode"], others.wait()["returncode"]) == (0, 5)


def test_a_node_that_is_taken_away_has_its_job_run_again(rig: Rig, fault: Callable[..., None]) -> None:
    script = 'if [ -e "$2" ]; then echo again >$1; else touch "$2"; sleep 600; fi'
    job = rig.job(script, azure_batch_spot="true")
    job.arguments = (f'"{job.mark("begun")}"',)
    job.launch()
    until(job.mark("begun").exists)
    fault("preempt", job=job.batch_id, task="*", count=1, lasts=0)
    assert job.wait()["returncode"] == 0
    assert job.output.read_text() == "again\n"


def test_a_service_that_restarts_keeps_the_job(rig: Rig, service: Any) -> None:
    job = waiting_job(rig).launch()
    begun(job)
    service.restart()
    job.mark("go").touch()
    ended = job.wait()
    assert (ended["status"], ended["returncode"]) == ("complete", 0), ended
    assert job.output.read_text() == "done\n"


def test_a_job_that_nobody_knows_is_lost_only_when_batch_says_so(
    rig: Rig, fault: Callable[..., None]
) -> None:
    job = rig.job("true")
    fault("error", operation="get_job", code="ServerBusy", status=503, count=100)
    with pytest.raises(PulsarClientTransportError):
        job.new_client().get_status()
    fault("error", operation="list_jobs", code="ServerBusy", status=503, count=100)
    with pytest.raises(PulsarClientTransportError):
        job.new_client().get_status()


def test_a_job_that_nobody_knows_is_lost(rig: Rig) -> None:
    job = rig.job("true")
    client = job.new_client()
    assert client.get_status() == "lost"
    assert client.full_status()["complete"] == "true"
    assert job.reason()[0] == "unknown_error"
    client.kill()
    client.clean()
    with pytest.raises(NotFound):
        rig.batch.job(client.batch_id).status()


@pytest.mark.parametrize("what", ["batch", "storage"])
@pytest.mark.parametrize("question", ["get_status", "full_status", "kill", "clean", "launch"])
def test_what_cannot_be_asked_is_pulsar_s_transport_error(
    rig: Rig, what: str, question: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job = rig.job("true", azure_batch_account="away")
    nobody = "http://127.0.0.1:1"
    lines = Path(os.environ["AZBATCH_CONFIG"]).read_text().replace("accounts.here", "accounts.away")
    name = "blob_endpoint" if what == "storage" else "endpoint"
    lines = "\n".join(
        f'{name} = "{nobody}"' if line.startswith(f"{name} =") else line for line in lines.splitlines()
    )
    config = tmp_path / "away.toml"
    config.write_text(lines)
    monkeypatch.setenv("AZBATCH_CONFIG", str(config))
    rig.manager._accounts.pop("away", None)
    rig.manager._runs.clear()
    with pytest.raises(PulsarClientTransportError) as caught:
        job.launch() if question == "launch" else getattr(job.new_client(), question)()
    assert "127.0.0.1" in str(caught.value)
