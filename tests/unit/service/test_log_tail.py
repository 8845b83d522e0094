"""Reading growing output: characters, restarts, last bytes, files that are gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from azbatch_core.service.output.tail import Tail
from azbatch_core.service.output.task_log import TaskLog
from azbatch_core.service.states import TaskState, TaskStatus
from azbatch_core.service.summaries import LogChunk

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
RUNNING = TaskStatus("t", TaskState.RUNNING, started=START, node_id="n1", pool_id="p")
DONE = replace(RUNNING, state=TaskState.SUCCEEDED, exit_code=0)


class Growing:
    """A file that a test writes."""

    name = "box/j/t/stdout.txt"

    def __init__(self, data: bytes | None = None) -> None:
        self.data = data

    def size(self) -> int | None:
        """None while it is not there."""
        return None if self.data is None else len(self.data)

    def read(self, start: int, end: int) -> bytes:
        """Bytes of it."""
        return (self.data or b"")[start:end]


class Shelf:
    """Copies in storage."""

    def __init__(self, copy: Growing | None = None) -> None:
        self._copy = copy

    def copy(self, task_id: str, stream: str) -> Growing | None:
        """The copy, if there is one."""
        del task_id, stream
        return self._copy

    def why_gone(self, task: TaskStatus) -> str:
        """A fixed reason."""
        del task
        return "its node is gone"


def text(tail: Tail) -> str:
    tail.measure()
    return "".join(piece.text for piece in tail.news())


def words(log: TaskLog, task: TaskStatus) -> list[tuple[str, str]]:
    return [(chunk.stream, chunk.text) for chunk in log.news(task)]


def test_a_character_cut_by_a_read_comes_out_whole() -> None:
    source = Growing(b"a\xe2\x82")
    tail = Tail(source)
    assert text(tail) == "a"
    source.data = "a€b".encode()
    assert text(tail) == "€b"
    assert tail.rest() == ("", b"")


def test_a_character_cut_between_pieces_comes_out_whole() -> None:
    assert text(Tail(Growing("€€€".encode()), piece=4)) == "€€€"


def test_bytes_that_are_no_text_do_not_stop_the_log() -> None:
    tail = Tail(Growing(b"x\xff\xd0"))
    assert text(tail) == "x\ufffd"
    assert tail.rest() == ("\ufffd", b"\xd0")


def test_line_ends_are_kept_as_they_are() -> None:
    assert text(Tail(Growing(b"10%\r20%\r\nend"))) == "10%\r20%\r\nend"


def test_only_what_is_new_is_read() -> None:
    source = Growing(b"one\n")
    log = TaskLog("t", {"stdout": source}, Shelf())
    assert words(log, RUNNING) == [("stdout", "one\n")]
    assert words(log, RUNNING) == []
    source.data = b"one\ntwo\n"
    assert words(log, RUNNING) == [("stdout", "two\n")]


def test_the_last_lines_are_read_after_the_task_has_ended() -> None:
    source = Growing(b"one\n")
    log = TaskLog("t", {"stdout": source}, Shelf())
    assert words(log, RUNNING) == [("stdout", "one\n")]
    source.data = b"one\nlast words"
    assert words(log, DONE) == [("stdout", "last words")]
    assert log.done
    assert words(log, DONE) == []


def test_a_file_that_is_not_there_yet_is_waited_for() -> None:
    source = Growing(None)
    log = TaskLog("t", {"stdout": source}, Shelf())
    assert words(log, RUNNING) == []
    source.data = b"hello"
    assert words(log, RUNNING) == [("stdout", "hello")]


def test_output_starts_again_with_a_notice_when_the_file_shrinks() -> None:
    source = Growing(b"first try\n")
    log = TaskLog("t", {"stdout": source}, Shelf())
    words(log, RUNNING)
    source.data = b"2nd\n"
    assert words(log, RUNNING) == [
        ("notice", "the task started again; so does its output"),
        ("stdout", "2nd\n"),
    ]


def test_another_try_starts_again_even_if_its_file_is_longer() -> None:
    source = Growing(b"a\n")
    log = TaskLog("t", {"stdout": source}, Shelf())
    words(log, RUNNING)
    source.data = b"much longer\n"
    assert words(log, replace(RUNNING, node_id="n2")) == [
        ("notice", "the task started again; so does its output"),
        ("stdout", "much longer\n"),
    ]


def test_a_file_that_is_ahead_of_the_record_is_read_once() -> None:
    source = Growing(b"first try\n")
    log = TaskLog("t", {"stdout": source}, Shelf())
    words(log, RUNNING)
    source.data = b"2nd\n"
    assert len(words(log, RUNNING)) == 2
    assert words(log, RUNNING) == []
    assert words(log, replace(DONE, retries=1)) == []
    assert words(log, replace(DONE, retries=1)) == []


def test_a_file_gone_with_its_node_comes_from_storage() -> None:
    log = TaskLog("t", {"stdout": Growing(None)}, Shelf(Growing(b"kept\n")))
    assert words(log, DONE) == [("stdout", "kept\n")]


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        (None, "stdout is gone, because its node is gone; no copy of it was kept"),
        (
            Growing(None),
            "stdout is gone, because its node is gone; its copy box/j/t/stdout.txt is not there either",
        ),
    ],
)
def test_a_file_that_is_nowhere_is_explained(copy: Growing | None, expected: str) -> None:
    log = TaskLog("t", {"stdout": Growing(None)}, Shelf(copy))
    assert list(log.news(DONE)) == [LogChunk("t", "notice", expected)]


def test_a_task_that_never_ran_has_no_output_and_says_why() -> None:
    task = TaskStatus("t", TaskState.BLOCKED, message="never runs: it depends on a, which failed")
    log = TaskLog("t", {"stdout": Growing(None)}, Shelf())
    assert words(log, task) == [("notice", "no output: never runs: it depends on a, which failed")]


def test_two_streams_are_kept_apart() -> None:
    log = TaskLog("t", {"stdout": Growing(b"out"), "stderr": Growing(b"err")}, Shelf())
    assert words(log, DONE) == [("stdout", "out"), ("stderr", "err")]


class Vanishing(Growing):
    """A file that goes while it is read."""

    def read(self, start: int, end: int) -> bytes:
        """The first bytes only."""
        return super().read(start, min(end, 4))


def test_what_went_with_the_node_comes_from_the_copy() -> None:
    log = TaskLog("t", {"stdout": Vanishing(b"abcdefgh")}, Shelf(Growing(b"abcdefgh")))
    assert words(log, DONE) == [("stdout", "abcd"), ("stdout", "efgh")]


def test_a_file_that_went_after_a_part_was_read_is_told() -> None:
    source = Growing(b"abc\n")
    log = TaskLog("t", {"stdout": source}, Shelf())
    assert words(log, RUNNING) == [("stdout", "abc\n")]
    source.data = None
    assert words(log, DONE) == [
        ("notice", "stdout is gone, because its node is gone; no copy of it was kept")
    ]


def test_a_copy_that_ends_early_is_told() -> None:
    log = TaskLog("t", {"stdout": Growing()}, Shelf(Vanishing(b"abcdefgh")))
    assert words(log, DONE) == [
        ("stdout", "abcd"),
        ("notice", "stdout ends 4 bytes early in its copy box/j/t/stdout.txt"),
    ]
