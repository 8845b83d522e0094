"""Multi-instance tasks: placed on whole nodes at once, ended at once.

All members run the coordination command; when it has returned 0 on all of them, the primary, which is the
task itself, runs the task's command. The first member to end ends the others. The task completes with the
primary and its subtasks just after; it goes back to the queue only when no process of any member is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import orjson

from azbatch_core.local.engine import holds, preparation, tasks
from azbatch_core.local.engine.execution import Execution
from azbatch_core.local.engine.recent import note
from azbatch_core.local.rules import gangs as rules
from azbatch_core.local.rules.tasks import wanted_node
from azbatch_core.local.rules.times import ticks_of
from azbatch_core.local.runtime.failures import failure
from azbatch_core.local.store.subtasks import Subtask

if TYPE_CHECKING:
    import asyncio

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.holds import Kept
    from azbatch_core.local.runtime.base import Outcome
    from azbatch_core.local.store.records import Doc, Job, Node, Pool
    from azbatch_core.local.store.task_rows import ReadyTask

__all__ = ["Gang", "place", "recover", "run", "settle"]

_KILLED = -9


@dataclass(eq=False)
class Gang:
    """A multi-instance task that occupies nodes.

    Attributes:
        hosts: Addresses of all members, in the order that all of them see.
        members: The primary first, then the subtasks by their numbers.
        records: Those of the subtasks.
        coordinated: Members whose coordination command has returned 0.
        ended: Members whose tries are over, with how; None for those that had not begun.
        verdict: How the task ended by itself: by its primary, or by a subtask's failure before that.
        concluded: The task has been completed or put back; what is left are dying subtasks.
    """

    hosts: tuple[str, ...]
    members: list[Execution] = field(default_factory=list)
    records: list[Subtask] = field(default_factory=list)
    coordinated: set[Execution] = field(default_factory=set)
    ended: dict[Execution, Outcome | None] = field(default_factory=dict)
    verdict: Outcome | None = None
    concluded: bool = False

    @property
    def primary(self) -> Execution:
        """The task itself."""
        return self.members[0]

    @property
    def over(self) -> bool:
        """Whether no member is left."""
        return len(self.ended) == len(self.members)


def place(account: Account, pool: Pool, job: Job, row: ReadyTask, kept: Kept) -> None:
    """Start a gang whose turn it is, if all the nodes that it needs are free.

    If they are not, but the pool has so many, the first gang of a pass has those that are free kept for it.
    """
    if not rules.fits(pool.spec) or row.slots != row.instances:
        return
    free = account.free[pool.key]
    barred = account.barred.get(job.key, ())
    keys = [key for key in free.having(1) if key not in barred and key not in kept.nodes]
    if len(keys) >= row.instances:
        _start(account, job, row, [account.nodes[key] for key in keys])
        holds.forget(account, pool, row.seq)
    elif not kept.asked and len(free) - sum(key in free for key in barred) >= row.instances:
        kept.asked = True
        if holds.keeps(account, pool, row.seq):
            kept.nodes.update(keys)


def _start(account: Account, job: Job, row: ReadyTask, candidates: list[Node]) -> None:
    """Put a gang on some of the nodes: it runs, or waits there for the job's preparation on all of them."""
    spec: Doc = orjson.loads(row.spec)
    wanted = wanted_node(spec)
    candidates.sort(key=lambda node: node.id != wanted)
    nodes = rules.order(candidates[: row.instances])
    gang = Gang(tuple(node.address for node in nodes))
    # Clients that take the first host for the master would be wrong on the real service, too.
    primary = candidates[0] if candidates[0].id == wanted else nodes[-1]
    for number, node in enumerate([primary, *(node for node in nodes if node is not primary)]):
        member = Execution(
            "task", node, job, row.id, spec, row.seq, 1, row.retries, row.requeues, row.launches
        )
        member.gang, member.subtask = gang, number
        gang.members.append(member)
    account.queues[job.key].drop(row.seq)
    counts = account.counts[job.key]
    counts.ready -= 1
    counts.move("active", "running", row.slots)
    for member in gang.members:
        account.enter(member)
        account.set_node_state(member.node, "running")
    # All preparations begin, whether or not the first of them is through.
    prepared = [preparation.may_run(account, job, member.node) for member in gang.members]
    if all(prepared):
        _launch(account, job, gang, waited=False)
    else:
        now = account.now()
        account.store.tasks.place(row.seq, "preparing", now, primary, None)
        gang.records = [
            Subtask(row.seq, m.subtask, m.node.key, m.node.pool_id, m.node.id, "preparing", now)
            for m in gang.members[1:]
        ]
        account.store.subtasks.add(gang.records)


def run(account: Account, execution: Execution) -> None:
    """A node of a gang is prepared: the gang runs once all are."""
    gang, job = _gang_of(execution)
    waits = any(member.running is not None or member.stop_reason is not None for member in gang.members)
    if not waits and all(preparation.may_run(account, job, member.node) for member in gang.members):
        _launch(account, job, gang, waited=True)


def _gang_of(execution: Execution) -> tuple[Gang, Job]:
    if execution.gang is None or execution.job is None:
        raise AssertionError("a member has a gang and a job")
    return execution.gang, execution.job


