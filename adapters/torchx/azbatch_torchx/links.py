"""Where to look at an app in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from azbatch_core import AccountSpec

LOCAL = "local"


def of_job(account: AccountSpec, job_id: str) -> str | None:
    """The job on the local service's page, or its account in the portal.

    The portal needs the account's resource id: None without subscription and resource group in the profile.
    """
    if account.name == LOCAL and account.endpoint:
        return f"{account.endpoint}/_page/#/jobs/{quote(job_id, safe='')}"
    if account.subscription_id is None or account.resource_group is None:
        return None
    tenant = f"@{account.tenant_id}/" if account.tenant_id else "@/"
    return (
        f"https://portal.azure.com/#{tenant}resource/subscriptions/{account.subscription_id}/resourceGroups/"
        f"{account.resource_group}/providers/Microsoft.Batch/batchAccounts/{account.batch_account}"
    )
