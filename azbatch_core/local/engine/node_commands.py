"""The façade's calls on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine.base import Commands
from azbatch_core.local.engine.paging import by_id, page
from azbatch_core.local.engine.pool_commands import find_pool
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules.nodes import node_counts, node_document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from azbatch_core.local.engine.paging import Listed
    from azbatch_core.local.odata.parser import Match
    from azbatch_core.local.store.records import Doc, Node, Pool

__all__ = ["NodeCommands"]

_UNREACHABLE = {"creating": "NodeBeingCreated", "starting": "NodeBeingStarted"}


class NodeCommands(Commands):
    """Nodes."""

    def get(self, pool_id: str, node_id: str) -> Doc:
        """A node.

        Raises:
            BatchError: PoolNotFound, NodeNotFound.
        """
        pool = find_pool(self.account, pool_id)
        return self._node_doc(self._node(pool, node_id))

    def page(
        self,
        pool_id: str,
        match: Match | None = None,
        after: str | None = None,
        limit: int = 1000,
        hints: Mapping[str, str] | None = None,
    ) -> Listed:
        """A pool's nodes that match, in the order of their ids, and the id to go on after.

        Raises:
            BatchError: PoolNotFound.
        """
        pool = find_pool(self.account, pool_id)
        state = (hints or {}).get("state")
        nodes = [node for node in self.account.pool_nodes[pool.key].values() if state in {None, node.state}]
        return page(by_id(nodes, lambda node: node.id, after), self._node_doc, match, limit)

    def directory(self, pool_id: str, node_id: str) -> Path:
        """The folder that stands for `AZ_BATCH_NODE_ROOT_DIR` of a node.

        Raises:
            BatchError: PoolNotFound, NodeNotFound, NodeBeingCreated, NodeBeingStarted.
        """
        node = self._node(find_pool(self.account, pool_id), node_id)
        code = _UNREACHABLE.get(node.state)
        if code is not None:
            raise BatchError(code)
        return self.account.place(node).root

    def _node(self, pool: Pool, node_id: str) -> Node:
        wanted = node_id.lower()
        for node in self.account.pool_nodes[pool.key].values():
            if node.id == wanted:
                return node
        raise BatchError("NodeNotFound")

    def _node_doc(self, node: Node) -> Doc:
        account = self.account
        slots = [execution.slots for execution in account.on_node[node.key] if execution.kind == "task"]
        version = account.settings.vm_agent_version
        return node_document(node, account.pools[node.pool], account.base, version, (len(slots), sum(slots)))

    def counts(self, match: Match | None = None, after: str | None = None, limit: int = 1000) -> Listed:
        """Nodes by state for each pool, in the order of the pools' ids."""
        account = self.account
        return page(
            by_id(account.pools.values(), lambda pool: pool.id, after),
            lambda pool: node_counts(pool, account.pool_nodes[pool.key].values()),
            match,
            limit,
            name=lambda doc: str(doc["poolId"]),
        )
