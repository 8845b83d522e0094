"""Who may do what: account keys (SharedKey) and shared access signatures.

Sources: "Authorize with Shared Key", "Create a service SAS", "Create an account SAS". Signatures of versions
from 2018-11-09 on; delegation keys and stored access policies are not served.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from azbatch_core.local.blobs.errors import BlobError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from azbatch_core.local.blobs.request import Request

_SIGNED_HEADERS = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)
_OVERRIDES = ("rscc", "rscd", "rsce", "rscl", "rsct")
_FIRST_VERSION = "2018-11-09"
_ENCRYPTION_SCOPE_VERSION = "2020-12-06"
_LEVELS = {"account": "s", "container": "c", "blob": "o"}
_SKEW = timedelta(minutes=15)
_TIME_FORMATS = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True)
class Need:
    """What an operation asks for.

    Attributes:
        any_of: Letters of permissions, any of which will do.
        by_service_sas: Whether a service SAS can allow it at all.
    """

    any_of: str
    by_service_sas: bool = True


class Authorizer:
    """Checks requests to one account.

    Args:
        account: The account's name.
        key: Its key, base64.
        now: Tells the time that signatures expire by. They begin by the machine's clock too, which is what
            clients sign by: one that has begun there is good where the clock is a virtual one, behind it.
    """

    def __init__(self, account: str, key: str, now: Callable[[], datetime]) -> None:
        self._account = account
        self._key = base64.b64decode(key)
        self._now = now

    def check(self, request: Request, need: Need) -> None:
        """Return if the request may do what it asks for, else raise `BlobError`."""
        if "sig" in request.query:
            self._check_sas(request, need)
        elif "authorization" in request.headers:
            self._check_key(request)
        else:
            raise BlobError("NoAuthenticationInformation")

    def sign(self, text: str) -> str:
        """The base64 signature of a string under the account's key."""
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        return base64.b64encode(digest).decode()

    def _check_key(self, request: Request) -> None:
        scheme, _, credential = request.headers["authorization"].partition(" ")
        account, _, signature = credential.partition(":")
        if scheme != "SharedKey" or account != self._account:
            raise BlobError("AuthenticationFailed", "Only the account's own SharedKey is accepted")
        if not any(self._matches(text, signature) for text in _strings_to_sign(request, self._account)):
            raise BlobError("AuthenticationFailed", "The MAC signature found in the request is not the same")

    def _check_sas(self, request: Request, need: Need) -> None:
        query = request.query
        if query.get("sv", "") < _FIRST_VERSION or query.get("si"):
            raise BlobError("AuthenticationFailed", "This version or kind of signature is not served")
        is_account_sas = "ss" in query
        text = self._account_text(query) if is_account_sas else self._service_text(request)
        if not self._matches(text, query["sig"]):
            raise BlobError("AuthenticationFailed", "Signature did not match")
        self._check_time(query)
        if is_account_sas:
            if "b" not in query["ss"] or _LEVELS[request.level] not in query.get("srt", ""):
                raise BlobError("AuthorizationResourceTypeMismatch")
        elif not need.by_service_sas:
            raise BlobError("AuthorizationFailure")
        if not set(need.any_of) & set(query.get("sp", "")):
            raise BlobError("AuthorizationPermissionMismatch")

    def _check_time(self, query: Mapping[str, str]) -> None:
        now = self._now()
        start, expiry = _time(query.get("st", "")), _time(query.get("se", ""))
        latest = max(now, datetime.now(timezone.utc)) + _SKEW
        if expiry is None or now >= expiry or (start is not None and latest < start):
            raise BlobError("AuthenticationFailed", "Signature not valid in the specified time frame")

    def _account_text(self, query: Mapping[str, str]) -> str:
        names = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"]
        if query["sv"] >= _ENCRYPTION_SCOPE_VERSION:
            names.append("ses")
        return "".join(f"{line}\n" for line in (self._account, *(query.get(name, "") for name in names)))

    def _service_text(self, request: Request) -> str:
        query = request.query
        kind = query.get("sr", "")
        if kind == "c":
            resource = f"/blob/{self._account}/{request.container}"
        elif kind == "b" and request.blob is not None:
            resource = f"/blob/{self._account}/{request.container}/{request.blob}"
        else:  # also: a blob's signature on its container
            raise BlobError("AuthenticationFailed", "The signature is for another resource")
        lines = [query.get(name, "") for name in ("sp", "st", "se")]
        lines += [resource, *(query.get(name, "") for name in ("si", "sip", "spr", "sv", "sr"))]
        lines.append("")  # snapshot
        if query["sv"] >= _ENCRYPTION_SCOPE_VERSION:
            lines.append(query.get("ses", ""))
        lines += [query.get(name, "") for name in _OVERRIDES]
        return "\n".join(lines)

    def _matches(self, text: str, signature: str) -> bool:
        return hmac.compare_digest(self.sign(text).encode(), signature.encode())


def service_sas(
    account: str, key: str, container: str, permissions: str, expiry: datetime, *, blob: str | None = None
) -> str:
    """The query of a service SAS for a container, or for one blob of it."""
    version = _ENCRYPTION_SCOPE_VERSION
    end = expiry.astimezone(timezone.utc).strftime(_TIME_FORMATS[0])
    kind, resource = ("c", container) if blob is None else ("b", f"{container}/{blob}")
    lines = [permissions, "", end, f"/blob/{account}/{resource}", "", "", "", version, kind, "", ""]
    text = "\n".join([*lines, *("" for _ in _OVERRIDES)])
    signature = Authorizer(account, key, lambda: expiry).sign(text)
    fields = {"sv": version, "sr": kind, "sp": permissions, "se": end, "sig": signature}
    return urlencode(fields, quote_via=quote, safe="")


def _strings_to_sign(request: Request, account: str) -> Iterator[str]:
    """The string to sign, once for each order that clients sort the x-ms- headers in."""
    headers = {**request.headers}
    if headers.get("content-length") == "0":
        headers["content-length"] = ""
    standard = [headers.get(name, "") for name in _SIGNED_HEADERS]
    resource = [f"/{account}{request.path}"]
    resource += [f"{name.lower()}:{request.query[name]}" for name in sorted(request.query)]
    own = [name for name in headers if name.startswith("x-ms-")]
    for order in (_as_windows_sorts, str):
        lines = [f"{name}:{headers[name]}" for name in sorted(own, key=order)]
        yield "\n".join([request.method, *standard, *lines, *resource])


def _as_windows_sorts(name: str) -> tuple[str, str]:
    # The service compares by culture: hyphens count last, an underscore comes before digits.
    return name.replace("-", "").replace("_", "!"), name


def _time(text: str) -> datetime | None:
    for form in _TIME_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=timezone.utc)
    return None
