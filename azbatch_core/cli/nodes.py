"""`azbatch nodes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from azbatch_core.cli.client import naming_pool, open_batch
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import Column, jsonable, print_json, print_table
from azbatch_core.cli.tables import short_node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from azbatch_core.service.summaries import NodeSummary

_COLUMNS = (
    Column("NODE", shrink=True),
    Column("STATE", state=True),
    Column("TASKS", right=True),
    Column("KIND", drop=2),
    Column("ADDRESS", drop=1),
    Column("TROUBLE", shrink=True),
)


@command("nodes")
@json_option
@click.argument("pool", metavar="POOL")
def nodes(*, pool: str, as_json: bool) -> None:
    """List the nodes of a pool: state, running tasks, and what is wrong with them."""
    with naming_pool(pool), open_batch() as batch:
        found = list(batch.nodes(pool))
    if as_json:
        print_json([jsonable(node) for node in found])
    else:
        print_nodes(found)


def print_nodes(found: Iterable[NodeSummary]) -> None:
    """A line for each node."""
    rows = (
        (
            short_node(node.id),
            node.state,
            str(node.running_tasks),
            "dedicated" if node.is_dedicated else "spot",
            node.ip or "-",
            "; ".join(node.errors),
        )
        for node in found
    )
    print_table(_COLUMNS, rows, empty="This pool has no nodes.")
