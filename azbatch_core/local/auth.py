"""SharedKey: who may ask.

The string to sign is the one of "Authenticate Batch requests via shared key" (Batch REST reference). Clients
differ in three details, and any of these forms is accepted: a request without a body signs its length as `0`
or as nothing, query names are signed as sent or in lower case, and a parameter with an empty value is signed
as `name:` or left out, as the SDK does.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import itertools
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_SKEW = timedelta(minutes=15)
_SIGNED_HEADERS = (
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)
_BODILESS = frozenset({"", "0"})


class Verifier(Protocol):
    """What tells who may ask."""

    def verify(self, method: str, path: str, query: str, headers: Mapping[str, str], now: datetime) -> None:
        """Return if the request may be answered, else raise a `BatchError`; arguments as for `SharedKey`."""


class SharedKey:
    """The keys of one account.

    Args:
        account: the account's name.
        keys: its keys, base64; a request may be signed with any of them.
    """

    def __init__(self, account: str, *keys: str) -> None:
        self._account = account
        self._keys = [base64.b64decode(key, validate=True) for key in keys]

    def __repr__(self) -> str:
        return f"SharedKey({self._account!r})"

    def verify(self, method: str, path: str, query: str, headers: Mapping[str, str], now: datetime) -> None:
        """Return if the request is signed with a key of the account, and was so within 15 minutes of `now`.

        Args:
            method: the HTTP method, upper case.
            path: the path as it arrived, percent-encoding and all.
            query: the query string as it arrived.
            headers: the request's headers, names in lower case.
            now: aware present time.

        Raises:
            BatchError: `AuthenticationFailed`; `InvalidAuthenticationInfo` for a header in a wrong format.
        """
        signature = self._signature(headers.get("authorization", ""))
        _check_date(headers, now)
        for text in strings_to_sign(method, f"/{self._account}{path}", query, headers):
            message = text.encode("utf-8", "surrogateescape")
            for key in self._keys:
                if hmac.compare_digest(hmac.digest(key, message, hashlib.sha256), signature):
                    return
        raise _failed(
            "The MAC signature found in the HTTP request is not the same as any computed signature."
        )

    def _signature(self, header: str) -> bytes:
        scheme, _, credentials = header.strip().partition(" ")
        if not scheme:
            raise _failed("The Authorization header is missing.")
        if scheme.lower() != "sharedkey":
            raise _failed(f"The authentication scheme {scheme[:32]} is not supported here; use SharedKey.")
        account, colon, signature = credentials.strip().partition(":")
        if not colon:
            raise BatchError(
                "InvalidAuthenticationInfo", Reason="SharedKey <account>:<signature> is expected."
            )
        if account != self._account:
            raise _failed("The account of the Authorization header is not the one asked.")
        try:
            return base64.b64decode(signature, validate=True)
        except (binascii.Error, ValueError):
            raise _failed("The signature is not base64.") from None


def strings_to_sign(method: str, resource: str, query: str, headers: Mapping[str, str]) -> Iterator[str]:
    """Every form of the string to sign that a client may have signed, the SDK's own first."""
    length = headers.get("content-length", "")
    if method in ("GET", "HEAD"):
        lengths = ["", length] if length else [""]
    else:
        lengths = ["0", ""] if length in _BODILESS else [length]
    opening = [method, headers.get("content-encoding", ""), headers.get("content-language", "")]
    signed = [headers.get(name, "") for name in _SIGNED_HEADERS]
    service_headers = [
        f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("ocp-") and headers[name]
    ]
    for names, written in itertools.product(_spellings(query), lengths):
        parameters = [f"{name}:{names[name]}" for name in sorted(names)]
        yield "\n".join([*opening, written, *signed, *service_headers, resource, *parameters])


def _spellings(query: str) -> list[dict[str, str]]:
    """The query's parameters, in each of the forms that clients sign; of repeated ones the first counts."""
    found: list[dict[str, str]] = []
    for blanks in (False, True):
        pairs = {name: values[0] for name, values in parse_qs(query, keep_blank_values=blanks).items()}
        for form in (pairs, {name.lower(): value for name, value in pairs.items()}):
            if form not in found:
                found.append(form)
    return found


def _check_date(headers: Mapping[str, str], now: datetime) -> None:
    text = headers.get("ocp-date") or headers.get("date") or ""
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        raise _failed("The ocp-date header is missing or is no RFC 1123 date.") from None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    try:
        skew = abs(now - date)
    except OverflowError:
        skew = timedelta.max
    if skew > MAX_SKEW:
        raise _failed("The ocp-date header is more than 15 minutes from the service's time.")


def _failed(detail: str) -> BatchError:
    return BatchError("AuthenticationFailed", AuthenticationErrorDetail=detail)
