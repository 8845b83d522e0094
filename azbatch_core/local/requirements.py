"""Whether the extra `local` is installed, found out without importing it."""

from __future__ import annotations

import importlib.util
import sys

INSTALL_HINT = "the local service needs an extra: pip install 'azbatch[local]'"
_MODULES = ("httptools", "orjson", "uvicorn")
if sys.platform != "linux":  # where /proc tells what psutil would
    _MODULES += ("psutil",)


def missing_modules() -> list[str]:
    """The modules of the extra that cannot be imported."""
    return [name for name in _MODULES if importlib.util.find_spec(name) is None]
