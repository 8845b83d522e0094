"""Files that come to a node before a task, and files that leave it afterwards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from azbatch_core.specs.base import Spec
from azbatch_core.specs.names import check_text
from azbatch_core.specs.problems import problem, show
from azbatch_core.specs.urls import UrlSecret, check_container_url, check_permissions

if TYPE_CHECKING:
    from typing_extensions import Self

UploadCondition = Literal["tasksuccess", "taskfailure", "taskcompletion"]

_CONTAINER: Final = re.compile(r"(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*")
_MODE: Final = re.compile(r"0?[0-7]{3}")
_IDENTITY: Final = re.compile(
    r"(?i)/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.ManagedIdentity/userAssignedIdentities/[^/]+"
)
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_MAX_BLOB_NAME: Final = 1024
_SOURCES: Final = ("http_url", "storage_container_url", "auto_storage_container_name", "container")


def _check_identity(value: str) -> str:
    if not _IDENTITY.fullmatch(value):
        raise problem(
            f"{show(value)} is not the resource id of a user-assigned identity",
            hint="`az identity show --query id` prints it: /subscriptions/…/resourceGroups/…/providers/"
            "Microsoft.ManagedIdentity/userAssignedIdentities/NAME",
        )
    return value


Identity = Annotated[str, AfterValidator(_check_identity)]
"""The ARM resource id of a user-assigned managed identity that the pool has."""


def check_container_name(value: str) -> str:
    """The value itself, when it is a blob container's name: 3 to 63 of a-z, 0-9 and single hyphens.

    Raises:
        SpecError: It is not.
    """
    if not _CONTAINER.fullmatch(value):
        raise problem(
            f"{show(value)} is not a container's name: 3 to 63 lower-case letters, digits and single hyphens"
        )
    return value


class ResourceFile(Spec):
    """A file, or all files of a container or prefix, that is on the node before the command runs.

    Exactly one of `http_url`, `storage_container_url`, `auto_storage_container_name` and `container`.
    """

    http_url: UrlSecret | None = Field(
        default=None, description="The URL of one file; file_path says where it goes."
    )
    storage_container_url: UrlSecret | None = Field(
        default=None,
        description=(
            "The URL of a blob container; its SAS must grant read and list, unless identity is given."
        ),
    )
    auto_storage_container_name: str | None = Field(
        default=None,
        description="The name of a container in the storage account that the Batch account is linked to.",
        examples=["inputs"],
    )
    container: str | None = Field(
        default=None,
        description="The name of a container in the account's own storage; azbatch signs its URL.",
        examples=["inputs"],
    )
    file_path: str | None = Field(
        default=None,
        description=(
            "Where it goes, relative to the task's working directory: the file's name with http_url, else a "
            "folder."
        ),
        examples=["data/reads.fastq"],
    )
    blob_prefix: str | None = Field(
        default=None,
        description="Only blobs whose names start so; for containers. {job_id} stands for the job's id.",
        examples=["run-7/", "{job_id}/"],
    )
    file_mode: str | None = Field(
        default=None,
        description="Linux permissions in octal, as text. Batch's default is 0770.",
        examples=["0755"],
    )
    identity: Identity | None = Field(
        default=None,
        description=(
            "The resource id of the user-assigned identity (one that the pool has) that reads the storage."
        ),
    )

    @field_validator("auto_storage_container_name", "container")
    @classmethod
    def _check_container(cls, value: str | None) -> str | None:
        return value if value is None else check_container_name(value)

    @field_validator("storage_container_url")
    @classmethod
    def _check_container_url(cls, value: UrlSecret | None) -> UrlSecret | None:
        return value if value is None else check_container_url(value, needs="rl")

    @field_validator("http_url")
    @classmethod
    def _check_http_url(cls, value: UrlSecret | None) -> UrlSecret | None:
        return value if value is None else check_permissions(value, needs="r")

    @field_validator("file_path")
    @classmethod
    def _check_path(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not value:
            raise problem("must not be empty")
        if value.startswith("/") or _DRIVE.match(value):
            raise problem(
                f"{show(value)} is absolute: a resource file goes below the task's working directory",
                hint="make it relative",
            )
        if "\\" in value:
            raise problem(f"{show(value)} has a backslash", hint="use '/' on every system")
        depth = 0
        for part in value.split("/"):
            depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
            if depth < 0:
                raise problem(f"{show(value)} leaves the task's working directory, which Batch refuses")
        return check_text(value)

    @field_validator("file_mode")
    @classmethod
    def _check_mode(cls, value: str | None) -> str | None:
        if value is not None and not _MODE.fullmatch(value):
            raise problem(f"{show(value)} is not an octal file mode", hint="write it like '0755'")
        return value

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        given = [name for name in _SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            said = f"both {given[0]} and {given[1]}" if given else "none"
            raise problem(f"a resource file needs exactly one of {', '.join(_SOURCES)}, and has {said}")
        if self.http_url is not None and self.file_path is None:
            raise problem(
                "is missing: http_url needs it",
                field="file_path",
                hint="give the name that the file gets on the node",
            )
        if self.http_url is not None and self.file_path is not None and self.file_path.endswith("/"):
            raise problem(
                f"{show(self.file_path)} is a folder, and http_url is one file",
                field="file_path",
                hint="add the file's name",
            )
        if self.http_url is not None and self.blob_prefix is not None:
            raise problem("goes with a container, not with http_url", field="blob_prefix")
        if self.auto_storage_container_name is not None and self.identity is not None:
            raise problem("goes with a URL; Batch reads its own storage account by itself", field="identity")
        return self


class OutputFile(Spec):
    """Files that Batch uploads to a blob container when the task has ended.

    Exactly one of `container_url` and `container`.
    """

    file_pattern: str = Field(
        description=(
            "Which files, relative to the task's working directory: * ** ? [abc]. A name that starts with a "
            "dot matches only when the dot is written. The task's streams are ../stdout.txt and "
            "../stderr.txt."
        ),
        examples=["results/*.csv", "../std*.txt"],
    )
    container_url: UrlSecret | None = Field(
        default=None,
        description="The URL of the blob container; its SAS must grant write, unless identity is given.",
    )
    container: str | None = Field(
        default=None,
        description="The name of a container in the account's own storage; made when it does not exist.",
        examples=["results"],
    )
    path: str | None = Field(
        default=None,
        description=(
            "With a wildcard in file_pattern: the folder in the container. Without: the blob's name. Left "
            "out: a folder (or name) below <job id>/<task id>/, so that tasks do not overwrite each other. "
            "{job_id} stands for the job's id."
        ),
        examples=["run-7/results", "{job_id}/all"],
    )
    identity: Identity | None = Field(
        default=None,
        description=(
            "The resource id of the user-assigned identity (one that the pool has) that writes there."
        ),
    )
    upload_condition: UploadCondition = Field(
        default="taskcompletion", description="Upload when the task succeeded, failed, or in both cases."
    )

    @field_validator("file_pattern")
    @classmethod
    def _check_pattern(cls, value: str) -> str:
        if not value.strip():
            raise problem("must not be empty")
        if "\\" in value:
            raise problem(f"{show(value)} has a backslash", hint="use '/' on every system")
        if value.endswith("/"):
            raise problem(
                f"{show(value)} is a folder",
                hint=f"write {value + '*'!r}, or {value + '**/*'!r} for all below it",
            )
        return check_text(value)

    @field_validator("container")
    @classmethod
    def _check_container(cls, value: str | None) -> str | None:
        return value if value is None else check_container_name(value)

    @field_validator("container_url")
    @classmethod
    def _check_container_url(cls, value: UrlSecret | None) -> UrlSecret | None:
        return value if value is None else check_container_url(value, needs="w")

    @field_validator("path")
    @classmethod
    def _check_path(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if "\\" in value:
            raise problem(f"{show(value)} has a backslash", hint="use '/' in the names of blobs")
        if value.startswith("/"):
            raise problem(
                f"{show(value)} starts with '/', which would make a folder without a name", hint="remove it"
            )
        if len(value) > _MAX_BLOB_NAME:
            raise problem(f"has {len(value)} characters: a blob's name has at most {_MAX_BLOB_NAME}")
        return check_text(value)

    @model_validator(mode="after")
    def _check_destination(self) -> Self:
        if (self.container_url is None) == (self.container is None):
            raise problem("an output file needs exactly one of container_url and container")
        if self.path is not None and not self.has_wildcard and (not self.path or self.path.endswith("/")):
            raise problem(
                f"{show(self.path)} is a folder, but {show(self.file_pattern)} is one file, "
                "whose path is the blob's whole name",
                field="path",
                hint=f"write {self.path + self.file_pattern.rpartition('/')[2]!r}",
            )
        return self

    @property
    def has_wildcard(self) -> bool:
        """Whether the pattern can match several files, so that `path` is a folder, not a blob's name."""
        return any(char in self.file_pattern for char in "*?[")
