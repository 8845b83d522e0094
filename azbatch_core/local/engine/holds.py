"""Free nodes that a pool keeps for a multi-instance task whose turn it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Pool

__all__ = ["Hold", "Kept", "forget", "keeps"]

_HOLD = 60.0


@dataclass
class Hold:
    """The gang that a pool keeps free nodes for.

    It has them kept for a while, others may have them for as long, and then all over again for twice as
    long: so no gang waits for ever for tasks that end, and nobody for ever behind a gang.
    """

    seq: int
    seconds: float = _HOLD
    resting: bool = False


@dataclass
class Kept:
    """Nodes that one pass over a pool's ready tasks keeps free, and whether a gang has asked for some."""

    nodes: set[int] = field(default_factory=set)
    asked: bool = False


def keeps(account: Account, pool: Pool, seq: int) -> bool:
    """Whether free nodes are kept for that gang at this moment; from now on it is the one of its pool."""
    hold = account.holds.get(pool.key)
    if hold is None or hold.seq != seq:
        hold = account.holds[pool.key] = Hold(seq)
        _arm(account, pool, hold)
    return not hold.resting


def _arm(account: Account, pool: Pool, hold: Hold) -> None:
    def turn() -> None:
        if pool.key not in account.pools or account.store.tasks.ready_one(hold.seq) is None:
            account.holds.pop(pool.key, None)
            return
        if hold.resting:
            hold.seconds *= 2
        hold.resting = not hold.resting
        _arm(account, pool, hold)
        account.due_pools[pool.key] = None

    account.after("hold", pool.key, hold.seconds, turn)


def forget(account: Account, pool: Pool, seq: int) -> None:
    """Keep nothing for that gang any more; fine if nothing was kept."""
    hold = account.holds.get(pool.key)
    if hold is not None and hold.seq == seq:
        del account.holds[pool.key]
        account.forget_timer("hold", pool.key)
