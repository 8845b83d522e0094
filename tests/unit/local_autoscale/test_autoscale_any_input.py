"""No text and no samples crash the interpreter; depth and work are bounded."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from azbatch_core.local.autoscale import (
    SERVICE_VARIABLES,
    FormulaError,
    PoolTargets,
    SampleSeries,
    evaluate,
    parse,
)
from azbatch_core.local.autoscale.functions import FUNCTIONS
from azbatch_core.local.autoscale.limits import HISTORY_SAMPLES, NESTING
from azbatch_core.local.autoscale.samples import METHODS
from azbatch_core.local.autoscale.variables import CONSTANTS

NOW = datetime(2026, 3, 4, 14, 30, tzinfo=timezone.utc)
PRESENT = PoolTargets(4, 2)
SETTABLE = ("$TargetDedicatedNodes", "$TargetLowPriority", "$NodeDeallocationOption")
CODES = {
    "AutoScaleFormulaTooLong",
    "AutoScalingFormulaSyntaxError",
    "AutoScalingFormulaEvaluationError",
    "InsufficientSampleData",
}

finite = st.floats(allow_nan=False, allow_infinity=False)
series = st.lists(st.tuples(st.datetimes(), finite), max_size=6).map(SampleSeries)
samples = st.dictionaries(st.sampled_from(SERVICE_VARIABLES), series, max_size=4)
moments = st.datetimes(timezones=st.just(timezone.utc)) | st.just(NOW)

words = st.sampled_from(
    [
        *SERVICE_VARIABLES,
        *SETTABLE,
        *CONSTANTS,
        *FUNCTIONS,
        "time",
        "rand",
        "stop",
        "a",
        "b",
        "$c",
        "1",
        "0",
        "2.5",
    ]
    + [f"$PendingTasks.{method}(" for method in METHODS]
    + ['"2026-03-04"', '"', ".hour", "//", "\n", "(", ")", ",", ";", "=", "?", ":", "+", "-", "*", "/", "!"]
    + ["<", "<=", ">", ">=", "==", "!=", "&&", "||", "é", "%"]
)


def names():
    return st.sampled_from(["a", "b", *SERVICE_VARIABLES[10:16], *SETTABLE, *CONSTANTS])


def leaves():
    numbers = st.integers(0, 10**9).map(str) | st.sampled_from(["0", "1", "0.5", "1" + "0" * 300])
    return names() | numbers | st.sampled_from(["time()", "rand()", '"2026-03-04T00:00:00Z"', "vec(1, 2)"])


def deeper(inner):
    operators = st.sampled_from(["+", "-", "*", "/", "<", "<=", "==", "!=", "&&", "||"])
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
        st.tuples(st.sampled_from("-!"), inner).map("".join),
        st.tuples(st.sampled_from([*FUNCTIONS, "time"]), st.lists(inner, max_size=3)).map(
            lambda t: f"{t[0]}({', '.join(t[1])})"
        ),
        st.tuples(names(), st.sampled_from(METHODS), st.lists(inner, max_size=3)).map(
            lambda t: f"{t[0]}.{t[1]}({', '.join(t[2])})"
        ),
        st.tuples(inner, st.sampled_from(["hour", "weekday", "x"])).map(lambda t: f"({t[0]}).{t[1]}"),
    )


expressions = st.recursive(leaves(), deeper, max_leaves=12)
statements = st.tuples(st.sampled_from(["a = ", "b = ", "", "$TargetDedicatedNodes = "]), expressions).map(
    "".join
)
programs = st.lists(statements, min_size=1, max_size=4).map(";\n".join)


def check(formula, given_samples, now):
    """A result, or an error in one of the service's codes that leaves the pool alone; twice the same."""
    result = evaluate(formula, given_samples, now, present=PRESENT)
    assert result.results.startswith("$TargetDedicatedNodes=")
    assert result.target_dedicated_nodes >= 0
    assert evaluate(formula, given_samples, now, present=PRESENT) == result
    if result.error is not None:
        assert result.error.code in CODES
        assert result.variables == {}
        assert (result.target_dedicated_nodes, result.target_low_priority_nodes) == (4, 2)
    reported = result.error if result.error is not None and result.error.refused else None
    assert reported == refusal(formula)
    return result


def refusal(formula):
    try:
        parse(formula)
    except FormulaError as failure:
        return failure.error
    return None


@given(st.text(max_size=300), moments)
@settings(max_examples=200, deadline=None)
def test_any_text(formula, now):
    check(formula, {}, now)


@given(st.lists(words, max_size=40).map(" ".join), samples, moments)
@settings(max_examples=200, deadline=None)
def test_any_sequence_of_words(formula, given_samples, now):
    check(formula, given_samples, now)


@given(programs, samples, moments)
@settings(max_examples=200, deadline=None)
def test_any_program_that_parses(formula, given_samples, now):
    result = check(formula, given_samples, now)
    assert result.error is None or not result.error.refused


@given(finite, finite)
def test_comparisons_agree_with_python(left, right):
    history = {"$ActiveTasks": SampleSeries([(NOW, left)]), "$FailedTasks": SampleSeries([(NOW, right)])}
    formula = (
        "a = $ActiveTasks < $FailedTasks; b = $ActiveTasks == $FailedTasks;"
        "c = max($ActiveTasks, $FailedTasks)"
    )
    assert evaluate(formula, history, NOW).variables == {
        "a": float(left < right),
        "b": float(left == right),
        "c": max(left, right),
    }


@pytest.mark.parametrize(
    "formula",
    [
        "x=" + "(" * 8000,
        "x=" + "-" * 8000 + "1",
        "x=" + "!" * 8000 + "1",
        "x=" + "1+" * 4000 + "1",
        "x=" + "1?" * 4000 + "1" + ":1" * 90,
        "x=" + "0?1:" * 2000 + "1",
        "x=1" + ".a" * 4000,
        "x=" + "max(" * 2000,
        "x=" + "1||1&&1==1<1+1*-(" * 400,
        "x=" + "(" * 8000 + ")",
        "x=" + '"' * 8001,
        "a" * 8192,
        ";" * 8192,
    ],
)
def test_long_and_deep_texts_are_answered(formula):
    assert len(formula) <= 8192
    check(formula, {}, NOW)


def test_the_deepest_formula_runs_within_the_default_stack():
    step = "0||1&&1==1<2+1*-("
    depth = NESTING - 1
    assert evaluate("x=" + step * depth + "1" + ")" * depth, {}, NOW).error is None


def test_long_chains_are_evaluated():
    assert evaluate("x=" + "1+" * 4000 + "1", {}, NOW).variables == {"x": 4001.0}
    assert evaluate("x=" + "0?1:" * 2000 + "7", {}, NOW).variables == {"x": 7.0}


@pytest.mark.parametrize(
    "work", ["std(" + "a," * 4000 + "a)", "a" + "+a" * 4000, "lg(a+" + "a*" * 3000 + "1)"]
)
def test_vectors_are_computed_within_a_budget(work):
    history = {"$ActiveTasks": SampleSeries.ending(NOW, [2.0] * HISTORY_SAMPLES, timedelta(seconds=1))}
    result = evaluate(f"a=$ActiveTasks.GetSample({HISTORY_SAMPLES});b={work}", history, NOW)
    assert result.error is not None
    assert "1000000 elements" in result.error.values[0][1]
