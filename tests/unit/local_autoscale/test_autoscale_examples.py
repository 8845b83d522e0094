"""Worked examples of the formula language, computed by hand from its documentation."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from azbatch_core.local.autoscale import PoolTargets, SampleSeries, evaluate

NOW = datetime(2026, 3, 4, 14, 30, tzinfo=timezone.utc)  # a Wednesday
PRESENT = PoolTargets(dedicated=4, low_priority=2)


def run(formula, now=NOW, **samples):
    series = {f"${name}": SampleSeries.ending(NOW, values) for name, values in samples.items()}
    return evaluate(formula, series, now, present=PRESENT)


def dedicated(formula, **samples):
    result = run(formula, **samples)
    assert result.error is None, result.error
    return result.target_dedicated_nodes


def six_of_ten():
    """Five minutes with four gaps; the newest value is 12."""
    ages = (270, 210, 150, 90, 30, 0)
    points = [
        (NOW - timedelta(seconds=age), value) for age, value in zip(ages, (9, 9, 10, 11, 11, 12), strict=True)
    ]
    return {"$PendingTasks": SampleSeries(points)}


def test_one_target_leaves_the_other_as_it_is():
    assert (
        run("$TargetDedicatedNodes=3").results
        == "$TargetDedicatedNodes=3;$TargetLowPriorityNodes=2;$NodeDeallocationOption=requeue"
    )


def test_precedence_alias_comment_and_line_breaks():
    formula = """
        a = 2 + 3 * 4 - 6 / 4;  // 12.5
        b = (2 + 3) * 4;
        c = -a + b;
        $TargetDedicated = c > 7 && !(b == 20 && a > 13) ? 5 : 1;
    """
    assert run(formula).results == (
        "$TargetDedicatedNodes=5;$TargetLowPriorityNodes=2;$NodeDeallocationOption=requeue;a=12.5;b=20;c=7.5"
    )


@pytest.mark.parametrize(
    "formula",
    [
        "$TargetDedicatedNodes = 2; $TargetDedicated = 9;",
        "$TargetDedicated = 9; $TargetDedicatedNodes = 2;",
    ],
)
def test_the_full_name_beats_the_alias_in_either_order(formula):
    assert dedicated(formula) == 2


def test_vector_arithmetic():
    formula = """
        v = $ActiveTasks.GetSample(3);
        w = v * 2 + 1;
        $TargetDedicatedNodes = sum(w) - max(w) - min(v);
    """
    assert dedicated(formula, ActiveTasks=[4, 8, 6]) == 18


def test_std_divides_by_n_minus_one():
    formula = """
        v = $RunningTasks.GetSample(8);
        $TargetLowPriorityNodes = len(v) + range(v) + (std(v) > 2.13 && std(v) < 2.14 ? 1 : 0);
    """
    result = run(formula, RunningTasks=[2, 4, 4, 4, 5, 5, 7, 9])
    assert result.target_low_priority_nodes == 16
    assert result.target_dedicated_nodes == 4


def test_lists_are_flattened():
    formula = (
        "v = $ActiveTasks.GetSample(3);$TargetDedicatedNodes = avg(v, 7) * 4 + max(v, 10) - sum(v, v, 4)"
    )
    assert dedicated(formula, ActiveTasks=[1, 2, 3]) == 7


def test_logarithms_are_exact_enough_to_be_cut_to_whole_nodes():
    assert dedicated("$TargetDedicatedNodes = lg(8) + log(1000) + ln(1);") == 6


def test_a_guard_keeps_the_other_branch_from_running():
    formula = """
        samples = $PendingTasks.GetSamplePercent(TimeInterval_Minute * 5);
        tasks = samples < 70 ? max(0, $PendingTasks.GetSample(1))
             : max($PendingTasks.GetSample(1), avg($PendingTasks.GetSample(TimeInterval_Minute * 5)));
        $TargetDedicatedNodes = max(0, min(tasks, 10));
        $NodeDeallocationOption = taskcompletion;
    """
    result = evaluate(formula, six_of_ten(), NOW, present=PRESENT)
    assert result.error is None
    assert result.node_deallocation_option == "taskcompletion"
    assert result.results == (
        "$TargetDedicatedNodes=10;$TargetLowPriorityNodes=2;$NodeDeallocationOption=taskcompletion"
        ";samples=60;tasks=12"
    )


def test_too_few_samples_fail_the_run_and_keep_the_pool():
    formula = "$TargetDedicatedNodes = avg($PendingTasks.GetSample(TimeInterval_Minute * 5));"
    result = evaluate(formula, six_of_ten(), NOW, present=PRESENT)
    assert result.error is not None
    assert result.error.to_wire() == {
        "code": "InsufficientSampleData",
        "message": "Autoscale evaluation failed due to insufficient sample data",
        "values": [
            {
                "name": "Message",
                "value": "Line 1, Col 52: Insufficient data from data set: $PendingTasks"
                " wanted 70%, received 60%",
            }
        ],
    }
    assert not result.error.refused
    assert (
        result.results == "$TargetDedicatedNodes=4;$TargetLowPriorityNodes=2;$NodeDeallocationOption=requeue"
    )


def test_the_same_samples_suffice_for_a_lower_percent():
    formula = "$TargetDedicatedNodes = avg($PendingTasks.GetSample(TimeInterval_Minute * 5, 60));"
    assert evaluate(formula, six_of_ten(), NOW).target_dedicated_nodes == 10  # 62 / 6


@pytest.mark.parametrize(("now", "nodes"), [(NOW, 20), (NOW + timedelta(days=3), 1)])
def test_calendar(now, nodes):
    formula = """
        t = time();
        work = t.weekday >= 1 && t.weekday <= 5 && t.hour >= 8 && t.hour < 18;
        age = t - time("2026-03-04T12:00:00Z");
        $TargetDedicatedNodes = work ? (age > TimeInterval_Hour * 2 ? 20 : 10) : 1;
    """
    result = run(formula, now=now)
    assert result.error is None
    assert result.target_dedicated_nodes == nodes


def test_intervals():
    formula = """
        t0 = time("Wed, 04 Mar 2026 14:00:00 GMT");
        half = TimeInterval_Hour / 2;
        $TargetDedicatedNodes = (t0 + half <= time())
          + (TimeInterval_Day * 2 + TimeInterval_Week > TimeInterval_Day * 8)
          + (-TimeInterval_Minute < TimeInterval_Zero);
    """
    assert dedicated(formula) == 3


def test_present_values_and_stop():
    formula = """
        need = val($ActiveTasks.GetSample(1), 0) / $TaskSlotsPerNode;   // 2.5
        $TargetDedicatedNodes = $CurrentDedicatedNodes + (need > 2 ? 3 : 0);
        stop();
        $TargetDedicatedNodes = 99;
    """
    result = run(formula, ActiveTasks=[10], CurrentDedicatedNodes=[6], TaskSlotsPerNode=[4])
    assert result.error is None
    assert result.target_dedicated_nodes == 9
    assert result.variables == {"need": 2.5}


def test_results_of_the_kind_that_the_service_was_seen_to_print():
    formula = """
        $workHours = 0; $isWeekday = 1; $curTime = time("2016-10-13T19:18:47.805Z");
        $v = $RunningTasks.GetSample(3); totalNodes = 5;
    """
    assert run(formula, RunningTasks=[1, 1, 1]).results.split(";")[3:] == [
        "$curTime=2016-10-13T19:18:47.805Z",
        "$isWeekday=1",
        "$v=[1,1,1]",
        "$workHours=0",
        "totalNodes=5",
    ]
