"""A failure on demand tells what a real one of its code tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from azbatch_core.local.runtime.base import Launch, LaunchFault
from azbatch_core.local.runtime.scripted import scripted

_URL = {"httpUrl": "https://a.blob.core.windows.net/c/b?sig=x", "filePath": "in/b"}
_CONTAINER = {"storageContainerUrl": "https://a.blob.core.windows.net/c?sig=x", "blobPrefix": "p/"}
_OWN = {"autoStorageContainerName": "own"}


def _details(fault: LaunchFault, **launch: Any) -> list[tuple[str, str]]:
    empty = {"common_resource_files": (), "resource_files": (), "output_files": (), "container": None}
    made = cast("Launch", SimpleNamespace(**{**empty, **launch}))
    return [(item["name"], item["value"]) for item in scripted(fault, made).info.get("details", ())]


@pytest.mark.parametrize(
    ("code", "files", "told"),
    [
        ("BlobNotFound", [_CONTAINER, _URL], {"BlobSource": "https://a.blob.core.windows.net/c/b"}),
        ("BlobNotFound", [_CONTAINER], {"BlobSource": "https://a.blob.core.windows.net/c", "FilePath": "p/"}),
        ("ResourceContainerNotFound", [_URL, _OWN], {"AutoStorageContainerName": "own"}),
        (
            "ResourceContainerAccessDenied",
            [_URL, _CONTAINER],
            {"BlobContainerUrl": "https://a.blob.core.windows.net/c"},
        ),
    ],
)
def test_a_download_names_the_first_file_that_can_fail_so(
    code: str, files: list[dict[str, str]], told: dict[str, str]
) -> None:
    details = _details(LaunchFault("download", code, "why"), resource_files=tuple(files))
    assert told.items() <= dict(details).items()
    assert ("Message", "why") in details
    assert "sig=x" not in str(details)


def test_what_concerns_no_file_has_its_message_only() -> None:
    assert _details(LaunchFault("folder", "DiskFull", "no room")) == [("Message", "no room")]
