"""The other side of `/_local`: one signed request to a running service, by the standard library alone."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
from email.utils import formatdate
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azbatch_core.local.auth import strings_to_sign

if TYPE_CHECKING:
    from azbatch_core.local.state import Endpoint

__all__ = ["AskError", "ask"]


class AskError(Exception):
    """The service refused, in its own words, or did not answer.

    Attributes:
        malformed: it was asked for what cannot be, whatever it does now.
    """

    def __init__(self, message: str, *, malformed: bool = False) -> None:
        super().__init__(message)
        self.malformed = malformed


def ask(
    endpoint: Endpoint, method: str, path: str, body: dict[str, Any] | None = None, timeout: float = 600.0
) -> dict[str, Any]:
    """The answer to one request below `/_local`.

    Args:
        endpoint: the service, and its key.
        method: `GET`, `POST` or `DELETE`.
        path: with the prefix, `/_local/clock`.
        body: what to send, as JSON.
        timeout: seconds to wait for the answer.

    Raises:
        AskError: it refused, or there was no answer.
    """
    raw = b"" if body is None else json.dumps(body).encode()
    headers = {"ocp-date": formatdate(usegmt=True)}
    if method != "GET":
        headers["content-length"] = str(len(raw))
    if raw:
        headers["content-type"] = "application/json"
    text = next(strings_to_sign(method, f"/{endpoint.account_name}{path}", "", headers))
    digest = hmac.new(base64.b64decode(endpoint.account_key), text.encode(), hashlib.sha256).digest()
    headers["authorization"] = f"SharedKey {endpoint.account_name}:{base64.b64encode(digest).decode()}"
    place = urlsplit(endpoint.endpoint)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=timeout)
    try:
        connection.request(method, path, raw or None, headers)
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise AskError(f"the local service at {endpoint.endpoint} does not answer: {error}") from None
    finally:
        connection.close()
    if response.status >= http.client.BAD_REQUEST:
        raise AskError(_said(answer), malformed=answer.get("code") == "InvalidRequestBody")
    return answer


def _said(answer: dict[str, Any]) -> str:
    telling = {"Reason", "AuthenticationErrorDetail"}
    reasons = [pair["value"] for pair in answer.get("values", ()) if pair.get("key") in telling]
    return " ".join(reasons) or answer["message"]["value"].splitlines()[0]
