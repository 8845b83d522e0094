"""Refusals name the property itself, wherever it lies, as recorded ones do (`virtualMachineImageId`)."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules import jobs, pools

POOL = {"vmSize": "standard_d2s_v3"}
JOB = {"id": "j", "poolInfo": {"poolId": "p"}}
RETRIES = {"constraints": {"maxTaskRetryCount": -2}}
TASK = {"id": "t", "commandLine": "x", **RETRIES}


@pytest.mark.parametrize(
    "body",
    [
        {**JOB, **RETRIES},
        {**JOB, "jobPreparationTask": TASK},
        {**JOB, "jobManagerTask": TASK},
        {
            "id": "j",
            "poolInfo": {"autoPoolSpecification": {"pool": {**POOL, "startTask": RETRIES["constraints"]}}},
        },
    ],
)
def test_a_number_of_retries_is_named_alone(body: dict[str, Any]) -> None:
    with pytest.raises(BatchError) as caught:
        jobs.check_new(body)
    assert caught.value.code == "InvalidPropertyValue"
    assert dict(caught.value.values) == {
        "PropertyName": "maxTaskRetryCount",
        "PropertyValue": "-2",
        "Reason": "The value cannot be less than -1.",
    }


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"vmSize": "thisisinvalid"}, "vmSize"),
        ({**POOL, "taskSlotsPerNode": 257}, "taskSlotsPerNode"),
        ({**POOL, "targetDedicatedNodes": -1}, "targetDedicatedNodes"),
        ({**POOL, "resizeTimeout": "PT4M"}, "resizeTimeout"),
        ({**POOL, "autoScaleFormula": "$TargetDedicatedNodes=0;"}, "autoScaleFormula"),
        ({**POOL, "id": "a b"}, "id"),
    ],
)
def test_wrong_values_of_pools_are_named(body: dict[str, Any], name: str) -> None:
    with pytest.raises(BatchError) as caught:
        pools.check_new(body)
    assert [key for key, _ in caught.value.values] == ["PropertyName", "PropertyValue", "Reason"]
    assert caught.value.values[0] == ("PropertyName", name)
