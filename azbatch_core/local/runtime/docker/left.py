"""Containers that a killed service left behind."""

from __future__ import annotations

import logging
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from azbatch_core.local.runtime.directories import delete_tree
from azbatch_core.local.runtime.docker.settings import STATE_LABEL

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

FOLDER = "containers"
"""In the state directory; it exists once there may have been containers."""
_SWEEP_SECONDS = 60


def remove_left_behind(state_dir: Path) -> None:
    """Remove containers and logins of an earlier service with this state directory. Blocks."""
    folder = state_dir / FOLDER
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        delete_tree(path)
    try:
        label = f"label={STATE_LABEL}={state_dir}"
        found = _docker("ps", "--all", "--quiet", "--no-trunc", "--filter", label)
        if found:
            _docker("rm", "--force", "--volumes", *found)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("Containers of an earlier service may be left: %s", _reason(error))
        return
    with suppress(OSError):
        folder.rmdir()


def _docker(*arguments: str) -> list[str]:
    command = ["docker", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SWEEP_SECONDS)
    return done.stdout.split()


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return str(error.stderr).strip() or str(error)
    return str(error)
