"""All the faults that a service has been told of."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from azbatch_core.local.faults.kinds import LAUNCH_STEPS, NODE_KINDS, REQUEST_KINDS
from azbatch_core.local.faults.reading import FaultError
from azbatch_core.local.faults.requests import check_requests

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from azbatch_core.local.faults.fault import Fault
    from azbatch_core.local.faults.requests import Row

__all__ = ["Faults"]


class Faults:
    """Faults in the order in which they were set. Whoever may be hit asks by kind; none set costs nothing.

    Args:
        faults: those to begin with.
        operations: those that requests may be for; faults that would meet none are refused.

    Attributes:
        of_requests: Those that the dispatch of requests looks at.
        of_nodes: Those that come over nodes.
        of_launches: Whether any comes over tries of tasks.
    """

    def __init__(self, faults: Iterable[Fault] = (), operations: Collection[Row] = ()) -> None:
        self._operations = operations
        self._numbers = itertools.count(1)
        self._by_id: dict[str, Fault] = {}
        self._by_kind: dict[str, list[Fault]] = {}
        self.of_requests: list[Fault] = []
        self.of_nodes: list[Fault] = []
        self.of_launches = False
        for fault in faults:
            self.add(fault)

    def __iter__(self) -> Iterator[Fault]:
        return iter(tuple(self._by_id.values()))

    def __contains__(self, fault: object) -> bool:
        return fault in self._by_id.values()

    def add(self, fault: Fault) -> None:
        """Set a fault; without an id of its own it gets one.

        Raises:
            FaultError: its id is taken, or no request could meet it.
        """
        if self._operations and fault.kind in REQUEST_KINDS:
            check_requests(fault, self._operations)
        if fault.id in self._by_id:
            raise FaultError(f"the id {fault.id!r} is taken")
        fault.number = next(self._numbers)
        while not fault.id:
            name = f"{fault.kind}-{fault.number}"
            if name not in self._by_id:
                fault.id = name
            else:
                fault.number = next(self._numbers)
        self._by_id[fault.id] = fault
        self._sort()

    def remove(self, fault_id: str) -> bool:
        """Take a fault back; False if there is none of that id."""
        found = self._by_id.pop(fault_id, None) is not None
        self._sort()
        return found

    def clear(self) -> int:
        """Take all faults back; how many there were."""
        count = len(self._by_id)
        self._by_id.clear()
        self._sort()
        return count

    def _sort(self) -> None:
        self._by_kind = {}
        for fault in self._by_id.values():
            self._by_kind.setdefault(fault.kind, []).append(fault)
        self.of_requests = [fault for fault in self._by_id.values() if fault.kind in REQUEST_KINDS]
        self.of_nodes = [fault for fault in self._by_id.values() if fault.kind in NODE_KINDS]
        self.of_launches = not LAUNCH_STEPS.keys().isdisjoint(self._by_kind)

    def of(self, kind: str) -> list[Fault]:
        """The faults of a kind."""
        return self._by_kind.get(kind, [])

    def strike(self, kind: str, **where: str) -> Fault | None:
        """The first fault of a kind that hits a thing with these names on this occasion, counted."""
        for fault in self._by_kind.get(kind, ()):
            if fault.befalls(where) and fault.hit():
                return fault
        return None

    def quota(self, what: str, usual: int) -> int:
        """How many of `what` the account may hold; the fault that was set last decides."""
        found: Any = usual
        for fault in self._by_kind.get("quota", ()):
            found = fault.values.get(what, found)
        return int(found)
