"""`azbatch why`."""

from __future__ import annotations

import click

from azbatch_core.cli.client import open_job
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import jsonable, paint_state, print_json
from azbatch_core.cli.progress import info
from azbatch_core.cli.recent import complete_job
from azbatch_core.cli.tables import print_reasons


@command("why")
@json_option
@click.argument("job", metavar="JOB", shell_complete=complete_job)
def why(*, job: str, as_json: bool) -> None:
    """Explain why a job's tasks wait, cannot run or failed, and what to do about it."""
    with open_job(job) as handle:
        status = handle.status()
        reasons = handle.why()
    if as_json:
        print_json([jsonable(reason) for reason in reasons])
        return
    if not reasons:
        info(f"nothing to explain: {status.handle} {paint_state(status.state.value, err=True)}")
        return
    summary = f"{status.handle} {paint_state(status.state.value)}"
    click.echo(f"{summary}: {status.reason}" if status.reason else summary)
    print_reasons(reasons, err=False)
