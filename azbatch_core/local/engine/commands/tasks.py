"""The façade's calls on tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from azbatch_core.local.engine import retention, tasks
from azbatch_core.local.engine.commands.base import Commands
from azbatch_core.local.engine.commands.jobs import find_job, find_live_job
from azbatch_core.local.engine.commands.paging import page
from azbatch_core.local.engine.packages import refuse_unknown
from azbatch_core.local.errors import BatchError, invalid_property
from azbatch_core.local.rules import tasks as rules
from azbatch_core.local.rules.checks import check_at_least, check_seconds
from azbatch_core.local.rules.documents import fill_constraints
from azbatch_core.local.rules.gangs import subtask_document
from azbatch_core.local.rules.jobs import refuse_unless_live
from azbatch_core.local.rules.times import etag, moment
from azbatch_core.local.store.task_rows import NewTask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from azbatch_core.local.engine.commands.paging import Listed
    from azbatch_core.local.odata.parser import Condition, Match
    from azbatch_core.local.rules.tasks import Needs
    from azbatch_core.local.store.records import Doc, Job
    from azbatch_core.local.store.task_rows import Task

__all__ = ["TaskCommands"]

_TASKS_MOST = 100
_UNREADABLE = "The files of the specified task cannot be accessed as the task "


class TaskCommands(Commands):
    """Tasks."""

    def create(self, job_id: str, body: Doc) -> Doc:
        """Add a task.

        Raises:
            BatchError: JobNotFound, JobCompleted, JobBeingTerminated, JobBeingDeleted, TaskExists,
                TaskIdSameAs…, TaskDependenc…, InvalidPropertyValue.
        """
        job = find_live_job(self.account, job_id)
        rules.check_new(job, body)
        refuse_unknown(self.account, body)
        if self.account.store.tasks.existing(job.key, [body["id"]]):
            raise BatchError("TaskExists")
        self._insert(job, [body])
        self.done()
        return self.get(job_id, body["id"])

    def add_collection(self, job_id: str, bodies: Sequence[Doc]) -> list[Doc]:
        """Add up to 100 tasks; the members of the answer, in the order given.

        Each task goes in or is refused by itself (SDK BatchTaskGroup.task_values for the limit).

        Raises:
            BatchError: JobNotFound, JobCompleted, JobBeingTerminated, JobBeingDeleted, InvalidPropertyValue
                (too many).
        """
        job = find_live_job(self.account, job_id)
        if len(bodies) > _TASKS_MOST:
            raise invalid_property("value", len(bodies), f"A collection holds at most {_TASKS_MOST} tasks.")
        taken = self.account.store.tasks.existing(job.key, [str(body.get("id")) for body in bodies])
        results: list[Doc] = []
        good: list[Doc] = []
        places: list[int] = []
        for body in bodies:
            refusal = self._refusal(job, body, taken)
            if refusal is not None:
                results.append(rules.add_refusal(str(body.get("id")), refusal))
                continue
            taken.add(body["id"].lower())
            places.append(len(results))
            good.append(body)
            results.append({})
        for place, body, modified in zip(places, good, self._insert(job, good), strict=True):
            results[place] = rules.add_result(
                job, self.account.base, body["id"], moment(modified), etag(modified)
            )
        self.done()
        return results

    def _refusal(self, job: Job, body: Doc, taken: set[str]) -> BatchError | None:
        """Why a task of a collection is not added; `taken` are ids in lower case."""
        try:
            rules.check_new(job, body)
            if "applicationPackageReferences" in body:
                refuse_unknown(self.account, body)
        except BatchError as error:
            return error
        return BatchError("TaskExists") if body["id"].lower() in taken else None

    def _insert(self, job: Job, bodies: Sequence[Doc]) -> list[int]:
        """Add tasks that have been checked; when each was written."""
        account = self.account
        counts = account.counts[job.key]
        rows: list[NewTask] = []
        waiting: list[tuple[str, Needs]] = []
        for body in bodies:
            spec = rules.fill(job, body)
            unmet = 0
            if "dependsOn" in spec:
                needs, unmet = self._unmet(job, rules.needs_of(spec))
                waiting.append((body["id"], needs))
            instances = rules.instances_of(spec)
            slots = spec["requiredSlots"] * (instances or 1)
            number = rules.number_of(body["id"])
            stored = orjson.dumps(spec)
            rows.append(
                NewTask(job.key, body["id"], number, unmet, slots, account.stamp(), stored, instances)
            )
        account.store.tasks.insert(rows)
        for task_id, needs in waiting:
            seq = account.store.tasks.seq_of(job.key, task_id)
            account.store.dependencies.add(job.key, seq, needs.ids, needs.ranges)
        for row in rows:
            counts.add("active", 1, row.slots)
            counts.ready += not row.waiting
        tasks.look_again(account, job)
        return [row.modified for row in rows]

    def _unmet(self, job: Job, needs: Needs) -> tuple[Needs, int]:
        """What is not satisfied yet, and how many tasks that is."""
        table = self.account.store.tasks
        met = table.satisfied(job.key, needs.ids)
        ids = [task_id for task_id in needs.ids if task_id.lower() not in met]
        expected = sum(last - first + 1 for first, last in needs.ranges)
        there = sum(table.numbered(job.key, first, last) for first, last in needs.ranges)
        return rules.Needs(ids, needs.ranges), len(ids) + expected - there

    def get(self, job_id: str, task_id: str) -> Doc:
        """A task.

        Raises:
            BatchError: JobNotFound, TaskNotFound.
        """
        job = find_job(self.account, job_id)
        return self._document(self._task(job, task_id), job)

    def page(
        self,
        job_id: str,
        match: Match | None = None,
        after: str | None = None,
        limit: int = 1000,
        condition: Condition = None,
    ) -> Listed:
        """A job's tasks that match, in the order of their ids after `after`, and the id to go on after.

        `match` is asked about id, times, states and `executionInfo` only, which is all that a `$filter` may
        name; whole documents are built for the page alone. `condition` (see
        `odata.parser.Filter`) narrows in SQL.

        Raises:
            BatchError: JobNotFound.
        """
        job = find_job(self.account, job_id)
        rows = self.account.store.tasks.scan(job.key, after, condition)
        return page(rows, lambda task: self._document(task, job), match, limit, seen=rules.TaskView)

    def _document(self, task: Task, job: Job) -> Doc:
        doc = rules.task_document(task, job, self.account.base)
        if task.state == "running":
            execution = self.account.live.get(task.seq)
            running = None if execution is None else execution.running
            if running is not None and running.container is not None:
                doc["executionInfo"]["containerInfo"] = running.container
        return doc

    def replace(self, job_id: str, task_id: str, body: Doc) -> Doc:
        """Replace a task's constraints (PUT); what the body omits goes back to its default.

        Raises:
            BatchError: JobNotFound, TaskNotFound, TaskCompleted, JobBeingDeleted, InvalidPropertyValue.
        """
        job, task = self._changeable(job_id, task_id)
        constraints = body.get("constraints") or {}
        check_at_least(constraints, "maxTaskRetryCount", -1)
        check_seconds(constraints, "maxWallClockTime")
        check_seconds(constraints, "retentionTime")
        if task.state == "completed":
            raise BatchError("TaskCompleted")
        spec = orjson.loads(task.spec)
        spec["constraints"] = fill_constraints(constraints, job.spec["constraints"]["maxTaskRetryCount"])
        account = self.account
        execution = account.live.get(task.seq)
        if execution is not None:
            execution.spec["constraints"] = spec["constraints"]
        account.store.tasks.write(task.seq, account.stamp(), orjson.dumps(spec))
        self._forget_ready(job, task)
        self.done()
        return self.get(job_id, task_id)

    def _forget_ready(self, job: Job, task: Task) -> None:
        # The window holds the old spec.
        self.account.queues[job.key].drop(task.seq)
        tasks.make_ready(self.account, job, task.seq)

    def terminate(self, job_id: str, task_id: str) -> Doc:
        """End a task; one that runs is completed as soon as its processes are gone.

        Raises:
            BatchError: JobNotFound, TaskNotFound, TaskCompleted, JobBeingDeleted.
        """
        job, task = self._changeable(job_id, task_id)
        if task.state == "completed":
            raise BatchError("TaskCompleted")
        account = self.account
        execution = account.live.get(task.seq)
        if execution is None:
            tasks.end_active(account, job, task.seq, task.slots, ready=not task.waiting)
        else:
            account.store.tasks.write(task.seq, account.stamp())
            account.stop(execution, "terminate")
        self.done()
        return self.get(job_id, task_id)

    def reactivate(self, job_id: str, task_id: str) -> Doc:
        """Make a failed task active again, its retries counted from 0 (SDK reactivate_task).

        Raises:
            BatchError: JobNotFound, TaskNotFound, TaskNotCompleted, TaskSucceeded, JobCompleted,
                JobBeingTerminated, JobBeingDeleted.
        """
        job = find_live_job(self.account, job_id)
        task = self._task(job, task_id)
        if task.state != "completed":
            raise BatchError("TaskNotCompleted")
        if task.failure is None:
            raise BatchError("TaskSucceeded")
        account = self.account
        retention.clear(account, job, task)  # it may run elsewhere next: nobody would know of these files
        account.store.tasks.reactivate(task.seq, account.stamp())
        account.store.subtasks.forget([task.seq])
        counts = account.counts[job.key]
        counts.move("failed", "active", task.slots)
        if not task.waiting:
            counts.ready += 1
            tasks.make_ready(account, job, task.seq)
        self.done()
        return self.get(job_id, task_id)

    def delete(self, job_id: str, task_id: str) -> None:
        """Delete a task and its files; on return it is gone, and what ran of it is being killed.

        Raises:
            BatchError: JobNotFound, TaskNotFound, JobBeingDeleted.
        """
        job, task = self._changeable(job_id, task_id)
        account = self.account
        execution = account.live.get(task.seq)
        if execution is not None:
            account.counts[job.key].add("running", -1, -task.slots)
            # A new task of the same id waits until this one's processes are gone.
            account.dying[job.key, task.id.lower()] = task.seq
            account.stop(execution, "delete")
        else:
            self._uncount(job, task)
        # Now, and not when its processes are gone: nobody would know of the files if the service were killed.
        retention.clear(account, job, task)
        account.store.subtasks.forget([task.seq])
        number = rules.number_of(task.id)
        if task.satisfied and number is not None:
            account.store.dependencies.unmeet(job.key, number)
        account.store.tasks.delete([task.seq])
        account.store.dependencies.forget([task.seq])
        account.due_jobs[job.key] = None
        self.done()

    def _uncount(self, job: Job, task: Task) -> None:
        counts = self.account.counts[job.key]
        kind = "active"
        if task.state == "completed":
            kind = "succeeded" if task.failure is None else "failed"
        elif not task.waiting:
            counts.ready -= 1
            self.account.queues[job.key].drop(task.seq)
            tasks.look_again(self.account, job)
        counts.add(kind, -1, -task.slots)

    def subtasks(self, job_id: str, task_id: str) -> list[Doc]:
        """The subtasks of a multi-instance task on its nodes or after it, without the primary.

        None for plain tasks, and while the task waits for nodes.

        Raises:
            BatchError: JobNotFound, TaskNotFound.
        """
        job = find_job(self.account, job_id)
        task = self._task(job, task_id)
        return [
            subtask_document(subtask, job, task.id, self.account.base)
            for subtask in self.account.store.subtasks.of_task(task.seq)
        ]

    def never_run(self, job_id: str, most: int) -> dict[str, str]:
        """Waiting tasks whose dependencies are never met, each with the failed one behind it; about `most`.

        Raises:
            BatchError: JobNotFound.
        """
        return self.account.store.dependencies.never_met(find_job(self.account, job_id).key, most)

    def directory(self, job_id: str, task_id: str) -> Path:
        """The folder of a task's files.

        Raises:
            BatchError: JobNotFound, TaskNotFound, OperationInvalidForCurrentState (it has not run),
                TaskFilesUnavailable (its node is gone), TaskFilesCleanedup (its retention is over).
        """
        job = find_job(self.account, job_id)
        task = self._task(job, task_id)
        if not task.placed or task.node is None:
            state = "moved to completed state without running"
            if task.state != "completed":
                state = f"state is still {task.state}"
            raise BatchError("OperationInvalidForCurrentState", Reason=_UNREADABLE + state)
        if task.cleaned:
            raise BatchError("TaskFilesCleanedup")
        node = self.account.nodes.get(task.node)
        if node is None:
            raise BatchError("TaskFilesUnavailable")
        return self.account.runtime.task_directory(self.account.place(node), job.id, task.id)

    def _task(self, job: Job, task_id: str) -> Task:
        task = self.account.store.tasks.find(job.key, task_id)
        if task is None:
            raise BatchError("TaskNotFound")
        return task

    def _changeable(self, job_id: str, task_id: str) -> tuple[Job, Task]:
        job = find_job(self.account, job_id)
        if job.state == "deleting":
            refuse_unless_live(job)
        return job, self._task(job, task_id)
