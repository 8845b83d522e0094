"""Values that are made once each."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from azbatch_core.service.connect.once import OnceEach


def test_many_who_want_one_value_make_it_once() -> None:
    made: list[int] = []
    values: OnceEach[str, int] = OnceEach()
    together = threading.Barrier(8)

    def want(_: int) -> int:
        together.wait()
        return values.get("a", lambda: made.append(1) or len(made))  # type: ignore[func-returns-value]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(want, range(8))) == [1] * 8
    assert made == [1]


def test_a_failure_is_not_kept() -> None:
    values: OnceEach[str, int] = OnceEach()
    with pytest.raises(ZeroDivisionError):
        values.get("a", lambda: 1 // 0)
    assert values.get("a", lambda: 7) == 7
