"""`azbatch pools`: what is kept, and what it keeps running."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from azbatch_core.cli import exits
from azbatch_core.cli.client import check_id, naming_pool, open_batch
from azbatch_core.cli.each import each
from azbatch_core.cli.lazy import Entry, LazyGroup, account_option, command, debug_option, json_option
from azbatch_core.cli.nodes import print_nodes
from azbatch_core.cli.output import (
    Column,
    ago,
    clock,
    jsonable,
    paint_state,
    print_fields,
    print_json,
    print_table,
)
from azbatch_core.cli.progress import info, warn
from azbatch_core.errors import NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from azbatch_core.service.summaries import PoolSummary

_COMMANDS = {
    "list": Entry("azbatch_core.cli.pools:list_pools", "List the pools of the account (the default)."),
    "show": Entry("azbatch_core.cli.pools:show", "Show a pool and its nodes."),
    "resize": Entry("azbatch_core.cli.pools:resize", "Change how many nodes a pool has."),
    "delete": Entry("azbatch_core.cli.pools:delete", "Delete pools; their nodes stop costing."),
}

_COLUMNS = (
    Column("POOL"),
    Column("STATE", state=True),
    Column("NODES", right=True),
    Column("SPOT", right=True, drop=2),
    Column("SLOTS", right=True, drop=3),
    Column("VM SIZE", drop=1),
    Column("AGE", right=True, drop=4),
    Column("TROUBLE", shrink=True, drop=5),
)


@click.group("pools", cls=LazyGroup, entries=_COMMANDS, invoke_without_command=True)
@json_option
@click.pass_context
def pools(ctx: click.Context, *, as_json: bool) -> None:
    """List, show, resize or delete pools. Without a command: list them."""
    if ctx.invoked_subcommand is None:
        _list(as_json=as_json)


pools.params += [account_option(), debug_option()]


@command("list")
@json_option
def list_pools(*, as_json: bool) -> None:
    """List every pool of the account: nodes now/wanted, and current trouble."""
    _list(as_json=as_json)


def _list(*, as_json: bool) -> None:
    with open_batch() as batch:
        found = list(batch.pools())
        now = None if as_json else batch.virtual_time()
    if as_json:
        print_json([jsonable(pool) for pool in found])
    else:
        print_table(_COLUMNS, [_row(pool, now) for pool in found], empty="No pools.")


def _row(pool: PoolSummary, now: datetime | None) -> tuple[str, ...]:
    return (
        pool.id,
        _state(pool),
        f"{pool.dedicated_nodes}/{pool.target_dedicated_nodes}",
        f"{pool.spot_nodes}/{pool.target_spot_nodes}",
        str(pool.task_slots_per_node),
        pool.vm_size.lower().removeprefix("standard_"),
        ago(pool.created, now),
        "; ".join(pool.errors),
    )


def _state(pool: PoolSummary) -> str:
    """The pool's state, or what its allocation is doing while the pool itself is simply there."""
    if pool.state == "active" and pool.allocation_state not in {"", "steady"}:
        return pool.allocation_state
    return pool.state


@command("show")
@json_option
@click.argument("pool", metavar="POOL")
def show(*, pool: str, as_json: bool) -> None:
    """Show a pool and its nodes."""
    with naming_pool(pool), open_batch() as batch:
        found = batch.pool(pool)
        members = list(batch.nodes(found.id))
    if as_json:
        print_json({**jsonable(found), "nodes": [jsonable(node) for node in members]})
        return
    print_fields(
        [
            ("Pool", found.id),
            ("State", f"{paint_state(found.state)}, {found.allocation_state}"),
            ("VM size", found.vm_size),
            ("Nodes", f"{found.dedicated_nodes} of {found.target_dedicated_nodes} wanted"),
            (
                "Spot",
                f"{found.spot_nodes} of {found.target_spot_nodes} wanted"
                if found.spot_nodes or found.target_spot_nodes
                else None,
            ),
            ("Slots", f"{found.task_slots_per_node} a node"),
            ("Scaling", "by formula" if found.autoscale else "fixed"),
            ("Made by", "azbatch" if found.managed else "someone else"),
            ("Created", clock(found.created)),
        ]
    )
    for error in found.errors:
        warn(error)
    click.echo()
    print_nodes(members)


@command("resize")
@click.option("--nodes", type=click.IntRange(min=0), metavar="N", help="Dedicated nodes to have.")
@click.option("--spot", type=click.IntRange(min=0), metavar="N", help="Spot nodes to have.")
@json_option
@click.argument("pool", metavar="POOL")
def resize(*, pool: str, nodes: int | None, spot: int | None, as_json: bool) -> None:
    """Change how many nodes a pool has. A kind of node that is not named keeps its number.

    It returns once the service has accepted; `azbatch pools show POOL` tells how far it is. Tasks on nodes
    that are taken away go back to the queue. A change that is under way is waited for, up to two minutes.
    """
    if nodes is None and spot is None:
        exits.usage("How many nodes? Give --nodes N, --spot N or both.")
    with naming_pool(pool), open_batch() as batch:
        batch.resize_pool(pool, nodes=nodes, spot_nodes=spot)
        found = batch.pool(pool) if as_json else None
    if found is not None:
        print_json(jsonable(found))
        return
    wanted = [
        f"{count} {kind}" for count, kind in ((nodes, "dedicated"), (spot, "spot")) if count is not None
    ]
    info(f"resizing pool {pool} to {' and '.join(wanted)} nodes; `azbatch pools show {pool}` tells more")


@command("delete")
@click.option("--wait", "waiting", is_flag=True, help="Return when they are gone, not when that has begun.")
@json_option
@click.argument("pool_ids", metavar="POOL...", nargs=-1, required=True)
def delete(*, pool_ids: tuple[str, ...], waiting: bool, as_json: bool) -> None:
    """Delete pools. Their running tasks go back to the queue; their nodes stop costing.

    A pool that is not there is fine.
    """
    for pool_id in pool_ids:
        check_id("a pool", pool_id)
    with open_batch() as batch:

        def remove(pool_id: str) -> str:
            try:
                batch.pool(pool_id)
            except NotFound:
                return f"there is no pool {pool_id}; nothing to delete"
            batch.delete_pool(pool_id, wait=waiting)
            return f"{'deleted' if waiting else 'deleting'} pool {pool_id}"

        each(pool_ids, remove, as_json=as_json)
