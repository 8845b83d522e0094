"""The service's errors: one table from code to status and message, one exception that carries a code.

Codes, statuses and messages are those of "Batch Status and Error Codes" (Batch REST reference); where a real
answer is public, its wording wins over the document's. Packages below the HTTP layer only raise
`BatchError`; turning it into an envelope is the HTTP layer's business.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

__all__ = ["ERRORS", "HIDDEN", "BatchError", "ErrorInfo", "invalid_property", "shown"]

HIDDEN = "***"
"""What errors show of a value that may hold a secret."""

_SHOWN_CHARACTERS = 1024
_SIGNED = re.compile(r"(?:sig|accountkey|sharedaccesskey)(?:=|%3d)", re.IGNORECASE)


class ErrorInfo(NamedTuple):
    """What a code means on the wire."""

    status: int
    message: str


ERRORS: dict[str, ErrorInfo] = {
    # The request itself.
    "ConditionNotMet": ErrorInfo(412, "The condition specified using HTTP conditional header(s) is not met."),
    "MissingRequiredHeader": ErrorInfo(400, "A required HTTP header was not specified."),
    "MissingRequiredProperty": ErrorInfo(400, "A required property was not specified in the request body."),
    "UnsupportedHeader": ErrorInfo(400, "One of the HTTP headers specified in the request is not supported."),
    "UnsupportedProperty": ErrorInfo(
        400, "One of the properties specified in the request body is not supported."
    ),
    "InvalidHeaderValue": ErrorInfo(
        400, "The value for one of the HTTP headers is not in the correct format."
    ),
    "InvalidPropertyValue": ErrorInfo(
        400, "The value provided for one of the properties in the request body is invalid."
    ),
    "MissingRequiredQueryParameter": ErrorInfo(
        400, "A query parameter that's mandatory for this request is not specified."
    ),
    "UnsupportedQueryParameter": ErrorInfo(
        400, "One of the query parameters specified in the request URI is not supported."
    ),
    "InvalidQueryParameterValue": ErrorInfo(
        400, "Value for one of the query parameters specified in the request URI is invalid."
    ),
    "OutOfRangeQueryParameterValue": ErrorInfo(
        400, "A query parameter specified in the request URI is outside the permissible range."
    ),
    "RequestUrlFailedToParse": ErrorInfo(400, "The url in the request could not be parsed."),
    "InvalidUri": ErrorInfo(400, "The requested URI does not represent any resource on the server."),
    "InvalidHttpVerb": ErrorInfo(400, "The HTTP verb specified was not recognized by the server."),
    "EmptyMetadataKey": ErrorInfo(400, "The key for one of the metadata key-value pairs is empty."),
    "InvalidRequestBody": ErrorInfo(400, "The specified Request Body is not syntactically valid."),
    "OutOfRangeInput": ErrorInfo(400, "One of the request inputs is out of range."),
    "InvalidAuthenticationInfo": ErrorInfo(
        400, "The authentication information was not provided in the correct format."
    ),
    "InvalidInput": ErrorInfo(400, "One of the request inputs is not valid."),
    "InvalidMetadata": ErrorInfo(
        400, "The specified metadata is invalid. It includes characters that are not permitted."
    ),
    "MetadataTooLarge": ErrorInfo(
        400, "The size of the specified metadata exceeds the maximum size permitted."
    ),
    "MultipleConditionHeadersNotSupported": ErrorInfo(400, "Multiple condition headers are not supported."),
    "HostInformationNotPresent": ErrorInfo(400, "The host information was missing from the HTTP request."),
    "UnsupportedRequestVersion": ErrorInfo(400, "The specified request version is not supported."),
    "UnsupportedHttpVersion": ErrorInfo(
        400, "The Batch service does not support the specified version of the HTTP protocol."
    ),
    "AuthenticationFailed": ErrorInfo(
        403,
        "Server failed to authenticate the request. Make sure the value of Authorization header is formed"
        " correctly including the signature.",
    ),
    "InsufficientAccountPermissions": ErrorInfo(
        403, "The account being accessed does not have sufficient permissions to execute this operation."
    ),
    "AccountIsDisabled": ErrorInfo(403, "The specified account is disabled."),
    "Forbidden": ErrorInfo(403, "Access is Forbidden"),
    "ResourceNotFound": ErrorInfo(404, "The specified resource does not exist."),
    "UnsupportedHttpVerb": ErrorInfo(405, "The resource doesn't support the specified HTTP verb."),
    "MissingContentLengthHeader": ErrorInfo(411, "The Content-Length header was not specified."),
    "RequestBodyTooLarge": ErrorInfo(
        413, "The request body is too large and exceeds the maximum permissible limit."
    ),
    "InvalidRange": ErrorInfo(416, "The range specified is invalid for the current size of the resource."),
    "TooManyRequests": ErrorInfo(
        429, "The request rate is too high. Please wait for some time before retrying."
    ),
    "InternalError": ErrorInfo(
        500, "Server encountered an internal error. Please try again after some time."
    ),
    "OperationTimedOut": ErrorInfo(500, "The operation could not be completed within the permitted time."),
    "NotImplemented": ErrorInfo(501, "The operation is not implemented."),
    "ServerBusy": ErrorInfo(
        503, "The server is currently unable to receive requests. Please retry your request."
    ),
    # Pools and scaling.
    "PoolNotFound": ErrorInfo(404, "The specified pool does not exist."),
    "PoolExists": ErrorInfo(409, "The specified pool already exists."),
    "PoolBeingDeleted": ErrorInfo(
        409, "The specified pool has been marked for deletion and is being reclaimed."
    ),
    "PoolBeingResized": ErrorInfo(409, "The specified pool is being resized."),
    "PoolBeingCreated": ErrorInfo(409, "The specified pool is being created."),
    "PoolQuotaReached": ErrorInfo(409, "Pool quota for the account has been reached."),
    "OperationNotValidOnPool": ErrorInfo(409, "The specified operation is not valid on the pool."),
    "InvalidApplicationPackageReferences": ErrorInfo(
        409, "One or more of the specified application package references are invalid."
    ),
    "PoolUsageMetricAPIRetired": ErrorInfo(400, "Pool list usage metrics API was retired on 09/30/2024"),
    "CloudServiceConfigurationRetired": ErrorInfo(
        400,
        "CloudServiceConfiguration pools are retired as of 2/29/2024, and new pools of this type cannot"
        " be added",
    ),
    "InvalidAutoScalingSettings": ErrorInfo(400, "The specified auto-scaling settings are not valid."),
    "AutoScalingFormulaSyntaxError": ErrorInfo(400, "The specified auto-scaling formula has a syntax error."),
    "AutoScaleFormulaTooLong": ErrorInfo(400, "The specified auto-scaling formula exceeds lengths limit."),
    "TooManyEnableAutoScaleRequests": ErrorInfo(
        503, "Too many Enable Pool AutoScale requests are issued on the pool."
    ),
    "NodeCountsMismatch": ErrorInfo(400, "The node counts do not match."),
    "NodeAgentSKUNotFound": ErrorInfo(404, "The specified Node Agent SKU does not exist."),
    # Nodes and their users.
    "NodeNotFound": ErrorInfo(404, "The specified node does not exist."),
    "NodeBeingCreated": ErrorInfo(409, "The specified node is being created."),
    "NodeBeingStarted": ErrorInfo(409, "The specified node is being started."),
    "NodeBeingReimaged": ErrorInfo(409, "The specified node is being reimaged."),
    "NodeBeingRebooted": ErrorInfo(409, "The specified node is being rebooted."),
    "NodeStateUnusable": ErrorInfo(409, "The state of the specified node is unusable."),
    "NodeAlreadyInTargetSchedulingState": ErrorInfo(
        409, "The specified node is already in the target scheduling state."
    ),
    "OperationNotValidOnNode": ErrorInfo(409, "The specified operation is not valid on the node."),
    "NodeUserNotFound": ErrorInfo(404, "The specified node user does not exist."),
    "NodeUserExists": ErrorInfo(409, "The specified node user already exists."),
    # Jobs.
    "JobNotFound": ErrorInfo(404, "The specified job does not exist."),
    "JobExists": ErrorInfo(409, "The specified job already exists."),
    "JobBeingTerminated": ErrorInfo(409, "The specified job is being terminated."),
    "JobBeingDeleted": ErrorInfo(
        409, "The specified job has been marked for deletion and is being garbage collected."
    ),
    "JobDisabled": ErrorInfo(409, "The specified job is disabled."),
    "JobCompleted": ErrorInfo(409, "The specified job is already in a completed state."),
    "JobNotActive": ErrorInfo(409, "The specified job is not in active state."),
    "JobWithSameIdExists": ErrorInfo(
        409,
        "A job with the specified job schedule id exists. Job and job schedule cannot have the same id.",
    ),
    "ActiveJobAndScheduleQuotaReached": ErrorInfo(
        409, "Active job and job schedule quota for the account has been reached."
    ),
    "OutOfRangePriority": ErrorInfo(
        400, "A job priority was specified which was outside the permitted range of -1000 to 1000."
    ),
    "InvalidConstraintValue": ErrorInfo(400, "A value in a job or task constraint is out of range."),
    "UnsupportedConstraint": ErrorInfo(400, "A requested job or task constraint is not supported."),
    "JobPreparationTaskNotSpecified": ErrorInfo(409, "The specified job does not have job preparation task."),
    "JobReleaseTaskNotSpecified": ErrorInfo(409, "The specified job does not have job release task."),
    "JobPreparationTaskOrReleaseTaskNotSpecified": ErrorInfo(
        409, "The specified job does not have either job preparation task or job release task."
    ),
    "JobPreparationTaskNotRunOnNode": ErrorInfo(
        404, "The job preparation task did not run on the specified node."
    ),
    "JobReleaseTaskNotRunOnNode": ErrorInfo(404, "The job release task did not run on the specified node."),
    # Job schedules.
    "JobScheduleNotFound": ErrorInfo(404, "The specified job schedule does not exist."),
    "JobScheduleExists": ErrorInfo(409, "The specified job schedule already exists."),
    "JobScheduleBeingTerminated": ErrorInfo(409, "The specified job schedule is being terminated."),
    "JobScheduleBeingDeleted": ErrorInfo(
        409, "The specified job schedule has been marked for deletion and is being reclaimed."
    ),
    "JobScheduleDisabled": ErrorInfo(409, "The specified job schedule is disabled."),
    "JobScheduleCompleted": ErrorInfo(409, "The specified job schedule is already in completed state."),
    "JobScheduleWithSameIdExists": ErrorInfo(
        409, "A job schedule with the specified job id exists. Job and job schedule cannot have the same id."
    ),
    # Tasks.
    "TaskNotFound": ErrorInfo(404, "The specified task does not exist."),
    "TaskExists": ErrorInfo(409, "The specified task already exists."),
    "TaskCompleted": ErrorInfo(409, "The specified task is already in a completed state."),
    "TaskNotCompleted": ErrorInfo(
        409,
        "The specified task is not in a completed state, and the requested operation can be performed only on"
        " completed tasks.",
    ),
    "TaskSucceeded": ErrorInfo(
        409,
        "The specified task has already completed successfully, and the requested operation cannot be"
        " performed on successful tasks.",
    ),
    "TaskIdSameAsJobPreparationTask": ErrorInfo(
        409, "The specified task id is same as the job preparation task."
    ),
    "TaskIdSameAsJobReleaseTask": ErrorInfo(409, "The specified task id is same as the job release task."),
    "TaskDependenciesNotSpecifiedOnJob": ErrorInfo(
        400,
        "A task was specified as depending on other tasks, but the job did not specify that it would use task"
        " dependencies.",
    ),
    "TaskDependencyListTooLong": ErrorInfo(
        400, "The list of dependencies was too long to be stored (64000 characters)."
    ),
    "TaskDependencyRangesTooLong": ErrorInfo(400, "The list of task id ranges was too long to be stored."),
    # Files.
    "TaskFilesUnavailable": ErrorInfo(409, "The files of the specified task are unavailable."),
    "TaskFilesCleanedup": ErrorInfo(409, "The files of the specified task are cleanedup."),
    "FileNotFound": ErrorInfo(404, "The specified file does not exist."),
    "IOError": ErrorInfo(403, "An I/O error occurred when accessing the specified resource."),
    # Everything else.
    "OperationInvalidForCurrentState": ErrorInfo(
        409, "The specified operation is not valid for the current state of the resource."
    ),
    "ApplicationNotFound": ErrorInfo(404, "The specified application does not exist."),
    "ResourceAlreadyExists": ErrorInfo(409, "The specified resource already exists."),
    "ResourceTypeMismatch": ErrorInfo(409, "The resource does not match the expected type."),
}


class BatchError(Exception):
    """A request the service refuses, by one of its own codes.

    `BatchError("JobNotFound")`, or with the detail pairs that the envelope's `values` carry, in the order
    given: `BatchError("InvalidPropertyValue", PropertyName="id", PropertyValue="a b", Reason="...")`.

    Raises:
        KeyError: the code is not in `ERRORS`.
    """

    def __init__(self, code: str, /, **values: object) -> None:
        self.info = ERRORS[code]
        self.code = code
        self.values: list[tuple[str, str]] = [(key, str(value)) for key, value in values.items()]
        super().__init__(code)

    def hide(self, name: str) -> None:
        """Show nothing of the detail of that name, if there is one."""
        self.values = [(key, HIDDEN if key == name else value) for key, value in self.values]

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return self.info.status

    @property
    def message(self) -> str:
        """The code's message, without the request id and time that the envelope adds."""
        return self.info.message

    def __str__(self) -> str:
        detail = "".join(f", {key}={value}" for key, value in self.values)
        return f"{self.code} ({self.status}): {self.message}{detail}"


def invalid_property(name: str, value: Any, reason: str | None = None) -> BatchError:
    """The error for a property of the body with a wrong value."""
    return BatchError(
        "InvalidPropertyValue",
        PropertyName=name,
        PropertyValue=shown(value),
        Reason=reason or ERRORS["InvalidPropertyValue"].message,
    )


def shown(value: Any) -> str:
    """A value of the body as errors show it: text as it is, numbers as JSON, not too much of it.

    Objects and arrays are not shown, nor what is signed: any of them may hold a secret.
    """
    if isinstance(value, (dict, list)):
        return HIDDEN
    text = value if isinstance(value, str) else json.dumps(value)
    return HIDDEN if _SIGNED.search(text) else text[:_SHOWN_CHARACTERS]
