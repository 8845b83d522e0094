"""Imported by the TorchX lines that look for plugins in this namespace, before they read entry points.

TorchX 0.7 knows only entry points, and any one of them hides its own schedulers; so ours name those again.
Newer lines ship fewer schedulers: an entry point for a module that is not there is dropped here, or it would
be listed and fail when used.

There is no ``__init__.py`` in this folder or the one above: the namespace is TorchX's.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

from torchx.util import entrypoints

if TYPE_CHECKING:
    from types import TracebackType

_GROUP = "torchx.schedulers"
_OURS = ("azure_batch", "azbatch_torchx.scheduler")
_NAMESPACE_ONLY = "1"
_read = entrypoints.load_group


def _is_shipped(module: str) -> bool:
    return not module.startswith("torchx.schedulers.") or importlib.util.find_spec(module) is not None


def _load_group(group: str, *args: Any, **kwargs: Any) -> Any:
    found = _read(group, *args, **kwargs)
    if group == _GROUP and found:
        for entry in metadata.entry_points().select(group=group):
            if entry.name in found and not _is_shipped(entry.module):
                del found[entry.name]
    return found


entrypoints.load_group = _load_group


def _tell_of_handles() -> None:
    """Have a handle that is none end the command with a line: TorchX reads it before it makes a scheduler."""
    shown = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        from torchx.specs.api import MalformedAppHandleException

        from azbatch_torchx import compat

        if isinstance(error, MalformedAppHandleException) and compat.is_command():
            compat.complain(f"{error}, such as azure_batch://torchx/local:echo-264afdd7")
        else:
            shown(kind, error, trace)

    sys.excepthook = show


_tell_of_handles()


def _register() -> None:
    """Register here what entry points would have: the user turned those off."""
    from torchx.plugins import register
    from torchx.schedulers import DEFAULT_SCHEDULER_MODULES

    def factory(module: str) -> Any:
        def create(session_name: str, **kwargs: object) -> Any:
            return importlib.import_module(module).create_scheduler(session_name, **kwargs)

        return create

    for place, (name, module) in enumerate([*DEFAULT_SCHEDULER_MODULES.items(), _OURS]):
        # TorchX takes a module's names in the order of `dir()`, and the first scheduler is its default.
        globals()[f"plugin_{place:02d}_{name}"] = register.scheduler(name=name)(factory(module))


if os.environ.get("TORCHX_PLUGINS_SOURCE") == _NAMESPACE_ONLY:
    _register()
