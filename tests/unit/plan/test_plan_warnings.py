"""What a user is told before anything costs money or fails an hour later."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.errors import SpecError
from azbatch_core.plan import AccountFacts, plan
from azbatch_core.plan.notes import Notes
from azbatch_core.specs import JobSpec, TaskSpec, shell


def warnings(facts: AccountFacts, job: dict[str, Any] | None = None, **task: Any) -> tuple[str, ...]:
    """The warnings of a plan of one task."""
    spec = TaskSpec(**{"command": ["true"], **task})
    return plan(JobSpec(**{"name": "j", "tasks": [spec], **(job or {})}), facts).warnings


def test_a_plain_local_job_has_no_warnings(local: AccountFacts):
    assert warnings(local) == ()


def test_a_managed_pool_on_azure_costs_until_it_is_deleted(cloud: AccountFacts):
    (text,) = warnings(cloud, {"pool": {"nodes": 3}})
    assert "keeps 3 nodes running, billed, until `azbatch pools delete azb-" in text
    assert "keeps 1 node running" in warnings(cloud, {"pool": {"min_nodes": 1}})[0]
    assert warnings(cloud) == ()


def test_an_auto_pool_costs_only_when_it_stays(cloud: AccountFacts):
    assert warnings(cloud, {"pool": {"kind": "auto"}}) == ()
    assert "outlives the job" in warnings(cloud, {"pool": {"kind": "auto", "keep_alive": True}})[0]


def test_a_priority_on_an_auto_pool_does_nothing(local: AccountFacts):
    assert "priority has no effect" in warnings(local, {"pool": {"kind": "auto"}, "priority": 5})[0]


@pytest.mark.parametrize(
    ("image", "moving"),
    [
        ("ubuntu", True),
        ("ubuntu:latest", True),
        ("localhost:5000/a/b", True),
        ("ubuntu:24.04", False),
        ("mcr.microsoft.com/a@sha256:" + "0" * 64, False),
        ("ubuntu:latest@sha256:" + "0" * 64, False),
    ],
)
def test_a_moving_tag(local: AccountFacts, image: str, *, moving: bool):
    assert any("moving tag" in text for text in warnings(local, container=image)) is moving


def registries(*servers: str) -> dict[str, Any]:
    """A job on a pool that can log in to these."""
    return {"pool": {"registries": [{"server": one, "username": "u", "password": "p"} for one in servers]}}


def test_a_registry_that_the_pool_does_not_know(local: AccountFacts):
    job = registries("other.azurecr.io")
    (text,) = warnings(local, job, container="mine.azurecr.io/a:1")
    assert text == (
        "task 1: image 'mine.azurecr.io/a:1' comes from mine.azurecr.io, which is no registry of "
        f"pool '{pool_id(local, job)}': it is pulled without a login"
    )
    assert warnings(local, registries("Mine.azurecr.io"), container="mine.azurecr.io/a:1") == ()
    assert warnings(local, container="ghcr.io/a/b:1") == ()


def pool_id(facts: AccountFacts, job: dict[str, Any]) -> str:
    """The id of the pool of a job."""
    made = plan(JobSpec(name="j", tasks=[TaskSpec(command=["true"], container="a:1")], **job), facts).pool.id
    assert made is not None
    return made


def test_an_image_without_its_registry_is_not_taken_from_the_private_one(local: AccountFacts):
    (text,) = warnings(local, registries("mine.azurecr.io"), container="tool:1")
    assert "names no registry: it comes from docker.io, not from mine.azurecr.io" in text


def test_a_login_to_another_registry_than_the_image_comes_from(local: AccountFacts):
    login = {"server": "mine.azurecr.io", "username": "u", "password": "p"}
    (text,) = warnings(local, container={"image": "tool:1", "registry": login})
    assert "the login to mine.azurecr.io is not used" in text
    assert warnings(local, container={"image": "mine.azurecr.io/tool:1", "registry": login}) == ()


def test_shell_signs_where_no_shell_runs(local: AccountFacts):
    (text,) = warnings(local, command=["echo", "$AZ_BATCH_POOL_ID"])
    assert text.startswith("task 1: ")
    assert "no shell runs it" in text
    assert warnings(local, command=shell("echo $AZ_BATCH_POOL_ID")) == ()
    assert len(warnings(local, {"preparation": {"command": ["a", "&&", "b"]}})) == 1
    assert len(warnings(local, {"pool": {"start_task": {"command": ["a", "|", "b"]}}})) == 1


def test_retries_without_end(local: AccountFacts):
    assert any("tried again without end" in text for text in warnings(local, retry=-1))
    assert any("tried again without end" in text for text in warnings(local, {"retry": -1}))


def signed(end: str) -> dict[str, Any]:
    """A task with an output that is signed until then."""
    url = f"https://s.blob.core.windows.net/c?sp=w&se={end}&sig=x"
    return {"output_files": [{"file_pattern": "*", "container_url": url}]}


def test_a_signature_that_ends_before_the_job_may(local: AccountFacts):
    (text,) = warnings(local, **signed("2026-12-03T00:00:00Z"))
    assert "ends on 2026-12-03 00:00 UTC, but the job may run for 7d" in text
    assert warnings(local, **signed("2026-12-31T00:00:00Z")) == ()
    assert warnings(local, {"wall_time": "1h"}, **signed("2026-12-03T00:00:00Z")) == ()
    assert len(warnings(local, {"wall_time": None}, **signed("2026-12-31T00:00:00Z"))) == 1


def test_a_signature_that_has_ended_is_an_error(local: AccountFacts):
    with pytest.raises(SpecError, match=r"task '1': the signature of .* ended on 2026-11-30"):
        warnings(local, **signed("2026-11-30T00:00:00Z"))
    with pytest.raises(SpecError, match="sign the URL anew"):
        warnings(local, **signed("2026-11-30T00:00:00Z"))


def test_one_line_for_many_tasks(local: AccountFacts):
    tasks = [TaskSpec(command=["echo", "$X"]) for _ in range(1000)]
    (text,) = plan(JobSpec(name="j", tasks=tasks), local).warnings
    assert text.startswith("tasks 1, 2, 3 and 997 more: ")


def test_notes_keep_their_order():
    notes = Notes()
    for text, task in (("b", "1"), ("a", None), ("b", "2")):
        notes.add(text, task)
    assert notes.lines() == ("tasks 1, 2: b", "a")


def test_tasks_of_which_none_can_be_sent_are_refused(local: AccountFacts):
    fat = TaskSpec(command=["echo", "x" * 2_000_000])
    with pytest.raises(SpecError, match=r"task '1' is 2,000,\d\d\d bytes as sent, and Batch takes less than"):
        plan(JobSpec(name="j", tasks=[fat]), local)
    with pytest.raises(SpecError, match="every task is too large, '1' is"):
        plan(JobSpec(name="j", tasks=[fat, fat]), local)
    assert len(plan(JobSpec(name="j", tasks=[fat]), local, streaming=True).tasks) == 1
    assert len(plan(JobSpec(name="j", tasks=[fat, TaskSpec(command=["true"])]), local).tasks) == 2


def test_a_task_just_too_large_for_a_request_with_what_is_around_it_is_warned_of(local: AccountFacts):
    small = TaskSpec(command=["true"])
    edge = TaskSpec(command=["echo", "x" * (1024 * 1024 - 500)])
    found = plan(JobSpec(name="j", tasks=[edge, small]), local).warnings
    assert any("larger than a request may be" in text for text in found)


LONG = 128 * 1024


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"command": ["echo", "x" * LONG]}, "task 1: argument 1 of its command has 131,072 bytes: Linux"),
        ({"command": ["echo", "ä" * (LONG // 2)]}, "argument 1 of its command has 131,072 bytes"),
        ({"command": shell("x" * LONG)}, "task 1: its script has 131,072 bytes"),
        ({"environment": {"A": "x" * LONG}}, "task 1: the variable A has 131,074 bytes"),
        ({"environment": {"A": {"secret": "x" * LONG}}}, "task 1: the variable A has 131,074 bytes"),
        ({"command": ["echo", "x" * (LONG - 1)], "environment": {"A": "x" * (LONG - 3)}}, None),
    ],
)
def test_what_linux_will_not_start(local: AccountFacts, task: dict[str, Any], words: str | None):
    """A warning where another task runs; an error where none does."""
    given, good = TaskSpec(**{"command": ["true"], **task}), TaskSpec(command=["true"])
    found = plan(JobSpec(name="j", tasks=[given, good]), local).warnings
    assert found == () if words is None else words in found[0]
    if words is None:
        plan(JobSpec(name="j", tasks=[given]), local)
        return
    with pytest.raises(SpecError) as caught:
        plan(JobSpec(name="j", tasks=[given, given]), local)
    assert words.removeprefix("task 1: ") in str(caught.value)
    assert "x" * 99 not in str(caught.value)


def test_tasks_that_cannot_start_and_those_that_cannot_be_sent_are_hopeless_together(local: AccountFacts):
    fat = [TaskSpec(command=["echo", "x" * size]) for size in (LONG, 2_000_000)]
    for tasks in (fat, fat[::-1]):
        with pytest.raises(SpecError, match=r"task '1'|every task"):
            plan(JobSpec(name="j", tasks=tasks), local)


def test_what_linux_will_not_start_around_the_tasks(local: AccountFacts):
    fat = {"command": ["echo", "x" * LONG]}
    job = {"preparation": fat, "environment": {"B": "x" * LONG}, "pool": {"start_task": fat}}
    with pytest.raises(SpecError, match="the variable B has 131,074 bytes: Linux") as caught:
        warnings(local, job)
    assert caught.value.field == "environment"
    text = "\n".join(warnings(local, job, environment={"B": "short"}))
    assert "task jobpreparation: argument 1" in text
    assert "\nthe variable B has" in text
    assert "the start task: argument 1" in text
    windows = {"publisher": "microsoftwindowsserver", "offer": "windowsserver", "sku": "2022-datacenter"}
    agent = {**windows, "node_agent": "batch.node.windows amd64"}
    found = warnings(local, {"pool": {"image": agent}}, environment={"A": "x" * LONG})
    assert not any("Linux" in line for line in found)


def test_numbers_of_nodes_that_nobody_gets(local: AccountFacts, cloud: AccountFacts):
    assert "asks for 1,000,000 nodes: on the local" in warnings(local, {"pool": {"nodes": 10**6}})[0]
    assert warnings(local, {"pool": {"nodes": 200}}) == ()
    assert "asks for 1,001 nodes: more than" in warnings(cloud, {"pool": {"nodes": 1, "spot_nodes": 1000}})[0]
    assert len(warnings(cloud, {"pool": {"nodes": 1000}})) == 1
    connected = {"inter_node_communication": True, "nodes": 60, "spot_nodes": 41}
    with pytest.raises(SpecError, match="101 nodes with inter-node communication") as caught:
        warnings(cloud, {"pool": connected})
    assert caught.value.field == "pool.nodes"
    assert len(warnings(cloud, {"pool": {**connected, "nodes": 59}})) == 1