def _launch(account: Account, job: Job, gang: Gang, *, waited: bool) -> None:
    starts = [tasks.begin(account, member, job) for member in gang.members]
    primary = gang.primary
    now = max(account.now(), *starts)
    if waited:
        account.store.tasks.run(primary.seq, now, starts[0])
    else:
        account.store.tasks.place(primary.seq, "running", now, primary.node, starts[0])
    for member, started in zip(gang.members[1:], starts[1:], strict=True):
        if waited:
            record = gang.records[member.subtask - 1]
            rules.move(record, "running", now)
            record.started = started
            account.store.subtasks.write(record)
        else:
            node = member.node
            record = Subtask(primary.seq, member.subtask, node.key, node.pool_id, node.id, "running", started)
            record.started = started
            gang.records.append(record)
    if not waited:
        account.store.subtasks.add(gang.records)
    for member in gang.members:
        _proceed_together(gang, member)


def _proceed_together(gang: Gang, member: Execution) -> None:
    """Let the primary go on when the last member has coordinated."""
    if member.running is None or member.running.coordinated is None:
        raise AssertionError("a member that was launched coordinates")

    def coordinated(_: asyncio.Future[None]) -> None:
        gang.coordinated.add(member)
        if len(gang.coordinated) == len(gang.members) and gang.primary.running is not None:
            gang.primary.running.proceed()

    member.running.coordinated.add_done_callback(coordinated)


# Off them


def settle(account: Account, execution: Execution, outcome: Outcome | None) -> None:
    """A member's try has ended, or it was told to stop before there was one (no outcome)."""
    gang, job = _gang_of(execution)
    if execution not in gang.ended:
        gang.ended[execution] = outcome
        if gang.verdict is None and not gang.concluded and _by_itself(execution, outcome):
            gang.verdict = outcome
        if execution.subtask:
            tasks.vacate(account, execution)
            _end_subtask(account, job, execution, outcome)
        _end_others(gang)
    if not gang.concluded and gang.primary in gang.ended:
        _conclude(account, job, gang)
    if gang.over:
        account.dying.pop((job.key, execution.task_id.lower()), None)
        account.due_jobs[job.key] = None  # it may have waited for the last subtask


def _by_itself(execution: Execution, outcome: Outcome | None) -> bool:
    """Whether a member's end decides about the task: the primary's, and a subtask's that failed."""
    if outcome is None or outcome.stopped not in {None, "walltime"}:
        return False
    return not execution.subtask or outcome.failure is not None


def _end_others(gang: Gang) -> None:
    for member in gang.members:
        if member in gang.ended or member.running is None:
            continue
        if member.subtask and member in gang.coordinated:
            member.running.proceed()
        else:
            member.running.stop("user")


def _conclude(account: Account, job: Job, gang: Gang) -> None:
    """The primary has ended: complete the task, or put it back if nothing of it is left."""
    primary = gang.primary
    outcome, verdict = gang.ended[primary], gang.verdict
    if outcome is not None and verdict is not None and verdict is not outcome:
        outcome = replace(
            outcome, exit_code=verdict.exit_code, failure=verdict.failure, stopped=verdict.stopped
        )
    what = tasks.fate(primary, outcome)
    completes = what in {"judge", "terminate"}
    if not completes and not gang.over:
        return
    gang.concluded = True
    tasks.vacate(account, primary)
    if completes:
        # A service that is killed now finds out from this how the coordination went.
        for member in gang.members[1:]:
            if member not in gang.ended and member in gang.coordinated:
                gang.records[member.subtask - 1].exit_code = 0
                account.store.subtasks.write(gang.records[member.subtask - 1])
    else:
        account.store.subtasks.forget([primary.seq])
        for member in gang.members[1:]:
            if member.node.key in account.nodes:
                account.runtime.clear_task(account.place(member.node), job.id, primary.task_id)
    tasks.conclude(account, primary, outcome, what)
    if not gang.over:
        account.dying[job.key, primary.task_id.lower()] = primary.seq


def _end_subtask(account: Account, job: Job, execution: Execution, outcome: Outcome | None) -> None:
    gang, _ = _gang_of(execution)
    record = gang.records[execution.subtask - 1]
    fine = execution in gang.coordinated
    ended = account.now() if outcome is None else ticks_of(outcome.ended)
    exit_code = None if outcome is None else outcome.exit_code
    failed = failure("TaskEnded") if outcome is None else outcome.failure
    _complete(record, ended, 0 if fine else exit_code, None if fine else failed)
    record.container = None if outcome is None else outcome.container
    account.store.subtasks.write(record)
    if record.started is not None:
        node = execution.node
        node.tasks_run += 1
        node.tasks_succeeded += record.failure is None
        note(
            *(account, execution, job, "completed", record.started),
            ended=ended,
            exit_code=record.exit_code,
            failed=record.failure,
        )


def _complete(record: Subtask, now: int, exit_code: int | None, failed: Doc | None) -> None:
    rules.move(record, "completed", now)
    record.ended, record.exit_code, record.failure = now, exit_code, failed


def recover(account: Account) -> None:
    """Complete the subtasks that a killed service left: those of tasks that have just completed."""
    now = account.now()
    for record in account.store.subtasks.unfinished():
        killed = record.exit_code is None
        _complete(record, now, _KILLED if killed else 0, failure("TaskEnded") if killed else None)
        account.store.subtasks.write(record)
