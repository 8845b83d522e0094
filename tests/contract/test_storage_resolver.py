"""Containers by name become URLs that the genuine storage client can use."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.transport import HttpTransport
from azure.storage.blob import ContainerClient

from azbatch_core.errors import AzBatchError, ConfigurationError, NotFound
from azbatch_core.local import LocalBatch
from azbatch_core.plan.secrets import StorageRef, reveal
from azbatch_core.service.connect.clock import Clock
from azbatch_core.service.connect.keyvault import KeyVaultResolver
from azbatch_core.service.connect.retry import RetrySettings
from azbatch_core.service.connect.storage import StorageResolver, signature_lifetime
from azbatch_core.specs import AccountSpec, JobSpec, Secret, StorageSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
WITHIN = 30.0


@pytest.fixture(scope="module")
def service() -> Iterator[LocalBatch]:
    """A local service, with its storage."""
    with LocalBatch() as running:
        yield running


@pytest.fixture
def account(service: LocalBatch) -> AccountSpec:
    """Its account."""
    storage = StorageSpec(
        blob_endpoint=service.blob_endpoint,
        account_name=service.blob_account,
        account_key=Secret(service.blob_key),
    )
    return AccountSpec(
        name="mine",
        endpoint=service.endpoint,
        account_name=service.account_name,
        account_key=Secret(service.account_key),
        storage=storage,
    )


class At(Clock):
    """A clock that stands still, and tells how long it was asked to wait."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        """The same moment for ever."""
        return NOW

    def monotonic(self) -> float:
        """Seconds slept."""
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        """Note it."""
        self.slept.append(seconds)


def resolver(account: AccountSpec, **options: Any) -> StorageResolver:
    return StorageResolver(account, **{"lifetime": DAY, **options})


def test_a_container_is_made_and_can_be_written_but_not_read(account: AccountSpec) -> None:
    resolve = resolver(account)
    url = resolve(StorageRef("results", permission="w"))
    with ContainerClient.from_container_url(url) as container:
        container.upload_blob("job/task/out.txt", b"3.14")
        with pytest.raises(HttpResponseError):
            container.download_blob("job/task/out.txt").readall()
    reading = resolver(account)(StorageRef("results", permission="rl"))
    with ContainerClient.from_container_url(reading) as container:
        assert [blob.name for blob in container.list_blobs()] == ["job/task/out.txt"]
        assert container.download_blob("job/task/out.txt").readall() == b"3.14"


def test_the_account_in_the_path_stays_there(account: AccountSpec, service: LocalBatch) -> None:
    url = resolver(account)(StorageRef("in-the-path"))
    assert url.startswith(f"{service.blob_endpoint}/in-the-path?")
    assert urlsplit(url).path == f"/{service.blob_account}/in-the-path"


def test_a_container_that_exists_is_fine_and_one_reference_has_one_url(account: AccountSpec) -> None:
    first = resolver(account)
    assert first(StorageRef("again")) == first(StorageRef("again"))
    assert resolver(account)(StorageRef("again")).startswith(first(StorageRef("again")).partition("?")[0])
    assert first.warnings == []


def test_a_signature_lasts_as_long_as_asked_and_has_no_beginning(account: AccountSpec) -> None:
    query = parse_qs(urlsplit(resolver(account, clock=At(), lifetime=8 * DAY)(StorageRef("x-y"))).query)
    assert query["se"] == ["2026-03-09T12:00:00Z"]
    assert "st" not in query
    assert set(query["sp"][0]) == set("acw")
    assert query["sr"] == ["c"]


@pytest.mark.parametrize(
    ("wall_time", "days"),
    [("2d", 3), ("7d", 8), (None, 181), ("365d", 181)],
)
def test_a_signature_outlives_the_last_task_of_its_job(wall_time: str | None, days: int) -> None:
    job = JobSpec.model_validate({"name": "n", "wall_time": wall_time, "tasks": [{"command": ["true"]}]})
    assert signature_lifetime(job) == days * DAY


def test_an_identity_needs_no_signature(account: AccountSpec, service: LocalBatch) -> None:
    url = resolver(account)(StorageRef("by-identity", identity="/subscriptions/s/x"))
    assert url == f"{service.blob_endpoint}/by-identity"


def test_a_body_is_revealed_with_it(account: AccountSpec) -> None:
    body = {"outputFiles": [{"destination": {"container": {"containerUrl": StorageRef("revealed")}}}]}
    revealed = reveal(body, storage=resolver(account))
    assert "sig=" in revealed["outputFiles"][0]["destination"]["container"]["containerUrl"]


def test_storage_that_only_the_nodes_can_reach_is_a_warning(account: AccountSpec) -> None:
    assert account.storage is not None
    behind = account.storage.replace(blob_endpoint="http://127.0.0.1:9/locked")
    resolve = resolver(account.replace(storage=behind), retry=RetrySettings(attempts=1))
    url = resolve(StorageRef("there"))
    assert "sig=" in url
    assert len(resolve.warnings) == 1
    assert "cannot create the container 'there'" in resolve.warnings[0]
    assert "sig=" not in resolve.warnings[0]


def test_an_account_without_storage_says_what_to_add(account: AccountSpec) -> None:
    with pytest.raises(ConfigurationError, match="has no storage"):
        resolver(account.replace(storage=None))(StorageRef("x-y"))


def test_a_wrong_container_name_is_the_services_error(account: AccountSpec) -> None:
    with pytest.raises(AzBatchError) as caught:
        resolver(account)(StorageRef("No_Such_Name"))
    assert caught.value.code is not None
    assert "\n" not in str(caught.value)


def test_a_token_does_not_travel_to_storage_over_http(account: AccountSpec) -> None:
    assert account.storage is not None
    keyless = account.storage.replace(account_key=None)
    with pytest.raises(ConfigurationError, match="must not travel unencrypted"):
        resolver(account.replace(storage=keyless), credential=Token())(StorageRef("x-y"))


class Token:
    """A token credential."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        """Note what for."""
        self.scopes.extend(scopes)
        return AccessToken("a-token", 2**31)


class Canned(HttpTransport):  # type: ignore[type-arg]
    """A transport that answers from a table of path endings; at first, as often as told, that it is busy."""

    def __init__(self, *, busy: int = 0, **answers: tuple[int, str, str]) -> None:
        self.answers = answers
        self.busy = busy
        self.sent: list[Any] = []

    def send(self, request: Any, **_: Any) -> Any:
        """Answer."""
        from azure.core.rest._requests_basic import RestRequestsTransportResponse
        from requests import Response

        self.sent.append(request)
        key = next(name for name in self.answers if name in request.url)
        status, kind, body = self.answers[key]
        inner = Response()
        inner.status_code = status
        inner.headers["Content-Type"] = kind
        if len(self.sent) <= self.busy:
            inner.status_code, body = 429, ""
            inner.headers["Retry-After"] = "17"
        inner._content = body.encode()
        inner._content_consumed = True
        answer = RestRequestsTransportResponse(  # type: ignore[no-untyped-call]
            request=request, internal_response=inner
        )
        answer.read()
        return answer

    def open(self) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Nothing to close."""

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


