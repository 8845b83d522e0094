"""`azbatch pulsar`: the command line's own part is here; what it does is in `check`.

`azbatch --help` imports this module, so it needs click and nothing else.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from azbatch_pulsar.check.steps import Step

IMAGE = "python:3.12-slim"
_MARKS = {True: ("ok  ", "green"), False: ("FAIL", "red"), None: ("skip", "yellow")}


@click.group("pulsar", short_help="Try a Galaxy or Pulsar destination.")
def pulsar() -> None:
    """Galaxy and Pulsar on Azure Batch."""


@pulsar.command("check")
@click.option(
    "--destination",
    "file",
    required=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Galaxy's job_conf.yml, or a YAML file of the destination's parameters.",
)
@click.option(
    "--environment",
    metavar="NAME",
    help="Which environment of job_conf.yml; left out: the only one with azure_batch_… parameters.",
)
@click.option(
    "--url",
    metavar="http://HOST:PORT",
    help="Where nodes reach this machine: files are served on that port. Only the account local needs none.",
)
@click.option(
    "--amqp-url",
    metavar="URL",
    help="Get results by this message queue: a URL, or env:NAME; left out: the runner's amqp_url.",
)
@click.option(
    "--image",
    default=IMAGE,
    show_default=True,
    metavar="REF",
    help="The tool's image, with bash and python in it.",
)
@click.option(
    "--timeout",
    default="30m",
    show_default=True,
    metavar="TIME",
    help="Give up after this time, such as 45m.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
@click.pass_context
def check(
    ctx: click.Context,
    *,
    file: Path,
    environment: str | None,
    url: str | None,
    amqp_url: str | None,
    image: str,
    timeout: str,
    as_json: bool,
) -> None:
    """Run Pulsar's own end-to-end check with a destination's parameters, and say where it fails.

    A small job goes the way of Galaxy's: inputs to a node, a tool, outputs back. Needs Pulsar, and no Galaxy.
    That takes 10 to 40 seconds, and the minutes that a node takes to boot where there is none.
    Exits with 0 when all is well, with 1 when something is not. A job that failed stays, for its logs.
    """
    from azbatch_core.specs import Secret, parse_duration
    from azbatch_pulsar.check.run import Check, Options

    options = Options(
        file=file,
        environment=environment,
        url=url,
        amqp_url=Secret(amqp_url).reveal() if amqp_url else None,
        image=image,
        timeout=parse_duration(timeout).total_seconds(),
        account=getattr(ctx.find_root().obj, "account", None),
    )
    silent = as_json
    run = Check(options, on_step=_ignore if silent else _print, on_note=_ignore if silent else _note)
    done = run()
    if as_json:
        steps = [vars(step) for step in done.steps]
        document = {"ok": done.ok, "job": done.job, "seconds": done.seconds, "steps": steps}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    if not done.ok:
        ctx.exit(1)


def _print(step: Step) -> None:
    mark, colour = _MARKS[step.ok]
    click.echo(f"{click.style(mark, fg=colour)} {step.name}: {step.text}")
    if step.hint:
        click.echo(f"     {click.style('try:', fg='cyan')} {step.hint}")


def _note(text: str) -> None:
    click.echo(f"azbatch: {text}", err=True)


def _ignore(_: object) -> None:
    pass
