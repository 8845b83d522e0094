"""`azbatch local fault`: trouble on demand in the local service."""

from __future__ import annotations

from typing import Any

import click

from azbatch_core.cli.lazy import Entry, LazyGroup, command, json_option
from azbatch_core.cli.local import call_service, show
from azbatch_core.cli.output import print_json
from azbatch_core.cli.progress import info

_COMMANDS = {
    "add": Entry("azbatch_core.cli.local_fault:add", "Set a fault; it strikes from now on."),
    "list": Entry("azbatch_core.cli.local_fault:list_faults", "List faults, and how often each has struck."),
    "clear": Entry("azbatch_core.cli.local_fault:clear", "Take faults back."),
}


@click.group("fault", cls=LazyGroup, entries=_COMMANDS)
def fault() -> None:
    """Have things go wrong in the local service that runs, to see what your programs make of it.

    Faults last until they are cleared or the service stops. Those of `azbatch local start --faults FILE` are
    set anew at each start with that option.
    """


@command("add", account=False)
@click.argument("kind")
@click.argument("fields", nargs=-1, metavar="[NAME=VALUE]...")
@json_option
def add(*, kind: str, fields: tuple[str, ...], as_json: bool) -> None:
    """Set a fault of a KIND. Without fields it strikes whatever it can, always.

    \b
    azbatch local fault add throttle operation='create_task*' count=3 retry-after=1
    azbatch local fault add unavailable probability=0.2 seed=7
    azbatch local fault add error code=PoolQuotaReached operation=create_pool
    azbatch local fault add slow path='/jobs/*' seconds=2
    azbatch local fault add lost-reply operation=create_job skip=1 count=1
    azbatch local fault add reset method=GET probability=0.1
    azbatch local fault add quota cores=8
    azbatch local fault add allocation-failure pool=p code=AllocationFailed short=1
    azbatch local fault add preempt pool=p count=1 after=30 lasts=60
    azbatch local fault add unusable pool=p count=1
    azbatch local fault add start-task-failure pool=p exit-code=3 count=1
    azbatch local fault add slow-boot seconds=60
    azbatch local fault add slow-delete pool=p seconds=120
    azbatch local fault add disk-full job=j task='t-*' count=1
    azbatch local fault add download-failure job=j code=BlobNotFound
    azbatch local fault add image-pull message='manifest unknown'
    azbatch local fault add upload-failure job=j code=FileUploadAccessDenied

    operation, method, path, pool, node, job, schedule, task are globs. count: how often it strikes at most;
    skip: how many occasions go by first; probability and seed: a share of the occasions, the same ones each
    time. after: seconds until it is live; at: the moment from which it is. id: a name to clear it by. A fault
    of nodes without a count strikes each node once.
    """  # noqa: D301 - click's mark of a block is a backspace
    document = call_service("fault", "add", kind, *fields)
    show(document, as_json=as_json)


@command("list", account=False)
@json_option
def list_faults(*, as_json: bool) -> None:
    """List the faults that are set, with how often each has struck (`hits`)."""
    faults: list[dict[str, Any]] = call_service("fault", "list")["faults"]
    if as_json:
        print_json({"faults": faults})
        return
    if not faults:
        info("no faults are set")
    for found in faults:
        words = [f"{name}={value}" for name, value in found.items() if name not in {"id", "kind", "hits"}]
        click.echo("  ".join([found["id"], found["kind"], *words, f"hits={found['hits']}"]))


@command("clear", account=False)
@click.argument("ids", nargs=-1, metavar="[ID]...")
def clear(*, ids: tuple[str, ...]) -> None:
    """Take the faults with these ids back, all of them without an id. What they have done stays."""
    removed = call_service("fault", "clear", *ids)["removed"]
    info(f"{removed} {'fault' if removed == 1 else 'faults'} cleared")
