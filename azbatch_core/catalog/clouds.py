"""Azure's clouds: what differs between them, as azure-cli-core 2.91 has it ("cloud.py")."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

CloudName = Literal["public", "usgov", "china", "bleu"]


class Cloud(NamedTuple):
    """What differs between Azure's clouds.

    Attributes:
        authority: Host of Entra ID.
        batch: Resource id of the Batch service, as registered there.
        vault: What the host names of Key Vaults end in.
        blob: What the host names of blob storage end in.
        accounts: What the host names of Batch accounts end in, the current ending first.
    """

    authority: str
    batch: str
    vault: str
    blob: str
    accounts: tuple[str, ...]


CLOUDS: Final[dict[CloudName, Cloud]] = {
    "public": Cloud(
        "login.microsoftonline.com",
        "https://batch.core.windows.net/",
        "vault.azure.net",
        "blob.core.windows.net",
        (".batch.azure.com",),
    ),
    "usgov": Cloud(
        "login.microsoftonline.us",
        "https://batch.core.usgovcloudapi.net/",
        "vault.usgovcloudapi.net",
        "blob.core.usgovcloudapi.net",
        (".batch.usgovcloudapi.net", ".batch.azure.us"),
    ),
    "china": Cloud(
        "login.chinacloudapi.cn",
        "https://batch.chinacloudapi.cn/",
        "vault.azure.cn",
        "blob.core.chinacloudapi.cn",
        (".batch.chinacloudapi.cn", ".batch.azure.cn"),
    ),
    "bleu": Cloud(
        "login.sovcloud-identity.fr",
        "https://batch.sovcloud-api.fr/",
        "vault.sovcloud-api.fr",
        "blob.core.sovcloud-api.fr",
        (".batch.sovcloud-api.fr",),
    ),
}

ACCOUNT_HOSTS: Final = tuple(ending for cloud in CLOUDS.values() for ending in cloud.accounts)
"""What the host names of Batch accounts end in, in any cloud."""


def is_azure(host: str) -> bool:
    """Whether a host is one of Batch or of blob storage, in any cloud: these answer https alone."""
    return host.endswith((*ACCOUNT_HOSTS, *(f".{cloud.blob}" for cloud in CLOUDS.values())))


def cloud_of_account(host: str) -> CloudName | None:
    """The cloud that a Batch account with that host is in; None where the host does not tell."""
    return next((name for name, cloud in CLOUDS.items() if host.endswith(cloud.accounts)), None)


def cloud_of_authority(host: str) -> CloudName | None:
    """The cloud whose Entra ID has that host; None where none has."""
    return next((name for name, cloud in CLOUDS.items() if cloud.authority == host), None)
