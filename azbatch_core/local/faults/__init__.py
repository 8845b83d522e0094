"""Trouble on demand: what is to go wrong, when and where. Pure: who it befalls asks, and does the rest."""

from __future__ import annotations

from azbatch_core.local.faults.fault import Fault
from azbatch_core.local.faults.faults import Faults
from azbatch_core.local.faults.reading import FaultError, read_fault, read_faults, read_file, read_words

__all__ = ["Fault", "FaultError", "Faults", "read_fault", "read_faults", "read_file", "read_words"]
