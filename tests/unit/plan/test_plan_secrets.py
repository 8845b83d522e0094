"""Secrets: planted everywhere, seen nowhere, sent where they belong."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from azbatch_core.errors import AzBatchError, ConfigurationError
from azbatch_core.plan import AccountFacts, Plan, StorageRef, body_size, mask, plan, reveal
from azbatch_core.plan.render import rich_plan
from azbatch_core.plan.secrets import leaves
from azbatch_core.specs import JobSpec, Secret, TaskSpec, UrlSecret, shell

PLANTED = [f"hunter{number}x" for number in range(20)]
RESOLVED = "the-real-token"


def sas(word: str, permissions: str = "rl") -> str:
    """A signed container URL with a planted signature."""
    return f"https://s.blob.core.windows.net/c?sv=2024&sp={permissions}&sig={word}"


def planted(facts: AccountFacts, *, auto: bool = False) -> Plan:
    """A job with a secret in every place that can hold one."""
    job = JobSpec(
        name="j",
        environment={"JOB": {"secret": PLANTED[0]}, "REF": {"secret": "env:MY_TOKEN"}, "API_KEY": PLANTED[1]},
        preparation={
            "command": ["true"],
            "environment": {"PREP": {"secret": PLANTED[2]}},
            "resource_files": [{"storage_container_url": sas(PLANTED[3])}],
        },
        release={"command": ["true"], "environment": {"RELEASE": {"secret": PLANTED[4]}}},
        pool={
            "kind": "auto" if auto else "managed",
            "registries": [{"server": "r.io", "username": "u", "password": PLANTED[5]}],
            "start_task": {
                "command": ["login", f"--password={PLANTED[6]}"],
                "environment": {"START": {"secret": PLANTED[7]}},
                "resource_files": [
                    {"http_url": f"https://x.example/s?sig={PLANTED[8]}", "file_path": "s"},
                    {"storage_container_url": sas(PLANTED[9])},
                ],
            },
        },
        tasks=[
            TaskSpec(
                command=["curl", f"https://x.example/f?sv=1&sig={PLANTED[10]}"],
                container={
                    "image": "r.io/a:1",
                    "registry": {"server": "r.io", "username": "u", "password": PLANTED[11]},
                },
                environment={"TASK": {"secret": PLANTED[12]}, "CONNECTION": f"AccountKey={PLANTED[13]};A=b"},
                resource_files=[
                    {"http_url": f"https://x.example/i?sig={PLANTED[14]}", "file_path": "i"},
                    {"storage_container_url": sas(PLANTED[15])},
                ],
                output_files=[{"file_pattern": "*", "container_url": sas(PLANTED[16], "w")}],
            ),
            TaskSpec(command=shell(f"export TOKEN={PLANTED[17]} && run"), container="r.io/a:1"),
            TaskSpec(
                command=["true"], container={"image": "latest", "run_options": f"-e PASSWORD={PLANTED[18]}"}
            ),
        ],
    )
    return plan(job, facts)


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", RESOLVED)


def seen(text: str) -> list[str]:
    """The planted secrets that a text shows."""
    return [word for word in [*PLANTED, RESOLVED] if word in text]


@pytest.mark.parametrize("auto", [False, True])
def test_no_secret_is_shown_anywhere(cloud: AccountFacts, *, auto: bool):
    from rich.console import Console

    whole = planted(cloud, auto=auto)
    console = Console(width=200, record=True, file=None, force_terminal=False, quiet=False, stderr=False)
    with console.capture() as captured:
        console.print(rich_plan(whole, warnings=True))
    assert seen(json.dumps(whole.to_json())) == []
    assert seen(whole.to_table(warnings=True)) == []
    assert seen(captured.get()) == []
    assert seen(repr(whole) + str(whole) + repr(whole.pool) + repr(whole.tasks)) == []
    assert seen(" ".join([*whole.warnings, *whole.reasons])) == []


def test_every_secret_is_sent(cloud: AccountFacts):
    whole = planted(cloud)
    sent = json.dumps(
        [reveal(whole.job_body), reveal(whole.pool.body), *(reveal(one.body) for one in whole.tasks)]
    )
    assert [word for word in [*PLANTED[:19], RESOLVED] if word not in sent] == []


def test_references_stay_readable(cloud: AccountFacts):
    shown = json.dumps(planted(cloud).to_json())
    assert "env:MY_TOKEN" in shown
    assert "https://s.blob.core.windows.net/c?" in shown


def test_masking_leaves_a_body_as_it_was_and_makes_plain_json():
    body: dict[str, Any] = {
        "a": Secret("literal"),
        "b": [Secret("env:X"), UrlSecret("https://h.example/p?sig=abc"), StorageRef("out"), 1, None, True],
        "c": {"name": "MY_PASSWORD", "value": "plain"},
        "d": {"name": "SEED", "value": "7"},
    }
    masked = mask(body)
    assert masked == {
        "a": "***",
        "b": ["env:X", "https://h.example/p?sig=***", "<storage>/out?***", 1, None, True],
        "c": {"name": "MY_PASSWORD", "value": "***"},
        "d": {"name": "SEED", "value": "7"},
    }
    assert isinstance(body["a"], Secret)
    json.dumps(masked)


def test_revealing_resolves_every_kind_of_leaf(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("X", "from-env")
    vault = "keyvault:https://v.vault.azure.net/secrets/s"
    body = {
        "literal": Secret("text"),
        "env": [Secret("env:X")],
        "vault": Secret(vault),
        "url": UrlSecret("https://h.example/p?sig=abc"),
        "store": StorageRef("out", permission="w"),
    }
    revealed = reveal(
        body, {vault: "from-vault"}.__getitem__, lambda ref: f"{ref.container}:{ref.permission}"
    )
    assert revealed == {
        "literal": "text",
        "env": ["from-env"],
        "vault": "from-vault",
        "url": "https://h.example/p?sig=abc",
        "store": "out:w",
    }
    assert reveal({"store": StorageRef("out")})["store"] == StorageRef("out")


def test_a_reference_to_a_signed_url_is_resolved_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SAS", "https://h.example/p?sig=abc")
    assert reveal([UrlSecret("env:SAS")]) == ["https://h.example/p?sig=abc"]
    assert mask([UrlSecret("env:SAS")]) == ["env:SAS"]
    vault = "keyvault:https://v.vault.azure.net/secrets/s"
    assert reveal([UrlSecret(vault)], {vault: "https://h.example/q?sig=d"}.__getitem__) == [
        "https://h.example/q?sig=d"
    ]


def test_everything_that_is_revealed_can_be_found_before():
    literal, reference = Secret("text"), Secret("env:X")
    url, container = UrlSecret("https://h.example/p?sig=abc"), StorageRef("out")
    body = {"a": [literal, {"b": (reference, "plain", 1, None)}], "c": {"d": url}, "e": container}
    assert list(leaves(body)) == [literal, reference, url, container]
    assert list(leaves(None)) == []


def test_a_reference_that_leads_nowhere_is_told_without_its_neighbours():
    with pytest.raises(ConfigurationError) as caught:
        reveal({"a": Secret("hunter2"), "b": Secret("env:NOT_SET_ANYWHERE")})
    assert "NOT_SET_ANYWHERE" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_sizes_count_unknown_values_generously():
    assert body_size({"a": Secret("literal")}) == len('{"a": "literal"}')
    assert body_size({"a": Secret("env:X")}) > 1024
    assert body_size({"a": UrlSecret("env:X")}) > 1024
    assert body_size({"a": StorageRef("out")}) > 256


def test_a_plan_reads_no_secret(cloud: AccountFacts):
    vault = "keyvault:https://v.vault.azure.net/secrets/sas"
    files = [{"http_url": url, "file_path": "in"} for url in (vault, "env:NOT_SET_ANYWHERE")]
    task = TaskSpec(
        command=["true"],
        resource_files=[*files, {"storage_container_url": vault}],
        output_files=[{"file_pattern": "*.txt", "container_url": vault}],
        environment={"TOKEN": {"secret": "env:NOT_SET_ANYWHERE"}},
    )
    text = json.dumps(plan(JobSpec(name="j", tasks=[task]), cloud).to_json())
    assert text.count(vault) >= 3
    assert text.count("env:NOT_SET_ANYWHERE") == 2


@pytest.mark.parametrize("field", ["environment", "resource_files", "container"])
def test_errors_show_no_secret(cloud: AccountFacts, field: str):
    values: dict[str, Any] = {
        "environment": {"A": {"secret": PLANTED[0]}},
        "resource_files": [
            {"http_url": f"https://x.example/f?se=2020-01-01&sig={PLANTED[0]}", "file_path": "f"}
        ],
        "container": {"image": "a", "registry": {"server": "r.io", "username": "u", "password": PLANTED[0]}},
    }
    spec = TaskSpec(**{"command": ["true"], "resources": {"cpus": 5000}, field: values[field]})
    with pytest.raises(AzBatchError) as caught:
        plan(JobSpec(name="j", tasks=[spec]), replace(cloud, storage_endpoint=None))
    assert seen(str(caught.value) + repr(caught.value)) == []
    assert caught.value.__cause__ is None
