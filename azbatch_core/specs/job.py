"""Jobs: tasks, what they share, and where they run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from azbatch_core.specs.base import Spec
from azbatch_core.specs.command import Command, Shell, check_any_command
from azbatch_core.specs.containers import Container
from azbatch_core.specs.environment import Environment
from azbatch_core.specs.files import ResourceFile
from azbatch_core.specs.graph import check_tasks
from azbatch_core.specs.metadata import Metadata
from azbatch_core.specs.names import (
    JOB_PREPARATION_ID,
    JOB_RELEASE_ID,
    check_display_name,
    check_id,
    fold_id,
    slug,
    text_of,
)
from azbatch_core.specs.pools import ExistingPool, PoolSpec
from azbatch_core.specs.problems import problem
from azbatch_core.specs.task import Resources, Retry, RetryPolicy, TaskSpec, check_wall_time
from azbatch_core.specs.units import Duration, Whole, format_duration

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_PRIORITY: Final = 1000
_INT32: Final = 2**31 - 1
MAX_RELEASE_TIME: Final = timedelta(minutes=15)
"""The longest that a job release task may run (Batch REST API, BatchJobReleaseTask)."""


class JobPreparation(Spec):
    """What each node runs once before the first task of the job that it gets."""

    id: str = Field(default=JOB_PREPARATION_ID, description="Its id, which no task of the job may have.")
    command: Command = Field(description="The program and its arguments as a list, or {shell: script}.")
    environment: Environment = Field(default=(), description="Its variables.")
    resource_files: tuple[ResourceFile, ...] = Field(
        default=(), description="Files that are downloaded before it runs."
    )
    container: Container | None = Field(
        default=None, description="The container that it runs in. Left out: on the node itself."
    )
    wait_for_success: bool = Field(
        default=True, description="Run no task of the job on a node before this has succeeded there."
    )
    rerun_on_node_reboot: bool = Field(
        default=True, description="Run it again when the node has been rebooted."
    )
    retry: Retry | None = Field(default=None, description="Retries after a failure.")
    wall_time: Duration | None = Field(default=None, description="The longest that one try may run.")
    retention: Duration | None = Field(
        default=None, description="How long its files stay on the node. Left out: Batch's 7 days."
    )
    elevated: bool = Field(default=False, description="Run as administrator (root).")

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str) -> str:
        return check_id("job preparation", value)

    @field_validator("wall_time")
    @classmethod
    def _check_wall_time(cls, value: timedelta | None) -> timedelta | None:
        return check_wall_time(value)

    @model_validator(mode="after")
    def _check_command(self) -> Self:
        check_any_command(self.command, container=self.container)
        return self


class JobRelease(Spec):
    """What each node that ran the preparation runs when the job ends; for at most 15 minutes."""

    id: str = Field(default=JOB_RELEASE_ID, description="Its id, which no task of the job may have.")
    command: Command = Field(description="The program and its arguments as a list, or {shell: script}.")
    environment: Environment = Field(default=(), description="Its variables.")
    resource_files: tuple[ResourceFile, ...] = Field(
        default=(), description="Files that are downloaded before it runs."
    )
    container: Container | None = Field(
        default=None, description="The container that it runs in. Left out: on the node itself."
    )
    wall_time: Duration | None = Field(
        default=None, description="The longest that it may run: 15 minutes or less.", examples=["10m"]
    )
    retention: Duration | None = Field(
        default=None, description="How long its files stay on the node. Left out: Batch's 7 days."
    )
    elevated: bool = Field(default=False, description="Run as administrator (root).")

    _elsewhere: ClassVar[Mapping[str, str]] = {"retry": "Batch does not retry a job release task"}

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str) -> str:
        return check_id("job release", value)

    @field_validator("wall_time")
    @classmethod
    def _check_wall_time(cls, value: timedelta | None) -> timedelta | None:
        if value is not None and value > MAX_RELEASE_TIME:
            raise problem(
                f"{format_duration(value)} is too long: Batch ends a job release task after 15 minutes",
                hint="do long work in a last task that depends on the others",
            )
        return check_wall_time(value, instead="leave it out for Batch's 15 minutes")

    @model_validator(mode="after")
    def _check_command(self) -> Self:
        check_any_command(self.command, container=self.container)
        return self


class JobSpec(Spec):
    """Tasks that are submitted, watched and ended together.

    The smallest one: ``JobSpec(name="hello", tasks=[TaskSpec(command=["echo", "hi"])])``. Tasks that are
    streamed in later may depend on tasks of this list, not the other way round.
    """

    name: Annotated[str, BeforeValidator(text_of, json_schema_input_type=str | int)] = Field(
        description=(
            "What the job is called: any text. Its id is made from it, with a part that is unique "
            "to each run."
        ),
        examples=["hello"],
    )
    id: Annotated[str | None, BeforeValidator(text_of, json_schema_input_type=str | int | None)] = Field(
        default=None,
        description="The job's exact id, when it must be known before. Left out: made from the name.",
    )
    display_name: str | None = Field(
        default=None,
        description="A name for people: any text of at most 1,024 characters. Left out: the name.",
    )
    tasks: tuple[TaskSpec, ...] = Field(
        default=(), description="The tasks.", examples=[[{"command": ["echo", "hi"]}]]
    )
    pool: PoolSpec | None = Field(
        default=None,
        description="Where it runs: a pool's id, or a description. Left out: a managed pool that grows.",
        examples=["my-pool"],
    )
    resources: Resources | None = Field(
        default=None,
        description="What each task needs that does not say so itself.",
        examples=[{"cpus": 4, "memory": "16GiB"}],
    )
    container: Container | None = Field(
        default=None,
        description="The container of each task that has none itself.",
        examples=["ubuntu:24.04"],
    )
    environment: Environment = Field(
        default=(), description="Variables of all tasks; a task's own override them."
    )
    priority: Whole = Field(
        default=0,
        ge=-MAX_PRIORITY,
        le=MAX_PRIORITY,
        description="Jobs with a higher priority go first on a shared pool; -1000 to 1000.",
    )
    wall_time: Duration | None = Field(
        default=timedelta(days=7),
        description="The longest that the job may live; then Batch ends it. null means no limit.",
        json_schema_extra={"default": "7d"},
    )
    retention: Duration | None = Field(
        default=None, description="How long tasks' files stay on the node. Left out: Batch's 7 days."
    )
    retry: Retry = Field(
        default=RetryPolicy(),
        description="Retries of each task that does not say so itself.",
        json_schema_extra={"default": {"max_retries": 0}},
    )
    max_parallel_tasks: Whole | None = Field(
        default=None, ge=1, le=_INT32, description="Tasks that run at the same time. Left out: no limit."
    )
    on_task_failure: Literal["noaction", "terminate"] = Field(
        default="noaction", description="When a task has failed: let the others go on, or end the job."
    )
    preparation: JobPreparation | None = Field(
        default=None, description="What each node runs before its first task of the job."
    )
    release: JobRelease | None = Field(
        default=None, description="What each node runs when the job ends; needs preparation."
    )
    metadata: Metadata = Field(
        default_factory=dict,
        description="Names and values for your own use.",
        examples=[{"project": "genomes"}],
    )

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "command": "a job has tasks: [{command: …}]",
        "image": "write container: {image: …}",
        "cpus": "write resources: {cpus: …}",
        "memory": "write resources: {memory: …}",
        "gpus": "write resources: {gpus: …}",
        "disk": "write resources: {disk: …}",
        "max_retries": "write retry: {max_retries: …}",
        "retries": "write retry: {max_retries: …}",
        "nodes": "write pool: {nodes: …}",
        "vm_size": "write pool: {vm_size: …}",
        "env": "did you mean 'environment'?",
        "timeout": "did you mean 'wall_time'?",
        "recreate": "recreating is a choice at submission: azbatch submit --recreate",
    }

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if not value.strip():
            raise problem("must not be empty", hint="name the job, such as 'hello'")
        return check_display_name(value)

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str | None) -> str | None:
        return value if value is None else check_id("job", value)

    @field_validator("display_name")
    @classmethod
    def _check_display_name(cls, value: str | None) -> str | None:
        return value if value is None else check_display_name(value)

    @field_validator("wall_time")
    @classmethod
    def _check_wall_time(cls, value: timedelta | None) -> timedelta | None:
        return check_wall_time(value, instead="write null for no limit; left out it is 7 days")

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        check_tasks(self.tasks)
        self._check_own_tasks()
        self._check_commands()
        self._check_containers()
        return self

    def _check_own_tasks(self) -> None:
        if self.release is not None and self.preparation is None:
            raise problem(
                "needs preparation: Batch runs it only on nodes that ran one",
                field="release",
                hint='add preparation: {command: ["true"]}',
            )
        own = {
            fold_id(part.id): name
            for name, part in (("preparation", self.preparation), ("release", self.release))
            if part
        }
        if self.preparation and self.release and len(own) == 1:
            raise problem(f"{self.release.id!r} is also the id of the preparation", field="release.id")
        for index, task in enumerate(self.tasks):
            if task.id is not None and fold_id(task.id) in own:
                raise problem(
                    f"{task.id!r} is also the id of the job's {own[fold_id(task.id)]}",
                    field=f"tasks[{index}].id",
                    hint=f"use another id, such as {slug(task.id + '-task')!r}",
                )

    def _check_commands(self) -> None:
        if self.container is None:
            for index, task in enumerate(self.tasks):
                if not isinstance(task.command, Shell) and not task.command and task.container is None:
                    raise problem(
                        "is empty",
                        field=f"tasks[{index}].command",
                        hint="name the program to run, or a container whose entry point runs",
                    )

    def _check_containers(self) -> None:
        """A pool runs all tasks in containers, or none (Batch REST API, BatchTaskCreateOptions)."""
        if self.container is not None:
            return
        inside = [task.container is not None for task in self.tasks]
        if any(inside) and not all(inside):
            odd = inside.index(False)
            raise problem(
                f"is missing, while tasks[{inside.index(True)}] has one: a pool runs all of its "
                "tasks in containers, or none",
                field=f"tasks[{odd}].container",
                hint="give the job a container, or submit two jobs",
            )
        pool = self.pool
        if (
            inside
            and not any(inside)
            and pool is not None
            and not isinstance(pool, ExistingPool)
            and (pool.containers or pool.container_images)
        ):
            raise problem(
                "is for containers, and the tasks have none",
                field="pool",
                hint="give the job a container, or leave containers out",
            )
