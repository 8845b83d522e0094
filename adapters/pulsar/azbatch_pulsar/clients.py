"""Pulsar's clients of one job each: by polling, and by a message queue with Batch asked beside it."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pulsar.client.exceptions import PulsarClientTransportError
from pulsar.client.util import ExternalId, from_base64_json
from pulsar.managers import status

from azbatch_core.errors import AzBatchError
from azbatch_pulsar import job_ids
from azbatch_pulsar.compat import (
    BaseMessageCoexecutionJobClient,
    BasePollingCoexecutionJobClient,
    CoexecutionLaunchMixin,
    ExecutionType,
)
from azbatch_pulsar.destination import parse
from azbatch_pulsar.jobs import Launch
from azbatch_pulsar.results import going_on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from azbatch_pulsar.results import Ending
    from azbatch_pulsar.runs import Runs

T = TypeVar("T")
RETRIES = 5
"""How often Pulsar tries a transfer again on the node; by itself it would try once."""


def in_pulsars_words(function: Callable[..., T]) -> Callable[..., T]:
    """Have azbatch's errors come as Pulsar's own: Galaxy takes any other for the end of the job."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> T:
        try:
            return function(*args, **kwargs)
        except AzBatchError as error:
            raise PulsarClientTransportError(message=str(error)) from error

    return wrapped


def is_final(message: Mapping[str, Any], batch_id: str) -> bool:
    """Whether a message is the last one of that run. Messages name the job, and may be of an earlier run."""
    return status.is_job_done(message["status"]) and f"/{batch_id}/" in str(message.get("job_directory"))


