"""A group whose commands are imported when they are called, and the options that every command has."""

from __future__ import annotations

import difflib
import importlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from click.shell_completion import CompletionItem


@dataclass(frozen=True)
class Entry:
    """Where a command lives, and what help and completion say about it without importing it."""

    target: str
    """``module:attribute``."""
    summary: str
    section: str = "Commands"


class LazyGroup(click.Group):
    """A group over a table of entries. Help and completion read the table; only a call imports.

    `more` gives entries that take a while to look up: asked for in help, completion, and for a name that the
    table does not have.
    """

    def __init__(
        self,
        *args: Any,
        entries: Mapping[str, Entry],
        more: Callable[[], Mapping[str, Entry]] = dict,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries
        self._more = more

    def every_entry(self) -> dict[str, Entry]:
        """The table, and what is looked up."""
        return {
            **self.entries,
            **{name: entry for name, entry in self._more().items() if name not in self.entries},
        }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in the order of the help text."""
        return list(self.every_entry())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - same
        """Import a command."""
        entry = self.entries.get(cmd_name) or self._more().get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        return cast("click.Command", getattr(importlib.import_module(module), attribute))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, but an unknown name suggests the nearest one."""
        name = args[0]
        known = name in self.entries or name.startswith("-") or ctx.resilient_parsing
        if not known and name not in self.every_entry():
            raise click.UsageError(f"No such command {name!r}.{suggest(name, self.every_entry())}", ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - same
        """Write the table, section by section."""
        entries = self.every_entry()
        width = max(map(len, entries), default=0)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in entries.items():
            sections.setdefault(entry.section, []).append((name.ljust(width), entry.summary))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name from the table."""
        from click.shell_completion import CompletionItem

        items = [
            CompletionItem(name, help=entry.summary)
            for name, entry in self.every_entry().items()
            if name.startswith(incomplete)
        ]
        return items + click.Command.shell_complete(self, ctx, incomplete)


def suggest(word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    """`` Did you mean …?`` with the nearest known words, or nothing."""
    near = difflib.get_close_matches(word, known, n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


@dataclass
class Settings:
    """What the options that every command has were set to; lives at the root of click's contexts."""

    account: str | None = None

    def chosen_account(self) -> str | None:
        """The account asked for by option or by AZBATCH_ACCOUNT; None leaves it to the configuration."""
        return self.account or os.environ.get("AZBATCH_ACCOUNT") or None


def settings() -> Settings:
    """The settings of this run of the command."""
    return click.get_current_context().find_root().ensure_object(Settings)


def not_empty(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A click callback: an option that is given says something. `--image "$IMAGE"` may not mean "none"."""
    if value is not None and not value.strip():
        raise click.UsageError(f"{param.opts[0]} is empty: give a value, or leave it out.", ctx=ctx)
    return value


def _set_account(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    not_empty(ctx, param, value)
    if value is not None:
        ctx.find_root().ensure_object(Settings).account = value


def _set_debug(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    if value:
        os.environ["AZBATCH_DEBUG"] = "1"


def account_option() -> click.Option:
    """`--account NAME`. No short form: `-a` would look like `--all`."""
    return click.Option(
        ["--account"],
        metavar="NAME",
        expose_value=False,
        callback=_set_account,
        help="The account to work with [env: AZBATCH_ACCOUNT; default: the configured one, else local].",
    )


def debug_option() -> click.Option:
    """`--debug`."""
    return click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        callback=_set_debug,
        help="Add the traceback to an error message [env: AZBATCH_DEBUG].",
    )


def command(
    name: str, *, account: bool = True, **attributes: Any
) -> Callable[[Callable[..., None]], click.Command]:
    """A click command with the options that every command has, placed after its own."""

    def decorate(function: Callable[..., None]) -> click.Command:
        made = click.command(name, click.Command, **attributes)(function)
        made.params += [account_option(), debug_option()] if account else [debug_option()]
        return made

    return decorate


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of a table."
)
