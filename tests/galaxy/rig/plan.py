"""What Galaxy is told to run jobs with, as data: runners and the environments that use them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

AZURE_BATCH = "azbatch_pulsar.galaxy:PulsarAzureBatchJobRunner"


@dataclass(frozen=True)
class Runner:
    """A runner plugin of job_conf.yml.

    Attributes:
        name: Its name there.
        settings: Its keywords; `{amqp_url}` and `{galaxy_url}` stand for the addresses of this run.
        load: Module and class.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    load: str = AZURE_BATCH


@dataclass(frozen=True)
class Environment:
    """An environment of job_conf.yml: each tool is there once for each of them, as `<tool>_<environment>`.

    Attributes:
        name: Its name there: letters, digits and underscores.
        runner: The name of its runner.
        params: What jobs are given there, with the same stand-ins.
    """

    name: str
    runner: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """All runners and environments of one Galaxy."""

    runners: tuple[Runner, ...]
    environments: tuple[Environment, ...]


def tool_id(tool: str, environment: str) -> str:
    """The tool's id in that environment; Galaxy maps tools to environments by it."""
    return f"{tool}_{environment}"


def filled(value: Any, addresses: Mapping[str, str]) -> Any:
    """The value with the addresses of this run in the place of their stand-ins."""
    if isinstance(value, str):
        for name, address in addresses.items():
            value = value.replace("{" + name + "}", address)
        return value
    if isinstance(value, dict):
        return {key: filled(item, addresses) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(item, addresses) for item in value]
    return value
