"""Why a job's tasks wait, cannot run, or failed: what a person would look up in five places.

`explain` is pure; `why` reads what it needs, including the ends of the error output of what failed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from azbatch_core.service.states import FailureCategory, TaskState
from azbatch_core.service.summaries import Explanation
from azbatch_core.service.watch import members as gang_members
from azbatch_core.service.watch import pool_health, task_failures
from azbatch_core.service.watch.status import end_reason, job_goes_on
from azbatch_core.service.watch.watcher import watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.states import TaskStatus
    from azbatch_core.service.watch.pool_health import Ground

_FAILURES = 5
_NODES = 3
_LISTED = 3
_TAIL_LINES = 8
_HINTS = {
    FailureCategory.IMAGE: "check the image's name, and that the pool can log in to its registry",
    FailureCategory.STAGING: "check that the URL is right, has not expired, and carries the permissions",
    FailureCategory.NODE: "the machine failed, not the command: submit again, or look at the pool's nodes",
    FailureCategory.PREEMPTED: "spot nodes can be taken away: retry, or ask for dedicated nodes",
    FailureCategory.WALLTIME: "give it a longer wall_time",
    FailureCategory.OUT_OF_MEMORY: "ask for more memory in resources",
    FailureCategory.QUOTA: "ask for a higher quota, or for less",
    FailureCategory.SERVICE: "the service failed: submit again",
}
_SUBMIT_AGAIN = "submit the same file again"
_OF_OURS = re.compile(r"azb-.+-[0-9a-f]{10}", re.IGNORECASE)
"""The ids of managed pools: of one that is gone nothing else is left."""
_COMING = frozenset({"creating", "starting", "waitingforstarttask", "rebooting", "reimaging", "upgradingos"})


def why(connection: Connection, job_id: str) -> list[Explanation]:
    """Explanations, the most telling first; empty when there is nothing to explain.

    Raises:
        NotFound: There is no such job.
    """
    shared = watch(connection, job_id)
    snapshot = shared.look(full=True)
    job, tasks = snapshot.job, snapshot.tasks
    waiting = any(task.state in {TaskState.QUEUED, TaskState.PREPARING} for task in tasks)
    found: Ground | None = None
    if waiting and job_goes_on(job):
        found = pool_health.look(connection, job)

    def task_tail(task: TaskStatus) -> str:
        if task.started is None:
            return ""
        if task.member:
            member = shared.gangs.members(task)[task.member]
            path = gang_members.node_file(member, "stderr.txt")
            return pool_health.tail(connection, *path) if path else ""
        return pool_health.tail(connection, "jobs", job_id, "tasks", task.id, "files", "stderr.txt")

    def start_tail(node: Mapping[str, Any]) -> str:
        pool_id = found.pool_id if found else None
        return pool_health.start_task_tail(connection, pool_id, str(node["id"])) if pool_id else ""

    handle = f"{connection.account.name}:{job_id}"
    return list(explain(job, tasks, found, task_tail, start_tail, handle=handle))


def explain(
    job: Mapping[str, Any],
    tasks: Sequence[TaskStatus],
    found: Ground | None,
    task_tail: Callable[[TaskStatus], str] = lambda _: "",
    start_tail: Callable[[Mapping[str, Any]], str] = lambda _: "",
    *,
    handle: str = "JOB",
) -> Iterator[Explanation]:
    """The explanations, from what was read.

    Args:
        job: The job's document.
        tasks: All of its tasks.
        found: What they stand on; None where no task waits for a node.
        task_tail: The end of a task's stderr.
        start_tail: The end of the output of a node's start task.
        handle: The job, for commands that a hint names.
    """
    yield from _of_job(job, tasks)
    yield from _of_failures(tasks, task_tail, handle)
    yield from _of_dependencies(tasks)
    if found is not None:
        queued = [task for task in tasks if task.state in {TaskState.QUEUED, TaskState.PREPARING}]
        yield from _of_ground(found, queued, start_tail)


def _of_job(job: Mapping[str, Any], tasks: Sequence[TaskStatus]) -> Iterator[Explanation]:
    subject = f"job {job.get('id')}"
    state = str(job.get("state", "")).lower()
    if state in {"disabling", "disabled"}:
        yield Explanation(subject, f"the job is {state}: no task starts until it is enabled")
    elif state == "deleting":
        yield Explanation(subject, "the job is being deleted")
    reason = end_reason(job)
    if reason:
        yield Explanation(subject, reason)
    if not tasks and job_goes_on(job):
        yield Explanation(subject, "the job has no tasks", "its submission is under way, or was interrupted")


def _of_failures(
    tasks: Sequence[TaskStatus], task_tail: Callable[[TaskStatus], str], handle: str
) -> Iterator[Explanation]:
    failed = [task for task in tasks if task.state is TaskState.FAILED]
    for task in failed[:_FAILURES]:
        text = f"{task.category.words if task.category else 'it failed'}: {task.message}"
        lines = _last_lines(task_tail(task))
        if lines:
            text += f"\n{lines}"
        yield Explanation(f"task {task.id}", text, _failure_hint(task, handle))
    if len(failed) > _FAILURES:
        yield Explanation("tasks", f"{len(failed) - _FAILURES} more failed: {_ids(failed[_FAILURES:])}")


def _failure_hint(task: TaskStatus, handle: str) -> str | None:
    if task.member is not None and task.category is FailureCategory.USER:
        return f"azbatch logs {handle} {task.id} --member {task.member}"
    if task.category is FailureCategory.USER and task_failures.was_killed(task.exit_code):
        return "if it ran out of memory, ask for more in resources"
    return _HINTS.get(task.category) if task.category else None


def _of_dependencies(tasks: Sequence[TaskStatus]) -> Iterator[Explanation]:
    blocked = [task for task in tasks if task.state is TaskState.BLOCKED]
    for task in blocked[:_LISTED]:
        yield Explanation(
            f"task {task.id}",
            str(task.message),
            "mend what failed and submit the job again; on_failure: satisfy there lets this run all the same",
        )
    if len(blocked) > _LISTED:
        never = (
            "1 more never runs" if len(blocked) == _LISTED + 1 else f"{len(blocked) - _LISTED} more never run"
        )
        yield Explanation("tasks", f"{never}: {_ids(blocked[_LISTED:])}")
    known = {task.id.lower(): task for task in tasks}
    for task in [task for task in tasks if task.state is TaskState.WAITING][:_LISTED]:
        missing = [name for name in task.depends_on if name.lower() not in known]
        if missing:
            yield Explanation(f"task {task.id}", f"waits for tasks that are not in the job: {_some(missing)}")
        else:
            still = [name for name in task.depends_on if not known[name.lower()].state.final]
            yield Explanation(f"task {task.id}", f"waits for {_some(still)}")


def _of_lost_nodes(queued: Sequence[TaskStatus]) -> Iterator[Explanation]:
    """Tasks that are in the queue anew; why, only the counts tell: a lost node raises none of them."""
    for task in [task for task in queued if task.again][:_LISTED]:
        counted = task.retries or task.requeues
        cause = "it was on a node before" if counted else "its node was taken away or lost"
        yield Explanation(f"task {task.id}", f"{cause}, and it waits to start again from the beginning")


def _of_ground(
    found: Ground, queued: Sequence[TaskStatus], start_tail: Callable[[Mapping[str, Any]], str]
) -> Iterator[Explanation]:
    subject = f"pool {found.pool_id}" if found.pool_id else "pool"
    verdict = pool_health.judge(found, queued)
    if found.pool_id is None:
        yield Explanation(subject, "the service is making the job's own pool")
        return
    if verdict:
        # The subject says already which pool it is about.
        text = verdict.removeprefix(f"the {subject} ")
        yield Explanation(subject, text if text == verdict else f"it {text}", _verdict_hint(found, queued))
    else:
        yield from _of_lost_nodes(queued)
    if found.pool is None:
        return
    large = [task for task in queued if task.required_slots > found.slots]
    if large and not verdict:
        need = _agree(len(large), "needs", "need")
        text = f"{_ids(large)} {need} more task slots than a node has ({found.slots})"
        yield Explanation(subject, text, "submit to a pool with more task slots per node")
    if not verdict:
        yield from _of_gangs(found, queued)
    yield from _of_pool(found, subject, queued, verdict=verdict)
    yield from _of_nodes(found, start_tail)


def _of_gangs(found: Ground, queued: Sequence[TaskStatus]) -> Iterator[Explanation]:
    """Gangs that wait for more nodes than are free at once; those for which there never are so many."""
    for task in [task for task in queued if task.nodes][:_LISTED]:
        trouble = pool_health.gang_trouble(found, task)
        free = sum(pool_health.state_of(node) == "idle" for node in found.nodes)
        if trouble:
            hint = _gang_hint(found, task.nodes or 0)
            yield Explanation(f"task {task.id}", f"cannot start: the pool {trouble}", hint)
        elif free < (task.nodes or 0):
            of = f"{free} of the {len(found.nodes)} there {_agree(free, 'is', 'are')}"
            yield Explanation(f"task {task.id}", f"waits until {task.nodes} nodes are free at once: {of}")


def _verdict_hint(found: Ground, queued: Sequence[TaskStatus]) -> str | None:
    if found.gone:
        return _gone_hint(found)
    if any(pool_health.gang_trouble(found, task) for task in queued):
        return _gang_hint(found, max(task.nodes or 0 for task in queued))
    if found.nodes:
        return f"fix the cause, then azbatch pools delete {found.pool_id}: the next job gets new nodes"
    if found.own_pool:
        return None
    errors = (found.pool or {}).get("resizeErrors") or ()
    if any("Quota" in str(error.get("code")) for error in errors):
        return "delete or shrink another pool (azbatch pools), or ask for a higher quota"
    return f"azbatch pools resize {found.pool_id} --nodes N, or submit again"


def _gang_hint(found: Ground, nodes: int) -> str | None:
    if pool_health.unfit_for_gangs(found) or found.autoscales:
        return "submit it without a pool: azbatch makes one that fits"
    return None if found.own_pool else f"azbatch pools resize {found.pool_id} --nodes {nodes}"


def _gone_hint(found: Ground) -> str:
    if found.own_pool:
        return f"{_SUBMIT_AGAIN}: a new job gets a pool of its own"
    if _OF_OURS.fullmatch(str(found.pool_id)):
        return f"{_SUBMIT_AGAIN}: the pool is made anew, and the job goes on"
    return "make the pool again with this id, and the job goes on"


def _of_pool(
    found: Ground, subject: str, queued: Sequence[TaskStatus], *, verdict: str | None
) -> Iterator[Explanation]:
    if not found.steady:
        nodes = _agree(found.targets, "node", "nodes")
        text = f"the pool is being resized: {len(found.nodes)} of {found.targets} {nodes}"
        yield Explanation(subject, text)
    if not verdict:
        for error in pool_health.resize_errors(found.pool or {}):
            yield Explanation(subject, f"its last resize ended with: {error}")
    formula = ((found.pool or {}).get("autoScaleRun") or {}).get("error")
    if formula:
        yield Explanation(subject, f"its autoscale formula failed: {task_failures.describe(formula)}")
    if not verdict and found.autoscales and not found.nodes:
        yield Explanation(subject, "the pool has no nodes now, and a formula decides when it gets some")
    states = [pool_health.state_of(node) for node in found.nodes]
    coming = sum(state in _COMING for state in states)
    if coming:
        one = "its node is" if len(states) == 1 else f"{coming} of its {len(states)} nodes are"
        yield Explanation(subject, f"{one} still starting")
    elif states and all(state == "running" for state in states):
        nodes = f"all {len(states)} nodes are" if len(states) > 1 else "its node is"
        wait = "1 task waits" if len(queued) == 1 else f"{len(queued)} tasks wait"
        yield Explanation(subject, f"{nodes} busy; {wait} for a slot")


def _of_nodes(found: Ground, start_tail: Callable[[Mapping[str, Any]], str]) -> Iterator[Explanation]:
    trouble = [node for node in found.nodes if pool_health.state_of(node) not in pool_health.READY | _COMING]
    for node in trouble[:_NODES]:
        text = pool_health.node_trouble(node)
        if pool_health.state_of(node) == "starttaskfailed":
            command = ((found.pool or {}).get("startTask") or {}).get("commandLine")
            text += f"; its command: {command}" if command else ""
            lines = _last_lines(start_tail(node))
            text += f"\n{lines}" if lines else ""
        yield Explanation(f"node {node.get('id')}", text)
    if len(trouble) > _NODES:
        yield Explanation(
            "nodes",
            f"{len(trouble) - _NODES} more {'is' if len(trouble) == _NODES + 1 else 'are'} not usable",
        )
    for entry in [entry for entry in found.preparation if pool_health.preparation_failed(entry)][:_NODES]:
        text = f"the job's preparation task failed: {pool_health.preparation_words(entry)}"
        yield Explanation(f"node {entry.get('nodeId')}", text, "the node takes no task of this job")


def _agree(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def _last_lines(text: str) -> str:
    lines = text.rstrip().splitlines()[-_TAIL_LINES:]
    return "\n".join(f"  {line}" for line in lines)


def _ids(tasks: Sequence[TaskStatus]) -> str:
    return _some([task.id for task in tasks])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
