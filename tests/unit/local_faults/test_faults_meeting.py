"""A fault of requests that no request could meet is refused; whatever one could meet is taken."""

from __future__ import annotations

import pytest

from azbatch_core.local.faults import FaultError, Faults, read_fault
from azbatch_core.local.routes.table import OPERATIONS


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ({"operation": "create_tsk"}, "no request has the operation 'create_tsk'; did you mean create_task?"),
        ({"operation": "create_tsk*"}, "did you mean create_task?"),
        ({"operation": "delete_pool"}, "did you mean begin_delete_pool?"),
        ({"method": "GETT"}, "no request has the method 'gett'; did you mean get?"),
        ({"path": "/jbos/*"}, "no request has the path '/jbos/*'; did you mean /jobs/*?"),
        ({"path": "jobs/*"}, "did you mean /jobs/*?"),
        (
            {"operation": "create_task", "method": "GET"},
            "has all of operation 'create_task', method 'get'",
        ),
        ({"operation": "*_pool", "path": "/jobs*"}, "no request has all of"),
    ],
)
def test_what_could_never_strike_is_refused(places: dict[str, str], said: str) -> None:
    with pytest.raises(FaultError) as caught:
        Faults(operations=OPERATIONS).add(read_fault({"kind": "throttle", **places}))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "places",
    [
        {},
        {"operation": "Create_Task*", "method": "p?st", "path": "/jobs/*"},
        {"operation": "[cg]*_pool"},
        {"path": "/pools/p-1/nodes/[a-z]*"},
        {"path": "*/stdout.txt"},
        {"path": "/jobs/j/tasks/t/files/wd/deep/er.txt"},
    ],
)
def test_what_some_request_meets_is_taken(places: dict[str, str]) -> None:
    faults = Faults(operations=OPERATIONS)
    faults.add(read_fault({"kind": "reset", **places}))
    assert len(faults.of_requests) == 1


def test_every_operation_can_be_named_by_its_name_method_and_path() -> None:
    faults = Faults(operations=OPERATIONS)
    for row in OPERATIONS:
        faults.add(
            read_fault({"kind": "reset", "operation": row.name, "method": row.method, "path": row.path})
        )
