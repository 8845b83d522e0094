"""What lies elsewhere in Pulsar 0.15 than in 0.16, told apart by where it lies, never by version numbers.

pulsar-app and pulsar-galaxy-lib are the same package in two distributions: which of them is installed does
not matter here.
"""

from __future__ import annotations

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

__all__ = [
    "BaseMessageCoexecutionJobClient",
    "BasePollingCoexecutionJobClient",
    "CoexecutionLaunchMixin",
    "ExecutionType",
    "build_client_manager",
]
