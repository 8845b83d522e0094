"""What each list may be filtered by: the table of "OData filters in Azure Batch" (Batch REST reference).

Anything that is not listed is refused, as the service does; a client that works here works there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

PropertyKind = Literal["text", "name", "time", "int", "bool"]
Rule: TypeAlias = "dict[str, Property]"

_EQ = frozenset({"eq"})
_EQUALITY = frozenset({"eq", "ne"})
_ORDER = frozenset({"eq", "ne", "ge", "gt", "le", "lt"})
_ALL = _ORDER | {"startswith"}
_STARTS = frozenset({"startswith"})


@dataclass(frozen=True)
class Property:
    """A property that may stand in a filter.

    Attributes:
        kind: how it compares; `text` without regard to case, `name` (of a file) with regard to case.
        operators: what it may be compared by, `startswith` among them.
        path: where the value is in the document.
    """

    kind: PropertyKind
    operators: frozenset[str]
    path: tuple[str, ...]


def _rules(kind: PropertyKind, operators: frozenset[str], *names: str) -> Rule:
    return {name: Property(kind, operators, tuple(name.split("/"))) for name in names}


_JOBS = {
    **_rules("time", _ORDER, "stateTransitionTime", "creationTime", "lastModified"),
    **_rules("time", _ORDER, "executionInfo/startTime", "executionInfo/endTime"),
    **_rules("text", _ALL, "executionInfo/poolId"),
}

FILTERS: dict[str, Rule] = {
    "supportedImages": _rules("text", _EQUALITY, "osType", "verificationType", "nodeAgentSKUId"),
    "nodes": {
        **_rules("text", _EQUALITY, "state", "startTaskInfo/result"),
        **_rules("text", _EQ, "startTaskInfo/state"),
        **_rules("time", _ORDER, "stateTransitionTime", "lastBootTime", "allocationTime"),
        **_rules("time", _ORDER, "startTaskInfo/startTime", "startTaskInfo/endTime"),
        **_rules("int", _ORDER, "startTaskInfo/exitCode"),
    },
    "nodeCounts": _rules("text", _EQ, "poolId"),
    "files": _rules("name", _STARTS, "name"),
    "jobs": {
        **_JOBS,
        **_rules("text", _ALL, "id"),
        **_rules("text", _EQ, "state"),
    },
    "jobsOfSchedule": {**_JOBS, **_rules("text", _EQUALITY, "state")},
    "jobSchedules": {
        **_rules("text", _ALL, "id"),
        **_rules("text", _EQ, "state"),
        **_rules("time", _ORDER, "stateTransitionTime", "creationTime", "lastModified"),
        **_rules("time", _ORDER, "executionInfo/endTime", "schedule/doNotRunUntil", "schedule/doNotRunAfter"),
    },
    "pools": {
        **_rules("text", _ALL, "id"),
        **_rules("text", _EQ, "state", "allocationState"),
        **_rules("text", _EQUALITY, "vmSize"),
        **_rules("bool", _EQUALITY, "enableAutoScale", "enableInterNodeCommunication"),
        **_rules("time", _ORDER, "stateTransitionTime", "allocationStateTransitionTime"),
        **_rules("time", _ORDER, "creationTime", "lastModified"),
    },
    "preparationAndRelease": {
        **_rules("text", _EQUALITY, "poolId", "nodeId"),
        **{
            name: rule
            for info in ("jobPreparationTaskExecutionInfo", "jobReleaseTaskExecutionInfo")
            for name, rule in {
                **_rules("text", _EQ, f"{info}/state"),
                **_rules("text", _EQUALITY, f"{info}/result"),
                **_rules("time", _ORDER, f"{info}/startTime", f"{info}/endTime"),
                **_rules("int", _ORDER, f"{info}/exitCode"),
            }.items()
        },
    },
    "tasks": {
        **_rules("text", _ALL, "id"),
        **_rules("text", _EQ, "state"),
        **_rules("text", _EQUALITY, "executionInfo/result"),
        **_rules("int", _ORDER, "executionInfo/exitCode"),
        **_rules("time", _ORDER, "stateTransitionTime", "creationTime"),
        **_rules("time", _ORDER, "executionInfo/startTime", "executionInfo/endTime"),
        # The reference gives the property another name here than the document has.
        "lastModifiedTime": Property("time", _ORDER, ("lastModified",)),
    },
    "poolUsageMetrics": _rules("text", _EQ | {"ge", "gt", "le", "lt", "startswith"}, "poolId"),
}
