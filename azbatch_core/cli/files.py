"""`azbatch files`: look at a task's folder on its node, and copy files from it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click

from azbatch_core.cli.client import open_job
from azbatch_core.cli.lazy import Entry, LazyGroup, command, json_option
from azbatch_core.cli.output import Column, clock, jsonable, print_json, print_table, size
from azbatch_core.cli.progress import info
from azbatch_core.cli.recent import complete_job

_COMMANDS = {
    "ls": Entry("azbatch_core.cli.files:ls", "List the files of a task."),
    "get": Entry("azbatch_core.cli.files:get", "Copy a file of a task here."),
}

_COLUMNS = (Column("SIZE", right=True), Column("MODIFIED", drop=1), Column("NAME"))


@click.group("files", cls=LazyGroup, entries=_COMMANDS)
def files() -> None:
    """List the files of a task on its node, or copy one here.

    Names are relative to the task's folder: `stdout.txt`, `stderr.txt`, and `wd/` where the command ran.
    """


@command("ls")
@click.option("--folders", is_flag=True, help="List folders too.")
@json_option
@click.argument("job", metavar="JOB", shell_complete=complete_job)
@click.argument("task", metavar="TASK")
def ls(*, job: str, task: str, folders: bool, as_json: bool) -> None:
    """List the files of a task, those in subfolders included."""
    with open_job(job, task) as handle:
        found = [item for item in handle.files(task) if folders or not item.is_directory]
    if as_json:
        print_json([jsonable(item) for item in found])
        return
    rows = (
        (
            "-" if item.is_directory else size(item.size),
            clock(item.last_modified),
            _shown(item.name, item.is_directory),
        )
        for item in found
    )
    print_table(_COLUMNS, rows, empty=f"Task {task} has no files.")


def _shown(name: str, is_directory: bool) -> str:  # noqa: FBT001 - two columns of one row
    return f"{name.rstrip('/')}/" if is_directory else name


@command("get")
@click.argument("job", metavar="JOB", shell_complete=complete_job)
@click.argument("task", metavar="TASK")
@click.argument("path", metavar="PATH")
@click.argument("destination", metavar="[DEST]", default=".", type=click.Path(allow_dash=True))
def get(*, job: str, task: str, path: str, destination: str) -> None:
    """Copy the file PATH of a task to DEST: a file, a folder (default: this one), or - for stdout.

    The file appears at DEST only once it is complete; a file of that name is replaced.
    """
    with open_job(job, task) as handle:
        if destination != "-":
            handle.download(task, path, Path(destination))
            info(f"copied {path} of {task} to {_landed(path, destination)}")
            return
        with tempfile.TemporaryDirectory(prefix="azbatch-") as folder:
            copy = Path(folder) / "file"
            handle.download(task, path, copy)
            with copy.open("rb") as source:
                shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _landed(path: str, destination: str) -> Path:
    target = Path(destination)
    return target / Path(path).name if target.is_dir() else target
