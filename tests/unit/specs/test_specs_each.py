"""`each` in job files: one entry, many tasks."""

import pytest

from azbatch_core.errors import SpecError
from azbatch_core.specs import parse_job
from azbatch_core.specs.schema import json_schema


def job(each: str, **others: str) -> str:
    lines = [f"    {name}: {value}" for name, value in {"command": "[env]", **others}.items()]
    return "\n".join(["name: sweep", "tasks:", f"  - each: {each}", *lines, "  - {id: last, command: [env]}"])


def variables(task) -> dict[str, str]:
    return {variable.name: variable.value for variable in task.environment}


def test_a_range_makes_a_task_for_each_number_named_after_it() -> None:
    tasks = parse_job(job("{SEED: {range: [9, 11]}}", id="seed", stage="sample")).tasks
    assert [task.id for task in tasks] == ["seed-09", "seed-10", "seed-11", "last"]
    assert [variables(task) for task in tasks[:3]] == [{"SEED": "9"}, {"SEED": "10"}, {"SEED": "11"}]
    assert [task.stage for task in tasks] == ["sample"] * 3 + [None]


def test_several_variables_give_every_combination_numbered_by_place() -> None:
    tasks = parse_job(job("{MODEL: [small, large], LR: [0.10, 1e-3]}", id="fit")).tasks[:-1]
    assert [task.id for task in tasks] == ["fit-1", "fit-2", "fit-3", "fit-4"]
    assert [tuple(variables(task).values()) for task in tasks] == [
        ("small", "0.10"),
        ("small", "1e-3"),
        ("large", "0.10"),
        ("large", "1e-3"),
    ]


def test_without_an_id_the_tasks_are_numbered_later() -> None:
    assert [task.id for task in parse_job(job("{A: [x, y]}")).tasks] == [None, None, "last"]


def test_the_own_environment_stays() -> None:
    first = parse_job(job("{A: [x]}", environment="{B: z}")).tasks[0]
    assert variables(first) == {"B": "z", "A": "x"}


@pytest.mark.parametrize(
    ("each", "said"),
    [
        ("{}", "must be variables"),
        ("[1, 2]", "must be variables"),
        ("{A: []}", "list of values, or a range"),
        ("{A: 3}", "list of values, or a range"),
        ("{A: [[1]]}", "no value for a variable"),
        ("{A: [null]}", "no value for a variable"),
        ("{A: {range: [3, 1]}}", "first and last"),
        ("{A: {range: [1.5, 2]}}", "first and last"),
        ("{A: {range: [1, 2, 3]}}", "first and last"),
        ("{A: {range: [1, 9999999999]}}", "100,000"),
        ("{A: {range: [1, 1000]}, B: {range: [1, 1000]}}", "1,000,000 tasks"),
        ("{A: {from: 1}}", "list of values, or a range"),
        ("{AZ_BATCH_X: [1]}", "AZ_BATCH_X"),
        ("{B: [1]}", "also in environment"),
    ],
)
def test_a_wrong_each_is_told_with_its_line(each: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        parse_job(job(each, environment="{B: z}"))
    assert caught.value.line in {3, 4, 5}


def test_a_mistake_in_a_copy_is_told_where_it_is_written() -> None:
    text = "name: x\ntasks:\n  - {id: a, command: [env]}\n  - each: {N: [1, 2]}\n    comand: [env]\n"
    with pytest.raises(SpecError, match=r"tasks\[1\].comand") as caught:
        parse_job(text)
    assert (caught.value.line, caught.value.field) == (5, "tasks[1].comand")


def test_a_mistake_after_it_keeps_its_line() -> None:
    text = "name: x\ntasks:\n  - each: {N: [1, 2]}\n    command: [env]\n  - {command: env}\n"
    with pytest.raises(SpecError, match=r"tasks\[1\].command") as caught:
        parse_job(text)
    assert caught.value.line == 5


def test_a_clash_of_ids_names_the_entries_as_they_are_written() -> None:
    text = (
        "name: x\ntasks:\n  - {id: s, each: {N: {range: [1, 9]}}, command: [env]}\n"
        "  - {id: b, command: [env]}\n  - {id: s-3, command: [env]}\n  - {id: b, command: ['tasks[9]']}\n"
    )
    with pytest.raises(SpecError) as caught:
        parse_job(text, name="stdin")
    assert caught.value.message == (
        "stdin:5: tasks[2].id: 's-3' is also the id of tasks[0] (made by its each)"
    )
    with pytest.raises(SpecError, match=r"^<text>:6: tasks\[3\].id: 'b' is also the id of tasks\[1\] -"):
        parse_job(text.replace("s-3", "c"))


def test_editors_learn_it_from_the_schema() -> None:
    assert "each" in json_schema()["$defs"]["TaskSpec"]["properties"]
