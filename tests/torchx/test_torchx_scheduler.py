"""What TorchX calls, called here: on a local service, found again by another scheduler."""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from conftest import WITHIN
from torchx import specs
from torchx.specs import AppState, Resource, RetryPolicy, macros
from torchx_apps import CFG, app_of, log, stdout, submit, until, wait

from azbatch_core import AzureBatch, JobSpec, ManagedPool, TaskSpec

if TYPE_CHECKING:
    from pathlib import Path


def test_an_app_is_found_by_another_scheduler(scheduler: Any) -> None:
    from azbatch_torchx.scheduler import create_scheduler

    app = app_of("echo", "hi", name="My App.v1", min_replicas=1)
    app.metadata["team"] = "vision"
    app_id = submit(scheduler, app)
    assert scheduler.describe(app_id) is not None, "TorchX describes at once"
    other = create_scheduler("another")
    described = wait(other, app_id, AppState.SUCCEEDED)
    assert [(role.name, role.num_replicas, role.image) for role in described.roles] == [
        ("role", 1, "alpine:3.20")
    ]
    assert [replica.state for status in described.roles_statuses for replica in status.replicas] == [
        AppState.SUCCEEDED
    ]
    if hasattr(described, "metadata"):
        assert described.metadata == {"team": "vision"}
    listed = {one.app_id: one for one in other.list(CFG)}
    assert listed[app_id].state == AppState.SUCCEEDED
    assert getattr(listed[app_id], "name", "My App.v1") == "My App.v1"
    assert stdout(other, app_id) == ["hi\n"]
    other.close()


@pytest.mark.parametrize("argument", ["a b", "it's", '"', "$HOME", "`id`", '{"a": [1]}', "\\", "*", "ü"])
def test_arguments_and_variables_arrive_as_they_are(scheduler: Any, argument: str) -> None:
    app = app_of("sh", "-c", 'printf "%s\\n" "$1" "$VALUE"', "sh", argument, env={"VALUE": argument})
    app_id = submit(scheduler, app)
    wait(scheduler, app_id, AppState.SUCCEEDED)
    assert stdout(scheduler, app_id) == [f"{argument}\n"] * 2


def test_macros_are_replaced_once_in_arguments_and_variables(scheduler: Any) -> None:
    words = [macros.app_id, macros.replica_id, macros.rank0_env, macros.img_root, "$$HOME", "$$$$", "${HOME}"]
    app = app_of("printf", "%s\n", *words, env={"ID": macros.app_id})
    app_id = submit(scheduler, app)
    wait(scheduler, app_id, AppState.SUCCEEDED)
    seen = stdout(scheduler, app_id)
    assert seen == [f"{app_id}\n", "0\n", "TORCHX_RANK0_HOST\n", "\n", "$HOME\n", "$$\n", "${HOME}\n"]
    shown = app_of("sh", "-c", 'echo "$ID $TORCHX_RANK0_HOST"', env={"ID": macros.app_id})
    app_id = submit(scheduler, shown)
    wait(scheduler, app_id, AppState.SUCCEEDED)
    assert stdout(scheduler, app_id) == [f"{app_id} localhost\n"]


@pytest.mark.parametrize("name", ["/", "a/b.c", "x" * 200, "Ünï"])
def test_any_name_of_app_and_role(scheduler: Any, name: str) -> None:
    app = app_of("true", name=name)
    role = f"ROLE{name.replace('/', '+')}"
    app.roles.append(dataclasses.replace(app.roles[0], name=role))
    app_id = submit(scheduler, app)
    assert len(app_id.partition(":")[2]) <= 64
    described = wait(scheduler, app_id, AppState.SUCCEEDED)
    assert [role.name for role in described.roles] == ["role", role]


def test_of_several_roles_a_failed_one_ends_the_app(scheduler: Any) -> None:
    app = app_of("sh", "-c", "exit 7", name="two")
    server = app_of("sleep", "1000").roles[0]
    server.name = "server"
    app.roles.append(server)
    app_id = submit(scheduler, app)
    described = wait(scheduler, app_id, AppState.FAILED)
    states = {status.role: status.replicas[0].state for status in described.roles_statuses}
    assert states["role"] == AppState.FAILED
    assert described.msg.startswith("user: ")


