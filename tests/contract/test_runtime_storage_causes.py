"""Storage that cannot be used: the failure says why, and never shows a signature."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from runtime_rig import details_of, rig_of

from azbatch_core.local.runtime import storage
from azbatch_core.local.runtime.sending import send

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "c2VjcmV0"
NAMES = {
    "no host": f"https:///box?sig={SECRET}",
    "no container": f"http://x?sig={SECRET}",
    "no such thing": f"https://[::1/box?sig={SECRET}",
    "no address": f"https://no-such-host.invalid/box?sig={SECRET}",
}


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waits between tries."""
    monkeypatch.setattr(storage, "_RETRIES", {"retry_total": 0, "connection_timeout": 5})


@pytest.fixture
def refused() -> Iterator[str]:
    """A container where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/box?sig={SECRET}"


@pytest.fixture(params=["refused", *NAMES])
def url(request: pytest.FixtureRequest, refused: str) -> str:
    """A container URL that leads nowhere."""
    return NAMES.get(request.param, refused)


def check(said: str) -> None:
    assert SECRET not in said
    assert "Error" not in said, "the name of a class is no cause"
    assert len(said) > len("No connection: ")


@pytest.mark.asyncio
async def test_output_files_say_why_they_cannot_be_sent(tmp_path: Path, url: str) -> None:
    file = {"filePattern": "../stdout.txt", "destination": {"container": {"containerUrl": url}}}
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run("echo x", output_files=(file,))
        check(details_of(outcome)["Message"])
        check((rig.task / "fileuploaderr.txt").read_text().replace("FileUploadMiscError", ""))


@pytest.mark.asyncio
async def test_containers_say_why_they_cannot_be_read(tmp_path: Path, url: str) -> None:
    async with rig_of(tmp_path) as rig:
        check(details_of(await rig.stage({"storageContainerUrl": url}))["Message"])


@pytest.mark.asyncio
async def test_addresses_say_why_they_cannot_be_read(tmp_path: Path, url: str) -> None:
    async with rig_of(tmp_path) as rig:
        check(details_of(await rig.stage({"httpUrl": f"{url}", "filePath": "f"}))["Message"])


def test_the_log_says_why_logs_were_not_sent(url: str, caplog: pytest.LogCaptureFixture) -> None:
    send(url, None, {"agent.log": b"x"}, None)
    check(caplog.messages[-1].rpartition("/box")[2] or caplog.messages[-1])
    assert SECRET not in caplog.text
