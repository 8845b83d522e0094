"""What is secret is seen by Pulsar on the node, and by nobody else."""

from __future__ import annotations

import json
import logging
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from files_endpoint import JOB_KEY
from pulsar.client.exceptions import PulsarClientTransportError
from pulsar_rig import Rig, until

from azbatch_core.errors import ServiceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from files_endpoint import FilesEndpoint
    from typing_extensions import Self

    from azbatch_core.local import LocalBatch

LOGIN = {"server": "127.0.0.1:9", "username": "reader", "password": "registry-4711"}


class CommandLines:
    """Looks at every process of the machine, again and again."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.01):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    self.seen.add(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))


@pytest.fixture(params=["host broker", "docker broker", "docker relay"])
def secret_rig(
    request: pytest.FixtureRequest, files: FilesEndpoint, tmp_path: Path, start_manager: Callable[..., Any]
) -> Rig:
    """Jobs with every secret that there is."""
    runtime, queue = request.param.split()
    plain: Rig = request.getfixturevalue("rig" if runtime == "host" else "docker_rig")
    manager = start_manager(queue, plain.account)
    return Rig(files, tmp_path, {**plain.params, "azure_batch_registry": LOGIN}, manager, plain.account)


def queue_password(manager: Any) -> str:
    """The one by which nodes send messages."""
    config = manager.node_config()
    return str(
        config.get("message_queue_password") or config["message_queue_url"].split("@")[0].split(":")[-1]
    )


def test_no_command_line_log_or_record_has_a_secret_in_it(
    secret_rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    password = queue_password(secret_rig.manager)
    secrets = (JOB_KEY, password, LOGIN["password"])
    logging.getLogger("azure").setLevel(logging.DEBUG)
    # What the tool can see: its variables, and every file of its container.
    script = 'env >$1; cat /proc/[0-9]*/environ >>$1; touch "$2"; while [ ! -e "$3" ]; do sleep 0.1; done'
    if secret_rig.account == "docked":
        places = "/azbatch /tmp /root /etc /var /run"
        script += (
            f"; for f in $(find {places} -type f); do echo; echo == $f; cat $f; done >/seen; cat /seen >>$1"
        )
    job = secret_rig.job(script)
    job.arguments = (f'"{job.mark("begun")}"', f'"{job.mark("go")}"')
    try:
        with CommandLines() as lines:
            job.launch()
            until(job.mark("begun").exists)
            documents = json.dumps(secret_rig.batch.job(job.batch_id).documents())
            job.mark("go").touch()
            ended = job.wait()
    finally:
        logging.getLogger("azure").setLevel(logging.WARNING)
    assert ended["status"] == "complete", ended
    assert any("steps.sh tool" in line or "steps.sh" in line for line in lines.seen)
    ours = [record for record in caplog.records if record.name.startswith(("azbatch", "azure"))]
    assert ours
    said = "\n".join([f"{record.getMessage()} {record.args!r}" for record in ours])
    stderr = secret_rig.batch.staged("pulsar", f"results/{job.batch_id}/stderr.txt") or b""
    assert b"collecting output" in stderr, "Pulsar's log is kept"
    client = job.new_client()
    for secret in secrets:
        assert not [line for line in lines.seen if secret in line]
        assert secret not in documents
        assert secret not in said
        assert secret not in f"{client!r} {client.destination!r} {client.runs!r} {secret_rig.manager!r}"
        assert secret not in json.dumps(ended)
        assert secret not in stderr.decode()
    seen_by_tool = job.output.read_bytes().decode(errors="replace")
    assert password not in seen_by_tool
    assert LOGIN["password"] not in seen_by_tool
    if secret_rig.account == "docked":
        assert "/command_line" in seen_by_tool
        assert JOB_KEY not in seen_by_tool


def test_no_exception_has_a_secret_in_it(rig: Rig, fault: Callable[..., None], service: LocalBatch) -> None:
    del service
    job = rig.job(
        "true", azure_batch_registry=LOGIN, azure_batch_message_queue_url="amqp://u:broker-4711@h//"
    )
    fault("error", operation="create_job", code="InvalidRequestBody", status=400, count=1)
    with pytest.raises(PulsarClientTransportError) as caught:
        job.launch()
    chain: list[Any] = []
    error: BaseException | None = caught.value
    while error is not None:
        chain.append(f"{error!s} {error!r} {vars(error)!r}")
        error = error.__cause__ or error.__context__
    for secret in (JOB_KEY, LOGIN["password"], "broker-4711"):
        assert secret not in "\n".join(chain)
    assert rig.batch.unstage("pulsar", f"{job.client.batch_id}/") == 0, "nor does storage keep one"


def test_storage_that_goes_away_at_a_launch_is_told_with_what_may_stay(
    rig: Rig, fault: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job = rig.job("true")
    fault("error", operation="create_job", code="InvalidRequestBody", status=400, count=1)

    def away(*_: Any) -> int:
        raise ServiceUnavailable("storage does not answer")

    monkeypatch.setattr(type(job.new_client().runs._batch), "unstage", away)
    with pytest.raises(PulsarClientTransportError, match="InvalidRequestBody"):
        job.launch()
    assert f"keys may stay in storage, in pulsar/{job.client.batch_id}/: storage does not" in caplog.text
