"""Blobs on disk."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.names import is_container_name, natural_path
from azbatch_core.local.blobs.store import BlobStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BlobStore]:
    store = BlobStore(tmp_path / "blobs")
    store.create_container("box")
    yield store
    store.close()


def put(store: BlobStore, name: str, text: str = "x") -> Path:
    content = store.incoming()
    content.write_text(text)
    return store.put("box", name, content).path


def files(store: BlobStore) -> set[str]:
    root = store.root / "box"
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_a_blob_lies_under_its_own_name(store: BlobStore) -> None:
    put(store, "job/task 1/é.txt", "hello")
    assert (store.root / "box/job/task 1/é.txt").read_text() == "hello"


@pytest.mark.parametrize(
    "name", ["..", "../x", "a/../../x", "/etc/x", "a//b", "a/", ".", "%00", "x" * 300, "a\\b", "a\nb", "\x01"]
)
def test_a_name_that_is_no_path_stays_inside_all_the_same(store: BlobStore, name: str) -> None:
    path = put(store, name, name)
    assert path.parent == store.root / "box"
    assert store.blob("box", name).path.read_text() == name
    store.delete("box", name)
    assert files(store) == set()


def test_a_blob_and_a_folder_can_share_a_name(store: BlobStore) -> None:
    for name in ("a", "a/b", "c/d", "c"):
        put(store, name, name)
    assert {blob.name: blob.path.read_text() for blob in store.blobs("box")} == {
        name: name for name in ("a", "a/b", "c/d", "c")
    }
    for name in ("a", "c/d"):
        store.delete("box", name)
    assert [blob.name for blob in store.blobs("box")] == ["a/b", "c"]


def test_a_new_content_replaces_the_old_and_changes_the_etag(store: BlobStore) -> None:
    put(store, "x", "1")
    first = store.blob("box", "x")
    put(store, "x", "22")
    second = store.blob("box", "x")
    assert (second.size, second.path.read_text()) == (2, "22")
    assert second.etag != first.etag
    assert second.created == first.created


def test_an_overwrite_that_is_killed_leaves_one_of_the_two_contents(store: BlobStore) -> None:
    """Whatever the table says is on disk, at every moment: the file that it names is never touched."""
    seen: list[tuple[str, str]] = []

    def look(_statement: str) -> None:
        other = BlobStore(store.root)
        blob = other.blob("box", "x")
        seen.append((blob.etag, blob.path.read_text()))
        other.close()

    put(store, "x", "old")
    first = store.blob("box", "x")
    store._db.set_trace_callback(look)
    put(store, "x", "new")
    store._db.set_trace_callback(None)
    second = store.blob("box", "x")
    assert len(seen) > 2
    assert set(seen) <= {(first.etag, "old"), (second.etag, "new")}
    assert len(files(store)) == 1


def test_a_content_that_cannot_be_entered_leaves_the_old_one(store: BlobStore) -> None:
    put(store, "x", "old")
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages}")
    content = store.incoming()
    content.write_text("new")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.put("box", "x", content, metadata={"big": "x" * 100_000})
    assert store.blob("box", "x").path.read_text() == "old"
    assert len(files(store)) == 1
    put(store, "x", "newer")
    assert store.blob("box", "x").path.read_text() == "newer"


def test_what_a_killed_service_left_half_done_is_swept_up(store: BlobStore) -> None:
    put(store, "a", "1")
    put(store, "a", "2")
    put(store, "..", "kept")
    (store.root / "box" / f"%{'0' * 64}-1").write_text("a version that was never entered")
    store.incoming().write_text("half of it")
    (store.root / ".service/trash/1/a").mkdir(parents=True)
    store.sweep()
    assert store.blob("box", "a").path.read_text() == "2"
    assert store.blob("box", "..").path.read_text() == "kept"
    assert len(files(store)) == 2
    assert list((store.root / ".service/incoming").iterdir()) == []
    assert list((store.root / ".service/trash").iterdir()) == []


def test_an_open_content_stays_what_it_was(store: BlobStore) -> None:
    put(store, "x", "old")
    blob, file = store.open("box", "x")
    with file:
        put(store, "x", "newer")
        assert file.read() == b"old"
        assert blob.size == 3
    store.blob("box", "x").path.unlink()
    with pytest.raises(BlobError, match="BlobNotFound"):
        store.open("box", "x")


def test_opening_a_blob_that_is_being_replaced_finds_the_new_content(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "x", "old")
    stale = store.blob("box", "x")
    put(store, "x", "new")
    found = iter([stale])
    look_up = store.blob
    monkeypatch.setattr(store, "blob", lambda *names: next(found, None) or look_up(*names))
    blob, file = store.open("box", "x")
    with file:
        assert (file.read(), blob.etag) == (b"new", look_up("box", "x").etag)


def test_blocks_make_a_blob_and_committed_ones_can_be_used_again(store: BlobStore) -> None:
    for block_id, size in (("YQ==", 3_000_000), ("Yg==", 10)):
        content = store.incoming()
        content.write_bytes(block_id.encode()[:1] * size)
        store.put_block("box", "x", block_id, content)
    assert [(block.id, block.size) for block in store.uncommitted("box", "x")] == [
        ("YQ==", 3_000_000),
        ("Yg==", 10),
    ]
    store.commit("box", "x", [("Latest", "YQ=="), ("Uncommitted", "Yg==")])
    assert store.uncommitted("box", "x") == []
    again = store.commit("box", "x", [("Committed", "Yg=="), ("Committed", "YQ==")])
    assert [(block.id, block.size) for block in again.blocks] == [("Yg==", 10), ("YQ==", 3_000_000)]
    assert again.path.stat().st_size == 3_000_010
    with pytest.raises(BlobError, match="InvalidBlockList"):
        store.commit("box", "x", [("Uncommitted", "YQ==")])


def test_empty_folders_go_with_their_last_blob(store: BlobStore) -> None:
    put(store, "a/b/1")
    put(store, "a/2")
    store.delete("box", "a/b/1")
    assert not (store.root / "box/a/b").exists()
    assert files(store) == {"a/2"}


def test_all_is_there_after_a_restart(tmp_path: Path) -> None:
    first = BlobStore(tmp_path)
    first.create_container("box", {"k": "v"})
    put(first, "x", "kept")
    first.close()
    second = BlobStore(tmp_path)
    assert second.container("box").metadata == {"k": "v"}
    assert second.blob("box", "x").path.read_text() == "kept"
    second.close()


def test_a_deleted_container_takes_its_blobs_along(store: BlobStore) -> None:
    put(store, "x")
    store.delete_container("box")
    store.create_container("box")
    assert store.blobs("box") == []
    with pytest.raises(BlobError, match="BlobNotFound"):
        store.blob("box", "x")


def test_a_prefix_means_itself(store: BlobStore) -> None:
    for name in ("a_b", "axb", "a%b", "A_b"):
        put(store, name)
    assert [blob.name for blob in store.blobs("box", "a_")] == ["a_b"]
    assert [blob.name for blob in store.blobs("box", "a%")] == ["a%b"]


def test_a_page_ends_and_goes_on(store: BlobStore) -> None:
    for number in range(5):
        put(store, f"n{number}")
    assert [blob.name for blob in store.blobs("box", "n", limit=2)] == ["n0", "n1"]
    assert [blob.name for blob in store.blobs("box", "n", after="n1", limit=9)] == ["n2", "n3", "n4"]


@pytest.mark.parametrize(
    ("name", "good"),
    [("abc", True), ("a-b", True), ("$root", True), ("0" * 63, True), ("ab", False), ("0" * 64, False),
     ("a--b", False), ("-abc", False), ("abc-", False), ("Abc", False), ("a.b", False), ("abc\n", False)],
)  # fmt: skip
def test_container_names(name: str, good: bool) -> None:  # noqa: FBT001 - a column of the table above
    assert is_container_name(name) is good


def test_the_service_folder_cannot_be_a_container() -> None:
    assert not is_container_name(".service")
    assert natural_path("..") is None
