"""Application packages: zip files that users put into the state directory, read when somebody asks.

`applications/<id>/<version>.zip`, and beside them, if wanted, `applications/<id>/application.json` with
`displayName` and `defaultVersion`. The real service takes packages through the management plane, which this
service lacks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Application", "find", "read_all"]

_FOLDER = "applications"
_FACTS = "application.json"
# Azure Resource Manager, Microsoft.Batch: applicationName and versionName.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VERSION = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True)
class Application:
    """An application.

    Attributes:
        default_version: The version for references that name none; None if there is none.
        versions: Zip files by version, in the order of the versions' names.
    """

    id: str
    display_name: str
    default_version: str | None
    versions: dict[str, Path]

    def package(self, version: str | None) -> tuple[str, Path] | None:
        """Name and file of a version, in any case, or of the default one; None if there is none."""
        wanted = (version or self.default_version or "").lower()
        return next((item for item in self.versions.items() if item[0].lower() == wanted), None)


def read_all(state_dir: Path) -> list[Application]:
    """All applications, in the order of their ids; what is not named as one is passed over."""
    return [_read(folder) for folder in sorted(_folders(state_dir), key=lambda path: path.name.lower())]


def find(state_dir: Path, application_id: str) -> Application | None:
    """An application by its id, in any case, or by its resource id, as pools of real accounts name it."""
    wanted = application_id.rpartition("/")[2].lower()
    return next((_read(folder) for folder in _folders(state_dir) if folder.name.lower() == wanted), None)


def _folders(state_dir: Path) -> list[Path]:
    root = state_dir / _FOLDER
    if not root.is_dir():
        return []
    return [path for path in root.iterdir() if _ID.fullmatch(path.name) and path.is_dir()]


def _read(folder: Path) -> Application:
    files = sorted(folder.glob("*.zip"), key=lambda path: path.stem.lower())
    versions = {path.stem: path for path in files if _VERSION.fullmatch(path.stem)}
    try:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = {}
    if not isinstance(facts, dict):
        facts = {}
    shown, default = facts.get("displayName"), facts.get("defaultVersion")
    return Application(
        folder.name, str(shown or folder.name), None if default is None else str(default), versions
    )
