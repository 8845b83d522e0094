"""Application packages: which there are, and which of them a pool's nodes and a task want."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.errors import BatchError, invalid_property
from azbatch_core.local.rules.packages import folder_name, variables
from azbatch_core.local.runtime.base import Package
from azbatch_core.local.store import applications

if TYPE_CHECKING:
    from collections.abc import Iterable

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Doc

__all__ = ["refuse_unknown", "resolve"]

_POOL_MOST = 10
_MISSING = "The specified application package does not exist."
_NO_DEFAULT = "The reference names no version, and the application has no default version."


def refuse_unknown(account: Account, body: Doc, *, pool: bool = False) -> None:
    """Raise if `applicationPackageReferences` of a pool or task name what is not there.

    A pool's references need a version or a default one; a task without either fails when it is to run, and a
    pool has at most 10 (SDK BatchApplicationPackageReference.version, BatchPoolCreateOptions).

    Raises:
        BatchError: InvalidApplicationPackageReferences, InvalidPropertyValue.
    """
    references = body.get("applicationPackageReferences") or ()
    if pool and len(references) > _POOL_MOST:
        reason = f"A pool has at most {_POOL_MOST} application packages."
        raise invalid_property("applicationPackageReferences", len(references), reason)
    wrong = {}
    for reference in references:
        application_id, version = str(reference.get("applicationId")), reference.get("version")
        found = applications.find(account.settings.state_dir, application_id)
        if found is None or (version and found.package(version) is None):
            wrong[application_id] = _MISSING
        elif pool and found.package(version) is None:
            wrong[application_id] = _NO_DEFAULT
    if wrong:
        raise BatchError("InvalidApplicationPackageReferences", **wrong)


def resolve(account: Account, references: Iterable[Doc]) -> tuple[tuple[Package, ...], dict[str, str]]:
    """The packages that references mean now, and the variables with their folders below `applications`."""
    packages: list[Package] = []
    names: dict[str, str] = {}
    for reference in references:
        found = applications.find(account.settings.state_dir, reference["applicationId"])
        version = reference.get("version") or None
        item = None if found is None else found.package(version)
        if found is None or item is None:
            packages.append(Package(reference["applicationId"], version or "", None, ""))
            continue
        name, source = item
        try:
            folder = folder_name(found.id, name, source.stat().st_mtime)
        except FileNotFoundError:
            packages.append(Package(found.id, name, None, ""))
            continue
        packages.append(Package(found.id, name, source, folder))
        names |= variables(found.id, None if version is None else name, folder)
    return tuple(packages), names
