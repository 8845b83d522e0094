"""Galaxy tools on Azure Batch: Pulsar's co-execution clients, their managers, and a Galaxy runner.

`clients` are what Pulsar and Galaxy talk to; `destination` reads a destination's parameters; `jobs` makes
the specs of a launch, with the scripts in `node`; `runs` puts them on Batch and watches them; `results` tells
how they ended. What differs between the versions of Pulsar is in `compat`; `galaxy` is for Galaxy only.

The names here are loaded when first used: Pulsar need not be there to import this.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from azbatch_pulsar.clients import (
        AzureBatchMessageCoexecutionJobClient,
        AzureBatchPollingCoexecutionJobClient,
        LaunchesAzureContainersMixin,
    )
    from azbatch_pulsar.managers import (
        AzureBatchMessageQueueClientManager,
        AzureBatchPollingClientManager,
        AzureBatchRelayClientManager,
        build_client_manager,
    )

_HOMES = {
    "AzureBatchMessageCoexecutionJobClient": "clients",
    "AzureBatchMessageQueueClientManager": "managers",
    "AzureBatchPollingClientManager": "managers",
    "AzureBatchPollingCoexecutionJobClient": "clients",
    "AzureBatchRelayClientManager": "managers",
    "LaunchesAzureContainersMixin": "clients",
    "build_client_manager": "managers",
}

__all__ = [
    "AzureBatchMessageCoexecutionJobClient",
    "AzureBatchMessageQueueClientManager",
    "AzureBatchPollingClientManager",
    "AzureBatchPollingCoexecutionJobClient",
    "AzureBatchRelayClientManager",
    "LaunchesAzureContainersMixin",
    "build_client_manager",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
