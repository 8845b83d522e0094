"""A destination's parameters, from Galaxy's job_conf.yml or a plain file of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from azbatch_core.errors import SpecError
from azbatch_pulsar.destination import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NOT_PARAMETERS: Final = frozenset({"id", "tags", "runner", "shell", "resubmit", "metrics"})
"""What Galaxy takes from an environment for itself, where its parameters stand beside it."""
LOAD: Final = "azbatch_pulsar.galaxy:PulsarAzureBatchJobRunner"
_FROM_XML: Final = (
    "write the environment as job_conf.yml, or its parameters, one `name: value` a line, into a file"
)


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
    known = _by_id(execution.get("environments"))
    chosen = _choose(path, {key: _params(value) for key, value in known.items()}, name)
    runner = _runner(path, _by_id(document.get("runners")), known[chosen].get("runner"))
    return Found(chosen, _params(known[chosen]), runner)


def _by_id(given: Any) -> dict[str, dict[str, Any]]:
    """Environments or runners: Galaxy takes a mapping of them, or a list of what has an ``id``."""
    listed = given if isinstance(given, list) else []
    named = (
        given if isinstance(given, dict) else {item.get("id"): item for item in listed if _is_mapping(item)}
    )
    return {str(key): value for key, value in named.items() if _is_mapping(value)}


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _runner(path: Path, runners: Mapping[str, dict[str, Any]], name: Any) -> dict[str, Any]:
    """The parameters of the environment's runner; Galaxy does not start with some that are wrong."""
    if name not in runners:
        listed = ", ".join(runners) or "none"
        raise SpecError(f"{path}: the environment's runner {name!r} is none of `runners:`: {listed}")
    runner = runners[name]
    wrong_load = _wrong_load(str(runner.get("load") or ""))
    if wrong_load is not None:
        given = f"the runner {name!r} has load: {runner.get('load')}"
        raise SpecError(f"{path}: {given}, {wrong_load}", hint=f"load: {LOAD}")
    given = runner.get("kwds", runner)
    wrong = [str(key) for key in given if str(key).startswith(PREFIX)]
    if wrong:
        raise SpecError(
            f"{path}: the runner {name!r} has {', '.join(wrong)}, which Galaxy refuses when it starts",
            hint="what is about Azure belongs into the environment",
        )
    return dict(given)


def _wrong_load(load: str) -> str | None:
    """What is wrong with a runner's ``load``: Galaxy could not import the runner from it."""
    module = load.partition(":")[0]
    if load in {LOAD, LOAD.partition(":")[0]}:
        return None
    if module.startswith("galaxy."):
        return f"which does not know {PREFIX}…"
    if module.startswith("azbatch") or not _is_there(module):
        return "which is not there"
    return None  # a class of the site's own


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _load(path: Path) -> dict[str, Any]:
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        if text.lstrip().startswith("<"):
            raise SpecError(f"{path}: is XML, and this reads YAML only", hint=_FROM_XML)
        document = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where is not None else ""
        why = getattr(error, "problem", None) or error
        raise SpecError(f"{path}{line}: not YAML that can be read: {why}") from None
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
