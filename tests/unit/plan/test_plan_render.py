"""A plan as text, as JSON and for a terminal; and that planning is pure."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from azbatch_core.plan import AccountFacts, plan
from azbatch_core.plan.render import plain, rich_plan
from azbatch_core.specs import JobSpec, TaskSpec, shell


def pi(count: int = 40) -> JobSpec:
    """Many tasks, and one that reads what they wrote."""
    seeds = [
        TaskSpec(
            command=["python3", "pi.py", str(seed)],
            stage="sample",
            environment={"SEED": str(seed)},
            output_files=[{"file_pattern": "result.txt", "container": "results"}],
        )
        for seed in range(count)
    ]
    last = TaskSpec(
        id="mean", command=shell("cat results/* | python3 mean.py"), depends_on=[{"stage": "sample"}]
    )
    return JobSpec(name="pi", tasks=[*seeds, last], environment={"MODE": "fast"})


def test_the_table_says_what_where_and_why(cloud: AccountFacts):
    text = plan(pi(), cloud).to_table()
    lines = text.splitlines()
    assert lines[0] == "job          pi-0a1b2c3d on the account prod"
    assert lines[1].startswith("pool         azb-")
    assert "0 to 4 dedicated x Standard_" in lines[1]
    assert "2 task slots each" in lines[1]
    (price,) = [line for line in lines if line.startswith("price ")]
    assert price == (
        "price        at most $0.46 an hour (4 x Standard_D2a_v4 at $0.115 in westeurope, pay as you go, "
        "Linux, as of 2026-12-01), nothing while it has no nodes"
    )
    (scale,) = [line for line in lines if line.startswith("scale ")]
    assert scale == (
        "scale        4 at once, then one for every 2 tasks, up to 4 nodes (a pool that is there keeps its "
        "own limit); down to none 15m after they were needed"
    )
    assert any(line.strip().startswith("$TargetDedicatedNodes = min(maxNodes") for line in lines)
    assert any(line.startswith("why          Standard_") for line in lines)
    assert any(line == "ends         after 7d at the latest" for line in lines)
    assert any(line == "environment  MODE=fast" for line in lines)
    (head,) = [line for line in lines if line.startswith("task ")]
    assert head.split() == ["task", "stage", "slots", "after", "command", "outputs"]
    assert any(line.split() == ["…", "29", "more"] for line in lines)
    assert lines[-1].split()[:3] == ["mean", "1", "1-40"]
    assert "results/pi-0a1b2c3d/1/result.txt" in text


def test_one_slot_is_one(local: AccountFacts):
    spec = JobSpec(name="j", tasks=[TaskSpec(command=["true"])], pool={"task_slots_per_node": 1})
    assert "1 task slot each" in plan(spec, local).to_table()


def test_columns_that_nothing_fills_are_left_out(local: AccountFacts):
    text = plan(JobSpec(name="j", tasks=[TaskSpec(command=["echo", "hi"])]), local).to_table()
    assert text.splitlines()[-2].split() == ["task", "slots", "command"]
    assert text.splitlines()[-1].split() == ["1", "1", "echo", "hi"]


def test_warnings_are_shown_when_asked_for(cloud: AccountFacts):
    planned = plan(pi().replace(pool={"nodes": 1}), cloud)
    assert "warning: pool azb-" in planned.to_table(warnings=True)
    assert "warning: " not in planned.to_table()


def test_the_table_leaves_out_the_formula_and_shows_other_commands_where_it_is_told_to(local: AccountFacts):
    tasks = [TaskSpec(id=name, command=["echo", name]) for name in ("a", "b")]
    planned = plan(JobSpec(name="j", tasks=tasks), local)
    assert "idleSamples" in planned.to_table()
    text = planned.to_table(formula=False, commands={"a": "what a does"})
    assert "idleSamples" not in text
    assert "up to 4 nodes" in text
    for line in (r"a .*what a does$", r"b .*echo b$"):
        assert re.search(line, text, re.MULTILINE)


def test_long_and_many_lined_commands_stay_on_one_line(local: AccountFacts):
    job = JobSpec(name="j", tasks=[TaskSpec(command=shell("echo a\n" + "echo b\n" * 50))])
    text = plain(plan(job, local))
    assert text.splitlines()[-1].endswith("…")
    assert len(text.splitlines()[-1]) < 100


def test_the_terminal_shows_the_same_and_takes_no_markup_from_the_user(local: AccountFacts):
    from rich.console import Console

    job = JobSpec(name="j", tasks=[TaskSpec(command=["echo", "[bold]not markup[/bold]"])])
    console = Console(width=160)
    with console.capture() as captured:
        console.print(rich_plan(plan(job, local), warnings=True))
    assert "[bold]not markup[/bold]" in captured.get()
    assert "j-0a1b2c3d on the account local" in captured.get()


def test_the_json_is_the_whole_plan(cloud: AccountFacts):
    planned = plan(pi(2), cloud)
    shown = json.loads(json.dumps(planned.to_json()))
    assert shown["jobId"] == planned.job_id
    assert shown["account"] == "prod"
    assert shown["stamp"] == planned.stamp
    assert shown["pool"]["body"] == planned.pool.body
    assert shown["job"] == planned.job_body
    assert [one["id"] for one in shown["tasks"]] == ["1", "2", "mean"]
    assert shown["tasks"][2]["body"] == planned.tasks[2].body
    assert shown["tasks"][0]["outputs"] == ["results/pi-0a1b2c3d/1/result.txt"]
    assert shown["hourlyPriceUsd"] == planned.hourly_price_usd
    assert shown["warnings"] == list(planned.warnings)
    assert shown["reasons"] == list(planned.reasons)


def test_the_same_job_and_facts_give_the_same_plan(cloud: AccountFacts):
    assert plan(pi(), cloud) == plan(pi(), cloud)
    assert plan(pi(), cloud).to_json() == plan(pi(), cloud).to_json()


SCRIPT = """
import json, sys
from datetime import datetime, timezone
from azbatch_core.plan import AccountFacts, plan
from azbatch_core.specs import JobSpec, TaskSpec
assert not {name.split(".")[0] for name in sys.modules} & {"azure", "rich", "starlette"}
facts = AccountFacts(account="a", endpoint="https://a.westeurope.batch.azure.com", is_local=False, user="u",
                     now=datetime(2026, 12, 1, tzinfo=timezone.utc), nonce="0a1b2c3d")
gpus = [{"cpus": 1, "gpus": 1, "gpu_model": model} for model in ("T4", "t4", "NVIDIA T4", "Tesla T4")]
tasks = [TaskSpec(command=["true"], stage=f"s{n}", resources=gpus[n % 4]) for n in range(20)]
job = JobSpec(name="j", tasks=tasks)
print(json.dumps(plan(job, facts).to_json(), sort_keys=True))
"""


def test_the_plan_does_not_depend_on_the_hash_seed_and_imports_no_azure():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