DELEGATION = """<?xml version="1.0" encoding="utf-8"?>
<UserDelegationKey>
  <SignedOid>o</SignedOid><SignedTid>t</SignedTid>
  <SignedStart>2026-03-01T11:45:00Z</SignedStart><SignedExpiry>2026-03-08T12:00:00Z</SignedExpiry>
  <SignedService>b</SignedService><SignedVersion>2024-11-04</SignedVersion>
  <Value>a2V5IG9mIGE=</Value>
</UserDelegationKey>"""


def test_without_a_key_storage_lends_one_for_seven_days() -> None:
    storage = StorageSpec(blob_endpoint="https://store.blob.core.windows.net")
    account = AccountSpec(name="entra", endpoint="https://a.b.batch.azure.com", storage=storage)
    # Both requests have a restype: the first ending that fits is taken.
    transport = Canned(userdelegationkey=(200, "application/xml", DELEGATION), restype=(201, "", ""))
    token = Token()
    resolve = resolver(account, credential=token, clock=At(), lifetime=10 * DAY, transport=transport)
    query = parse_qs(urlsplit(resolve(StorageRef("results"))).query)
    assert query["se"] == ["2026-03-08T12:00:00Z"]
    assert query["skoid"] == ["o"]
    assert query["spr"] == ["https"]
    assert "last 7 days, the job may last 10" in resolve.warnings[0]
    assert set(token.scopes) == {"https://storage.azure.com/.default"}


LISTED = """<?xml version="1.0" encoding="utf-8"?>
<EnumerationResults ServiceEndpoint="https://store.blob.core.windows.net/" ContainerName="box">
  <Blobs><Blob><Name>job-1/a</Name><Properties/></Blob><Blob><Name>job-1/b</Name><Properties/></Blob></Blobs>
  <NextMarker/>
</EnumerationResults>"""


def by_token(transport: Canned, clock: Clock | None = None) -> StorageResolver:
    """Storage that a token opens."""
    storage = StorageSpec(blob_endpoint="https://store.blob.core.windows.net")
    account = AccountSpec(name="entra", endpoint="https://a.b.batch.azure.com", storage=storage)
    return resolver(account, credential=Token(), clock=clock, transport=transport)


def asked(transport: Canned) -> list[tuple[str, str]]:
    """Method and path of each request; all were made with the token."""
    assert {request.headers["Authorization"] for request in transport.sent} == {"Bearer a-token"}
    return [(request.method, urlsplit(request.url).path) for request in transport.sent]


def test_a_token_puts_bytes_where_the_container_is_with_one_request() -> None:
    transport = Canned(box=(201, "", ""))
    assert by_token(transport).put("box", "job-1/a", b"secret", replace=True)
    assert asked(transport) == [("PUT", "/box/job-1/a")]


