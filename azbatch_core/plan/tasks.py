"""Tasks: their request bodies, checked against the pool that they will run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.errors import ConfigurationError, SpecError
from azbatch_core.plan import gangs, member_logs
from azbatch_core.plan.bodies import Body, constraints, program
from azbatch_core.plan.globs import has_wildcard
from azbatch_core.plan.images import check_image
from azbatch_core.plan.limits import program_warnings, too_long
from azbatch_core.plan.model import PlannedTask
from azbatch_core.plan.nodes import needs_of
from azbatch_core.plan.outputs import fixed_blobs, output_files
from azbatch_core.plan.secrets import body_size
from azbatch_core.plan.urls import check_urls
from azbatch_core.plan.vm_choice import slots_needed
from azbatch_core.specs.command import check_any_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from azbatch_core.plan.facts import AccountFacts
    from azbatch_core.plan.ids import TaskIds
    from azbatch_core.plan.notes import Notes
    from azbatch_core.plan.pools import PoolContext
    from azbatch_core.specs import (
        ContainerSpec,
        JobSpec,
        OutputFile,
        ResourceFile,
        Resources,
        TaskSpec,
    )
    from azbatch_core.specs.command import OperatingSystem

MAX_REQUEST = 1024 * 1024
"""The bytes that a request with tasks may have (BatchTaskGroup.task_values)."""
ENVELOPE = 1024 + 2
"""Of these, what is not the tasks: the list around them, and a little air."""
TOO_LARGE_HINT = "move long arguments, scripts or file lists into a resource file or a container prefix"


class TaskPlanner:
    """Makes the planned form of a job's tasks, one after the other."""

    def __init__(
        self,
        job: JobSpec,
        facts: AccountFacts,
        *,
        job_id: str,
        pool: PoolContext,
        ids: TaskIds,
        notes: Notes,
        uses_dependencies: bool,
    ) -> None:
        self.ids = ids
        self.notes = notes
        self._uses_dependencies = uses_dependencies
        self._job = job
        self._job_id = job_id
        self._facts = facts
        self._pool = pool
        self._slots: dict[tuple[Resources | None, int | None], int] = {}
        self._blobs: dict[str, str] = {}
        self._contained: bool | None = None
        self._logs_in = member_logs.container_of(job, pool.os)
        self.mark()

    def plan(self, spec: TaskSpec) -> PlannedTask:
        """Plan a task that is not registered yet.

        Raises:
            SpecError: As `Plan.plan_task`.
        """
        try:
            task_id = self.ids.choose(spec.id)
        except SpecError as error:
            raise located(error, spec.id) from None
        planned = self.plan_as(task_id, spec)
        self.ids.add(task_id, spec.stage)  # only now: nothing may depend on a task that was refused
        return planned

    def plan_as(self, task_id: str, spec: TaskSpec) -> PlannedTask:
        """Plan a task whose id is registered.

        Raises:
            SpecError: As `Plan.plan_task`.
        """
        try:
            return self._plan(task_id, spec)
        except SpecError as error:
            raise located(error, task_id) from None

    def mark(self) -> None:
        """Remember what is planned so far, for `rewind`."""
        self._start = (self.ids.copy(), self.notes.copy(), dict(self._blobs), self._contained)

    def rewind(self) -> None:
        """Forget all tasks that were planned after `mark`."""
        ids, notes, blobs, self._contained = self._start
        self.ids, self.notes, self._blobs = ids.copy(), notes.copy(), dict(blobs)

    def later_warnings(self, earlier: tuple[str, ...]) -> tuple[str, ...]:
        """The warnings that are not among the earlier ones."""
        return tuple(line for line in self.notes.lines() if line not in earlier)

    def _plan(self, task_id: str, spec: TaskSpec) -> PlannedTask:
        in_container = spec.container or self._job.container
        check_any_command(spec.command, container=in_container)
        self._check_container(in_container, task_id)
        body: Body = {"id": task_id}
        if spec.display_name:
            body["displayName"] = spec.display_name
        body |= program(
            spec.command,
            os=self._pool.os,
            variables=spec.environment,
            files=spec.resource_files,
            in_container=in_container,
            elevated=spec.elevated,
            job_id=self._job_id,
        )
        if spec.gang is not None:
            gangs.check_pool(spec.gang, self._pool, self.notes, task_id)
            body.pop("resourceFiles", None)
        self._add_scheduling(body, spec, task_id)
        self._warn(spec, task_id)
        names = self._add_outputs(body, spec, task_id)
        if spec.gang is not None:
            mark = member_logs.marked(spec, body.get("outputFiles", ()), self._logs_in)
            body |= gangs.settings(spec, spec.gang, os=self._pool.os, job_id=self._job_id, mark=mark)
        size = body_size(body)
        if is_oversized(size):
            # Not an error of the plan: the other tasks can go in, and the submission reports this one.
            self.notes.add(
                "its description is larger than a request may be (1 MB), so Batch will refuse it: "
                + TOO_LARGE_HINT,
                task_id,
            )
        self._contained = in_container is not None
        return PlannedTask(id=task_id, spec=spec, body=body, size=size, outputs=names)

    def _add_scheduling(self, body: Body, spec: TaskSpec, task_id: str) -> None:
        retry = spec.retry if spec.retry is not None else self._job.retry
        retention = spec.retention if spec.retention is not None else self._job.retention
        limits = constraints(wall_time=spec.wall_time, retention=retention, max_retries=retry.max_retries)
        if limits:
            body["constraints"] = limits
        slots = self._required_slots(spec, task_id)
        if slots != 1:
            body["requiredSlots"] = slots
        if spec.depends_on:
            if not self._uses_dependencies:
                raise SpecError(
                    "the job was planned without dependencies, so a later task cannot have any",
                    field="depends_on",
                    hint="plan(job, facts, streaming=True)",
                )
            body["dependsOn"] = self.ids.dependencies(spec.depends_on)
        if spec.on_failure == "satisfy":
            body["exitConditions"] = {"default": self._tolerate()}

    def _tolerate(self) -> dict[str, str]:
        """What happens when a task fails whose failure does not matter to those that depend on it.

        Where any failure would end the job, this one must not, or nothing would be left to go on. Batch
        refuses a job action on jobs that take none (ExitOptions.job_action).
        """
        action = {"dependencyAction": "satisfy"}
        return {"jobAction": "none", **action} if self._job.on_task_failure == "terminate" else action

    def _required_slots(self, spec: TaskSpec, task_id: str) -> int:
        resources = spec.resources or self._job.resources
        key = (resources, spec.required_slots)
        if key not in self._slots:
            self._slots[key] = self._count_slots(resources, spec.required_slots)
        if resources is not None and self._pool.vm is None and spec.required_slots is None:
            self.notes.add(
                f"its resources are not checked (VM size of {self._pool.name} not known): it takes one slot",
                task_id,
            )
        return self._slots[key]

    def _count_slots(self, resources: Resources | None, asked: int | None) -> int:
        present = self._pool.slots
        needed = 1
        if resources is not None and self._pool.vm is not None:
            needed = slots_needed(needs_of(resources), self._pool.vm, present or 1)
        slots = asked if asked is not None else needed
        if present is not None and slots > present:
            raise SpecError(
                f"takes {slots} task slots, but a node of {self._pool.name} has {present}: it never runs",
                field="required_slots",
                hint="take fewer slots, or use a pool with more task_slots_per_node",
            )
        return slots

    def _check_container(self, spec: ContainerSpec | None, task_id: str) -> None:
        if self._pool.containers is True and spec is None:
            raise SpecError(
                f"{self._pool.name} runs every task in a container, and this task names none",
                field="container",
                hint="give the job or the task a container, or use another pool",
            )
        if self._pool.containers is False and spec is not None:
            raise SpecError(
                f"{self._pool.name} has no container configuration, so its tasks run without containers",
                field="container",
                hint="use a pool with containers: true, or leave the container out",
            )
        if self._contained not in {None, spec is not None}:
            # Only where the pool was not looked up: otherwise it has decided already.
            raise SpecError(
                f"runs {'in a container' if spec else 'without a container'}, and the tasks before it do not:"
                " a pool runs all of its tasks in containers, or none",
                field="container",
                hint="give the job a container, or submit two jobs",
            )
        if spec is not None:
            check_image(spec, self._pool, self.notes, task_id)

    def _add_outputs(self, body: Body, spec: TaskSpec, task_id: str) -> tuple[str, ...]:
        if not spec.output_files:
            return ()
        if self._facts.storage_endpoint is None and any(output.container for output in spec.output_files):
            raise ConfigurationError(
                f"output files go to the account's storage, and the account {self._facts.account!r} has none",
                hint="add a storage section to the account, or use output_files[].container_url",
            )
        body["outputFiles"], names = output_files(spec.output_files, self._job_id, task_id)
        for name in fixed_blobs(spec.output_files, names):
            self._claim_blob(name, task_id)
        return names

    def _claim_blob(self, name: str, task_id: str) -> None:
        """Keep two tasks from writing one blob; below a shared folder only the user knows whether they do."""
        owner = self._blobs.setdefault(name, task_id)
        if owner == task_id:
            return
        if has_wildcard(name):
            self.notes.add(
                f"its output goes to {name}, as that of task {owner}: equal file names overwrite each other",
                task_id,
            )
            return
        raise SpecError(
            f"its output {name} is also the output of task {owner!r}: one would overwrite the other",
            field="output_files",
            hint="leave out path: the default is JOB/TASK/FILE",
        )

    def _warn(self, spec: TaskSpec, task_id: str) -> None:
        for text in program_warnings(spec.command, spec.environment, self._pool.os):
            self.notes.add(text, task_id)
        retry = spec.retry if spec.retry is not None else self._job.retry
        if retry.max_retries == -1:
            self.notes.add(
                "is tried again without end (max_retries: -1): a task that always fails never ends", task_id
            )
        files: list[ResourceFile | OutputFile] = [*spec.resource_files, *spec.output_files]
        if spec.gang is not None:
            kept = member_logs.is_whole(spec, self._logs_in)
            gangs.warn(spec, spec.gang, self._pool.os, self.notes, task_id, kept=kept)
            files += spec.gang.common_resource_files
        check_urls(files, self._facts.now, self._job.wall_time, self.notes, task_id)


