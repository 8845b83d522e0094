"""Resource files and output files: the service's rules, before a node meets them."""

from __future__ import annotations

from typing import Any

import pytest
from specs_refusals import refusal

from azbatch_core.specs import OutputFile, ResourceFile

IDENTITY = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/reader"
)
URL = "https://a.example/reads.gz"


@pytest.mark.parametrize(
    "fields",
    [
        {"http_url": URL, "file_path": "reads.gz"},
        {"http_url": URL, "file_path": "data/../reads.gz", "file_mode": "0755", "identity": IDENTITY},
        {
            "storage_container_url": "https://a.blob.core.windows.net/c",
            "blob_prefix": "run-7/",
            "identity": IDENTITY,
        },
        {"auto_storage_container_name": "inputs", "file_path": "data/"},
        {"container": "inputs", "blob_prefix": "run-7/"},
    ],
)
def test_right_resource_files(fields: dict[str, str]):
    dumped = ResourceFile(**fields).model_dump(mode="json", exclude_none=True)
    assert dumped == fields


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({}, None, "has none"),
        ({"http_url": URL, "file_path": "x", "auto_storage_container_name": "abc"}, None, "has both"),
        ({"http_url": URL}, "file_path", "is missing"),
        ({"http_url": URL, "file_path": ""}, "file_path", "empty"),
        ({"http_url": URL, "file_path": "data/"}, "file_path", "folder"),
        ({"http_url": URL, "file_path": "/datadisk/x"}, "file_path", "absolute"),
        ({"http_url": URL, "file_path": "C:\\x"}, "file_path", "absolute"),
        ({"http_url": URL, "file_path": "a\\b"}, "file_path", "backslash"),
        ({"http_url": URL, "file_path": "../x"}, "file_path", "leaves"),
        ({"http_url": URL, "file_path": "a/../../x"}, "file_path", "leaves"),
        ({"http_url": URL, "file_path": "./../x"}, "file_path", "leaves"),
        ({"http_url": URL, "file_path": "x", "blob_prefix": "p"}, "blob_prefix", "with a container"),
        ({"auto_storage_container_name": "abc", "identity": IDENTITY}, "identity", "goes with a URL"),
        ({"container": "abc", "auto_storage_container_name": "abc"}, None, "has both"),
        ({"container": "A_b"}, "container", "not a container's name"),
        ({"auto_storage_container_name": "A_b"}, "auto_storage_container_name", "not a container's name"),
        ({"auto_storage_container_name": "ab"}, "auto_storage_container_name", "not a container's name"),
        ({"auto_storage_container_name": "a--b"}, "auto_storage_container_name", "not a container's name"),
        ({"auto_storage_container_name": "a" * 64}, "auto_storage_container_name", "not a container's name"),
        ({"http_url": URL, "file_path": "x", "file_mode": "0999"}, "file_mode", "not an octal"),
        ({"http_url": URL, "file_path": "x", "file_mode": 755}, "file_mode", "must be text"),
        ({"http_url": URL, "file_path": "x", "identity": "a-client-id"}, "identity", "not the resource id"),
        ({"httpUrl": URL}, "httpUrl", "unknown field"),
    ],
)
def test_wrong_resource_files(fields: dict[str, Any], field: str | None, reason: str):
    error = refusal(ResourceFile, **fields)
    assert error.field == field
    assert reason in error.message


def test_an_output_file_is_uploaded_in_both_cases_unless_it_says_otherwise():
    output = OutputFile(file_pattern="results/*.csv", container="results")
    assert output.upload_condition == "taskcompletion"
    assert output.has_wildcard


@pytest.mark.parametrize(
    ("pattern", "wildcard"),
    [
        ("a.txt", False),
        ("../stdout.txt", False),
        ("../std*.txt", True),
        ("**/x", True),
        ("a?", True),
        ("a[0-9]", True),
        (".cmd.*", True),
    ],
)
def test_a_wildcard_decides_whether_the_path_is_a_folder(pattern: str, wildcard: bool):  # noqa: FBT001  # a test's parameter
    assert OutputFile(file_pattern=pattern, container="results", path="x").has_wildcard is wildcard


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"file_pattern": "*"}, None, "exactly one"),
        (
            {"file_pattern": "*", "container": "abc", "container_url": "https://a.blob.core.windows.net/c"},
            None,
            "exactly one",
        ),
        ({"file_pattern": " ", "container": "abc"}, "file_pattern", "empty"),
        ({"file_pattern": "out\\*.txt", "container": "abc"}, "file_pattern", "backslash"),
        ({"file_pattern": "out/", "container": "abc"}, "file_pattern", "folder"),
        ({"file_pattern": "a", "container": "abc", "path": "x/"}, "path", "folder"),
        ({"file_pattern": "a", "container": "abc", "path": ""}, "path", "folder"),
        ({"file_pattern": "a", "container": "abc", "path": "/x"}, "path", "starts with '/'"),
        ({"file_pattern": "a", "container": "abc", "path": "x\\y"}, "path", "backslash"),
        ({"file_pattern": "a", "container": "abc", "path": "x" * 1025}, "path", "1025 characters"),
        ({"file_pattern": "a", "container": "A"}, "container", "not a container's name"),
        ({"file_pattern": "a", "container": "abc", "identity": "x"}, "identity", "not the resource id"),
        (
            {"file_pattern": "a", "container": "abc", "upload_condition": "TaskSuccess"},
            "upload_condition",
            "is not one of",
        ),
    ],
)
def test_wrong_output_files(fields: dict[str, Any], field: str | None, reason: str):
    error = refusal(OutputFile, **fields)
    assert error.field == field
    assert reason in error.message


def test_the_hint_for_a_folder_as_the_name_of_one_blob_is_the_name():
    error = refusal(OutputFile, file_pattern="out/a.csv", container="abc", path="run/")
    assert error.hint == "write 'run/a.csv'"
