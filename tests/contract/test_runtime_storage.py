"""Resource files and output files: the process runtime, the blob service and the genuine storage client."""

from __future__ import annotations

import asyncio
import datetime as dt
import http.server
import json
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from azure.storage.blob import BlobServiceClient, generate_blob_sas, generate_container_sas
from blob_server import ACCOUNT, KEY, blob_server

from azbatch_core.local.clock import RealClock
from azbatch_core.local.runtime import download
from azbatch_core.local.runtime.base import Launch, NodePlace, Outcome, RuntimeConfig
from azbatch_core.local.runtime.process import ProcessRuntime

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from azure.storage.blob import ContainerClient

    from azbatch_core.local.runtime.base import BlobPlace

pytestmark = pytest.mark.asyncio

IDENTITY = {"resourceId": "/subscriptions/s/resourceGroups/g/providers/x/userAssignedIdentities/i"}


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlobPlace]:
    with blob_server(tmp_path_factory.mktemp("blobs")) as place:
        yield place


@pytest.fixture
def box(blobs: BlobPlace) -> Iterator[ContainerClient]:
    """A container with a few blobs."""
    credential = {"account_name": ACCOUNT, "account_key": KEY}
    with BlobServiceClient(blobs.endpoint, credential=credential, retry_total=0) as service:
        container = service.create_container("box")
        for name in ("data/a 1.txt", "data/sub/ü.txt", "other.txt"):
            container.upload_blob(name, f"<{name}>")
        yield container
        container.delete_container()


class Handler(http.server.BaseHTTPRequestHandler):
    """A web server with a few tempers."""

    failures: dict[str, int]

    def do_GET(self) -> None:
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/plain%20file?token=secret")
            self.end_headers()
        elif self.path.startswith("/loop"):
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
        elif self.path.startswith("/file"):
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif self.path.startswith("/status/"):
            self.send_error(int(self.path.split("/")[2].split("?")[0]))
        elif self.path.startswith("/flaky") and self.server.failures:  # type: ignore[attr-defined]
            self.server.failures.pop()  # type: ignore[attr-defined]
            self.send_error(503)
        elif self.path.startswith("/cut"):
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"too short")
        elif self.path.startswith("/hang"):
            self.server.asked.set()  # type: ignore[attr-defined]
            self.server.released.wait(10)  # type: ignore[attr-defined]
        else:
            body = f"got {self.path}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def do_PUT(self) -> None:
        self.server.asked.set()  # type: ignore[attr-defined]
        self.server.released.wait(10)  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[http.server.ThreadingHTTPServer]:
    monkeypatch.setattr(download, "_PAUSES", (0.0, 0.0))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.failures = []  # type: ignore[attr-defined]
        server.asked = threading.Event()  # type: ignore[attr-defined]
        server.released = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


def address(web: http.server.ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{web.server_port}{path}"


class Rig:
    """A runtime with one node and the blob service."""

    def __init__(self, state_dir: Path, blobs: BlobPlace | None) -> None:
        config = RuntimeConfig(state_dir, "acct", "http://127.0.0.1:1", blobs)
        self.runtime = ProcessRuntime(config, RealClock())
        self.node = NodePlace("pool", "node1", state_dir / "nodes/pool/node1", "127.0.0.1")
        self.runtime.create_node(self.node)
        self.task = self.runtime.task_directory(self.node, "job", "t")

    def launch(self, command: str = "true", **fields: Any) -> Any:
        """Begin a try of `job`/`t`."""
        return self.runtime.launch(
            Launch(self.node, "task", "job", "t", command_line=command, **fields),
        )

    async def run(self, command: str = "true", **fields: Any) -> Outcome:
        """The outcome of a try of `job`/`t`."""
        outcome: Outcome = await self.launch(command, **fields).done
        return outcome

    async def stage(self, *files: dict[str, Any]) -> Outcome:
        """The outcome of a task that only has resource files."""
        return await self.run(resource_files=files)

    def staged(self) -> dict[str, str]:
        """What is in the working directory."""
        wd = self.task / "wd"
        return {p.relative_to(wd).as_posix(): p.read_text() for p in wd.rglob("*") if p.is_file()}


@asynccontextmanager
async def rig_of(path: Path, blobs: BlobPlace | None = None) -> AsyncIterator[Rig]:
    rig = Rig(path, blobs)
    try:
        yield rig
    finally:
        await rig.runtime.close()


def in_an_hour() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc) + dt.timedelta(hours=1)


