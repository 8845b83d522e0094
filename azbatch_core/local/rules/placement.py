"""Where a task goes: free slots of a pool's nodes, found without looking at each node."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["FreeSlots"]


class FreeSlots:
    """The usable nodes of a pool, by the number of slots that are free.

    Nodes are named by their keys. Looking for a place costs as many steps as a node has slots, not as the
    pool has nodes.
    """

    def __init__(self) -> None:
        self._free: dict[int, int] = {}
        # As ordered sets: among equals, the one that has waited longest. A plain dict would look at the gap
        # that each node taken from its front has left, again and again.
        self._by_free: defaultdict[int, OrderedDict[int, None]] = defaultdict(OrderedDict)

    def __contains__(self, node: int) -> bool:
        return node in self._free

    def __len__(self) -> int:
        return len(self._free)

    @property
    def largest(self) -> int:
        """The most slots that any node has free."""
        return max((free for free, nodes in self._by_free.items() if nodes), default=0)

    def put(self, node: int, free: int) -> None:
        """A node is usable, with so many free slots."""
        self.drop(node)
        self._free[node] = free
        self._by_free[free][node] = None

    def drop(self, node: int) -> None:
        """A node is not usable; fine if it was not."""
        free = self._free.pop(node, None)
        if free is not None:
            del self._by_free[free][node]

    def take(self, node: int, slots: int) -> None:
        """Some slots of a node are taken; negative numbers give them back.

        Without effect on unusable nodes.
        """
        free = self._free.get(node)
        if free is not None:
            del self._by_free[free][node]
            self._free[node] = free - slots
            self._by_free[free - slots][node] = None

    def having(self, slots: int) -> list[int]:
        """All nodes with so many free slots; among equals, those that have waited longest come first."""
        return [node for free, nodes in self._by_free.items() if free >= slots for node in nodes]

    def find(
        self, slots: int, *, pack: bool, barred: Container[int] = (), preferred: int | None = None
    ) -> int | None:
        """A node with so many free slots, None if there is none.

        Packing fills the fullest node that will do, spreading the emptiest (`nodeFillType`). A preferred node
        (`affinityInfo`) wins if it will do; it is no more than a wish (SDK BatchAffinityInfo).
        """
        if preferred is not None and preferred not in barred and self._free.get(preferred, -1) >= slots:
            return preferred
        for free in sorted(self._by_free, reverse=not pack):
            if free < slots:
                continue
            for node in self._by_free[free]:
                if node not in barred:
                    return node
        return None
