"""What a plan must know about the account: read once by the service half, then plain values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_REGION = re.compile(r"^https?://[^./]+\.([a-z0-9]+)\.batch\.", re.IGNORECASE)


@dataclass(frozen=True)
class PoolFacts:
    """An existing pool, as it was when it was looked up.

    Attributes:
        id: The pool's id.
        vm_size: As the service tells it, in any case.
        task_slots_per_node: How many slots each node has.
        has_containers: Whether the pool has a container configuration.
        state: ``active`` or ``deleting``.
        dedicated_nodes: Nodes there now.
        spot_nodes: Spot nodes there now.
        target_nodes: Nodes of both kinds that the pool is to have; None where a formula decides.
        inter_node_communication: Whether its nodes can reach each other.
        formula_nodes: Up to how many nodes its formula lets it grow; None of a formula that is not azbatch's.
    """

    id: str
    vm_size: str
    task_slots_per_node: int = 1
    has_containers: bool = False
    state: str = "active"
    dedicated_nodes: int = 0
    spot_nodes: int = 0
    target_nodes: int | None = None
    inter_node_communication: bool = False
    formula_nodes: int | None = None

    @property
    def most_nodes(self) -> int | None:
        """Nodes that it has or may get, whichever is more; None where a formula decides that nobody knows."""
        present = self.dedicated_nodes + self.spot_nodes
        most = self.formula_nodes if self.target_nodes is None else self.target_nodes
        return None if most is None else max(present, most)


@dataclass(frozen=True)
class AccountFacts:
    """Where a job goes, who sends it and when.

    Attributes:
        account: The account's name, as in handles.
        endpoint: The service's URL.
        is_local: Whether it is the local service: nothing costs, no cloud identity exists.
        user: Who submits; goes into the job's metadata.
        now: The time of planning, with a time zone.
        nonce: Eight hexadecimal digits that make this submission's ids unique.
        pool: The existing pool that the job names; None where it names none or it was not looked up.
        key_auth: Whether the account is used with its shared key (not Entra ID).
        region: Such as ``westeurope``; None takes it from the endpoint where that tells it.
        storage_endpoint: The blob endpoint of the account's own storage; None without one.
    """

    account: str
    endpoint: str
    is_local: bool
    user: str
    now: datetime
    nonce: str
    pool: PoolFacts | None = None
    key_auth: bool = False
    region: str | None = None
    storage_endpoint: str | None = None

    @property
    def known_region(self) -> str | None:
        """The region that is given, or the one in the endpoint's host name; None on the local service."""
        if self.is_local:
            return None
        if self.region:
            return self.region.lower().replace(" ", "")
        match = _REGION.match(self.endpoint)
        return match.group(1).lower() if match else None
