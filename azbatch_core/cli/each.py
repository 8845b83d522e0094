"""One action on several things: one that fails does not keep the others from their turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.cli import exits
from azbatch_core.cli.output import print_json
from azbatch_core.cli.progress import info
from azbatch_core.errors import AzBatchError

if TYPE_CHECKING:
    from collections.abc import Callable


def each(names: tuple[str, ...], action: Callable[[str], str], *, as_json: bool) -> None:
    """Do it to each; say what was done, or print one list of documents for `--json`.

    Args:
        names: What was typed.
        action: Does it to one, and gives a remark on it.
        as_json: Print a document with ``name``, ``ok`` and ``error`` for each, instead of the remarks.

    Raises:
        click.exceptions.Exit: Some failed; with the code that the last of them stands for.
    """
    code = exits.OK
    documents: list[dict[str, Any]] = []
    for name in names:
        try:
            remark = action(name)
        except AzBatchError as error:  # noqa: PERF203 - each may fail by itself
            exits.complain(f"{name}: {error}")
            code = exits.exit_code_of(error)
            documents.append({"name": name, "ok": False, "error": exits.redact(str(error))})
        else:
            documents.append({"name": name, "ok": True, "error": None})
            if not as_json:
                info(remark)
    if as_json:
        print_json(documents)
    exits.finish(code)
