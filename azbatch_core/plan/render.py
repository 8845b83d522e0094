"""A plan for people: plain text, or a rich renderable for a terminal; secrets are masked first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azbatch_core.plan.scaling import formula, words
from azbatch_core.plan.secrets import mask
from azbatch_core.specs.command import command_line
from azbatch_core.specs.problems import mask_text
from azbatch_core.specs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from azbatch_core.plan.model import Plan, PlannedPool, PlannedTask

MAX_ROWS = 12
_MAX_COMMAND = 60
_COLUMNS = ("task", "stage", "slots", "nodes", "after", "image", "command", "outputs")
_ACTIONS = {
    "use": "existing",
    "ensure": "managed (made if missing)",
    "auto": "made for the job, gone with it",
}


@dataclass(frozen=True)
class _Sheet:
    """What both renderings show."""

    facts: list[tuple[str, str]]
    columns: list[str]
    rows: list[list[str]]
    warnings: list[str]


def plain(
    plan: Plan,
    *,
    warnings: bool = False,
    max_rows: int = MAX_ROWS,
    with_formula: bool = True,
    commands: Mapping[str, str] | None = None,
) -> str:
    """The plan as text: what and where, then a table of tasks."""
    sheet = _sheet(plan, max_rows, with_formula=with_formula, commands=commands)
    label = max(len(name) for name, _ in sheet.facts)
    lines = [f"{name:<{label}}  {text}".rstrip() for name, text in sheet.facts]
    if sheet.rows:
        table = [sheet.columns, *sheet.rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(sheet.columns))]
        lines.append("")
        lines += [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
    if warnings and sheet.warnings:
        lines += ["", *(f"warning: {text}" for text in sheet.warnings)]
    return "\n".join(lines)


def rich_plan(plan: Plan, *, warnings: bool = False, max_rows: int = MAX_ROWS) -> RenderableType:
    """The same for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    sheet = _sheet(plan, max_rows)
    facts = Table.grid(padding=(0, 2))
    for name, text in sheet.facts:
        facts.add_row(Text(name, style="bold"), Text(text))
    parts: list[RenderableType] = [facts]
    if sheet.rows:
        tasks = Table(expand=True, box=None, padding=(0, 2, 0, 0), header_style="bold")
        for column in sheet.columns:
            # A command is cut to the room that is left; the name of a blob is not.
            cut = column == "command"
            tasks.add_column(
                column,
                no_wrap=cut,
                overflow="ellipsis" if cut else "fold",
                ratio=1 if cut else None,
                min_width=16 if cut else None,
            )
        for row in sheet.rows:
            tasks.add_row(*(Text(cell) for cell in row))
        parts += [Text(""), tasks]
    if warnings:
        parts += [Text(f"warning: {text}", style="yellow") for text in sheet.warnings]
    return Group(*parts)


def _sheet(
    plan: Plan, max_rows: int, *, with_formula: bool = True, commands: Mapping[str, str] | None = None
) -> _Sheet:
    rows = _rows(plan.tasks, max_rows, commands or {})
    used = [place for place in range(len(_COLUMNS)) if place == 0 or any(row[place] for row in rows)]
    return _Sheet(
        facts=[(name, mask_text(text)) for name, text in _facts(plan, with_formula=with_formula)],
        columns=[_COLUMNS[place] for place in used],
        rows=[[row[place] for place in used] for row in rows],
        warnings=[mask_text(text) for text in plan.warnings],
    )


def _facts(plan: Plan, *, with_formula: bool) -> Iterator[tuple[str, str]]:
    body = mask(plan.job_body)
    yield "job", f"{plan.job_id} on the account {plan.account}"
    yield "pool", _pool(plan.pool)
    if plan.hourly_price_usd is not None:
        yield "price", _price(plan, plan.hourly_price_usd)
    for place, reason in enumerate(plan.reasons):
        yield "why" if place == 0 else "", reason
    if plan.pool.scaling is not None:
        yield "scale", words(plan.pool.scaling)
        lines = formula(plan.pool.scaling).splitlines() if with_formula else ()
        for place, line in enumerate(lines):
            yield "" if place else "formula", line
    limit = plan.job.wall_time
    yield "ends", f"after {format_duration(limit)} at the latest" if limit else "has no limit"
    yield from _shared(plan, body)
    count = len(plan.tasks)
    size = sum(task.size for task in plan.tasks)
    yield "tasks", f"{count:,} ({size:,} bytes to send)" if count else "none in the spec"


