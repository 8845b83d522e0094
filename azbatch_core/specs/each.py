"""``each:`` in a job file: one task written once, run for every value of a variable.

    - id: seed
      stage: sample
      each: {SEED: {range: [1, 40]}}
      command: [python3, throw.py]

makes forty tasks, `seed-01` to `seed-40`, each with its own value in the environment variable ``SEED``.
Several variables give every combination. Python has comprehensions for this, so it is part of the files only.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Final

from azbatch_core.specs.problems import problem, show

_MOST: Final = 100_000
"""Tasks that one entry may stand for: more belong into a program that streams them."""

SCHEMA: Final[dict[str, Any]] = {
    "description": (
        "Only in job files: makes one task for each value of these variables (for each combination, if there "
        "are several), with the value in its environment. The tasks' ids are this one's id and a number."
    ),
    "examples": [{"SEED": {"range": [1, 40]}}, {"MODEL": ["small", "large"]}],
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "anyOf": [
            {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}},
            {
                "type": "object",
                "required": ["range"],
                "additionalProperties": False,
                "properties": {
                    "range": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
                },
            },
        ]
    },
}


def expand(tasks: list[Any]) -> tuple[list[Any], list[int]]:
    """The tasks with every ``each`` written out, and for each of them the place of the entry it came from.

    Raises:
        SpecError: An ``each`` is not variables with values; `field` is its path.
    """
    expanded: list[Any] = []
    origins: list[int] = []
    for index, task in enumerate(tasks):
        copies = _copies(task, f"tasks[{index}]") if isinstance(task, dict) and "each" in task else [task]
        expanded += copies
        origins += [index] * len(copies)
    return expanded, origins


def _copies(task: dict[str, Any], where: str) -> list[dict[str, Any]]:
    each = task["each"]
    if not isinstance(each, dict) or not each:
        raise problem(
            "must be variables with their values",
            field=f"{where}.each",
            hint="such as each: {SEED: [1, 2, 3]}",
        )
    values = [_values(given, f"{where}.each.{name}") for name, given in each.items()]
    count = 1
    for choices in values:
        count *= len(choices)
    if count > _MOST:
        raise problem(
            f"stands for {count:,} tasks; a file may have {_MOST:,}",
            field=f"{where}.each",
            hint="stream them from Python: AzureBatch().submit(job, tasks=...)",
        )
    numbers = _numbers(each, values, count)
    rest = {name: value for name, value in task.items() if name != "each"}
    return [
        _copy(rest, number, dict(zip(each, choice, strict=True)), where)
        for number, choice in zip(numbers, product(*values), strict=True)
    ]


def _copy(task: dict[str, Any], number: str, variables: dict[str, Any], where: str) -> dict[str, Any]:
    own = task.get("environment") or {}
    if not isinstance(own, dict):
        raise problem(
            "must be a mapping beside each", field=f"{where}.environment", hint="write it as {NAME: value}"
        )
    clash = next((name for name in variables if name in own), None)
    if clash:
        raise problem(
            f"{clash!r} is also in environment", field=f"{where}.each.{clash}", hint="keep one of them"
        )
    copy = {**task, "environment": {**own, **variables}}
    if task.get("id") is not None:
        copy["id"] = f"{task['id']}-{number}"
    return copy


def _values(given: Any, where: str) -> list[Any]:
    if isinstance(given, list) and given:
        wrong = next((value for value in given if isinstance(value, (dict, list)) or value is None), _MOST)
        if wrong is not _MOST:
            raise problem(
                f"{show(wrong)} is no value for a variable: text, a number, true or false", field=where
            )
        return given
    if isinstance(given, dict) and set(given) == {"range"}:
        bounds = given["range"]
        if (
            isinstance(bounds, list)
            and [type(bound) for bound in bounds] == [int, int]
            and bounds[0] <= bounds[1]
        ):
            if bounds[1] - bounds[0] >= _MOST:
                raise problem(f"a range may have {_MOST:,} values", field=where)
            return list(range(bounds[0], bounds[1] + 1))
        raise problem(
            "a range is its first and last whole number", field=where, hint="such as {range: [1, 40]}"
        )
    raise problem(
        "must be a list of values, or a range", field=where, hint="such as [1, 2, 3] or {range: [1, 40]}"
    )


def _numbers(each: dict[str, Any], values: list[list[Any]], count: int) -> list[str]:
    """What tells the ids apart: the value where it is one range of positive numbers, else the place."""
    (first, *others) = values
    ranged = not others and isinstance(next(iter(each.values())), dict) and first[0] >= 0
    counted = first if ranged else range(1, count + 1)
    width = len(str(counted[-1]))
    return [f"{number:0{width}}" for number in counted]
