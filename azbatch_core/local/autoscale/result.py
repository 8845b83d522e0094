"""The library call: a formula, samples and a time in; what the service's AutoScaleRun says out."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Literal, cast

from azbatch_core.local.autoscale import choices, variables
from azbatch_core.local.autoscale.errors import FormulaError
from azbatch_core.local.autoscale.evaluator import run
from azbatch_core.local.autoscale.parser import parse
from azbatch_core.local.autoscale.values import Timestamp, text
from azbatch_core.local.autoscale.variables import PoolTargets, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from azbatch_core.local.autoscale.errors import AutoScaleError
    from azbatch_core.local.autoscale.samples import SampleSeries
    from azbatch_core.local.autoscale.values import Value

__all__ = ["AutoScaleResult", "DeallocationOption", "evaluate"]

DeallocationOption = Literal["requeue", "terminate", "taskcompletion", "retaineddata"]
_NO_NODES = PoolTargets()


@dataclass(frozen=True)
class AutoScaleResult:
    """What an evaluation came to.

    Attributes:
        timestamp: the time it was made for.
        target_dedicated_nodes: nodes wanted; on an error the pool's present target.
        target_low_priority_nodes: the same for spot nodes.
        node_deallocation_option: what becomes of tasks on nodes that go.
        variables: the formula's own variables, empty on an error. Time stands as `values.Timestamp` and
            `values.Interval`.
        error: why the formula failed, None if it did not. A pool is not resized on an error.
    """

    timestamp: datetime
    target_dedicated_nodes: int
    target_low_priority_nodes: int
    node_deallocation_option: DeallocationOption = "requeue"
    variables: Mapping[str, Value] = field(default_factory=dict)
    error: AutoScaleError | None = None

    @property
    def results(self) -> str:
        """All variables as the service prints them: its own three, then the formula's by alphabet."""
        pairs = [
            (variables.DEDICATED, str(self.target_dedicated_nodes)),
            (variables.LOW_PRIORITY, str(self.target_low_priority_nodes)),
            (variables.OPTION, self.node_deallocation_option),
        ]
        names = sorted(self.variables, key=choices.sort_key)
        pairs += [(name, text(self.variables[name])) for name in names]
        return ";".join(f"{name}={value}" for name, value in pairs)


def evaluate(
    formula: str,
    samples: Mapping[str, SampleSeries],
    now: datetime,
    *,
    present: PoolTargets = _NO_NODES,
    random: Callable[[], float] | None = None,
) -> AutoScaleResult:
    """Evaluate a formula as Azure Batch would at `now`. Pure: the same arguments give the same result.

    Args:
        formula: the text.
        samples: by variable (`SERVICE_VARIABLES`); one left out has no samples. A variable used as a plain
            number has the value of its newest sample: give `$TaskSlotsPerNode` and node counts at least one.
        now: the time of the evaluation; samples from later are not seen.
        present: the pool's present targets.
        random: the source of `rand()`, from 0 to 1; by default a sequence that depends on `now` alone.

    Returns:
        Always a result: any fault of the formula is its `error`.

    Raises:
        ValueError: `samples` has a name that is no service variable.
    """
    moment = Timestamp.of(now)
    scope = Scope(samples, moment, present)
    # rand() is for spreading load, not for secrets; a fixed seed keeps the evaluation pure.
    source = random or Random(moment.ticks).random  # noqa: S311 - the formula language has rand(); no secret comes of it
    try:
        run(parse(formula), scope, moment, source)
        return AutoScaleResult(
            timestamp=now,
            target_dedicated_nodes=scope.target(variables.DEDICATED),
            target_low_priority_nodes=scope.target(variables.LOW_PRIORITY),
            node_deallocation_option=cast("DeallocationOption", scope.option),
            variables=scope.user,
        )
    except FormulaError as failure:
        return AutoScaleResult(now, present.dedicated, present.low_priority, error=failure.error)
