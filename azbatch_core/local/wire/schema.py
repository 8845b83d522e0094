"""The declared shapes, loaded once from the generated `schema.json`."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """Models (`{property: [kind, flags]}`) and enumerations; `tools/generate_wire_schema.py` explains."""
    text = (Path(__file__).parent / "schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def properties(model: str) -> frozenset[str]:
    """The names of a model's properties, read-only ones included."""
    return frozenset(schema()["models"][model])
