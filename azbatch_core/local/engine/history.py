"""What went on lately, for who watches: samples of each pool, and which try ran where from when to when.

It lives in memory, within bounds, and begins anew with the service. Nothing is counted by going through nodes
or tasks: ten thousand nodes cost as much as one. Samples are steps: each holds until the next.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from azbatch_core.local.rules.times import ticks_of
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.execution import Execution
    from azbatch_core.local.runtime.base import Outcome, TaskKind
    from azbatch_core.local.store.records import Pool

__all__ = ["History", "Sample", "Span"]

_PERIOD = 2 * TICKS_PER_SECOND
_SAMPLES_MOST = 600
_SPANS_MOST = 5000


class Sample(NamedTuple):
    """A pool at a moment, in ticks.

    Attributes:
        queued: tasks of its active jobs that are ready and have no node.
        running: tasks that occupy a node.
        dedicated: the target of dedicated nodes.
        spot: the target of spot nodes.
        nodes: how many nodes are in which state.
    """

    at: int
    queued: int
    running: int
    dedicated: int
    spot: int
    nodes: tuple[tuple[str, int], ...]


class Span(NamedTuple):
    """One try of a task, or of a start, preparation or release task, on a node.

    Attributes:
        pool: the pool's key.
        started: in ticks.
        ended: in ticks, None while it runs.
        result: `success`, `failure`, `stopped` (it was told to end), or `running`.
    """

    pool: int
    node: str
    kind: TaskKind
    job: str
    task: str
    started: int
    ended: int | None
    result: str


class History:
    """The samples and spans of one account. The engine tells it of each change as it makes it."""

    def __init__(self) -> None:
        self.nodes: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._running: Counter[int] = Counter()
        self._samples: dict[int, list[Sample]] = {}
        self._ended: deque[tuple[tuple[int, str, TaskKind, str, str], Outcome]] = deque(maxlen=_SPANS_MOST)
        self._changed: set[int] = set()

    def node_moved(self, pool: int, old: str | None, new: str | None) -> None:
        """A node of a pool went from one state to another; None: it was not there, or is not any more."""
        counts = self.nodes[pool]
        if old is not None:
            counts[old] -= 1
        if new is not None:
            counts[new] += 1
        self._changed.add(pool)

    def task_placed(self, pool: int, by: int) -> None:
        """So many more tasks occupy nodes of a pool."""
        self._running[pool] += by
        self._changed.add(pool)

    def ended(self, execution: Execution, outcome: Outcome | None) -> None:
        """A try is over; one that never began leaves no trace."""
        if outcome is not None:
            self._ended.append((_what(execution), outcome))

    def forget_pool(self, pool: int) -> None:
        """A pool is gone."""
        self.nodes.pop(pool, None)
        self._samples.pop(pool, None)
        self._running.pop(pool, None)

    def pool_changed(self, pool: int) -> None:
        """Its queue or its targets may be others."""
        self._changed.add(pool)

    def look(self, account: Account) -> None:
        """Take samples of the pools that have changed.

        Changes that follow a sample within two seconds go into it, so the last state is always the true one;
        while nothing changes nothing is done.
        """
        for key in self._changed:
            pool = account.pools.get(key)
            if pool is not None:
                self._keep(key, self.present(account, pool))
        self._changed.clear()

    def _keep(self, pool: int, sample: Sample) -> None:
        series = self._samples.setdefault(pool, [])
        if series and 0 <= sample.at - series[-1].at < _PERIOD:
            series[-1] = sample._replace(at=series[-1].at)
        elif not series or series[-1][1:] != sample[1:]:
            series.append(sample)
            if len(series) > _SAMPLES_MOST:
                # What is long past is kept ever more coarsely.
                del series[1 : len(series) // 2 : 2]

    def present(self, account: Account, pool: Pool) -> Sample:
        """A pool at this moment."""
        jobs = account.pool_jobs.get(pool.id.lower(), {})
        counts = self.nodes[pool.key]
        return Sample(
            at=account.now(),
            queued=sum(account.counts[key].ready for key in jobs),
            running=self._running[pool.key],
            dedicated=pool.dedicated,
            spot=pool.spot,
            nodes=tuple(sorted((state, number) for state, number in counts.items() if number)),
        )

    def samples(self, pool: int, since: int) -> list[Sample]:
        """A pool's samples, oldest first, from the one that held at `since` on."""
        series = self._samples.get(pool, [])
        first = len(series)
        while first and series[first - 1].at >= since:
            first -= 1
        return series[max(0, first - 1) :]

    def spans(self, account: Account, pool: int, since: int, most: int) -> list[Span]:
        """Tries on a pool's nodes that ran after `since`: at most `most` that run, the latest that ended."""
        running = [span for span, _ in zip(_running(account, pool), range(most), strict=False)]
        done: list[Span] = []
        for what, outcome in reversed(self._ended):
            ended = ticks_of(outcome.ended)
            if len(done) == most or ended < since:
                break
            if what[0] == pool:
                done.append(Span(*what, ticks_of(outcome.started), ended, _result(outcome)))
        return done[::-1] + running


def _running(account: Account, pool: int) -> Iterator[Span]:
    for key in account.pool_nodes.get(pool, ()):
        for execution in account.on_node[key]:
            if execution.running is not None:
                yield Span(*_what(execution), ticks_of(execution.running.started), None, "running")


def _what(execution: Execution) -> tuple[int, str, TaskKind, str, str]:
    """The first fields of a span."""
    node, job = execution.node, execution.job
    return node.pool, node.id, execution.kind, "" if job is None else job.id, execution.task_id


def _result(outcome: Outcome) -> str:
    if outcome.stopped in {"user", "node"}:
        return "stopped"
    return "success" if outcome.succeeded else "failure"
