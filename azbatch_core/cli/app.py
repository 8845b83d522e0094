"""The root command, and the shield between any exception and the terminal."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from azbatch_core import __version__
from azbatch_core.cli import exits
from azbatch_core.cli.lazy import Entry, LazyGroup, Settings, account_option, debug_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NEW_OBJECTS = 50_000
_RUN, _WATCH, _END, _SET_UP = "Run work", "Watch it", "End it", "Set up"

COMMANDS = {
    "run": Entry("azbatch_core.cli.run:run", "Run one command and see its output.", _RUN),
    "submit": Entry("azbatch_core.cli.submit:submit", "Submit a job described in a file.", _RUN),
    "jobs": Entry("azbatch_core.cli.jobs:jobs", "List your jobs.", _WATCH),
    "show": Entry("azbatch_core.cli.jobs:show", "Show how a job stands.", _WATCH),
    "tasks": Entry("azbatch_core.cli.tasks:tasks", "List the tasks of a job.", _WATCH),
    "logs": Entry("azbatch_core.cli.logs:logs", "Print what a job's tasks wrote; -f follows.", _WATCH),
    "wait": Entry("azbatch_core.cli.wait:wait", "Wait until a job is over.", _WATCH),
    "why": Entry("azbatch_core.cli.why:why", "Explain what waits or failed, and what to do.", _WATCH),
    "files": Entry("azbatch_core.cli.files:files", "List a task's files, or copy one here.", _WATCH),
    "cancel": Entry("azbatch_core.cli.end:cancel", "End jobs; their record stays.", _END),
    "delete": Entry("azbatch_core.cli.end:delete", "Remove jobs with their files.", _END),
    "pools": Entry("azbatch_core.cli.pools:pools", "List, show or delete pools.", _SET_UP),
    "nodes": Entry("azbatch_core.cli.nodes:nodes", "List the nodes of a pool.", _SET_UP),
    "account": Entry("azbatch_core.cli.account:account", "Show, check or list accounts.", _SET_UP),
    "local": Entry(
        "azbatch_core.cli.local:local", "The local Batch service: start, stop, status, reset.", _SET_UP
    ),
    "schema": Entry("azbatch_core.cli.schema:schema", "Print the JSON Schema of a job file.", _SET_UP),
    "completion": Entry(
        "azbatch_core.cli.completion:completion", "Print a shell's completion script.", _SET_UP
    ),
    "version": Entry("azbatch_core.cli.version:version", "Print versions.", _SET_UP),
}

WELCOME = """\
azbatch runs work on Azure Batch, or on the local Batch service that comes with it.

  azbatch run -- echo hello           run one command and see its output
  azbatch submit --follow job.yaml    run a job of many tasks, described in a file
  azbatch jobs                        see what you have run

Without an account, work runs on this machine. `azbatch --help` lists every command."""


def _more() -> Mapping[str, Entry]:
    from azbatch_core.cli import plugins

    return plugins.entries(_SET_UP)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    if value and not ctx.resilient_parsing:
        click.echo(f"azbatch {__version__}")
        ctx.exit()


@click.group(
    "azbatch",
    cls=LazyGroup,
    entries=COMMANDS,
    more=_more,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print the version."
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """Run work on Azure Batch, or on the local Batch service that speaks the same API.

    Start with `azbatch run -- echo hello`. A JOB is a job's id, or ACCOUNT:ID as `submit` prints it.
    """
    ctx.ensure_object(Settings)
    if ctx.invoked_subcommand is None:
        click.echo(WELCOME)


app.params += [account_option(), debug_option()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code. No exception leaves it, and nobody sees a traceback unasked.

    Args:
        arguments: The words after `azbatch`; None takes those of this process.
    """
    if sys.stderr is None:
        # Nobody wants remarks. A file that is opened later must not become what they are written to.
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as the process lives
    _never_choke_on_a_character()
    if sys.stdout is None:
        exits.complain("stdout is closed, and results go there; nothing was done")
        return exits.SERVICE
    # What a command imports stays; looking through it for garbage again and again takes a tenth of its time.
    gc.set_threshold(_NEW_OBJECTS)
    atexit.register(gc.freeze)  # nor does the interpreter's end look through it
    try:
        _dispatch(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        # The reader (`| head -1`) has what it wanted.
        exits.silence(sys.stdout)
        return exits.BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort) as error:
        exits.say_interrupted(error)
        return exits.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last shield, see above
        return exits.report(error)
    return exits.OK


def _dispatch(arguments: list[str]) -> None:
    """Click's `main` without its handling of errors, which hides a closed pipe and writes around Ctrl-C."""
    if "_AZBATCH_COMPLETE" in os.environ:
        app.main(arguments, prog_name="azbatch")  # a shell asks for completions; does not return
    with app.make_context("azbatch", arguments) as context:
        app.invoke(context)


def _never_choke_on_a_character() -> None:
    """Print `?` where a terminal's encoding lacks a character, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
