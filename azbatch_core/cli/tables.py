"""The tables that several commands print, and the words around a job that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from azbatch_core.cli.output import Column, paint_state, print_table, span
from azbatch_core.cli.paint import paint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from azbatch_core.client import JobHandle
    from azbatch_core.service.states import JobStatus, MemberStatus, TaskStatus
    from azbatch_core.service.summaries import Explanation

MANY_TASKS = 50
"""Jobs with more tasks than this end with a summary and the failures, not with a line for each task."""

_TASK_COLUMNS = (
    Column("TASK"),
    Column("STATE", state=True),
    Column("EXIT", right=True),
    Column("NODE", drop=2),
    Column("TIME", right=True),
    Column("TRIES", right=True, drop=3),
    Column("NOTE", drop=1, shrink=True),
)


_LONGEST_NODE = 20


def short_node(node_id: str) -> str:
    """A node's id for a table: those of a live pool are 70 characters and more; `--json` has them whole."""
    return node_id if len(node_id) <= _LONGEST_NODE else f"{node_id[:12]}…{node_id[-2:]}"


def print_tasks(tasks: Iterable[TaskStatus], *, notes: bool = True) -> None:
    """A line for each task: state, exit code, node, time, and what went wrong unless `notes` is off."""
    columns = _TASK_COLUMNS if notes else _TASK_COLUMNS[:-1]
    rows = (_task_row(task)[: len(columns)] for task in tasks)
    print_table(columns, rows, empty="This job has no such tasks.")


def _task_row(task: TaskStatus) -> tuple[str, ...]:
    tries = 1 + task.retries + task.requeues if task.started else 0
    note = task.message or ""
    if task.category is not None:
        note = f"{task.category}: {note}"
    return (
        task.id,
        task.state.value,
        "-" if task.exit_code is None else str(task.exit_code),
        short_node(task.node_id or "-"),
        span(task.duration),
        str(tries) if tries else "-",
        note,
    )


_MEMBER_COLUMNS = (
    Column("GANG"),
    Column("MEMBER", right=True),
    Column("STATE", state=True),
    Column("EXIT", right=True),
    Column("NODE", drop=2),
    Column("TIME", right=True),
    Column("NOTE", drop=1, shrink=True),
)


def print_members(gangs: Mapping[str, Sequence[MemberStatus]]) -> None:
    """A line for each member of each gang."""
    rows = (_member_row(task_id, member) for task_id, members in gangs.items() for member in members)
    print_table(_MEMBER_COLUMNS, rows, empty="This job has no gangs.")


def _member_row(task_id: str, member: MemberStatus) -> tuple[str, ...]:
    return (
        task_id,
        str(member.rank),
        member.state.value,
        "-" if member.exit_code is None else str(member.exit_code),
        short_node(member.node_id or "-"),
        span(member.duration),
        member.message or "",
    )


def print_end(job: JobHandle, status: JobStatus) -> None:
    """How each task went on stdout; for a job that did not succeed also why, on stderr."""
    from azbatch_core.service.states import JobState

    if status.total <= MANY_TASKS:
        # Of a single task that failed, all that is known is said below it.
        lone = status.total == 1 and status.state is JobState.FAILED
        print_tasks(sorted(job.tasks(), key=_as_they_ran), notes=not lone)
    else:
        counts = ", ".join(f"{count} {paint_state(state.value)}" for state, count in status.counts.items())
        click.echo(f"{status.total} tasks: {counts}")
        if status.failures:
            print_tasks(status.failures)
    print_outcome(job, status)


def _as_they_ran(task: TaskStatus) -> tuple[bool, float, int, str]:
    """A key that sorts tasks by their start; those that never ran come last, `t2` before `t10`."""
    return task.started is None, task.started.timestamp() if task.started else 0.0, len(task.id), task.id


def print_outcome(job: JobHandle, status: JobStatus) -> None:
    """One line on stderr that says how the job ended, and for a bad end the reasons."""
    from azbatch_core.service.states import JobState

    took = span(status.ended - status.created) if status.ended and status.created else None
    outcome = f"azbatch: {status.handle} {paint_state(status.state.value, err=True)}"
    if status.state is JobState.SUCCEEDED:
        click.echo(f"{outcome} in {took}" if took else outcome, err=True)
        return
    reasons = job.why()
    # What one task's own reason says need not be said of the job as well.
    said = bool(reasons) and status.total == 1 and status.state is JobState.FAILED
    click.echo(f"{outcome}: {status.reason}" if status.reason and not said else outcome, err=True)
    print_reasons(reasons, err=True)
    if status.state is JobState.STUCK:
        click.echo(f"  it stays active until `azbatch cancel {status.handle}`", err=True)


_MOST_REASONS = 10


def print_reasons(reasons: list[Explanation], *, err: bool) -> None:
    """Each explanation with its hint, at most ten when they are an aside to something else."""
    shown = reasons[:_MOST_REASONS] if err else reasons
    for reason in shown:
        first, *more = reason.text.splitlines() or [""]
        click.echo(f"  {paint(reason.subject, err=err, bold=True)}: {first}", err=err)
        for line in more:  # the end of the task's own output
            click.echo(f"    {paint('|', err=err, dim=True)} {line.strip()}", err=err)
        if reason.hint:
            click.echo(f"    {paint('try:', err=err, fg='cyan')} {reason.hint}", err=err)
    if len(reasons) > len(shown):
        click.echo(f"  … and {len(reasons) - len(shown)} more: `azbatch why` shows all", err=err)
