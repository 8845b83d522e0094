"""Which destination `azbatch pulsar check` takes from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from azbatch_core.errors import SpecError
from azbatch_pulsar.check.parameters import LOAD, Found, read

if TYPE_CHECKING:
    from pathlib import Path

JOB_CONF = """
runners:
  local: {load: "galaxy.jobs.runners.local:LocalJobRunner"}
  queue: {load: "azbatch_pulsar.galaxy:PulsarAzureBatchJobRunner", amqp_url: "amqp://broker"}
execution:
  default: local
  environments:
    local: {runner: local}
    small:
      runner: queue
      tags: cheap
      env: [{name: GALAXY_SLOTS, value: "4"}]
      resubmit: [{condition: memory_limit_reached, environment: big}]
      docker_enabled: true
      azure_batch_account: research
"""
BIG = "    big: {runner: queue, params: {azure_batch_account: research, azure_batch_memory: 64GiB}}\n"


def found(tmp_path: Path, text: str, name: str | None = None) -> Found:
    path = tmp_path / "job_conf.yml"
    path.write_text(text)
    return read(path, name)


def refusal(tmp_path: Path, text: str, name: str | None = None) -> str:
    with pytest.raises(SpecError) as caught:
        found(tmp_path, text, name)
    return str(caught.value)


def test_the_only_environment_of_ours_is_taken_with_its_runner(tmp_path: Path) -> None:
    taken = found(tmp_path, JOB_CONF)
    assert taken.name == "small"
    assert taken.params == {
        "docker_enabled": True,
        "azure_batch_account": "research",
        "env": [{"name": "GALAXY_SLOTS", "value": "4"}],
    }
    assert taken.runner["amqp_url"] == "amqp://broker"
    assert "broker" not in repr(taken)


def test_parameters_may_stand_below_params(tmp_path: Path) -> None:
    taken = found(tmp_path, JOB_CONF + BIG, "big")
    assert taken.params == {"azure_batch_account": "research", "azure_batch_memory": "64GiB"}


def test_one_of_several_must_be_named(tmp_path: Path) -> None:
    assert "small, big" in refusal(tmp_path, JOB_CONF + BIG)
    assert "--environment" in refusal(tmp_path, JOB_CONF + BIG)
    assert "no environment 'bigger'" in refusal(tmp_path, JOB_CONF + BIG, "bigger")


@pytest.mark.parametrize(
    ("runner", "said"),
    [
        (
            "azure_batch_account: research, amqp_url: x",
            "the runner 'queue' has azure_batch_account, which Galaxy",
        ),
        (
            "azure_batch_cores: 2, azure_batch_typo: 1",
            "has azure_batch_cores, azure_batch_typo, which Galaxy",
        ),
        ("kwds: {azure_batch_account: research}", "the runner 'queue' has azure_batch_account"),
    ],
)
def test_what_is_about_azure_is_refused_at_the_runner(tmp_path: Path, runner: str, said: str) -> None:
    text = JOB_CONF.replace('amqp_url: "amqp://broker"', runner)
    line = refusal(tmp_path, text)
    assert said in line
    assert "belongs into the environment" in line


def test_a_runner_that_is_another_or_not_there_is_told(tmp_path: Path) -> None:
    other = JOB_CONF.replace("azbatch_pulsar.galaxy:PulsarAzure", "galaxy.jobs.runners.pulsar:Pulsar")
    assert "load: azbatch_pulsar.galaxy:PulsarAzureBatchJobRunner" in refusal(tmp_path, other)
    line = refusal(tmp_path, JOB_CONF.replace("runner: queue", "runner: queu"))
    assert "'queu' is none of `runners:`: local, queue" in line


@pytest.mark.parametrize(
    "load",
    [
        '"azbatch_pulsar.galxy:PulsarAzureBatchJobRunner"',
        '"azbatch_pulsar.galaxy:PulsarAzureBatchRunner"',
        '"no_such_module_here.runners:Own"',
        "null",
    ],
)
def test_a_runner_that_galaxy_would_not_find_is_told(tmp_path: Path, load: str) -> None:
    line = refusal(tmp_path, JOB_CONF.replace(f'"{LOAD}"', load))
    assert "the runner 'queue' has load: " in line
    assert "which is not there" in line
    assert f"load: {LOAD}" in line


@pytest.mark.parametrize("load", ["azbatch_pulsar.galaxy", "json.decoder:OfTheSite"])
def test_a_runner_may_be_named_by_its_module_or_be_the_site_s_own(tmp_path: Path, load: str) -> None:
    assert found(tmp_path, JOB_CONF.replace(LOAD, load)).name == "small"


def test_environments_and_runners_may_be_lists(tmp_path: Path) -> None:
    text = (
        f"runners: [{{id: azure, load: '{LOAD}'}}]\n"
        "execution:\n  environments:\n    - {id: small, runner: azure, azure_batch_account: research}\n"
    )
    taken = found(tmp_path, text)
    assert (taken.name, taken.params) == ("small", {"azure_batch_account": "research"})


def test_a_plain_file_is_the_parameters(tmp_path: Path) -> None:
    taken = found(tmp_path, "azure_batch_account: local\nazure_batch_cores: 2\n")
    assert (taken.name, taken.params) == (None, {"azure_batch_account": "local", "azure_batch_cores": 2})
    assert "no environment 'x'" in refusal(tmp_path, "azure_batch_account: local\n", "x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "not YAML"),
        ('<?xml version="1.0"?>\n<job_conf>\n  <plugins/>\n</job_conf>\n', "is XML"),
        ("- azure_batch_account\n", "mapping"),
        ("account: local\n", "no parameter starts with azure_batch_"),
        ("execution: {environments: {}}\n", "0 environments"),
        ("execution: {environments: [a]}\n", "0 environments"),
    ],
)
def test_what_is_none_is_refused_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    line = refusal(tmp_path, text)
    assert said in line
    assert "\n" not in line
    assert ("job_conf.yml, or its parameters" in line) == (said == "is XML")
