"""Where a task's output files end up: final blob names, and patterns that would upload one file twice."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from azbatch_core.errors import SpecError
from azbatch_core.plan.bodies import with_job_id
from azbatch_core.plan.globs import components, has_wildcard, overlap
from azbatch_core.plan.secrets import StorageRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from azbatch_core.specs import OutputFile

_EITHER = "taskcompletion"


def output_files(
    outputs: Sequence[OutputFile], job_id: str, task_id: str
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The ``outputFiles`` of a task, and the blobs that they make as ``CONTAINER/BLOB``.

    Without a path of its own a file goes below ``JOB/TASK/``, so that tasks never overwrite each other's
    files. A name with wildcards stands for the files that match.

    Raises:
        SpecError: Two patterns can match the same file: Batch then fails the upload, and with it the task.
    """
    _check_overlaps(tuple((output.file_pattern, output.upload_condition) for output in outputs))
    bodies, names = [], []
    for output in outputs:
        path = with_job_id(output.path, job_id)
        if path is None:
            path = _default_path(output.file_pattern, job_id, task_id)
        container: dict[str, Any] = {"path": path.strip("/"), "containerUrl": _container(output)}
        if output.identity:
            container["identityReference"] = {"resourceId": output.identity}
        bodies.append(
            {
                "filePattern": output.file_pattern,
                "destination": {"container": container},
                "uploadOptions": {"uploadCondition": output.upload_condition},
            }
        )
        names.append(f"{_container_name(output)}/{_blob_name(output.file_pattern, container['path'])}")
    return bodies, tuple(names)


def fixed_blobs(outputs: Sequence[OutputFile], names: Sequence[str]) -> list[str]:
    """The blob names that do not carry the task's own prefix: two tasks may write the same one."""
    return [name for output, name in zip(outputs, names, strict=True) if output.path is not None]


def _container(output: OutputFile) -> Any:
    if output.container is not None:
        return StorageRef(output.container, permission="w", identity=output.identity)
    return output.container_url


def _container_name(output: OutputFile) -> str:
    if output.container is not None:
        return output.container
    return str(output.container_url).split("?", 1)[0].rstrip("/")


@lru_cache(maxsize=4096)
def _place(pattern: str) -> tuple[str, str]:
    """The folder part of a pattern that holds no wildcard, and the rest, below the task's own directories."""
    parts = [part for part in components(pattern) if part and not part.startswith("$") and part != ".."]
    if parts[:1] == ["wd"]:
        parts = parts[1:]
    wild = next((place for place, part in enumerate(parts) if has_wildcard(part)), len(parts) - 1)
    return "/".join(parts[:wild]), "/".join(parts[wild:])


def _default_path(pattern: str, job_id: str, task_id: str) -> str:
    """``JOB/TASK`` for a pattern with wildcards (a folder), ``JOB/TASK/NAME`` for a single file (a blob)."""
    folder, rest = _place(pattern)
    parts = [job_id, task_id, folder] if has_wildcard(pattern) else [job_id, task_id, folder, rest]
    return "/".join(part for part in parts if part)


def _blob_name(pattern: str, path: str) -> str:
    """The final name: the path itself for a single file, the files below it for a pattern with wildcards."""
    if not has_wildcard(pattern):
        return path
    return "/".join(part for part in (path, _place(pattern)[1]) if part)


@lru_cache(maxsize=1024)
def _check_overlaps(outputs: tuple[tuple[str, str], ...]) -> None:
    """Refuse patterns that meet; ones for success and for failure never run together."""
    for (first, on_first), (second, on_second) in combinations(outputs, 2):
        together = on_first == on_second or _EITHER in {on_first, on_second}
        if together and overlap(first, second):
            raise SpecError(
                f"the output patterns {first!r} and {second!r} can match one file: its upload would fail",
                field="output_files",
                hint="narrow one of them, or drop the other",
            )
