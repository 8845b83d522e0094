"""Sample sets: what the service recorded of a variable, and the methods by which a formula asks for it."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from azbatch_core.local.autoscale import choices, limits
from azbatch_core.local.autoscale.errors import Mistake
from azbatch_core.local.autoscale.values import Interval, Timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from azbatch_core.local.autoscale.values import Value, Vec

__all__ = ["METHODS", "InsufficientData", "SampleSeries", "SampleSet"]

METHODS = ("GetSample", "GetSamplePercent", "GetSamplePeriod", "Count", "HistoryBeginTime")


def _moment(point: tuple[datetime, float]) -> datetime:
    return point[0]


@dataclass(frozen=True)
class SampleSeries:
    """What was recorded of one service variable.

    Attributes:
        points: (time, value) pairs in any order, times in UTC unless they have a zone. Kept sorted, the
            newest `limits.HISTORY_SAMPLES` of them.
        period: how often a sample is expected.

    Raises:
        ValueError: a value is not a finite number, or the period is not positive.
    """

    points: Sequence[tuple[datetime, float]] = field(default=())
    period: timedelta = choices.SAMPLE_PERIOD

    def __post_init__(self) -> None:
        if self.period <= timedelta(0):
            raise ValueError("the period of samples must be positive")
        points = [(_aware(moment), float(value)) for moment, value in self.points]
        if not all(math.isfinite(value) for _, value in points):
            raise ValueError("a sample must be a finite number")
        object.__setattr__(self, "points", tuple(sorted(points, key=_moment)[-limits.HISTORY_SAMPLES :]))

    @classmethod
    def ending(
        cls, end: datetime, values: Iterable[float], period: timedelta = choices.SAMPLE_PERIOD
    ) -> SampleSeries:
        """A series without gaps: `values` oldest first, one each `period`, the last one at `end`."""
        newest_first = list(values)[::-1]
        return cls(tuple((end - index * period, value) for index, value in enumerate(newest_first)), period)

    @classmethod
    def recorded(
        cls, points: Sequence[tuple[datetime, float]], period: timedelta = choices.SAMPLE_PERIOD
    ) -> SampleSeries:
        """A series of points that are known to be as an instance keeps them: sorted, finite, with a zone.

        Thousands of them cost next to nothing, since none is looked at.
        """
        series = object.__new__(cls)
        object.__setattr__(series, "points", points)
        object.__setattr__(series, "period", period)
        return series

    def until(self, end: datetime) -> SampleSeries:
        """The samples taken at `end` or before."""
        known = bisect_right(self.points, end, key=_moment)
        return self if known == len(self.points) else self.recorded(self.points[:known], self.period)


class InsufficientData(Exception):  # noqa: N818 - internal: the evaluator turns it into a FormulaError
    """A window has a smaller share of its samples than wanted; both in whole percents."""

    def __init__(self, wanted: int, received: int) -> None:
        self.wanted = wanted
        self.received = received
        super().__init__(wanted, received)


class SampleSet:
    """A series as a formula sees it at `now`: nothing from later."""

    def __init__(self, series: SampleSeries, now: Timestamp) -> None:
        self._series = series.until(now.moment())
        self._points = self._series.points
        self._now = now

    def latest(self) -> float | None:
        """The newest value, None without any sample."""
        return self._points[-1][1] if self._points else None

    def method(self, name: str, arguments: Sequence[Value]) -> Value:
        """The result of one of `METHODS`.

        Raises:
            Mistake: the arguments suit none of the method's forms.
            InsufficientData: fewer samples than the call asks for.
        """
        if name == "GetSample":
            return self._get_sample(arguments)
        if name == "GetSamplePercent":
            return self._get_percent(arguments)
        if arguments:
            raise Mistake(f"{name} takes no arguments")
        if name == "GetSamplePeriod":
            return Interval.of(self._series.period)
        if name == "Count":
            return float(len(self._points))
        return Timestamp.of(self._points[0][0]) if self._points else self._now

    def _get_sample(self, arguments: Sequence[Value]) -> Vec:
        """The forms (count), (start), (start, percent), (start, end) and (start, end, percent)."""
        match arguments:
            case [float() as count]:
                wanted = max(0, math.trunc(count))
                return _values(self._points[-wanted:] if wanted else ())
            case [start]:
                return self._window(start, self._now, choices.DEFAULT_SAMPLE_PERCENT)
            case [start, float() as percent]:
                return self._window(start, self._now, percent)
            case [start, end]:
                return self._window(start, end, choices.DEFAULT_SAMPLE_PERCENT)
            case [start, end, float() as percent]:
                return self._window(start, end, percent)
        raise Mistake("GetSample takes a count, or a start, an end and a percent")

    def _get_percent(self, arguments: Sequence[Value]) -> float:
        match arguments:
            case [start]:
                return self._share(*self._bounds(start, self._now))
            case [start, end]:
                return self._share(*self._bounds(start, end))
        raise Mistake("GetSamplePercent takes a start and an end")

    def _window(self, start: Value, end: Value, wanted: float) -> Vec:
        first, last = self._bounds(start, end)
        received = self._share(first, last)
        if received < wanted:
            raise InsufficientData(choices.whole_percent(wanted), choices.whole_percent(received))
        return _values(self._between(first, last))

    def _bounds(self, start: Value, end: Value) -> tuple[datetime, datetime]:
        """Earlier and later end; the documents themselves give them in both orders."""
        first, last = sorted((self._time(start), self._time(end)))
        return first.moment(), last.moment()

    def _time(self, value: Value) -> Timestamp:
        """A timestamp, or an interval read as "this long ago"."""
        if isinstance(value, Interval):
            return Timestamp(self._now.ticks - value.ticks)
        if isinstance(value, Timestamp):
            return value
        raise Mistake("The bounds of samples must be timestamps or time intervals")

    def _between(self, first: datetime, last: datetime) -> Sequence[tuple[datetime, float]]:
        """Samples after `first` up to `last`, so that ten minutes of 30 seconds hold twenty."""
        low = bisect_right(self._points, first, key=_moment)
        return self._points[low : bisect_right(self._points, last, key=_moment)]

    def _share(self, first: datetime, last: datetime) -> float:
        expected = choices.expected_samples(last - first, self._series.period)
        return min(100.0, 100.0 * len(self._between(first, last)) / expected)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _values(points: Sequence[tuple[datetime, float]]) -> Vec:
    """Oldest first."""
    return tuple(value for _, value in points)
