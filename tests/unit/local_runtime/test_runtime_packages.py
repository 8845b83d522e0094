"""Application packages unpacked on a node."""

from __future__ import annotations

import os
import threading
import zipfile
from typing import TYPE_CHECKING

import pytest

from azbatch_core.local.runtime import packages
from azbatch_core.local.runtime.base import Package
from azbatch_core.local.runtime.failures import TaskFailure

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A node's root."""
    (tmp_path / "node" / "applications").mkdir(parents=True)
    return tmp_path / "node"


@pytest.fixture
def package(tmp_path: Path) -> Package:
    source = tmp_path / "1.zip"
    with zipfile.ZipFile(source, "w") as archive:
        for name, mode in (("bin/run", 0o750), ("plain", 0o644), ("none", 0)):
            item = zipfile.ZipInfo(name)
            item.external_attr = mode << 16
            archive.writestr(item, name)
        archive.writestr("../../outside", "x")
    return Package("app", "1", source, "app1")


def install(root: Path, *wanted: Package) -> None:
    packages.install(wanted, root, threading.Event())


def test_files_have_their_modes_and_stay_inside(root: Path, package: Package) -> None:
    install(root, package)
    folder = root / "applications" / "app1"
    assert (folder / "bin" / "run").read_text() == "bin/run"
    assert (folder / "bin" / "run").stat().st_mode & 0o777 == 0o750
    assert (folder / "plain").stat().st_mode & 0o777 == 0o644
    assert os.access(folder / "none", os.R_OK)
    assert not list(root.parent.glob("outside"))
    assert os.listdir(root / "applications") == ["app1"]  # noqa: PTH208 - hidden ones, too


def test_what_is_there_is_not_unpacked_again(root: Path, package: Package) -> None:
    install(root, package)
    kept = root / "applications" / "app1" / "kept"
    kept.write_text("")
    install(root, package)
    assert kept.exists()


def test_two_may_unpack_at_once(root: Path, package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack = packages._unpack

    def slow(source: Path, folder: Path, given_up: threading.Event) -> None:
        unpack(source, folder, given_up)
        monkeypatch.setattr(packages, "_unpack", unpack)
        install(root, package)  # another task was quicker

    monkeypatch.setattr(packages, "_unpack", slow)
    install(root, package)
    assert os.listdir(root / "applications") == ["app1"]  # noqa: PTH208 - hidden ones, too


def test_what_cannot_be_unpacked_fails_with_its_name_and_leaves_nothing(root: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"no zip file")
    for source in (None, broken, tmp_path / "gone.zip"):
        with pytest.raises(TaskFailure) as error:
            install(root, Package("app", "2", source, "app2"))
        assert error.value.info["code"] == "ApplicationPackageError"
        details = {item["name"]: item["value"] for item in error.value.info["details"]}
        assert (details["ApplicationId"], details["ApplicationVersion"]) == ("app", "2")
    assert not list((root / "applications").iterdir())


def test_a_stopped_try_unpacks_no_further(root: Path, package: Package) -> None:
    given_up = threading.Event()
    given_up.set()
    packages.install([package], root, given_up)
    assert not list((root / "applications").iterdir())
