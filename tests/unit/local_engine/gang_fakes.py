"""Multi-instance tasks for tests of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine_fakes import FakeTry, Service


async def gang_pool(service: Service, nodes: int = 3, **fields: Any) -> None:
    await service.pool(nodes=nodes, **{"enableInterNodeCommunication": True, **fields})
    service.job()


def gang(service: Service, task_id: str = "g", command: str = "hang", **fields: Any) -> None:
    """Add a gang of two, or of `n`, whose coordination is `first`."""
    settings = {
        "numberOfInstances": fields.pop("n", 2),
        "coordinationCommandLine": fields.pop("first", "exit 0"),
    }
    service.task(task_id, command, multiInstanceSettings=settings, **fields)


def subtasks(service: Service, task_id: str = "g") -> list[dict[str, Any]]:
    return service.engine.tasks.subtasks("job", task_id)


def members(service: Service, task_id: str = "g") -> list[FakeTry]:
    """Tries of a gang that have not ended, the primary first."""
    tries = [
        item for item in service.runtime.tries if item.launch.task_id == task_id and not item.done.done()
    ]
    return sorted(tries, key=lambda item: not item.launch.command_line)
