"""Write docs/operations.md from the local service's table of operations, so that they cannot disagree.

python tools/render_operations.py            write the page
python tools/render_operations.py --check    exit 1 if the page is not current
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from azbatch_core.local.errors import ERRORS
from azbatch_core.local.http.query import API_VERSIONS
from azbatch_core.local.routes.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.http.operation import Operation

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "operations.md"
RECORDED = ROOT / "tests" / "contract" / "recorded"
TITLES = {
    "applications": "Account",
    "poolusagemetrics": "Account",
    "supportedimages": "Account",
    "nodecounts": "Account",
    "pools": "Pools",
    "nodes": "Nodes",
    "jobs": "Jobs",
    "tasks": "Tasks",
    "jobschedules": "Job schedules",
}
REFUSALS = {"list_pool_usage_metrics": "PoolUsageMetricAPIRetired"}
"""Operations whose answer is always this error, as the real service's is."""

OPTIONS = "azure-batch 15.1 needs options with a value (see above)"
NOTES = {
    "list_pool_usage_metrics": "retired by the real service on 2024-09-30",
    "list_supported_images": "a dated copy of a real account's list",
    "pool_exists": "404 without a body if it is not there; azure-batch 15.1 then raises",
    "begin_delete_job": "`force` is taken and changes nothing",
    "begin_terminate_job": f"`force` is taken and changes nothing; {OPTIONS}",
    "begin_reboot_node": OPTIONS,
    "begin_reimage_node": OPTIONS,
    "begin_deallocate_node": OPTIONS,
    "disable_node_scheduling": OPTIONS,
    "get_node_remote_login_settings": "409 unless the pool has an inbound endpoint for SSH or RDP",
    "job_schedule_exists": "as `pool_exists`",
    "list_applications": "the packages in the service's own folder",
    "create_job": "`Location` ends in `/jobs/job-1`, as the real service's does",
    "list_subtasks": "never paged",
    "create_task_collection": "at most 100 tasks and 1 MiB",
    "download_task_file": "`ocp-range` is answered with 200",
    "download_node_file": "`ocp-range` is answered with 200",
}
HEAD = f"""# Operations

The {len(OPERATIONS)} operations of the Batch REST API {API_VERSIONS[0]} and what the local service
answers to each, written from its table of operations by `tools/render_operations.py`. All are implemented.
It also answers clients of the api-versions {", ".join(API_VERSIONS[1:-1])} and {API_VERSIONS[-1]}.

*Answer* is the status of success, or the error that is always the answer. *Conditions* are the headers
`If-Match`, `If-None-Match`, `If-Modified-Since` and `If-Unmodified-Since`; files take those with dates.

Where *notes* say so, the methods of azure-batch 15.1 raise `ValueError: No value for given attribute`
before they ask, without options and with empty ones alike. The classes of these are not all exported: a
`dict` as on the wire does, such as
`client.begin_reimage_node(pool, node, {{"nodeReimageOption": "requeue"}})`.
"""

DIFFERENCES = """## Differences from recorded answers

The contract tests replay exchanges that were recorded with the real service: {source}.
Everything else in them is answered here as it was there: statuses, headers, members and their values.
Names of headers go out in lower case.

| request | where | why it differs |
|---|---|---|"""


def page() -> str:
    """The whole page."""
    stale = (NOTES.keys() | REFUSALS.keys()) - {operation.name for operation in OPERATIONS}
    assert not stale, f"no such operations: {sorted(stale)}"
    parts = [HEAD]
    for title, group in groupby(sorted(OPERATIONS, key=_place), key=_title):
        parts += [f"## {title}\n", "| operation | HTTP | path | answer | conditions | notes |"]
        parts += ["|---|---|---|---|---|---|", *map(_row, group), ""]
    return "\n".join([*parts, *_differences(), ""])


def _differences() -> Iterator[str]:
    source = json.loads((RECORDED / "exchanges.json").read_text("utf-8"))["source"]
    yield DIFFERENCES.format(source=source)
    for row in json.loads((RECORDED / "differences.json").read_text("utf-8"))["accepted"]:
        yield f"| `{row['request']}` | `{row['at']}` | {row['reason']} |"


def _title(operation: Operation) -> str:
    nouns = [part for part in operation.path.split("/") if part in TITLES]
    # The jobs of a schedule belong to the schedule, all else to what comes last.
    return TITLES["jobschedules" if "jobschedules" in nouns else nouns[-1]]


def _place(operation: Operation) -> int:
    return list(dict.fromkeys(TITLES.values())).index(_title(operation))


def _row(operation: Operation) -> str:
    cells = (
        f"`{operation.name}`",
        operation.method,
        f"`{operation.path}`",
        _answer(operation),
        _conditions(operation),
        NOTES.get(operation.name, ""),
    )
    return f"| {' | '.join(cells)} |"


def _answer(operation: Operation) -> str:
    code = REFUSALS.get(operation.name)
    return f"{ERRORS[code].status} `{code}`" if code else str(operation.status)


def _conditions(operation: Operation) -> str:
    if operation.subject:
        return "all four"
    return "dates" if "{filePath}" in operation.path and operation.method in ("GET", "HEAD") else ""


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if not current")
    if parser.parse_args().check:
        if PAGE.read_text("utf-8") != page():
            sys.exit(f"{PAGE.name} is not current: run tools/render_operations.py")
        return
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
