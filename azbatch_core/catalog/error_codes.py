"""What each error code of the Batch service means to a caller: class, next step, whether waiting can help.

The codes are those of "Batch Status and Error Codes" (Batch REST reference), of the constants in the .NET and
Java SDKs, and of public recordings of the service. Callers branch on the code alone: the SDK raises one class
for every 409 and another for every failed conditional request, so its classes say nothing.

A code that is not listed is judged by its HTTP status (`by_status`), so a new code still lands in the right
class.
"""

from __future__ import annotations

from typing import NamedTuple

from azbatch_core.errors import (
    AuthenticationError,
    AzBatchError,
    Conflict,
    InvalidRequest,
    NotFound,
    QuotaExceeded,
    ServiceUnavailable,
    Throttled,
)

__all__ = ["CODES", "CodeInfo", "by_status", "lookup"]


class CodeInfo(NamedTuple):
    """How to report a code.

    Attributes:
        kind: The class to raise.
        hint: The next step for a person, or None where the message says it all.
        retryable: Whether the same call can succeed later without a change by the caller. Only `Throttled`
            and `ServiceUnavailable` are retried by the connection itself; for others waiting is the caller's
            choice.
    """

    kind: type[AzBatchError]
    hint: str | None = None
    retryable: bool = False


_KEY_HINT = "check the account name, the key and this machine's clock: requests are signed with the time"
_ROLE_HINT = "the credential needs a role on the account, such as 'Azure Batch Data Contributor'"
_ENTRA_HINT = (
    "a pool in a virtual network or with a gallery image needs an Entra ID credential, not a shared key"
)
_QUOTA_HINT = "wait for other work to end, delete what is no longer needed, or ask Azure to raise the quota"
_GONE_NODE_HINT = "the node was removed or preempted; its files went with it"
_BUG_HINT = "the request was malformed; please report this with the request id"

_NOT_FOUND = CodeInfo(NotFound)
_EXISTS = CodeInfo(Conflict, "choose another id, or delete the existing one first")
_STATE = CodeInfo(Conflict)
_BUSY = CodeInfo(Conflict, "wait until the change in progress has ended", retryable=True)
_DELETING = CodeInfo(Conflict, "the id is free again once the deletion has ended", retryable=True)
_WRONG = CodeInfo(InvalidRequest)
_WRONG_VALUE = CodeInfo(InvalidRequest, "the details name the property and the reason")
_MALFORMED = CodeInfo(InvalidRequest, _BUG_HINT)
_QUOTA = CodeInfo(QuotaExceeded, _QUOTA_HINT, retryable=True)
_DOWN = CodeInfo(ServiceUnavailable, retryable=True)
_BUSY_SERVICE = CodeInfo(Throttled, "send fewer requests at a time", retryable=True)

