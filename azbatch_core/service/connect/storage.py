"""Turn the containers that a plan names into URLs for nodes: made if need be, signed for long enough.

A plan says ``StorageRef("results", permission="w")``; `StorageResolver` answers with
``https://…/results?<signature>``. Where the reference carries an identity no signature is made: the node
opens the container as that identity.

Storage need not be reachable from here. With an account key a signature is made offline, so a container
behind a firewall that lets only the nodes in works as long as it exists.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeVar

from azbatch_core.errors import (
    AuthenticationError,
    AzBatchError,
    ConfigurationError,
    NotFound,
    ServiceUnavailable,
)
from azbatch_core.service.connect import credentials, keyvault, sending, shared_key
from azbatch_core.service.connect.clock import Clock
from azbatch_core.service.connect.once import OnceEach
from azbatch_core.service.connect.retry import RetrySettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from azbatch_core.plan.secrets import StorageRef
    from azbatch_core.service.connect.credentials import Credential
    from azbatch_core.specs import AccountSpec, JobSpec, StorageSpec

__all__ = ["StorageResolver", "container_url", "signature_lifetime"]

LOG = logging.getLogger("azbatch")

T = TypeVar("T")

# "A task's maximum lifetime from addition to completion is 180 days" (Batch task documentation).
_LONGEST_TASK = timedelta(days=180)
# Clocks differ, and an upload begins when the task's process has ended.
_MARGIN = timedelta(days=1)
# "The key is valid for at most seven days" (Get User Delegation Key).
_LONGEST_DELEGATION = timedelta(days=7)
_CLOCKS_DIFFER = timedelta(minutes=15)
_LIST_PERMISSIONS = "rl"
_NOT_THERE = frozenset({"BlobNotFound", "ContainerNotFound"})


def signature_lifetime(job: JobSpec) -> timedelta:
    """How long a signature in a job must last: until the last task can have uploaded its last file.

    The job's wall time counts from the job's creation and ends its tasks, waiting ones too, so nothing
    happens later than that; without a wall time a task may live 180 days. One day is added.
    """
    return min(job.wall_time or _LONGEST_TASK, _LONGEST_TASK) + _MARGIN


def container_url(storage: StorageSpec, container: str) -> str:
    """The URL of a container. The endpoint may carry the account in its path, as storage emulators do."""
    return f"{storage.blob_endpoint.rstrip('/')}/{container}"


class StorageResolver:
    """Callable: takes a `StorageRef`, returns the container's URL. The same reference gives the same URL.

    May be shared by threads. Pass one to `azbatch_core.plan.secrets.reveal` when a job is submitted.

    Args:
        account: The account whose storage it is.
        lifetime: How long signatures last, from now.
        credential: A caller's token credential, used in place of the account's own.
        clock: Time and waiting.
        retry: The bounds of retrying.
        transport: An azure-core transport in place of the usual one.

    Attributes:
        warnings: What the caller should tell the user; grows as references are resolved.
    """

    def __init__(
        self,
        account: AccountSpec,
        *,
        lifetime: timedelta,
        credential: Credential | None = None,
        clock: Clock | None = None,
        retry: RetrySettings | None = None,
        transport: Any = None,
    ) -> None:
        self._account = account
        self._lifetime = lifetime
        self._credential = credential
        self._clock = clock or Clock()
        self._retry = retry or RetrySettings(attempts=4, total_time=30.0)
        self._transport = transport
        self._urls: OnceEach[StorageRef, str] = OnceEach()
        self._made: OnceEach[str, None] = OnceEach()
        self._delegation: OnceEach[None, Any] = OnceEach()
        self._secrets = keyvault.resolver(account, credential, clock=self._clock)
        # One moment for all signatures: one that is made later must not outlive the key it was made with.
        self._begin = self._clock.now()
        self.warnings: list[str] = []

    def __call__(self, reference: StorageRef) -> str:
        """The URL of a container, which exists on return unless this machine cannot tell.

        Raises:
            ConfigurationError: The account has no storage, or its key is not base64.
            AuthenticationError: The credential can neither sign nor ask the storage to.
        """
        return self._urls.get(reference, lambda: self._resolve(reference))

    def put(self, container: str, name: str, content: Path | bytes, *, replace: bool = False) -> bool:
        """Have a file or bytes in a container, which is made if need be; whether it had to be sent.

        A blob of that name and length is taken for the content itself, whose hash the name should hold then;
        with `replace` it is sent in any case.

        Raises:
            AzBatchError: The storage is out of reach, or nobody here may write to it.
            OSError: The file cannot be read.
        """
        length = len(content) if isinstance(content, bytes) else content.stat().st_size
        if not replace and self._length(container, name) == length:
            return False

        def send(client: Any) -> None:
            with BytesIO(content) if isinstance(content, bytes) else content.open("rb") as data:
                client.get_blob_client(container, name).upload_blob(data, length=length, overwrite=True)

        try:
            self._send(send)
        except NotFound:
            self._made.get(container, lambda: self._make(container))
            self._send(send)
        return True

    def get(self, container: str, name: str) -> bytes | None:
        """What a blob holds; None where there is no such blob or container.

        Raises:
            AzBatchError: The storage is out of reach, or nobody here may read from it.
        """
        with self._build() as client:
            blob = client.get_blob_client(container, name)
            content: bytes | None = self._if_there(lambda: blob.download_blob().readall())
        return content

    def remove(self, container: str, prefix: str) -> int:
        """Delete the blobs whose names start so, with their snapshots; how many there were.

        Raises:
            AzBatchError: The storage is out of reach, or nobody here may list it or delete from it; some of
                the blobs may be gone then.
        """
        with self._build() as client:
            box = client.get_container_client(container)
            names = self._if_there(lambda: list(box.list_blob_names(name_starts_with=prefix))) or []
            for name in names:
                self._if_there(partial(box.delete_blob, name, delete_snapshots="include"))
        return len(names)

    def _if_there(self, function: Callable[[], T]) -> T | None:
        """Call a function that sends one request; None where there is no such blob or container."""
        try:
            return self._attempt(function)
        except NotFound as error:
            if error.code not in _NOT_THERE:
                raise
            return None

    def _length(self, container: str, name: str) -> int | None:
        """The length of a blob, in bytes; None where there is no such blob or container."""
        key = self._account_key()
        try:
            if key is not None:
                return self._attempt(
                    lambda: shared_key.blob_length(
                        self._storage, key, container, name, transport=self._transport
                    )
                )
            return int(
                self._send(lambda client: client.get_blob_client(container, name).get_blob_properties().size)
            )
        except NotFound:
            # The answer to a HEAD has no body, and not every server puts its code in a header.
            return None

    @property
    def _storage(self) -> StorageSpec:
        storage = self._account.storage
        if storage is None:
            raise ConfigurationError(
                f"the account {self._account.name!r} has no storage, which a container by name needs",
                hint="add storage (blob_endpoint, account_name) to the profile, or give a container_url",
            )
        return storage

    def _resolve(self, reference: StorageRef) -> str:
        url = container_url(self._storage, reference.container)
        if "w" in reference.permission:
            self._made.get(reference.container, lambda: self._make(reference.container))
        if reference.identity is not None:
            return url
        return f"{url}?{self._sign(reference)}"

    def _make(self, container: str) -> None:
        """Create a container. That this machine may not, or cannot, says nothing about the nodes."""
        try:
            key = self._account_key()
            if key is not None:
                self._attempt(
                    lambda: shared_key.create_container(
                        self._storage, key, container, transport=self._transport
                    )
                )
            else:
                self._send(lambda client: client.create_container(container))
        except AzBatchError as error:
            if error.code == "ContainerAlreadyExists":
                pass
            elif isinstance(error, (AuthenticationError, ServiceUnavailable)):
                self._warn(
                    f"cannot create the container {container!r} from here ({error.code or error.message});"
                    " going on, as it may exist already"
                )
            else:
                raise

    def _sign(self, reference: StorageRef) -> str:
        storage = self._storage
        reading = any(letter in reference.permission for letter in _LIST_PERMISSIONS)
        permission = f"{'r' * reading}{'acw' * ('w' in reference.permission)}{'l' * reading}"
        https_only = storage.blob_endpoint.startswith("https://")
        key = self._account_key()
        # No start time: one that is "now" here has not come yet where a clock is a little behind.
        if key is not None:
            return shared_key.sign_container(
                storage,
                key,
                reference.container,
                permission=permission,
                expiry=self._begin + self._lifetime,
                https_only=https_only,
            )
        from azure.storage.blob import generate_container_sas

        lifetime, lent = self._lent_key()
        signed: str = generate_container_sas(
            storage.account_name,
            reference.container,
            permission=permission,
            expiry=self._begin + lifetime,
            protocol="https" if https_only else None,
            user_delegation_key=lent,
        )
        return signed

    def _lent_key(self) -> tuple[timedelta, Any]:
        """A key that the storage lends to a token, and how long signatures made with it last."""
        lifetime = min(self._lifetime, _LONGEST_DELEGATION)
        if lifetime < self._lifetime:
            self._warn(
                f"without an account key, signatures for storage last {lifetime.days} days, the job may last"
                f" {self._lifetime.days}: later uploads would fail; use an identity or a shorter wall time"
            )
        begin, end = self._begin - _CLOCKS_DIFFER, self._begin + lifetime
        delegation = self._delegation.get(
            None, lambda: self._send(lambda client: client.get_user_delegation_key(begin, end))
        )
        return lifetime, delegation

    def _account_key(self) -> str | None:
        storage = self._storage
        if storage.account_key is None:
            return None
        key = storage.account_key.reveal(self._secrets).strip()
        credentials.check_key(key, f"the key of the storage account {storage.account_name!r}")
        return key

    def _build(self) -> Any:
        from azure.storage.blob import BlobServiceClient

        storage = self._storage
        key = self._account_key()
        credential: Any
        if key is not None:
            credential = {"account_name": storage.account_name, "account_key": key}
        elif self._credential is not None and not hasattr(self._credential, "named_key"):
            credential = self._credential
        elif credentials.is_key(self._account):
            credential = credentials.build_default(self._account)
        else:
            credential = credentials.build_token(self._account, clock=self._clock)
        if key is None and not storage.blob_endpoint.startswith("https://"):
            raise ConfigurationError(
                f"the storage account {storage.account_name!r} has an http endpoint,"
                " and a token must not travel unencrypted",
                hint="use the https endpoint, or give the storage's account_key",
            )
        settings = {} if self._transport is None else {"transport": self._transport}
        return BlobServiceClient(storage.blob_endpoint, credential=credential, retry_total=0, **settings)

    def _send(self, function: Callable[[Any], T]) -> T:
        """Send one request with the storage's SDK. There are few: no connection is kept for more."""

        def attempt() -> T:
            with self._build() as client:
                return function(client)

        return self._attempt(attempt)

    def _attempt(self, function: Callable[[], T]) -> T:
        """Call a function that sends one request to the storage."""
        return sending.send(
            function,
            endpoint=self._storage.blob_endpoint,
            name="storage",
            clock=self._clock,
            settings=self._retry,
        )

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
            LOG.warning("%s", text)
