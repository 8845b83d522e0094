"""Application packages: unpacked once for all tasks of a node. Blocks; runs in threads."""

from __future__ import annotations

import shutil
import uuid
import zipfile
from typing import TYPE_CHECKING

from azbatch_core.local.runtime.failures import TaskFailure, disk_failure

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable
    from pathlib import Path

    from azbatch_core.local.runtime.base import Package

__all__ = ["install"]

_CODE = "ApplicationPackageError"
_MODE_SHIFT = 16


def install(packages: Iterable[Package], root: Path, given_up: threading.Event) -> None:
    """Unpack what is not there yet. Returns early, with some of them missing, when given up.

    Raises:
        TaskFailure: One is not there (any more), is no zip file, or cannot be written.
    """
    for package in packages:
        details = {"ApplicationId": package.application, "ApplicationVersion": package.version}
        if package.source is None:
            raise TaskFailure(_CODE, **details, Message="The application package does not exist")
        target = root / "applications" / package.folder
        if target.is_dir() or given_up.is_set():
            continue
        # Beside its place and renamed into it: no task finds half of it, and two may unpack at once.
        work = target.with_name(f".{uuid.uuid4().hex}")
        try:
            _unpack(package.source, work, given_up)
            if not given_up.is_set():
                _put(work, target)
        except OSError as error:
            raise disk_failure(_CODE, error, **details) from error
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise TaskFailure(_CODE, **details, Message=f"The package cannot be unpacked: {error}") from error
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _unpack(source: Path, folder: Path, given_up: threading.Event) -> None:
    """Extract a zip file, with the modes of files that Unix zips hold."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(source) as archive:
        for item in archive.infolist():
            if given_up.is_set():
                return
            path = archive.extract(item, folder)
            mode = (item.external_attr >> _MODE_SHIFT) & 0o777
            if mode and not item.is_dir():
                (folder / path).chmod(mode | 0o400)


def _put(work: Path, target: Path) -> None:
    try:
        work.rename(target)
    except OSError:
        if not target.is_dir():
            raise
