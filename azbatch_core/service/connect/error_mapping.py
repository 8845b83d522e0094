"""Turn whatever the SDK raises into one error of the tree in `azbatch_core.errors`.

Two halves. `read_reply` and `from_reply` are pure: status, headers and body in, error out. `from_sdk` picks
those parts out of an exception of azure-core, and gives a connection that failed its own words.

The class of an SDK exception is never looked at when the service has answered: azure-batch raises
``ResourceExistsError`` for every 409 and ``ResourceModifiedError`` for every failure of a conditional
request.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azbatch_core.catalog import error_codes
from azbatch_core.errors import AuthenticationError, AzBatchError, ServiceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Reply", "from_reply", "from_sdk", "parse_retry_after", "read_reply", "reply_of", "scrub"]

_TAIL = re.compile(r"\s*RequestId:\s*(?P<id>[0-9A-Za-z-]+)\s*(?:Time:\s*(?P<time>\S+))?\s*$")
_SIGNATURE = re.compile(r"(?i)\b(sig=)[^&\s\"'<>;]+")
_XML_FIELD = "<{0}>(.*?)</{0}>"
_MAX_MESSAGE = 500
_CLOCK_CODES = ("AuthenticationFailed", "InvalidAuthenticationInfo")
# The service refuses requests whose date is more than 15 minutes off; a third of that is worth a word.
_SKEW_WORTH_TELLING = 300.0


@dataclass(frozen=True)
class Reply:
    """One answer that is not a success, as data.

    Attributes:
        status: The HTTP status.
        what: Method and path of the request, without its query.
        code: The service's code; None where there is no body, as on every HEAD.
        message: One line, without the trailing request id and time.
        details: The service's detail pairs.
        request_id: The service's id of the request.
        time: When the service answered, in its own words.
        retry_after: Seconds that the service asks to wait.
        clock_skew: Seconds by which this machine's clock is ahead of the service's; None without a Date
            header.
    """

    status: int
    what: str
    code: str | None = None
    message: str = ""
    details: dict[str, str] = field(default_factory=dict)
    request_id: str | None = None
    time: str | None = None
    retry_after: float | None = None
    clock_skew: float | None = None


_WAY = re.compile(r"^\s+(\w+): (.+)$", re.MULTILINE)
"""One way that azure-identity's chain tried, and the first line of what it says."""
_NOT_SET_UP = re.compile(
    r"unavailable|not (?:found|installed)|could not be found|requires the", re.IGNORECASE
)


def scrub(text: str) -> str:
    """Take signatures out of URLs in a text: the service echoes property values, and a SAS is a password."""
    return _SIGNATURE.sub(r"\1***", text)


