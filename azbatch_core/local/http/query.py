"""The query string: what was asked besides the path."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Iterable

API_VERSIONS = (
    "2025-06-01",
    "2024-07-01.20.0",
    "2024-02-01.19.0",
    "2023-11-01.18.0",
    "2023-05-01.17.0",
    "2022-10-01.16.0",
)
"""The current one first; clients that speak the older ones are still about.

The oldest is what `@azure/batch` 10.2.0, the last of its line for Node.js, speaks.
"""

_EVERYWHERE = frozenset({"api-version", "timeout"})


class Query:
    """Query parameters; names without regard to case (clients wrote `timeout` before they wrote `timeOut`).

    A parameter given twice counts once, by its first value.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._values: dict[str, str] = {}
        for name, value in parse_qsl(raw, keep_blank_values=True, errors="replace"):
            self._values.setdefault(name.lower(), value)

    def get(self, name: str) -> str | None:
        """The value of a parameter, None if it was not given."""
        return self._values.get(name.lower())

    def flag(self, name: str) -> bool:
        """The value of a Boolean parameter, false if it was not given.

        Raises:
            BatchError: `InvalidQueryParameterValue`.
        """
        value = self.get(name)
        if value is None:
            return False
        if value.lower() not in ("true", "false"):
            raise invalid_parameter(name, value, "true or false is expected")
        return value.lower() == "true"

    def check(self, allowed: Iterable[str]) -> None:
        """Refuse parameters that the operation does not have, and a `timeOut` that is no number.

        Args:
            allowed: the operation's own parameters, in lower case.

        Raises:
            BatchError: `UnsupportedQueryParameter` or `InvalidQueryParameterValue`.
        """
        for name, value in self._values.items():
            if name not in _EVERYWHERE and name not in allowed:
                raise BatchError(
                    "UnsupportedQueryParameter", QueryParameterName=name, QueryParameterValue=value
                )
        timeout = self.get("timeOut")
        if timeout is not None and not timeout.isdecimal():
            raise invalid_parameter("timeOut", timeout, "a number of seconds is expected")

    def api_version(self) -> str:
        """The api-version, if the service speaks it.

        Raises:
            BatchError: `MissingRequiredQueryParameter` or `UnsupportedRequestVersion`.
        """
        version = self.get("api-version")
        if not version:
            raise BatchError("MissingRequiredQueryParameter", QueryParameterName="api-version")
        if version not in API_VERSIONS:
            raise BatchError(
                "UnsupportedRequestVersion",
                QueryParameterName="api-version",
                QueryParameterValue=version,
                Reason=f"This service speaks {', '.join(API_VERSIONS)}.",
            )
        return version


def invalid_parameter(name: str, value: str, reason: str) -> BatchError:
    """The service's error for a query parameter with a wrong value."""
    return BatchError(
        "InvalidQueryParameterValue", QueryParameterName=name, QueryParameterValue=value, Reason=reason
    )
