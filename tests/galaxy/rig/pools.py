"""The pool that stands ready for the jobs of all environments: none waits for a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azure.batch import BatchClient, models
from azure.core.credentials import AzureNamedKeyCredential

if TYPE_CHECKING:
    from azbatch_core.local.state import Endpoint

POOL = "galaxy"


def make_pool(place: Endpoint) -> None:
    """Have it, with nodes of the local service: processes on this machine, many at a time."""
    image = models.BatchVmImageReference(
        publisher="microsoft-dsvm", offer="ubuntu-hpc", sku="2204", version="latest"
    )
    pool = models.BatchPoolCreateOptions(
        id=POOL,
        vm_size="standard_d2s_v3",
        virtual_machine_configuration=models.VirtualMachineConfiguration(
            image_reference=image, node_agent_sku_id="batch.node.ubuntu 22.04"
        ),
        target_dedicated_nodes=2,
        task_slots_per_node=8,
    )
    credential = AzureNamedKeyCredential(place.account_name, place.account_key)
    with BatchClient(place.endpoint, credential) as client:
        client.create_pool(pool)
