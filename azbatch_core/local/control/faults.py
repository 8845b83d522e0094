"""`/_local/faults`: trouble on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azbatch_core.local.control.app import Request, Routes
    from azbatch_core.local.engine.engine import Engine

__all__ = ["fault_routes"]


def fault_routes(engine: Engine) -> Routes:
    """`GET /faults` lists, `POST /faults` sets one, `DELETE` takes one or all back."""

    async def listed(_: Request) -> dict[str, Any]:
        return {"faults": engine.faults.list()}

    async def add(request: Request) -> dict[str, Any]:
        with engine.guard():
            return engine.faults.add(dict(request.body))

    async def clear(_: Request) -> dict[str, Any]:
        return {"removed": engine.faults.clear()}

    async def remove(request: Request) -> dict[str, Any]:
        engine.faults.remove(request.item)
        return {"removed": 1}

    return {
        ("GET", "/faults"): listed,
        ("POST", "/faults"): add,
        ("DELETE", "/faults"): clear,
        ("DELETE", "/faults/{id}"): remove,
    }
