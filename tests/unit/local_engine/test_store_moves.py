"""Moves of tasks that are not written yet are there for whoever reads, and go with what is undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from azbatch_core.local.store.database import Database
from azbatch_core.local.store.records import Node
from azbatch_core.local.store.task_rows import NewTask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.store.task_rows import Task

JOB, NODE = 1, Node(7, "node", 1, "pool", dedicated=True, address="127.1.0.1", allocated=0, since=0)


@pytest.fixture
def store() -> Iterator[Database]:
    database = Database(None)
    database.tasks.insert(NewTask(JOB, f"t{number}", None, 0, 1, 5, b"{}") for number in range(1, 4))
    database.commit()
    yield database
    database.close()


def place(store: Database, seq: int) -> None:
    store.tasks.place(seq, "running", 20, NODE, 19)


def complete(store: Database, seq: int) -> None:
    store.tasks.complete(
        seq, 30, started=18, ended=29, exit_code=3, failure=b"{}", container=b"[]", expires=99, satisfied=True
    )


def found(store: Database, task_id: str) -> Task:
    task = store.tasks.find(JOB, task_id)
    assert task is not None
    return task


def ready(store: Database, beyond: int = 0) -> list[int]:
    return [row.seq for row in store.tasks.ready(JOB, beyond, 10, 1)]


def test_a_start_shows_at_once(store: Database) -> None:
    place(store, 2)
    task = found(store, "t2")
    assert (task.state, task.since, task.previous, task.previous_since) == ("running", 20, "active", 5)
    assert (task.pool_id, task.node_id, task.node, task.placed) == ("pool", "node", 7, 1)
    assert (task.started, task.launches) == (19, 1)


def test_a_start_and_an_end_in_one_are_as_one_after_the_other(store: Database) -> None:
    store.tasks.clean([1, 2])  # of an earlier try, and what was made of that
    store.tasks.doom(1, "requeue")
    store.tasks.doom(2, "requeue")
    place(store, 1)
    complete(store, 1)
    place(store, 2)
    store.commit()
    complete(store, 2)
    assert found(store, "t1")[3:] == found(store, "t2")[3:]
    assert (found(store, "t1").launches, found(store, "t1").placed, found(store, "t1").cleaned) == (1, 1, 0)


def test_who_is_ready_is_asked_of_the_table_as_it_will_be(store: Database) -> None:
    place(store, 1)
    assert ready(store) == [2, 3]
    place(store, 2)
    assert ready(store, beyond=2) == [3]
    assert store.pending == 1  # nothing of it concerned what had moved


def test_what_is_undone_is_not_written_later(store: Database) -> None:
    place(store, 1)
    store.rollback()
    store.commit()
    assert ready(store) == [1, 2, 3]
