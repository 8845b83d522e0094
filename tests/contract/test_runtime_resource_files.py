"""Resource files: the process runtime, the blob service and the genuine storage client."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
from azure.storage.blob import generate_blob_sas
from blob_server import ACCOUNT, KEY
from runtime_rig import code_of, details_of, rig_of
from storage_urls import IDENTITY, container_url, in_an_hour
from web_server import address

from azbatch_core.local.runtime import download

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local.runtime.base import BlobPlace

pytestmark = pytest.mark.asyncio


# Resource files with a URL


async def test_a_file_comes_from_the_web(tmp_path: Path, web: Any) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.run(
            "cat in/x y",
            resource_files=(
                {"httpUrl": address(web, "/plain file"), "filePath": "in/x"},
                {"httpUrl": address(web, "/moved"), "filePath": "y", "fileMode": "0640"},
            ),
        )
        assert outcome.failure is None
        assert (rig.task / "stdout.txt").read_text() == "got /plain%20filegot /plain%20file?token=secret"
        assert (rig.task / "wd/in/x").stat().st_mode & 0o7777 == 0o770
        assert (rig.task / "wd/y").stat().st_mode & 0o7777 == 0o640


@pytest.mark.usefixtures("box")
async def test_a_blob_comes_by_its_signature(tmp_path: Path, blobs: BlobPlace) -> None:
    sas = generate_blob_sas(
        ACCOUNT, "box", "data/a 1.txt", account_key=KEY, permission="r", expiry=in_an_hour()
    )
    async with rig_of(tmp_path, blobs=blobs) as rig:
        url = f"{blobs.endpoint}/box/data/a%201.txt?{sas}"
        outcome = await rig.stage({"httpUrl": url, "filePath": "x"})
        assert outcome.failure is None
        assert rig.staged() == {"x": "<data/a 1.txt>"}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/status/404", "BlobNotFound"),
        ("/status/403", "BlobAccessDenied"),
        ("/status/401", "BlobAccessDenied"),
        ("/status/500", "BlobDownloadMiscError"),
        ("/loop", "BlobDownloadMiscError"),
        ("/file", "BlobDownloadMiscError"),
        ("/cut", "BlobDownloadMiscError"),
    ],
)
async def test_a_download_that_fails_says_which_and_keeps_the_signature_to_itself(
    tmp_path: Path, web: Any, path: str, code: str
) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.stage({"httpUrl": address(web, f"{path}?sig=secret"), "filePath": "f"})
        assert (outcome.exit_code, code_of(outcome)) == (None, code)
        details = details_of(outcome)
        assert details["BlobSource"] == address(web, path)
        assert details["FilePath"] == "f"
        assert "secret" not in str(outcome)
        assert (rig.task / "stderr.txt").read_text() == ""
        assert not (rig.task / "fileuploadout.txt").exists()


async def test_a_server_in_trouble_is_asked_again(tmp_path: Path, web: Any) -> None:
    web.failures = [1, 2]
    async with rig_of(tmp_path) as rig:
        assert (await rig.stage({"httpUrl": address(web, "/flaky"), "filePath": "f"})).failure is None
        assert rig.staged() == {"f": "got /flaky"}


async def test_a_silent_server_times_out(tmp_path: Path, web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_TIMEOUT", 0.05)
    async with rig_of(tmp_path) as rig:
        outcome = await rig.stage({"httpUrl": address(web, "/hang"), "filePath": "f"})
        assert code_of(outcome) == "BlobDownloadTimedOut"


async def test_a_stop_does_not_wait_for_a_download(tmp_path: Path, web: Any) -> None:
    async with rig_of(tmp_path) as rig:
        running = rig.launch(resource_files=({"httpUrl": address(web, "/hang"), "filePath": "f"},))
        await asyncio.to_thread(web.asked.wait)
        running.stop("user")
        outcome = await asyncio.wait_for(running.done, 5)
        assert (outcome.exit_code, code_of(outcome)) == (None, "TaskEnded")
        web.released.set()


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "not a url", "http://[", "http://127.0.0.1:1/x", ""]
)
async def test_a_url_that_cannot_work_fails(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_PAUSES", ())
    async with rig_of(tmp_path) as rig:
        outcome = await rig.stage({"httpUrl": url, "filePath": "f"})
        expected = "BlobDownloadMiscError" if url else "ResourceContainerNotFound"
        assert code_of(outcome) == expected


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "..", "", "."])
async def test_no_file_lands_outside_the_working_directory(tmp_path: Path, web: Any, path: str) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.stage({"httpUrl": address(web, "/x"), "filePath": path})
        assert code_of(outcome) == "ResourceFileCreateFailed"
        assert outcome.failure is not None
        assert outcome.failure["category"] == "UserError"
        assert rig.staged() == {}


async def test_a_mode_that_is_none_is_refused(tmp_path: Path, web: Any) -> None:
    async with rig_of(tmp_path) as rig:
        outcome = await rig.stage({"httpUrl": address(web, "/x"), "filePath": "x", "fileMode": "rwx"})
        assert code_of(outcome) == "ResourceFileCreateFailed"


async def test_a_file_in_the_way_of_a_folder_is_told(tmp_path: Path, web: Any) -> None:
    async with rig_of(tmp_path) as rig:
        files = [{"httpUrl": address(web, "/x"), "filePath": path} for path in ("x", "x/y")]
        assert code_of(await rig.stage(*files)) == "ResourceDirectoryCreateFailed"
        files = [{"httpUrl": address(web, "/x"), "filePath": path} for path in ("x/y", "x")]
        assert code_of(await rig.stage(*files)) == "ResourceFileCreateFailed"


# Resource files from containers


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, {"data/a 1.txt", "data/sub/ü.txt", "other.txt"}),
        ({"blobPrefix": "data/"}, {"data/a 1.txt", "data/sub/ü.txt"}),
        ({"blobPrefix": "data/sub", "filePath": "in"}, {"in/data/sub/ü.txt"}),
        ({"blobPrefix": "nothing"}, set()),
    ],
)
@pytest.mark.parametrize("source", ["signature", "identity", "auto storage"])
@pytest.mark.usefixtures("box")
async def test_blobs_of_a_container_keep_their_names(
    tmp_path: Path, blobs: BlobPlace, source: str, more: Any, names: set[str]
) -> None:
    where = {
        "signature": {"storageContainerUrl": container_url(blobs, "rl")},
        "identity": {"storageContainerUrl": f"{blobs.endpoint}/box", "identityReference": IDENTITY},
        "auto storage": {"autoStorageContainerName": "box"},
    }[source]
    async with rig_of(tmp_path, blobs=blobs) as rig:
        outcome = await rig.stage({**where, **more, "fileMode": "0600"})
        assert outcome.failure is None
        staged = rig.staged()
        assert set(staged) == names
        assert all(text == f"<{name.removeprefix('in/')}>" for name, text in staged.items())
        assert all((rig.task / "wd" / name).stat().st_mode & 0o777 == 0o600 for name in names)


@pytest.mark.usefixtures("box")
async def test_a_container_that_fails_says_how(tmp_path: Path, blobs: BlobPlace) -> None:
    expired = dt.datetime.now(dt.timezone.utc) - dt.timedelta(hours=1)
    cases = {
        container_url(blobs, "rl", "nowhere"): "ResourceContainerNotFound",
        container_url(blobs, "w"): "ResourceContainerAccessDenied",
        container_url(blobs, "rl", expiry=expired): "ResourceContainerAccessDenied",
        f"{blobs.endpoint}/box": "ResourceContainerAccessDenied",
        container_url(blobs, "l"): "BlobAccessDenied",
        "nonsense": "ResourceContainerListMiscError",
    }
    async with rig_of(tmp_path, blobs=blobs) as rig:
        for url, code in cases.items():
            outcome = await rig.stage({"storageContainerUrl": url})
            assert code_of(outcome) == code, url
            assert "sig=" not in str(outcome)
        assert (
            code_of(await rig.stage({"autoStorageContainerName": "nowhere"})) == "ResourceContainerNotFound"
        )


@pytest.mark.usefixtures("box")
async def test_a_blob_name_leads_nowhere_else(tmp_path: Path, blobs: BlobPlace) -> None:
    from azbatch_core.local.blobs.store import BlobStore

    store = BlobStore(blobs.root)
    content = store.incoming()
    content.write_text("evil")
    store.put("box", "../../evil", content)
    store.close()
    async with rig_of(tmp_path, blobs=blobs) as rig:
        outcome = await rig.stage({"autoStorageContainerName": "box"})
        assert code_of(outcome) == "ResourceFileCreateFailed"
        assert not list(rig.node.root.rglob("evil"))


# Output files
