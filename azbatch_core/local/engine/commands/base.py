"""What all of the façade's calls share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account

__all__ = ["Commands"]


class Commands:
    """Calls on an account: synchronous, in the event loop's thread, committed before they return.

    A call that raises has changed nothing (`Engine.guard` sees to it when the disk is full). Documents are
    the wire's, complete, and the caller's own.
    """

    def __init__(self, account: Account) -> None:
        self.account = account

    def done(self) -> None:
        """Commit, and let the engine look at what the call has set in motion."""
        self.account.store.commit()
        self.account.wake()
