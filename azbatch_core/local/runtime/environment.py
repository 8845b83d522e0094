"""The variables that a task sees: Batch's own, the ordinary ones of a Linux node, and the user's.

A task starts from nothing: what the service itself has in its environment, secrets perhaps, stays there. Only
its PATH is carried over, behind the recorded one of a node, so that the programs of this machine are found;
and, to commands outside of containers, where its Docker answers, as the Docker of the node.
Sources: "Task runtime environment variables", "Isolate containers", and recorded environments of real nodes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from azbatch_core.local.runtime.base import Launch, RuntimeConfig

_NODE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What the agent keeps free on a real node is not published; a round figure that programs can parse.
_RESERVED_DISK_BYTES = 1024**3
_START_TASK_USER = "_azbatchtask_start"
_TASK_SCOPE_USER = "_azbatchtask_1"
_POOL_SCOPE_USER = "_azbatch"

NODE_ROOT_VARIABLE = "AZ_BATCH_NODE_ROOT_DIR"
TASK_DIR_VARIABLE = "AZ_BATCH_TASK_DIR"


def task_environment(
    config: RuntimeConfig,
    launch: Launch,
    directory: Path,
    *,
    service_path: str | None = None,
) -> dict[str, str]:
    """The complete environment of a launch whose folder is `directory`.

    The user's settings win over the ordinary variables, Batch's own win over the user's.

    Args:
        config: What is the same for all tasks.
        launch: The try.
        directory: Its `AZ_BATCH_TASK_DIR`.
        service_path: PATH of the service; taken from its environment by default.
    """
    user, identity = _user(launch)
    wd = f"{directory}/wd"
    root = str(launch.node.root)
    env = {
        "PATH": _path(root, wd, os.environ.get("PATH", "") if service_path is None else service_path),
        "HOME": wd,
        "PWD": wd,
        "USER": user,
    }
    env.update(launch.environment)
    env.update(
        {
            "AZ_BATCH_ACCOUNT_NAME": config.account_name,
            "AZ_BATCH_ACCOUNT_URL": config.account_url.rstrip("/") + "/",
            "AZ_BATCH_POOL_ID": launch.node.pool_id,
            "AZ_BATCH_NODE_ID": launch.node.node_id,
            "AZ_BATCH_NODE_IS_DEDICATED": "true" if launch.node.is_dedicated else "false",
            NODE_ROOT_VARIABLE: root,
            "AZ_BATCH_NODE_SHARED_DIR": f"{root}/shared",
            "AZ_BATCH_NODE_STARTUP_DIR": f"{root}/startup",
            "AZ_BATCH_NODE_STARTUP_WORKING_DIR": f"{root}/startup/wd",
            "AZ_BATCH_NODE_MOUNTS_DIR": f"{root}/fsmounts",
            TASK_DIR_VARIABLE: str(directory),
            "AZ_BATCH_TASK_WORKING_DIR": wd,
            "AZ_BATCH_CERTIFICATES_DIR": f"{directory}/certs",
            "AZ_BATCH_TASK_USER": user,
            "AZ_BATCH_TASK_USER_IDENTITY": identity,
            "AZ_BATCH_TASK_RESERVED_EPHEMERAL_DISK_SPACE_BYTES": str(_RESERVED_DISK_BYTES),
        }
    )
    env.update(_job_variables(launch, directory))
    if launch.coordination_command_line is not None:
        env["AZ_BATCH_TASK_SHARED_DIR"] = str(directory)
    env.update(launch.extra_environment)
    return env


def docker_of_the_node() -> dict[str, str]:
    """Where the `docker` command of a node finds the daemon that the service uses, if not by itself."""
    return {name: os.environ[name] for name in ("DOCKER_HOST",) if name in os.environ}


def _job_variables(launch: Launch, directory: Path) -> Mapping[str, str]:
    if launch.kind == "start" or launch.job_id is None:
        return {}
    variables = {"AZ_BATCH_JOB_ID": launch.job_id, "AZ_BATCH_TASK_ID": launch.task_id}
    if launch.job_prep_id is not None and launch.kind != "preparation":
        preparation = directory.parent / launch.job_prep_id
        variables["AZ_BATCH_JOB_PREP_DIR"] = str(preparation)
        variables["AZ_BATCH_JOB_PREP_WORKING_DIR"] = f"{preparation}/wd"
    return variables


def _path(root: str, wd: str, service_path: str) -> str:
    entries = [*_NODE_PATH.split(":"), f"{root}/shared", wd]
    # A relative entry would mean another folder to the task than to the service.
    entries += [e for e in service_path.split(os.pathsep) if e.startswith("/") and e not in entries]
    return ":".join(entries)


def _user(launch: Launch) -> tuple[str, str]:
    """Name and identity words; commands really run as the user that runs the service."""
    identity = launch.user_identity or {}
    name = identity.get("username")
    auto: Mapping[str, str] = identity.get("autoUser") or {}
    level = "Admin" if str(auto.get("elevationLevel", "")).lower() == "admin" else "NonAdmin"
    if isinstance(name, str):
        return name, f"Pool{level}"
    if launch.kind == "start":  # recorded: a user of its own, though the scope reads "pool"
        return _START_TASK_USER, f"Task{level}"
    if str(auto.get("scope", "pool")).lower() == "task":
        return _TASK_SCOPE_USER, f"Task{level}"
    return _POOL_SCOPE_USER, f"Pool{level}"
