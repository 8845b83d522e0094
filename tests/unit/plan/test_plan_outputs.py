"""Output files: the final names of blobs, and patterns that would upload a file twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from azbatch_core.errors import ConfigurationError, SpecError
from azbatch_core.plan import AccountFacts, Plan, StorageRef, plan
from azbatch_core.specs import JobSpec, OutputFile, TaskSpec


def with_outputs(facts: AccountFacts, *outputs: dict[str, Any], count: int = 1) -> Plan:
    """A plan of tasks that all have these outputs."""
    files = [OutputFile(**{"container": "out", **output}) for output in outputs]
    return plan(JobSpec(name="j", tasks=[TaskSpec(command=["true"], output_files=files)] * count), facts)


@pytest.mark.parametrize(
    ("pattern", "path", "name"),
    [
        ("../stdout.txt", "j-0a1b2c3d/1/stdout.txt", "out/j-0a1b2c3d/1/stdout.txt"),
        ("../std*.txt", "j-0a1b2c3d/1", "out/j-0a1b2c3d/1/std*.txt"),
        ("result.csv", "j-0a1b2c3d/1/result.csv", "out/j-0a1b2c3d/1/result.csv"),
        ("deep/down/r.csv", "j-0a1b2c3d/1/deep/down/r.csv", "out/j-0a1b2c3d/1/deep/down/r.csv"),
        ("deep/*.csv", "j-0a1b2c3d/1/deep", "out/j-0a1b2c3d/1/deep/*.csv"),
        ("**/*.csv", "j-0a1b2c3d/1", "out/j-0a1b2c3d/1/**/*.csv"),
        ("$AZ_BATCH_TASK_DIR/stderr.txt", "j-0a1b2c3d/1/stderr.txt", "out/j-0a1b2c3d/1/stderr.txt"),
        ("/mnt/data/x.bin", "j-0a1b2c3d/1/mnt/data/x.bin", "out/j-0a1b2c3d/1/mnt/data/x.bin"),
    ],
)
def test_a_file_goes_below_its_job_and_task(local: AccountFacts, pattern: str, path: str, name: str):
    one = with_outputs(local, {"file_pattern": pattern}).tasks[0]
    assert one.body["outputFiles"][0]["destination"]["container"]["path"] == path
    assert one.outputs == (name,)


@pytest.mark.parametrize(
    ("pattern", "path", "name"),
    [
        ("result.csv", "run-7/final.csv", "out/run-7/final.csv"),
        ("*.csv", "run-7", "out/run-7/*.csv"),
        ("*.csv", "run-7/", "out/run-7/*.csv"),
        ("*.csv", "", "out/*.csv"),
    ],
)
def test_a_given_path_is_the_blob_or_with_wildcards_the_folder(
    local: AccountFacts, pattern: str, path: str, name: str
):
    assert with_outputs(local, {"file_pattern": pattern, "path": path}).tasks[0].outputs == (name,)


def test_the_account_storage_is_left_to_the_submission(local: AccountFacts):
    container = (
        with_outputs(local, {"file_pattern": "*"}).tasks[0].body["outputFiles"][0]["destination"]["container"]
    )
    assert container["containerUrl"] == StorageRef("out", permission="w")


def test_tasks_never_share_a_default_name(local: AccountFacts):
    whole = with_outputs(local, {"file_pattern": "../stdout.txt"}, count=3)
    assert len({one.outputs for one in whole.tasks}) == 3


def test_the_job_id_stands_in_paths_and_prefixes(local: AccountFacts):
    source = {"auto_storage_container_name": "results", "blob_prefix": "{job_id}/x/"}
    task = TaskSpec(
        id="a",
        command=("true",),
        resource_files=(source,),
        output_files=({"file_pattern": "b.txt", "container": "results", "path": "{job_id}/x/b"},),
    )
    preparation = {"command": ["true"], "resource_files": [source]}
    made = plan(JobSpec(name="j", tasks=(task,), preparation=preparation), local)
    assert made.tasks[0].outputs == (f"results/{made.job_id}/x/b",)
    assert made.tasks[0].body["resourceFiles"][0]["blobPrefix"] == f"{made.job_id}/x/"
    assert made.job_body["jobPreparationTask"]["resourceFiles"][0]["blobPrefix"] == f"{made.job_id}/x/"


def test_two_tasks_that_write_one_blob_are_refused(local: AccountFacts):
    with pytest.raises(
        SpecError, match=r"task '2': its output out/stdout.txt is also the output of task '1'"
    ) as caught:
        with_outputs(local, {"file_pattern": "../stdout.txt", "path": "stdout.txt"}, count=2)
    assert caught.value.field == "output_files"


def test_two_tasks_that_share_a_folder_are_warned(local: AccountFacts):
    whole = with_outputs(local, {"file_pattern": "*.csv", "path": "all"}, count=3)
    assert [text for text in whole.warnings if "overwrite" in text] == [
        (
            "tasks 2, 3: its output goes to out/all/*.csv, as that of task 1: "
            "equal file names overwrite each other"
        )
    ]


@pytest.mark.parametrize(
    ("one", "two"),
    [(".command.*", ".command.out"), ("*.txt", "../wd/out.txt"), ("**/*.csv", "results/*.csv")],
)
def test_patterns_that_meet_are_refused(local: AccountFacts, one: str, two: str):
    with pytest.raises(SpecError, match=r"task '1': the output patterns .* can match one file"):
        with_outputs(local, {"file_pattern": one}, {"file_pattern": two})


def test_patterns_for_success_and_for_failure_may_meet(local: AccountFacts):
    whole = with_outputs(
        local,
        {"file_pattern": "*.txt", "upload_condition": "tasksuccess"},
        {"file_pattern": "a.*", "upload_condition": "taskfailure"},
    )
    assert len(whole.tasks[0].body["outputFiles"]) == 2
    with pytest.raises(SpecError, match="can match one file"):
        with_outputs(
            local, {"file_pattern": "*.txt", "upload_condition": "tasksuccess"}, {"file_pattern": "a.*"}
        )


def test_an_account_without_storage_cannot_keep_outputs(local: AccountFacts):
    with pytest.raises(ConfigurationError, match="the account 'local' has none"):
        with_outputs(replace(local, storage_endpoint=None), {"file_pattern": "*"})


def test_a_container_url_needs_no_storage_of_the_account(local: AccountFacts):
    url = "https://s.blob.core.windows.net/elsewhere?sp=w&sig=hunter2"
    one = with_outputs(
        replace(local, storage_endpoint=None), {"file_pattern": "*", "container": None, "container_url": url}
    )
    assert one.tasks[0].outputs == ("https://s.blob.core.windows.net/elsewhere/j-0a1b2c3d/1/*",)
