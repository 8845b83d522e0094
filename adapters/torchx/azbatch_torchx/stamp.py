"""What a job carries so that a later process can describe its app: names, roles and counts as metadata."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREFIX: Final = "torchx:"
_APP: Final = f"{PREFIX}app"
_ROLES: Final = f"{PREFIX}roles"
_VERSION: Final = f"{PREFIX}version"


@dataclass(frozen=True)
class RoleStamp:
    """A role as it was submitted.

    Attributes:
        name: Its name, as the user wrote it.
        task: The id of its task.
        replicas: How many replicas it has.
        image: Its image.
    """

    name: str
    task: str
    replicas: int
    image: str


@dataclass(frozen=True)
class AppStamp:
    """An app as it was submitted."""

    name: str
    roles: tuple[RoleStamp, ...]

    def role(self, name: str) -> RoleStamp | None:
        """The role of a name."""
        return next((role for role in self.roles if role.name == name), None)


def write(stamp: AppStamp, version: str, own: Mapping[str, str]) -> dict[str, str]:
    """The metadata of a job: the stamp, TorchX's version and the app's own metadata."""
    roles = json.dumps([asdict(role) for role in stamp.roles], separators=(",", ":"))
    return {**own, _APP: stamp.name, _ROLES: roles, _VERSION: version}


def read(metadata: Mapping[str, str]) -> AppStamp | None:
    """The stamp of a job; None of a job that is no app of TorchX, or whose stamp somebody changed."""
    try:
        roles = tuple(_role(entry) for entry in json.loads(metadata[_ROLES]))
    except (KeyError, TypeError, ValueError):
        return None
    return AppStamp(metadata.get(_APP, ""), roles)


def own_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """The app's own metadata: what is neither ours nor azbatch's."""
    return {name: value for name, value in metadata.items() if not _is_taken(name)}


def taken(names: Iterable[str]) -> str | None:
    """A name of metadata that an app may not use; None if all are free."""
    return next((name for name in names if _is_taken(name)), None)


def _is_taken(name: str) -> bool:
    return name.lower().startswith((PREFIX, "azbatch:"))


def _role(entry: Mapping[str, object]) -> RoleStamp:
    return RoleStamp(
        name=str(entry["name"]),
        task=str(entry["task"]),
        replicas=int(str(entry["replicas"])),
        image=str(entry["image"]),
    )
