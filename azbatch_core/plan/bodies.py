"""The parts that all kinds of task have in common, in the service's JSON (api-version 2025-06-01).

Secrets stay leaf objects; see `azbatch_core.plan.secrets`. Properties at the service's default are left
out, so that ten thousand tasks stay small on the wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.plan.secrets import StorageRef
from azbatch_core.specs import command_line, iso_duration

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from azbatch_core.specs import (
        Command,
        ContainerSpec,
        EnvironmentVariable,
        RegistrySpec,
        ResourceFile,
    )
    from azbatch_core.specs.command import OperatingSystem

Body = dict[str, Any]


def environment(variables: Iterable[EnvironmentVariable]) -> list[Body]:
    """``environmentSettings``; secret values as leaves."""
    return [
        {"name": variable.name, "value": variable.secret if variable.secret is not None else variable.value}
        for variable in variables
    ]


def with_job_id(text: str | None, job_id: str | None) -> str | None:
    """A path or prefix with ``{job_id}`` filled in; the id is only known once the job is planned."""
    return text.replace("{job_id}", job_id) if text is not None and job_id is not None else text


def resource_files(files: Iterable[ResourceFile], job_id: str | None = None) -> list[Body]:
    """``resourceFiles``; signed URLs as leaves."""
    return [_resource_file(file, job_id) for file in files]


def _resource_file(file: ResourceFile, job_id: str | None) -> Body:
    own = StorageRef(file.container, permission="rl", identity=file.identity) if file.container else None
    body: Body = {
        "autoStorageContainerName": file.auto_storage_container_name,
        "storageContainerUrl": own or file.storage_container_url,
        "httpUrl": file.http_url,
        "blobPrefix": with_job_id(file.blob_prefix, job_id),
        "filePath": file.file_path,
        "fileMode": file.file_mode,
        "identityReference": _identity(file.identity),
    }
    return _without_empty(body)


def registry(spec: RegistrySpec) -> Body:
    """A ``ContainerRegistryReference``; the password as a leaf."""
    body: Body = {
        "registryServer": spec.server,
        "username": spec.username,
        "password": spec.password,
        "identityReference": _identity(spec.identity),
    }
    return _without_empty(body)


def container(spec: ContainerSpec) -> Body:
    """``containerSettings``.

    ``--rm`` is added unless the options have it: containers that stay fill the node's disk, and a full disk
    makes the node unusable.
    """
    given = spec.run_options_text
    options = given if "--rm" in given.split() else f"--rm {given}".strip()
    body: Body = {"imageName": spec.image, "containerRunOptions": options}
    if spec.registry is not None:
        body["registry"] = registry(spec.registry)
    if spec.working_directory != "taskWorkingDirectory":
        body["workingDirectory"] = spec.working_directory
    return body


def user_identity(*, elevated: bool) -> Body | None:
    """An administrator for elevated tasks; None means the service's default, an ordinary user of the pool."""
    return {"autoUser": {"scope": "pool", "elevationLevel": "admin"}} if elevated else None


def constraints(
    *, wall_time: timedelta | None, retention: timedelta | None, max_retries: int, default_retries: int = 0
) -> Body | None:
    """``constraints`` of a task; None when all are the service's defaults."""
    body: Body = {}
    if wall_time is not None:
        body["maxWallClockTime"] = iso_duration(wall_time)
    if retention is not None:
        body["retentionTime"] = iso_duration(retention)
    if max_retries != default_retries:
        body["maxTaskRetryCount"] = max_retries
    return body or None


def program(
    command: Command,
    *,
    os: OperatingSystem,
    variables: Iterable[EnvironmentVariable],
    files: Iterable[ResourceFile],
    in_container: ContainerSpec | None,
    elevated: bool,
    job_id: str | None = None,
) -> Body:
    """What every kind of task has: command line, environment, files, container, user."""
    body: Body = {
        "commandLine": command_line(command, os=os),
        "containerSettings": container(in_container) if in_container is not None else None,
        "resourceFiles": resource_files(files, job_id),
        "environmentSettings": environment(variables),
        "userIdentity": user_identity(elevated=elevated),
    }
    return {key: value for key, value in body.items() if value not in (None, [])}


def metadata(items: Iterable[tuple[str, str]]) -> list[Body]:
    """``metadata`` as the service's list of pairs."""
    return [{"name": name, "value": value} for name, value in items]


def _identity(resource_id: str | None) -> Body | None:
    return {"resourceId": resource_id} if resource_id else None


def _without_empty(body: Body) -> Body:
    return {key: value for key, value in body.items() if value is not None}
