"""The genuine azure-storage-blob client against the local blob service over HTTP."""

from __future__ import annotations

import base64
import datetime as dt
from typing import TYPE_CHECKING

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.storage.blob import (
    BlobBlock,
    BlobClient,
    BlobServiceClient,
    ContainerClient,
    ContentSettings,
    generate_account_sas,
    generate_blob_sas,
    generate_container_sas,
)
from blob_server import ACCOUNT, KEY, blob_server

from azbatch_core.local.blobs.auth import service_sas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = ["a", "a/b", "wd/out file.txt", "é/ü 日本.txt", "100%/x%2Fy", "x//y", "x/", "+&=?#", "%41", "a:b*"]


class Clock:
    """A time that a test moves."""

    def __init__(self) -> None:
        self.ahead = dt.timedelta()

    def __call__(self) -> dt.datetime:
        """The time."""
        return dt.datetime.now(dt.timezone.utc) + self.ahead


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Iterator[str]:
    with blob_server(tmp_path_factory.mktemp("blobs"), now=clock) as place:
        yield place.endpoint


@pytest.fixture(scope="module")
def service(endpoint: str) -> Iterator[BlobServiceClient]:
    with BlobServiceClient(
        endpoint,
        credential={"account_name": ACCOUNT, "account_key": KEY},
        retry_total=0,
        max_single_put_size=1000,
        max_block_size=1000,
        max_single_get_size=1000,
        max_chunk_get_size=1000,
    ) as client:
        yield client


@pytest.fixture
def container(service: BlobServiceClient, request: pytest.FixtureRequest) -> Iterator[ContainerClient]:
    name = "t-" + "".join(c if c.isalnum() else "-" for c in request.node.name.lower()).strip("-")[:50]
    name = "-".join(part for part in name.split("-") if part)
    client = service.create_container(name)
    yield client
    if client.exists():
        client.delete_container()


def in_an_hour() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc) + dt.timedelta(hours=1)


def test_a_container_is_made_found_and_deleted(service: BlobServiceClient) -> None:
    client = service.get_container_client("made-here")
    assert not client.exists()
    client.create_container(metadata={"owner": "me"})
    assert client.exists()
    assert client.get_container_properties().metadata == {"owner": "me"}
    with pytest.raises(ResourceExistsError) as caught:
        client.create_container()
    assert caught.value.error_code == "ContainerAlreadyExists"
    assert "made-here" in [found.name for found in service.list_containers()]
    client.delete_container()
    assert not client.exists()
    with pytest.raises(ResourceNotFoundError) as caught:
        client.delete_container()
    assert caught.value.error_code == "ContainerNotFound"


@pytest.mark.parametrize("name", ["UPPER", "a", "a--b", "-ab", "ab-", "a" * 64, "a_b"])
def test_a_container_of_a_wrong_name_is_refused(service: BlobServiceClient, name: str) -> None:
    with pytest.raises(HttpResponseError) as caught:
        service.create_container(name)
    assert caught.value.error_code == "InvalidResourceName"


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 3500])
def test_what_goes_up_comes_down(container: ContainerClient, size: int) -> None:
    data = bytes(i % 251 for i in range(size))
    container.upload_blob("data", data)
    assert container.download_blob("data").readall() == data
    assert container.get_blob_client("data").get_blob_properties().size == size


@pytest.mark.parametrize("name", NAMES)
def test_any_name_works(container: ContainerClient, name: str) -> None:
    container.upload_blob(name, name.encode())
    assert container.download_blob(name).readall() == name.encode()
    assert [blob.name for blob in container.list_blobs()] == [name]
    container.delete_blob(name)
    assert list(container.list_blobs()) == []


def test_all_names_live_side_by_side(container: ContainerClient) -> None:
    for name in NAMES:
        container.upload_blob(name, name.encode())
    assert {blob.name: container.download_blob(blob.name).readall() for blob in container.list_blobs()} == {
        name: name.encode() for name in NAMES
    }


def test_parts_of_a_blob_can_be_read(container: ContainerClient) -> None:
    container.upload_blob("digits", b"0123456789")
    assert container.download_blob("digits", offset=3, length=4).readall() == b"3456"
    assert container.download_blob("digits", offset=8, length=400).readall() == b"89"
    with pytest.raises(HttpResponseError) as caught:
        container.download_blob("digits", offset=10, length=1)
    assert caught.value.error_code == "InvalidRange"


def test_lists_go_by_prefix_page_and_folder(container: ContainerClient) -> None:
    names = ["a/1", "a/2", "a/sub/3", "ab", "b"]
    for name in names:
        container.upload_blob(name, b"")
    assert [b.name for b in container.list_blobs(name_starts_with="a/")] == ["a/1", "a/2", "a/sub/3"]
    pages = [[b.name for b in page] for page in container.list_blobs(results_per_page=2).by_page()]
    assert pages == [["a/1", "a/2"], ["a/sub/3", "ab"], ["b"]]
    assert [b.name for b in container.walk_blobs()] == ["a/", "ab", "b"]
    assert {b.name for b in container.walk_blobs(name_starts_with="a/")} == {"a/1", "a/2", "a/sub/"}
    folders = container.walk_blobs(results_per_page=1).by_page()
    assert [[item.name for item in page] for page in folders] == [["a/"], ["ab"], ["b"]]


