from __future__ import annotations

import pytest

from azbatch_core.local.rules.documents import without_secrets
from azbatch_core.local.rules.nodes import address_of
from azbatch_core.local.rules.recent import Recent, put_recent, recent_document
from azbatch_core.local.rules.tasks import environment, number_of


@pytest.mark.parametrize(
    ("task_id", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("2147483647", 2**31 - 1),
        ("2147483648", None),
        ("07", None),
        ("00", None),
        ("7a", None),
        ("-7", None),
        ("", None),
        ("99999999999", None),
    ],
)
def test_only_plain_integers_are_in_ranges(task_id: str, number: int | None) -> None:
    assert number_of(task_id) == number


def test_addresses_are_distinct_and_never_special() -> None:
    addresses = [address_of(n) for n in range(70_000)]
    assert len(set(addresses)) == 70_000
    assert addresses[0] == "127.1.0.1"
    assert not any(address.endswith((".0", ".255")) for address in addresses)
    assert not any(address.startswith("127.0.") for address in addresses)


def test_the_tasks_settings_win_by_name_and_keep_their_place() -> None:
    common = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    own = [{"name": "C", "value": "3"}, {"name": "A", "value": "4"}]
    assert environment(common, own) == (("A", "4"), ("B", "2"), ("C", "3"))


def test_recent_tasks_are_the_last_ten_each_once() -> None:
    recent: list = []
    for n in range(12):
        put_recent(recent, Recent("j", str(n), "running", None, 0, 0, started=1))
    put_recent(recent, Recent("j", "5", "completed", None, 0, 0, started=1, ended=2, exit_code=0))
    docs = [recent_document(row, "http://here") for row in recent]
    assert [doc["taskId"] for doc in docs] == ["2", "3", "4", "6", "7", "8", "9", "10", "11", "5"]
    assert docs[-1] == {
        "taskUrl": "http://here/jobs/j/tasks/5",
        "jobId": "j",
        "taskId": "5",
        "taskState": "completed",
        "executionInfo": {
            "startTime": "0001-01-01T00:00:00.0000001Z",
            "retryCount": 0,
            "requeueCount": 0,
            "endTime": "0001-01-01T00:00:00.0000002Z",
            "result": "success",
            "exitCode": 0,
        },
    }


def test_secrets_are_left_out_at_any_depth_and_the_original_is_kept() -> None:
    given = {"a": [{"password": "x", "user": "u"}], "sasKey": "y", "b": {"accountKey": "z"}}
    assert without_secrets(given) == {"a": [{"user": "u"}], "b": {}}
    assert given["sasKey"] == "y"
