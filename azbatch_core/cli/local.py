"""`azbatch local`: the local Batch service as a background process.

The service is reached as a program (`python -m azbatch_core.local`) and never imported: what works here works
the same for whoever starts it otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from azbatch_core.cli import exits
from azbatch_core.cli.lazy import Entry, LazyGroup, command, json_option
from azbatch_core.cli.output import print_fields, print_json
from azbatch_core.cli.progress import info
from azbatch_core.errors import ConfigurationError, ServiceUnavailable

_COMMANDS = {
    "start": Entry("azbatch_core.cli.local:start", "Start it, unless it runs already."),
    "open": Entry("azbatch_core.cli.local:open_page", "Open its page in the browser."),
    "fault": Entry("azbatch_core.cli.local_fault:fault", "Have things go wrong, on demand."),
    "advance": Entry("azbatch_core.cli.local:advance", "Move its virtual clock on."),
    "stop": Entry("azbatch_core.cli.local:stop", "Stop it; what runs begins anew after the next start."),
    "status": Entry("azbatch_core.cli.local:status", "Say whether it runs, and where."),
    "reset": Entry("azbatch_core.cli.local:reset", "Stop it and remove all its jobs, pools and files."),
}

_OF_TEXT = frozenset({"elinks", "links", "lynx", "w3m", "www-browser"})
"""Browsers that take the terminal and run no scripts."""

_WRONG_INPUT = 2
_MISSING_EXTRA = 3
_LONGEST = 100 * 366 * 86_400.0
_ITS_MARK = "azbatch local: "


def _seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A click callback: seconds as the service takes them, which `nan` and what is below 0 are not."""
    if value is not None and not 0 <= value <= _LONGEST:
        name = "SECONDS" if isinstance(param, click.Argument) else param.opts[0]
        raise click.UsageError(f"{name}: {value:g} is not from 0 seconds to 100 years.", ctx=ctx)
    return value


@click.group("local", cls=LazyGroup, entries=_COMMANDS)
def local() -> None:
    """The local Batch service: a background process that speaks the Azure Batch API on this machine.

    Commands on the account `local` start it by themselves, and it stops by itself after an idle time. Its
    state is in ~/.local/state/azbatch/local, or $AZBATCH_LOCAL_DIR.
    """


@command("start", account=False)
@click.option("--port", type=click.IntRange(0, 65535), help="Where to listen; by default as last time.")
@click.option(
    "--idle-timeout",
    type=float,
    callback=_seconds,
    help="Seconds without work until it stops; 0: never. [1800]",
)
@click.option("--boot-time", type=float, callback=_seconds, help="Seconds that a node takes to start. [0]")
@click.option(
    "--containers",
    type=click.Choice(["auto", "docker", "host"]),
    help="Where container tasks run; auto: in Docker if it is there, else on this machine. [auto]",
)
@click.option(
    "--clock", type=click.Choice(["real", "virtual"]), help="virtual: it moves only by `advance`. [real]"
)
@click.option("--model", is_flag=True, default=None, help="Tasks run no process, they only last.")
@click.option("--node-quota", type=click.IntRange(0), help="Nodes that the account may hold. [200]")
@click.option("--pool-quota", type=click.IntRange(0), help="Pools that the account may hold. [100]")
@click.option(
    "--faults",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="YAML or JSON file of what is to go wrong, read at the start; see `azbatch local fault add --help`.",
)
@json_option
def start(*, as_json: bool, **options: object) -> None:
    """Start the local service, unless it runs already; return when it answers.

    Options hold until it stops; those of a service that runs already are not changed, which is said where
    they are not what is asked for.
    """
    show(call_service("start", *_flags(options)), as_json=as_json)


@command("open", account=False)
@click.option("--print-url", is_flag=True, help="Print the page's address and open nothing.")
def open_page(*, print_url: bool) -> None:
    """Open the local service's page in the browser: pools, jobs, tasks, files and logs as they are now.

    The service is started unless it runs. Without a browser the address is printed; it is good once, within
    two minutes, and then lets that browser look (not change anything) for as long as the service runs, at
    most 12 hours.
    """
    url = str(call_service("open")["url"])
    if print_url or not _opened(url):
        click.echo(url)


