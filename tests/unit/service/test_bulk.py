"""Adding many tasks: chunks, resends, halving, and a result for each task."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.errors import InvalidRequest, NotFound, ServiceUnavailable
from azbatch_core.service.states import TaskAddResult
from azbatch_core.service.submit.bulk import MAX_BYTES, BulkAdd, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator


class FakeJob:
    """Takes collections as the service does: at most 100, under 1 MB, ids without case."""

    def __init__(self) -> None:
        self.tasks: dict[str, str] = {}
        self.requests: list[int] = []
        self.trouble: dict[str, list[str]] = {}
        self.lose_replies = 0
        self.lock = threading.Lock()

    def post(self, bodies: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
        """Answer as the service does, in no particular order."""
        with self.lock:
            self.requests.append(len(bodies))
            assert len(bodies) <= 100
            poisoned = any("poison" in body for body in bodies)
            if poisoned or len(json.dumps({"value": bodies})) >= MAX_BYTES:
                code = "InvalidPropertyValue" if poisoned else "RequestBodyTooLarge"
                raise InvalidRequest("refused", code=code)
            members = [self._add(body) for body in bodies]
            resent = self.lose_replies > 0
            for _ in range(self.lose_replies):
                members = [self._add(body) for body in bodies]
            self.lose_replies = 0
            return members[::-1], resent

    def _add(self, body: dict[str, Any]) -> dict[str, Any]:
        name = body["id"]
        if self.trouble.get(name):
            return {"taskId": name, "status": "ServerError", "error": {"code": self.trouble[name].pop()}}
        if name.lower() in self.tasks:
            error = {"code": "TaskExists", "message": {"lang": "en-US", "value": "The task exists."}}
            return {"taskId": name, "status": "ClientError", "error": error}
        self.tasks[name.lower()] = body["commandLine"]
        return {"taskId": name, "status": "Success"}

    def stored_command(self, task_id: str) -> str | None:
        """The stored command."""
        return self.tasks.get(task_id.lower())


def wanted(name: str, command: str = "true", **more: Any) -> Wanted:
    return Wanted(name, {"id": name, "commandLine": command, **more})


def add(job: Any, tasks: Any, **options: Any) -> Any:
    return BulkAdd(job, sleep=lambda _: None, **options).run(tasks)


def test_more_than_a_hundred_go_in_chunks_and_come_back_in_order() -> None:
    job = FakeJob()
    outcome = add(job, [wanted(f"t{i}") for i in range(250)])
    assert sorted(job.requests) == [50, 100, 100]
    assert [result.id for result in outcome.results] == [f"t{i}" for i in range(250)]
    assert {result.status for result in outcome.results} == {"added"}
    assert outcome.fatal is None


def test_fat_tasks_travel_in_chunks_under_the_size_limit() -> None:
    job = FakeJob()
    outcome = add(job, [wanted(f"t{i}", "x" * 300_000) for i in range(7)])
    assert sorted(job.requests) == [1, 3, 3]
    assert len(job.tasks) == 7
    assert {result.status for result in outcome.results} == {"added"}


def test_size_is_measured_as_sent_not_in_characters() -> None:
    job = FakeJob()
    add(job, [wanted(f"t{i}", "é" * 100_000) for i in range(3)])
    assert sorted(job.requests) == [1, 1, 1]


def test_one_oversized_task_is_reported_by_id_and_the_rest_goes_in() -> None:
    job = FakeJob()
    outcome = add(job, [*(wanted(f"t{i}") for i in range(150)), wanted("huge", "x" * MAX_BYTES)])
    assert len(job.tasks) == 150
    (bad,) = [result for result in outcome.results if result.status == "failed"]
    assert (bad.id, bad.code) == ("huge", "RequestBodyTooLarge")
    assert "resource file" in (bad.error or "")


def test_a_request_refused_as_too_large_is_halved() -> None:
    class Small(FakeJob):
        def post(self, bodies: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
            if len(bodies) > 10:
                raise InvalidRequest("too large", code="RequestBodyTooLarge")
            return super().post(bodies)

    job = Small()
    outcome = add(job, [wanted(f"t{i}") for i in range(100)])
    assert len(job.tasks) == 100
    assert {result.status for result in outcome.results} == {"added"}


def test_one_invalid_task_does_not_sink_the_others() -> None:
    job = FakeJob()
    outcome = add(job, [wanted("a"), wanted("bad", poison=True), wanted("c")])
    assert [result.status for result in outcome.results] == ["added", "failed", "added"]
    assert outcome.results[1].code == "InvalidPropertyValue"


def test_a_lost_reply_counts_its_tasks_as_added() -> None:
    job = FakeJob()
    job.lose_replies = 1
    outcome = add(job, [wanted("a"), wanted("b")])
    assert [result.status for result in outcome.results] == ["added", "added"]


def test_a_foreign_task_of_the_same_id_is_a_conflict() -> None:
    job = FakeJob()
    job.tasks["a"] = "something else"
    outcome = add(job, [wanted("A"), wanted("b")])
    assert [result.status for result in outcome.results] == ["failed", "added"]
    assert outcome.results[0].code == "TaskExists"


def test_a_foreign_task_is_a_conflict_on_a_resend_too() -> None:
    job = FakeJob()
    job.tasks["a"] = "something else"
    job.lose_replies = 1
    outcome = add(job, [wanted("a"), wanted("b")])
    assert [result.status for result in outcome.results] == ["failed", "added"]


def test_the_same_command_is_a_conflict_unless_the_request_was_ours() -> None:
    job = FakeJob()
    job.tasks["a"] = "true"
    assert add(job, [wanted("a")]).results[0].status == "failed"
    assert add(job, [wanted("a")], resuming=True).results[0].status == "exists"


def test_server_errors_of_members_are_sent_again() -> None:
    job = FakeJob()
    job.trouble = {"b": ["Busy", "Busy"]}
    outcome = add(job, [wanted("a"), wanted("b"), wanted("c")])
    assert job.requests == [3, 1, 1]
    assert {result.status for result in outcome.results} == {"added"}


def test_server_errors_without_end_give_up() -> None:
    job = FakeJob()
    job.trouble = {"b": ["Busy"] * 100}
    outcome = add(job, [wanted("a"), wanted("b")])
    assert [result.status for result in outcome.results] == ["added", "failed"]
    assert outcome.results[1].code == "Busy"
    assert len(job.requests) < 10


def test_an_answer_without_one_of_the_tasks_sends_that_one_again() -> None:
    class Forgetful(FakeJob):
        def post(self, bodies: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
            members, resent = super().post(bodies)
            return members[1:] if len(bodies) > 1 else members, resent

    job = Forgetful()
    outcome = add(job, [wanted("a"), wanted("b")])
    assert [result.status for result in outcome.results] == ["added", "added"]


def test_ids_that_differ_only_in_case_collide_before_anything_is_sent() -> None:
    job = FakeJob()
    outcome = add(job, [wanted("Run1"), wanted("run1")])
    assert [result.status for result in outcome.results] == ["added", "failed"]
    assert outcome.results[1].code == "TaskExists"


def test_the_source_is_taken_lazily() -> None:
    taken = 0
    ahead = []

    class Watching(FakeJob):
        def post(self, bodies: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
            ahead.append(taken - len(self.tasks))
            return super().post(bodies)

    def source() -> Iterator[Wanted]:
        nonlocal taken
        for i in range(3000):
            taken += 1
            yield wanted(f"t{i}")

    add(Watching(), source(), workers=2)
    assert taken == 3000
    assert max(ahead) <= 500


def test_progress_is_told_in_the_callers_thread() -> None:
    seen: list[tuple[int, int]] = []
    add(
        FakeJob(),
        (wanted(f"t{i}") for i in range(1000)),
        on_progress=lambda n: seen.append((n, threading.get_ident())),
    )
    assert seen[-1][0] == 1000
    assert [n for n, _ in seen] == sorted({n for n, _ in seen})
    assert {thread for _, thread in seen} == {threading.get_ident()}


def test_a_service_that_stops_answering_ends_the_run_and_leaves_the_rest_alone() -> None:
    class Dying(FakeJob):
        def post(self, bodies: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
            if len(self.tasks) >= 100:
                raise ServiceUnavailable("no answer", retryable=True)
            return super().post(bodies)

    taken = []

    def source() -> Iterator[Wanted]:
        for i in range(10_000):
            taken.append(i)
            yield wanted(f"t{i}")

    outcome = add(Dying(), source(), workers=1)
    assert isinstance(outcome.fatal, ServiceUnavailable)
    assert len(taken) < 400
    assert sum(result.status == "added" for result in outcome.results) == 100
    unsure = [result for result in outcome.results if "may or may not" in (result.error or "")]
    assert len(unsure) == 100


def test_a_job_that_went_away_ends_the_run_with_certain_answers() -> None:
    class Gone(FakeJob):
        def post(self, bodies: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
            del bodies
            raise NotFound("no such job", code="JobNotFound")

    outcome = add(Gone(), [wanted("a")])
    assert isinstance(outcome.fatal, NotFound)
    assert (outcome.results[0].status, outcome.results[0].error) == ("failed", "no such job")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_trouble_in_the_source_keeps_the_answers_so_far(kind: type[BaseException]) -> None:
    job = FakeJob()

    def source() -> Iterator[Wanted]:
        for i in range(100):
            yield wanted(f"t{i}")
        yield wanted("last")
        raise kind

    outcome = add(job, source())
    assert isinstance(outcome.fatal, kind)
    assert [result.status for result in outcome.results[:100]] == ["added"] * 100
    assert len(job.tasks) == 100


def test_a_result_in_the_source_is_kept_in_its_place() -> None:
    refused = TaskAddResult("b", "failed", "wrong", "SpecError")
    outcome = add(FakeJob(), [wanted("a"), refused, wanted("c")])
    assert [result.status for result in outcome.results] == ["added", "failed", "added"]
    assert outcome.results[1] is refused
