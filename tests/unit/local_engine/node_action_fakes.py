"""Nodes that are sent down, for tests of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine_fakes import Service

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local.rules.nodes import GoingDown
    from azbatch_core.local.store.records import Deallocation


START = {"commandLine": "sleep 10", "waitForSuccess": True}


async def started(folder: Path, **settings: float) -> Service:
    return await Service(folder, **settings).start()


def only(service: Service) -> dict[str, Any]:
    (node,) = service.nodes()
    return node


def down(service: Service, state: GoingDown, option: Deallocation = "requeue") -> None:
    service.engine.nodes.go_down("pool", only(service)["id"], state, option)
