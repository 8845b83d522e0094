"""A parameter sweep from Python: as many tasks as a generator yields, sent while it runs.

python examples/sweep.py            on this machine
python examples/sweep.py NAME       on the account NAME
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from azbatch_core import AzureBatch, JobSpec, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

SIDES = range(3, 103)


def tasks() -> Iterator[TaskSpec]:
    """The area of regular polygons in a circle of radius 1, one task for each number of sides."""
    for sides in SIDES:
        area = f"import math; print({sides} / 2 * math.sin(2 * math.pi / {sides}))"
        yield TaskSpec(id=f"sides-{sides}", command=("python3", "-c", area))


def main() -> int:
    """Submit, wait, and print the largest polygon's area."""
    account = sys.argv[1] if len(sys.argv) > 1 else None
    with AzureBatch(account) as batch:
        job = batch.submit(JobSpec(name="sweep"), tasks=tasks()).job
        status = job.wait()
        print(f"{job.handle}: {status.state}")
        for chunk in job.logs(f"sides-{SIDES[-1]}"):
            print(chunk.text, end="")
    return status.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
