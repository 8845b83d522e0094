"""Enumeration members as real answers write them, which is not always as they are declared.

Bodies are kept in declared case; this turns a document into what goes out, never changing it in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Path: TypeAlias = "tuple[str, ...]"
Casing: TypeAlias = "tuple[tuple[Path, Mapping[str, str]], ...]"


def _forms(*members: str) -> dict[str, str]:
    return {member.lower(): member for member in members}


_CACHING = _forms("None", "ReadOnly", "ReadWrite")
_CATEGORY = _forms("UserError", "ServerError")
_UPLOAD = _forms("TaskSuccess", "TaskFailure", "TaskCompletion")
_MACHINE = "virtualMachineConfiguration"


def _under(prefix: Path, casing: Casing) -> Casing:
    return tuple((prefix + path, forms) for path, forms in casing)


POOL: Casing = (
    (("taskSchedulingPolicy", "nodeFillType"), _forms("Spread", "Pack")),
    ((_MACHINE, "dataDisks", "*", "caching"), _CACHING),
    ((_MACHINE, "osDisk", "caching"), _CACHING),
    ((_MACHINE, "osDisk", "ephemeralOSDiskSettings", "placement"), _forms("CacheDisk")),
    ((_MACHINE, "diskEncryptionConfiguration", "targets", "*"), _forms("OsDisk", "TemporaryDisk")),
    ((_MACHINE, "nodePlacementConfiguration", "policy"), _forms("Regional", "Zonal")),
    ((_MACHINE, "securityProfile", "securityType"), _forms("trustedlaunch", "confidentialvm")),
)
TASK: Casing = (
    (("outputFiles", "*", "uploadOptions", "uploadCondition"), _UPLOAD),
    (("executionInfo", "failureInfo", "category"), _CATEGORY),
)
SUBTASK: Casing = ((("failureInfo", "category"), _CATEGORY),)
NODE: Casing = ((("startTaskInfo", "failureInfo", "category"), _CATEGORY),)
PREPARATION: Casing = (
    (("jobPreparationTaskExecutionInfo", "failureInfo", "category"), _CATEGORY),
    (("jobReleaseTaskExecutionInfo", "failureInfo", "category"), _CATEGORY),
)
JOB: Casing = (
    (("jobManagerTask", "outputFiles", "*", "uploadOptions", "uploadCondition"), _UPLOAD),
    (("executionInfo", "schedulingError", "category"), _CATEGORY),
    *_under(("poolInfo", "autoPoolSpecification", "pool"), POOL),
)
SCHEDULE: Casing = _under(("jobSpecification",), JOB)


def recase(document: dict[str, Any], casing: Casing) -> dict[str, Any]:
    """`document` with the members named in `casing` as the wire writes them; itself when none is there."""
    for path, forms in casing:
        if path[0] in document:
            document = _changed(document, path, forms)
    return document


def _changed(place: Any, path: Path, forms: Mapping[str, str]) -> Any:
    if not path:
        return forms.get(place.lower(), place) if isinstance(place, str) else place
    step, rest = path[0], path[1:]
    if step == "*":
        return [_changed(item, rest, forms) for item in place] if isinstance(place, list) else place
    if not isinstance(place, dict) or step not in place:
        return place
    return {**place, step: _changed(place[step], rest, forms)}