def test_a_failure_can_be_printed_in_every_form(scheduler: Any) -> None:
    app_id = submit(scheduler, app_of("sh", "-c", "exit 7"))
    described = wait(scheduler, app_id, AppState.FAILED)
    status = specs.AppStatus(
        state=described.state,
        msg=described.msg,
        structured_error_msg=described.structured_error_msg,
        roles=described.roles_statuses,
    )
    assert "exit code 7" in repr(status)
    assert "(exitcode: 7)" in status.format()
    assert json.loads(described.structured_error_msg)["message"]["message"] == "user: exit code 7"


def test_retries_are_counted(scheduler: Any, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    script = f"test -e {flag} || {{ touch {flag}; exit 1; }}"
    app = app_of("sh", "-c", script, max_retries=2, retry_policy=RetryPolicy.APPLICATION)
    app_id = submit(scheduler, app)
    assert wait(scheduler, app_id, AppState.SUCCEEDED).num_restarts == 1


def test_an_app_that_loses_its_node_is_pending_and_runs_again(scheduler: Any, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    app = app_of("sh", "-c", f"test -e {flag} || {{ touch {flag}; sleep 1000; }}")
    with AzureBatch("here") as batch:
        own = ManagedPool(name="shrinks", nodes=1, containers=True)
        filler = JobSpec(
            name="filler", pool=own, tasks=(TaskSpec(command=("true",), container="alpine:3.20"),)
        )
        pool_id = str(batch.submit(filler).job.wait(WITHIN).pool_id)
        app_id = submit(scheduler, app, pool=pool_id)
        wait(scheduler, app_id, AppState.RUNNING)
        until(flag.exists, "the command did not start")
        batch.resize_pool(pool_id, nodes=0)
        described = wait(scheduler, app_id, AppState.PENDING)
        assert described.roles_statuses[0].replicas[0].state == AppState.PENDING
        batch.resize_pool(pool_id, nodes=1)
    assert wait(scheduler, app_id, AppState.SUCCEEDED).num_restarts == 1


def test_cancelled_is_not_deleted(scheduler: Any) -> None:
    app_id = submit(scheduler, app_of("sleep", "1000"))
    wait(scheduler, app_id, AppState.RUNNING)
    scheduler.cancel(app_id)
    described = wait(scheduler, app_id, AppState.CANCELLED)
    assert described.roles_statuses[0].replicas[0].state == AppState.CANCELLED
    scheduler.cancel(app_id)
    scheduler.delete(app_id)
    scheduler.delete(app_id)
    until(lambda: scheduler.describe(app_id) is None, "it is still there")
    scheduler.cancel(app_id)
    assert scheduler.describe_native(app_id) is None


def test_the_native_description_is_the_service_s(scheduler: Any) -> None:
    app_id = submit(scheduler, app_of("true"), keep_logs=False)  # whose signature is not printed
    native = scheduler.describe_native(app_id)
    assert native.request["job"]["id"] == app_id.partition(":")[2]
    assert [task["id"] for task in native.request["tasks"]] == ["role"]
    assert json.loads(str(native)) == native.request


def test_signatures_are_never_printed(scheduler: Any) -> None:
    app = app_of("true", env={"DATA": "https://a.blob.core.windows.net/c?sv=1&sig=SECRETSECRET%3D"})
    app_id = submit(scheduler, app)
    assert "SECRETSECRET" not in str(scheduler.describe_native(app_id))
    assert "SECRETSECRET" not in str(scheduler.submit_dryrun(app, CFG))


def test_an_option_that_is_none_is_refused(scheduler: Any) -> None:
    with pytest.raises(specs.InvalidRunConfigException, match="vm_sizes"):
        scheduler.submit_dryrun(app_of("true"), {**CFG, "vm_sizes": "Standard_D2s_v5"})


def test_ids_of_others_and_apps_that_are_not_there(scheduler: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert scheduler.describe("here:nosuch") is None
    assert not caplog.messages
    for app_id, said in (("some-other-job", "no app of azure_batch"), ("hree:job-1", "did you mean 'here'?")):
        assert scheduler.describe(app_id) is None
        assert scheduler.describe_native(app_id) is None
        scheduler.cancel(app_id)
        assert [said in message for message in caplog.messages] == [True], "once, however often it is asked"
        caplog.clear()
    assert not log(scheduler, "here:nosuch")
    assert not log(scheduler, submit(scheduler, app_of("true")), k=1)
    said = " ".join(caplog.messages)
    assert "has no replica 0 of a role 'role'" in said
    assert "has no replica 1" in said


def test_jobs_that_are_no_apps_are_not_listed(scheduler: Any) -> None:
    with AzureBatch("here") as batch:
        job = batch.submit(JobSpec(name="plain", tasks=(TaskSpec(command=("true",)),))).job
    assert job.handle not in {one.app_id for one in scheduler.list()}
    assert scheduler.describe(job.handle) is None


def test_streams_and_patterns(scheduler: Any) -> None:
    from torchx.schedulers.api import Stream

    app_id = submit(scheduler, app_of("sh", "-c", "echo 1 out; echo 2 err >&2; printf '3 out'"))
    wait(scheduler, app_id, AppState.SUCCEEDED)
    assert log(scheduler, app_id, streams=Stream.STDOUT) == ["1 out\n", "3 out\n"]
    assert "2 err\n" in log(scheduler, app_id, streams=Stream.STDERR)
    assert {"1 out\n", "2 err\n", "3 out\n"} <= set(log(scheduler, app_id, streams=Stream.COMBINED))
    assert log(scheduler, app_id, regex="^. out$") == ["1 out\n", "3 out\n"]


def test_a_log_is_followed_to_its_last_line(scheduler: Any, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    script = f"echo first; while ! test -e {flag}; do sleep 0.05; done; echo last"
    app_id = submit(scheduler, app_of("sh", "-c", script))
    seen: list[str] = []
    follower = threading.Thread(target=lambda: seen.extend(_follow(scheduler, app_id, seen)), daemon=True)
    follower.start()
    until(lambda: "first\n" in seen, "the first line did not come")
    assert follower.is_alive()
    flag.touch()
    follower.join(WITHIN)
    assert not follower.is_alive()
    assert [line for line in seen if line in {"first\n", "last\n"}] == ["first\n", "last\n"]


def _follow(scheduler: Any, app_id: str, seen: list[str]) -> list[str]:
    for line in scheduler.log_iter(app_id, "role", 0, None, None, None, True):  # as TorchX calls it
        seen.append(line)  # noqa: PERF402  # one by one, to be seen while it goes on
    return []


def test_what_is_resolved_can_be_kept_as_json(scheduler: Any) -> None:
    resolved = scheduler.run_opts().resolve(CFG)
    assert json.loads(json.dumps(resolved))["account"] == "here"


def test_a_dry_run_can_be_scheduled_by_another_scheduler(scheduler: Any) -> None:
    from azbatch_torchx.scheduler import create_scheduler

    info = scheduler.submit_dryrun(app_of("true"), CFG)
    other = create_scheduler("another")
    app_id = other.schedule(info)
    assert app_id == info.request.app_id
    wait(other, app_id, AppState.SUCCEEDED)
    other.close()


def test_resources_and_sizes(scheduler: Any) -> None:
    app = app_of("true", resource=Resource(cpu=3, gpu=0, memMB=5000))
    text = str(scheduler.submit_dryrun(app, CFG))
    assert "pool" in text
    assert "Standard_" in text
    named = Resource(cpu=1, gpu=0, memMB=1, capabilities={"azure_batch.vm_size": "Standard_D8s_v5"})
    assert "Standard_D8s_v5" in str(scheduler.submit_dryrun(app_of("true", resource=named), CFG))


@pytest.mark.parametrize("name", ["azure_d8s_v5", "azure_nc24ads_a100_v4"])
def test_named_resources_are_whole_nodes(scheduler: Any, name: str) -> None:
    resource = specs.resource(h=name)
    text = str(scheduler.submit_dryrun(app_of("true", resource=resource), CFG))
    assert resource.capabilities["azure_batch.vm_size"] in text
    assert specs.resource(h="aws_t3.medium").cpu == 2, "those of others are there as before"


def test_without_resource_nothing_is_planned(scheduler: Any) -> None:
    app = app_of("true", resource=specs.NULL_RESOURCE)
    with pytest.raises(ValueError, match="No resource for role"):
        scheduler._validate(
            app, "azure_batch", *([] if not hasattr(scheduler, "_pre_build_validate") else [CFG])
        )


def test_closed_twice(scheduler: Any) -> None:
    scheduler.list(CFG)
    scheduler.close()
    scheduler.close()
    assert scheduler.list(CFG) is not None
