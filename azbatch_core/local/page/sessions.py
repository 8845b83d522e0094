"""Who may look at the page: one-time codes, and the sessions that they open.

`azbatch local open` asks for a code by a signed request and opens the page with it, in the URL's fragment,
which a browser sends nowhere. The page's script hands it in and gets a cookie. Both live in memory, as
digests, and end with the service. A session lets read, not write.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

__all__ = ["CODE_SECONDS", "SESSION_SECONDS", "Sessions"]

CODE_SECONDS = 120.0
SESSION_SECONDS = 12 * 3600.0
_CODES_MOST = 16
_SESSIONS_MOST = 64
_OWN_PAGES = frozenset({"", "same-origin", "none"})
_READING = frozenset({"GET", "HEAD"})


class _Tokens:
    """Random words, each good for a while; beyond `most` the oldest are no good any more."""

    def __init__(self, seconds: float, most: int, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._ends: dict[bytes, float] = {}

    def new(self) -> str:
        word = secrets.token_urlsafe(32)
        self._ends[_digest(word)] = self._clock() + self._seconds
        while len(self._ends) > self._most:
            del self._ends[next(iter(self._ends))]
        return word

    def find(self, word: str) -> bytes | None:
        """The digest of a word that is good."""
        now = self._clock()
        self._ends = {known: end for known, end in self._ends.items() if end > now}
        digest = _digest(word)
        found = None
        for known in self._ends:
            if hmac.compare_digest(known, digest):
                found = known
        return found

    def use_up(self, word: str) -> bool:
        """Whether it was good; it is not any more."""
        found = self.find(word)
        return found is not None and self._ends.pop(found) > 0


class Sessions:
    """The sessions of one service.

    Args:
        port: the service's: browsers keep one set of cookies for all ports of a host, so its name has it.
        clock: seconds on any scale that only goes forward.
    """

    def __init__(self, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._cookie = f"azbatch-page-{port}"
        self._codes = _Tokens(CODE_SECONDS, _CODES_MOST, clock)
        self._sessions = _Tokens(SESSION_SECONDS, _SESSIONS_MOST, clock)

    def new_code(self) -> str:
        """A code that opens one session within two minutes."""
        return self._codes.new()

    def open(self, code: str) -> str:
        """The value of `Set-Cookie` for a new session.

        Raises:
            BatchError: `AuthenticationFailed`: the code is not one of the latest, was used, or is too old.
        """
        if not self._codes.use_up(code):
            raise BatchError(
                "AuthenticationFailed",
                AuthenticationErrorDetail="The code was used before or is too old; run `azbatch local open`.",
            )
        word = self._sessions.new()
        return f"{self._cookie}={word}; Path=/_page; Max-Age={SESSION_SECONDS:.0f}; HttpOnly; SameSite=Strict"

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether the request comes from the page and has the cookie of a session."""
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        ours = headers.get("sec-fetch-site", "") in _OWN_PAGES
        return ours and cookie is not None and self._sessions.find(cookie.value) is not None

    def check(self, headers: Mapping[str, str]) -> None:
        """Return if the request comes from the page and has the cookie of a session.

        Raises:
            BatchError: `AuthenticationFailed`.
        """
        if not self.knows(headers):
            raise BatchError(
                "AuthenticationFailed",
                AuthenticationErrorDetail="There is no session; run `azbatch local open`.",
            )

    def verify(
        self,
        method: str,
        path: str,  # noqa: ARG002 - a session may read everything
        query: str,  # noqa: ARG002 - same
        headers: Mapping[str, str],
        now: datetime,  # noqa: ARG002 - sessions go by a clock that nobody sets
    ) -> None:
        """`Verifier.verify`: a session may read.

        Raises:
            BatchError: `AuthenticationFailed`; `UnsupportedHttpVerb` for a method that writes.
        """
        if method not in _READING:
            raise BatchError("UnsupportedHttpVerb")
        self.check(headers)


def _digest(word: str) -> bytes:
    return hashlib.sha256(word.encode("utf-8", "surrogateescape")).digest()
