"""The threads that wait for networks."""

from __future__ import annotations

import threading

import pytest

from azbatch_core.local.runtime.threads import DaemonPool


def test_work_runs_side_by_side_up_to_the_size() -> None:
    pool = DaemonPool(3, "test")
    meeting = threading.Barrier(3, timeout=10)  # passes only if three wait at once
    for future in [pool.submit(lambda: meeting.wait() and None) for _ in range(3)]:
        future.result(10)
    pool.close()


def test_more_work_than_threads_gets_done() -> None:
    pool = DaemonPool(2, "test")
    done: list[int] = []
    for future in [pool.submit(lambda number=number: done.append(number)) for number in range(50)]:
        future.result(10)
    assert sorted(done) == list(range(50))
    assert pool._threads <= 2
    pool.close()


def test_a_busy_thread_does_not_hold_up_other_work() -> None:
    pool = DaemonPool(2, "test")
    pool.submit(lambda: None).result(10)
    release = threading.Event()
    busy = pool.submit(lambda: release.wait(10) and None)
    pool.submit(lambda: None).result(5)
    release.set()
    busy.result(10)
    pool.close()


def test_an_error_comes_back() -> None:
    pool = DaemonPool(1, "test")

    def fail() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        pool.submit(fail).result(10)
    pool.submit(lambda: None).result(10)
    pool.close()


def test_cancelled_work_is_not_done() -> None:
    pool = DaemonPool(1, "test")
    release = threading.Event()
    pool.submit(lambda: release.wait(10) and None)
    done: list[int] = []
    waiting = pool.submit(lambda: done.append(1))
    assert waiting.cancel()
    release.set()
    pool.submit(lambda: None).result(10)
    assert done == []
    pool.close()
