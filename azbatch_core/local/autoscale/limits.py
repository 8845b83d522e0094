"""How long a formula may be and how much work it may ask for.

The first two are the service's ("Automatically scale compute nodes in an Azure Batch pool", quotas: 8 KB, 100
statements). The others bound time and memory of the interpreter, far above what any published formula needs.
"""

from __future__ import annotations

__all__ = ["FORMULA_CHARACTERS", "HISTORY_SAMPLES", "NESTING", "STATEMENTS", "WORK"]

FORMULA_CHARACTERS = 8192
STATEMENTS = 100

NESTING = 32
"""Open parentheses, calls and conditional branches inside one another."""

HISTORY_SAMPLES = 2880
"""Samples of a variable that a formula can see: a day of one each 30 seconds."""

WORK = 1_000_000
"""Elements of vectors that one evaluation may compute with: a few tenths of a second."""
