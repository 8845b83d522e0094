"""URLs that may carry a signature (SAS): checked when made, never shown with the values of their query."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pydantic_core import core_schema

from azbatch_core.specs.problems import problem
from azbatch_core.specs.secrets import MASK, Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

_QUOTES: Final = ("'", '"', "`")
_SAS_MARKS: Final = ("sig=", "sv=", "se=", "sp=")


class UrlSecret:
    """A URL whose query may grant access (a SAS), or a reference to one (``env:NAME``, ``keyvault:…``).

    `repr`, `str` and JSON show the URL with ``***`` in place of each value of the query and of a password
    in it.

    Raises:
        SpecError: Not an http(s) URL with a host, quoted, a SAS without its ``?``, or a signature sent over
            plain http to a public host. The query is not repeated.
    """

    __slots__ = ("_parts", "_secret")

    _secret: Secret
    _parts: SplitResult | None

    def __init__(self, value: str | Secret) -> None:
        if value == "":
            raise problem("must not be empty")
        secret = value if isinstance(value, Secret) else Secret(value)
        parts = None if secret.reference else _parse(secret.reveal())
        object.__setattr__(self, "_secret", secret)
        object.__setattr__(self, "_parts", parts)

    @property
    def reference(self) -> str | None:
        """Where the URL is kept (``env:…``, ``keyvault:…``), or None when it is given as it is."""
        return self._secret.reference

    @property
    def signed(self) -> bool:
        """Whether the URL is known to carry a signature."""
        return "sig" in self.query

    @property
    def query(self) -> dict[str, str]:
        """The query's values, which may be secret; empty for a reference."""
        return dict(parse_qsl(self._parts.query, keep_blank_values=True)) if self._parts else {}

    @property
    def host(self) -> str | None:
        """The host name, in lower case; None for a reference."""
        return self._parts.hostname if self._parts else None

    @property
    def path(self) -> str | None:
        """The path, still percent-encoded; None for a reference."""
        return self._parts.path if self._parts else None

    @property
    def permissions(self) -> str | None:
        """What the SAS grants (``sp``), such as ``rl``; None when it does not say."""
        return self.query.get("sp")

    @property
    def expires(self) -> datetime | None:
        """When the SAS ends (``se``), in UTC; None when it does not say."""
        text = self.query.get("se", "").partition(".")[0].rstrip("Z")
        try:
            return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
        except ValueError:
            return None

    @property
    def shown(self) -> str:
        """The URL for people: no value of the query, no password."""
        if self._parts is None:
            return str(self.reference)
        host = self._parts.netloc.rpartition("@")
        netloc = f"{MASK}@{host[2]}" if host[1] else host[2]
        query = "&".join(f"{name}={MASK}" for name in self.query)
        return self._parts._replace(netloc=netloc, query=query, fragment="").geturl()

    def reveal(self, resolver: Callable[[str], str] | None = None) -> str:
        """The whole URL.

        Raises:
            ConfigurationError: As for `Secret.reveal`.
            SpecError: What a reference led to is not a valid URL.
        """
        url = self._secret.reveal(resolver)
        if self._parts is None:
            _parse(url)
        return url

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a UrlSecret is frozen")

    def __repr__(self) -> str:
        return f"UrlSecret({self.shown!r})"

    def __str__(self) -> str:
        return self.shown

    def __eq__(self, other: object) -> bool:
        return self._secret == other._secret if isinstance(other, UrlSecret) else NotImplemented

    def __hash__(self) -> int:
        return hash(("url", self._secret))

    def __copy__(self) -> UrlSecret:
        return self

    def __deepcopy__(self, memo: object) -> UrlSecret:
        return self

    def __reduce__(self) -> tuple[type[UrlSecret], tuple[str]]:
        if self.query or (self._parts and self._parts.password):
            raise TypeError(
                "a URL with a query cannot be pickled: it would be readable there; use a "
                "reference such as 'env:NAME'"
            )
        return (UrlSecret, (self.reference or self._secret.reveal(),))

    @classmethod
    def _validate(cls, value: object) -> UrlSecret:
        if isinstance(value, UrlSecret):
            return value
        if not isinstance(value, (str, Secret)):
            raise problem("a URL must be text")
        return cls(value)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="json"),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "type": "string",
            "minLength": 1,
            "description": (
                "A URL, with its SAS when it has one, or a reference to it (it is never shown with "
                "its query)."
            ),
            "examples": ["https://myaccount.blob.core.windows.net/data", "env:MY_SAS_URL"],
        }


