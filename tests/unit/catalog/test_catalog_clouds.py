"""The table of clouds: one account, one endpoint and one login in each."""

from __future__ import annotations

from typing import get_args

import pytest

from azbatch_core.catalog.clouds import (
    CLOUDS,
    CloudName,
    cloud_of_account,
    cloud_of_authority,
    is_azure,
)
from azbatch_core.errors import SpecError
from azbatch_core.specs import AccountSpec


def test_every_cloud_that_a_spec_can_name_is_in_the_table():
    assert set(CLOUDS) == set(get_args(CloudName)) == {"public", "usgov", "china", "bleu"}


@pytest.mark.parametrize("name", CLOUDS)
def test_an_endpoint_in_any_cloud_tells_its_cloud_and_account_and_takes_no_plain_http(name: CloudName):
    for ending in CLOUDS[name].accounts:
        host = f"mine.region{ending}"
        assert cloud_of_account(host) == name
        assert AccountSpec(name="a", endpoint=f"https://{host}", cloud=name).batch_account == "mine"
        with pytest.raises(SpecError, match="plain http"):
            AccountSpec(name="a", endpoint=f"http://{host}", cloud=name)
    assert cloud_of_authority(CLOUDS[name].authority) == name
    assert is_azure(f"store.{CLOUDS[name].blob}")


def test_other_hosts_are_of_no_cloud():
    assert cloud_of_account("localhost") is None
    assert cloud_of_authority("login.example.org") is None
    assert not is_azure("mine.westeurope.cloudapp.azure.com")
