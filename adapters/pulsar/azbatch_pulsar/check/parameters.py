"""A destination's parameters, from Galaxy's job_conf.yml or a plain file of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from azbatch_core.errors import SpecError
from azbatch_pulsar.destination import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NOT_PARAMETERS: Final = frozenset({"id", "tags", "runner", "shell", "resubmit", "metrics"})
"""What Galaxy takes from an environment for itself, where its parameters stand beside it."""


@dataclass(frozen=True)
class Found:
    """What was read.

    Attributes:
        name: The environment; None in a plain file.
        params: Its parameters, with `env` where there is one. There may be passwords in them.
        runner: The parameters of its runner.
    """

    name: str | None
    params: dict[str, Any] = field(repr=False)
    runner: dict[str, Any] = field(repr=False, default_factory=dict)


def read(path: Path, name: str | None = None) -> Found:
    """The destination in a file.

    Args:
        path: Galaxy's job configuration, or a mapping of parameters; YAML.
        name: The environment; None for the only one that has parameters of azbatch.

    Raises:
        SpecError: The file cannot be read, or says not which destination is meant.
    """
    document = _load(path)
    execution = document.get("execution")
    if not isinstance(execution, dict):
        return _plain(path, document, name)
    environments = execution.get("environments")
    known = {
        key: value
        for key, value in (environments if isinstance(environments, dict) else {}).items()
        if isinstance(value, dict)
    }
    chosen = _choose(path, {key: _params(value) for key, value in known.items()}, name)
    runners = document.get("runners")
    runner = (runners if isinstance(runners, dict) else {}).get(known[chosen].get("runner"))
    return Found(chosen, _params(known[chosen]), runner if isinstance(runner, dict) else {})


def _load(path: Path) -> dict[str, Any]:
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where is not None else ""
        raise SpecError(
            f"{path}{line}: not YAML that can be read: {getattr(error, 'problem', None) or error}",
            hint="job_conf.xml is not read: convert it, or put the parameters into a plain YAML file",
        ) from None
    if not isinstance(document, dict):
        raise SpecError(f"{path}: must be a mapping: a job_conf.yml, or parameters such as {PREFIX}account")
    return document


def _plain(path: Path, document: dict[str, Any], name: str | None) -> Found:
    if name is not None:
        raise SpecError(f"{path}: no environment {name!r}: there is no `execution: environments:` in it")
    if not _is_ours(document):
        raise SpecError(
            f"{path}: no parameter starts with {PREFIX}", hint=f"at least: {PREFIX}account: local"
        )
    return Found(None, document)


def _params(environment: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an environment: below `params`, or beside what Galaxy takes for itself."""
    given = environment.get("params")
    params = given if isinstance(given, dict) else environment
    found = {str(key): value for key, value in params.items() if key not in _NOT_PARAMETERS}
    return {**found, **({"env": environment["env"]} if "env" in environment else {})}


def _is_ours(params: Mapping[str, Any]) -> bool:
    return any(str(key).startswith(PREFIX) for key in params)


def _choose(path: Path, environments: Mapping[str, Mapping[str, Any]], name: str | None) -> str:
    ours = [key for key, params in environments.items() if _is_ours(params)]
    listed = ", ".join(ours) or "none"
    if name is not None:
        if name not in environments:
            raise SpecError(f"{path}: no environment {name!r}", hint=f"with {PREFIX}… parameters: {listed}")
        return name
    if len(ours) != 1:
        raise SpecError(
            f"{path}: {len(ours)} environments have {PREFIX}… parameters, one must be chosen: {listed}",
            hint="name it with --environment",
        )
    return ours[0]
