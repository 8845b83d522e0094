"""`failureInfo` and `schedulingError` records: one table of codes, categories and messages.

Codes are those that Microsoft's own client knows (`TaskFailureInformationCodes`); messages and categories
come from the reference "Batch Status and Error Codes" and from recorded exchanges. Where neither prints a
message, the wording follows its neighbours.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azbatch_core.local.runtime.base import StopCause

_USER = "UserError"
_SERVER = "ServerError"
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}

CODES: dict[str, tuple[str, str]] = {
    "InvalidAutoScaleFormulaInAutoPool": (_USER, "The auto pool's automatic scaling formula is not valid"),
    "AutoPoolCreationFailedWithQuotaReached": (_USER, "The pool quota of the account has been reached"),
    "ApplicationPackageError": (_USER, "One of the specified application packages cannot be deployed"),
    "InvalidApplicationPackageReferencesInAutoPool": (
        _USER,
        "One or more application package references of the auto pool are invalid",
    ),
    "BlobAccessDenied": (_USER, "Access for one of the specified Azure Blob(s) is denied"),
    "BlobDownloadMiscError": (
        _SERVER,
        "Miscellaneous error encountered while downloading one of the specified Azure Blob(s)",
    ),
    "BlobDownloadTimedOut": (
        _SERVER,
        "Timeout encountered while downloading one of the specified Azure Blob(s)",
    ),
    "BlobNotFound": (_USER, "One of the specified Azure Blob(s) is not found"),
    "CommandLaunchFailed": (_USER, "Failed to launch the specified command line"),
    "CommandProgramNotFound": (_USER, "The specified command program is not found"),
    "ContainerInvalidImage": (_USER, "One or more specified container images are invalid"),
    "ContainerInvalidRegistry": (_USER, "One or more specified container registries are invalid"),
    # Recorded.
    "ContainerInvalidSettings": (_USER, "At least one value of specified task container settings is invalid"),
    # Named by the live tests of Microsoft's .NET client; the words are quoted by users.
    "ContainerPoolNotSupported": (_USER, "The specified pool does not support container tasks"),
    "ContainerTaskSettingsNotFound": (
        _USER,
        "Container-enabled compute node requires task container settings",
    ),
    "ContainerMiscError": (_SERVER, "Miscellaneous error encountered while running the container"),
    "DiskFull": (_SERVER, "There is not enough disk space on the node that was selected to run the task"),
    "FailureExitCode": (_USER, "The task exited with an exit code representing a failure"),
    "FileUploadAccessDenied": (
        _USER,
        "Access was denied to one of the specified Azure container(s) while uploading an output file",
    ),
    "FileUploadConflict": (_USER, "A conflict occurred while attempting to upload an output file"),
    "FileUploadContainerNotFound": (
        _USER,
        "One of the specified Azure container(s) was not found while attempting to upload an output file",
    ),
    "FileUploadMiscError": (_USER, "A miscellaneous error occurred while uploading an output file"),
    "FileUploadTimedOut": (_SERVER, "Timeout encountered while uploading an output file"),
    "ResourceContainerAccessDenied": (
        _USER,
        "Access for one of the specified Azure Blob container(s) is denied",
    ),
    "ResourceContainerListMiscError": (
        _SERVER,
        "Miscellaneous error encountered while listing one of the specified Azure Blob container(s)",
    ),
    "ResourceContainerListTimedOut": (
        _SERVER,
        "Timeout encountered while listing one of the specified Azure Blob container(s)",
    ),
    "ResourceContainerNotFound": (_USER, "One of the specified Azure Blob container(s) is not found"),
    "ResourceDirectoryCreateFailed": (
        _SERVER,
        "Failure encountered creating resource directory for the task",
    ),
    "ResourceFileCreateFailed": (_SERVER, "Failure encountered creating resource file"),
    "ResourceFileWriteFailed": (_SERVER, "Failure encountered writing resource file"),
    "TaskEnded": (_USER, "Task Was Ended by User Request"),
    "Unknown": (_SERVER, "An unknown error has occurred"),
}

# The code of a wall-clock stop is not published since node agent 1.11.8. TaskEnded is what agents before it
# gave; the message says the cause, so that nobody takes it for a user's request.
_WALL_CLOCK = ("TaskEnded", "The maximum wall clock time of the task expired")


class TaskFailure(Exception):  # noqa: N818 - it is the record of a failure, not an error of ours
    """A failure that ends a try before or after its process.

    Attributes:
        info: The `failureInfo` record.
    """

    def __init__(self, code: str, *, category: str | None = None, **details: str) -> None:
        super().__init__(code)
        self.info = failure(code, category=category, **details)


def failure(
    code: str, *, message: str | None = None, category: str | None = None, **details: str
) -> dict[str, Any]:
    """The `failureInfo` record of a code; `details` become its name-value pairs, in order."""
    usual_category, usual_message = CODES[code]
    record: dict[str, Any] = {
        "category": category or usual_category,
        "code": code,
        "message": message or usual_message,
    }
    if details:
        record["details"] = [{"name": name, "value": value} for name, value in details.items()]
    return record


def disk_failure(code: str, error: OSError, **details: str) -> TaskFailure:
    """What an error of the file system means: `DiskFull` if it is that, else `code`."""
    if error.errno in _DISK_FULL:
        code = "DiskFull"
    return TaskFailure(code, **details, Message=error.strerror or type(error).__name__)


def exit_failure() -> dict[str, Any]:
    """The record of a process that ended with a code other than 0 (details as recorded in 2020)."""
    return failure(
        "FailureExitCode",
        Message="The task process exited with an unexpected exit code",
        AdditionalErrorCode="FailureExitCode",
    )


def stop_failure(cause: StopCause) -> dict[str, Any]:
    """The record of a try that was stopped from outside."""
    if cause == "walltime":
        code, message = _WALL_CLOCK
        return failure(code, message=message, Message=message)
    return failure("TaskEnded")
