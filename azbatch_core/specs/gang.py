"""Gangs: tasks that run on several nodes at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import BeforeValidator, Field

from azbatch_core.specs.base import Spec
from azbatch_core.specs.command import Command
from azbatch_core.specs.files import ResourceFile
from azbatch_core.specs.problems import problem, show
from azbatch_core.specs.units import Whole

MAX_GANG_NODES: Final = 100
"""Nodes of a pool whose nodes can reach each other (Batch service quotas and limits)."""


class GangSpec(Spec):
    """On how many nodes a task runs at the same time, and what runs on each of them.

    Batch calls it a multi-instance task. It starts when all nodes are free for it, takes each of them whole,
    and fails, is retried and is ended as one. What tells the nodes apart is in their variables:
    ``AZBATCH_NODE_RANK``, ``AZBATCH_NODE_COUNT``, ``AZBATCH_NODE_LIST``, ``AZBATCH_NODE_ADDRESS`` and
    ``AZBATCH_MAIN_NODE``.
    """

    nodes: Whole = Field(ge=1, le=MAX_GANG_NODES, description="Nodes that it runs on.", examples=[2])
    coordination: Command | None = Field(
        default=None,
        description=(
            "What every node runs first; the task's command then runs on the first node only, when it has "
            "ended with 0 on all. It must return: what is to go on belongs into the background. Left out: "
            "the task's command runs on every node."
        ),
        examples=[{"shell": "start-daemon &"}],
    )
    common_resource_files: tuple[ResourceFile, ...] = Field(
        default=(),
        description=(
            "With coordination: files that every node downloads, into the task's folder, which is the "
            "parent of the working directory. The task's resource_files then go to the first node only."
        ),
    )

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "command": "the command is the task's; what all nodes run before it is gang: {coordination: …}",
        "size": "did you mean 'nodes'?",
        "instances": "did you mean 'nodes'?",
        "number_of_instances": "did you mean 'nodes'?",
        "replicas": "did you mean 'nodes'?",
        "coordination_command": "did you mean 'coordination'?",
        "resource_files": "the files are the task's: write them beside gang",
    }


def _from_count(value: Any) -> Any:
    if isinstance(value, (dict, GangSpec)):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return {"nodes": value}
    raise problem(f"must be a number of nodes or {{nodes: N}}, not {show(value)}")


Gang = Annotated[GangSpec, BeforeValidator(_from_count, json_schema_input_type=int | GangSpec)]
"""A `GangSpec`; the number of nodes alone is enough."""


def check_gang(gang: GangSpec, *, command: object, required_slots: int | None) -> None:
    """Refuse a task that cannot be a gang.

    Raises:
        SpecError: Its command is empty, it wants more than one slot of a node, its coordination is empty, or
            it has files for all nodes although the task's own go there anyway.
    """
    if command == ():
        raise problem(
            "is empty: a gang's command is handed to a shell, which cannot run an image's own entry point",
            field="command",
            hint="name the program to run",
        )
    if gang.coordination == ():
        raise problem("is empty", field="gang.coordination", hint="name the program, or leave it out")
    if required_slots not in {None, 1}:
        raise problem(
            f"{required_slots} slots: a gang takes whole nodes, which have one slot each (Batch, "
            "MultiInstanceSettings)",
            field="required_slots",
            hint="leave it out",
        )
    if gang.coordination is None and gang.common_resource_files:
        raise problem(
            "is for gangs with coordination: without it the task's own files go to every node",
            field="gang.common_resource_files",
            hint="write resource_files beside gang",
        )
