"""One account, one connection: who we are, how requests are sent, and what comes back when they fail.

Everything that talks to the Batch service does so through `Connection.call` or
`Connection.documents`: they retry what is worth retrying, and raise only errors of `azbatch_core.errors`.
"""

from __future__ import annotations

import ipaddress
import sys
import threading
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from azbatch_core.errors import ConfigurationError
from azbatch_core.service.connect import credentials, error_mapping, local, sending
from azbatch_core.service.connect.clock import Clock
from azbatch_core.service.connect.retry import RetrySettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from azure.batch import BatchClient
    from typing_extensions import Self

    from azbatch_core.service.connect.credentials import Credential
    from azbatch_core.specs import AccountSpec

__all__ = ["Connection", "check_sdk_version", "is_loopback"]

P = ParamSpec("P")
T = TypeVar("T")

_SDK_NEEDED = (15, 1)
_SDK_TOO_NEW = 16
_CONNECTIONS = 64


def is_loopback(endpoint: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(endpoint).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def check_sdk_version(found: str) -> None:
    """Refuse an azure-batch that has other names for the same things.

    Raises:
        ConfigurationError: `found` is older than 15.1 or not of the line 15.
    """
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    # 15.1.0b1 and its like renamed things until the last day.
    beta = any(letter in found for letter in "abr")
    if numbers < _SDK_NEEDED or numbers[0] >= _SDK_TOO_NEW or beta:
        raise ConfigurationError(
            f"azure-batch {found} is installed, but azbatch needs 15.1 or a later 15",
            hint="pip install 'azure-batch>=15.1,<16'",
        )


class Connection:
    """The way to one Batch account.

    May be shared by threads: every method can be called from several at once, and up to 64 requests are under
    way together. Nothing is sent, and azure.* is not imported, before the first call.

    Args:
        account: Where, and as whom.
        credential: Used in place of the account's own: a token credential (an object with ``get_token``), or
            an ``AzureNamedKeyCredential``.
        retry: The bounds of retrying.
        clock: Time and waiting.

    Raises:
        ConfigurationError: The endpoint is missing, the credential is of no use, or a token would travel over
            http.

    Attributes:
        account: As given.
        credential: As given: the caller's own, or None.
        clock: As given.
    """

    def __init__(
        self,
        account: AccountSpec,
        *,
        credential: Credential | None = None,
        retry: RetrySettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.account = account
        self.clock = clock or Clock()
        self.credential = credential
        self._retry = retry or RetrySettings()
        self._lock = threading.Lock()
        self._client: BatchClient | None = None
        self._closed = False
        self._answered = False
        self._endpoint = credentials.check(account, credential)
        # The service of this machine can be stopped and come back at another address.
        self._follows = credential is None and local.is_local_service(account)
        self._former: dict[str, BatchClient | None] = {}
        self._silent = False

    def __repr__(self) -> str:
        return f"Connection({self.account.name!r}, {self._endpoint!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def endpoint(self) -> str:
        """URL of the account, with a scheme and without a slash at the end."""
        return self._endpoint

    @property
    def is_local(self) -> bool:
        """Whether the service runs on this machine."""
        return is_loopback(self._endpoint)

    @property
    def key_auth(self) -> bool:
        """Whether requests are signed with a key (and so cannot make pools in a virtual network)."""
        return credentials.is_key(self.account, self.credential)

    @property
    def client(self) -> BatchClient:
        """The SDK's client, made on first use.

        Its methods send a request once and raise the SDK's errors; wrap them in `call`.

        Raises:
            ConfigurationError: azure-batch is missing or too old, or a secret cannot be had.
        """
        with self._lock:
            if self._closed:
                raise ConfigurationError(f"the connection to {self.account.name!r} has been closed")
            if self._client is None:
                self._client = self._build()
            return self._client

    def _build(self) -> BatchClient:
        try:
            import azure.batch
        except ImportError as exc:
            raise ConfigurationError(
                "azure-batch is not installed", hint="pip install 'azure-batch>=15.1,<16'"
            ) from exc
        check_sdk_version(azure.batch.__version__)
        from azbatch_core.service.connect import sdk

        return sdk.build_client(
            self._endpoint,
            credentials.build(self.account, self.credential, clock=self.clock),
            scope=credentials.scope(self.account),
            # The package is loaded; asking the installed metadata instead would take a tenth of a second.
            user_agent=f"azbatch/{sys.modules['azbatch_core'].__version__}",
            connections=_CONNECTIONS,
            loopback=self.is_local,
        )

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that sends one request, again and again while a retry can help.

        Args:
            function: A method of `client`, or any function that sends a request through it. It must be fit to
                be called twice: after a lost reply the first call may have taken effect.
            args: Its arguments.
            kwargs: Its keyword arguments.

        Returns:
            What the function returns.

        Raises:
            AzBatchError: Whatever went wrong, after all retries; the SDK's own exception is its cause.
        """
        return sending.send(
            lambda: function(*map(self._renewed, args), **kwargs),  # type: ignore[arg-type]
            endpoint=self._endpoint,
            name=_describe(function, args),
            clock=self.clock,
            settings=self._retry,
            on_answer=self._note_answer,
            answered=lambda: self._answered,
            on_silence=self._find_again if self._follows else lambda: None,
            on_retry=self._remark if self._follows else sending.remark,
        )

    def _note_answer(self) -> None:
        self._answered, self._silent = True, False

    def _remark(self, error: BaseException, seconds: float) -> None:
        """Tell an answer that asks to come again from an answer that did not come."""
        if error_mapping.reply_of(error) is not None:
            sending.remark(error, seconds)
        else:
            self._remark_once()

    def _remark_once(self) -> None:
        """A word on an outage of the local service, once for all requests that wait."""
        with self._lock:
            first, self._silent = not self._silent, True
        if first:
            sending.LOG.warning("no answer from the local service, trying again")

    def _find_again(self) -> None:
        """Go to where the local service is now.

        Raises:
            ServiceUnavailable: It is gone.
        """
        account = local.wait_for_return(self.clock, self._remark_once)
        with self._lock:
            if account == self.account or self._closed:
                return
            self._former[self._endpoint] = self._client
            self.account, self._client = account, None
            self._endpoint = credentials.check(account, None)

    def _renewed(self, argument: object) -> object:
        """An argument of a request, with what was the client or its address as it is now."""
        for endpoint, client in list(self._former.items()):
            if client is not None and argument is client:
                return self.client
            if isinstance(argument, str) and argument.startswith(f"{endpoint}/"):
                return self._endpoint + argument.removeprefix(endpoint)
        return argument

    def documents(
        self,
        where: str,
        *,
        odata_filter: str | None = None,
        select: Iterable[str] | None = None,
        expand: str | None = None,
        page_size: int | None = None,
        recursive: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """The items of a list as plain REST documents; each page is retried by itself.

        Args:
            where: A path made by `sdk.path`, such as ``/jobs/my-job/tasks``.
            odata_filter: The ``$filter``.
            select: Names of the properties to return; all of them if None.
            expand: The ``$expand``.
            page_size: Items in a page; the service's own choice if None.
            recursive: List files of sub-directories also (lists of files only).
        """
        from azbatch_core.service.connect import sdk

        client = self.client
        items, following = self.call(
            sdk.list_page,
            client,
            where,
            odata_filter=odata_filter,
            select=tuple(select) if select is not None else None,
            expand=expand,
            page_size=page_size,
            recursive=recursive,
        )
        yield from items
        while following:
            items, following = self.call(sdk.list_page, client, following)
            yield from items

    def close(self) -> None:
        """Close what is open. The connection cannot be used afterwards; closing twice is fine."""
        with self._lock:
            clients = [self._client, *self._former.values()]
            self._client, self._closed = None, True
        for client in clients:
            if client is not None:
                client.close()


def _describe(function: Callable[..., object], args: tuple[object, ...]) -> str:
    """What a log may say of a call: the function and the path; other arguments may be secret."""
    name = getattr(function, "__name__", "request")
    return " ".join([name, *(arg for arg in args if isinstance(arg, str) and arg.startswith("/"))])
