"""What the process runtime leaves behind: nothing while it lives, nothing for long when it was killed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from runtime_rig import rig_of

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.runtime import reaper
from azbatch_core.local.runtime.reaper import find_marked, state_mark

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.asyncio


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def zombies() -> list[str]:
    return [str(child) for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE]


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
async def test_no_descriptor_or_child_is_left(tmp_path: Path) -> None:
    async with rig_of(tmp_path) as rig:
        await rig.run("true")
        before = descriptors()
        for number, command in enumerate(("true", "no-such-program", "", "sh -c 'kill -9 $$'")):
            # Another task each time: deleting the folder of an earlier try takes descriptors meanwhile.
            await rig.run(command, task_id=f"other-{number}")
        assert descriptors() == before
        assert zombies() == []


SERVICE = """
import asyncio, sys
from pathlib import Path
from azbatch_core.local.clock import RealClock
from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.runtime import reaper
from azbatch_core.local.runtime.base import Launch, NodePlace, RuntimeConfig
from azbatch_core.local.runtime.process import ProcessRuntime

async def main():
    state, fifo = Path(sys.argv[1]), sys.argv[2]
    runtime = ProcessRuntime(RuntimeConfig(state, "acct", "http://x"), RealClock())
    node = NodePlace("pool", "node1", state / "nodes/pool/node1", "127.0.0.1")
    runtime.create_node(node)
    script = f"setsid sleep 600 & sleep 600 & echo up > {fifo}; wait"
    await runtime.launch(Launch(node, "task", "job", "t", f"sh -c '{script}'")).done

asyncio.run(main())
"""


def leave_orphans(state_dir: Path) -> None:
    """Have a service start processes, then kill it and nothing else."""
    fifo = state_dir / "fifo"
    os.mkfifo(fifo)
    service = subprocess.Popen([sys.executable, "-c", SERVICE, str(state_dir), str(fifo)])
    assert fifo.read_text() == "up\n"
    service.kill()
    service.wait()


@pytest.fixture
def bystander(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of another state directory, whose name begins as ours does."""
    env = {"AZ_BATCH_NODE_ROOT_DIR": f"{tmp_path}-other/nodes/x", "PATH": os.environ["PATH"]}
    with subprocess.Popen(["/bin/sleep", "600"], env=env) as process:
        yield process
        process.kill()


async def test_what_a_killed_service_left_behind_is_killed(
    tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    leave_orphans(tmp_path)
    assert len(find_marked([state_mark(tmp_path)])) >= 3
    async with rig_of(tmp_path) as rig:
        rig.runtime.kill_orphans()
        assert find_marked([state_mark(tmp_path)]) == []
        assert bystander.poll() is None
        assert (await rig.run("echo again", attempt=1)).exit_code == 0
        assert rig.read() == "again\n"


async def test_orphans_are_found_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper, "_HAS_PROC", False)
    leave_orphans(tmp_path)
    async with rig_of(tmp_path) as rig:
        rig.runtime.kill_orphans()
    monkeypatch.undo()
    assert find_marked([state_mark(tmp_path)]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no setsid")
@pytest.mark.parametrize("then", ["true", "exec sleep 600"])
async def test_what_tasks_left_behind_ends_with_the_service(tmp_path: Path, then: str) -> None:
    left, seen = tmp_path / "left", tmp_path / "seen"
    os.mkfifo(left)
    os.mkfifo(seen)
    daemon = f'setsid setsid sh -c "echo up >{left}; exec sleep 600" >/dev/null 2>&1 &'
    async with rig_of(tmp_path) as rig:
        running = rig.launch(f"sh -c '{daemon} cat {left} >{seen}; {then}'")
        assert await asyncio.to_thread(seen.read_text) == "up\n"
        if then == "true":
            await running.done
            assert len(find_marked([state_mark(tmp_path)])) == 1
    assert find_marked([state_mark(tmp_path)]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for a process by /proc")
async def test_a_kill_reaches_groups_whose_environment_was_wiped(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # It holds the pipe open for as long as it lives.
    script = f"import os; os.setpgrp(); os.dup2(os.open('{fifo}', os.O_WRONLY), 1); os.write(1, b'up\\n');"
    (tmp_path / "wipe.py").write_text(f"{script} os.execve('/bin/sleep', ['sleep', '600'], {{}})")
    clock = VirtualClock()
    async with rig_of(tmp_path, clock) as rig:
        running = rig.launch(f"sh -c '{sys.executable} {tmp_path}/wipe.py & wait'", wall_time=60.0)
        with await asyncio.to_thread(fifo.open) as pipe:
            assert await asyncio.to_thread(pipe.readline) == "up\n"
            await clock.advance(60)
            await running.done
            assert await asyncio.to_thread(pipe.read) == "", "its end is the end of the process"
