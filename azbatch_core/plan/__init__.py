"""Pure functions from what is asked for, and the facts of an account, to exactly what will be sent, and why.

Nothing here reads, writes or imports azure.*: a plan can be made, printed and tested anywhere.
"""

from azbatch_core.plan.facts import AccountFacts, PoolFacts
from azbatch_core.plan.model import Plan, PlannedPool, PlannedTask
from azbatch_core.plan.planner import plan
from azbatch_core.plan.secrets import StorageRef, body_size, mask, reveal

__all__ = [
    "AccountFacts",
    "Plan",
    "PlannedPool",
    "PlannedTask",
    "PoolFacts",
    "StorageRef",
    "body_size",
    "mask",
    "plan",
    "reveal",
]
