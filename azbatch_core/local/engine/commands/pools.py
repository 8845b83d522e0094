"""The façade's calls on pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import allocation, scaling
from azbatch_core.local.engine.commands.base import Commands
from azbatch_core.local.engine.commands.paging import in_order, page
from azbatch_core.local.engine.packages import refuse_unknown
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules import pools as rules
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.commands.paging import Listed
    from azbatch_core.local.odata.parser import Match
    from azbatch_core.local.store.records import Doc, Pool

__all__ = ["PoolCommands", "find_pool"]

_SCALING = ("autoScaleFormula", "autoScaleEvaluationInterval")
_ENABLE_PAUSE = 30 * TICKS_PER_SECOND


class PoolCommands(Commands):
    """Pools."""

    def create(self, body: Doc) -> Doc:
        """Make a pool; on return it is kept and `resizing`, and its nodes follow.

        Raises:
            BatchError: InvalidPropertyValue, PoolExists, PoolBeingDeleted, PoolQuotaReached,
                InvalidApplicationPackageReferences, InvalidAutoScalingSettings,
                AutoScalingFormulaSyntaxError, AutoScaleFormulaTooLong.
        """
        rules.check_new(body)
        refuse_unknown(self.account, body, pool=True)
        if body.get("enableAutoScale"):
            rules.check_formula(body["autoScaleFormula"])
        self._refuse_id(body["id"])
        pool = allocation.new_pool(self.account, body["id"], body)
        if pool.spec["enableAutoScale"]:
            scaling.begin(self.account, pool, made=True)
        self.done()
        return self._pool_doc(pool)

    def _refuse_id(self, pool_id: str) -> None:
        """Raise if a pool of that id cannot be made now."""
        found = self.account.pool_ids.get(pool_id.lower())
        if found is not None:
            raise BatchError("PoolBeingDeleted" if found.state == "deleting" else "PoolExists")
        if len(self.account.pools) >= self.account.faults.quota("pools", self.account.settings.pool_quota):
            raise BatchError("PoolQuotaReached")

    def get(self, pool_id: str) -> Doc:
        """A pool.

        Raises:
            BatchError: PoolNotFound.
        """
        return self._pool_doc(find_pool(self.account, pool_id))

    def page(
        self,
        match: Match | None = None,
        after: str | None = None,
        limit: int = 1000,
        hints: Mapping[str, str] | None = None,
    ) -> Listed:
        """Pools that match, in the order of their ids after the id `after`, and the id to go on after.

        `hints` (`{"state": …}`) may narrow what `match` is asked about.
        """
        ordered = in_order(self.account.pools.values(), after, hints)
        return page(ordered, self._pool_doc, match, limit)

    def patch(self, pool_id: str, body: Doc) -> Doc:
        """Replace what the body gives (PATCH). Nodes that are there keep their start task until a reboot.

        Raises:
            BatchError: PoolNotFound, PoolBeingDeleted, InvalidPropertyValue,
                InvalidApplicationPackageReferences.
        """
        return self._change_pool(pool_id, body, rules.patched)

    def replace(self, pool_id: str, body: Doc) -> Doc:
        """Replace start task, metadata and packages (`updateproperties`): what the body omits is removed.

        Raises:
            BatchError: as for `patch`.
        """
        return self._change_pool(pool_id, body, rules.replaced)

    def _change_pool(self, pool_id: str, body: Doc, change: rules.Change) -> Doc:
        pool = self._usable_pool(pool_id)
        rules.check_fields(body, pool.spec)
        refuse_unknown(self.account, body, pool=True)
        slots = body.get("taskSlotsPerNode")
        if slots not in {None, pool.spec["taskSlotsPerNode"]} and self.account.pool_nodes[pool.key]:
            # SDK BatchPoolUpdateOptions: such fields can be changed only when the pool is empty.
            raise BatchError("OperationInvalidForCurrentState", Reason="The pool has nodes.")
        pool.spec = change(pool.spec, body)
        pool.modified = self.account.stamp()
        self.account.touch(pool)
        self.done()
        return self._pool_doc(pool)

    def resize(self, pool_id: str, body: Doc) -> Doc:
        """Go for new numbers of nodes; a target that is not given is 0. On return the pool is `resizing`.

        Raises:
            BatchError: PoolNotFound, PoolBeingDeleted, PoolBeingResized, InvalidPropertyValue,
                OperationInvalidForCurrentState (the pool scales by itself).
        """
        pool = self._usable_pool(pool_id)
        rules.check_resize(body)
        if body.get("targetDedicatedNodes") is None and body.get("targetLowPriorityNodes") is None:
            raise BatchError("MissingRequiredProperty", PropertyName="targetDedicatedNodes")
        self._refuse_resize(pool)
        pool.modified = self.account.stamp()
        allocation.begin_resize(self.account, pool, body, pool.modified)
        self.done()
        return self._pool_doc(pool)

    def stop_resize(self, pool_id: str) -> Doc:
        """Stop a resize; on return the pool is not `resizing`. The ETag stays that of the resize (recorded).

        Raises:
            BatchError: PoolNotFound, PoolBeingDeleted.
        """
        pool = self._usable_pool(pool_id)
        if pool.allocation == "resizing":
            allocation.stop_resize(self.account, pool)
            self.done()
        return self._pool_doc(pool)

    def remove_nodes(self, pool_id: str, body: Doc) -> Doc:
        """Take nodes out of a pool; on return it is `resizing` and they are `leavingpool`.

        Raises:
            BatchError: PoolNotFound, PoolBeingDeleted, PoolBeingResized, InvalidPropertyValue, NodeNotFound,
                OperationInvalidForCurrentState (the pool scales by itself).
        """
        pool = self._usable_pool(pool_id)
        rules.check_removal(body)
        self._refuse_resize(pool)
        by_id = {node.id: node for node in self.account.pool_nodes[pool.key].values()}
        wanted = dict.fromkeys(item.lower() for item in body["nodeList"])
        missing = [item for item in wanted if item not in by_id]
        if missing:
            raise BatchError("NodeNotFound", NodeId=missing[0])
        pool.modified = self.account.stamp()
        nodes = [by_id[item] for item in wanted]
        allocation.begin_removal(self.account, pool, nodes, body, pool.modified)
        self.done()
        return self._pool_doc(pool)

    def _refuse_resize(self, pool: Pool) -> None:
        """Raise if a pool cannot be resized by hand now."""
        if pool.spec["enableAutoScale"]:
            raise BatchError(
                "OperationInvalidForCurrentState", Reason="Automatic scaling is enabled on the pool."
            )
        if pool.allocation != "steady":
            raise BatchError("PoolBeingResized")

    def delete(self, pool_id: str) -> Doc:
        """Begin to delete a pool; on return it is `deleting`. Running tasks are requeued.

        Raises:
            BatchError: PoolNotFound, PoolBeingDeleted.
        """
        pool = self._usable_pool(pool_id)
        allocation.begin_delete(self.account, pool)
        self.done()
        return self._pool_doc(pool)

    def enable_auto_scale(self, pool_id: str, body: Doc) -> Doc:
        """Give a pool a formula, an interval or both; what is not given stays (SDK enable_pool_auto_scale).

        On return a pool that had no formula has been evaluated, and so has one with a new interval.

        Raises:
            BatchError: PoolNotFound, PoolBeingDeleted, PoolBeingResized, InvalidPropertyValue,
                MissingRequiredProperty, AutoScalingFormulaSyntaxError, AutoScaleFormulaTooLong,
                TooManyEnableAutoScaleRequests (less than 30 seconds after another).
        """
        account, pool = self.account, self._usable_pool(pool_id)
        was = pool.spec["enableAutoScale"]
        rules.check_interval(body)
        given = {name: body[name] for name in _SCALING if body.get(name) is not None}
        if "autoScaleFormula" in given:
            rules.check_formula(given["autoScaleFormula"])
        elif not was:
            raise BatchError("MissingRequiredProperty", PropertyName="autoScaleFormula")
        now, last = account.now(), pool.auto_scale_enabled
        if last is not None and 0 <= now - last < _ENABLE_PAUSE:
            raise BatchError("TooManyEnableAutoScaleRequests")
        if pool.allocation != "steady":
            raise BatchError("PoolBeingResized")
        pool.spec = rules.fill({**pool.spec, **given, "enableAutoScale": True})
        pool.auto_scale_enabled = now
        pool.modified = account.stamp()
        account.touch(pool)
        if not was:
            scaling.begin(account, pool)
        elif "autoScaleEvaluationInterval" in given:
            scaling.reschedule(account, pool)
        self.done()
        return self._pool_doc(pool)

    def disable_auto_scale(self, pool_id: str) -> Doc:
        """Take a pool's formula away; it keeps its targets. Without effect on a pool that has none.

        Raises:
            BatchError: PoolNotFound, PoolBeingDeleted.
        """
        pool = self._usable_pool(pool_id)
        if pool.spec["enableAutoScale"]:
            pool.spec = rules.fill({**pool.spec, "enableAutoScale": False})
            scaling.end(self.account, pool)
            pool.modified = self.account.stamp()
            self.account.touch(pool)
            self.done()
        return self._pool_doc(pool)

    def evaluate_auto_scale(self, pool_id: str, formula: str) -> Doc:
        """What a formula would come to now, as an AutoScaleRun; the pool stays as it is.

        Raises:
            BatchError: PoolNotFound, PoolBeingDeleted, AutoScalingFormulaSyntaxError,
                AutoScaleFormulaTooLong, OperationInvalidForCurrentState (automatic scaling is not enabled).
        """
        pool = self._usable_pool(pool_id)
        rules.check_formula(formula)
        if not pool.spec["enableAutoScale"]:
            raise BatchError(
                "OperationInvalidForCurrentState", Reason="Automatic scaling is not enabled on the pool."
            )
        return rules.auto_scale_run(scaling.try_formula(self.account, pool, formula))

    def _usable_pool(self, pool_id: str) -> Pool:
        pool = find_pool(self.account, pool_id)
        if pool.state == "deleting":
            raise BatchError("PoolBeingDeleted")
        return pool

    def _pool_doc(self, pool: Pool) -> Doc:
        return rules.pool_document(pool, self.account.base, allocation.current(self.account, pool))


def find_pool(account: Account, pool_id: str) -> Pool:
    """A pool's record; raises PoolNotFound."""
    pool = account.pool_ids.get(pool_id.lower())
    if pool is None:
        raise BatchError("PoolNotFound")
    return pool