def test_properties_and_metadata_are_kept(container: ContainerClient) -> None:
    client = container.upload_blob(
        "page.html",
        b"<p>",
        metadata={"a_b": "1", "ab": "2", "a1": "3", "a_c": "4"},
        content_settings=ContentSettings(content_type="text/html", cache_control="no-store"),
    )
    properties = client.get_blob_properties()
    assert properties.content_settings.content_type == "text/html"
    assert properties.content_settings.cache_control == "no-store"
    assert properties.metadata == {"a_b": "1", "ab": "2", "a1": "3", "a_c": "4"}
    client.set_blob_metadata({"new": "x"})
    assert client.get_blob_properties().metadata == {"new": "x"}


def test_blocks_are_committed_in_the_order_asked_for(container: ContainerClient) -> None:
    client = container.get_blob_client("blocks")
    for name in ("one", "two", "six"):
        client.stage_block(name, name.encode())
    assert not client.exists()
    client.commit_block_list([BlobBlock("two"), BlobBlock("one")])
    assert client.download_blob().readall() == b"twoone"
    committed, uncommitted = client.get_block_list("all")
    assert [block.id for block in committed] == ["two", "one"]
    assert uncommitted == []
    client.stage_block("new", b"NEW")
    client.commit_block_list([BlobBlock("one"), BlobBlock("new")])
    assert client.download_blob().readall() == b"oneNEW"
    with pytest.raises(HttpResponseError) as caught:
        client.commit_block_list([BlobBlock("six")])
    assert caught.value.error_code == "InvalidBlockList"


def test_writing_over_a_blob_must_be_asked_for(container: ContainerClient) -> None:
    client = container.upload_blob("once", b"1")
    with pytest.raises(ResourceExistsError) as caught:
        container.upload_blob("once", b"2")
    assert caught.value.error_code == "BlobAlreadyExists"
    before = client.get_blob_properties().etag
    container.upload_blob("once", b"2", overwrite=True)
    with pytest.raises(ResourceModifiedError):
        client.upload_blob(b"3", overwrite=True, etag=before, match_condition=MatchConditions.IfNotModified)
    assert client.download_blob().readall() == b"2"


def test_what_is_not_there_is_not_found(service: BlobServiceClient, container: ContainerClient) -> None:
    with pytest.raises(ResourceNotFoundError) as caught:
        container.download_blob("no")
    assert caught.value.error_code == "BlobNotFound"
    with pytest.raises(ResourceNotFoundError) as caught:
        container.delete_blob("no")
    assert caught.value.error_code == "BlobNotFound"
    with pytest.raises(ResourceNotFoundError) as caught:
        service.get_blob_client("nowhere", "no").upload_blob(b"")
    assert caught.value.error_code == "ContainerNotFound"
    with pytest.raises(ResourceNotFoundError) as caught:
        list(service.get_container_client("nowhere").list_blobs())
    assert caught.value.error_code == "ContainerNotFound"


def test_an_operation_that_is_not_served_says_so(container: ContainerClient) -> None:
    with pytest.raises(HttpResponseError) as caught:
        container.upload_blob("p", b"x", blob_type="AppendBlob")
    assert caught.value.error_code == "NotImplemented"


def test_a_wrong_key_is_refused(endpoint: str) -> None:
    wrong = base64.b64encode(b"w" * 64).decode()
    credential = {"account_name": ACCOUNT, "account_key": wrong}
    with (
        BlobServiceClient(endpoint, credential=credential, retry_total=0) as client,
        pytest.raises(ClientAuthenticationError) as caught,
    ):
        client.create_container("never")
    assert caught.value.error_code == "AuthenticationFailed"
    assert wrong not in str(caught.value)


def test_no_key_is_refused(endpoint: str) -> None:
    with (
        BlobServiceClient(endpoint, retry_total=0) as client,
        pytest.raises(ClientAuthenticationError) as caught,
    ):
        list(client.list_containers())
    assert caught.value.error_code == "NoAuthenticationInformation"


def container_with(endpoint: str, name: str, permissions: str, **more: object) -> ContainerClient:
    sas = generate_container_sas(
        ACCOUNT, name, account_key=KEY, permission=permissions, **{"expiry": in_an_hour(), **more}
    )
    return ContainerClient.from_container_url(f"{endpoint}/{name}?{sas}", retry_total=0)


def is_allowed(step: Callable[[], object]) -> bool:
    try:
        step()
    except HttpResponseError as error:
        return error.error_code != "AuthorizationPermissionMismatch"
    return True


