"""What the engine is told at its start: those of the service's `Options` that concern it, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["NODE_QUOTA", "POOL_QUOTA", "Settings"]

NODE_QUOTA = 200
POOL_QUOTA = 100


@dataclass(frozen=True)
class Settings:
    """The fixed facts of one local service.

    Attributes:
        state_dir: Folder of the database and the nodes' directories.
        account_name: Name of the Batch account.
        endpoint: URL of the service, no slash at the end; URLs in documents start with it.
        boot_time: Seconds from a node's allocation until its start task may run.
        resize_time: Seconds from a resize request until nodes are allocated.
        pool_quota: Pools the account may hold ("Batch quotas": 100 by default).
        node_quota: Nodes the account may hold; stands for the quota of cores. A resize that wants more gets
            as many as fit, and an error.
        job_quota: Jobs that are not completed the account may hold (1,000 before a special request).
        simulated: Nothing but a virtual clock moves tasks on: what happens while it is being moved is written
            some thousand turns later, at the latest when it has been moved. After `kill -9` a part of that is
            to be simulated again.
        vm_agent_version: What nodes report as their agent's version.
    """

    state_dir: Path
    account_name: str
    endpoint: str
    boot_time: float = 0.0
    resize_time: float = 0.0
    pool_quota: int = POOL_QUOTA
    node_quota: int = NODE_QUOTA
    job_quota: int = 1000
    simulated: bool = False
    vm_agent_version: str = "1.12.15"
