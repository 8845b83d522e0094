"""Members of multi-instance tasks in the process runtime: two commands, one try."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.runtime.base import Launch, NodePlace, RuntimeConfig
from azbatch_core.local.runtime.process import ProcessRuntime
from azbatch_core.local.runtime.reaper import find_marked, task_mark

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

LIMIT = 20.0
DAEMON = 'setsid sh -c "echo up > up; exec sleep 600" & while ! [ -s up ]; do sleep 0.01; done'


class Member:
    """A runtime with one node, on which `job`/`t` is launched as a member."""

    def __init__(self, state_dir: Path) -> None:
        self.clock = VirtualClock()
        config = RuntimeConfig(state_dir, "acct", "http://127.0.0.1:1/acct")
        self.runtime = ProcessRuntime(config, self.clock)
        self.node = NodePlace("pool", "node1", state_dir / "node1", "127.0.0.1")
        self.runtime.create_node(self.node)
        self.directory = self.runtime.task_directory(self.node, "job", "t")

    def launch(self, coordination: str, command: str = "", **fields: Any) -> Any:
        """Begin a try."""
        return self.runtime.launch(
            Launch(
                self.node,
                "task",
                "job",
                "t",
                command and f"sh -c '{command}'",
                coordination_command_line=f"sh -c '{coordination}'",
                **fields,
            )
        )

    async def coordinated(self, coordination: str, command: str = "", **fields: Any) -> Any:
        """A try whose coordination command has returned 0."""
        running = self.launch(coordination, command, **fields)
        await asyncio.wait_for(running.coordinated, LIMIT)
        return running

    def alive(self) -> int:
        """How many processes the member has."""
        return len(find_marked([task_mark(self.directory)]))


@pytest_asyncio.fixture
async def member(tmp_path: Path) -> AsyncIterator[Member]:
    made = Member(tmp_path)
    yield made
    await made.runtime.close()


async def test_a_primary_runs_both_commands_in_one_folder(member: Member) -> None:
    running = await member.coordinated("echo first; echo 1 > here", "cat here; exit 3")
    assert not running.done.done()
    running.proceed()
    outcome = await asyncio.wait_for(running.done, LIMIT)
    assert outcome.exit_code == 3
    assert outcome.failure["code"] == "FailureExitCode"
    assert (member.directory / "stdout.txt").read_text() == "first\n1\n"


async def test_the_coordination_commands_daemons_live_until_the_end(member: Member) -> None:
    running = await member.coordinated(DAEMON, "exit 0")
    assert member.alive() == 1
    running.proceed()
    outcome = await asyncio.wait_for(running.done, LIMIT)
    assert (outcome.exit_code, outcome.failure) == (0, None)
    assert member.alive() == 0


async def test_a_subtask_ends_with_its_coordinations_code_when_told_to_proceed(member: Member) -> None:
    running = await member.coordinated("sleep 600 &")
    assert member.alive() == 1
    running.proceed()
    outcome = await asyncio.wait_for(running.done, LIMIT)
    assert (outcome.exit_code, outcome.failure, outcome.stopped) == (0, None, None)
    assert member.alive() == 0


async def test_a_failing_coordination_command_ends_the_try(member: Member) -> None:
    running = member.launch(f"{DAEMON}; exit 7", "touch ran")
    outcome = await asyncio.wait_for(running.done, LIMIT)
    assert (outcome.exit_code, outcome.failure["code"]) == (7, "FailureExitCode")
    assert not running.coordinated.done()
    assert member.alive() == 0
    assert not (member.directory / "wd/ran").exists()


async def test_a_member_is_stopped_while_it_waits(member: Member) -> None:
    running = await member.coordinated(DAEMON, "touch ran")
    running.stop("user")
    running.proceed()
    outcome = await asyncio.wait_for(running.done, LIMIT)
    assert (outcome.exit_code, outcome.failure["code"], outcome.stopped) == (-9, "TaskEnded", "user")
    assert member.alive() == 0
    assert not (member.directory / "wd/ran").exists()


async def test_the_wall_time_spans_both_commands(member: Member) -> None:
    running = await member.coordinated("true", "sleep 600", wall_time=10.0)
    await member.clock.advance(6.0)
    running.proceed()
    await member.clock.advance(6.0)
    outcome = await asyncio.wait_for(running.done, LIMIT)
    assert outcome.stopped == "walltime"


async def test_a_missing_program_after_coordination_has_no_exit_code(member: Member) -> None:
    launch = Launch(member.node, "task", "job", "t", "no-such-program", coordination_command_line="true")
    running = member.runtime.launch(launch)
    assert running.coordinated is not None
    await asyncio.wait_for(running.coordinated, LIMIT)
    running.proceed()
    outcome = await asyncio.wait_for(running.done, LIMIT)
    assert outcome.exit_code is None
    assert outcome.failure is not None
    assert outcome.failure["code"] == "CommandProgramNotFound"


async def test_plain_tasks_have_nothing_to_coordinate(member: Member) -> None:
    running = member.runtime.launch(Launch(member.node, "task", "job", "t", "true"))
    assert running.coordinated is None
    running.proceed()
    assert (await asyncio.wait_for(running.done, LIMIT)).succeeded


async def test_members_see_the_folder_as_shared(member: Member) -> None:
    running = await member.coordinated("echo $AZ_BATCH_TASK_SHARED_DIR")
    running.proceed()
    await asyncio.wait_for(running.done, LIMIT)
    assert (member.directory / "stdout.txt").read_text() == f"{member.directory}\n"