@pytest.mark.parametrize(
    ("permissions", "allowed"),
    [("r", {"read"}), ("l", {"list"}), ("w", {"write"}), ("c", {"write"}), ("d", {"delete"}),
     ("rwdl", {"read", "list", "write", "delete"})],
)  # fmt: skip
def test_a_container_signature_allows_what_it_names(
    endpoint: str, container: ContainerClient, permissions: str, allowed: set[str]
) -> None:
    container.upload_blob("there", b"x")
    container.upload_blob("victim", b"x")
    with container_with(endpoint, container.container_name, permissions) as client:
        steps = {
            "read": lambda: client.download_blob("there").readall(),
            "list": lambda: list(client.list_blobs()),
            "write": lambda: client.upload_blob("new", b"x"),
            "delete": lambda: client.delete_blob("victim"),
        }
        done = {name for name, step in steps.items() if is_allowed(step)}
    assert done == allowed


def test_a_container_signature_opens_no_other_container(
    endpoint: str, container: ContainerClient, service: BlobServiceClient
) -> None:
    other = service.create_container("the-other-one")
    sas = generate_container_sas(
        ACCOUNT, container.container_name, account_key=KEY, permission="rl", expiry=in_an_hour()
    )
    with (
        ContainerClient.from_container_url(f"{endpoint}/the-other-one?{sas}", retry_total=0) as client,
        pytest.raises(ClientAuthenticationError),
    ):
        list(client.list_blobs())
    other.delete_container()


def test_a_blob_signature_opens_one_blob(endpoint: str, container: ContainerClient) -> None:
    name = "dir/one 100%.txt"
    container.upload_blob(name, b"mine")
    container.upload_blob("two", b"not mine")
    sas = generate_blob_sas(
        ACCOUNT, container.container_name, name, account_key=KEY, permission="r", expiry=in_an_hour()
    )
    where = {"container_name": container.container_name, "credential": sas, "retry_total": 0}
    with BlobClient(endpoint, blob_name=name, **where) as client:
        assert client.download_blob().readall() == b"mine"
    with BlobClient(endpoint, blob_name="two", **where) as client, pytest.raises(ClientAuthenticationError):
        client.download_blob()


def test_a_signature_expires_and_begins(endpoint: str, container: ContainerClient, clock: Clock) -> None:
    container.upload_blob("x", b"x")
    with container_with(endpoint, container.container_name, "r") as client:
        assert client.download_blob("x").readall() == b"x"
        clock.ahead = dt.timedelta(hours=2)
        try:
            with pytest.raises(ClientAuthenticationError) as caught:
                client.download_blob("x")
        finally:
            clock.ahead = dt.timedelta()
        assert caught.value.error_code == "AuthenticationFailed"
    later = in_an_hour()
    with (
        container_with(
            endpoint, container.container_name, "r", start=later, expiry=later + dt.timedelta(hours=1)
        ) as client,
        pytest.raises(ClientAuthenticationError),
    ):
        client.download_blob("x")


def test_a_changed_signature_is_worth_nothing(endpoint: str, container: ContainerClient) -> None:
    sas = generate_container_sas(
        ACCOUNT, container.container_name, account_key=KEY, permission="r", expiry=in_an_hour()
    )
    forged = sas.replace("sp=r", "sp=rwdl")
    assert forged != sas
    url = f"{endpoint}/{container.container_name}?{forged}"
    with (
        ContainerClient.from_container_url(url, retry_total=0) as client,
        pytest.raises(ClientAuthenticationError),
    ):
        client.upload_blob("x", b"")


def test_an_account_signature_goes_by_level(endpoint: str, container: ContainerClient) -> None:
    container.upload_blob("x", b"x")
    sas = generate_account_sas(ACCOUNT, KEY, "co", "rlcw", in_an_hour())
    with BlobServiceClient(endpoint, credential=sas, retry_total=0) as client:
        assert client.get_blob_client(container.container_name, "x").download_blob().readall() == b"x"
        with pytest.raises(HttpResponseError) as caught:
            list(client.list_containers())
        assert caught.value.error_code == "AuthorizationResourceTypeMismatch"
        with pytest.raises(HttpResponseError) as caught:
            client.delete_container(container.container_name)
        assert caught.value.error_code == "AuthorizationPermissionMismatch"


def test_our_own_signatures_are_valid(endpoint: str, container: ContainerClient) -> None:
    container.upload_blob("a b", b"x")
    sas = service_sas(ACCOUNT, KEY, container.container_name, "rl", in_an_hour())
    url = f"{endpoint}/{container.container_name}?{sas}"
    with ContainerClient.from_container_url(url, retry_total=0) as client:
        assert client.download_blob("a b").readall() == b"x"
    sas = service_sas(ACCOUNT, KEY, container.container_name, "r", in_an_hour(), blob="a b")
    url = f"{endpoint}/{container.container_name}/a%20b?{sas}"
    with BlobClient.from_blob_url(url, retry_total=0) as blob:
        assert blob.download_blob().readall() == b"x"
