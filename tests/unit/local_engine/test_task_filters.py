"""What SQLite decides of a filter over tasks leaves out nothing that matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from engine_fakes import Service

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


async def test_rows_that_cannot_match_are_not_looked_at(filled: Service) -> None:
    compiled = parse_filter("state eq 'running' and executionInfo/exitCode ne 1", FILTERS["tasks"])
    seen = []
    filled.engine.tasks.page("job", lambda task: bool(seen.append(task["id"])), condition=compiled.condition)
    assert sorted(seen) == ["late-0", "late-1"]


async def test_a_page_goes_on_within_a_filter(filled: Service) -> None:
    compiled = parse_filter("startswith(id, 'done')", FILTERS["tasks"])
    tasks = filled.engine.tasks
    first, after = tasks.page("job", compiled.match, limit=4, condition=compiled.condition)
    rest, end = tasks.page("job", compiled.match, after, 4, condition=compiled.condition)
    assert ([doc["id"] for doc in first + rest], end) == ([f"Done-{number}" for number in range(6)], None)
