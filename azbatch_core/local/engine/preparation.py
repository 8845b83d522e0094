"""Preparation and release tasks: once a job and node, before its first task there and after its last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine.execution import Execution
from azbatch_core.local.engine.launching import launch
from azbatch_core.local.engine.nodes import put_outcome
from azbatch_core.local.rules.documents import job_folder
from azbatch_core.local.rules.nodes import UP
from azbatch_core.local.rules.times import moment
from azbatch_core.local.store.records import Preparation

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.runtime.base import Outcome
    from azbatch_core.local.store.records import Doc, Job, Node

__all__ = ["begin", "may_run", "outlive", "settle", "settle_release", "start_releases"]


def may_run(account: Account, job: Job, node: Node) -> bool:
    """Whether tasks of a job may run on a node now; begins the preparation if it was not."""
    task = job.spec.get("jobPreparationTask")
    if task is None:
        return True
    found = account.preparations[job.key].get(node.key)
    if found is None or found.state == "stale":
        found = begin(account, job, node, task, ran=found is not None and found.ran)
    return found.state == "ready" or not task["waitForSuccess"]


def _record(account: Account, job: Job, node: Node, task: Doc) -> Doc:
    root = f"{job_folder(job.id)}/{task['id']}"
    return {
        "state": "running",
        "taskRootDirectory": root,
        "taskRootDirectoryUrl": f"{account.base}/pools/{node.pool_id}/nodes/{node.id}/files/{root}",
    }


def begin(account: Account, job: Job, node: Node, task: Doc, *, ran: bool = False) -> Preparation:
    """Start a job's preparation task on a node; `ran` tells whether tasks of the job ran there before."""
    earlier = account.preparations[job.key].get(node.key)
    preparation = Preparation(
        key=account.store.next_key("preparations") if earlier is None else earlier.key,
        job=job.key,
        node=node.key,
        pool_id=node.pool_id,
        node_id=node.id,
        info=_record(account, job, node, task),
        ran=ran,
    )
    account.preparations[job.key][node.key] = preparation
    _try(account, job, node, preparation)
    return preparation


def _try(account: Account, job: Job, node: Node, preparation: Preparation) -> None:
    task = job.spec["jobPreparationTask"]
    execution = Execution("preparation", node, job, task["id"], task, launches=preparation.tries)
    account.enter(execution)
    preparation.info["startTime"] = moment(launch(account, execution))
    preparation.info["retryCount"] = preparation.tries
    account.touch(preparation)


def settle(account: Account, execution: Execution, outcome: Outcome) -> list[Execution]:
    """A try of a preparation task has ended; the tasks that waited for it and may run now.

    When all tries failed, those tasks go back to active and the node takes no more tasks of the job, unless
    the job does not wait for its preparation (SDK BatchJobPreparationTask.wait_for_success).
    """
    account.leave(execution)
    node, job = execution.node, execution.job
    preparation = account.preparations.get(job.key, {}).get(node.key) if job is not None else None
    if job is None or preparation is None:
        return []
    if execution.stop_reason is not None:
        # Its node goes or its job ends: the record stays, no task waits for it.
        put_outcome(preparation.info, outcome)
        preparation.state = "stale"
        account.touch(preparation)
        account.due_jobs[job.key] = None
        return []
    task = execution.spec
    allowed = task["constraints"]["maxTaskRetryCount"]
    if not outcome.succeeded and (allowed == -1 or preparation.tries < allowed):
        preparation.tries += 1
        preparation.info["lastRetryTime"] = moment(account.now())
        _try(account, job, node, preparation)
        return []
    put_outcome(preparation.info, outcome)
    preparation.state = "ready" if outcome.succeeded else "failed"
    account.touch(preparation)
    waiting = [other for other in account.of_job[job.key] if other.node is node and other.kind == "task"]
    waiting = [other for other in waiting if other.running is None and other.stop_reason is None]
    if outcome.succeeded:
        return waiting
    if task["waitForSuccess"]:
        account.barred.setdefault(job.key, set()).add(node.key)
        for other in waiting:
            account.stop(other, "lost")
    return []


def outlive(account: Account, node: Node, *, wiped: bool) -> None:
    """A node on which nothing runs has gone down: see what is left of the preparations there.

    They run again before the next task: always if the node's disk is `wiped`, which also makes a node usable
    on which one had failed; else where the job wants it (SDK BatchJobPreparationTask, which also says that a
    node stays barred until it is reimaged). Release tasks clean nothing up on a fresh disk.
    """
    for key, found in account.preparations.items():
        preparation = found.get(node.key)
        task = account.jobs[key].spec.get("jobPreparationTask")
        if preparation is None or task is None:
            continue
        if wiped:
            preparation.state, preparation.ran = "stale", False
            account.barred.get(key, set()).discard(node.key)
        elif preparation.state == "ready" and task.get("rerunOnNodeRebootAfterSuccess", True):
            preparation.state = "stale"
        account.touch(preparation)


def start_releases(account: Account, job: Job) -> None:
    """Start release tasks where the preparation completed and a task of the job ran.

    Without effect when that was done (SDK BatchJobReleaseTask).
    """
    task = job.spec.get("jobReleaseTask")
    if job.released or task is None:
        return
    job.released = True
    account.touch(job)
    for preparation in account.preparations[job.key].values():
        node = account.nodes.get(preparation.node)
        if node is None or node.state not in UP or not _prepared(job, preparation):
            continue
        if preparation.release is not None:  # it ended there before the service was killed
            continue
        execution = Execution("release", node, job, task["id"], task)
        account.enter(execution)
        preparation.release = _record(account, job, node, task)
        preparation.release["startTime"] = moment(launch(account, execution))
        account.touch(preparation)


def _prepared(job: Job, preparation: Preparation) -> bool:
    """Whether the preparation completed and a task of the job ran, be it before a reboot."""
    waited = job.spec["jobPreparationTask"]["waitForSuccess"] or preparation.info.get("result") == "success"
    state = preparation.state
    return preparation.ran and (state == "ready" or (state == "stale" and waited))


def settle_release(account: Account, execution: Execution, outcome: Outcome) -> None:
    """A release task has ended, well or not: its job may complete."""
    account.leave(execution)
    job = execution.job
    preparation = account.preparations.get(job.key, {}).get(execution.node.key) if job is not None else None
    if job is None or preparation is None or preparation.release is None:
        return
    put_outcome(preparation.release, outcome)
    account.touch(preparation)
    account.due_jobs[job.key] = None
