"""The check itself: Pulsar's own, with our client, and a word about each step."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from azbatch_core.errors import AzBatchError, ConfigurationError
from azbatch_pulsar.check import parameters, steps
from azbatch_pulsar.check.files import FilesEndpoint
from azbatch_pulsar.check.steps import StepFailed, Steps
from azbatch_pulsar.check.waiting import EXIT_CODE, TOO_LONG, Ended, Waiter, hint
from azbatch_pulsar.destination import PREFIX, Destination, is_queue, parse, queue_params

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from azbatch_core import AzureBatch

BROKER_WITHIN: Final = 10.0
"""Seconds for a connection to it."""
NO_PULSAR: Final = "pip install 'pulsar-app>=0.15.15'; in Galaxy's own environment Pulsar is there already"


@dataclass(frozen=True)
class Options:
    """What was asked for.

    Attributes:
        file: The destination.
        environment: Which one of a job_conf.yml.
        url: Where nodes reach this machine.
        amqp_url: The message queue; None for that of the runner, if any. May hold a password.
        image: The tool's image.
        timeout: Seconds for the job.
        account: Instead of the destination's.
    """

    file: Path
    environment: str | None = None
    url: str | None = None
    amqp_url: str | None = field(default=None, repr=False)
    image: str = ""
    timeout: float = 1800.0
    account: str | None = None


@dataclass(frozen=True)
class Done:
    """How it went.

    Attributes:
        ok: Whether every step worked.
        job: The handle of the Batch job, where there was one.
        steps: Those that were taken.
    """

    ok: bool
    job: str | None
    steps: tuple[steps.Step, ...]

    @property
    def seconds(self) -> float:
        """How long they took."""
        return round(sum(step.seconds for step in self.steps), 3)


class Check:
    """One check. A second one is another object.

    Args:
        options: What was asked for.
        on_step: Called as each step ends.
        on_note: Called with a remark meanwhile.

    Raises:
        ConfigurationError: Pulsar is not installed.
    """

    def __init__(
        self, options: Options, *, on_step: Callable[[Any], object], on_note: Callable[[str], object]
    ) -> None:
        self._pulsar = _pulsar()
        self._options = options
        self._note = on_note
        self._steps = Steps(on_step)
        self._job_id = f"check{secrets.token_hex(4)}"
        self._client: Any = None
        self._handle: str | None = None

    def __call__(self) -> Done:
        """Take the steps until one fails."""
        _hush()
        try:
            self._run()
        except KeyboardInterrupt:
            self._end()
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the check has found
            self._steps.failed(error)
        taken = tuple(self._steps.taken)
        return Done(all(step.ok is not False for step in taken), self._handle, taken)

    def _run(self) -> None:
        from azbatch_core import AzureBatch

        destination, params, queue = self._read()
        with AzureBatch(destination.account) as batch, tempfile.TemporaryDirectory() as folder:
            is_local = self._reach(batch)
            self._store(batch, destination)
            if queue.get("amqp_url"):
                self._ask_broker(queue["amqp_url"])
            self._steps.at = steps.LAUNCH
            if self._options.url is None and not is_local:
                raise StepFailed(
                    steps.LAUNCH,
                    "nodes of this account must fetch files from here, and --url does not say where",
                    "--url http://HOST:PORT, an address of this machine that the nodes can reach",
                )
            endpoint = FilesEndpoint(Path(folder), self._options.url)
            try:
                params["files_endpoint"] = endpoint.url
                self._drive(batch, params, endpoint, queue)
            finally:
                endpoint.close()
            self._look_for_rests(batch, destination)

    def _read(self) -> tuple[Destination, dict[str, Any], dict[str, Any]]:
        found = parameters.read(self._options.file, self._options.environment)
        account = {PREFIX + "account": self._options.account} if self._options.account else {}
        params = {**found.params, **account, "default_file_action": "remote_transfer"}
        destination = parse(params, params.get("env") or ())
        given = self._options.amqp_url
        queue = {"amqp_url": given} if given else queue_params(found.runner)
        means = "message queue, and Batch beside it" if is_queue(queue) else "polling"
        name = f"{found.name or 'parameters'} of {self._options.file.name}"
        how = destination.strategy if destination.runtime == "docker" else "on the node itself"
        self._steps.done(
            steps.PARAMETERS,
            f"{name}: account {destination.account or 'by default'}, {how}, {means}",
        )
        return destination, params, queue

    def _reach(self, batch: AzureBatch) -> bool:
        result = batch.check()
        for item in result.items:
            if not item.ok:
                advice = item.hint or f"azbatch account check {result.account}"
                raise StepFailed(steps.ACCOUNT, f"{result.account}: {item.text}", advice)
        text = ", ".join(item.text for item in result.items[:3])
        self._steps.done(steps.ACCOUNT, f"{result.account}: {text}")
        return urlsplit(result.endpoint).hostname in {"127.0.0.1", "localhost", "::1"}

    def _store(self, batch: AzureBatch, destination: Destination) -> None:
        container, name = destination.storage_container, f"check/{self._job_id}"
        sent = secrets.token_bytes(16)
        try:
            batch.stage(sent, container, name, replace=True)
            back = batch.staged(container, name)
            batch.unstage(container, name)
        except AzBatchError as error:
            text, advice = steps.explain(error)
            advice = (
                advice or f"azbatch account check {batch.account.name}; its profile needs a [storage] table"
            )
            raise StepFailed(steps.STORAGE, text, advice) from error
        if back != sent:
            raise StepFailed(steps.STORAGE, f"what was written to {container} did not come back")
        self._steps.done(steps.STORAGE, f"container {container}: written, read and deleted")

    def _ask_broker(self, amqp_url: str) -> None:
        try:
            from kombu import Connection
        except ImportError:
            advice = "pip install kombu, here and where Pulsar is on the nodes"
            raise StepFailed(steps.QUEUE, "kombu is not installed here", advice) from None
        with Connection(amqp_url, connect_timeout=BROKER_WITHIN) as connection:
            shown = connection.as_uri()  # without the password
            try:
                connection.connect()
            except (OSError, *connection.connection_errors, *connection.channel_errors) as error:
                text = f"{shown} cannot be used from here: {error}"
                raise StepFailed(steps.QUEUE, text, "the runner's amqp_url, or --amqp-url") from None
        self._steps.done(steps.QUEUE, f"{shown} answers")

    def _drive(
        self, batch: AzureBatch, params: dict[str, Any], endpoint: FilesEndpoint, queue: dict[str, Any]
    ) -> None:
        """Pulsar's check, with our client, our way of waiting and a word at each step."""
        from azbatch_pulsar.managers import azure_manager

        check = self._pulsar

        def build(**_: Any) -> Any:
            # Under a name of its own: on Galaxy's, the two would take each other's messages.
            name = f"azbatch-check-{secrets.token_hex(3)}" if is_queue(queue) else None
            return azure_manager({}, **queue, manager=name)

        def submit(client: Any, description: Any) -> None:
            self._client = client
            check_submit(client, description)
            self._handle = f"{batch.account.name}:{client.batch_id}"
            self._steps.done(steps.LAUNCH, self._handle)

        def waiter(client: Any, manager: Any) -> Any:
            return Waiter(
                client,
                manager,
                self._job_id,
                timeout=self._options.timeout,
                on_word=lambda word: self._note(f"{self._handle}: {word}"),
            )

        def ended(**given: Any) -> Any:
            self._tell(endpoint)
            return check_finish(**given)

        check_submit, check_finish = check.submit_job, check.finish_job
        ours = {
            "build_client_manager": build,
            "extract_client_options": lambda _: dict(params),
            "submit_job": submit,
            "finish_job": ended,
            "Waiter": waiter,
        }
        with _instead(check, ours), _temporary(endpoint.folder):
            try:
                check.run(_arguments(self._job_id, self._options.image))
            except Ended as end:
                raise self._why(end, endpoint) from None
            except AssertionError as error:
                raise self._wrong(error) from error
        self._steps.done(steps.RESULTS, f"{len(endpoint.brought)} files came back, and hold what they should")

    def _tell(self, endpoint: FilesEndpoint) -> None:
        """The job has ended with the tool's own exit code: what came before it has worked."""
        self._staged_in(endpoint)
        text = f"exit code {EXIT_CODE}, as Pulsar's check has it"
        self._steps.done(steps.TOOL, text, at=endpoint.moments.get("brought"))

    def _staged_in(self, endpoint: FilesEndpoint) -> None:
        text = f"{len(endpoint.fetched)} files fetched from {endpoint.base}"
        self._steps.done(steps.STAGE_IN, text, at=endpoint.moments.get("fetched"))

    def _why(self, end: Ended, endpoint: FilesEndpoint) -> StepFailed:
        """Which step it was that did not work, of a job that ended otherwise."""
        fetched = bool(endpoint.fetched)
        advice = hint(end.text, endpoint.base, fetched=fetched, handle=self._handle)
        code = end.status.get("returncode")
        if code is None and not end.status.get("stdout"):
            # Nothing of the tool. What it did when its time was up is not known, but that files came is.
            late = fetched and end.text.startswith(TOO_LONG)
            return StepFailed(steps.TOOL if late else steps.STAGE_IN, end.text, advice)
        if code == EXIT_CODE:
            self._tell(endpoint)
            return StepFailed(steps.RESULTS, end.text, advice)
        self._staged_in(endpoint)
        wrote = str(end.status.get("stderr") or "").strip().rpartition("\n")[2]
        text = f"exit code {code} in place of {EXIT_CODE}: {wrote or end.text}"
        return StepFailed(steps.TOOL, text, advice)

    def _wrong(self, error: AssertionError) -> StepFailed:
        text = (
            str(error).partition(" Final Pulsar")[0].partition(", final status")[0]
            or "what came is not right"
        )
        return StepFailed(self._steps.at, text, f"azbatch logs {self._handle}")

    def _look_for_rests(self, batch: AzureBatch, destination: Destination) -> None:
        if destination.cleanup == "never":
            text = f"{self._handle} is kept, as {PREFIX}cleanup says"
            self._steps.done(steps.CLEAN_UP, text, ok=None, hint=f"azbatch delete {self._handle}")
            return
        batch_id = str(self._client.batch_id)
        if batch.staged(destination.storage_container, f"results/{batch_id}/status.json") is not None:
            raise StepFailed(
                steps.CLEAN_UP,
                f"results/{batch_id} is still in the container {destination.storage_container}",
                "who logs in needs to delete blobs: Storage Blob Data Contributor",
            )
        self._steps.done(steps.CLEAN_UP, "the Batch job and its files are gone")

    def _end(self) -> None:
        """End a job that nobody waits for any more."""
        if self._client is not None:
            self._client.kill()
            self._client.clean()


def _pulsar() -> ModuleType:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Pulsar imports warns of Python's age, on every call
            from pulsar.client.test import check
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"pulsar", "galaxy"}:
            raise
        raise ConfigurationError("Pulsar is not installed here", hint=NO_PULSAR) from None
    return check  # type: ignore[no-any-return]


def _arguments(job_id: str, image: str) -> Any:
    """What Pulsar's check reads from its command line."""
    from types import SimpleNamespace

    return SimpleNamespace(
        job_id=job_id,
        container=image,
        default_file_action="remote_transfer",
        suppress_output=True,
        cleanup=True,
        test_errors=False,
    )


@contextmanager
def _instead(module: ModuleType, names: dict[str, Any]) -> Iterator[None]:
    """Pulsar's check has no arguments for these: it takes them from its module."""
    before = {name: getattr(module, name) for name in names}
    vars(module).update(names)
    try:
        yield
    finally:
        vars(module).update(before)


@contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    """Have Pulsar's check make its files there: only they are served."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _hush() -> None:
    """Keep Pulsar's log, which its check turns on whole, to those who debug."""
    if os.environ.get("AZBATCH_DEBUG", "").lower() not in {"", "0", "false", "no"}:
        return
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
