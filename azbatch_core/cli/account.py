"""`azbatch account`: which accounts there are, and whether one works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from azbatch_core.cli import exits
from azbatch_core.cli.client import open_batch, show_warnings
from azbatch_core.cli.lazy import Entry, LazyGroup, command, json_option, settings
from azbatch_core.cli.output import Column, jsonable, print_fields, print_json, print_table
from azbatch_core.cli.paint import paint

if TYPE_CHECKING:
    from azbatch_core.specs import AccountSpec

_COMMANDS = {
    "show": Entry("azbatch_core.cli.account:show", "Show the account in use, secrets masked."),
    "check": Entry("azbatch_core.cli.account:check", "Try the account: reach it, log in, list."),
    "list": Entry("azbatch_core.cli.account:list_accounts", "List the configured accounts."),
}


@click.group("account", cls=LazyGroup, entries=_COMMANDS)
def account() -> None:
    """Show, check or list accounts.

    Accounts are tables of ~/.config/azbatch/config.toml (or $AZBATCH_CONFIG). The account `local` is always
    there.
    """


@command("show")
@json_option
@click.argument("name", metavar="[NAME]", required=False)
def show(*, name: str | None, as_json: bool) -> None:
    """Show an account, secrets masked. Without NAME: the one that commands use now."""
    from azbatch_core.client import load_account

    show_warnings()
    document = _document(load_account(name or settings().chosen_account()))
    if as_json:
        print_json(document)
    else:
        print_fields(_pairs(document))


def _document(spec: AccountSpec) -> dict[str, Any]:
    document: dict[str, Any] = spec.model_dump(mode="json")
    return document


def _pairs(document: dict[str, Any], prefix: str = "") -> list[tuple[str, str | None]]:
    pairs: list[tuple[str, str | None]] = []
    for name, value in document.items():
        if isinstance(value, dict):
            pairs += _pairs(value, f"{prefix}{name}.")
        else:
            pairs.append((f"{prefix}{name}", None if value is None else str(value)))
    return pairs


@command("check")
@json_option
@click.argument("name", metavar="[NAME]", required=False)
def check(*, name: str | None, as_json: bool) -> None:
    """Try an account step by step, and say what is wrong and what to do. Changes nothing.

    Exits with 0 when all is well, with 3 when something is not.
    """
    with open_batch(name) as batch:
        result = batch.check()
    if as_json:
        print_json({**jsonable(result), "ok": result.ok})
    else:
        click.echo(f"{paint(result.account, bold=True)} at {result.endpoint}")
        for item in result.items:
            mark = paint("ok  ", fg="green") if item.ok else paint("FAIL", fg="red", bold=True)
            click.echo(f"  {mark} {item.name}: {item.text}")
            if item.hint:
                click.echo(f"       {paint('try:', fg='cyan')} {item.hint}")
    exits.finish(exits.OK if result.ok else exits.SERVICE)


_COLUMNS = (
    Column("ACCOUNT"),
    Column("IN USE"),
    Column("LOGIN", drop=2),
    Column("FROM", drop=1, shrink=True),
    Column("ENDPOINT", shrink=True),
)


@command("list")
@json_option
def list_accounts(*, as_json: bool) -> None:
    """List the accounts that can be named, and mark the one that commands use now. Asks no service."""
    from azbatch_core import client

    show_warnings()
    chosen = settings().chosen_account()
    found = [
        {**jsonable(entry), "in_use": entry.name == chosen if chosen else entry.is_default}
        for entry in client.list_accounts()
    ]
    if as_json:
        print_json(found)
        return
    rows = (
        (
            entry["name"],
            "*" if entry["in_use"] else "",
            entry["credential"],
            entry["source"],
            entry["endpoint"] or "not running",
        )
        for entry in found
    )
    print_table(_COLUMNS, rows, empty="No accounts.")
