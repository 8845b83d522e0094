"""What a job carries as metadata, so that a later process can describe its app; never what variables hold."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREFIX: Final = "torchx:"
_APP: Final = f"{PREFIX}app"
_ROLES: Final = f"{PREFIX}roles"
_VERSION: Final = f"{PREFIX}version"
MOST_ARGUMENTS: Final = 4096
"""Characters of a role's arguments that are kept: how much metadata a job may have is not documented."""


@dataclass(frozen=True)
class RoleStamp:
    """A role as it was submitted.

    Attributes:
        name: Its name, as the user wrote it.
        task: The id of its task.
        replicas: How many replicas it has.
        image: Its image.
        entrypoint: Its program.
        args: Its arguments, those of the first `MOST_ARGUMENTS` characters.
        cpu: As TorchX has it: -1 is not given.
        gpu: The same.
        memory: The same, in MB.
        max_retries: Tries after the first.
        retry_policy: The name of TorchX's policy.
    """

    name: str
    task: str
    replicas: int
    image: str
    entrypoint: str = ""
    args: tuple[str, ...] = ()
    cpu: int = -1
    gpu: int = -1
    memory: int = -1
    max_retries: int = 0
    retry_policy: str = ""


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
    return next((name for name in names if _is_taken(str(name))), None)


def _is_taken(name: str) -> bool:
    return name.lower().startswith((PREFIX, "azbatch:"))


def first_of(arguments: Iterable[str]) -> tuple[str, ...]:
    """The arguments that are kept; where some are not, the last is an ellipsis."""
    kept: list[str] = []
    room = MOST_ARGUMENTS
    for argument in arguments:
        room -= len(argument)
        if room < 0:
            return (*kept, "…")
        kept.append(argument)
    return tuple(kept)


def _role(entry: Mapping[str, Any]) -> RoleStamp:
    """A role; of one that an older version submitted less is known."""
    return RoleStamp(
        name=str(entry["name"]),
        task=str(entry["task"]),
        replicas=int(entry["replicas"]),
        image=str(entry["image"]),
        entrypoint=str(entry.get("entrypoint", "")),
        args=tuple(map(str, entry.get("args", ()))),
        **{name: int(entry.get(name, -1)) for name in ("cpu", "gpu", "memory")},
        max_retries=int(entry.get("max_retries", 0)),
        retry_policy=str(entry.get("retry_policy", "")),
    )
