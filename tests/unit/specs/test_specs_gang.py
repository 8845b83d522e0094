"""What a gang is, and what none can be."""

from __future__ import annotations

from typing import Any

import pytest
from specs_refusals import refusal

from azbatch_core.specs import GangSpec, TaskSpec, parse_job, shell


def task(**fields: Any) -> TaskSpec:
    return TaskSpec(**{"command": ["train"], **fields})


def test_the_number_of_nodes_is_enough():
    assert task(gang=2).gang == GangSpec(nodes=2) == task(gang={"nodes": 2}).gang
    assert task().gang is None


def test_a_job_file_says_it_the_same_way():
    job = parse_job("name: g\ntasks:\n  - command: [train]\n    gang: {nodes: 3}\n")
    assert job.tasks[0].gang == GangSpec(nodes=3)


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"gang": 0}, "gang.nodes", "0 is out of range: must be at least 1"),
        ({"gang": 101}, "gang.nodes", "101 is out of range: must be at most 100"),
        ({"gang": "2"}, "gang", "must be a number of nodes or {nodes: N}, not '2'"),
        ({"gang": True}, "gang", "must be a number of nodes or {nodes: N}, not true"),
        ({"gang": {}}, "gang.nodes", "is missing"),
        ({"gang": {"nodes": 2, "coordination": []}}, "gang.coordination", "is empty"),
        ({"gang": 2, "required_slots": 2}, "required_slots", "a gang takes whole nodes"),
        ({"gang": 2, "command": [], "container": "img"}, "command", "a gang's command is handed to a shell"),
        (
            {
                "gang": {
                    "nodes": 2,
                    "common_resource_files": [{"http_url": "https://h/f", "file_path": "f"}],
                }
            },
            "gang.common_resource_files",
            "without it the task's own files go to every node",
        ),
    ],
)
def test_what_is_no_gang_names_field_and_rule(fields: dict[str, Any], field: str, words: str):
    error = refusal(task, **fields)
    assert error.field == field
    assert words in error.message


@pytest.mark.parametrize("name", ["size", "instances", "replicas", "number_of_instances"])
def test_other_words_for_nodes_are_understood(name: str):
    assert refusal(task, gang={name: 2}).hint == "did you mean 'nodes'?"


def test_nodes_of_a_task_are_a_gang():
    assert "write gang: {nodes: …}" in str(refusal(task, nodes=2).hint)


def test_one_slot_is_what_a_gang_takes():
    assert task(gang=2, required_slots=1, command=shell("train | tee log")).required_slots == 1
