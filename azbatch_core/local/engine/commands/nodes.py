"""The façade's calls on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import node_actions, recent
from azbatch_core.local.engine.commands.base import Commands
from azbatch_core.local.engine.commands.paging import by_id, in_order, page
from azbatch_core.local.engine.commands.pools import find_pool
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules.nodes import node_counts, node_document, refuse_unless

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.commands.paging import Listed
    from azbatch_core.local.odata.parser import Match
    from azbatch_core.local.rules.nodes import GoingDown
    from azbatch_core.local.store.records import Deallocation, Doc, Node

__all__ = ["NodeCommands", "find_node"]


class NodeCommands(Commands):
    """Nodes."""

    def get(self, pool_id: str, node_id: str) -> Doc:
        """A node.

        Raises:
            BatchError: PoolNotFound, NodeNotFound.
        """
        return self._node_doc(find_node(self.account, pool_id, node_id))

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
        ordered = in_order(self.account.pool_nodes[pool.key].values(), after, hints)
        return page(ordered, self._node_doc, match, limit)

    def go_down(self, pool_id: str, node_id: str, state: GoingDown, option: Deallocation) -> None:
        """Reboot, reimage or deallocate a node; on return it is in `state`, and what it ran is ending.

        Raises:
            BatchError: PoolNotFound, NodeNotFound, NodeBeingCreated, NodeBeingStarted, NodeBeingRebooted,
                NodeBeingReimaged, NodeStateUnusable, OperationInvalidForCurrentState.
        """
        node = find_node(self.account, pool_id, node_id)
        refuse_unless(node, state)
        node_actions.go_down(self.account, node, state, option)
        self.done()

    def start(self, pool_id: str, node_id: str) -> None:
        """Start a deallocated node; on return it is `starting`.

        Raises:
            BatchError: as for `go_down`; every node that is not deallocated is refused.
        """
        node = find_node(self.account, pool_id, node_id)
        refuse_unless(node, "starting")
        node_actions.start(self.account, node)
        self.done()

    def disable_scheduling(self, pool_id: str, node_id: str, option: Deallocation) -> None:
        """Give a node no more tasks; on return an idle one is `offline`.

        Raises:
            BatchError: as for `go_down`, and NodeAlreadyInTargetSchedulingState.
        """
        node = find_node(self.account, pool_id, node_id)
        refuse_unless(node, "disabled")
        node_actions.disable(self.account, node, option)
        self.done()

    def enable_scheduling(self, pool_id: str, node_id: str) -> None:
        """Let a node take tasks again; on return one that was `offline` is `idle`.

        Raises:
            BatchError: as for `go_down`, and NodeAlreadyInTargetSchedulingState.
        """
        node = find_node(self.account, pool_id, node_id)
        refuse_unless(node, "enabled")
        node_actions.enable(self.account, node)
        self.done()

    def directory(self, pool_id: str, node_id: str) -> Path:
        """The folder that stands for `AZ_BATCH_NODE_ROOT_DIR` of a node.

        Raises:
            BatchError: PoolNotFound, NodeNotFound, and one that names the node's state if it is not up.
        """
        node = find_node(self.account, pool_id, node_id)
        refuse_unless(node, "files")
        return self.account.place(node).root

    def _node_doc(self, node: Node) -> Doc:
        account = self.account
        slots = [execution.slots for execution in account.on_node[node.key] if execution.kind == "task"]
        version = account.settings.vm_agent_version
        counted = (len(slots), sum(slots))
        pool = account.pools[node.pool]
        return node_document(node, pool, account.base, version, counted, recent=recent.rows(account, node))

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


def find_node(account: Account, pool_id: str, node_id: str) -> Node:
    """A node's record; raises PoolNotFound, NodeNotFound."""
    node = account.find_node(find_pool(account, pool_id), node_id)
    if node is None:
        raise BatchError("NodeNotFound")
    return node
