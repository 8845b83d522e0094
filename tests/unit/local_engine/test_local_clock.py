from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone

import pytest

from azbatch_core.local.clock import RealClock, VirtualClock

pytestmark = pytest.mark.asyncio


async def test_virtual_timers_fire_in_order_at_their_moments() -> None:
    clock = VirtualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))
    start = clock.now()
    seen: list[tuple[str, float]] = []

    def note(name: str) -> None:
        seen.append((name, (clock.now() - start).total_seconds()))

    clock.call_later(5, lambda: note("b"))
    clock.call_later(2, lambda: clock.call_later(1, lambda: note("a")))
    clock.call_later(9, lambda: note("never")).cancel()
    clock.call_later(50, lambda: note("later"))
    await clock.advance(10)
    assert seen == [("a", 3), ("b", 5)]
    assert clock.now() == start + timedelta(seconds=10)


async def test_what_a_timer_sets_off_is_done_before_the_next_one() -> None:
    clock = VirtualClock()
    seen: list[str] = []
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda _: clock.call_later(0, lambda: seen.append("reaction")))
    clock.call_later(1, lambda: future.set_result(None))
    clock.call_later(2, lambda: seen.append("next"))
    await clock.advance(3)
    assert seen == ["reaction", "next"]


async def test_actions_without_delay_need_no_advance() -> None:
    clock = VirtualClock()
    seen: list[int] = []
    clock.call_later(0, lambda: seen.append(1))
    clock.call_later(0, lambda: seen.append(2)).cancel()
    assert seen == []
    await asyncio.sleep(0)
    assert seen == [1]


async def test_the_real_clock_is_the_machines() -> None:
    clock = RealClock()
    assert abs(clock.now() - datetime.now(timezone.utc)) < timedelta(seconds=5)
    fired = asyncio.Event()
    clock.call_later(-1, fired.set)
    await asyncio.wait_for(fired.wait(), 5)


async def test_timers_of_one_moment_fire_together() -> None:
    clock = VirtualClock()
    seen: list[str] = []

    def first() -> None:
        seen.append("first")
        clock.call_later(0, lambda: seen.append("reaction"))
        third.cancel()

    clock.call_later(1, first)
    clock.call_later(1, lambda: seen.append("second"))
    third = clock.call_later(1, lambda: seen.append("never"))
    await clock.advance(1)
    assert seen == ["first", "second", "reaction"]


async def test_advancing_until_something_stops_where_it_comes_true() -> None:
    clock = VirtualClock()
    start = clock.now()
    seen: list[int] = []
    for moment in (3, 5, 9):
        clock.call_later(moment, lambda moment=moment: seen.append(moment))  # type: ignore[misc]
    assert await clock.advance_until(lambda: bool(seen), 100) == 3
    assert await clock.advance_until(lambda: 9 in seen, 4) == 4
    assert clock.now() == start + timedelta(seconds=7)
    assert await clock.advance_until(lambda: False, 100) == 2, "no timer is left after that"


async def test_timers_that_are_called_off_are_not_kept() -> None:
    clock = VirtualClock()
    kept: list[int] = []
    clock.call_later(2_000_000, lambda: kept.append(1))
    for _ in range(10_000):
        clock.call_later(1_000_000, lambda: kept.append(0)).cancel()
    assert sum(map(len, clock._timers.values())) < 1000
    await clock.advance(3_000_000)
    assert kept == [1]


async def test_one_move_waits_for_another_and_never_turns_the_clock_back() -> None:
    clock = VirtualClock()
    start = clock.now()
    for moment in range(1, 20):
        clock.call_later(moment, lambda: None)
    far = asyncio.ensure_future(clock.advance(100))
    await asyncio.sleep(0)
    await asyncio.wait_for(clock.advance(5), 5)
    assert far.done()
    assert clock.now() == start + timedelta(seconds=105)


async def test_a_cancelled_move_leaves_the_clock_where_it_is() -> None:
    clock = VirtualClock()
    start = clock.now()

    moved = asyncio.Event()

    def again() -> None:
        moved.set()
        clock.call_later(1, again)

    again()
    endless = asyncio.ensure_future(clock.advance(10**9))
    moved.clear()
    await asyncio.wait_for(moved.wait(), 5)
    endless.cancel()
    with pytest.raises(asyncio.CancelledError):
        await endless
    stands = clock.now()
    assert stands < start + timedelta(days=1)
    await asyncio.wait_for(clock.advance(0), 5)
    assert clock.now() == stands


async def test_a_clock_goes_on_in_the_loop_of_the_next_start() -> None:
    clock = VirtualClock()

    async def two_at_a_time() -> None:
        await asyncio.gather(clock.advance(1), clock.advance(1))

    start = clock.now()
    for _ in range(2):
        await asyncio.to_thread(asyncio.run, two_at_a_time())
    assert clock.now() == start + timedelta(seconds=4)