def _opened(url: str) -> bool:
    """Whether a browser that shows pages in a window of its own took the address."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    return Path(browser.name).name not in _OF_TEXT and browser.open(url)


@command("advance", account=False)
@click.argument("seconds", type=float, callback=_seconds, required=False)
@click.option("--until-idle", is_flag=True, help="Stop when nothing is under way, after SECONDS at most.")
@json_option
def advance(*, seconds: float | None, until_idle: bool, as_json: bool) -> None:
    """Move the clock of a service started with --clock virtual on by SECONDS.

    On return everything that was due by then has been done: boots, wall times, retention, schedules. Ctrl-C
    ends it; the clock stays where it has come to. A schedule's next turn counts as nothing under way.
    """
    if seconds is None and not until_idle:
        exits.usage("give the seconds, or --until-idle")
    words = ["--until-idle"] * until_idle + ([] if seconds is None else ["--", str(seconds)])
    show(call_service("advance", *words), as_json=as_json)


@command("stop", account=False)
def stop() -> None:
    """Stop the local service; one that does not run is fine.

    Its jobs stay, and go on after the next start; their tasks that run begin anew.
    """
    call_service("stop")
    info("the local service is stopped")


@command("status", account=False)
@json_option
def status(*, as_json: bool) -> None:
    """Say whether the local service runs, and where. Exits with 3 when it does not run."""
    document = call_service("status")
    show(document, as_json=as_json)
    exits.finish(exits.OK if document.get("running", True) else exits.SERVICE)


@command("reset", account=False)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def reset(*, yes: bool) -> None:
    """Stop the local service and remove everything it knows: jobs, pools, files, stored blobs."""
    if not yes and not _confirmed():
        exits.usage("not confirmed; give --yes")
    call_service("reset")
    info("the local service is empty")


def _confirmed() -> bool:
    """Ask, if there is somebody to ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    return click.confirm(
        f"Remove all jobs, pools and files of the local service in {_state_dir()}?", err=True
    )


def _state_dir() -> Path:
    return Path(os.environ.get("AZBATCH_LOCAL_DIR") or "~/.local/state/azbatch/local").expanduser().absolute()


def _flags(options: dict[str, object]) -> list[str]:
    given = {name: value for name, value in options.items() if value is not None}
    return [
        word
        for name, value in given.items()
        for word in ("--" + name.replace("_", "-"), str(value))[: 1 if value is True else 2]
    ]


def call_service(verb: str, *words: str) -> dict[str, Any]:
    """Run a verb of the service's own program; its one line of JSON, without keys."""
    done = subprocess.run(
        [sys.executable, "-m", "azbatch_core.local", verb, "--state-dir", str(_state_dir()), *words],
        check=False,
        capture_output=True,
        text=True,
        # `python -m` looks for modules in the working folder first: a stray `queue.py` there must not matter.
        cwd="/",
    )
    if done.returncode == _MISSING_EXTRA and verb != "status":
        raise ConfigurationError("the local service is not installed", hint="pip install 'azbatch[local]'")
    document = _last_json_line(done.stdout)
    if done.returncode == _WRONG_INPUT:
        raise ConfigurationError(_said(verb, done.stderr))
    if done.returncode and document is None:
        raise ServiceUnavailable(_said(verb, done.stderr))
    for line in done.stderr.splitlines():
        if line.startswith(_ITS_MARK):
            info(exits.redact(line.removeprefix(_ITS_MARK)))
    return {name: value for name, value in (document or {}).items() if not name.endswith("_key")}


def _said(verb: str, stderr: str) -> str:
    """What the program said about its failure: its own words, where it had some."""
    last = exits.redact((stderr.strip().splitlines() or ["it gave no reason"])[-1])
    if last.startswith(_ITS_MARK):
        return last.removeprefix(_ITS_MARK)
    return f"`azbatch local {verb}` did not work: {last}"


def _last_json_line(text: str) -> dict[str, Any] | None:
    for line in reversed(text.splitlines()):
        try:
            document = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(document, dict):
            return document
    return None


def show(document: dict[str, Any], *, as_json: bool) -> None:
    """Print a document, as JSON or a line for each member."""
    if as_json:
        print_json(document)
    else:
        print_fields(
            (name.replace("_", " "), str(value)) for name, value in document.items() if value is not None
        )
