"""What differs between Pulsar 0.15 and 0.16, told apart by where it lies, never by version numbers.

pulsar-app and pulsar-galaxy-lib are the same package in two distributions: which of them is installed does
not matter here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulsar.client.exceptions import PulsarClientTransportError
from pulsar.client.manager import (
    MessageQueueClientManager,
    PollingJobClientManager,
    RelayClientManager,
)
from pulsar.client.util import ExternalId
from pulsar.managers import status

try:  # 0.16
    from pulsar.client.coexecution import (
        BaseMessageCoexecutionJobClient,
        BasePollingCoexecutionJobClient,
        CoexecutionLaunchMixin,
        ExecutionType,
    )
    from pulsar.client.coexecution_manager import build_client_manager
except ImportError:  # 0.15
    from pulsar.client.client import (
        BaseMessageCoexecutionJobClient,
        BasePollingCoexecutionJobClient,
        CoexecutionLaunchMixin,
        ExecutionType,
    )
    from pulsar.client.manager import build_client_manager

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BaseMessageCoexecutionJobClient",
    "BasePollingCoexecutionJobClient",
    "CoexecutionLaunchMixin",
    "ExecutionType",
    "ExternalId",
    "MessageQueueClientManager",
    "PollingJobClientManager",
    "PulsarClientTransportError",
    "RelayClientManager",
    "build_client_manager",
    "destination_params",
    "status",
]


def destination_params(given: str | Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A client's parameters as Pulsar's own managers read them: a mapping, or a URL with parameters in it."""
    from pulsar.client.destination import url_to_destination_params

    params = url_to_destination_params(given) if isinstance(given, str) else given
    return {**params, **extra}
