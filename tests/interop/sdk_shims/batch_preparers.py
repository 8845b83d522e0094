"""Stands for the SDK tests' module of the same name: accounts, pools and jobs of a local service."""

from __future__ import annotations

from functools import wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from azure.batch import BatchClient, models
from azure.core.credentials import AzureNamedKeyCredential

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    Test = Callable[..., Any]

_UBUNTU = {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"}
_WINDOWS = {
    "publisher": "MicrosoftWindowsServer",
    "offer": "WindowsServer",
    "sku": "2016-Datacenter-smalldisk",
}


class AccountPreparer:
    """An empty account for one test."""

    def __init__(self, **_: Any) -> None:
        pass

    def __call__(self, test: Test) -> Test:
        """The test with `batch_account` and `credential`."""

        @wraps(test)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with LocalBatch() as local:
                account = SimpleNamespace(name=local.account_name, account_endpoint=local.endpoint)
                credential = AzureNamedKeyCredential(local.account_name, local.account_key)
                return await test(*args, batch_account=account, credential=credential, **kwargs)

        return wrapper


def _client(kwargs: dict[str, Any]) -> BatchClient:
    return BatchClient(credential=kwargs["credential"], endpoint=kwargs["batch_account"].account_endpoint)


class PoolPreparer:
    """A pool, made as the SDK's preparer makes it through the management plane."""

    def __init__(
        self, size: int = 0, os: str = "Linux", config: str = "iaas", pool_name: str = "pool", **_: Any
    ) -> None:
        self._size = size
        self._os = os
        self._config = config
        self._name = pool_name

    def __call__(self, test: Test) -> Test:
        """The test with `batch_pool`."""

        @wraps(test)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with _client(kwargs) as client:
                client.create_pool(self._pool())
            return await test(*args, batch_pool=SimpleNamespace(name=self._name, id=self._name), **kwargs)

        return wrapper

    def _pool(self) -> models.BatchPoolCreateOptions:
        windows = self._os == "Windows"
        return models.BatchPoolCreateOptions(
            id=self._name,
            vm_size="standard_d2_v2",
            target_dedicated_nodes=self._size,
            user_accounts=[
                models.UserAccount(name="task-user", password="kt#_gahr!@aGERDXA", elevation_level="admin")
            ],
            virtual_machine_configuration=models.VirtualMachineConfiguration(
                image_reference=models.BatchVmImageReference(**(_WINDOWS if windows else _UBUNTU)),
                node_agent_sku_id="batch.node.windows amd64" if windows else "batch.node.ubuntu 22.04",
            ),
            network_configuration=models.NetworkConfiguration(
                endpoint_configuration=models.BatchPoolEndpointConfiguration(
                    inbound_nat_pools=[
                        models.BatchInboundNatPool(
                            name="ruleName",
                            protocol="tcp",
                            backend_port=3389,
                            frontend_port_range_start=15000,
                            frontend_port_range_end=15100,
                        )
                    ]
                )
            ),
        )


class JobPreparer:
    """A job on the test's pool, or on an auto pool without nodes where it has none."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __call__(self, test: Test) -> Test:
        """The test with `batch_job`."""

        @wraps(test)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            pool = kwargs.get("batch_pool")
            info = models.BatchPoolInfo(pool_id=pool.name) if pool else _auto_pool()
            with _client(kwargs) as client:
                client.create_job(models.BatchJobCreateOptions(id="batch", pool_info=info, **self._fields))
            return await test(*args, batch_job=SimpleNamespace(name="batch", id="batch"), **kwargs)

        return wrapper


def _auto_pool() -> models.BatchPoolInfo:
    return models.BatchPoolInfo(
        auto_pool_specification=models.BatchAutoPoolSpecification(
            pool_lifetime_option="job",
            pool=models.BatchPoolSpecification(
                vm_size="standard_d2_v2",
                virtual_machine_configuration=models.VirtualMachineConfiguration(
                    image_reference=models.BatchVmImageReference(**_UBUNTU),
                    node_agent_sku_id="batch.node.ubuntu 22.04",
                ),
            ),
        )
    )