def container_url(blobs: BlobPlace, permission: str, name: str = "box", **more: Any) -> str:
    sas = generate_container_sas(
        ACCOUNT, name, account_key=KEY, permission=permission, **{"expiry": in_an_hour(), **more}
    )
    return f"{blobs.endpoint}/{name}?{sas}"


def code_of(outcome: Outcome) -> str | None:
    return None if outcome.failure is None else outcome.failure["code"]


def details_of(outcome: Outcome) -> dict[str, str]:
    assert outcome.failure is not None
    return {pair["name"]: pair["value"] for pair in outcome.failure["details"]}


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
    async with rig_of(tmp_path, blobs) as rig:
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
    async with rig_of(tmp_path, blobs) as rig:
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
    async with rig_of(tmp_path, blobs) as rig:
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
    async with rig_of(tmp_path, blobs) as rig:
        outcome = await rig.stage({"autoStorageContainerName": "box"})
        assert code_of(outcome) == "ResourceFileCreateFailed"
        assert not list(rig.node.root.rglob("evil"))


# Output files


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
    async with rig_of(tmp_path, blobs) as rig:
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
    async with rig_of(tmp_path, blobs) as rig:
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
    async with rig_of(tmp_path, blobs) as rig:
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
    async with rig_of(tmp_path, blobs) as rig:
        for url, code in cases.items():
            files = (output("two.txt", url), output("d/*", container_url(blobs, "w"), path="out"))
            outcome = await rig.run(SCRIPT.format(0), output_files=files)
            assert (outcome.exit_code, code_of(outcome)) == (0, code)
            assert "sig=" not in str(outcome)
            record = json.loads((rig.task / "fileuploaderr.txt").read_text())
            assert (record["code"], record["pattern"]) == (code, "two.txt")
            assert contents(box) == {"out/one.txt": "1\n"}  # the rest was sent all the same


async def test_the_exit_code_outranks_a_failed_upload(tmp_path: Path, blobs: BlobPlace) -> None:
    async with rig_of(tmp_path, blobs) as rig:
        files = (output("two.txt", container_url(blobs, "w", "nowhere")),)
        outcome = await rig.run(SCRIPT.format(3), output_files=files)
        assert (outcome.exit_code, code_of(outcome)) == (3, "FailureExitCode")


@pytest.mark.usefixtures("box")
async def test_two_files_for_one_blob_are_a_conflict(tmp_path: Path, blobs: BlobPlace) -> None:
    url = container_url(blobs, "w")
    async with rig_of(tmp_path, blobs) as rig:
        files = (output("*.txt", url, path="out"), output("two*", url, path="out"))
        outcome = await rig.run(SCRIPT.format(0), output_files=files)
        assert code_of(outcome) == "FileUploadConflict"


async def test_a_second_try_replaces_the_blobs_of_the_first(
    tmp_path: Path, blobs: BlobPlace, box: ContainerClient
) -> None:
    files = (output("../stdout.txt", container_url(blobs, "w"), path="out"),)
    async with rig_of(tmp_path, blobs) as rig:
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
    async with rig_of(tmp_path, blobs) as rig:
        assert (await rig.run("echo x", output_files=(file,))).failure is None
        properties = box.get_blob_client("out.html").get_blob_properties()
        assert properties.content_settings.content_type == "text/html"
        assert properties.metadata == {"task": "t"}


async def test_a_stopped_task_still_sends_its_files(
    tmp_path: Path, blobs: BlobPlace, box: ContainerClient
) -> None:
    files = (output("../stdout.txt", container_url(blobs, "w"), path="out"),)
    async with rig_of(tmp_path, blobs) as rig:
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
