"""Pools that size themselves: samples of what goes on, the formula run on its schedule, its targets applied.

Samples live in memory only: after a restart their history begins anew, as it does when scaling is enabled.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import TYPE_CHECKING

from azbatch_core.local.autoscale import PoolTargets, SampleSeries, evaluate
from azbatch_core.local.autoscale.choices import SAMPLE_PERIOD
from azbatch_core.local.autoscale.limits import HISTORY_SAMPLES
from azbatch_core.local.engine import allocation
from azbatch_core.local.rules.nodes import USABLE
from azbatch_core.local.rules.pools import auto_scale_run
from azbatch_core.local.rules.times import seconds_of
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    from datetime import datetime

    from azbatch_core.local.autoscale import AutoScaleResult
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Pool

__all__ = ["begin", "end", "reschedule", "resume", "try_formula"]

_WORD = re.compile(r"\$\w+")
_EARLY = TICKS_PER_SECOND
"""A timer may fire a little before its moment on the wall clock, and then must not be set for it again."""

_OF_NODES = ("$TaskSlotsPerNode", "$CurrentDedicatedNodes", "$CurrentLowPriorityNodes", "$UsableNodeCount")
"""Formulas use these as plain numbers: without any sample yet, the present counts as one."""


def begin(account: Account, pool: Pool, *, made: bool = False) -> None:
    """Scale a pool that has got a formula: evaluate now, then on its interval; sample from now on.

    Args:
        account: the account.
        pool: its `spec` has the formula and the interval.
        made: the pool has just been made; the targets are those of its first resize.
    """
    account.samples[pool.key] = Samples()
    _sample_later(account, pool)
    reschedule(account, pool, made=made)


def reschedule(account: Account, pool: Pool, *, made: bool = False) -> None:
    """Start a pool's schedule now, with an evaluation; `made` as for `begin`."""
    pool.auto_scale_since = account.now()
    _evaluate(account, pool, made=made)


def resume(account: Account, pool: Pool) -> None:
    """Go on after a restart: evaluations keep their schedule, those missed are not made up for.

    A first sample is taken at once, so that the next evaluation does not take the pool for an idle one.
    """
    account.samples[pool.key] = Samples()
    _sample(account, pool)
    _arm(account, pool)


def end(account: Account, pool: Pool) -> None:
    """Scale no more; the pool keeps its targets."""
    account.stop_scaling(pool)
    pool.auto_scale_run = pool.auto_scale_since = None


def try_formula(account: Account, pool: Pool, formula: str) -> AutoScaleResult:
    """What a formula comes to for a pool at this moment. Changes nothing."""
    now = account.clock.now()
    present = PoolTargets(pool.dedicated, pool.spot)
    return evaluate(formula, _series(account, pool, formula, now), now, present=present)


def _evaluate(account: Account, pool: Pool, *, made: bool = False) -> None:
    result = try_formula(account, pool, pool.spec["autoScaleFormula"])
    pool.auto_scale_run = auto_scale_run(result)
    account.touch(pool)
    if result.error is None and (made or pool.allocation == "steady"):
        _apply(account, pool, result)
    _arm(account, pool)


def _apply(account: Account, pool: Pool, result: AutoScaleResult) -> None:
    """Resize unless the pool has what is wanted; what an earlier resize did not get is tried again."""
    wanted = result.target_dedicated_nodes, result.target_low_priority_nodes
    if wanted == (pool.dedicated, pool.spot) == allocation.current(account, pool):
        return
    body = {
        "targetDedicatedNodes": wanted[0],
        "targetLowPriorityNodes": wanted[1],
        "nodeDeallocationOption": result.node_deallocation_option,
    }
    allocation.begin_resize(account, pool, body, account.now())


def _arm(account: Account, pool: Pool) -> None:
    """Have the next evaluation of the schedule made."""
    now = account.now()
    since = now if pool.auto_scale_since is None else pool.auto_scale_since
    interval = int(seconds_of(pool.spec["autoScaleEvaluationInterval"]) * TICKS_PER_SECOND)
    passed = (now - since + _EARLY) // interval
    due = since + (passed + 1) * interval
    account.after("evaluation", pool.key, (due - now) / TICKS_PER_SECOND, lambda: _evaluate(account, pool))


def _sample(account: Account, pool: Pool) -> None:
    with account.whole():
        account.samples[pool.key].take(account, pool)
    _sample_later(account, pool)


def _sample_later(account: Account, pool: Pool) -> None:
    seconds = SAMPLE_PERIOD.total_seconds()
    account.quietly_after("sample", pool.key, seconds, lambda: _sample(account, pool))


class Samples:
    """The latest samples of a pool, oldest first; those between which nothing happened share their values."""

    def __init__(self) -> None:
        self.kept: deque[tuple[datetime, dict[str, float]]] = deque(maxlen=HISTORY_SAMPLES)
        self._turn = -1

    def take(self, account: Account, pool: Pool) -> None:
        """Add one of this moment."""
        same = self.kept and self._turn == account.turns
        values = self.kept[-1][1] if same else _values(account, pool)
        self._turn = account.turns
        self.kept.append((account.clock.now(), values))


def _values(account: Account, pool: Pool) -> dict[str, float]:
    """The service variables at this moment. What nodes use of their machine is not among them."""
    name = pool.id.lower()
    tasks: Counter[str] = Counter()
    for job in account.jobs.values():
        if job.pool_id.lower() == name:
            counts = account.counts[job.key]
            if job.state == "active":
                # A multi-instance task counts as many times as it has instances (documented).
                tasks["ready"] += counts.ready + account.store.subtasks.expected(job.key)
            tasks.update({kind: counts.tasks[kind] for kind in ("running", "succeeded", "failed")})
            tasks["running"] += sum(execution.subtask > 0 for execution in account.of_job[job.key])
    dedicated, spot = allocation.current(account, pool)
    states: Counter[str] = Counter(node.state for node in account.pool_nodes[pool.key].values())
    usable = sum(states[state] for state in USABLE)
    values = {
        "$ActiveTasks": tasks["ready"],
        "$RunningTasks": tasks["running"],
        "$PendingTasks": tasks["ready"] + tasks["running"],
        "$SucceededTasks": tasks["succeeded"],
        "$FailedTasks": tasks["failed"],
        "$TaskSlotsPerNode": pool.spec["taskSlotsPerNode"],
        "$CurrentDedicatedNodes": dedicated,
        "$CurrentLowPriorityNodes": spot,
        "$PreemptedNodeCount": states["preempted"],
        "$UsableNodeCount": usable,
        "$SampleNodeCount": usable,
    }
    return {name: float(value) for name, value in values.items()}


def _series(account: Account, pool: Pool, formula: str, now: datetime) -> dict[str, SampleSeries]:
    """The samples of those variables that the formula may name."""
    words = tuple(word.lower() for word in _WORD.findall(formula))
    samples = account.samples.get(pool.key)
    history = samples.kept if samples is not None else ()
    present = _values(account, pool)
    # A word may be an old name, which is the beginning of the new one; some too many do no harm.
    names = [name for name in present if any(name.lower().startswith(word) for word in words)]
    series = {name: SampleSeries.recorded([(at, values[name]) for at, values in history]) for name in names}
    if not history:
        series |= {name: SampleSeries([(now, present[name])]) for name in _OF_NODES if name in names}
    return series
