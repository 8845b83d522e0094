"""The autoscale formula language of Azure Batch: `evaluate` a formula against samples, without a service.

Pure and independent of the rest of the local service. Text → tokens (`lexer`) → tree (`parser`, `tree`) →
values (`evaluator`). `choices` holds everything that the service's documents leave open.
"""

from __future__ import annotations

from azbatch_core.local.autoscale.errors import AutoScaleError, FormulaError
from azbatch_core.local.autoscale.parser import parse
from azbatch_core.local.autoscale.result import AutoScaleResult, evaluate
from azbatch_core.local.autoscale.samples import SampleSeries
from azbatch_core.local.autoscale.variables import SERVICE_VARIABLES, PoolTargets

__all__ = [
    "SERVICE_VARIABLES",
    "AutoScaleError",
    "AutoScaleResult",
    "FormulaError",
    "PoolTargets",
    "SampleSeries",
    "evaluate",
    "parse",
]