CODES: dict[str, CodeInfo] = {
    # Who is asking.
    "AuthenticationFailed": CodeInfo(AuthenticationError, _KEY_HINT),
    "InvalidAuthenticationInfo": CodeInfo(AuthenticationError, _KEY_HINT),
    "InsufficientAccountPermissions": CodeInfo(AuthenticationError, _ROLE_HINT),
    "InsufficientPermissions": CodeInfo(AuthenticationError, _ROLE_HINT),
    "AuthorizationFailure": CodeInfo(
        AuthenticationError,
        "the firewall of the storage account may exclude this machine, or a role is missing;"
        " containers that exist already need no access from here",
    ),
    "AuthorizationPermissionMismatch": CodeInfo(
        AuthenticationError,
        "the credential needs the role 'Storage Blob Data Contributor' on the storage",
    ),
    "KeyBasedAuthenticationNotPermitted": CodeInfo(
        AuthenticationError,
        "the storage takes no keys: use an Entra ID credential, and identities on nodes",
    ),
    "UnauthorizedRequest": CodeInfo(AuthenticationError, _ROLE_HINT),
    "AccountIsDisabled": CodeInfo(AuthenticationError, "enable the account in Azure, or use another one"),
    "Forbidden": CodeInfo(AuthenticationError, _ENTRA_HINT),
    "InvalidRestAPIForAccountSetting": CodeInfo(
        AuthenticationError, "the account forbids this kind of access"
    ),
    # Too much, or not now.
    "TooManyRequests": _BUSY_SERVICE,
    # Half a minute is long: whether to wait for it is the caller's choice.
    "TooManyEnableAutoScaleRequests": CodeInfo(
        Conflict, "a pool takes one new autoscale formula every 30 seconds", retryable=True
    ),
    "ServerBusy": _DOWN,
    "InternalError": _DOWN,
    "OperationTimedOut": _DOWN,
    "IOError": _DOWN,
    "ActiveJobAndScheduleQuotaReached": CodeInfo(
        QuotaExceeded,
        "completed jobs do not count: wait for active ones, terminate idle ones, or ask for a higher quota",
        retryable=True,
    ),
    "PoolQuotaReached": _QUOTA,
    "AccountCoreQuotaReached": _QUOTA,
    "AccountLowPriorityCoreQuotaReached": _QUOTA,
    # No such thing.
    "ResourceNotFound": _NOT_FOUND,
    "PoolNotFound": _NOT_FOUND,
    "JobNotFound": _NOT_FOUND,
    "JobScheduleNotFound": _NOT_FOUND,
    "TaskNotFound": _NOT_FOUND,
    "NodeNotFound": CodeInfo(NotFound, _GONE_NODE_HINT),
    "FileNotFound": CodeInfo(NotFound, "list the files of the task or node to see what is there"),
    "PathNotFound": CodeInfo(NotFound, "list the files of the task or node to see what is there"),
    "NodeUserNotFound": _NOT_FOUND,
    "CertificateNotFound": _NOT_FOUND,
    "ApplicationNotFound": _NOT_FOUND,
    "NodeAgentSKUNotFound": CodeInfo(
        NotFound, "the node agent must match the image: see the supported images"
    ),
    "JobPreparationTaskNotRunOnNode": _NOT_FOUND,
    "JobReleaseTaskNotRunOnNode": _NOT_FOUND,
    "StorageAccountNotFound": CodeInfo(NotFound, "link a storage account to the Batch account"),
    "OSVersionNotFound": _NOT_FOUND,
    "ContainerNotFound": _NOT_FOUND,
    "BlobNotFound": _NOT_FOUND,
    # The name is taken.
    "PoolExists": _EXISTS,
    "JobExists": _EXISTS,
    "JobScheduleExists": _EXISTS,
    "TaskExists": _EXISTS,
    "NodeUserExists": _EXISTS,
    "CertificateExists": _EXISTS,
    "ResourceAlreadyExists": _EXISTS,
    "JobWithSameIdExists": _EXISTS,
    "JobScheduleWithSameIdExists": _EXISTS,
    "ContainerAlreadyExists": _EXISTS,
    "TaskIdSameAsJobPreparationTask": CodeInfo(Conflict, "give the task another id"),
    "TaskIdSameAsJobReleaseTask": CodeInfo(Conflict, "give the task another id"),
    # The state forbids it.
    "ConditionNotMet": CodeInfo(Conflict, "someone else changed it meanwhile: read it again", retryable=True),
    "OperationInvalidForCurrentState": _STATE,
    "PoolBeingResized": _BUSY,
    "PoolBeingCreated": _BUSY,
    "PoolBeingDeleted": _DELETING,
    "NodeBeingCreated": _BUSY,
    "NodeBeingStarted": _BUSY,
    "NodeBeingReimaged": _BUSY,
    "NodeBeingRebooted": _BUSY,
    "NodeStateUnusable": CodeInfo(Conflict, "reboot or remove the node"),
    "NodeAlreadyInTargetSchedulingState": _STATE,
    "NodeCountsMismatch": _STATE,
    "OperationNotValidOnNode": _STATE,
    "OperationNotValidOnPool": _STATE,
    "JobBeingTerminated": _STATE,
    "JobBeingDeleted": _DELETING,
    "JobDisabled": CodeInfo(Conflict, "enable the job first"),
    "JobCompleted": CodeInfo(Conflict, "a completed job takes no more tasks: submit a new one"),
    "JobNotActive": _STATE,
    "JobScheduleBeingTerminated": _STATE,
    "JobScheduleBeingDeleted": _DELETING,
    "JobScheduleDisabled": CodeInfo(Conflict, "enable the schedule first"),
    "JobScheduleCompleted": _STATE,
    "JobPreparationTaskNotSpecified": _STATE,
    "JobReleaseTaskNotSpecified": _STATE,
    "JobPreparationTaskOrReleaseTaskNotSpecified": _STATE,
    "TaskCompleted": _STATE,
    "TaskNotCompleted": CodeInfo(Conflict, "wait until the task has completed"),
    "TaskSucceeded": _STATE,
    "TaskFilesUnavailable": CodeInfo(
        Conflict, "the node cannot be reached now; the files may return", retryable=True
    ),
    "TaskFilesCleanedup": CodeInfo(Conflict, "the retention time has passed; only uploaded outputs remain"),
    "CertificateBeingDeleted": _DELETING,
    "CertificateDeleteFailed": _STATE,
    "CertificateStateActive": _STATE,
    "UpgradePoolVersionConflict": _STATE,
    "PoolNotEligibleForOSVersionUpgrade": _STATE,
    "PoolVersionEqualsUpgradeVersion": _STATE,
    "ContainerBeingDeleted": _DELETING,
    # The request is wrong.
    "InvalidPropertyValue": _WRONG_VALUE,
    "MissingRequiredProperty": _WRONG_VALUE,
    "UnsupportedProperty": _WRONG_VALUE,
    "InvalidConstraintValue": _WRONG_VALUE,
    "UnsupportedConstraint": _WRONG_VALUE,
    "OutOfRangePriority": CodeInfo(InvalidRequest, "priorities run from -1000 to 1000"),
    "OutOfRangeInput": _WRONG_VALUE,
    "InvalidInput": _WRONG_VALUE,
    "InvalidMetadata": _WRONG,
    "EmptyMetadataKey": _WRONG,
    "MetadataTooLarge": _WRONG,
    "InvalidApplicationPackageReferences": _WRONG_VALUE,
    "InvalidCertificateReferences": _WRONG_VALUE,
    "InvalidAutoScalingSettings": _WRONG_VALUE,
    "AutoScalingFormulaSyntaxError": _WRONG_VALUE,
    "AutoScalingFormulaTooLong": CodeInfo(InvalidRequest, "a formula has at most 8,192 characters"),
    "AutoScaleFormulaTooLong": CodeInfo(InvalidRequest, "a formula has at most 8,192 characters"),
    "TaskDependenciesNotSpecifiedOnJob": _WRONG,
    "TaskDependencyListTooLong": CodeInfo(InvalidRequest, "depend on a whole stage or on a range of ids"),
    "TaskDependencyRangesTooLong": CodeInfo(InvalidRequest, "merge neighbouring ranges"),
    "RequestBodyTooLarge": CodeInfo(InvalidRequest, "put long lists into a file or a container"),
    "RequestEntityTooLarge": CodeInfo(InvalidRequest, "put long lists into a file or a container"),
    "CloudServiceConfigurationRetired": _WRONG,
    "PoolUsageMetricAPIRetired": _WRONG,
    "OSVersionDisabled": _WRONG,
    "OSVersionExpired": _WRONG,
    "InvalidRange": _WRONG,
    "ResourceTypeMismatch": _WRONG,
    "NotImplemented": CodeInfo(InvalidRequest, "this service does not offer the operation"),
    "InvalidQueryParameterValue": _WRONG,
    "OutOfRangeQueryParameterValue": _WRONG,
    "MissingRequiredHeader": _MALFORMED,
    "MissingContentLengthHeader": _MALFORMED,
    "UnsupportedHeader": _MALFORMED,
    "InvalidHeaderValue": _MALFORMED,
    "MissingRequiredQueryParameter": _MALFORMED,
    "UnsupportedQueryParameter": _MALFORMED,
    "RequestUrlFailedToParse": _MALFORMED,
    "InvalidUri": _MALFORMED,
    "InvalidHttpVerb": _MALFORMED,
    "UnsupportedHttpVerb": _MALFORMED,
    "UnsupportedHttpVersion": _MALFORMED,
    "UnsupportedRequestVersion": CodeInfo(InvalidRequest, "the service does not know API version 2025-06-01"),
    "InvalidRequestBody": _MALFORMED,
    "HostInformationNotPresent": _MALFORMED,
    "MultipleConditionHeadersNotSupported": _MALFORMED,
}

_STATUSES: dict[int, CodeInfo] = {
    401: CodeInfo(AuthenticationError, _KEY_HINT),
    403: CodeInfo(AuthenticationError, _ROLE_HINT),
    404: _NOT_FOUND,
    408: _DOWN,
    409: _STATE,
    410: _NOT_FOUND,
    412: CODES["ConditionNotMet"],
    429: _BUSY_SERVICE,
    501: CODES["NotImplemented"],
}

_SERVER_ERRORS = 500


def by_status(status: int) -> CodeInfo:
    """Judge an answer that carries no code, or one that is not listed."""
    if status in _STATUSES:
        return _STATUSES[status]
    return _DOWN if status >= _SERVER_ERRORS else _WRONG


def lookup(code: str | None, status: int) -> CodeInfo:
    """The meaning of a code; where it is unknown, that of the HTTP status.

    A listed code wins over the status, with one exception: 429 always means "too many requests".
    """
    too_many = 429
    if code is None or status == too_many:
        return by_status(status)
    return CODES.get(code) or by_status(status)
