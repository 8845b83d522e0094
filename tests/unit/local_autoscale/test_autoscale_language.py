from __future__ import annotations

from datetime import datetime, timezone

import pytest

from azbatch_core.local.autoscale import FormulaError, PoolTargets, evaluate, parse
from azbatch_core.local.autoscale.values import Interval

NOW = datetime(2026, 3, 4, 14, 30, tzinfo=timezone.utc)


def value(expression, before=""):
    result = evaluate(f"{before}x = {expression}", {}, NOW)
    assert result.error is None, result.error
    return result.variables["x"]


def printed(expression):
    result = evaluate(f"x = {expression}", {}, NOW)
    assert result.error is None, result.error
    return result.results.rpartition("x=")[2]


def fault(formula):
    error = evaluate(formula, {}, NOW).error
    assert error is not None
    assert error.code == "AutoScalingFormulaEvaluationError"
    assert error.message == "The specified auto-scaling formula has evaluation error"
    [(name, text)] = error.values
    assert name == "Message"
    return text


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("10 - 4 - 3", 3),
        ("24 / 4 / 2", 3),
        ("2 * 3 + 4 * 5", 26),
        ("- 2 * 3", -6),
        ("--2", 2),
        ("!0 + 1", 2),
        ("!-3", 0),
        ("1 < 2 == 1", 1),
        ("3 > 2 > 1", 0),
        ("1 || 0 && 0", 1),
        ("0 == 1 || 2 != 3", 1),
        ("0 ? 1 : 0 ? 2 : 3", 3),
        ("1 ? 0 ? 7 : 8 : 9", 8),
        ("1 < 2 && 2 < 3 ? 4 : 5", 4),
        ('"a" < "b"', 1),
        ("TimeInterval_Second * 60 == TimeInterval_Minute", 1),
        ("0.5 * TimeInterval_Hour == TimeInterval_Minute * 30", 1),
        ("time() - TimeInterval_Day < time()", 1),
        ("(time() + TimeInterval_Day).day", 5),
        ("(TimeInterval_Day + time()).day - (time() - TimeInterval_Day).day", 2),
        ("TimeInterval_Day - TimeInterval_Hour == TimeInterval_Hour * 23", 1),
        ("TimeInterval_100ns * 10 == TimeInterval_Microsecond", 1),
        ('time("2026-03-08T00:00:00Z").weekday', 0),
        ('time("2026-03-04T14:30:00+02:00").hour', 12),
        ('time("2026-03").month', 3),
        ('time("") == time()', 1),
    ],
)
def test_expressions(expression, expected):
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("avg(1, 2, 6)", 3),
        ("std(5)", 0),
        ("norm(3, 4)", 5),
        ("len()", 0),
        ("sum()", 0),
        ("ceil(1.2) + floor(1.8)", 3),
        ("round(0.5) + round(1.5)", 2),
        ("val(vec(4, 5, 6), 2)", 6),
        ("val(vec(), 0)", 0),
        ("percentile(vec(4, 1, 3, 2), 50)", 2.5),
        ("percentile(vec(1, 2), 100)", 2),
        ("lg(vec(2, 8))", (1, 3)),
        ("1 + vec(1, 2)", (2, 3)),
        ("vec(8, 9) / vec(2, 3)", (4, 3)),
    ],
)
def test_functions(expression, expected):
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 / 3", "0.333333333333333"),
        ("0.1 + 0.2", "0.3"),
        ("0 * -1", "0"),
        ("16777216", "16777216"),
        ("1000000000 * 1000000000", "1E+18"),
        ("vec(1, 2.5)", "[1,2.5]"),
        ('"text"', "text"),
        ("terminate", "terminate"),
        ("TimeInterval_Day + TimeInterval_Minute * 90", "1.01:30:00"),
        ("-TimeInterval_100ns", "-00:00:00.0000001"),
    ],
)
def test_printing(expression, expected):
    assert printed(expression) == expected


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("something_useless", "Line 1, Col 1: Undefined symbol: something_useless"),
        ("a = 1;\r\nb = 2 *\n  nosuch", "Line 3, Col 3: Undefined symbol: nosuch"),
        ("x = nosuch(1)", "Line 1, Col 5: Undefined symbol: nosuch"),
        ("x = 1 / 0", "Line 1, Col 7: Division by zero"),
        ("x = ln(0)", "Line 1, Col 5: ln is not defined for this argument"),
        ("x = avg()", "Line 1, Col 5: avg of nothing"),
        ("x = val(vec(1), 1)", "Line 1, Col 5: Index 1 is outside a vector of 1 elements"),
        ('x = 1 + "a"', "Line 1, Col 7: Operator '+' does not take double and string"),
        ("x = TimeInterval_Day == 1", "Line 1, Col 22: Operator '==' does not take timeinterval and double"),
        ("x = vec(1) ? 1 : 2", "Line 1, Col 12: A condition must be a double, not a doubleVec"),
        ("x = vec(1) + vec(1, 2)", "Line 1, Col 12: Operator '+' between vectors of 1 and 2 elements"),
        ("x = time().century", "Line 1, Col 12: A timestamp has no member century"),
        ("v = 1; x = v.GetSample(1)", "Line 1, Col 14: A double has no method GetSample"),
        ('x = time("yesterday")', "Line 1, Col 5: Invalid date and time: yesterday"),
        ("$PendingTasks = 3", "Line 1, Col 1: $PendingTasks cannot be assigned"),
        ("$pendingtasks = 3", "Line 1, Col 1: $pendingtasks cannot be assigned"),
        ("requeue = 3", "Line 1, Col 1: requeue cannot be assigned"),
        (
            "$NodeDeallocationOption = 1",
            "Line 1, Col 1: A double cannot be assigned to $NodeDeallocationOption",
        ),
        (
            "$TargetDedicatedNodes = vec(1)",
            "Line 1, Col 1: A doubleVec cannot be assigned to $TargetDedicatedNodes",
        ),
        (";$TargetDedicatedNodes = 0 - 1", "Line 1, Col 2: A target must not be negative, it is -1"),
        ("x = percentile(vec(), 50)", "Line 1, Col 5: percentile of nothing"),
        ("x = percentile(vec(1), 101)", "Line 1, Col 5: percentile needs a percent from 0 to 100"),
        ("x = percentile(1, 50)", "Line 1, Col 5: percentile takes a doubleVec and a double"),
        ("x = max(1, time())", "Line 1, Col 5: A timestamp is given where numbers are wanted"),
        ("x = ln()", "Line 1, Col 5: ln needs an argument"),
        ("x = time(1)", "Line 1, Col 5: time takes one string"),
        ("x = rand(1)", "Line 1, Col 5: rand takes no arguments"),
        ("stop(1)", "Line 1, Col 1: stop takes no arguments"),
        ('x = -"a"', "Line 1, Col 5: Operator '-' does not take a string"),
        ("$TargetDedicated = 4294967296", "Line 1, Col 1: A target must not exceed 2147483647"),
        ("x = sum(" + "9" * 300 + " * 1000000000)", "Line 1, Col 310: The result is not a finite number"),
        ("x = TimeInterval_Year * 100000", "Line 1, Col 23: The time interval is out of range"),
        ("x = time() - TimeInterval_Year * 3000", "Line 1, Col 12: The time is out of range"),
    ],
)
def test_faults_at_run_time_say_where_and_what(formula, text):
    assert fault(formula) == text


