"""A pool's history as the page reads it: compact arrays, times in milliseconds since 1970."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.errors import BatchError
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    from azbatch_core.local.engine.engine import Engine
    from azbatch_core.local.engine.history import Sample, Span

__all__ = ["history"]

_TICKS_PER_MS = TICKS_PER_SECOND // 1000
_UNIX_MS = 62_135_596_800_000
"""Milliseconds from year 1, where ticks begin, to 1970."""
_SPANS_MOST = 1500
_DIGITS_MOST = 16


def history(engine: Engine, pool_id: str, since: str) -> dict[str, Any]:
    """What happened in a pool since a moment, at most 1,500 ended tries of it.

    Without a pool it is only the time. `samples` are `[ms, queued, running, target, {state: nodes}]`, each
    holding until the next, the last one of this moment; `spans` are
    `[node, kind, job, task, started ms, ended ms or null, result]`.

    Args:
        engine: the account's engine.
        pool_id: the pool, in any case; empty for none.
        since: milliseconds since 1970.

    Raises:
        BatchError: `PoolNotFound`, or `InvalidQueryParameterValue`.
    """
    if not (since.isascii() and since.isdecimal() and len(since) <= _DIGITS_MOST):
        raise BatchError("InvalidQueryParameterValue", QueryParameterName="since", QueryParameterValue=since)
    account = engine.account
    virtual = isinstance(account.clock, VirtualClock)
    if not pool_id:
        return {"now": _ms(account.now()), "virtual": virtual}
    pool = account.pool_ids.get(pool_id.lower())
    if pool is None:
        raise BatchError("PoolNotFound")
    ticks = (int(since) + _UNIX_MS) * _TICKS_PER_MS
    present = account.history.present(account, pool)
    samples = [*account.history.samples(pool.key, ticks), present]
    spans = account.history.spans(account, pool.key, ticks, _SPANS_MOST)
    return {
        "now": _ms(present.at),
        "virtual": virtual,
        "samples": [_sample(item) for item in samples],
        "spans": [_span(item) for item in spans],
    }


def _ms(ticks: int) -> int:
    return ticks // _TICKS_PER_MS - _UNIX_MS


def _sample(sample: Sample) -> list[Any]:
    target = sample.dedicated + sample.spot
    return [_ms(sample.at), sample.queued, sample.running, target, dict(sample.nodes)]


def _span(span: Span) -> list[Any]:
    ended = None if span.ended is None else _ms(span.ended)
    return [span.node, span.kind, span.job, span.task, _ms(span.started), ended, span.result]
