"""Copies of what every member of a gang writes: when they are made, and what is sent for them."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from azbatch_core.plan import AccountFacts, Plan, StorageRef, mask, plan
from azbatch_core.specs import JobSpec, TaskSpec

LOGS = {"file_pattern": "../std*.txt", "container": "logs"}
IDENTITY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"


def planned(facts: AccountFacts, *outputs: dict[str, Any], job: Any = None, **task: Any) -> Plan:
    spec = TaskSpec(**{"id": "t", "command": ["train"], "gang": 2, "output_files": outputs, **task})
    return plan(JobSpec(**{"name": "g", "id": "j", "tasks": [spec], **(job or {})}), facts)


def mark_of(made: Plan) -> str:
    script = shlex.split(made.tasks[0].body["multiInstanceSettings"]["coordinationCommandLine"])[2]
    return next((line for line in script.splitlines() if ".azbatch-member" in line), "")


def test_a_gang_that_keeps_its_output_gets_a_release_task(local: AccountFacts):
    made = planned(local, LOGS)
    release = made.job_body["jobReleaseTask"]
    (address,) = release["environmentSettings"]
    assert address == {"name": "AZBATCH_MEMBER_LOGS", "value": StorageRef("logs")}
    assert "<storage>/logs?***" in json.dumps(mask(made.job_body))
    assert made.job_body["jobPreparationTask"]["commandLine"] == "/bin/sh -c :"
    assert "'stdout.txt j/t/stdout.txt' 'stderr.txt j/t/stderr.txt'" in mark_of(made)
    assert not any("main node only" in line for line in made.warnings)


@pytest.mark.parametrize(
    ("outputs", "more"),
    [
        ([], {}),
        ([LOGS], {"gang": None}),
        ([LOGS], {"gang": 1}),
        ([{**LOGS, "identity": IDENTITY}], {"job": {"pool": "existing"}}),
        ([{**LOGS, "upload_condition": "taskfailure"}], {}),
        ([{"file_pattern": "../std*.txt", "container_url": "https://a.blob.core.windows.net/c?sig=x"}], {}),
        ([{"file_pattern": "*.bin", "container": "logs"}], {}),
        ([LOGS], {"job": {"preparation": {"command": ["a"]}, "release": {"command": ["b"]}}}),
    ],
)
def test_otherwise_the_job_is_as_it_was_and_that_is_said(
    local: AccountFacts, outputs: list[dict[str, Any]], more: dict[str, Any]
):
    made = planned(local, *outputs, **more)
    assert "environmentSettings" not in made.job_body.get("jobReleaseTask", {})
    gang = made.tasks[0].spec.gang
    if gang is not None:
        assert not mark_of(made)
    said = any("main node only" in line for line in made.warnings)
    assert said == (bool(outputs) and gang is not None and gang.nodes > 1)


def test_what_a_gang_uploads_besides_comes_from_the_main_node_and_that_is_said(local: AccountFacts):
    made = planned(local, LOGS, {"file_pattern": "*.bin", "container": "logs"})
    assert mark_of(made)
    assert any("main node only" in line for line in made.warnings)


def test_a_preparation_of_ones_own_stays(local: AccountFacts):
    made = planned(local, LOGS, job={"preparation": {"command": ["mine"]}})
    assert made.job_body["jobPreparationTask"]["commandLine"] == "mine"
    assert "jobReleaseTask" in made.job_body
