"""What a local service may be told at its start, the same for the command line, the daemon and a program."""

from __future__ import annotations

import argparse
import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from azbatch_core.local.settings import NODE_QUOTA, POOL_QUOTA

__all__ = ["ClockKind", "ContainerChoice", "OptionError", "Options", "add_arguments", "differing", "given"]

ContainerChoice: TypeAlias = Literal["auto", "docker", "host"]
ClockKind: TypeAlias = Literal["real", "virtual"]
_LONGEST = 100 * 366 * 86_400.0
_PORTS = 65_535
_IDLE_SECONDS = 30 * 60.0


class OptionError(ValueError):
    """An option that cannot be: one line that says which, and what could be."""


@dataclass(frozen=True)
class Options:
    """Choices of one service; they hold until it stops.

    Attributes:
        port: Where to listen; 0 takes the port of the last time if it is free, else any.
        idle_timeout: Seconds without a request and without a live task after which it stops; 0 for never.
        boot_time: Seconds that a node takes to start.
        containers: Where commands with container settings run: `docker`, `host` (this machine itself, as if
            they had none), or `auto`: in Docker if a daemon answers, else on the machine, which they say.
        clock: `real`, or `virtual` for one that moves only when told to.
        model: Tasks run no process, they only last (see `runtime.model`).
        node_quota: Nodes that the account may hold.
        pool_quota: Pools that it may hold.
        faults: File of the trouble that it has on demand, absolute; empty for none. Read at the start only.

    Raises:
        OptionError: one of them cannot be; the message says which, and what could be.
    """

    port: int = 0
    idle_timeout: float = _IDLE_SECONDS
    boot_time: float = 0.0
    clock: ClockKind = "real"
    containers: ContainerChoice = "auto"
    model: bool = False
    node_quota: int = NODE_QUOTA
    pool_quota: int = POOL_QUOTA
    faults: str = ""

    def __post_init__(self) -> None:
        for name in ("idle_timeout", "boot_time"):
            value = getattr(self, name)
            if not (_is_number(value) and math.isfinite(value) and 0 <= value <= _LONGEST):
                raise OptionError(f"{name} is a number of seconds, 0 or more, not {value!r}")
        for name, most, what in (
            ("port", _PORTS, f"a port from 0 to {_PORTS}"),
            ("node_quota", math.inf, "a number of nodes, 0 or more"),
            ("pool_quota", math.inf, "a number of pools, 0 or more"),
        ):
            value = getattr(self, name)
            if not (_is_number(value) and 0 <= value <= most and value == value // 1):
                raise OptionError(f"{name} is {what}, not {value!r}")
        for name, kinds in (("clock", ClockKind), ("containers", ContainerChoice)):
            if getattr(self, name) not in get_args(kinds):
                raise OptionError(f"{name} is {' or '.join(get_args(kinds))}, not {getattr(self, name)!r}")

    def arguments(self, *, all_of_them: bool = True) -> list[str]:
        """The command line that `add_arguments` reads back as these options, in whole or what is unusual."""
        words: list[str] = []
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            if not all_of_them and value == entry.default:
                continue
            if isinstance(value, bool):
                words += [_flag(entry.name)] * value
            else:
                words += [_flag(entry.name), str(value)]
        return words

    @classmethod
    def read(cls, parsed: argparse.Namespace) -> Options:
        """The options of a parsed command line.

        Raises:
            OptionError: one of them cannot be.
        """
        found = cls(**{name: getattr(parsed, name) for name in given(parsed)})
        if not found.faults:
            return found
        # The service does not run in the folder of whoever starts it.
        return dataclasses.replace(found, faults=str(Path(found.faults).expanduser().absolute()))


def given(parsed: argparse.Namespace) -> frozenset[str]:
    """The names of those options that a command line has."""
    return frozenset(entry.name for entry in dataclasses.fields(Options) if hasattr(parsed, entry.name))


def differing(wanted: Options, names: frozenset[str], words: list[str]) -> list[str]:
    """What a service that was started with `words` does not do as wanted, a phrase for each such option.

    Args:
        wanted: what is wanted.
        names: those of it that matter.
        words: as `arguments` gave them, maybe by another version: what it cannot know differs in nothing.
    """
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    add_arguments(parser)
    try:
        has = Options.read(parser.parse_known_args(words)[0])
    except (argparse.ArgumentError, OptionError):
        return []
    pairs = [(name, getattr(has, name), getattr(wanted, name)) for name in sorted(names)]
    return [f"{_flag(name)} is {_shown(is_)}, not {_shown(not_)}" for name, is_, not_ in pairs if is_ != not_]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Let a command line take every option; what it does not have is not in the namespace."""

    def add(name: str, summary: str, kind: type = float, choices: tuple[str, ...] | None = None) -> None:
        parser.add_argument(
            _flag(name),
            type=kind,
            choices=choices,
            default=argparse.SUPPRESS,
            metavar=None if choices else "SECONDS" if kind is float else kind.__name__.upper(),
            help=summary,
        )

    add("port", "0: the last one if free, else any", int)
    add("idle_timeout", "stop after so long without requests and live tasks; 0: never")
    add("boot_time", "how long a node takes to start")
    add(
        "containers",
        "where container tasks run; auto: in Docker if it is there",
        str,
        get_args(ContainerChoice),
    )
    add("node_quota", "nodes that the account may hold", int)
    add("pool_quota", "pools that the account may hold", int)
    parser.add_argument(
        "--model",
        action="store_true",
        default=argparse.SUPPRESS,
        help="tasks run no process, they only last",
    )
    add("faults", "YAML or JSON file of what is to go wrong; empty: nothing", str)
    add("clock", "virtual: it moves only by `advance`", str, get_args(ClockKind))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
