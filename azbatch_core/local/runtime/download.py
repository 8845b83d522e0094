"""One file over HTTP(S), for resource files with a URL of their own."""

from __future__ import annotations

import http.client
import string
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from azbatch_core.local.runtime.failures import TaskFailure
from azbatch_core.local.runtime.storage import (
    STORAGE_SCOPE,
    developer_credential,
    is_loopback,
    locally_signed,
    needs_token,
    without_query,
)

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping

    from azbatch_core.local.runtime.base import BlobPlace

_TIMEOUT = 60.0  # seconds without a byte
_PAUSES = (0.25, 1.0)  # seconds before the second and the third try
_PIECE = 256 * 1024
_URL_CHARACTERS = string.ascii_letters + string.digits + "-._~:/?#[]@!$&'()*+,;=%"
_SERVER_ERROR = 500
_TOO_MANY = 429
_DENIED = {401, 403}
_GONE = {404, 410}


def download(
    url: str,
    write: Callable[[Iterator[bytes]], None],
    *,
    identity: Mapping[str, Any] | None,
    blobs: BlobPlace | None,
    given_up: threading.Event,
) -> None:
    """Fetch a URL and give its body to `write`; tries three times where a new try may help.

    Redirections are followed.

    Raises:
        TaskFailure: `BlobNotFound`, `BlobAccessDenied`, `BlobDownloadTimedOut` or `BlobDownloadMiscError`.
    """
    pauses = iter(_PAUSES)
    while (trouble := _try_to_download(url, write, identity, blobs, given_up)) is not None:
        failure, may_help = trouble
        pause = next(pauses, None)
        if pause is None or not may_help or given_up.wait(pause):
            raise failure


def _try_to_download(
    url: str,
    write: Callable[[Iterator[bytes]], None],
    identity: Mapping[str, Any] | None,
    blobs: BlobPlace | None,
    given_up: threading.Event,
) -> tuple[TaskFailure, bool] | None:
    """The failure, if any, and whether a new try may help."""
    try:
        request = _request_for(url, identity, blobs)
        with _opener(url).open(request, timeout=_TIMEOUT) as response:
            write(_pieces(response, given_up))
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _judge(error, url)
    return None


def _request_for(
    url: str, identity: Mapping[str, Any] | None, blobs: BlobPlace | None
) -> urllib.request.Request:
    if urlsplit(url).scheme not in {"http", "https"}:
        raise TaskFailure(
            "BlobDownloadMiscError", BlobSource=without_query(url), Message="Not an http or https URL"
        )
    signed = locally_signed(url, identity, blobs, "r")
    request = urllib.request.Request(quote(signed, safe=_URL_CHARACTERS))  # noqa: S310 - checked above
    request.add_header("User-Agent", "azbatch-local")
    if identity and needs_token(signed):
        request.add_header("Authorization", f"Bearer {_token(url)}")
        request.add_header("x-ms-version", "2021-12-02")
    return request


def _token(url: str) -> str:
    from azure.core.exceptions import AzureError

    try:
        token = developer_credential().get_token(STORAGE_SCOPE).token
    except AzureError as error:
        raise TaskFailure(
            "BlobAccessDenied", BlobSource=without_query(url), Message="Nobody is logged in on this machine"
        ) from error
    return str(token)


def _pieces(response: http.client.HTTPResponse, given_up: threading.Event) -> Iterator[bytes]:
    expected = response.length
    received = 0
    while not given_up.is_set() and (piece := response.read(_PIECE)):
        received += len(piece)
        yield piece
    if expected is not None and received < expected and not given_up.is_set():
        raise http.client.IncompleteRead(b"", expected - received)


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(  # noqa: PLR0917 - the overridden method's
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            new.remove_header("Authorization")  # a token is for the first host only
        return new


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Only HTTP and HTTPS, wherever a redirection leads."""
    opener = urllib.request.OpenerDirector()
    proxies: dict[str, str] | None = {} if is_loopback(url) else None
    for handler in (
        urllib.request.ProxyHandler(proxies),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _judge(error: Exception, url: str) -> tuple[TaskFailure, bool]:
    """The failure that an exception means, and whether another try may help."""
    shown = without_query(url)
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        may_help = error.code >= _SERVER_ERROR or error.code == _TOO_MANY
        code = "BlobDownloadMiscError"
        if error.code in _DENIED:
            code = "BlobAccessDenied"
        elif error.code in _GONE:
            code = "BlobNotFound"
        return TaskFailure(code, BlobSource=shown, Message=f"HTTP status {error.code}"), may_help
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return TaskFailure("BlobDownloadTimedOut", BlobSource=shown), True
    # Never the text of an exception: it may hold the whole URL.
    may_help = not isinstance(error, ValueError) and not isinstance(reason, str)
    message = type(reason).__name__ if may_help else "The URL is not one that can be asked"
    if isinstance(reason, OSError) and reason.strerror:
        message = reason.strerror
    return TaskFailure("BlobDownloadMiscError", BlobSource=shown, Message=message), may_help
