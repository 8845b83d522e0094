"""Mounts of a role: options of its container, and links to the mounts of the pool. Pure.

A path or a device of the node is an option of ``docker create``. A volume is one of the pool's own mounts
(Azure Files, blobs, NFS): where these are on the node depends on its image, and Batch expands no variable in
the container's options, so the command itself links them where the role wants them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azbatch_core import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PARTS = (2, 3)
_MISSING = 125
"""Exit code of a task whose pool has no such mount: what `docker run` itself fails with."""


@dataclass(frozen=True)
class Mounts:
    """What a role mounts.

    Attributes:
        options: Options of the container.
        volumes: Mounts of the pool by name, and where each appears.
    """

    options: tuple[str, ...] = ()
    volumes: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.options or self.volumes)


def of_role(mounts: Sequence[Any], more: Iterable[str]) -> Mounts:
    """The mounts of a role and those of the run options.

    Raises:
        SpecError: One cannot be made.
    """
    options: list[str] = []
    volumes: list[tuple[str, str]] = []
    for source, target, read_only in [*_of_torchx(mounts, options), *map(_of_text, more)]:
        if not target.startswith("/"):
            raise SpecError(f"the mount of {source!r} goes to {target!r}, which is no absolute path")
        if any(sign in source + target for sign in ',"'):
            # `--mount` takes a line of comma-separated values.
            raise SpecError(
                f"the mount of {source!r} has a comma or a quote in it, which Docker does not take"
            )
        if source.startswith("/"):
            text = f"type=bind,source={source},target={target}" + (",readonly" if read_only else "")
            options += ["--mount", text]
        elif read_only:
            raise SpecError(
                f"the mount {source!r} of the pool cannot be made read-only for one role",
                hint="leave readonly out, or mount it read-only on the pool",
            )
        else:
            volumes.append((_volume(source), target))
    return Mounts(tuple(options), tuple(volumes))


def _of_torchx(mounts: Sequence[Any], options: list[str]) -> Iterable[tuple[str, str, bool]]:
    """Source, target and whether it is read-only; devices go to the options directly."""
    for mount in mounts:
        if hasattr(mount, "permissions"):
            if not mount.src_path.startswith("/"):
                raise SpecError(f"the device {mount.src_path!r} is no absolute path on the node")
            options += ["--device", f"{mount.src_path}:{mount.dst_path}:{mount.permissions}"]
        elif hasattr(mount, "src_path"):
            if not mount.src_path.startswith("/"):
                raise SpecError(f"the bind mount {mount.src_path!r} is no absolute path on the node")
            yield mount.src_path, mount.dst_path, bool(mount.read_only)
        else:
            yield str(mount.src), mount.dst_path, bool(mount.read_only)


def _of_text(text: str) -> tuple[str, str, bool]:
    parts = text.split(":")
    if len(parts) not in _PARTS or not all(parts) or parts[2:] not in ([], ["ro"]):
        raise SpecError(f"{text!r} is not a mount", field="mounts", hint="write SRC:DST or SRC:DST:ro")
    return parts[0], parts[1], len(parts) > _PARTS[0]


def _volume(name: str) -> str:
    if name in {".", ".."} or name.startswith("~"):
        raise SpecError(f"{name!r} is no name of a mount of the pool", hint="a path must be absolute")
    return name


def linked(command: tuple[str, ...], volumes: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The command, after a link to each mount of the pool; it needs root and ``/bin/sh`` in the image.

    A mount that the pool does not have ends the task before anything is linked.
    """
    if not volumes:
        return command
    lines = []
    for name, target in volumes:
        source = f'"$AZ_BATCH_NODE_MOUNTS_DIR"/{shlex.quote(name)}'
        place = shlex.quote(target)
        said = shlex.quote(f"azbatch: the pool has no mount named {name}")
        lines += [
            f"[ -d {source} ] || {{ echo {said} >&2; exit {_MISSING}; }}",
            f"if [ -d {place} ] && [ ! -L {place} ]; then rmdir {place} || exit {_MISSING}; fi",
            f'mkdir -p "$(dirname {place})" && ln -sfn {source} {place} || exit {_MISSING}',
        ]
    return ("/bin/sh", "-c", "\n".join([*lines, 'exec "$@"']), "sh", *command)
