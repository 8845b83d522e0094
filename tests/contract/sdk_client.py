"""The SDK's client on a local service, and the questions that tests ask by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest
from azure.batch import BatchClient
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError

if TYPE_CHECKING:
    from collections.abc import Callable


class Place(Protocol):
    """What is known of a service: `LocalBatch`, or the `Endpoint` of one in the background."""

    @property
    def endpoint(self) -> str:
        """Its URL."""

    @property
    def account_name(self) -> str:
        """Its account."""

    @property
    def account_key(self) -> str:
        """The account's key."""


def connect(place: Place) -> BatchClient:
    """A client that asks once, so that a refusal is seen, and polls without a pause."""
    key = AzureNamedKeyCredential(place.account_name, place.account_key)
    return BatchClient(place.endpoint, key, retry_total=0, polling_interval=0)


def code(error: pytest.ExceptionInfo[HttpResponseError]) -> str:
    """The service's code of an error that was raised."""
    found = error.value.error
    assert found is not None
    return str(found.code)


def refusal(call: Callable[[], object]) -> tuple[int | None, str]:
    """Status and code of a call that the service refuses."""
    with pytest.raises(HttpResponseError) as error:
        call()
    return error.value.status_code, code(error)