@pytest.mark.parametrize(
    "text",
    [
        "2016-10-13T19:18:47.805000001Z",  # nanoseconds
        "2026-02-30",
        "2026-03-04T24:00:00Z",
        "Mon, 04 Mar 2026 14:00:00 GMT",  # a Wednesday
        "04/03/2026",
        "0001-01-01T00:00:00+10:00",
    ],
)
def test_times_that_are_refused(text):
    assert "Invalid date and time" in fault(f'x = time("{text}")')


@pytest.mark.parametrize(
    ("formula", "place"),
    [
        ("a = 1 b = 2", "Line 1, Col 7: Expected ';', found 'b'"),
        ("a = ;", "Line 1, Col 5: Unexpected ';'"),
        ("a = (1", "Line 1, Col 7: Expected ')', found end of formula"),
        ("a = max(1 2)", "Line 1, Col 11: Expected ',', found '2'"),
        ("a = 1 % 2", "Line 1, Col 7: Unexpected character: %"),
        ('a = "open', "Line 1, Col 5: The string is not closed"),
        ("a = 1.2.3", "Line 1, Col 5: The number cannot be read"),
        ("a = [1, 2]", "Line 1, Col 5: Unexpected character: ["),
        ("a = b = 1", "Line 1, Col 7: Expected ';', found '='"),
        ("a = t.5", "Line 1, Col 7: Expected a name, found '5'"),
        ("a = 1 ? 2", "Line 1, Col 10: Expected ':', found end of formula"),
        ("// nothing\n ;", "Line 2, Col 3: The formula has no statement"),
        ("", "Line 1, Col 1: The formula has no statement"),
        ("a=" + "9" * 400, "Line 1, Col 3: The number is too large"),
    ],
)
def test_text_that_does_not_parse_is_refused(formula, place):
    with pytest.raises(FormulaError) as caught:
        parse(formula)
    assert caught.value.error.code == "AutoScalingFormulaSyntaxError"
    assert caught.value.error.values == (("Message", place),)
    assert caught.value.error.refused
    assert evaluate(formula, {}, NOW).error == caught.value.error


