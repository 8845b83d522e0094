"""Which destination `azbatch pulsar check` takes from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from azbatch_core.errors import SpecError
from azbatch_pulsar.check.parameters import Found, read

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


def test_a_plain_file_is_the_parameters(tmp_path: Path) -> None:
    taken = found(tmp_path, "azure_batch_account: local\nazure_batch_cores: 2\n")
    assert (taken.name, taken.params) == (None, {"azure_batch_account": "local", "azure_batch_cores": 2})
    assert "no environment 'x'" in refusal(tmp_path, "azure_batch_account: local\n", "x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "not YAML"),
        ("<job_conf>\n  <plugins/>\n</job_conf>\n", "mapping"),
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
