"""Container settings as arguments of `docker create`; what Docker said, in a line."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from azbatch_core.local.runtime.base import Launch, NodePlace
from azbatch_core.local.runtime.docker.cli import words
from azbatch_core.local.runtime.docker.settings import (
    Registry,
    check,
    container_environment,
    create_arguments,
    environment_arguments,
    mount_options,
    registry_of,
    run_options,
)
from azbatch_core.local.runtime.failures import TaskFailure

ROOT = Path("/state/nodes/p/n1")
TASK = ROOT / "workitems/j/job-1/t"


def launch(**settings: Any) -> Launch:
    node = NodePlace("p", "n1", ROOT, "127.1.0.1")
    return Launch(
        node, "task", "j", "t", "true", container={"imageName": "i", **settings}, job_prep_id="prep"
    )


def arguments(*options: str, **settings: Any) -> list[str]:
    return create_arguments(launch(**settings), TASK, "1:2", "/state", options, ["--env-file", "f"])


def test_mounts_are_found_among_the_options() -> None:
    devices = "--shm-size=1m --device /dev/fuse:/dev/fuse:rw"
    options = f"{devices} --mount type=bind,source=/a,target=/b -v /c:/d --volume=/e:/f"
    assert mount_options({"imageName": "i", "containerRunOptions": options}) == [
        "--device /dev/fuse:/dev/fuse:rw",
        "--mount type=bind,source=/a,target=/b",
        "-v /c:/d",
        "--volume=/e:/f",
    ]
    assert mount_options({"imageName": "i"}) == []


def values(words: list[str], name: str) -> list[str]:
    return [value for word, value in pairwise(words) if word == name]


def test_the_user_s_options_come_after_batch_s_and_before_the_service_s_own() -> None:
    found = arguments("--user", "0", "--rm")
    assert values(found, "--user") == ["1:2", "0"]
    assert found.index("--env-file") < found.index("--rm") < found.index("--rm=false")
    assert found[-2:] == ["--label", "azbatch.state=/state"]


@pytest.mark.parametrize("option", ["--network", "--net", "--network=none", "--net=bridge"])
def test_the_host_s_network_unless_another_is_named(option: str) -> None:
    assert values(arguments(), "--network") == ["host"]
    assert "host" not in arguments(option)


def test_the_root_is_mounted_with_whatever_is_in_its_name() -> None:
    assert values(arguments(), "--mount") == [f"type=bind,source={ROOT},target={ROOT}"]
    node = NodePlace("p", "n1", Path("/a,b"), "127.1.0.1")
    odd = Launch(node, "start", None, "", "true", container={})
    assert values(create_arguments(odd, node.root / "startup", "0:0", "/", [], []), "--mount") == [
        'type=bind,"source=/a,b","target=/a,b"'
    ]


def test_narrowed_mounts() -> None:
    sources = ["Shared", "Startup", "VfsMounts", "Task", "JobPrep", "Applications"]
    found = arguments(containerHostBatchBindMounts=[{"source": name, "isReadOnly": True} for name in sources])
    places = [ROOT / "shared", ROOT / "startup", ROOT / "fsmounts", TASK, TASK.parent / "prep"]
    assert values(found, "--mount") == [
        f"type=bind,source={path},target={path},readonly" for path in (*places, ROOT / "applications")
    ]
    assert values(found, "--workdir") == [f"{TASK}/wd"]


def test_variables_of_what_is_not_mounted_are_left_out() -> None:
    names = [
        "AZ_BATCH_NODE_ROOT_DIR",
        "AZ_BATCH_TASK_DIR",
        "AZ_BATCH_APP_PACKAGE_x",
        "AZ_BATCH_POOL_ID",
        "PATH",
    ]
    environment = dict.fromkeys(names, "v")
    assert list(container_environment(launch(), environment)) == names[:-1]
    nothing = container_environment(launch(containerHostBatchBindMounts=[]), environment)
    assert list(nothing) == ["AZ_BATCH_POOL_ID"]


def test_variables_that_a_file_of_lines_cannot_hold() -> None:
    lines, rest = environment_arguments({"A": "1 '", "B": "x\ny", "#C": "3", "D": "y" * 70_000, "E": ""})
    assert lines == "A=1 '\nE=\n"
    assert list(rest) == ["B", "#C", "D"]


@pytest.mark.parametrize(
    ("image", "server", "user"),
    [
        ("busybox", "docker.io", "hub"),
        ("some/busybox:1", "docker.io", "hub"),
        ("r.example/x", "r.example", "pool"),
        ("R.example/x", "R.example", None),
        ("localhost/x", "localhost", None),
        ("own:5000/x@sha256:0", "own:5000", "task"),
    ],
)
def test_the_registry_of_an_image(image: str, server: str, user: str | None) -> None:
    shared = [
        {"registryServer": "https://r.example/", "username": "pool", "password": "p"},
        {"username": "hub"},
    ]
    own = {"registryServer": "own:5000", "username": "task", "password": "secret"}
    found = registry_of(image, own, shared)
    assert (found.server, found.username) == (server, user)
    assert "secret" not in repr(found)


def test_an_identity_is_nobody_s_login() -> None:
    own = {"registryServer": "r.example", "identityReference": {"resourceId": "/x"}}
    assert registry_of("r.example/x", own, []) == Registry("r.example", None, "")


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_options(text: str | None) -> None:
    assert run_options({"containerRunOptions": text}) == []


def test_an_option_s_value_is_not_an_option() -> None:
    assert run_options({"containerRunOptions": "-e 'A=--gpus all'"}) == ["-e", "A=--gpus all"]
    with pytest.raises(TaskFailure):
        run_options({"containerRunOptions": "--rm --gpus=all"})


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (b"unknown flag: --x\nSee 'docker create --help'.\n", "unknown flag: --x"),
        (b"docker: 'docker create' needs more\n\nUsage:  docker create\n", "'docker create' needs more"),
        (b'time="x" level=error msg="y"\nError response from daemon: no\n', "Error response from daemon: no"),
        (b"WARNING! Stored unencrypted\nError: \xff\n", "Error: \ufffd"),
        (b"", ""),
    ],
)
def test_what_docker_said(said: bytes, line: str) -> None:
    assert words(said) == line


DIGEST = "sha256:" + "0f" * 32


@pytest.mark.parametrize(
    "image",
    [
        *(
            "alpine",
            "alpine:3.20",
            "a/b",
            "host:5000/a/b",
            f"h.example/a@{DIGEST}",
            f"h.example/a:t@{DIGEST}",
        ),
        *(
            "localhost/a",
            "r.azurecr.io/Team/tool".lower(),
            "Registry/a",
            "[::1]:5000/a",
            "a__b/c--d:v1.2_x",
            "i",
        ),
    ],
)
def test_references_of_images(image: str) -> None:
    check({"imageName": image})


@pytest.mark.parametrize(
    "image",
    [
        *(
            "",
            "NOT a ref!!",
            "Upper",
            "r.io/Upper:1",
            "a:",
            "a:b:c/",
            "a@sha256:1",
            "https://r.io/a",
            "/a",
            "a/",
        ),
        *("a//b", "-a", "a b", " a", "a\n", "a:" + "t" * 129, "a" * 256),
    ],
)
def test_what_is_no_reference_is_an_invalid_image(image: str) -> None:
    with pytest.raises(TaskFailure) as caught:
        check({"imageName": image})
    assert caught.value.info["code"] == "ContainerInvalidImage"


@pytest.mark.parametrize(
    "settings",
    [
        {"containerRunOptions": "--rm --gpus all"},
        {"containerRunOptions": "--runtime=nvidia"},
        {"containerRunOptions": "-e 'open"},
        {"containerHostBatchBindMounts": []},
        {"containerHostBatchBindMounts": [{"source": "Shared"}]},
    ],
)
def test_settings_that_no_daemon_need_see_are_invalid(settings: dict[str, Any]) -> None:
    with pytest.raises(TaskFailure) as caught:
        check({"imageName": "a", **settings})
    assert caught.value.info["code"] == "ContainerInvalidSettings"


def test_mounts_that_go_with_their_folder() -> None:
    check({"imageName": "a", "containerHostBatchBindMounts": [{"source": "Task"}]})
    inside = {"imageName": "a", "workingDirectory": "containerImageDefault"}
    check({**inside, "containerHostBatchBindMounts": []})
