"""What SQLite decides of a filter over tasks leaves out nothing that matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from engine_fakes import Service
from hypothesis import given, settings
from hypothesis import strategies as st

from azbatch_core.local.odata.filters import FILTERS
from azbatch_core.local.odata.parser import parse_filter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def filled(tmp_path: Path) -> AsyncIterator[Service]:
    """Tasks in every state, with several exit codes and times."""
    service = await Service(tmp_path).start()
    await service.pool(nodes=2)
    service.job()
    for number in range(6):
        service.task(f"Done-{number}", f"sleep {number}; exit {number % 3}")
        await service.pass_time(10)
    for number in range(4):
        service.task(f"late-{number}", "hang")
        await service.pass_time(1)
    service.engine.tasks.terminate("job", "late-3")
    await service.pass_time(1)
    yield service
    await service.engine.stop()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id eq 'done-1'", 1),
        ("startswith(id, 'DONE')", 6),
        ("startswith(id, 'late-')", 4),
        ("id gt 'done-3' and id le 'LATE-1'", 4),
        ("state eq 'running'", 2),
        ("state eq 'active' or state eq 'running'", 3),
        ("state eq 'completed' and (executionInfo/exitCode eq 1 or executionInfo/exitCode gt 1)", 4),
        ("executionInfo/exitCode lt 2", 4),
        ("executionInfo/exitCode ne 2", 8),
        ("executionInfo/exitCode eq 9223372036854775807000", 0),
        ("executionInfo/result eq 'failure'", 5),
        ("executionInfo/result ne 'success'", 8),
        ("executionInfo/result eq null", 3),
        ("executionInfo/endTime ge datetime'2026-01-01T00:00:31Z'", 4),
        ("executionInfo/startTime lt datetime'2026-01-01T00:00:20.0000000Z'", 2),
        ("creationTime le datetime'2026-01-01T00:00:20.0000000Z' or startswith(id, 'late-')", 7),
        ("lastModifiedTime gt datetime'2026-01-01T00:01:00Z'", 3),
        ("stateTransitionTime gt datetime'2026-01-01T00:01:00Z' and id ne 'late-0'", 3),
        (" or ".join(f"id eq 'done-{number}'" for number in range(1500)), 6),
    ],
)
async def test_narrowing_changes_no_answer(filled: Service, text: str, expected: int) -> None:
    compiled = parse_filter(text, FILTERS["tasks"])
    tasks = filled.engine.tasks
    narrowed = [doc["id"] for doc in tasks.page("job", compiled.match, condition=compiled.condition)[0]]
    assert narrowed == [doc["id"] for doc in tasks.page("job", compiled.match)[0]]
    assert len(narrowed) == expected


@pytest_asyncio.fixture
async def worn(filled: Service) -> Service:
    """And one that waits again, whose columns still have what its earlier try was."""
    filled.engine.tasks.reactivate("job", "done-1")
    return filled


def looked_at(service: Service, text: str) -> list[str]:
    """The tasks that Python is asked about."""
    compiled = parse_filter(text, FILTERS["tasks"])
    seen: list[str] = []
    service.engine.tasks.page("job", lambda task: bool(seen.append(task["id"])), condition=compiled.condition)
    return seen


TEXTS = st.sampled_from(
    ["'done-1'", "'DONE-3'", "'late-1'", "''", "'zzz'", "'é'", "'d_'", "'a\0b'", "'it''s'", "null"]
)
TIMES = st.sampled_from(
    [
        *(f"datetime'2026-01-01T00:0{minute}:{second:02}Z'" for minute in (0, 1) for second in (0, 10, 31)),
        "datetime'0001-01-01T00:00:00Z'",
        "datetime'9999-12-31T23:59:59.9999999Z'",
        "null",
    ]
)
NUMBERS = st.sampled_from(
    ["0", "1", "2", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "null"]
)
NAMES = {
    "text": st.one_of(
        TEXTS, st.sampled_from(["'success'", "'Failure'", "'active'", "'running'", "'completed'"])
    ),
    "time": TIMES,
    "int": NUMBERS,
}


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(sorted(FILTERS["tasks"])))
    rule = FILTERS["tasks"][name]
    verb = draw(st.sampled_from(sorted(rule.operators)))
    value = draw(NAMES[rule.kind].filter(lambda value: verb in {"eq", "ne"} or value != "null"))
    return f"startswith({name}, {value})" if verb == "startswith" else f"{name} {verb} {value}"


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.tuples(st.sampled_from([" and ", " or "]), st.lists(parts, min_size=2, max_size=5))
    return lists.map(lambda made: f"({made[0].join(made[1])})")


async def test_every_filter_is_decided_as_python_decides_it_and_by_sqlite_alone(worn: Service) -> None:
    @settings(deadline=None, max_examples=400)
    @given(st.recursive(comparisons(), joined, max_leaves=12))
    def check(text: str) -> None:
        compiled = parse_filter(text, FILTERS["tasks"])
        expected = [doc["id"] for doc in worn.engine.tasks.page("job", compiled.match)[0]]
        assert looked_at(worn, text) == expected

    check()


@pytest.mark.parametrize(("verb", "word"), [("eq", "or"), ("ne", "and"), ("gt", "and"), ("gt", "or")])
async def test_long_filters_are_decided_by_sqlite_too(filled: Service, verb: str, word: str) -> None:
    most = 400 if verb == "gt" else 1500
    text = f" {word} ".join(f"id {verb} 'done-{number}'" for number in range(1, most))
    compiled = parse_filter(text, FILTERS["tasks"])
    assert looked_at(filled, text) == [
        doc["id"] for doc in filled.engine.tasks.page("job", compiled.match)[0]
    ]


async def test_a_page_goes_on_within_a_filter(filled: Service) -> None:
    compiled = parse_filter("startswith(id, 'done')", FILTERS["tasks"])
    tasks = filled.engine.tasks
    first, after = tasks.page("job", compiled.match, limit=4, condition=compiled.condition)
    rest, end = tasks.page("job", compiled.match, after, 4, condition=compiled.condition)
    assert ([doc["id"] for doc in first + rest], end) == ([f"Done-{number}" for number in range(6)], None)
