"""Output files: the process runtime, the blob service and the genuine storage client."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from runtime_rig import Rig, code_of, details_of, rig_of
from storage_urls import IDENTITY, container_url
from web_server import address

from azbatch_core.local.runtime.base import Launch

if TYPE_CHECKING:
    from pathlib import Path

    from azure.storage.blob import ContainerClient

    from azbatch_core.local.runtime.base import BlobPlace

pytestmark = pytest.mark.asyncio


def output(
    pattern: str, url: str, *, path: str | None = None, condition: str = "taskcompletion", **more: Any
) -> dict[str, Any]:
    container = {"containerUrl": url, **more}
    if path is not None:
        container["path"] = path
    return {
        "filePattern": pattern,
        "destination": {"container": container},
        "uploadOptions": {"uploadCondition": condition},
    }


def contents(box: ContainerClient) -> dict[str, str]:
    names = [blob.name for blob in box.list_blobs(name_starts_with="out")]
    return {name: box.download_blob(name).readall().decode() for name in names}


SCRIPT = "sh -c 'echo printed; mkdir d; echo 1 > d/one.txt; echo 2 > two.txt; exit {}'"


async def test_output_files_arrive_under_their_names(
    tmp_path: Path, blobs: BlobPlace, box: ContainerClient
) -> None:
    url = container_url(blobs, "w")
    async with rig_of(tmp_path, blobs=blobs) as rig:
        outcome = await rig.run(
            SCRIPT.format(0),
            output_files=(
                output("../std*.txt", url, path="out/logs"),
                output("**/*.txt", url, path="out/files"),
                output("$AZ_BATCH_TASK_WORKING_DIR/two.txt", url, path="out/exact"),
                output("nothing", url, path="out/nothing"),
            ),
        )
        assert outcome.failure is None
        assert contents(box) == {
            "out/logs/stdout.txt": "printed\n",
            "out/logs/stderr.txt": "",
            "out/files/d/one.txt": "1\n",
            "out/files/two.txt": "2\n",
            "out/exact": "2\n",
        }
        log = (rig.task / "fileuploadout.txt").read_text()
        assert "Uploading all files matching pattern ../std*.txt" in log
        assert "sig=" not in log
        assert (rig.task / "fileuploaderr.txt").read_text() == ""


@pytest.mark.parametrize(
    ("code", "sent"), [(0, {"out/success", "out/completion"}), (3, {"out/failure", "out/completion"})]
)
async def test_the_condition_decides(
    tmp_path: Path, blobs: BlobPlace, box: ContainerClient, code: int, sent: set[str]
) -> None:
    url = container_url(blobs, "w")
    async with rig_of(tmp_path, blobs=blobs) as rig:
        outcome = await rig.run(
            SCRIPT.format(code),
            output_files=tuple(
                output("two.txt", url, path=f"out/{when}", condition=f"task{when}")
                for when in ("success", "failure", "completion")
            ),
        )
        assert outcome.exit_code == code
        assert set(contents(box)) == sent


async def test_nothing_is_tried_when_no_condition_holds(tmp_path: Path, blobs: BlobPlace) -> None:
    async with rig_of(tmp_path, blobs=blobs) as rig:
        file = output("*", container_url(blobs, "w"), condition="TaskFailure")
        assert (await rig.run(output_files=(file,))).failure is None
        assert (await rig.run("no-such-program", output_files=(file,))).exit_code is None
        assert not (rig.task / "fileuploadout.txt").exists()


async def test_a_failed_upload_fails_the_task_and_keeps_its_exit_code(
    tmp_path: Path, blobs: BlobPlace, box: ContainerClient
) -> None:
    cases = {
        container_url(blobs, "w", "nowhere"): "FileUploadContainerNotFound",
        container_url(blobs, "r"): "FileUploadAccessDenied",
        f"{blobs.endpoint}/box": "FileUploadAccessDenied",
        "nonsense": "FileUploadMiscError",
    }
    async with rig_of(tmp_path, blobs=blobs) as rig:
        for url, code in cases.items():
            files = (output("two.txt", url), output("d/*", container_url(blobs, "w"), path="out"))
            outcome = await rig.run(SCRIPT.format(0), output_files=files)
            assert (outcome.exit_code, code_of(outcome)) == (0, code)
            assert "sig=" not in str(outcome)
            record = json.loads((rig.task / "fileuploaderr.txt").read_text())
            assert (record["code"], record["pattern"]) == (code, "two.txt")
            assert contents(box) == {"out/one.txt": "1\n"}  # the rest was sent all the same


def wrongly_built(url: str) -> dict[str, str]:
    """Container URLs as people build them wrongly."""
    container, _, signature = url.partition("?")
    return {
        "restype": f"{url}&restype=container",
        "comp": f"{url}&comp=list",
        "no question mark": f"{container}{signature}",
        "encoded question mark": f"{container}%3F{signature}",
        "encoded altogether": f"{container}%3F{signature.replace('=', '%3D')}",
        "a blob": f"{container}/blob?{signature}",
        "no container": f"{container.rpartition('/')[0]}?{signature}",
        "in quotes": f'"{url}"',
        "a quote behind": f"{url}'",
    }


@pytest.mark.usefixtures("box")
async def test_a_wrongly_built_container_url_fails_as_such_and_shows_no_signature(
    tmp_path: Path, blobs: BlobPlace
) -> None:
    async with rig_of(tmp_path, blobs=blobs) as rig:
        for case, url in wrongly_built(container_url(blobs, "w")).items():
            outcome = await rig.run("true", output_files=(output("../stdout.txt", url),))
            assert code_of(outcome) == "FileUploadMiscError", case
            logs = [(rig.task / f"fileupload{name}.txt").read_text() for name in ("out", "err")]
            said = str([outcome, *logs])
            assert url.rpartition("sig")[2][:12] not in said, case
        for case, url in wrongly_built(container_url(blobs, "rl")).items():
            outcome = await rig.stage({"storageContainerUrl": url})
            assert code_of(outcome) == "ResourceContainerListMiscError", case
            assert url.rpartition("sig")[2][:12] not in str(outcome), case


async def test_what_storage_said_is_its_code(tmp_path: Path, blobs: BlobPlace, box: ContainerClient) -> None:
    ago = datetime.now(timezone.utc) - timedelta(hours=1)
    cases = {
        container_url(blobs, "w", expiry=ago): "AuthenticationFailed",
        container_url(blobs, "r"): "AuthorizationPermissionMismatch",
        container_url(blobs, "w", "nowhere"): "ContainerNotFound",
    }
    async with rig_of(tmp_path, blobs=blobs) as rig:
        for url, said in cases.items():
            outcome = await rig.run("true", output_files=(output("../stdout.txt", url),))
            assert details_of(outcome)["Message"] == said
    assert contents(box) == {}


async def test_the_exit_code_outranks_a_failed_upload(tmp_path: Path, blobs: BlobPlace) -> None:
    async with rig_of(tmp_path, blobs=blobs) as rig:
        files = (output("two.txt", container_url(blobs, "w", "nowhere")),)
        outcome = await rig.run(SCRIPT.format(3), output_files=files)
        assert (outcome.exit_code, code_of(outcome)) == (3, "FailureExitCode")


@pytest.mark.usefixtures("box")
async def test_two_files_for_one_blob_are_a_conflict(tmp_path: Path, blobs: BlobPlace) -> None:
    url = container_url(blobs, "w")
    async with rig_of(tmp_path, blobs=blobs) as rig:
        files = (output("*.txt", url, path="out"), output("two*", url, path="out"))
        outcome = await rig.run(SCRIPT.format(0), output_files=files)
        assert code_of(outcome) == "FileUploadConflict"


async def test_a_second_try_replaces_the_blobs_of_the_first(
    tmp_path: Path, blobs: BlobPlace, box: ContainerClient
) -> None:
    files = (output("../stdout.txt", container_url(blobs, "w"), path="out"),)
    async with rig_of(tmp_path, blobs=blobs) as rig:
        for text in ("first", "second"):
            assert (await rig.run(f"echo {text}", output_files=files)).failure is None
        assert contents(box) == {"out": "second\n"}


async def test_an_identity_and_headers_are_good_for_uploads(
    tmp_path: Path, blobs: BlobPlace, box: ContainerClient
) -> None:
    headers = [{"name": "Content-Type", "value": "text/html"}, {"name": "x-ms-meta-task", "value": "t"}]
    file = output(
        "../stdout.txt",
        f"{blobs.endpoint}/box",
        path="out.html",
        identityReference=IDENTITY,
        uploadHeaders=headers,
    )
    async with rig_of(tmp_path, blobs=blobs) as rig:
        assert (await rig.run("echo x", output_files=(file,))).failure is None
        properties = box.get_blob_client("out.html").get_blob_properties()
        assert properties.content_settings.content_type == "text/html"
        assert properties.metadata == {"task": "t"}


async def test_a_stopped_task_still_sends_its_files(
    tmp_path: Path, blobs: BlobPlace, box: ContainerClient
) -> None:
    files = (output("../stdout.txt", container_url(blobs, "w"), path="out"),)
    async with rig_of(tmp_path, blobs=blobs) as rig:
        outcome = await rig.run("sh -c 'echo partial; sleep 600'", wall_time=0.3, output_files=files)
        assert (outcome.exit_code, outcome.stopped) == (-9, "walltime")
        assert contents(box) == {"out": "partial\n"}


@pytest.mark.parametrize("causes", [("user",), ("node",), ("user", "node")])
async def test_a_lost_node_waits_for_no_storage(tmp_path: Path, web: Any, causes: tuple[Any, ...]) -> None:
    async with rig_of(tmp_path) as rig:
        running = rig.launch(output_files=(output("../stdout.txt", address(web, "/box/hang?sig=x")),))
        await asyncio.to_thread(web.asked.wait)
        for cause in causes:
            running.stop(cause)
        outcome = await asyncio.wait_for(running.done, 5)
        assert (outcome.exit_code, outcome.stopped, code_of(outcome)) == (0, causes[0], "TaskEnded")


async def test_closing_waits_for_no_download(tmp_path: Path, web: Any) -> None:
    rig = Rig(tmp_path, None)
    for number in range(20):
        rig.runtime.launch(
            Launch(
                rig.node,
                "task",
                "job",
                f"t{number}",
                command_line="true",
                resource_files=({"httpUrl": address(web, "/hang"), "filePath": "f"},),
            )
        )
    await asyncio.to_thread(web.asked.wait)
    await asyncio.wait_for(rig.runtime.close(), 5)
