"""A node's recent tasks: what ended or went back to active is kept with the node, what runs is seen there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.rules.recent import Recent, put_recent
from azbatch_core.local.rules.times import ticks_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.execution import Execution
    from azbatch_core.local.store.records import Doc, Job, Node, TaskState
    from azbatch_core.local.store.task_rows import Task

__all__ = ["note", "note_killed", "rows"]


def note(
    account: Account,
    execution: Execution,
    job: Job,
    state: TaskState,
    started: int | None,
    *,
    ended: int | None = None,
    exit_code: int | None = None,
    failed: Doc | None = None,
    retries: int = 0,
    requeues: int = 0,
) -> None:
    """Keep with its node how a task's try ended; `retries` and `requeues` are new ones."""
    node = execution.node
    row = (  # as `Recent` has them
        job.id,
        execution.task_id,
        state,
        None if execution.gang is None else execution.subtask,
        execution.retries + retries,
        execution.requeues + requeues,
        started,
        ended,
        exit_code,
        failed,
    )
    put_recent(node.recent, row)
    account.touch(node)


def note_killed(
    account: Account, job: Job, task: Task, *, completed: tuple[int, Doc] | None = None, requeues: int = 0
) -> None:
    """Keep with its nodes what became of a task that ran when the service died.

    It was `completed` then, with that failure, or went back to active; `requeues` are new ones.
    """
    subtasks = account.store.subtasks.of_task(task.seq)
    members = [(task.node, 0 if subtasks else None, task.started)]
    members += [(subtask.node, subtask.id, subtask.started) for subtask in subtasks]
    for key, number, started in members:
        node = None if key is None else account.nodes.get(key)
        if node is None or started is None:
            continue
        row = Recent(job.id, task.id, "active", number, task.retries, task.requeues + requeues)
        if completed is not None:
            ended, failed = completed
            row = row._replace(state="completed", started=started, ended=ended, failed=failed)
            node.tasks_run += 1
        put_recent(node.recent, tuple(row))
        account.touch(node)


def rows(account: Account, node: Node) -> Sequence[Sequence[Any]]:
    """The latest tasks of a node, as `Recent` has them, oldest first: at the end those that run."""
    found = list(node.recent)
    for execution in account.on_node[node.key]:
        if execution.kind == "task" and execution.job is not None and execution.running is not None:
            put_recent(
                found,
                Recent(
                    execution.job.id,
                    execution.task_id,
                    "running",
                    None if execution.gang is None else execution.subtask,
                    execution.retries,
                    execution.requeues,
                    ticks_of(execution.running.started),
                ),
            )
    return found
