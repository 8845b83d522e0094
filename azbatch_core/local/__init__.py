"""A local Azure Batch service: the REST API of the data plane on this machine, running real processes.

An island: it knows nothing of the client half, and the client half reaches it by URL only. `LocalBatch` runs
it inside a program (tests, mostly); `python -m azbatch_core.local start` runs it as a background process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azbatch_core.local.embedded import LocalBatch

__all__ = ["LocalBatch"]


def __getattr__(name: str) -> Any:
    """Load `LocalBatch` on first use: it needs the extra `local`, the rest of the package may not."""
    if name == "LocalBatch":
        from azbatch_core.local.embedded import LocalBatch

        return LocalBatch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