def is_oversized(size: int) -> bool:
    """Whether a task of so many bytes is more than a request alone can carry."""
    return size + ENVELOPE > MAX_REQUEST


def refuse_hopeless(tasks: Sequence[PlannedTask], os: OperatingSystem | None = None) -> None:
    """Refuse tasks of which not one can be sent, or be started by a node: nothing would come of the job.

    Args:
        tasks: All of the job.
        os: What the nodes run; None where not known.

    Raises:
        SpecError: There are tasks, and every one of them is such a one.
    """
    if not tasks or not all(is_oversized(task.size) or _never_starts(task, os) for task in tasks):
        return
    first = tasks[0]
    if not is_oversized(first.size):
        raise located(SpecError(str(_never_starts(first, os)), field="tasks"), first.id)
    whole = f"task {first.id!r} is" if len(tasks) == 1 else f"every task is too large, {first.id!r} is"
    raise SpecError(
        f"{whole} {first.size:,} bytes as sent, and Batch takes less than {MAX_REQUEST:,}",
        field="tasks",
        hint=TOO_LARGE_HINT,
    )


def _never_starts(task: PlannedTask, os: OperatingSystem | None) -> str | None:
    """Why no node can start a task; None if one can."""
    return next(too_long(task.spec.command, task.spec.environment), None) if os == "linux" else None


def located(error: SpecError, task_id: str | None) -> SpecError:
    """The same problem, with the task that has it."""
    name = f"task {task_id!r}" if task_id else "a task"
    return SpecError(f"{name}: {error.message}", field=error.field, line=error.line, hint=error.hint)
