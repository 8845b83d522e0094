"""The folders of a node, laid out as on Batch ("Files and directories in Azure Batch").

Below the root: `applications`, `fsmounts`, `shared`, `startup`, `volatile/startup` and
`workitems/<job>/job-1/<task>` with `stdout.txt`, `stderr.txt`, `certs` and `wd`.
"""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from azbatch_core.local.runtime.base import Launch

_NODE_FOLDERS = ("applications", "fsmounts", "shared", "startup", "volatile/startup", "workitems")


def create_node(root: Path) -> None:
    """Make the folders of a node; those that exist stay as they are."""
    for name in _NODE_FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)


def job_directory(root: Path, job_id: str) -> Path:
    """The folder of a job: `workitems/<job>/job-1`, or that of a schedule's job `<schedule>:job-N`."""
    name, _, run = job_id.partition(":")
    return root / "workitems" / _segment(name) / _segment(run or "job-1")


def task_directory(root: Path, job_id: str, task_id: str) -> Path:
    """The folder of a task, preparation task or release task (`AZ_BATCH_TASK_DIR`)."""
    return job_directory(root, job_id) / _segment(task_id)


def startup_directory(root: Path) -> Path:
    """The folder of the start task (`AZ_BATCH_NODE_STARTUP_DIR`)."""
    return root / "startup"


def launch_directory(launch: Launch) -> Path:
    """The folder that a launch runs in."""
    if launch.kind == "start":
        return startup_directory(launch.node.root)
    if launch.job_id is None:
        raise ValueError(f"A {launch.kind} task needs a job id")
    return task_directory(launch.node.root, launch.job_id, launch.task_id)


def prepare_task(directory: Path) -> None:
    """Make the folders of a task in a place that is free."""
    path = str(directory)
    try:
        os.mkdir(path)  # noqa: PTH102 - hot path: pathlib doubles its cost
    except FileNotFoundError:
        directory.mkdir(parents=True)
    os.mkdir(path + "/wd")  # noqa: PTH102 - same
    os.mkdir(path + "/certs")  # noqa: PTH102 - same


def _segment(name: str) -> str:
    # Ids were checked long before; a folder is not the place to find out that one was not.
    if not name or name in {".", ".."} or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} cannot name a folder")
    return name


class Trash:
    """Takes folders away at once and deletes them in the background.

    A rename is quick however much a folder holds; the deletion runs in `executor`. What a killed service
    left behind goes with `empty`.
    """

    def __init__(self, folder: Path, executor: Executor) -> None:
        self._folder = folder
        self._executor = executor

    def throw(self, path: Path) -> None:
        """On return nothing is at `path`; that nothing was there is fine."""
        target = self._folder / uuid.uuid4().hex
        try:
            self._rename(path, target)
        except FileNotFoundError:
            return
        except OSError:  # another file system, or a mount point
            delete_tree(path)
            return
        self._executor.submit(delete_tree, target)

    def empty(self) -> None:
        """Delete what is left from before, in the background."""
        with suppress(FileNotFoundError):
            for entry in list(self._folder.iterdir()):
                self._executor.submit(delete_tree, entry)

    def _rename(self, path: Path, target: Path) -> None:
        try:
            path.rename(target)
        except FileNotFoundError:
            if self._folder.is_dir():
                raise
            self._folder.mkdir(parents=True, exist_ok=True)
            path.rename(target)


def delete_tree(path: Path) -> None:
    """Delete a folder with all it holds, also where a task took its own permissions away."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
        return
    shutil.rmtree(path, ignore_errors=True)
    if not path.exists():
        return
    for folder, _, _ in os.walk(path):
        for name in (folder, *(entry.path for entry in _folders(folder))):
            with suppress(OSError):
                Path(name).chmod(stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


def _folders(folder: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []
