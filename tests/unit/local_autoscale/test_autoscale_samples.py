from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest

from azbatch_core.local.autoscale import SERVICE_VARIABLES, SampleSeries, evaluate
from azbatch_core.local.autoscale.limits import HISTORY_SAMPLES
from azbatch_core.local.autoscale.values import Interval, Timestamp

NOW = datetime(2026, 3, 4, 14, 30, tzinfo=timezone.utc)
TEN_MINUTES = SampleSeries.ending(NOW, range(1, 21))


def value(expression, series=TEN_MINUTES, now=NOW):
    result = evaluate(f"x = {expression}", {"$RunningTasks": series}, now)
    assert result.error is None, result.error
    return result.variables["x"]


def failure(expression, series=TEN_MINUTES):
    error = evaluate(f"x = {expression}", {"$RunningTasks": series}, NOW).error
    assert error is not None
    return error.code, error.values[0][1].partition(": ")[2]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("GetSample(3)", (18, 19, 20)),
        ("GetSample(1.9)", (20,)),
        ("GetSample(0)", ()),
        ("GetSample(-2)", ()),
        ("GetSample(TimeInterval_Minute)", (19, 20)),
        ("GetSample(TimeInterval_Minute * 2, TimeInterval_Minute)", (17, 18)),
        ("GetSample(TimeInterval_Minute, TimeInterval_Minute * 2)", (17, 18)),
        ("GetSample(time() - TimeInterval_Minute, time())", (19, 20)),
        ('GetSample(time("2026-03-04T14:29:00Z"))', (19, 20)),
        ("GetSample(TimeInterval_Minute * 2, TimeInterval_Minute, 100)", (17, 18)),
        ("GetSample(TimeInterval_Minute * 20, 50)", tuple(range(1, 21))),
        ("GetSamplePercent(TimeInterval_Minute * 20)", 50),
        ("GetSamplePercent(TimeInterval_Minute * 30, TimeInterval_Minute * 15)", 0),
        ("GetSamplePercent(TimeInterval_Second)", 100),
        ("GetSamplePeriod()", Interval.of(timedelta(seconds=30))),
        ("Count()", 20),
        ("HistoryBeginTime()", Timestamp.of(NOW - timedelta(seconds=570))),
    ],
)
def test_methods(call, expected):
    assert value(f"$RunningTasks.{call}") == expected


def test_a_history_shorter_than_the_count_gives_what_there_is():
    assert len(value("$RunningTasks.GetSample(100)")) == 20


def test_ten_minutes_hold_twenty_samples_and_eighteen_fail_95_percent():
    series = SampleSeries(TEN_MINUTES.points[2:])
    assert failure("$RunningTasks.GetSample(TimeInterval_Minute * 10, 95)", series) == (
        "InsufficientSampleData",
        "Insufficient data from data set: $RunningTasks wanted 95%, received 90%",
    )
    assert len(value("$RunningTasks.GetSample(TimeInterval_Minute * 10, 80)", series)) == 18


def test_seventy_percent_are_wanted_by_default():
    series = SampleSeries(TEN_MINUTES.points[6:])
    assert len(value("$RunningTasks.GetSample(TimeInterval_Minute * 10)", series)) == 14
    short = SampleSeries(TEN_MINUTES.points[7:])
    assert failure("$RunningTasks.GetSample(TimeInterval_Minute * 10)", short)[1].endswith(
        "wanted 70%, received 65%"
    )


def test_a_window_without_samples_fails_where_a_count_does_not():
    empty = SampleSeries()
    assert failure("$RunningTasks.GetSample(TimeInterval_Minute)", empty) == (
        "InsufficientSampleData",
        "Insufficient data from data set: $RunningTasks wanted 70%, received 0%",
    )
    assert value("$RunningTasks.GetSample(1)", empty) == ()
    assert value("max(0, $RunningTasks.GetSample(1))", empty) == 0
    assert value("val($RunningTasks.GetSample(1), 0)", empty) == 0
    assert value("$RunningTasks.Count()", empty) == 0
    assert value("$RunningTasks.HistoryBeginTime() == time()", empty) == 1


def test_a_guarded_formula_leaves_zero_on_a_pool_without_samples():
    formula = """
        share = $PendingTasks.GetSamplePercent(TimeInterval_Minute * 3);
        tasks = share < 70 ? max(2, $PendingTasks.GetSample(1))
                           : avg($PendingTasks.GetSample(TimeInterval_Minute * 3));
        $TargetDedicatedNodes = min(25, ceil(tasks / $TaskSlotsPerNode));
    """
    assert evaluate(formula, {}, NOW).target_dedicated_nodes == 2


def test_samples_from_later_are_not_seen():
    earlier = NOW - timedelta(minutes=5)
    assert value("$RunningTasks + 0", now=earlier) == 10
    assert value("$RunningTasks.Count()", now=earlier) == 10


def test_a_variable_used_as_a_number_is_its_newest_sample():
    assert value("$RunningTasks * 2") == 40
    assert value("$CurrentDedicatedNodes + $TaskSlotsPerNode") == 1


@pytest.mark.parametrize("name", SERVICE_VARIABLES)
def test_service_variables_are_known_in_any_case(name):
    result = evaluate(f"x = {name.lower()}.Count()", {name: TEN_MINUTES}, NOW)
    assert result.variables == {"x": 20.0}


def test_an_old_name_reads_the_current_nodes():
    series = {"$CurrentDedicatedNodes": SampleSeries.ending(NOW, [6])}
    assert evaluate("x = $CurrentDedicated", series, NOW).variables == {"x": 6.0}


@pytest.mark.parametrize(
    "call",
    [
        "GetSample()",
        'GetSample("a")',
        "GetSample(1, 2)",
        "GetSample(1, TimeInterval_Minute)",
        "GetSample(TimeInterval_Minute, 1, 2)",
        "GetSamplePercent(5)",
        "GetSamplePercent()",
        "Count(1)",
        "Nosuch()",
        "Count",
        "GetSample(TimeInterval_Year * 5000)",
    ],
)
def test_calls_of_no_known_form(call):
    assert failure(f"$RunningTasks.{call}")[0] == "AutoScalingFormulaEvaluationError"


def test_a_spread_beyond_all_numbers_is_a_fault():
    series = SampleSeries.ending(NOW, [1.7e308, -1.7e308])
    for call in ("std", "norm", "range"):
        code, text = failure(f"{call}($RunningTasks.GetSample(2))", series)
        assert (code, text) == (
            "AutoScalingFormulaEvaluationError",
            "The result is not a finite number",
        )


def test_points_come_in_any_order_and_the_newest_are_kept():
    count = HISTORY_SAMPLES + 5
    points = [(NOW - timedelta(seconds=age), float(age)) for age in range(count)]
    series = SampleSeries(points)
    assert len(series.points) == HISTORY_SAMPLES
    assert series.points[-1] == (NOW, 0.0)
    naive = SampleSeries([(NOW.replace(tzinfo=None), 3)])
    assert naive.points == ((NOW, 3.0),)


def test_series_that_cannot_be():
    with pytest.raises(ValueError, match="finite"):
        SampleSeries([(NOW, float("nan"))])
    with pytest.raises(ValueError, match="positive"):
        SampleSeries((), timedelta(0))


def test_the_package_needs_no_web_server():
    code = (
        "import sys, azbatch_core.local.autoscale;"
        "sys.exit(any(m in sys.modules for m in ('starlette', 'uvicorn', 'azure', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
