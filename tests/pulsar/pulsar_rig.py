"""Jobs as Galaxy submits them, by our clients, and what is seen of them afterwards."""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from pulsar.client.staging.down import finish_job
from pulsar.client.staging.up import submit_job

from azbatch_core.service.connect.retry import RetrySettings
from azbatch_pulsar.managers import azure_manager

try:  # 0.16
    from pulsar.client.staging.inputs import CLIENT_INPUT_PATH_TYPES, ClientInput, ClientInputs
    from pulsar.client.staging.models import ClientJobDescription, ClientOutputs, PulsarOutputs
except ImportError:  # 0.15
    from pulsar.client import (
        CLIENT_INPUT_PATH_TYPES,
        ClientInput,
        ClientInputs,
        ClientJobDescription,
        ClientOutputs,
        PulsarOutputs,
    )

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from files_endpoint import FilesEndpoint

    from azbatch_core import AzureBatch

WITHIN = 90.0
"""Seconds after which a wait in a test is a failure, on the slowest machine."""
BIN = str(Path(sys.executable).parent)
HOST: dict[str, Any] = {"azure_batch_runtime": "host", "azure_batch_path": BIN}
"""The destination without Docker: the node is this machine."""
QUICK_RETRIES: dict[str, Any] = {
    f"{when}process_action_{name}": value
    for when in ("pre", "post")
    for name, value in (("max_retries", 3), ("interval_start", 0.05), ("interval_step", 0.0))
}
"""How Pulsar on a node tries again; by itself it waits for seconds."""
_NUMBERS = itertools.count(1000)

T = TypeVar("T")


def until(condition: Callable[[], T]) -> T:
    """The condition's first true value."""
    deadline = time.monotonic() + WITHIN
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(0.02)
    return found


@dataclass
class Rig:
    """One Galaxy with one client manager.

    Attributes:
        files: Its files endpoint.
        folder: A folder of the test's own, that tools on this machine see.
        params: The destination's parameters, if a job does not say otherwise.
        manager: The client manager.
        account: The name of its account.
    """

    files: FilesEndpoint
    folder: Path
    params: Mapping[str, Any]
    manager: Any
    account: str = "here"

    @property
    def batch(self) -> AzureBatch:
        """The account that the clients use."""
        return self.manager._accounts[self.account]

    def job(
        self,
        script: str,
        *arguments: str,
        job_id: str | None = None,
        inputs: Mapping[str, str] | None = None,
        env: list[dict[str, str]] | None = None,
        container: str | None = "tool-here:1",
        **params: Any,
    ) -> PulsarJob:
        """A job that runs a script of bash, with the path of its output as $1, then the arguments."""
        number = job_id or str(next(_NUMBERS))
        return PulsarJob(
            self,
            number,
            script,
            arguments,
            inputs or {},
            env or [],
            container,
            {
                "files_endpoint": self.files.url(number),
                "default_file_action": "remote_transfer",
                **self.params,
                **params,
            },
        )


@dataclass
class PulsarJob:
    """One job of Galaxy's."""

    rig: Rig
    job_id: str
    script: str
    arguments: tuple[str, ...]
    inputs: Mapping[str, str]
    env: list[dict[str, str]]
    container: str | None
    params: dict[str, Any]
    client: Any = field(default=None)
    batch_id: str = ""

    @property
    def folder(self) -> Path:
        """Where Galaxy has this job's files."""
        return self.rig.folder / self.job_id

    @property
    def output(self) -> Path:
        """Where Galaxy wants its output."""
        return self.folder / "dataset_1.dat"

    @property
    def outputs(self) -> ClientOutputs:
        """What Galaxy wants of it."""
        return ClientOutputs(
            working_directory=str(self.folder / "working"),
            metadata_directory=str(self.folder / "metadata"),
            work_dir_outputs=[],
            output_files=[str(self.output)],
        )

    def new_client(self) -> Any:
        """A client as Galaxy makes one: for each question."""
        params = dict(self.params)
        if self.batch_id:
            params["external_id"] = self.batch_id
        made = self.rig.manager.get_client(params, self.job_id)
        runs = made.runs
        runs.watch.interval = 0.05
        runs._patience = 0.0
        runs._batch._connection._retry = RetrySettings(first_wait=0.01, max_wait=0.05)
        return made

    def launch(self) -> PulsarJob:
        """Submit it."""
        for name in ("working", "metadata", "tool"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        tool = self.folder / "tool" / "tool.sh"
        tool.write_text(self.script)
        given = []
        for name, content in self.inputs.items():
            (self.folder / name).write_text(content)
            given.append(ClientInput(str(self.folder / name), CLIENT_INPUT_PATH_TYPES.INPUT_PATH))
        words = " ".join(f'"{word}"' for word in (tool, self.output))
        description = ClientJobDescription(
            command_line=" ".join(
                [
                    f"/bin/bash {words}",
                    *self.arguments,
                    "> ../metadata/tool_stdout 2> ../metadata/tool_stderr",
                ]
            ),
            tool=SimpleNamespace(id="tool", version="1.0", tool_dir=str(tool.parent)),
            config_files=[],
            client_inputs=ClientInputs(given),
            client_outputs=self.outputs,
            working_directory=str(self.folder / "working"),
            metadata_directory=str(self.folder / "metadata"),
            env=self.env,
            container=self.container,
            dependencies_description=None,
            remote_pulsar_app_config=self._app_config(),
        )
        self.client = self.new_client()
        self.batch_id = submit_job(self.client, description)
        return self

    def _app_config(self) -> dict[str, Any]:
        name = self.rig.manager.manager_name
        manager = dict(QUICK_RETRIES)
        return {"manager": manager} if name == "_default_" else {"managers": {name: manager}}

    def status(self) -> dict[str, Any]:
        """How it stands, by a new client."""
        return self.new_client().look()

    def wait(self) -> dict[str, Any]:
        """The full status, once it is over."""

        def over() -> dict[str, Any] | None:
            found = self.status()
            return found if found["complete"] == "true" else None

        return until(over)

    def reason(self) -> tuple[str | None, str]:
        """Why it failed: Galaxy's word and the line for people."""
        ending = self.new_client().ending()
        assert ending is not None
        return ending.reason, ending.message or ""

    def finish(self) -> Any:
        """What Galaxy does at the end; whether something failed."""
        return finish_job(
            client=self.new_client(),
            job_completed_normally=True,
            cleanup_job="always",
            client_outputs=self.outputs,
            pulsar_outputs=PulsarOutputs.from_status_response(self.status()),
        )

    def mark(self, name: str) -> Path:
        """A file that the tool, on this machine, makes or waits for."""
        return self.rig.folder / f"{self.job_id}-{name}"


def manager_of(account: str = "here", **pulsars: Any) -> Any:
    """A client manager as the Galaxy runner makes it."""
    return azure_manager({"azure_batch_account": account}, **pulsars)


def end(manager: Any, shutdown: Callable[..., None] | None = None, **_: Any) -> None:
    """Shut it down with its threads; a poll of a relay ends by a message, or it would last half a minute."""
    manager.active = False
    poll = getattr(manager, "relay_transport", None) and manager.callback_thread
    if poll is not None and poll.is_alive():
        manager.relay_transport.post_message(status_topic(manager), {})
    (shutdown or manager.shutdown)(ensure_cleanup=True)


def status_topic(manager: Any) -> str:
    """The relay's topic with the messages of that manager's jobs."""
    return str(manager._make_topic_name("job_status_update", manager.manager_name))
