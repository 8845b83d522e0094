"""Trying an account that does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.errors import ServiceUnavailable
from azbatch_core.service.accounts.check import check
from azbatch_core.service.connect.connection import Connection
from azbatch_core.service.documents import requests
from azbatch_core.specs import AccountSpec, Secret

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

KEY = "bG9jYWwga2V5IG9mIGEgdGVzdCwgbm90IGEgc2VjcmV0"


def test_a_host_that_does_not_answer_is_one_item(mocker: MockerFixture) -> None:
    send = mocker.patch.object(requests, "send", side_effect=ServiceUnavailable("no answer from x"))
    account = AccountSpec(
        name="far", endpoint="https://x.test", credential="shared_key", account_key=Secret(KEY)
    )
    found = check(Connection(account))
    assert [(item.name, item.ok, item.text) for item in found.items] == [("batch", False, "no answer from x")]
    assert send.call_count == 1
