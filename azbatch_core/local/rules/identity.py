"""Whom a command runs as."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.rules.documents import default_identity

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc

__all__ = ["launch_identity"]


def launch_identity(pool: Doc, identity: Doc | None) -> Doc | None:
    """The identity that a try is launched with; None if its user is none of the pool's accounts.

    A named user has the elevation of its account (SDK UserAccount.elevation_level, `nonadmin` by default),
    which is put where an automatic user has it.
    """
    name = (identity or {}).get("username")
    if not name:
        return identity or default_identity()
    for account in pool.get("userAccounts") or ():
        if account["name"] == name:
            level = account.get("elevationLevel") or "nonadmin"
            return {"username": name, "autoUser": {"scope": "pool", "elevationLevel": level}}
    return None
