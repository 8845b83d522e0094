"""`az batch` of the Azure CLI, through pools, jobs, tasks, files, schedules and nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

POOL = (
    *("pool", "create", "--id", "p", "--vm-size", "standard_d2s_v3", "--target-dedicated-nodes", "2"),
    *("--image", "canonical:ubuntu-24_04-lts:server", "--node-agent-sku-id", "batch.node.ubuntu 24.04"),
)


class Az:
    """The command line, signed in by the environment."""

    def __init__(self, run: Callable[..., Any], python: str) -> None:
        self._run = run
        self._python = python

    def __call__(self, *words: str) -> Any:
        """What `az batch …` prints, read as JSON; None for nothing."""
        done = self._run(
            self._python, "-m", "azure.cli", "batch", *words, "--only-show-errors", packages="azure-cli"
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    def refused(self, *words: str) -> str:
        """What it says on standard error about a command that fails."""
        done = self._run(
            self._python, "-m", "azure.cli", "batch", *words, "--only-show-errors", packages="azure-cli"
        )
        assert done.returncode != 0, done.stdout
        said: str = done.stderr
        return said

    def until(self, wanted: Callable[[Any], bool], *words: str) -> Any:
        """The answer, once it is as wanted; each look takes a process, so looks are few."""
        for _ in range(30):
            found = self(*words)
            if wanted(found):
                return found
        return pytest.fail(f"{words}: still {found}")


@pytest.fixture
def az(run: Callable[..., Any], python: str) -> Az:
    return Az(run, python)


def test_pools(az: Az) -> None:
    assert len(az("pool", "supported-images", "list")) > 10
    az(*POOL)
    made = az("pool", "show", "--pool-id", "p")
    assert (made["id"], made["state"], made["targetDedicatedNodes"]) == ("p", "active", 2)
    az("pool", "set", "--pool-id", "p", "--metadata", "team=a b")
    assert az("pool", "show", "--pool-id", "p")["metadata"] == [{"name": "team", "value": "a b"}]
    az("pool", "resize", "--pool-id", "p", "--target-dedicated-nodes", "3")
    az("pool", "resize", "--pool-id", "p", "--abort")
    assert len(az("node", "list", "--pool-id", "p")) == 3
    formula = "$TargetDedicatedNodes=1"
    az("pool", "autoscale", "enable", "--pool-id", "p", "--auto-scale-formula", formula)
    tried = az("pool", "autoscale", "evaluate", "--pool-id", "p", "--auto-scale-formula", formula)
    assert tried["results"].startswith("$TargetDedicatedNodes=1;")
    az("pool", "autoscale", "disable", "--pool-id", "p")
    counts = az("pool", "node-counts", "list")
    assert (counts[0]["poolId"], counts[0]["dedicated"]["total"]) == ("p", 1)
    assert "PoolUsageMetricAPIRetired" in az.refused("pool", "usage-metrics", "list")
    assert [pool["id"] for pool in az("pool", "list")] == ["p"]
    az("pool", "delete", "--pool-id", "p", "--yes")
    assert "PoolNotFound" in az.refused("pool", "show", "--pool-id", "p")


def test_jobs_tasks_and_files(az: Az, tmp_path: Path) -> None:
    az(*POOL)
    az("job", "create", "--id", "j", "--pool-id", "p", "--priority", "3")
    az(
        "task",
        "create",
        "--job-id",
        "j",
        "--task-id",
        "one",
        "--command-line",
        "/bin/sh -c 'echo hello; ls >wd.txt'",
    )
    tasks = [{"id": "two", "commandLine": "/bin/true"}, {"id": "three", "commandLine": "/bin/false"}]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    added = az("task", "create", "--job-id", "j", "--json-file", "tasks.json")
    assert {result["status"] for result in added} == {"Success"}
    listed = az.until(
        lambda found: all(task["state"] == "completed" for task in found), "task", "list", "--job-id", "j"
    )
    assert {task["id"]: task["executionInfo"]["exitCode"] for task in listed} == {
        "one": 0,
        "two": 0,
        "three": 1,
    }
    files = az("task", "file", "list", "--job-id", "j", "--task-id", "one", "--recursive")
    assert {file["name"] for file in files} >= {"stdout.txt", "stderr.txt", "wd", "wd/wd.txt"}
    of = ("--job-id", "j", "--task-id", "one", "--file-path", "stdout.txt")
    az("task", "file", "download", *of, "--destination", str(tmp_path / "got.txt"))
    assert (tmp_path / "got.txt").read_text() == "hello\n"
    az("task", "file", "delete", *of, "--yes")
    assert "FileNotFound" in az.refused(
        "task", "file", "download", *of, "--destination", str(tmp_path / "again.txt")
    )
    assert az("task", "subtask", "list", "--job-id", "j", "--task-id", "one") == []
    az("task", "reactivate", "--job-id", "j", "--task-id", "three")
    az("task", "delete", "--job-id", "j", "--task-id", "two", "--yes")
    counts = az.until(
        lambda found: found["taskCounts"]["completed"] == 2, "job", "task-counts", "show", "--job-id", "j"
    )
    assert counts["taskCounts"]["failed"] == 1
    az("job", "set", "--job-id", "j", "--priority", "5")
    az("job", "disable", "--job-id", "j", "--disable-tasks", "requeue")
    az("job", "enable", "--job-id", "j")
    shown = az("job", "show", "--job-id", "j")
    assert (shown["priority"], shown["state"]) == (5, "active")
    assert "JobPreparationTaskOrReleaseTaskNotSpecified" in az.refused(
        "job", "prep-release-status", "list", "--job-id", "j"
    )
    az("job", "stop", "--job-id", "j", "--terminate-reason", "enough")
    ended = az("job", "show", "--job-id", "j")
    assert (ended["state"], ended["executionInfo"]["terminateReason"]) == ("completed", "enough")
    az("job", "delete", "--job-id", "j", "--yes")


def test_job_schedules(az: Az) -> None:
    az(*POOL)
    named = ("--job-schedule-id", "s")
    az(
        *("job-schedule", "create", "--id", "s", "--pool-id", "p", "--recurrence-interval", "PT1H"),
        *(
            "--start-window",
            "PT5M",
            "--job-manager-task-id",
            "m",
            "--job-manager-task-command-line",
            "/bin/true",
        ),
    )
    shown = az("job-schedule", "show", *named)
    assert (shown["state"], shown["executionInfo"]["recentJob"]["id"]) == ("active", "s:job-1")
    assert [job["id"] for job in az("job", "list", *named)] == ["s:job-1"]
    az("job-schedule", "set", *named, "--recurrence-interval", "PT2H")
    assert az("job-schedule", "show", *named)["schedule"]["recurrenceInterval"] == "PT2H"
    az("job-schedule", "disable", *named)
    az("job-schedule", "enable", *named)
    assert [found["id"] for found in az("job-schedule", "list")] == ["s"]
    az("job-schedule", "stop", *named)
    assert az("job-schedule", "show", *named)["state"] == "completed"
    az("job-schedule", "delete", *named, "--yes")
    assert az("job-schedule", "list") == []


def test_nodes(az: Az) -> None:
    az(*POOL)
    first, second = (node["id"] for node in az("node", "list", "--pool-id", "p"))
    of = ("--pool-id", "p", "--node-id", first)
    assert az("node", "show", *of)["state"] == "idle"
    az("node", "scheduling", "disable", *of)
    assert az("node", "show", *of)["schedulingState"] == "disabled"
    az("node", "scheduling", "enable", *of)
    az("node", "reboot", *of)
    az.until(lambda node: node["state"] == "idle", "node", "show", *of)
    az("node", "user", "create", *of, "--name", "alice", "--password", "pass-Word1", "--is-admin")
    az("node", "user", "reset", *of, "--user-name", "alice", "--password", "pass-Word2")
    az("node", "user", "delete", *of, "--user-name", "alice", "--yes")
    files = az("node", "file", "list", *of, "--recursive")
    assert "startup" in {file["name"] for file in files}
    az("node", "delete", "--pool-id", "p", "--node-list", second)
    az.until(lambda nodes: [node["id"] for node in nodes] == [first], "node", "list", "--pool-id", "p")
