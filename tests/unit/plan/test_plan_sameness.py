"""Whether a pool that is there is what was planned."""

from __future__ import annotations

import pytest

from azbatch_core.plan.sameness import differences
from azbatch_core.specs import Secret

FIXED = {
    "vmSize": "Standard_D4s_v5",
    "taskSlotsPerNode": 4,
    "enableInterNodeCommunication": False,
    "startTask": {"commandLine": "Setup", "environmentSettings": [{"name": "T", "value": Secret("env:T")}]},
}


def test_what_batch_fills_in_and_hides_and_spells_otherwise_is_no_difference() -> None:
    pool = {
        **FIXED,
        "id": "p",
        "vmSize": "STANDARD_D4S_V5",
        "startTask": {"commandLine": "Setup", "environmentSettings": [{"name": "T"}], "maxTaskRetryCount": 0},
    }
    del pool["enableInterNodeCommunication"]
    assert differences(FIXED, pool) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"vmSize": "Standard_D8s_v5"}, "vmSize is 'Standard_D8s_v5', not 'Standard_D4s_v5'"),
        ({"taskSlotsPerNode": 1}, "taskSlotsPerNode is 1, not 4"),
        ({"enableInterNodeCommunication": True}, "enableInterNodeCommunication is True, not False"),
        ({"startTask": None}, "startTask.commandLine is not there, not 'Setup'"),
        (
            {"startTask": {**FIXED["startTask"], "commandLine": "setup"}},  # type: ignore[dict-item]
            "startTask.commandLine is 'setup', not 'Setup'",
        ),
        (
            {"startTask": {"commandLine": "Setup", "environmentSettings": []}},
            "startTask.environmentSettings is []",
        ),
    ],
)
def test_a_difference_is_named(changed: dict[str, object], words: str) -> None:
    assert differences(FIXED, {**FIXED, **changed})[0].startswith(words)
