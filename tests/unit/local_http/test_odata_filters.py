"""`$filter`, against documents as they go over the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azbatch_core.local.odata.filters import FILTERS, Property
from azbatch_core.local.odata.lexer import FilterError
from azbatch_core.local.odata.parser import parse_filter

TASK = {
    "id": "Render-007",
    "state": "completed",
    "creationTime": "2025-01-16T18:44:41.5Z",
    "lastModified": "2025-01-16T18:44:41.7974082Z",
    "executionInfo": {"exitCode": 3, "result": "failure", "startTime": "2025-01-16T18:45:00Z"},
}
WAITING = {"id": "render-008", "state": "active", "executionInfo": {"retryCount": 0}}


def matches(text, document=TASK, kind="tasks"):
    return parse_filter(text, FILTERS[kind]).match(document)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state eq 'completed'", True),
        ("state eq 'active'", False),
        ("id eq 'render-007'", True),
        ("startswith(id,'render')", True),
        ("startswith( id , 'task' )", False),
        ("executionInfo/exitCode ne 0", True),
        ("executionInfo/exitCode gt 2 and executionInfo/exitCode lt 4", True),
        ("executionInfo/exitCode eq -3", False),
        ("executionInfo/result eq 'failure' and state eq 'active'", False),
        ("state eq 'active' or state eq 'completed'", True),
        ("state eq 'active' and state eq 'active' or id eq 'render-007'", True),
        ("state eq 'active' and (state eq 'active' or id eq 'render-007')", False),
        ("creationTime ge datetime'2025-01-16T18:44:41.5Z'", True),
        ("creationTime gt DateTime'2025-01-16T18:44:41.50Z'", False),
        ("creationTime lt datetime'2025-01-16T20:45:00+02:00'", True),
        ("lastModifiedTime le datetime'2025-01-16T18:44:41.7974081Z'", False),
        ("id ge 'render-006' and id lt 'render-008'", True),
        ("executionInfo/exitCode eq null", False),
    ],
)
def test_conditions(text, expected):
    assert matches(text) is expected


def test_a_property_that_is_not_there_differs_from_everything_and_has_no_order():
    assert matches("executionInfo/exitCode ne 0", WAITING)
    assert matches("executionInfo/exitCode eq null", WAITING)
    assert not matches("executionInfo/exitCode eq 0", WAITING)
    assert not matches("executionInfo/exitCode lt 100", WAITING)
    assert not matches("executionInfo/endTime lt datetime'2099-01-01T00:00:00Z'", WAITING)


def test_quotes_in_strings_are_doubled():
    assert matches("id eq 'it''s'", {"id": "it's"})


def test_booleans_and_the_case_of_file_names():
    pool = {"enableAutoScale": False}
    assert matches("enableAutoScale eq false", pool, "pools")
    assert not matches("enableAutoScale ne false", pool, "pools")
    assert matches("startswith(name,'wd/Out')", {"name": "wd/Out.txt"}, "files")
    assert not matches("startswith(name,'wd/out')", {"name": "wd/Out.txt"}, "files")


def test_hints_are_equalities_that_must_hold():
    rules = FILTERS["tasks"]
    assert parse_filter("state eq 'Active' and startswith(id,'a')", rules).hints == {"state": "active"}
    assert parse_filter("state eq 'active' or id eq 'a'", rules).hints == {}
    assert parse_filter("id ne 'a'", rules).hints == {}


@pytest.mark.parametrize(
    "text",
    [
        "state ne 'active'",
        "state gt 'active'",
        "startswith(state,'a')",
        "commandLine eq 'x'",
        "lastModified eq datetime'2025-01-01T00:00:00Z'",
        "state eq active",
        "state eq 5",
        "executionInfo/exitCode eq '3'",
        "executionInfo/exitCode eq 1.5",
        "creationTime gt '2025-01-01T00:00:00Z'",
        "creationTime gt datetime'yesterday'",
        "executionInfo/exitCode gt null",
        "startswith(id,null)",
        "state",
        "state eq",
        "state eq 'active' and",
        "state eq 'active' state eq 'active'",
        "(state eq 'active'",
        "state eq 'active')",
        "state eq 'active",
        "state has 'active'",
        "not state eq 'active'",
        "id eq 'a' & id eq 'b'",
        "(" * 60 + "id eq 'a'" + ")" * 60,
        "",
        f"executionInfo/exitCode eq {'9' * 5000}",
    ],
)
def test_what_a_list_cannot_be_filtered_by_is_refused(text):
    with pytest.raises(FilterError):
        parse_filter(text, FILTERS["tasks"])


def test_every_list_of_the_reference_has_its_rules():
    assert set(FILTERS["pools"]) == {
        "id",
        "state",
        "allocationState",
        "vmSize",
        "enableAutoScale",
        "enableInterNodeCommunication",
        "stateTransitionTime",
        "allocationStateTransitionTime",
        "creationTime",
        "lastModified",
    }
    assert FILTERS["jobs"]["state"].operators == {"eq"}
    assert FILTERS["jobsOfSchedule"]["state"].operators == {"eq", "ne"}
    assert "id" not in FILTERS["jobsOfSchedule"]
    assert FILTERS["nodeCounts"]["poolId"].operators == {"eq"}


RULES = {"n": Property("int", frozenset({"eq", "ne", "gt", "ge", "lt", "le"}), ("n",))}
OPERATORS = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "gt": int.__gt__,
    "ge": int.__ge__,
    "lt": int.__lt__,
    "le": int.__le__,
}
conditions = st.tuples(st.sampled_from(sorted(OPERATORS)), st.integers(-3, 3))
expressions = st.recursive(
    conditions,
    lambda inner: st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
    max_leaves=12,
)


def written(expression):
    word, rest = expression
    if isinstance(rest, int):
        return f"n {word} {rest}"
    return f" {word} ".join(f"({written(part)})" for part in rest)


def judged(expression, n):
    word, rest = expression
    if isinstance(rest, int):
        return OPERATORS[word](n, rest)
    return (all if word == "and" else any)(judged(part, n) for part in rest)


@given(expressions, st.integers(-4, 4))
def test_filters_mean_what_they_say(expression, n):
    assert parse_filter(written(expression), RULES).match({"n": n}) is judged(expression, n)


@given(st.text(alphabet="ide q'()startswith,and or 0-9datetime/", max_size=60))
def test_any_text_is_a_filter_or_refused(text):
    try:
        compiled = parse_filter(text, FILTERS["tasks"])
    except FilterError:
        return
    compiled.match(TASK)
