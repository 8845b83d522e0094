"""Which blob a task's output file becomes."""

from __future__ import annotations

import pytest

from azbatch_core.plan.blob_names import blob_of
from azbatch_core.service.output import uploaded_logs
from azbatch_core.specs import StorageSpec

STORAGE = StorageSpec(blob_endpoint="https://acct.blob.core.windows.net", account_name="acct")


def output(pattern: str, path: str = "", url: str = "https://acct.blob.core.windows.net/box?sig=x") -> dict:
    return {"filePattern": pattern, "destination": {"container": {"path": path, "containerUrl": url}}}


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("../stdout.txt", "j/t/stdout.txt", "j/t/stdout.txt"),
        ("../stdout.txt", "", "stdout.txt"),
        ("../std*.txt", "j/t", "j/t/stdout.txt"),
        ("../*.txt", "", "stdout.txt"),
        ("../**/*.txt", "j/t", "j/t/stdout.txt"),
        ("$AZ_BATCH_TASK_DIR/stdout.txt", "x", "x"),
        ("..\\std*.txt", "j", "j/stdout.txt"),
        ("../stderr.txt", "j/t/stderr.txt", None),
        ("*.txt", "j/t", None),
        ("../logs/*.txt", "j/t", None),
    ],
)
def test_blob_name(pattern: str, path: str, expected: str | None) -> None:
    assert blob_of(output(pattern, path), "stdout.txt") == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://acct.blob.core.windows.net/box?sig=x", "box"),
        ("https://ACCT.blob.core.windows.net/box", "box"),
        ("https://other.blob.core.windows.net/box?sig=x", None),
    ],
)
def test_only_the_accounts_own_containers_are_read(url: str, expected: str | None) -> None:
    assert uploaded_logs.container_name(output("../stdout.txt", url=url), STORAGE) == expected


def test_an_endpoint_with_the_account_in_its_path() -> None:
    storage = StorageSpec(blob_endpoint="http://127.0.0.1:9/devacct", account_name="devacct")
    record = output("../stdout.txt", url="http://127.0.0.1:9/devacct/box?sig=x")
    assert uploaded_logs.container_name(record, storage) == "box"
