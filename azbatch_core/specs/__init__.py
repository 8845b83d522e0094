"""What a user asks for: frozen descriptions of jobs, tasks, pools and accounts, right by construction.

No input or output here (apart from reading a job file when asked to), and nothing of Azure. The words are
Batch's own, in snake_case.
"""

from azbatch_core.specs.accounts import AccountSpec, StorageSpec
from azbatch_core.specs.base import Spec
from azbatch_core.specs.command import Command, Shell, command_line, command_warnings, shell
from azbatch_core.specs.containers import ContainerSpec, RegistrySpec
from azbatch_core.specs.environment import EnvironmentVariable
from azbatch_core.specs.files import OutputFile, ResourceFile
from azbatch_core.specs.gang import GangSpec
from azbatch_core.specs.images import ImageReference
from azbatch_core.specs.job import JobPreparation, JobRelease, JobSpec
from azbatch_core.specs.load import load_job, parse_job
from azbatch_core.specs.names import check_id, fold_id, slug
from azbatch_core.specs.pool_nodes import ImageSpec, StartTask
from azbatch_core.specs.pools import AutoPool, ExistingPool, ManagedPool, PoolSpec
from azbatch_core.specs.schema import json_schema
from azbatch_core.specs.secrets import Secret
from azbatch_core.specs.task import Dependency, IdRange, Resources, RetryPolicy, StageRef, TaskSpec
from azbatch_core.specs.units import format_duration, format_size, iso_duration, parse_duration, parse_size
from azbatch_core.specs.urls import UrlSecret

__all__ = [
    "AccountSpec",
    "AutoPool",
    "Command",
    "ContainerSpec",
    "Dependency",
    "EnvironmentVariable",
    "ExistingPool",
    "GangSpec",
    "IdRange",
    "ImageReference",
    "ImageSpec",
    "JobPreparation",
    "JobRelease",
    "JobSpec",
    "ManagedPool",
    "OutputFile",
    "PoolSpec",
    "RegistrySpec",
    "ResourceFile",
    "Resources",
    "RetryPolicy",
    "Secret",
    "Shell",
    "Spec",
    "StageRef",
    "StartTask",
    "StorageSpec",
    "TaskSpec",
    "UrlSecret",
    "check_id",
    "command_line",
    "command_warnings",
    "fold_id",
    "format_duration",
    "format_size",
    "iso_duration",
    "json_schema",
    "load_job",
    "parse_duration",
    "parse_job",
    "parse_size",
    "shell",
    "slug",
]
