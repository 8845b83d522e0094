"""Pools that size themselves by a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from engine_fakes import Service, refused

from azbatch_core.local.autoscale.limits import HISTORY_SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

MINUTE, HOUR = 60, 3600
QUEUE = (
    "share = $PendingTasks.GetSamplePercent(TimeInterval_Minute * 5);"
    "tasks = share < 70 ? max(0, $PendingTasks.GetSample(1)) : "
    "max($PendingTasks.GetSample(TimeInterval_Minute * 5));"
    "$TargetDedicatedNodes = min(tasks, 4); $NodeDeallocationOption = taskcompletion"
)


def make(service: Service, formula: str = QUEUE, **fields: Any) -> dict[str, Any]:
    return service.engine.pools.create(
        {
            "id": "pool",
            "vmSize": "standard_d2",
            "enableAutoScale": True,
            "autoScaleFormula": formula,
            "autoScaleEvaluationInterval": "PT5M",
            **fields,
        }
    )


def pool(service: Service) -> dict[str, Any]:
    return service.engine.pools.get("pool")


def evaluated(service: Service, formula: str) -> str:
    run = service.engine.pools.evaluate_auto_scale("pool", formula)
    assert "error" not in run, run
    return str(run["results"])


async def test_a_pool_follows_its_queue_up_and_back_to_zero(service: Service) -> None:
    make(service)
    await service.pass_time(10 * MINUTE)
    assert len(service.nodes()) == 0
    service.job()
    for number in range(20):
        service.task(f"t{number}", f"sleep {10 * MINUTE}")
    sizes = []
    for _ in range(24):
        await service.pass_time(5 * MINUTE)
        sizes.append(len(service.nodes()))
    assert max(sizes) == 4
    assert sizes[:10] == [4] * 10
    assert sizes[-1] == 0
    assert service.counts()["succeeded"] == 20
    assert all(service.info(f"t{number}")["requeueCount"] == 0 for number in range(20))
    await service.pass_time(24 * HOUR)
    assert pool(service)["autoScaleRun"]["results"] == (
        "$TargetDedicatedNodes=0;$TargetLowPriorityNodes=0;$NodeDeallocationOption=taskcompletion"
        ";share=90;tasks=0"
    )
    assert len(service.engine.account.samples[1].kept) == HISTORY_SAMPLES


async def test_the_document_shows_formula_interval_and_first_run(service: Service) -> None:
    made = make(
        service, "$TargetDedicatedNodes=2;$TargetLowPriorityNodes=1", autoScaleEvaluationInterval=None
    )
    assert made["enableAutoScale"] is True
    assert made["autoScaleEvaluationInterval"] == "PT15M"
    assert made["autoScaleRun"] == {
        "timestamp": "2026-01-01T00:00:00Z",
        "results": "$TargetDedicatedNodes=2;$TargetLowPriorityNodes=1;$NodeDeallocationOption=requeue",
    }
    await service.pass_time()
    shown = pool(service)
    assert (shown["currentDedicatedNodes"], shown["currentLowPriorityNodes"]) == (2, 1)
    assert shown["allocationState"] == "steady"
    await service.pass_time(16 * MINUTE)
    later = pool(service)
    assert later["autoScaleRun"]["timestamp"] == "2026-01-01T00:15:00Z"
    assert (later["eTag"], later["allocationStateTransitionTime"]) == (
        made["eTag"],
        shown["allocationStateTransitionTime"],
    )
    patched = service.engine.pools.patch("pool", {"metadata": [{"name": "a", "value": "b"}]})
    assert patched["autoScaleFormula"] == made["autoScaleFormula"]
    assert patched["enableAutoScale"] is True


async def test_samples_are_of_tasks_that_can_run_and_of_nodes(service: Service) -> None:
    make(service, "$TargetDedicatedNodes=1", taskSlotsPerNode=2)
    service.job(usesTaskDependencies=True)
    for number in range(4):
        service.task(str(number), "hang")
    service.task("after", dependsOn={"taskIds": ["0"]})
    service.engine.pools.create({"id": "other", "vmSize": "standard_d2"})
    service.job("elsewhere", "other")
    service.task("x", job_id="elsewhere")
    await service.pass_time(31)
    names = ["ActiveTasks", "RunningTasks", "PendingTasks", "SucceededTasks", "TaskSlotsPerNode"]
    names += ["CurrentDedicatedNodes", "CurrentLowPriorityNodes", "UsableNodeCount", "PreemptedNodeCount"]
    formula = ";".join(f"v{number} = ${name}" for number, name in enumerate(names))
    values = [part.split("=")[1] for part in evaluated(service, formula).split(";")[3:]]
    assert values == ["2", "2", "4", "0", "2", "1", "0", "1", "0"]
    await service.pass_time(30)
    assert evaluated(service, "n=$PendingTasks.Count()").endswith(";n=2")


async def test_evaluating_changes_nothing(service: Service) -> None:
    make(service, "$TargetDedicatedNodes=1")
    await service.pass_time()
    before = pool(service)
    assert evaluated(service, "a=$TargetDedicatedNodes+$CurrentDedicated;$TargetDedicatedNodes=9") == (
        "$TargetDedicatedNodes=9;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue;a=2"
    )
    await service.pass_time(MINUTE)
    assert pool(service) == before


async def test_a_run_that_fails_is_told_and_leaves_the_pool(service: Service) -> None:
    make(
        service,
        "$TargetDedicatedNodes=$TaskSlotsPerNode > 1 ? avg($RunningTasks.GetSample(TimeInterval_Hour)) : 2",
    )
    await service.pass_time()
    service.engine.pools.enable_auto_scale(
        "pool", {"autoScaleFormula": "$TargetDedicatedNodes=avg($RunningTasks.GetSample(TimeInterval_Hour))"}
    )
    await service.pass_time(5 * MINUTE)
    shown = pool(service)
    assert shown["autoScaleRun"]["error"] == {
        "code": "InsufficientSampleData",
        "message": "Autoscale evaluation failed due to insufficient sample data",
        "values": [
            {
                "name": "Message",
                "value": "Line 1, Col 50: "
                "Insufficient data from data set: $RunningTasks wanted 70%, received 7%",
            }
        ],
    }
    assert shown["autoScaleRun"]["results"].startswith("$TargetDedicatedNodes=2;")
    assert (shown["currentDedicatedNodes"], shown["allocationState"]) == (2, "steady")
    await service.pass_time(HOUR)
    shown = pool(service)
    assert "error" not in shown["autoScaleRun"]
    assert shown["currentDedicatedNodes"] == 0


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"autoScaleFormula": "$x = ("}, "AutoScalingFormulaSyntaxError"),
        ({"autoScaleFormula": "x=1;" + " " * 8192}, "AutoScaleFormulaTooLong"),
        ({"autoScaleFormula": None}, "InvalidAutoScalingSettings"),
        ({"targetDedicatedNodes": 1}, "InvalidAutoScalingSettings"),
        ({"targetLowPriorityNodes": 0}, "InvalidAutoScalingSettings"),
        ({"autoScaleEvaluationInterval": "PT4M59S"}, "InvalidPropertyValue"),
        ({"autoScaleEvaluationInterval": "PT168H1S"}, "InvalidPropertyValue"),
        ({"enableAutoScale": False}, "InvalidPropertyValue"),
    ],
)
async def test_wrong_settings_are_refused_and_make_no_pool(
    service: Service, fields: dict[str, Any], code: str
) -> None:
    with refused(code):
        make(service, **fields)
    assert service.engine.pools.page() == ([], None)


async def test_calls_that_do_not_suit_the_pool_are_refused(service: Service) -> None:
    await service.pool(nodes=0)
    calls = service.engine.pools
    with refused("OperationInvalidForCurrentState"):
        calls.evaluate_auto_scale("pool", "$TargetDedicatedNodes=1")
    with refused("MissingRequiredProperty"):
        calls.enable_auto_scale("pool", {"autoScaleEvaluationInterval": "PT5M"})
    for call in (calls.enable_auto_scale, lambda name, body: calls.evaluate_auto_scale(name, *body.values())):
        with refused("AutoScalingFormulaSyntaxError"):
            call("pool", {"autoScaleFormula": "$x="})
    calls.resize("pool", {"targetDedicatedNodes": 1})
    with refused("PoolBeingResized"):
        calls.enable_auto_scale("pool", {"autoScaleFormula": "$TargetDedicatedNodes=1"})
    await service.pass_time()
    calls.enable_auto_scale("pool", {"autoScaleFormula": "$TargetDedicatedNodes=1"})
    with refused("AutoScalingFormulaSyntaxError"):
        calls.enable_auto_scale("pool", {"autoScaleFormula": ""})
    with refused("OperationInvalidForCurrentState"):
        calls.resize("pool", {"targetDedicatedNodes": 2})
    await service.pass_time(29)
    with refused("TooManyEnableAutoScaleRequests"):
        calls.enable_auto_scale("pool", {"autoScaleFormula": "$TargetDedicatedNodes=2"})
    await service.pass_time(1)
    calls.enable_auto_scale("pool", {"autoScaleFormula": "$TargetDedicatedNodes=2"})


async def test_a_new_formula_keeps_the_schedule_and_a_new_interval_starts_it_again(service: Service) -> None:
    make(service, "$TargetDedicatedNodes=1")
    await service.pass_time(2 * MINUTE)
    tag = pool(service)["eTag"]
    new = service.engine.pools.enable_auto_scale("pool", {"autoScaleFormula": "$TargetDedicatedNodes=2"})
    assert new["eTag"] != tag
    assert new["autoScaleEvaluationInterval"] == "PT5M"
    await service.pass_time(2 * MINUTE)
    assert len(service.nodes()) == 1
    await service.pass_time(MINUTE)
    assert len(service.nodes()) == 2
    await service.pass_time(MINUTE)
    service.engine.pools.enable_auto_scale("pool", {"autoScaleEvaluationInterval": "PT10M"})
    assert pool(service)["autoScaleRun"]["timestamp"] == "2026-01-01T00:06:00Z"
    assert evaluated(service, "n=$PendingTasks.Count()").endswith(";n=12")
    await service.pass_time(11 * MINUTE)
    assert pool(service)["autoScaleRun"]["timestamp"] == "2026-01-01T00:16:00Z"


async def test_a_pool_without_its_formula_keeps_its_size(service: Service) -> None:
    make(service, "$TargetDedicatedNodes=3")
    await service.pass_time()
    off = service.engine.pools.disable_auto_scale("pool")
    assert off["enableAutoScale"] is False
    assert not {"autoScaleFormula", "autoScaleEvaluationInterval", "autoScaleRun"} & off.keys()
    assert service.engine.pools.disable_auto_scale("pool")["eTag"] == off["eTag"]
    assert {name for name, _ in service.engine.account.timers} == {"lifetime"}
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time(HOUR)
    assert len(service.nodes()) == 1
    service.engine.pools.enable_auto_scale(
        "pool", {"autoScaleFormula": "$TargetDedicatedNodes=$PendingTasks.Count()"}
    )
    await service.pass_time()
    assert len(service.nodes()) == 0


async def test_what_a_quota_refused_is_tried_again(tmp_path: Path) -> None:
    service = await Service(tmp_path, node_quota=2).start()
    make(service, "$TargetDedicatedNodes=3")
    await service.pass_time(MINUTE)
    first = pool(service)
    assert first["resizeErrors"][0]["code"] == "AccountCoreQuotaReached"
    await service.pass_time(5 * MINUTE)
    assert pool(service)["allocationStateTransitionTime"] > first["allocationStateTransitionTime"]
    await service.engine.stop()


async def test_evaluations_during_a_resize_are_not_applied(service: Service) -> None:
    make(service, "$TargetDedicatedNodes=1")
    await service.pass_time()
    service.job()
    service.task("t", f"sleep {12 * MINUTE}")
    await service.pass_time(MINUTE)
    service.engine.pools.enable_auto_scale(
        "pool", {"autoScaleFormula": "$TargetDedicatedNodes=0;$NodeDeallocationOption=taskcompletion"}
    )
    await service.pass_time(5 * MINUTE)
    assert (pool(service)["allocationState"], service.state("t")) == ("resizing", "running")
    service.engine.account.pools[1].spec["autoScaleFormula"] = "$TargetDedicatedNodes=2"
    await service.pass_time(5 * MINUTE)
    shown = pool(service)
    assert shown["autoScaleRun"]["results"].startswith("$TargetDedicatedNodes=2;")
    assert (shown["allocationState"], shown["targetDedicatedNodes"]) == ("resizing", 0)
    await service.pass_time(5 * MINUTE)
    assert len(service.nodes()) == 2
    assert service.info("t")["requeueCount"] == 0


async def test_a_restart_keeps_formula_and_schedule(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    make(service)
    service.job()
    service.task("t", "hang")
    await service.pass_time(6 * MINUTE)
    before = pool(service)
    assert before["currentDedicatedNodes"] == 1
    heir = await service.killed()
    assert pool(heir) == before
    await heir.pass_time(3 * MINUTE)
    assert pool(heir)["autoScaleRun"] == before["autoScaleRun"]
    await heir.pass_time(2 * MINUTE)
    assert pool(heir)["autoScaleRun"]["timestamp"] == "2026-01-01T00:10:00Z"
    assert pool(heir)["currentDedicatedNodes"] == 1
    heir.engine.tasks.terminate("job", "t")
    await heir.pass_time(15 * MINUTE)
    assert pool(heir)["currentDedicatedNodes"] == 0
    await heir.engine.stop()


async def test_a_deleted_pool_is_not_scaled_any_more(service: Service) -> None:
    make(service, "$TargetDedicatedNodes=1")
    await service.pass_time(MINUTE)
    service.engine.pools.delete("pool")
    await service.pass_time(HOUR)
    assert service.engine.pools.page() == ([], None)
    assert {name for name, _ in service.engine.account.timers} == {"lifetime"}
    assert service.engine.account.samples == {}


async def test_tasks_on_a_pool_that_scales_have_a_node_to_hope_for(service: Service) -> None:
    make(service)
    await service.pass_time()
    assert not service.engine.busy()
    service.job()
    service.task("t")
    await service.pass_time()
    assert service.engine.busy()
    await service.pass_time(10 * MINUTE)
    assert service.state("t") == "completed"


async def test_auto_pools_scale_and_a_bad_formula_ends_their_job(service: Service) -> None:
    def job(name: str, formula: str) -> dict[str, Any]:
        spec = {"vmSize": "standard_d2", "enableAutoScale": True, "autoScaleFormula": formula}
        auto = {"poolLifetimeOption": "job", "pool": spec}
        return service.engine.jobs.create({"id": name, "poolInfo": {"autoPoolSpecification": auto}})

    good = job("good", "$TargetDedicatedNodes=1")
    await service.pass_time()
    assert len(service.nodes(good["executionInfo"]["poolId"])) == 1
    bad = job("bad", "$TargetDedicatedNodes=")
    assert bad["state"] == "completed"
    assert bad["executionInfo"]["schedulingError"]["code"] == "InvalidAutoScaleFormulaInAutoPool"
    assert len(service.engine.pools.page()[0]) == 1
