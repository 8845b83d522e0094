"""Error codes of the Blob service with their statuses and messages ("Blob service error codes")."""

from __future__ import annotations

_CODES: dict[str, tuple[int, str]] = {
    "AuthenticationFailed": (
        403,
        (
            "Server failed to authenticate the request. Make sure the value of Authorization header is "
            "formed correctly including the signature."
        ),
    ),
    "AuthorizationFailure": (403, "This request is not authorized to perform this operation."),
    "AuthorizationPermissionMismatch": (
        403,
        "This request is not authorized to perform this operation using this permission.",
    ),
    "AuthorizationResourceTypeMismatch": (
        403,
        "This request is not authorized to perform this operation using this resource type.",
    ),
    "BlobAlreadyExists": (409, "The specified blob already exists."),
    "BlobNotFound": (404, "The specified blob does not exist."),
    "ConditionNotMet": (412, "The condition specified using HTTP conditional header(s) is not met."),
    "ContainerAlreadyExists": (409, "The specified container already exists."),
    "ContainerNotFound": (404, "The specified container does not exist."),
    "InvalidBlobType": (409, "The blob type is invalid for this operation."),
    "InvalidBlockId": (400, "The specified block ID is invalid."),
    "InvalidBlockList": (400, "The specified block list is invalid."),
    "InvalidHeaderValue": (400, "The value for one of the HTTP headers is not in the correct format."),
    "InvalidMetadata": (400, "The metadata specified is invalid. It has characters that are not permitted."),
    "InvalidQueryParameterValue": (
        400,
        "Value for one of the query parameters specified in the request URI is invalid.",
    ),
    "InvalidRange": (416, "The range specified is invalid for the current size of the resource."),
    "InvalidResourceName": (400, "The specified resource name contains invalid characters."),
    "InvalidUri": (400, "The requested URI does not represent any resource on the server."),
    "InvalidXmlDocument": (400, "The specified XML is not syntactically valid."),
    "Md5Mismatch": (400, "The MD5 value specified in the request did not match with the calculated value."),
    "NoAuthenticationInformation": (
        401,
        (
            "Server failed to authenticate the request. Please refer to the information in the "
            "www-authenticate header."
        ),
    ),
    "NotImplemented": (
        501,
        "The requested operation is not implemented on the specified resource.",
    ),
    "OutOfRangeInput": (400, "One of the request inputs is out of range."),
    "ResourceNotFound": (404, "The specified resource does not exist."),
    "UnsupportedHttpVerb": (405, "The resource doesn't support the specified HTTP verb."),
}


class BlobError(Exception):
    """A request that is refused.

    Attributes:
        code: The service's error code.
        status: Its HTTP status.
        message: Its message.
        detail: What was wrong with this request, for `AuthenticationErrorDetail`; never a secret.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.status, self.message = _CODES[code]
        self.detail = detail
