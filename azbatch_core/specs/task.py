"""Tasks: what runs, with what, after what."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from azbatch_core.errors import SpecError
from azbatch_core.specs.base import Spec
from azbatch_core.specs.command import Command
from azbatch_core.specs.containers import Container
from azbatch_core.specs.environment import Environment
from azbatch_core.specs.files import OutputFile, ResourceFile
from azbatch_core.specs.gang import Gang, check_gang
from azbatch_core.specs.names import check_display_name, check_id, text_of
from azbatch_core.specs.problems import problem, relocate, show
from azbatch_core.specs.units import Duration, Number, Size, Whole, format_size

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_DEPENDENCY_CHARACTERS: Final = 64_000
"""The sum of the lengths of all ids that one task depends on (Batch REST API, BatchTaskDependencies)."""

MAX_SLOTS: Final = 256
_MIN_SIZE: Final = 1024**2
_INT32: Final = 2**31 - 1


class Resources(Spec):
    """What a task needs of a node; azbatch chooses VM sizes and slots by it."""

    cpus: Number | None = Field(
        default=None,
        gt=0,
        le=_INT32,
        allow_inf_nan=False,
        description="vCPUs; may be a fraction.",
        examples=[4, 0.5],
    )
    memory: Size | None = Field(default=None, description="Memory.", examples=["16GiB"])
    gpus: Whole = Field(default=0, ge=0, le=_INT32, description="GPUs.", examples=[1])
    gpu_model: str | None = Field(
        default=None, min_length=1, description="The GPU's model; goes with gpus.", examples=["A100", "T4"]
    )
    disk: Size | None = Field(default=None, description="Disk space on the node.", examples=["100GiB"])

    @field_validator("memory", "disk")
    @classmethod
    def _check_size(cls, value: int | None) -> int | None:
        if value is not None and value < _MIN_SIZE:
            raise problem(
                f"{format_size(value)} is less than 1MiB",
                hint=f"did you mean '{max(value, 1)}GiB'? A number alone is bytes",
            )
        return value

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.gpu_model is not None and self.gpus == 0:
            raise problem("is given without gpus", field="gpu_model", hint="say how many: gpus: 1")
        return self


class RetryPolicy(Spec):
    """How often Batch runs a task again that exits with another code than 0.

    Batch retries failed commands only, not failed downloads, image pulls or uploads. It may run any task
    again when a node is lost, whatever this says, so tasks should be safe to repeat.
    """

    max_retries: Whole = Field(
        default=0,
        ge=-1,
        le=_INT32,
        description="Tries after the first one: 2 means 3 tries in all; -1 means without end.",
        examples=[2],
    )


def _from_count(value: Any) -> Any:
    if isinstance(value, (dict, RetryPolicy)):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return {"max_retries": value}
    raise problem(f"must be a number of retries or {{max_retries: N}}, not {show(value)}")


Retry = Annotated[RetryPolicy, BeforeValidator(_from_count, json_schema_input_type=int | RetryPolicy)]
"""A `RetryPolicy`; the number of retries alone is enough."""


class IdRange(Spec):
    """All tasks whose ids are the whole numbers from `start` to `end`, both included."""

    start: Whole = Field(ge=0, le=_INT32, description="The first id.", examples=[1])
    end: Whole = Field(ge=0, le=_INT32, description="The last id.", examples=[40])

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.start > self.end:
            raise problem(f"the range ends ({self.end}) before it starts ({self.start})")
        return self


class StageRef(Spec):
    """All tasks of one stage of the job."""

    stage: str = Field(description="The stage's name.", examples=["sample"])

    @field_validator("stage")
    @classmethod
    def _check(cls, value: str) -> str:
        return check_id("stage", value)


Dependency = str | IdRange | StageRef
"""What a task waits for: a task id, a range of numeric ids, or a whole stage."""

_FORMS: Final = "write a task id, {range: [1, 40]} or {stage: NAME}"


def parse_dependencies(given: object) -> tuple[Dependency, ...]:
    """Dependencies from a list (or one alone) of task ids, ``{range: [1, 40]}`` and ``{stage: NAME}``.

    Raises:
        SpecError: An item is none of these, an id is invalid, or the ids have more than 64,000 characters
            together.
    """
    items = given if isinstance(given, (list, tuple)) else (given,)
    dependencies = tuple(_located(index, item) for index, item in enumerate(items))
    total = sum(len(item) for item in dependencies if isinstance(item, str))
    if total > MAX_DEPENDENCY_CHARACTERS:
        raise problem(
            f"the ids have {total} characters together: Batch takes at most {MAX_DEPENDENCY_CHARACTERS}",
            hint="give the tasks numeric ids and depend on {range: [first, last]}",
        )
    return dependencies


def _located(index: int, item: object) -> Dependency:
    try:
        return _dependency(item)
    except SpecError as error:
        failure = relocate(error, f"[{index}]")
    raise failure


def _dependency(item: object) -> Dependency:
    if isinstance(item, (IdRange, StageRef)):
        return item
    text = text_of(item)
    if isinstance(text, str):
        return check_id("task", text)
    if not isinstance(item, dict):
        raise problem(f"{show(item)} is not a dependency", hint=_FORMS)
    if set(item) == {"range"}:
        ends = item["range"]
        if not isinstance(ends, (list, tuple)) or len(ends) != 2:  # noqa: PLR2004  # a range has two ends
            raise problem(
                "must be a list of the first and the last id", field="range", hint="write {range: [1, 40]}"
            )
        return IdRange(start=ends[0], end=ends[1])
    if set(item) == {"stage"}:
        return StageRef(**item)
    if set(item) == {"start", "end"}:
        return IdRange(**item)
    raise problem("is not a dependency", hint=_FORMS)


Dependencies = Annotated[
    tuple[Dependency, ...],
    BeforeValidator(
        parse_dependencies,
        json_schema_input_type=tuple[
            str | int | IdRange | StageRef | dict[Literal["range"], tuple[int, int]], ...
        ],
    ),
]


class TaskSpec(Spec):
    """One command that runs once, on one node or, as a gang, on several at the same time."""

    id: Annotated[str | None, BeforeValidator(text_of, json_schema_input_type=str | int | None)] = Field(
        default=None,
        description="The task's id, unique in the job whatever the case. Left out: azbatch makes one.",
        examples=["sample-1"],
    )
    display_name: str | None = Field(
        default=None, description="A name for people: any text of at most 1,024 characters."
    )
    command: Command = Field(
        description=(
            "The program and its arguments as a list, or {shell: script}. An empty list runs the "
            "container image's own entry point."
        ),
        examples=[["echo", "hi"], {"shell": "echo $HOSTNAME > host.txt"}],
    )
    stage: str | None = Field(
        default=None,
        description="The stage that the task belongs to; others may depend on it.",
        examples=["sample"],
    )
    container: Container | None = Field(
        default=None, description="The container that it runs in. Left out: the job's container, if any."
    )
    resources: Resources | None = Field(
        default=None, description="What it needs. Left out: the job's resources."
    )
    gang: Gang | None = Field(
        default=None,
        description="Run on several nodes at the same time. Left out: on one node, beside other tasks.",
        examples=[{"nodes": 2}],
    )
    environment: Environment = Field(
        default=(),
        description="Its variables, as a mapping or a list; they override the job's.",
        examples=[{"SEED": "7"}],
    )
    resource_files: tuple[ResourceFile, ...] = Field(
        default=(), description="Files that are downloaded before it runs."
    )
    output_files: tuple[OutputFile, ...] = Field(
        default=(), description="Files that are uploaded when it has ended."
    )
    depends_on: Dependencies = Field(
        default=(),
        description="What must have ended first: task ids, ranges and stages.",
        examples=[["prepare", {"stage": "sample"}]],
    )
    on_failure: Literal["block", "satisfy"] = Field(
        default="block",
        description=(
            "When this task fails, tasks that depend on it never run (block), or run as if it had succeeded "
            "(satisfy). The job counts as failed either way."
        ),
    )
    retry: Retry | None = Field(
        default=None,
        description="Retries after a failure. Left out: the job's.",
        examples=[{"max_retries": 2}],
    )
    wall_time: Duration | None = Field(
        default=None, description="The longest that one try may run; then it is ended as failed."
    )
    retention: Duration | None = Field(
        default=None,
        description="How long its files stay on the node. Left out: the job's, or Batch's 7 days.",
    )
    required_slots: Whole | None = Field(
        default=None,
        ge=1,
        le=MAX_SLOTS,
        description="Slots that it takes of its node. Left out: computed from resources.",
    )
    elevated: bool = Field(default=False, description="Run as administrator (root).")

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "name": "a task has an id and a display_name",
        "each": "each belongs to job files; in Python make the tasks in a loop",
        "image": "write container: {image: …}",
        "cpus": "write resources: {cpus: …}",
        "memory": "write resources: {memory: …}",
        "gpus": "write resources: {gpus: …}",
        "disk": "write resources: {disk: …}",
        "nodes": "write gang: {nodes: …} to run on several nodes at the same time",
        "num_nodes": "write gang: {nodes: …} to run on several nodes at the same time",
        "max_retries": "write retry: {max_retries: …}",
        "retries": "write retry: {max_retries: …}",
        "env": "did you mean 'environment'?",
        "timeout": "did you mean 'wall_time'?",
        "shell": "write command: {shell: …}",
        "cmd": "did you mean 'command'?",
        "outputs": "did you mean 'output_files'?",
        "inputs": "did you mean 'resource_files'?",
    }

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str | None) -> str | None:
        return value if value is None else check_id("task", value)

    @field_validator("stage")
    @classmethod
    def _check_stage(cls, value: str | None) -> str | None:
        return value if value is None else check_id("stage", value)

    @field_validator("display_name")
    @classmethod
    def _check_display_name(cls, value: str | None) -> str | None:
        return value if value is None else check_display_name(value)

    @field_validator("wall_time")
    @classmethod
    def _check_wall_time(cls, value: timedelta | None) -> timedelta | None:
        return check_wall_time(value)

    @model_validator(mode="after")
    def _check_gang(self) -> Self:
        if self.gang is not None:
            check_gang(self.gang, command=self.command, required_slots=self.required_slots)
        return self


def check_wall_time(
    value: timedelta | None, *, instead: str = "leave it out for no limit"
) -> timedelta | None:
    """The value itself, when it is more than nothing.

    Args:
        value: The wall time.
        instead: How to write what a zero was probably meant for.

    Raises:
        SpecError: It is zero, which would end everything before it starts.
    """
    if value is not None and value <= timedelta(0):
        raise problem("must be more than zero", hint=instead)
    return value
