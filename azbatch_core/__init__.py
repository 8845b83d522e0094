"""azbatch: run work on Azure Batch, or on a local service that speaks the same REST API.

The public names, and nothing else. They are loaded when first used: importing this package imports neither
azure.* nor pydantic, so that a program which may not need it pays nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from azbatch_core.client import AzureBatch, JobHandle
    from azbatch_core.errors import (
        AuthenticationError,
        AzBatchError,
        ConfigurationError,
        Conflict,
        InvalidRequest,
        JobFailed,
        NotFound,
        QuotaExceeded,
        ServiceUnavailable,
        SpecError,
        SubmissionError,
        Throttled,
        WaitTimeout,
    )
    from azbatch_core.plan import AccountFacts, Plan, plan
    from azbatch_core.service.states import (
        AccountCheck,
        Category,
        CheckItem,
        Explanation,
        FileInfo,
        JobState,
        JobStatus,
        JobSummary,
        LogChunk,
        NodeSummary,
        PoolSummary,
        Submission,
        TaskAddResult,
        TaskState,
        TaskStatus,
    )
    from azbatch_core.specs import (
        AccountSpec,
        AutoPool,
        ContainerSpec,
        EnvironmentVariable,
        ExistingPool,
        IdRange,
        ImageSpec,
        JobPreparation,
        JobRelease,
        JobSpec,
        ManagedPool,
        OutputFile,
        RegistrySpec,
        ResourceFile,
        Resources,
        RetryPolicy,
        Secret,
        StageRef,
        StartTask,
        StorageSpec,
        TaskSpec,
        json_schema,
        load_job,
        shell,
    )

__version__ = "0.1.0"

_HOMES = {
    "azbatch_core.client": ("AzureBatch", "JobHandle"),
    "azbatch_core.errors": (
        "AuthenticationError",
        "AzBatchError",
        "ConfigurationError",
        "Conflict",
        "InvalidRequest",
        "JobFailed",
        "NotFound",
        "QuotaExceeded",
        "ServiceUnavailable",
        "SpecError",
        "SubmissionError",
        "Throttled",
        "WaitTimeout",
    ),
    "azbatch_core.plan": ("AccountFacts", "Plan", "plan"),
    "azbatch_core.service.states": (
        "AccountCheck",
        "Category",
        "CheckItem",
        "Explanation",
        "FileInfo",
        "JobState",
        "JobStatus",
        "JobSummary",
        "LogChunk",
        "NodeSummary",
        "PoolSummary",
        "Submission",
        "TaskAddResult",
        "TaskState",
        "TaskStatus",
    ),
    "azbatch_core.specs": (
        "AccountSpec",
        "AutoPool",
        "ContainerSpec",
        "EnvironmentVariable",
        "ExistingPool",
        "IdRange",
        "ImageSpec",
        "JobPreparation",
        "JobRelease",
        "JobSpec",
        "ManagedPool",
        "OutputFile",
        "RegistrySpec",
        "ResourceFile",
        "Resources",
        "RetryPolicy",
        "Secret",
        "StageRef",
        "StartTask",
        "StorageSpec",
        "TaskSpec",
        "json_schema",
        "load_job",
        "shell",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AccountCheck",
    "AccountFacts",
    "AccountSpec",
    "AuthenticationError",
    "AutoPool",
    "AzBatchError",
    "AzureBatch",
    "Category",
    "CheckItem",
    "ConfigurationError",
    "Conflict",
    "ContainerSpec",
    "EnvironmentVariable",
    "ExistingPool",
    "Explanation",
    "FileInfo",
    "IdRange",
    "ImageSpec",
    "InvalidRequest",
    "JobFailed",
    "JobHandle",
    "JobPreparation",
    "JobRelease",
    "JobSpec",
    "JobState",
    "JobStatus",
    "JobSummary",
    "LogChunk",
    "ManagedPool",
    "NodeSummary",
    "NotFound",
    "OutputFile",
    "Plan",
    "PoolSummary",
    "QuotaExceeded",
    "RegistrySpec",
    "ResourceFile",
    "Resources",
    "RetryPolicy",
    "Secret",
    "ServiceUnavailable",
    "SpecError",
    "StageRef",
    "StartTask",
    "StorageSpec",
    "Submission",
    "SubmissionError",
    "TaskAddResult",
    "TaskSpec",
    "TaskState",
    "TaskStatus",
    "Throttled",
    "WaitTimeout",
    "__version__",
    "json_schema",
    "load_job",
    "plan",
    "shell",
]


def __getattr__(name: str) -> object:
    """Load a public name from the room that it lives in."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'azbatch_core' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
