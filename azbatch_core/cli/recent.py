"""The jobs that were submitted from here, for completing their names.

A small file, because asking the service at each Tab could start it, wait for a login, or take seconds.
Nothing else reads it, and losing it loses nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from azbatch_core.errors import SpecError

if TYPE_CHECKING:
    from click import Context, Parameter

_MOST_REMEMBERED = 100


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(state) / "azbatch" / "recent-jobs"


def remembered() -> list[str]:
    """Handles, the newest first."""
    try:
        return _file().read_text(encoding="utf-8").split()[::-1]
    except (OSError, UnicodeDecodeError, RuntimeError):  # RuntimeError: no home folder
        return []


def remember(handle: str) -> None:
    """Keep a handle as the newest. What cannot be written is left."""
    kept = [known for known in remembered()[::-1] if known != handle][1 - _MOST_REMEMBERED :]
    _replace([*kept, handle])


def forget(handle: str) -> None:
    """Take a handle out."""
    known = remembered()[::-1]
    if handle in known:
        _replace([name for name in known if name != handle])


def _replace(handles: list[str]) -> None:
    with suppress(OSError, RuntimeError):
        path = _file()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text("".join(f"{handle}\n" for handle in handles), encoding="utf-8")
        draft.replace(path)


def _id_of(handle: str) -> str:
    from azbatch_core.service.job_names import split_handle

    try:
        return split_handle(handle)[1]
    except SpecError:  # not a line of ours
        return handle


def complete_job(_ctx: Context, _param: Parameter, incomplete: str) -> list[str]:
    """What a JOB argument may become: a handle, or the bare id."""
    handles = remembered()
    found = [handle for handle in handles if handle.startswith(incomplete)]
    if incomplete and ":" not in incomplete:
        found += [job_id for handle in handles if (job_id := _id_of(handle)).startswith(incomplete)]
    return found
