"""Copies of what each member of a gang writes: Batch uploads output files from the main node only.

A job's release task runs on every node where the job ran, however its tasks ended, and may upload logs ("Job
preparation and release tasks on Batch compute nodes"). So where a gang keeps its standard output in the
account's storage, and its job has no release task of its own, one is added. It finds members by a file that
`gang_prelude` leaves in their working directories.

The copy of ``JOB/TASK/stdout.txt`` is ``JOB/TASK/member-RANK/NODE/stdout.txt``: the rank, because when a node
is gone nobody can tell it from Batch's records; the node, because one that a gang has left, to be tried
again elsewhere, still holds what the earlier try wrote.
"""

from __future__ import annotations

import shlex
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from azbatch_core.plan.blob_names import blob_of
from azbatch_core.plan.bodies import Body, program
from azbatch_core.plan.globs import components, overlap
from azbatch_core.plan.secrets import StorageRef
from azbatch_core.specs.names import JOB_PREPARATION_ID, JOB_RELEASE_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from azbatch_core.specs import JobSpec, OutputFile, TaskSpec
    from azbatch_core.specs.command import OperatingSystem

_STREAMS: Final = ("stdout.txt", "stderr.txt")
_URL: Final = "AZBATCH_MEMBER_LOGS"
_RUN: Final = 'exec python3 -c "$0"'
_MARK: Final = '"${AZ_BATCH_TASK_WORKING_DIR:-.}/.azbatch-member"'


def container_of(job: JobSpec, os: OperatingSystem) -> str | None:
    """The container in which the output of members is kept; None where the main node's alone is kept."""
    if os != "linux" or job.release is not None:
        return None
    kept = (output.container for task in job.tasks for output in task.output_files if _is_kept(task, output))
    return next(kept, None)


def is_whole(task: TaskSpec, container: str | None) -> bool:
    """Whether all that a gang uploads is kept of every member: it uploads nothing but its standard output."""
    return all(
        _is_kept(task, output) and output.container == container and len(components(output.file_pattern)) == 1
        for output in task.output_files
    )


def marked(task: TaskSpec, outputs: Iterable[Mapping[str, Any]], container: str | None) -> str:
    """The line of shell by which a member other than the main one leaves word of itself; empty for none.

    Args:
        task: The gang.
        outputs: Its ``outputFiles``, as planned.
        container: Where copies are kept.
    """
    outputs_kept = [
        f"{name} {blob}"
        for spec, output in zip(task.output_files, outputs, strict=True)
        if container is not None and _is_kept(task, spec) and spec.container == container
        for name in _STREAMS
        if (blob := blob_of(output, name)) is not None
    ]
    if not outputs_kept:
        return ""
    words = " ".join(shlex.quote(one) for one in outputs_kept)
    return (
        f'[ "$AZBATCH_NODE_RANK" = 0 ] || printf "%s\\n" "$AZBATCH_NODE_RANK" {words} 2>/dev/null > {_MARK}'
    )


def job_parts(job: JobSpec, container: str | None) -> Body:
    """What the job's body needs besides: Batch takes no release task without a preparation task."""
    if container is None:
        return {}
    release = _program(("/bin/sh", "-c", _RUN, _script()), elevated=True)
    release["environmentSettings"] = [{"name": _URL, "value": StorageRef(container)}]
    parts: Body = {"jobReleaseTask": {"id": JOB_RELEASE_ID, **release}}
    if job.preparation is None:
        nothing = _program(("/bin/sh", "-c", ":"), elevated=False)
        parts["jobPreparationTask"] = {"id": JOB_PREPARATION_ID, **nothing}
    return parts


def _program(command: tuple[str, ...], *, elevated: bool) -> Body:
    return program(command, os="linux", variables=(), files=(), in_container=None, elevated=elevated)


def _is_kept(task: TaskSpec, output: OutputFile) -> bool:
    """Whether an output file is one whose like a release task can upload: signed for, and in any case."""
    return (
        task.gang is not None
        and task.gang.nodes > 1
        and output.container is not None
        and output.identity is None
        and output.upload_condition == "taskcompletion"
        and any(overlap(output.file_pattern, f"../{name}") for name in _STREAMS)
    )


@lru_cache(maxsize=1)
def _script() -> str:
    return (resources.files("azbatch_core.plan") / "node" / "keep_member_logs.py").read_text("utf-8")
