"""Pulsar's client managers: they make the clients of a Galaxy's jobs, and share what these need."""

from __future__ import annotations

import logging
import re
import threading
from typing import TYPE_CHECKING, Any, Final

from pulsar.client.destination import url_to_destination_params
from pulsar.client.manager import MessageQueueClientManager, PollingJobClientManager, RelayClientManager

from azbatch_core import AzureBatch
from azbatch_core.errors import SpecError
from azbatch_pulsar import compat
from azbatch_pulsar.clients import (
    AzureBatchMessageCoexecutionJobClient,
    AzureBatchPollingCoexecutionJobClient,
    in_pulsars_words,
)
from azbatch_pulsar.destination import PREFIX
from azbatch_pulsar.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOPIC: Final = re.compile(r"[\w-]*")
"""What a topic of pulsar-relay may consist of, or it refuses each poll and message: its own rule."""


_QUIETER = {"azure": logging.WARNING, "azbatch.retries": logging.ERROR}
"""Galaxy logs all: the SDK tells of each request, and azbatch of each try while the service is away."""


class AzureBatchManagerMixin:
    """What the managers have in common. Goes before Pulsar's own manager in a class.

    Args:
        azure: Parameters, with their prefix, of each destination that does not have them itself.
        kwargs: Pulsar's own.
    """

    client_class: type[Any]

    def __init__(self, *args: Any, azure: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        for name, level in _QUIETER.items():
            if logging.getLogger(name).level == logging.NOTSET:
                logging.getLogger(name).setLevel(level)
        self._azure = dict(azure or {})
        self._runs: dict[tuple[str | None, str], Runs] = {}
        self._accounts: dict[str | None, AzureBatch] = {}
        self._opening = threading.Lock()
        super().__init__(*args, **kwargs)

    @in_pulsars_words
    def runs(self, account: str | None, instance: str) -> Runs:
        """A Galaxy's runs on an account: one object for all clients.

        Raises:
            PulsarClientTransportError: There is no such account.
        """
        with self._opening:
            key = (account, instance)
            if key not in self._runs:
                if account not in self._accounts:
                    self._accounts[account] = AzureBatch(account)
                self._runs[key] = Runs(self._accounts[account], instance)
            return self._runs[key]

    def get_client(self, destination_params: Any, job_id: str, **kwargs: Any) -> Any:
        """The client of a job: ours where the destination, or this manager, names Azure Batch."""
        given = destination_params
        given = url_to_destination_params(given) if isinstance(given, str) else given
        params = {**self._azure, **given, **kwargs}
        if not any(name.startswith(PREFIX) for name in params):
            return super().get_client(destination_params, job_id, **kwargs)  # type: ignore[misc]
        if getattr(self, "amqp_key_prefix", None):
            params["amqp_key_prefix"] = self.amqp_key_prefix  # type: ignore[attr-defined]
        return self.client_class(params, job_id, self)

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        """End the manager's threads, and close its connections."""
        super().shutdown(*args, **kwargs)  # type: ignore[misc]
        for account in self._accounts.values():
            account.close()


class AzureBatchPollingClientManager(AzureBatchManagerMixin, PollingJobClientManager):
    """Clients that ask Batch, where there is no message queue."""

    client_class = AzureBatchPollingCoexecutionJobClient


class AzureBatchMessageQueueClientManager(AzureBatchManagerMixin, MessageQueueClientManager):
    """Clients that get their results by an AMQP message queue."""

    client_class = AzureBatchMessageCoexecutionJobClient

    def node_config(self) -> dict[str, Any]:
        """What Pulsar on a node needs to send its messages."""
        return {"message_queue_url": self.url}


class AzureBatchRelayClientManager(AzureBatchManagerMixin, RelayClientManager):
    """Clients that get their results by a Pulsar relay.

    Raises:
        SpecError: There is no login that nodes could use, too, or a name that no relay takes.
    """

    client_class = AzureBatchMessageCoexecutionJobClient

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        login = {name: kwargs.get(f"relay_{name}") for name in ("username", "password")}
        if not all(login.values()):
            # Another kind of login is good for one use, and a topic belongs to one user.
            raise SpecError("relay_url needs relay_username and relay_password: nodes log in with them, too")
        for name in ("manager", "relay_topic_prefix"):
            if not _TOPIC.fullmatch(kwargs.get(name) or ""):
                raise SpecError(
                    f"{name}: {kwargs[name]!r}: a relay takes only letters, digits, _ and - in it"
                )
        self._node_config = {
            "message_queue_url": kwargs["relay_url"],
            **{f"message_queue_{name}": value for name, value in login.items()},
            "relay_topic_prefix": kwargs.get("relay_topic_prefix") or "",
            "message_queue_publish_capabilities": False,
        }
        super().__init__(*args, **kwargs)

    def node_config(self) -> dict[str, Any]:
        """What Pulsar on a node needs to send its messages."""
        return dict(self._node_config)


def azure_manager(azure: Mapping[str, Any], **kwargs: Any) -> Any:
    """The manager for Azure Batch that goes with the given means: relay, message queue, or polling.

    Args:
        azure: Parameters, with their prefix, for all destinations.
        kwargs: Pulsar's own, as for its ``build_client_manager``.
    """
    given = {name: value for name, value in kwargs.items() if value is not None}
    queues = {"relay_url": AzureBatchRelayClientManager, "amqp_url": AzureBatchMessageQueueClientManager}
    kind = next((kind for name, kind in queues.items() if given.get(name)), AzureBatchPollingClientManager)
    return kind(azure=azure, **given)


def build_client_manager(*args: Any, **kwargs: Any) -> Any:
    """Pulsar's ``build_client_manager``, which knows Azure Batch, too.

    Any argument that starts with ``azure_batch_`` gives one of our managers, and is what destinations have
    that do not say otherwise. Without one, everything goes to Pulsar's own.
    """
    azure = {name: value for name, value in kwargs.items() if name.startswith(PREFIX)}
    if not azure:
        return compat.build_client_manager(*args, **kwargs)
    return azure_manager(azure, **{name: value for name, value in kwargs.items() if name not in azure})