class LaunchesAzureContainersMixin(CoexecutionLaunchMixin):
    """Puts a job's submit, tool and finish steps on Azure Batch, and tells how they stand.

    Whatever asks Batch raises Pulsar's `PulsarClientTransportError` where that cannot be asked.

    Args:
        destination_params: Pulsar's own, and those of `azbatch_pulsar.destination` with their prefix.
        job_id: Pulsar's id of the job (Galaxy's), or that of its Batch job, as a launch gave it.
        client_manager: What made this client; shares the looks at Batch among its clients.

    Raises:
        SpecError: A parameter is wrong.
    """

    execution_type: ClassVar[Any] = ExecutionType.SEQUENTIAL

    def __init__(self, destination_params: dict[str, Any], job_id: str, client_manager: Any) -> None:
        self.destination = parse(destination_params, destination_params.get("env") or ())
        endpoint = destination_params.get("files_endpoint")
        self.instance = self.destination.instance or job_ids.instance_of(endpoint)
        self._documents: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        self.removed_later: list[Callable[[], None]] | None = None
        """Where `clean` leaves the removal to whoever set this: the Galaxy runner, in `finish_job`."""
        self.runs: Runs = client_manager.runs(self.destination.account, self.instance)
        self._run: str | None = destination_params.get("external_id")
        """The run that this client is for: given, or chosen by `setup`. None for the job's last one."""
        if self._run is None and job_ids.is_batch_id(self.instance, job_id):
            self._run = job_id
        self._first = job_ids.first_id(self.instance, job_id)
        super().__init__(destination_params, job_id, client_manager)

    def default_staging_directory(self, destination_params: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The run's own folder, in its containers."""
        return self._staging

    @property
    def _staging(self) -> str:
        """Below the name of the run, so that its messages can be told from those of an earlier one."""
        return f"{self.destination.staging}/{self._run or self._first}"

    @in_pulsars_words
    def setup(self, *args: Any, **kwargs: Any) -> Any:
        """Where the job's files will be, on the node of the run that a launch is for."""
        self._run = self.runs.choose(self._first, self.destination.storage_container)
        self.destination_params["jobs_directory"] = self._staging
        self._set_job_directory()
        return super().setup(*args, **kwargs)

    @property
    def batch_id(self) -> str:
        """The id of the Batch job: that of the client's run, else that of the job's last one."""
        return self._run or self.runs.latest(self._first)

    def get_pulsar_app_config(
        self, pulsar_app_config: dict[str, Any] | None, **kwargs: Any
    ) -> dict[str, Any]:
        """How Pulsar is set up on the node: its folders, retries and, where there is one, the queue."""
        config = dict(pulsar_app_config or {})
        name = kwargs["manager_name"]
        if name != "_default_" and "manager" not in config:
            config.setdefault("managers", {}).setdefault(name, {})
        config.setdefault("persistence_directory", f"{self._staging}/persisted_data")
        for key, value in self._queue_config().items():
            config.setdefault(key, value)
        # Pulsar prepares and collects; the tool is a step of its own, also where it has no container.
        kwargs |= {"manager_type": "coexecution", "wait_after_submission": False}
        own_dependencies = "dependency_resolution" in config
        config = dict(super().get_pulsar_app_config(config, **kwargs))
        if not own_dependencies and self.destination.runtime == "docker":
            config |= self._dependencies_beside_the_job(config)
        manager = config["manager"] if "manager" in config else config["managers"][name]
        manager.setdefault("preprocess_action_max_retries", RETRIES)
        manager.setdefault("postprocess_action_max_retries", RETRIES)
        return config

    def _dependencies_beside_the_job(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """What the submit step installs, in a folder that the tool's container sees, too."""
        found = config.get("dependency_resolution")
        folder = f"{self._staging}/dependencies"
        text = json.dumps(found).replace("/pulsar_dependencies", folder)
        return {} if found is None else {"dependency_resolution": json.loads(text)}

    def _queue_config(self) -> dict[str, Any]:
        """What the node needs to send messages; nothing by polling."""
        return {}

    def _final_message(self) -> dict[str, Any] | None:
        """The message that told the end; none by polling."""
        return None

    def _pulsar_script_args(
        self,
        manager_name: str,
        base64_job: str,
        base64_app_conf: str,
        wait_arg: str | None = None,  # noqa: ARG002  # our submit step never waits for the tool
    ) -> list[str]:
        """The arguments of Pulsar's scripts. Its documents go as files: there are passwords in them."""
        self._documents = (from_base64_json(base64_job), from_base64_json(base64_app_conf))
        return [] if manager_name == "_default_" else ["--manager", manager_name]

    @in_pulsars_words
    def _launch_containers(
        self,
        pulsar_submit_container: Any,
        tool_container: Any,
        pulsar_finish_container: Any,  # noqa: ARG002
    ) -> Any:
        message, app_config = self._documents
        batch_id = self.batch_id
        launch = Launch(
            batch_id=batch_id,
            staging=self._staging,
            job_directory=self.job_directory.job_directory,
            destination=self.destination,
            pulsar_image=pulsar_submit_container.image,
            tool_image=(tool_container or pulsar_submit_container).image,
            arguments=tuple(pulsar_submit_container.args),
            message=message,
            app_config=app_config,
        )
        self.runs.launch(launch)
        return ExternalId(batch_id)

    def look(self) -> dict[str, Any]:
        """Pulsar's status of the job by what Batch says: the full one when it is over."""
        found = self._stand()
        return going_on(str(self.job_id), found) if isinstance(found, str) else dict(found.status)

    def get_status(self) -> str:
        """Pulsar's word for how the job stands."""
        return str((self._final_message() or self.look())["status"])

    def ending(self) -> Ending | None:
        """How the job ended, where Batch says that it is over; None while it goes on."""
        found = self._stand()
        return None if isinstance(found, str) else found

    @in_pulsars_words
    def _stand(self) -> Ending | str:
        return self.runs.look(self.batch_id, str(self.job_id), self.destination.storage_container)

    @in_pulsars_words
    def kill(self) -> None:
        """End the job. One that is over, or not there, is fine."""
        self.runs.cancel(self.batch_id, self.destination.storage_container)

    @in_pulsars_words
    def clean(self) -> None:
        """Remove the job from Batch with all that it left there, unless the destination keeps jobs.

        With a list in `removed_later`, what would remove it is put there instead.
        """
        if self.destination.cleanup != "galaxy":
            return
        remove = functools.partial(self.runs.remove, self.batch_id, self.destination.storage_container)
        if self.removed_later is None:
            remove()
        else:
            self.removed_later.append(remove)


class AzureBatchPollingCoexecutionJobClient(LaunchesAzureContainersMixin, BasePollingCoexecutionJobClient):
    """A job whose results Galaxy fetches by asking Batch."""

    raw_check_complete = full_status = LaunchesAzureContainersMixin.look


class AzureBatchMessageCoexecutionJobClient(LaunchesAzureContainersMixin, BaseMessageCoexecutionJobClient):
    """A job that sends its results by the message queue; Batch is asked beside it, as messages get lost."""

    def full_status(self) -> dict[str, Any]:
        """Pulsar's last word: the message, or what the job left in storage where no message came.

        Raises:
            PulsarClientTransportError: There is neither.
        """
        final = self._final_message() or self.look()
        if final["complete"] != "true":
            raise PulsarClientTransportError(message=f"the job {self.job_id} is not over")
        return final

    def clean(self) -> None:
        """Remove the job from Batch with all that it left there, and its message."""
        self.client_manager.status_cache.pop(self.job_id, None)
        super().clean()

    def _final_message(self) -> dict[str, Any] | None:
        message = self.client_manager.status_cache.get(self.job_id)
        return message if message is not None and is_final(message, self.batch_id) else None

    def _queue_config(self) -> dict[str, Any]:
        given = self.destination.message_queue_url
        found: dict[str, Any] = self.client_manager.node_config()
        return {**found, "message_queue_url": given.reveal()} if given is not None else found