def test_a_token_removes_what_it_lists_and_goes_on_where_storage_was_busy() -> None:
    clock = At()
    transport = Canned(busy=1, list=(200, "application/xml", LISTED), box=(202, "", ""))
    assert by_token(transport, clock).remove("box", "job-1/") == 2
    listing = ("GET", "/box")
    assert asked(transport) == [listing, listing, ("DELETE", "/box/job-1/a"), ("DELETE", "/box/job-1/b")]
    assert parse_qs(urlsplit(transport.sent[0].url).query)["prefix"] == ["job-1/"]
    assert {request.headers.get("x-ms-delete-snapshots") for request in transport.sent[2:]} == {"include"}
    assert [17 <= seconds <= 18.7 for seconds in clock.slept] == [True]


@pytest.mark.parametrize(
    ("code", "error"), [("ResourceNotFound", NotFound), ("AuthorizationPermissionMismatch", AzBatchError)]
)
def test_only_a_blob_that_is_not_there_is_nothing(code: str, error: type[AzBatchError]) -> None:
    status = 404 if error is NotFound else 403
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>no</Message></Error>'
    transport = Canned(box=(status, "application/xml", body))
    with pytest.raises(error):
        by_token(transport).get("box", "x")
    with pytest.raises(error):
        by_token(transport).remove("box", "x")


@pytest.mark.parametrize("code", ["BlobNotFound", "ContainerNotFound"])
def test_a_token_finds_nothing_where_there_is_nothing(code: str) -> None:
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>no</Message></Error>'
    transport = Canned(box=(404, "application/xml", body))
    assert by_token(transport).get("box", "x") is None
    assert by_token(transport).remove("box", "x") == 0
    assert asked(transport) == [("GET", "/box/x"), ("GET", "/box")]


def test_a_secret_in_a_vault_is_read_once() -> None:
    found = (200, "application/json", json.dumps({"value": "the secret", "id": "x"}))
    transport, token = Canned(secrets=found), Token()
    resolve = KeyVaultResolver(lambda: token, transport=transport)
    reference = "keyvault:https://my.vault.usgovcloudapi.net/secrets/batch-key"
    assert Secret(reference).reveal(resolve) == "the secret"
    assert Secret(reference).reveal(resolve) == "the secret"
    assert [request.url for request in transport.sent] == [
        "https://my.vault.usgovcloudapi.net/secrets/batch-key?api-version=7.4"
    ]
    assert transport.sent[0].headers["Authorization"] == "Bearer a-token"
    assert token.scopes == ["https://vault.usgovcloudapi.net/.default"]
    assert "the secret" not in repr(resolve)


def test_a_missing_secret_is_not_found() -> None:
    body = json.dumps({"error": {"code": "SecretNotFound", "message": "A secret was not found"}})
    resolve = KeyVaultResolver(Token, transport=Canned(secrets=(404, "application/json", body)))
    with pytest.raises(NotFound, match="A secret was not found"):
        resolve("keyvault:https://my.vault.azure.net/secrets/nothing")


def test_a_busy_vault_is_asked_again_when_it_says_and_by_the_clock_given() -> None:
    clock = At()
    transport = Canned(busy=2, secrets=(200, "application/json", json.dumps({"value": "late"})))
    resolve = KeyVaultResolver(Token, clock=clock, transport=transport)
    assert resolve("keyvault:https://my.vault.azure.net/secrets/x") == "late"
    assert [17 <= seconds <= 18.7 for seconds in clock.slept] == [True, True]


def test_busy_storage_is_asked_again_when_it_says() -> None:
    clock = At()
    storage = StorageSpec(blob_endpoint="https://store.blob.core.windows.net", account_key="a2V5IG9mIGE=")
    account = AccountSpec(name="keyed", endpoint="https://a.b.batch.azure.com", storage=storage)
    transport = Canned(busy=1, restype=(201, "", ""))
    resolver(account, clock=clock, transport=transport)(StorageRef("results"))
    assert [17 <= seconds <= 18.7 for seconds in clock.slept] == [True]


def test_a_secret_that_is_slow_to_come_keeps_nobody_else_waiting() -> None:
    """The first secret comes only after the second: a lock held over its request would wait for ever."""
    second_came = threading.Event()

    class Slow(Canned):
        def send(self, request: Any, **options: Any) -> Any:
            if "first" in request.url:
                assert second_came.wait(WITHIN)
            return super().send(request, **options)

    resolve = KeyVaultResolver(Token, transport=Slow(secrets=(200, "application/json", '{"value": "v"}')))
    with ThreadPoolExecutor(1) as other:
        first = other.submit(resolve, "keyvault:https://my.vault.azure.net/secrets/first")
        assert resolve("keyvault:https://my.vault.azure.net/secrets/second") == "v"
        second_came.set()
        assert first.result(WITHIN) == "v"