def test_one_hundred_statements_and_no_more():
    parse("a=1;" * 100 + ";;")
    with pytest.raises(FormulaError, match="more than 100 statements"):
        parse("a=1;" * 101)


def test_8192_characters_and_no_more():
    formula = "a=1;".ljust(8192)
    parse(formula)
    result = evaluate(formula + " ", {}, NOW, present=PoolTargets(3, 1))
    assert result.error is not None
    assert result.error.code == "AutoScaleFormulaTooLong"
    assert result.error.refused
    assert (result.target_dedicated_nodes, result.target_low_priority_nodes) == (3, 1)


@pytest.mark.parametrize("formula", ["b = 1 || nosuch", "b = 0 && nosuch", "b = 1 ? 2 : nosuch"])
def test_what_is_decided_leaves_the_rest_alone(formula):
    assert evaluate(formula, {}, NOW).error is None


@pytest.mark.parametrize(("expression", "nodes"), [("7 / 2", 3), ("0.4", 0), ("0 - 0.4", 0)])
def test_fractions_of_a_node_are_cut_off(expression, nodes):
    assert evaluate(f"$TargetDedicatedNodes = {expression}", {}, NOW).target_dedicated_nodes == nodes


def test_targets_are_read_as_they_stand_and_keep_their_fraction():
    formula = (
        "a = $TargetDedicatedNodes; $TargetDedicated = a / 2; b = $TargetDedicatedNodes;"
        "c = $targetlowprioritynodes; d = $NodeDeallocationOption"
    )
    result = evaluate(formula, {}, NOW, present=PoolTargets(5, 7))
    assert result.target_dedicated_nodes == 2
    assert result.results.endswith(";a=5;b=2.5;c=7;d=requeue")


def test_the_last_of_several_assignments_counts_and_may_change_the_type():
    result = evaluate("x = 1; X = 2; x = TimeInterval_Zero; $NodeDeallocationOption = terminate", {}, NOW)
    assert result.variables == {"x": Interval(0), "X": 2.0}
    assert result.node_deallocation_option == "terminate"


def test_stop_in_a_branch_not_taken_does_not_stop():
    assert evaluate("a = 0 ? stop() : 1; b = 2", {}, NOW).variables == {"a": 1.0, "b": 2.0}
    assert evaluate("a = 1 ? stop() : 1; b = 2", {}, NOW).variables == {}


def test_rand_is_the_same_for_the_same_time_and_between_0_and_1():
    first, second = (evaluate("x = rand(); y = rand()", {}, NOW).variables for _ in range(2))
    assert first == second
    assert first["x"] != first["y"]
    assert 0 <= first["x"] <= 1
    assert evaluate("x = rand()", {}, NOW, random=lambda: 0.25).variables == {"x": 0.25}


def test_a_name_that_is_no_service_variable_is_the_callers_mistake():
    with pytest.raises(ValueError, match=r"\$Nosuch"):
        evaluate("x = 1", {"$Nosuch": None}, NOW)
