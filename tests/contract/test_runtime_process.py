"""The process runtime with real processes."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest
from runtime_rig import Rig, code_of, rig_of

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.runtime.children import PollWatcher
from azbatch_core.local.runtime.reaper import find_marked, node_mark, state_mark, task_mark

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def heard(fifo: Path) -> str:
    """What a process writes to a named pipe; waits for it."""
    return await asyncio.to_thread(fifo.read_text)


async def test_a_success(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run("/bin/sh -c 'echo out; echo err >&2; pwd; cat'")
        assert (outcome.exit_code, outcome.failure, outcome.stopped) == (0, None, None)
        assert outcome.started <= outcome.ended
        assert rig.read() == f"out\n{rig.task}/wd\n"
        assert rig.read("stderr.txt") == "err\n"
        assert {path.name for path in rig.task.iterdir()} == {"stdout.txt", "stderr.txt", "wd", "certs"}


async def test_there_is_no_shell(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        await rig.run("echo $AZ_BATCH_POOL_ID && echo *")
        assert rig.read() == "$AZ_BATCH_POOL_ID && echo *\n"


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("exit 255", 255), ("kill -11 $$", -11)])
async def test_an_exit_code_is_kept_and_a_signal_is_negative(tmp_path: Path, script: str, code: int) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run(f"sh -c '{script}'")
        assert (outcome.exit_code, code_of(outcome), outcome.stopped) == (code, "FailureExitCode", None)


async def test_a_missing_program_is_told_with_its_files_in_place(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run("no-such-program --now")
        assert outcome.exit_code is None
        assert outcome.failure == {
            "category": "UserError",
            "code": "CommandProgramNotFound",
            "message": "The specified command program is not found",
            "details": [
                {"name": "CommandLine", "value": "no-such-program --now"},
                {"name": "Message", "value": "The system cannot find the file specified"},
            ],
        }
        assert rig.read() == ""
        assert list((rig.task / "wd").iterdir()) == []


async def test_a_missing_program_inside_a_shell_is_127(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run("sh -c no-such-program")
        assert (outcome.exit_code, code_of(outcome)) == (127, "FailureExitCode")


@pytest.mark.parametrize("command", ["", "echo 'open", "/etc/passwd", "/"])
async def test_what_cannot_be_started_is_told(tmp_path: Path, command: str) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run(command)
        assert (outcome.exit_code, code_of(outcome)) == (None, "CommandLaunchFailed")
        assert (rig.read(), rig.read("stderr.txt")) == ("", "")


async def test_too_many_arguments_are_told(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run("true " + "x" * 3_000_000)
        assert (outcome.exit_code, code_of(outcome)) == (None, "CommandLaunchFailed")


async def test_programs_are_found_in_shared_and_relative_to_wd(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        tool = rig.node.root / "shared/tool"
        tool.write_text("#!/bin/sh\necho shared tool\n")
        tool.chmod(0o755)
        await rig.run("tool")
        assert rig.read() == "shared tool\n"
        assert code_of(await rig.run("./tool")) == "CommandProgramNotFound"


async def test_the_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVICE", "x")
    async with rig_of(tmp_path) as rig:
        await rig.run("env", environment=(("GREETING", "h=i\nthere"),))
        lines = rig.read().splitlines()
        assert "GREETING=h=i" in lines
        assert f"AZ_BATCH_TASK_WORKING_DIR={rig.task}/wd" in lines
        assert not any("SECRET" in line for line in lines)


async def test_kinds_run_where_they_belong(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        start = await rig.run("sh -c 'echo kept > $AZ_BATCH_NODE_SHARED_DIR/x'", kind="start", job_id=None)
        assert start.exit_code == 0
        assert (rig.node.root / "startup/stdout.txt").exists()
        await rig.run("sh -c 'echo prepared > data'", kind="preparation", task_id="jobpreparation")
        await rig.run("sh -c 'cat $AZ_BATCH_JOB_PREP_WORKING_DIR/data'", job_prep_id="jobpreparation")
        assert rig.read() == "prepared\n"
        await rig.run("cat ../../jobpreparation/wd/data", kind="release", task_id="jobrelease")
        release = rig.runtime.task_directory(rig.node, "job", "jobrelease")
        assert (release / "stdout.txt").read_text() == "prepared\n"


async def test_a_folder_is_emptied_before_another_try(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        await rig.run("sh -c 'echo first; touch left-over ../beside; chmod 0 .'")
        await rig.run("ls", attempt=1)
        assert rig.read() == ""
        assert not (rig.task / "beside").exists()
        await rig.run("touch x", kind="start", job_id=None)
        await rig.run("ls", kind="start", job_id=None, attempt=1)
        assert (rig.node.root / "startup/stdout.txt").read_text() == ""


async def test_a_disk_that_gives_no_folder_is_told(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        (rig.node.root / "workitems/job").write_text("in the way")
        outcome = await rig.run("true")
        assert (outcome.exit_code, code_of(outcome)) == (None, "ResourceDirectoryCreateFailed")


@pytest.mark.parametrize("cause", ["user", "job", "node"])
async def test_a_stopped_task_ends_with_all_its_processes(tmp_path: Path, cause: Any) -> None:
    async with rig_of(tmp_path) as rig:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        running = rig.launch(f"sh -c 'sleep 600 & echo up > {fifo}; wait'")
        assert await heard(fifo) == "up\n"
        running.stop(cause)
        running.stop("walltime")  # the first cause counts
        assert not running.done.done()
        outcome = await running.done
        assert (outcome.exit_code, code_of(outcome), outcome.stopped) == (-9, "TaskEnded", cause)
        assert find_marked([task_mark(rig.task)]) == []
        running.stop("user")  # over already


async def test_a_stopped_task_takes_its_daemons_along(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        running = rig.launch(f"sh -c 'setsid sh -c \"echo $$ > {fifo}; exec sleep 600\" & sleep 600'")
        await heard(fifo)
        assert len(find_marked([task_mark(rig.task)])) >= 2
        running.stop("user")
        await running.done
        assert find_marked([task_mark(rig.task)]) == []


async def test_many_stops_at_once_take_all_daemons_along(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        attempts = []
        for number in range(8):
            fifo = tmp_path / f"fifo{number}"
            os.mkfifo(fifo)
            script = f'setsid sh -c "echo $$ > {fifo}; exec sleep 600" & sleep 600'
            attempts.append(rig.launch(f"sh -c '{script}'", task_id=f"t{number}"))
            await heard(fifo)
        for running in attempts:
            running.stop("job")
        outcomes = await asyncio.gather(*(running.done for running in attempts))
        assert {outcome.exit_code for outcome in outcomes} == {-9}
        assert find_marked([node_mark(rig.node.root)]) == []


async def test_background_processes_end_with_their_task(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        # The reader sees the end of the pipe when the last process that holds it is gone.
        ended = asyncio.create_task(heard(fifo))
        outcome = await rig.run(f"sh -c 'exec 3> {fifo}; sleep 600 & exit 0'")
        assert outcome.exit_code == 0
        assert await ended == ""


async def test_the_wall_time_kills_and_says_so(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with rig_of(tmp_path, clock) as rig:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        running = rig.launch(f"sh -c 'echo up > {fifo}; sleep 600'", wall_time=60.0)
        await heard(fifo)
        await clock.advance(59)
        assert not running.done.done()
        await clock.advance(1)
        outcome = await running.done
        assert (outcome.exit_code, code_of(outcome), outcome.stopped) == (-9, "TaskEnded", "walltime")
        assert outcome.failure is not None
        assert "wall clock" in outcome.failure["message"]
        assert (outcome.ended - outcome.started).total_seconds() == 60


async def test_a_task_within_its_wall_time_is_let_be(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with rig_of(tmp_path, clock) as rig:
        running = rig.launch("true", wall_time=60.0)
        outcome = await running.done
        await clock.advance(61)
        assert outcome.failure is None


async def test_a_try_stopped_before_it_began_runs_nothing(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        running = rig.launch("touch started")
        running.stop("user")
        outcome = await running.done
        assert (outcome.exit_code, code_of(outcome), outcome.stopped) == (None, "TaskEnded", "user")
        assert not rig.task.exists()


async def test_clearing_removes_a_task_or_a_job(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        await rig.run("touch x")
        await rig.run("touch x", task_id="other")
        rig.runtime.clear_task(rig.node, "job", "t")
        rig.runtime.clear_task(rig.node, "job", "t")
        assert not rig.task.exists()
        assert rig.runtime.task_directory(rig.node, "job", "other").exists()
        rig.runtime.clear_job(rig.node, "job")
        rig.runtime.clear_job(rig.node, "job")
        assert list((rig.node.root / "workitems").iterdir()) == []


async def test_a_schedules_jobs_are_cleared_one_by_one(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        await rig.run("true", job_id="nightly:job-1")
        await rig.run("true", job_id="nightly:job-2")
        rig.runtime.clear_job(rig.node, "nightly:job-1")
        assert [p.name for p in (rig.node.root / "workitems/nightly").iterdir()] == ["job-2"]


async def test_a_removed_node_is_gone_with_its_processes(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        running = rig.launch(f"sh -c 'echo up > {fifo}; sleep 600'")
        await heard(fifo)
        rig.runtime.remove_node(rig.node)
        assert not rig.node.root.exists()
        assert (await running.done).stopped == "node"
        rig.runtime.remove_node(rig.node)


async def test_close_ends_everything(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    running = rig.launch(f"sh -c 'echo up > {fifo}; sleep 600'")
    await heard(fifo)
    await rig.runtime.close()
    assert running.done.done()
    assert find_marked([state_mark(tmp_path)]) == []
    assert not list((tmp_path / "trash").iterdir()) if (tmp_path / "trash").exists() else True
    with pytest.raises(RuntimeError):
        rig.launch("true")


async def test_a_container_task_runs_here_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    async with rig_of(tmp_path) as rig:
        for task in ("t", "u"):
            await rig.run("echo hi", task_id=task, container={"imageName": "busybox"})
        assert rig.read() == "hi\n"
        assert rig.read("stderr.txt").count("busybox") == 1
        assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"imageName": "NOT a ref!!"}, "ContainerInvalidImage"),
        ({"imageName": "a", "containerRunOptions": "--gpus all"}, "ContainerInvalidSettings"),
        ({"imageName": "a", "containerHostBatchBindMounts": []}, "ContainerInvalidSettings"),
    ],
)
async def test_what_no_container_could_be_fails_here_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], code: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run("echo hi", container=settings)
        assert (outcome.exit_code, code_of(outcome)) == (None, code)
        assert rig.read() == ""


async def test_an_image_of_a_pool_that_is_none_is_found_without_a_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    async with rig_of(tmp_path) as rig:
        assert await rig.runtime.fetch_images(["alpine"], ()) is None
        failed = await rig.runtime.fetch_images(["alpine", "NOT a ref!!"], ())
        assert failed is not None
        assert failed["code"] == "ContainerInvalidImage"


async def test_ends_are_noticed_without_pidfds(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        rig.runtime._watcher = PollWatcher(asyncio.get_running_loop())
        outcomes = await asyncio.gather(
            *(rig.run(f"sh -c 'exit {n}'", task_id=f"t{n}") for n in range(5)),
        )
        assert [outcome.exit_code for outcome in outcomes] == [0, 1, 2, 3, 4]
        assert (await rig.run("true")).exit_code == 0