def is_private_host(host: str) -> bool:
    """Whether a host is this machine or one of a private network, where plain http is accepted."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
    return address.is_private or address.is_loopback or address.is_link_local


def split_http_url(text: str) -> SplitResult:
    """The parts of an http(s) URL.

    Raises:
        SpecError: It is quoted, has another scheme or none, no host, a bad port, or spaces. The query is
            not repeated.
    """
    if text.startswith(_QUOTES) or text.endswith(_QUOTES):
        raise problem("the URL is in quotes twice", hint="remove the quotes that are part of the value")
    if any(char.isspace() or ord(char) < ord(" ") for char in text):
        raise problem("the URL has a space in it", hint="write it as %20, and remove spaces at the ends")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise problem("the URL cannot be read: its host or port is malformed") from None
    if parts.scheme not in {"http", "https"}:
        raise problem("is not an http(s) URL", hint="it starts with https://")
    if not parts.hostname:
        raise problem("the URL has no host")
    return parts


def _parse(text: str) -> SplitResult:
    parts = split_http_url(text)
    if any(f"{start}{mark}" in parts.path for mark in _SAS_MARKS for start in ("&", "/", ";")):
        raise problem("the URL has a SAS in its path", hint="put '?' between the URL and its SAS")
    names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if "sig" in names and parts.scheme == "http" and not is_private_host(parts.hostname or ""):
        raise problem("the URL sends its signature over plain http", hint="use https")
    return parts


def check_container_url(url: UrlSecret, *, needs: str) -> UrlSecret:
    """The URL itself, when it can name a blob container that grants what is needed.

    Args:
        url: The URL; a reference is taken as it is.
        needs: The letters that a SAS must have in ``sp``: ``rl`` to read, ``w`` to write (Batch docs,
            ResourceFile and OutputFileBlobContainerDestination).

    Raises:
        SpecError: It names an account or a blob, or its SAS does not cover the container or lacks a
            permission.
    """
    if url.path is None:
        return url
    segments = [part for part in url.path.split("/") if part]
    path_style = is_private_host(url.host or "")
    if not segments or (path_style and len(segments) == 1 and url.path.endswith("/")):
        raise problem(
            f"{url.shown} names no container",
            hint="add the container's name: https://ACCOUNT.blob.core.windows.net/CONTAINER",
        )
    if len(segments) > (2 if path_style else 1):
        raise problem(
            f"{url.shown} names a blob, not a container",
            hint="give the URL of the container; a prefix or path is a field of its own",
        )
    query = url.query
    if "restype" in query or "comp" in query:
        raise problem(
            f"{url.shown} is a request of the storage API, not the URL of a container",
            hint="remove restype and comp from the query",
        )
    if query.get("sr", "c") != "c":
        raise problem(f"{url.shown} has a SAS for a blob", hint="make a SAS for the container (sr=c)")
    return check_permissions(url, needs=needs)


def check_permissions(url: UrlSecret, *, needs: str) -> UrlSecret:
    """The URL itself, when its SAS (if it has one, and says so) grants the letters in `needs`.

    Raises:
        SpecError: A permission is missing.
    """
    words = {"r": "read", "l": "list", "w": "write"}
    missing = [words[letter] for letter in needs if letter not in (url.permissions or needs)]
    if missing:
        raise problem(
            f"{url.shown} has a SAS that does not grant {' and '.join(missing)}",
            hint=f"make one with sp={needs}",
        )
    return url