def _one_line(text: str) -> str:
    line = " ".join(scrub(text).split())
    return line if len(line) <= _MAX_MESSAGE else line[: _MAX_MESSAGE - 1] + "…"


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait: ``Retry-After`` as seconds or as an HTTP date, or Azure's millisecond headers.

    A date is compared with the answer's own ``Date``, so that a wrong clock here does no harm. None when
    there is no such header, or nobody can read it. Names in `headers` are lower-case.
    """
    value = headers.get("retry-after", "").strip()
    if value:
        try:
            return max(0.0, float(value))
        except ValueError:
            due, sent = _http_date(value), _http_date(headers.get("date", "")) or now
            return max(0.0, (due - sent).total_seconds()) if due else None
    milliseconds = headers.get("retry-after-ms") or headers.get("x-ms-retry-after-ms") or ""
    try:
        return max(0.0, float(milliseconds) / 1000)
    except ValueError:
        return None


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def read_reply(
    status: int, headers: Mapping[str, str], body: str, *, what: str = "", now: datetime | None = None
) -> Reply:
    """Read an answer: the JSON of Batch, Entra ID and Key Vault, the XML of storage, or none of them.

    Args:
        status: The HTTP status.
        headers: The headers, in any case.
        body: The text of the body; may be empty.
        what: Method and path of the request.
        now: This machine's time, aware.
    """
    moment = now or datetime.now(timezone.utc)
    lower = {name.lower(): value for name, value in headers.items()}
    code, message, details = _read_body(body)
    tail = _TAIL.search(message)
    if tail:
        message = message[: tail.start()]
    date = _http_date(lower.get("date", ""))
    return Reply(
        status=status,
        what=what,
        code=lower.get("x-ms-error-code") or code,
        message=_one_line(message),
        details={key: _one_line(value) for key, value in details.items()},
        request_id=lower.get("request-id") or lower.get("x-ms-request-id") or (tail["id"] if tail else None),
        time=tail["time"] if tail else lower.get("date"),
        retry_after=parse_retry_after(lower, moment),
        clock_skew=(moment - date).total_seconds() if date else None,
    )


def _read_body(body: str) -> tuple[str | None, str, dict[str, str]]:
    """Code, message and details of a body, as far as it has them."""
    if body.lstrip("\ufeff \r\n").startswith("<?xml") or "<Error>" in body:
        found = {name: re.search(_XML_FIELD.format(name), body, re.DOTALL) for name in ("Code", "Message")}
        code, message = (match[1].strip() if match else "" for match in found.values())
        return code or None, message, {}
    try:
        document = json.loads(body)
    except ValueError:
        # An HTML page of a proxy says less than the status does.
        return None, "", {}
    if not isinstance(document, dict):
        return None, "", {}
    if "error_description" in document:
        # Entra ID: "AADSTS700016: …", then lines of trace ids.
        return str(document.get("error")), str(document["error_description"]).partition("\n")[0], {}
    inner = document["error"] if isinstance(document.get("error"), dict) else document
    message = inner.get("message") or ""
    if isinstance(message, dict):
        message = message.get("value") or ""
    pairs = inner.get("values") or []
    details = {str(pair.get("key")): str(pair.get("value")) for pair in pairs if isinstance(pair, dict)}
    code = inner.get("code")
    return (str(code) if code else None), str(message), details


def from_reply(reply: Reply) -> AzBatchError:
    """The error that an answer means: by its code, and by its status where the code is missing or new."""
    info = error_codes.lookup(reply.code, reply.status)
    hint = info.hint
    if reply.code in _CLOCK_CODES and abs(reply.clock_skew or 0) > _SKEW_WORTH_TELLING:
        minutes = round((reply.clock_skew or 0) / 60)
        side = "ahead" if minutes > 0 else "behind"
        hint = f"this machine's clock is {abs(minutes)} minutes {side}: set it right"
    message = reply.message or f"the service answered HTTP {reply.status}" + (
        f" to {reply.what}" if reply.what else ""
    )
    return info.kind(
        message,
        code=reply.code,
        details=reply.details,
        request_id=reply.request_id,
        hint=hint,
        retryable=info.retryable,
    )


def reply_of(error: BaseException | None) -> Reply | None:
    """The answer behind an SDK exception, or behind an error of ours that was raised from one, if any.

    The way to the status, the time and the Retry-After that an `AzBatchError` itself does not carry.
    """
    if isinstance(error, AzBatchError):
        error = error.__cause__
    response = getattr(error, "response", None)
    if response is None or not hasattr(response, "status_code"):
        return None
    request = getattr(response, "request", None)
    method, url = getattr(request, "method", ""), str(getattr(request, "url", ""))
    return read_reply(
        int(response.status_code),
        dict(response.headers),
        _text(response),
        what=f"{method} {urlsplit(url).path}".strip(),
    )


def _text(response: Any) -> str:
    """The body of a response of azure-core, also of one that was asked for as a stream."""
    try:
        if hasattr(response, "read"):
            response.read()
        return str(response.text())
    except Exception:  # noqa: BLE001 - whatever is wrong with a body, the status must still get through
        return ""


def from_sdk(exc: BaseException, endpoint: str = "") -> AzBatchError:
    """The error to raise for an exception of azure-core, azure-identity or azure-storage-blob.

    An `AzBatchError` comes back as it is. Use with ``raise from_sdk(exc, endpoint) from exc``.

    Args:
        exc: The exception.
        endpoint: URL of the service that was called, to be named where there was no answer.
    """
    if isinstance(exc, AzBatchError):
        return exc
    reply = reply_of(exc)
    success_below = 300
    if reply is not None and reply.status >= success_below:
        if _from_identity(exc, reply):
            return _identity_error(reply.message, reply.code)
        return from_reply(reply)
    if type(exc).__name__ in ("ClientAuthenticationError", "CredentialUnavailableError"):
        return _identity_error(str(getattr(exc, "message", exc)), None)
    return _no_answer(exc, urlsplit(endpoint).netloc.rpartition("@")[2])


def _from_identity(exc: BaseException, reply: Reply) -> bool:
    """Whether the one who refused was Entra ID (or the metadata service), not the service called."""
    return type(exc).__module__.startswith("azure.identity") or (reply.code or "").startswith(
        ("invalid_", "unauthorized_client", "interaction_required")
    )


def _identity_error(text: str, code: str | None) -> AuthenticationError:
    """Put azure-identity's text, many lines with one per way that it tried, on one."""
    return AuthenticationError(
        _one_line(_of_chain(text)) or "no credential could be had",
        code=code,
        hint="run 'az login', set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or use a key",
    )


def _of_chain(text: str) -> str:
    """What azure-identity's chain says, without the ways to log in that are not set up here."""
    _, found, tried = text.partition("Attempted credentials:")
    ways = _WAY.findall(tried)
    if not found or not ways:
        return text
    telling = [f"{name}: {said}" for name, said in ways if not _NOT_SET_UP.search(said)]
    return (
        "; ".join(telling) or f"there is no login: azure-identity tried {len(ways)} ways, none of them set up"
    )


def _no_answer(exc: BaseException, host: str) -> AzBatchError:
    where = f" from {host}" if host else ""
    for cause in _causes(exc):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ServiceUnavailable(
                f"the TLS certificate{where} is not trusted: {cause.verify_message}",
                hint="behind a proxy that re-encrypts, point REQUESTS_CA_BUNDLE at its CA certificate",
            )
        if isinstance(cause, ssl.SSLError):
            reason = (cause.reason or "unknown reason").replace("_", " ").lower()
            return ServiceUnavailable(f"no answer{where}: TLS failed ({reason})", retryable=True)
        if isinstance(cause, socket.gaierror):
            return ServiceUnavailable(
                f"no answer{where}: the host name is not known",
                hint="check the account's endpoint and the network",
                retryable=True,
            )
        if isinstance(cause, ConnectionRefusedError):
            return ServiceUnavailable(
                f"no answer{where}: connection refused",
                hint="check that the service is running at that address",
                retryable=True,
            )
        if isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__:
            return ServiceUnavailable(f"no answer{where}: timed out", retryable=True)
    return ServiceUnavailable(
        f"no answer{where}: the connection failed ({type(exc).__name__})", retryable=True
    )


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """Every exception below one: azure-core, requests and urllib3 keep theirs in different places."""
    seen: set[int] = set()
    queue: list[Any] = [exc]
    while queue:
        item = queue.pop(0)
        if not isinstance(item, BaseException) or id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        queue += [getattr(item, "inner_exception", None), getattr(item, "reason", None), *item.args]
        queue += [item.__cause__, item.__context__]
