"""Many replicas followed at the same time, and how soon a line is seen."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from conftest import WITHIN
from torchx.specs import AppState
from torchx_apps import app_of, submit, until, wait

from azbatch_core.service.connect.connection import Connection

if TYPE_CHECKING:
    import pytest

REPLICAS = 64


def follow(scheduler: Any, app_id: str, k: int, seen: list[tuple[float, str]]) -> threading.Thread:
    from torchx.schedulers.api import Stream

    def read() -> None:
        lines = scheduler.log_iter(app_id, "role", k, None, None, None, True, streams=Stream.STDOUT)
        seen.extend((time.time(), line) for line in lines)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def test_64_replicas_ask_less_than_ten_times_a_second(
    scheduler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_of("sh", "-c", "echo $TORCHX_REPLICA_ID; sleep 1000", num_replicas=REPLICAS)
    app_id = submit(scheduler, app, max_nodes=REPLICAS)
    wait(scheduler, app_id, AppState.RUNNING)
    asked: list[float] = []
    call = Connection.call

    def counted(connection: Connection, *words: Any, **more: Any) -> Any:
        asked.append(time.monotonic())
        return call(connection, *words, **more)

    monkeypatch.setattr(Connection, "call", counted)
    seen: list[list[tuple[float, str]]] = [[] for _ in range(REPLICAS)]
    began = time.monotonic()
    threads = [follow(scheduler, app_id, k, seen[k]) for k in range(REPLICAS)]
    until(lambda: all(seen), "some replica's line was never shown")
    seconds = time.monotonic() - began
    # The first few come before there are many.
    assert len(asked) <= 10 * seconds + 15
    assert [line for ((_, line),) in seen] == [f"{k}\n" for k in range(REPLICAS)]
    scheduler.cancel(app_id)
    for thread in threads:
        thread.join(WITHIN)
        assert not thread.is_alive()


def test_a_line_is_shown_within_a_second(scheduler: Any) -> None:
    app = app_of("sh", "-c", "for n in 1 2 3 4 5; do sleep 1.3; date +%s.%N; done", num_replicas=2)
    app_id = submit(scheduler, app)
    seen: list[list[tuple[float, str]]] = [[], []]
    threads = [follow(scheduler, app_id, k, seen[k]) for k in range(2)]
    for thread in threads:
        thread.join(WITHIN)
    for lines in seen:
        assert len(lines) == 5
        late = sorted(at - float(line) for at, line in lines)
        assert late[2] <= 1.0, f"lines were shown late: {late}"