def _price(plan: Plan, price: float) -> str:
    if plan.pool.scaling is not None:
        return f"at most ${price:.4g} an hour ({plan.price_basis}), nothing while it has no nodes"
    spot = " and its spot nodes" if plan.pool.spot_nodes else ""
    return f"${price:.4g} an hour{spot} ({plan.price_basis}), as long as the pool has its nodes"


def _shared(plan: Plan, body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What all tasks of the job share, as far as somebody asked for it."""
    variables = body.get("commonEnvironmentSettings", [])
    if variables:
        yield "environment", _short(" ".join(f"{entry['name']}={entry['value']}" for entry in variables))
    parts = {"preparation": plan.job.preparation, "release": plan.job.release}
    for key, name in (("jobPreparationTask", "preparation"), ("jobReleaseTask", "release")):
        if parts[name] is not None:
            yield name, _short(body[key]["commandLine"])


def _pool(pool: PlannedPool) -> str:
    parts = [f"{pool.id or '(id made by the service)'}: {_ACTIONS[pool.action]}"]
    if pool.vm_size:
        nodes = [f"{pool.nodes} dedicated"] if pool.nodes or not pool.spot_nodes else []
        nodes += [f"{pool.spot_nodes} spot"] if pool.spot_nodes else []
        least = f"{pool.scaling.min_nodes} to " if pool.scaling else ""
        parts.append(f"{least}{' + '.join(nodes)} x {pool.vm_size}")
    if pool.task_slots_per_node is not None:
        slots = "1 task slot" if pool.task_slots_per_node == 1 else f"{pool.task_slots_per_node} task slots"
        parts.append(f"{slots} each")
    if pool.image:
        parts.append(pool.image)
    return ", ".join(parts)


def _rows(tasks: Sequence[PlannedTask], most: int, commands: Mapping[str, str]) -> list[list[str]]:
    """A row for each task; of many the first ones, and the last ones that often depend on them."""
    if len(tasks) <= most:
        return [_row(task, commands) for task in tasks]
    last = most // 5
    gap = [f"… {len(tasks) - most:,} more", *[""] * (len(_COLUMNS) - 1)]
    return [
        *(_row(task, commands) for task in tasks[: most - last]),
        gap,
        *(_row(task, commands) for task in tasks[len(tasks) - last :]),
    ]


def _row(task: PlannedTask, commands: Mapping[str, str]) -> list[str]:
    body = task.body
    settings = body.get("containerSettings")
    return [
        task.id,
        task.spec.stage or "",
        str(body.get("requiredSlots", 1)),
        str(task.spec.gang.nodes) if task.spec.gang else "",
        _after(body.get("dependsOn", {})),
        settings["imageName"] if settings else "",
        _short(mask_text(commands.get(task.id) or _command(task))) or "(the image's own)",
        " ".join(mask_text(name) for name in task.outputs),
    ]


def _command(task: PlannedTask) -> str:
    """The command line; of a gang what was asked for, without what stands before it on the nodes."""
    gang = task.spec.gang
    if gang is None:
        return str(task.body["commandLine"])
    command = command_line(task.spec.command)
    return f"on all: {command}" if gang.coordination is None else f"then on the first: {command}"


def _after(depends_on: dict[str, Any]) -> str:
    ranges = [f"{entry['start']}-{entry['end']}" for entry in depends_on.get("taskIdRanges", [])]
    return _listed([*depends_on.get("taskIds", []), *ranges])


def _listed(names: Sequence[str], most: int = 2) -> str:
    more = f" +{len(names) - most}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _short(text: str) -> str:
    """One line of limited length."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_COMMAND else line[: _MAX_COMMAND - 1] + "…"
