"""A role and its replicas as TorchX shows them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from torchx import specs
from torchx.specs import AppState, ReplicaStatus, RoleStatus

from azbatch_core import NotFound
from azbatch_torchx import compat, states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from azbatch_core import JobHandle, MemberStatus, TaskStatus
    from azbatch_torchx.stamp import RoleStamp

FRESH: Final = 0.2
"""Seconds for which one look at an app is good enough: a log of N replicas describes it N times at once."""


def role(found: RoleStamp) -> specs.Role:
    """A role, as far as its job tells: not its variables, which may be secrets, and not its mounts."""
    policies = {policy.value: policy for policy in specs.RetryPolicy}
    return compat.make(
        specs.Role,
        name=found.name,
        image=found.image,
        num_replicas=found.replicas,
        entrypoint=found.entrypoint or specs.MISSING,
        args=list(found.args),
        resource=specs.Resource(cpu=found.cpu, gpu=found.gpu, memMB=found.memory),
        max_retries=found.max_retries,
        retry_policy=policies.get(found.retry_policy, specs.RetryPolicy.APPLICATION),
    )


def role_status(role: RoleStamp, task: TaskStatus | None, job: JobHandle) -> RoleStatus:
    """How each replica of a role stands: its own node's state where there are several."""
    replicas: Sequence[TaskStatus | MemberStatus | None] = [task] * role.replicas
    if role.replicas > 1 and task is not None:
        with suppress(NotFound):  # it was deleted since
            members = job.members(task.id, max_age=FRESH)
            replicas = members[: role.replicas]
    return RoleStatus(
        role=role.name,
        replicas=[
            compat.make(
                ReplicaStatus,
                id=number,
                state=AppState[states.replica_state(replica)],
                role=role.name,
                hostname=(replica.node_id if replica else None) or "",
                structured_error_msg=states.error_file(replica) or specs.NONE,
            )
            for number, replica in enumerate(replicas)
        ],
    )
