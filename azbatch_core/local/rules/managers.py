"""Job manager tasks: what is refused, what is filled in, and the task that one becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules.checks import check_at_least, check_id, check_program, check_seconds
from azbatch_core.local.rules.documents import default_identity, fill_constraints

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc

__all__ = ["check_manager", "ends_job", "fill_manager", "task_of", "wanted_slots"]

_NOT_OF_A_TASK = frozenset({"killJobOnCompletion", "runExclusive", "allowLowPriorityNode"})
_SPECIAL = (
    ("jobPreparationTask", "jobpreparation", "TaskIdSameAsJobPreparationTask"),
    ("jobReleaseTask", "jobrelease", "TaskIdSameAsJobReleaseTask"),
)


def check_manager(body: Doc) -> None:
    """Refuse a job whose manager task the service would refuse; fine if it has none."""
    manager = body.get("jobManagerTask")
    if not manager:
        return
    check_id(manager.get("id"))
    for name, default, code in _SPECIAL:
        special = body.get(name)
        if special and (special.get("id") or default).lower() == manager["id"].lower():
            raise BatchError(code)
    check_at_least(manager, "requiredSlots", 1)
    check_program(manager)
    constraints = manager.get("constraints") or {}
    check_at_least(constraints, "maxTaskRetryCount", -1)
    check_seconds(constraints, "maxWallClockTime")
    check_seconds(constraints, "retentionTime")


def fill_manager(given: Doc, retries: int) -> Doc:
    """A manager task as echoed; its retries are the job's unless it has its own (recorded)."""
    return {
        **given,
        "constraints": fill_constraints(given.get("constraints"), retries),
        "requiredSlots": given.get("requiredSlots") or 1,
        "killJobOnCompletion": given.get("killJobOnCompletion", True),
        "runExclusive": given.get("runExclusive", True),
        "allowLowPriorityNode": given.get("allowLowPriorityNode", True),
        "userIdentity": given.get("userIdentity") or default_identity(),
    }


def task_of(manager: Doc) -> Doc:
    """The document of the task that a manager task, defaults filled in, is run as."""
    return {name: value for name, value in manager.items() if name not in _NOT_OF_A_TASK}


def wanted_slots(manager: Doc, slots_per_node: int) -> int:
    """Slots of a node that a manager takes: all of them unless it shares (documented: `runExclusive`)."""
    required: int = manager["requiredSlots"]
    return max(required, slots_per_node) if manager["runExclusive"] else required


def ends_job(manager: Doc) -> bool:
    """Whether the job is over when its manager has completed, well or not (`killJobOnCompletion`)."""
    return bool(manager["killJobOnCompletion"])
