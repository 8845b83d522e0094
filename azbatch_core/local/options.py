"""What a local service may be told at its start, the same for the command line, the daemon and a program."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from azbatch_core.local.settings import NODE_QUOTA, POOL_QUOTA

if TYPE_CHECKING:
    import argparse

__all__ = ["ClockKind", "ContainerChoice", "Options"]

ContainerChoice: TypeAlias = Literal["auto", "docker", "host"]
ClockKind: TypeAlias = Literal["real", "virtual"]
_PLACES = ("auto", "docker", "host")
_IDLE_SECONDS = 30 * 60.0


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

    def arguments(self) -> list[str]:
        """The command line that `add_arguments` reads back as these options."""
        words: list[str] = []
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, bool):
                words += [_flag(entry.name)] * value
            else:
                words += [_flag(entry.name), str(value)]
        return words

    @classmethod
    def read(cls, parsed: argparse.Namespace) -> Options:
        """The options of a parsed command line."""
        found = cls(**{entry.name: getattr(parsed, entry.name) for entry in dataclasses.fields(cls)})
        if not found.faults:
            return found
        # The service does not run in the folder of whoever starts it.
        return dataclasses.replace(found, faults=str(Path(found.faults).expanduser().absolute()))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Let a command line take every option."""
    unless = Options()

    def add(name: str, summary: str, kind: type = float, choices: tuple[str, ...] | None = None) -> None:
        parser.add_argument(
            _flag(name),
            type=kind,
            choices=choices,
            default=getattr(unless, name),
            metavar=None if choices else "SECONDS" if kind is float else kind.__name__.upper(),
            help=summary,
        )

    add("port", "0: the last one if free, else any", int)
    add("idle_timeout", "stop after so long without requests and live tasks; 0: never")
    add("boot_time", "how long a node takes to start")
    add("containers", "where container tasks run; auto: in Docker if it is there", str, _PLACES)
    add("node_quota", "nodes that the account may hold", int)
    add("pool_quota", "pools that the account may hold", int)
    parser.add_argument("--model", action="store_true", help="tasks run no process, they only last")
    add("faults", "YAML or JSON file of what is to go wrong; empty: nothing", str)
    add("clock", "virtual: it moves only by `advance`", str, ("real", "virtual"))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
