"""Bodies that scenarios of the SDK have in common."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from azure.batch import models
from azure.batch.models import _models as unlisted  # the options of some actions are not exported


def machine() -> models.VirtualMachineConfiguration:
    """A configuration that every pool may have."""
    return models.VirtualMachineConfiguration(
        image_reference=models.BatchVmImageReference(
            publisher="canonical", offer="ubuntu-24_04-lts", sku="server"
        ),
        node_agent_sku_id="batch.node.ubuntu 24.04",
    )


def container_machine() -> models.VirtualMachineConfiguration:
    """A configuration for container tasks."""
    return models.VirtualMachineConfiguration(
        image_reference=models.BatchVmImageReference(
            publisher="microsoft-dsvm", offer="ubuntu-hpc", sku="2404"
        ),
        node_agent_sku_id="batch.node.ubuntu 24.04",
        container_configuration=models.BatchContainerConfiguration(type="dockerCompatible"),
    )


def pool(pool_id: str, nodes: int = 0, **more: Any) -> models.BatchPoolCreateOptions:
    """A pool."""
    return models.BatchPoolCreateOptions(
        id=pool_id,
        vm_size="standard_d2s_v3",
        target_dedicated_nodes=nodes,
        **{"virtual_machine_configuration": machine(), **more},
    )


def job(job_id: str, pool_id: str = "nowhere", **more: Any) -> models.BatchJobCreateOptions:
    """A job, by default on a pool that is not there."""
    return models.BatchJobCreateOptions(id=job_id, pool_info=models.BatchPoolInfo(pool_id=pool_id), **more)


def task(task_id: str, command: str = "/bin/true", **more: Any) -> models.BatchTaskCreateOptions:
    """A task."""
    return models.BatchTaskCreateOptions(id=task_id, command_line=command, **more)


def shown(found: Any) -> dict[str, Any]:
    """The members of a document, as they came."""
    return {name: value for name, value in found.as_dict().items() if name != "odata.metadata"}


def schedule(schedule_id: str, **more: Any) -> models.BatchJobScheduleCreateOptions:
    """A schedule whose first job comes at once."""
    return models.BatchJobScheduleCreateOptions(
        id=schedule_id,
        schedule=models.BatchJobScheduleConfiguration(recurrence_interval=timedelta(hours=1)),
        job_specification=models.BatchJobSpecification(pool_info=models.BatchPoolInfo(pool_id="nowhere")),
        **more,
    )


# Left out, or empty, the SDK raises before it sends anything.
TERMINATE = unlisted.BatchJobTerminateOptions(termination_reason="enough")
REBOOT = unlisted.BatchNodeRebootOptions(node_reboot_kind="requeue")
REIMAGE = unlisted.BatchNodeReimageOptions(node_reimage_option="requeue")
DEALLOCATE = unlisted.BatchNodeDeallocateOptions(node_deallocate_option="requeue")
DISABLE = models.BatchNodeDisableSchedulingOptions(node_disable_scheduling_option="requeue")
