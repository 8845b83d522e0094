"""`python -m azbatch_core.local start|open|stop|status|reset|advance|fault|serve`.

`start` prints one line of JSON, the contents of `endpoint.json`, once the service answers; `status` prints
the same without keys, `open` the page's address with a one-time code. Exit codes: 0 done; 1 refused or, for
`status`, not running; 2 wrong words, options or files; 3 the extra is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from azbatch_core.local import daemon
from azbatch_core.local.clock import LONGEST
from azbatch_core.local.control.asking import AskError, ask
from azbatch_core.local.faults import FaultError, Faults, read_file, read_words
from azbatch_core.local.options import OptionError, Options, add_arguments, given
from azbatch_core.local.requirements import INSTALL_HINT, missing_modules
from azbatch_core.local.state import StateDirectory

if TYPE_CHECKING:
    from azbatch_core.local.state import Endpoint

_NEEDS_EXTRA = frozenset({"start", "serve", "open"})
_REFUSED = 1
_WRONG_INPUT = 2
_MISSING_EXTRA = 3


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the process's exit code."""
    options = _parser().parse_args(arguments)
    state = (
        StateDirectory(options.state_dir.expanduser().absolute())
        if options.state_dir
        else StateDirectory.default()
    )
    if options.command in _NEEDS_EXTRA and missing_modules():
        sys.stderr.write(INSTALL_HINT + "\n")
        return _MISSING_EXTRA
    try:
        return _run(options, state)
    except (daemon.DaemonError, AskError, FaultError, OptionError) as error:
        sys.stderr.write(f"{daemon.MARK}{error}\n")
        wrong = error.malformed if isinstance(error, (AskError, daemon.DaemonError)) else True
        return _WRONG_INPUT if wrong else _REFUSED


def _run(options: argparse.Namespace, state: StateDirectory) -> int:
    if options.command == "start":
        _say(_start(options, state).to_json())
    elif options.command == "open":
        _say(json.dumps(ask(_start(options, state), "POST", "/_local/sessions")))
    elif options.command == "serve":
        stream = sys.stdout if options.ready_fd is None else os.fdopen(options.ready_fd, "w")
        ready = daemon.announce_on(stream)  # else open to the end: who reads it finds the reason in the log
        daemon.serve(state, Options.read(options), ready)
    elif options.command == "stop":
        _say(json.dumps({"stopped": daemon.stop(state)}))
    elif options.command == "reset":
        daemon.reset(state)
        _say(json.dumps({"reset": str(state.path)}))
    elif options.command == "advance":
        _say(json.dumps(_ask(state, "POST", "/_local/clock", _advance(options))))
    elif options.command == "fault":
        _say(json.dumps(_fault(options, state)))
    else:
        return _status(state)
    return 0


def _advance(options: argparse.Namespace) -> dict[str, object]:
    if options.seconds is None and not options.until_idle:
        raise OptionError("say by how many seconds, or --until-idle")
    if options.seconds is not None and not 0 <= options.seconds <= LONGEST:
        raise OptionError(f"a clock moves on by 0 seconds to 100 years, not by {options.seconds:g}")
    return {
        "advance": LONGEST if options.seconds is None else options.seconds,
        "untilIdle": options.until_idle,
    }


def _start(options: argparse.Namespace, state: StateDirectory) -> Endpoint:
    chosen = Options.read(options)
    if chosen.faults:
        from azbatch_core.local.routes.table import OPERATIONS

        # What is wrong with it is told here, not in the service's log.
        Faults(read_file(Path(chosen.faults)), OPERATIONS)
    return daemon.start(state, chosen, given(options))


def _fault(options: argparse.Namespace, state: StateDirectory) -> dict[str, object]:
    if options.verb == "list":
        return _ask(state, "GET", "/_local/faults", None)
    if options.verb == "clear":
        names = [f"/_local/faults/{quote(name, safe='')}" for name in options.words] or ["/_local/faults"]
        return {"removed": sum(int(str(_ask(state, "DELETE", name, None)["removed"])) for name in names)}
    kind, *words = options.words or ("",)
    return _ask(state, "POST", "/_local/faults", read_words(kind, words))


def _ask(state: StateDirectory, method: str, path: str, body: dict[str, object] | None) -> dict[str, object]:
    running = state.running()
    if running is None:
        pid = state.holder()
        raise daemon.DaemonError(
            f"process {pid} is about to start or stop; try again, or end it by `azbatch local stop`"
            if pid
            else "it does not run; start it first"
        )
    return ask(running, method, path, body)


def _status(state: StateDirectory) -> int:
    running = state.running()
    facts: dict[str, object] = {"running": running is not None, "state_dir": str(state.path)}
    if running is not None:
        shown = (
            "endpoint",
            "page",
            "account_name",
            "pid",
            "version",
            "blob_endpoint",
            "blob_account",
            "options",
        )
        facts.update({name: getattr(running, name) for name in shown})
    elif (pid := state.holder()) is not None:
        facts["held_by"] = pid
    _say(json.dumps(facts))
    return 0 if running else 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m azbatch_core.local", description="The local Batch service."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, summary in (
        ("start", "start it in the background, unless it runs"),
        ("open", "start it unless it runs; an address of its page that is good once, for two minutes"),
        ("serve", "be the service, in the foreground"),
        ("stop", "stop it and wait until it is gone"),
        ("status", "say whether it runs, and where"),
        ("advance", "move its virtual clock on"),
        ("fault", "trouble on demand: add KIND NAME=VALUE…, list, clear [ID…]"),
        ("reset", "stop it and delete all its state, keys included"),
    ):
        command = commands.add_parser(name, help=summary)
        command.add_argument("--state-dir", type=Path, help="default: $AZBATCH_LOCAL_DIR or ~/.local/state/…")
        if name in _NEEDS_EXTRA:
            add_arguments(command)
        if name == "advance":
            command.add_argument("seconds", type=float, nargs="?", help="with --until-idle: at most so many")
            command.add_argument("--until-idle", action="store_true", help="stop when nothing is under way")
        if name == "fault":
            command.add_argument("verb", choices=("add", "list", "clear"))
            command.add_argument("words", nargs="*")
        if name == "serve":
            command.add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
