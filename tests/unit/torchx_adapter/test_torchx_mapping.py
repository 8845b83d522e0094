"""From an app to a job: pure, without TorchX."""

from __future__ import annotations

import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from torchx_fakes import App, BindMount, DeviceMount, Resource, Role, VolumeMount

from azbatch_core import ExistingPool, JobSpec, ManagedPool, SpecError, TaskSpec
from azbatch_core.specs.command import command_line
from azbatch_torchx import checks, gangs, mapping, mounts, stamp
from azbatch_torchx.options import RunOptions


def job_of(*roles: Role, app: App | None = None, **options: object) -> JobSpec:
    app = app or App()
    return mapping.to_job(app, roles, "train-0a1b2c3d", RunOptions(**options), "0.7.0").job


def task_of(role: Role, **options: object) -> TaskSpec:
    return job_of(role, **options).tasks[0]


def notes_of(role: Role, **options: object) -> tuple[str, ...]:
    return mapping.to_job(App(), [role], "train-0a1b2c3d", RunOptions(**options), "0.7.0").notes


def test_a_role_is_a_task() -> None:
    task = task_of(
        Role(entrypoint="python", args=["-m", "train"], env={"LR": "0.1"}, resource=Resource(4, 1, 8192))
    )
    assert task.id == "trainer"
    assert task.command == ("python", "-m", "train")
    assert task.container is not None
    assert task.container.image == "alpine:3.20"
    assert task.resources is not None
    assert (task.resources.cpus, task.resources.gpus, task.resources.memory) == (4, 1, 8192 * 2**20)
    variables = {variable.name: variable.value for variable in task.environment}
    assert variables == {
        "LR": "0.1",
        "PYTHONUNBUFFERED": "1",
        "TORCHX_REPLICA_ID": "0",
        "TORCHX_RANK0_HOST": "localhost",
    }


def test_the_role_s_own_variables_win() -> None:
    own = {"TORCHX_RANK0_HOST": "10.0.0.4", "PYTHONUNBUFFERED": ""}
    task = task_of(Role(env=own))
    assert own.items() <= {one.name: one.value for one in task.environment}.items()


@pytest.mark.parametrize(
    "argument", ["a b", "it's", '"', "$HOME", "$$", "`id`", '{"a": [1, "b c"]}', "", "\\", "*", "ü\n2"]
)
def test_arguments_reach_the_program_as_they_are(argument: str) -> None:
    task = task_of(Role(entrypoint="python", args=[argument, "last"]))
    assert shlex.split(command_line(task.command)) == ["python", argument, "last"]


def test_shared_memory_is_the_role_s_memory() -> None:
    container = task_of(Role(resource=Resource(1, 0, 4096))).container
    assert container is not None
    assert container.run_options == ("--shm-size=4096m",)


def test_without_containers_the_image_is_left_out() -> None:
    assert task_of(Role(), containers=False).container is None


def test_resources_that_are_not_given_are_not_asked_for() -> None:
    task = task_of(Role(resource=Resource(-1, -1, -1)))
    assert task.resources is not None
    assert (task.resources.cpus, task.resources.gpus, task.resources.memory) == (None, 0, None)


@pytest.mark.parametrize(
    "app_name", ["/", "a.b", "Ünïcode", "x" * 300, "dist/ddp", "a" * 64, "jobpreparation"]
)
def test_ids_fit_whatever_the_names(app_name: str) -> None:
    job_id = mapping.job_id_of(app_name, "0a1b2c3d")
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", job_id)
    assert job_id.endswith("-0a1b2c3d")
    role = Role(name=app_name.replace("/", "+"))
    job = mapping.to_job(App(app_name, [role]), [role], job_id, RunOptions(), "0.7.0").job
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", job.tasks[0].id or "")


def test_roles_that_differ_only_in_case_get_tasks_of_their_own() -> None:
    job = job_of(Role(name="Reader"), Role(name="reader"), Role(name="x" * 200), Role(name="x" * 201))
    ids = [str(task.id).lower() for task in job.tasks]
    assert len(set(ids)) == 4
    assert max(map(len, ids)) <= 64


def test_what_a_later_process_must_know_is_in_the_metadata() -> None:
    args = ["a b", "it's ü", "http://h/x?sig=c2VjcmV0&se=1", f"n={gangs.REPLICA_ID}", "x" * 5000, "after"]
    role = Role(name="a.b", args=args, env={"TOKEN": "hunter2"}, num_replicas=2, max_retries=3)
    job = job_of(role, app=App("my app", metadata={"team": "vision"}))
    read = stamp.read(job.metadata)
    kept = ("a b", "it's ü", "http://h/x?sig=***&se=1", "n=${replica_id}", "…")
    amounts = {"cpu": 1, "gpu": 0, "memory": 1024, "max_retries": 3, "retry_policy": "APPLICATION"}
    assert read == stamp.AppStamp(
        "my app",
        (stamp.RoleStamp("a.b", str(job.tasks[0].id), 2, "alpine:3.20", "echo", kept, **amounts),),
    )
    assert stamp.own_metadata(job.metadata) == {"team": "vision"}
    assert "hunter2" not in str(job.metadata)


def test_an_app_of_an_older_version_is_still_one() -> None:
    roles = '[{"name":"r","task":"r","replicas":2,"image":"i"}]'
    assert stamp.read({"torchx:roles": roles}) == stamp.AppStamp("", (stamp.RoleStamp("r", "r", 2, "i"),))


@pytest.mark.parametrize(
    "metadata", [{}, {"torchx:roles": "["}, {"torchx:roles": "[1]"}, {"torchx:roles": "[{}]"}]
)
def test_a_job_of_somebody_else_has_no_stamp(metadata: dict[str, str]) -> None:
    assert stamp.read(metadata) is None


LONG = 128 * 1024


@pytest.mark.parametrize(
    ("role", "said"),
    [
        (Role(name="a/b"), "the role 'a/b' has a slash in its name: `torchx log"),
        (
            Role(env={"KEY": "x" * LONG}),
            "role 'trainer': the variable KEY has 131,076 bytes: Linux takes less",
        ),
        (Role(args=["a", "ä" * LONG]), "role 'trainer': argument 2 has 262,144 bytes"),
        (Role(entrypoint="x" * LONG), "role 'trainer': the entrypoint has 131,072 bytes"),
        (Role(args=["x" * (LONG // 2)] * 2, num_replicas=2), "role 'trainer': all that its command says has"),
    ],
)
def test_what_no_node_could_start_or_nobody_could_name_is_refused(role: Role, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        job_of(Role(name="other"), role)
    assert str(caught.value).startswith(said)
    assert "xxx" not in str(caught.value)


def test_long_texts_that_still_fit() -> None:
    words = ["x" * (LONG - 1)] * 2
    assert job_of(Role(args=words, env={"K": "x" * (LONG - 3)})).tasks[0].command[-1] == words[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"env": {"SEED": 17}}, "role 'trainer': the variable 'SEED' must be text, not int"),
        ({"env": {"SEED": None}}, "role 'trainer': the variable 'SEED' must be text, not NoneType"),
        ({"env": {3: "x"}}, "role 'trainer': the name of the variable 3 must be text, not int"),
        ({"args": ["--lr", 0.1]}, "role 'trainer': args[1] must be text, not float"),
        ({"entrypoint": Path("run.sh")}, "role 'trainer': entrypoint must be text, not PosixPath"),
    ],
)
def test_what_is_no_text_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        checks.check_types(Role(**changes))
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("policy", ["APPLICATION", "REPLICA", "ROLE"])
def test_one_replica_is_retried_as_a_task(policy: str) -> None:
    task = task_of(Role(max_retries=3, retry_policy=policy))
    assert task.retry is not None
    assert task.retry.max_retries == 3


def test_of_several_roles_each_is_retried_alone_or_not_at_all() -> None:
    job = job_of(Role(name="a", max_retries=2, retry_policy="REPLICA"), Role(name="b"))
    assert [task.retry.max_retries for task in job.tasks if task.retry] == [2, 0]
    assert job.on_task_failure == "terminate"
    with pytest.raises(SpecError, match="'a': retry policy APPLICATION restarts all roles"):
        job_of(Role(name="a", max_retries=2), Role(name="b"))
    with pytest.raises(SpecError, match="HOT_SPARE has no meaning"):
        task_of(Role(max_retries=1, retry_policy="HOT_SPARE"))


@pytest.mark.parametrize(
    ("role", "options", "said"),
    [
        (Role(num_replicas=0), {}, "has 0 replicas"),
        (Role(image=""), {}, "names no image"),
        (
            Role(resource=Resource(devices={"vpc.amazonaws.com/efa": 1})),
            {},
            "no VM size of Batch has the device",
        ),
        (Role(resource=Resource(devices={"infiniband": 1})), {}, "name a vm_size"),
        (Role(mounts=[BindMount("/a", "/b")]), {"containers": False}, "has mounts, and containers=false"),
        (Role(mounts=[BindMount("a", "/b")]), {}, "no absolute path"),
        (Role(mounts=[BindMount("/a", "b")]), {}, "no absolute path"),
        (Role(mounts=[BindMount("/a,b", "/b")]), {}, "a comma"),
        (Role(mounts=[VolumeMount("data", "/b", read_only=True)]), {}, "cannot be made read-only"),
        (Role(mounts=[VolumeMount("..", "/b")]), {}, "no name of a mount"),
        (Role(mounts=[VolumeMount("data", "/b")]), {}, "mounts 'data' of the pool"),
        (Role(), {"mounts": ("data:/b",)}, "name a pool that has it: pool="),
        (Role(), {"mounts": ("data",)}, "write SRC:DST"),
        (Role(name=" "), {}, "a role has no name"),
        (Role(entrypoint=""), {}, "'trainer': has no entrypoint"),
        (Role(max_retries=-2), {}, "max_retries=-2"),
        (Role(resource=Resource(cpu=-5)), {}, "cpu=-5 is no amount"),
        (Role(resource=Resource(memMB=0)), {}, "memMB=0 is no amount"),
        (Role(resource=Resource(gpu=-2)), {}, "gpu=-2 is no amount"),
        (Role(num_replicas=2, min_replicas=3), {}, "min_replicas is 3, which is more than its 2"),
        (Role(), {"pool": "p", "vm_size": "Standard_D2s_v5"}, "leave one of them out"),
        (Role(), {"max_nodes": 0}, "max_nodes"),
        (Role(), {"registry": "me.azurecr.io"}, "needs identity, or a user"),
        (Role(), {"wall_time": "soon"}, "wall_time"),
        (Role(), {"priority": 2000}, "priority"),
        (Role(env={"AZ_BATCH_X": "1"}), {}, "set by Batch itself"),
    ],
)
def test_what_cannot_run_is_one_line(role: Role, options: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)) as caught:
        job_of(role, **options)
    assert "\n" not in str(caught.value)


def test_an_app_without_roles_and_with_names_that_are_taken() -> None:
    with pytest.raises(SpecError, match="no role"):
        job_of()
    with pytest.raises(SpecError, match="the app has no name"):
        job_of(Role(), app=App(" "))
    with pytest.raises(SpecError, match="two roles are called 'a'"):
        job_of(Role(name="a"), Role(name="a"))
    with pytest.raises(SpecError, match="'torchx:app' has a name"):
        job_of(Role(), app=App(metadata={"torchx:app": "x"}))


def test_elastic_roles_say_what_they_run_at() -> None:
    assert notes_of(Role(min_replicas=0)) == (
        "role 'trainer': min_replicas is 0, and Batch starts all or none: it runs at 1",
    )
    assert not notes_of(Role(min_replicas=1))


def test_options_of_the_pool() -> None:
    assert job_of(Role(), pool="mine").pool == ExistingPool(id="mine")
    assert job_of(Role()).pool == ManagedPool()
    assert job_of(Role(), spot=True, max_nodes=4).pool == ManagedPool(spot=True, max_nodes=4)


def test_the_vm_size_of_a_named_resource() -> None:
    sized = Resource(capabilities={"azure_batch.vm_size": "Standard_NC4as_T4_v3", "zone": "1"})
    pool = job_of(Role(resource=sized)).pool
    assert isinstance(pool, ManagedPool)
    assert pool.vm_size == "Standard_NC4as_T4_v3"
    assert notes_of(Role(resource=sized)) == ("capabilities that mean nothing on Batch are left out: zone",)
    other = Resource(capabilities={"azure_batch.vm_size": "Standard_D2s_v5"})
    with pytest.raises(SpecError, match="different VM sizes"):
        job_of(Role(name="a", resource=sized), Role(name="b", resource=other))


def test_on_this_machine_an_unknown_vm_size_is_refused_and_mounts_that_need_docker_are_named() -> None:
    def mapped(role: Role, *, local: bool = True, **options: object) -> mapping.Mapped:
        return mapping.to_job(App(), [role], "train-0a1b2c3d", RunOptions(**options), "0.7.0", local=local)

    with pytest.raises(SpecError, match=r"no VM size 'Standard_D4ss_v5'.*did you mean .*Standard_D4s_v5"):
        mapped(Role(), vm_size="Standard_D4ss_v5")
    assert mapped(Role(), vm_size="d4s_v5").job.pool == ManagedPool(vm_size="d4s_v5")
    assert not mapped(Role(), local=False, vm_size="Standard_D4ss_v5").notes
    role = Role(mounts=[BindMount("/in", "/data"), DeviceMount("/dev/fuse", "/dev/fuse")])
    assert mapped(role, mounts=("/ref:/ref",)).notes == (
        "role 'trainer': without Docker here its mounts are left out: /in, /dev/fuse, /ref",
    )
    assert not mapped(Role()).notes


def test_limits() -> None:
    job = job_of(Role(), wall_time="90m", retention="12h", priority=7)
    assert (job.wall_time, job.retention, job.priority) == (timedelta(minutes=90), timedelta(hours=12), 7)
    assert job_of(Role(), wall_time="none").wall_time is None
    assert job_of(Role()).wall_time == timedelta(days=7)


def test_registries_never_hold_a_password() -> None:
    container = task_of(Role(), registry="me@r.azurecr.io").container
    assert container is not None
    assert container.registry is not None
    assert container.registry.password is not None
    assert container.registry.password.reference == "env:AZBATCH_REGISTRY_PASSWORD"


@pytest.mark.parametrize("containers", [True, False])
def test_a_password_among_the_options_is_refused_and_not_repeated(containers: bool) -> None:  # noqa: FBT001  # the option
    with pytest.raises(SpecError, match="registry holds a password") as caught:
        task_of(Role(), registry="bob:hunter3@r.azurecr.io:5000", containers=containers)
    assert "hunter3" not in str(caught.value)


def test_mounts_of_the_node_are_options_of_the_container() -> None:
    role = Role(
        mounts=[
            BindMount("/data", "/in", read_only=True),
            BindMount("/scratch", "/out"),
            DeviceMount("/dev/fuse", "/dev/fuse", "rw"),
        ],
        resource=Resource(devices={"infiniband": 1}),
    )
    container = task_of(role, vm_size="Standard_HB120rs_v3", mounts=("/ref:/ref:ro",)).container
    assert container is not None
    assert container.run_options == (
        "--shm-size=1024m",
        "--device=/dev/infiniband",
        "--ulimit=memlock=-1",
        "--device",
        "/dev/fuse:/dev/fuse:rw",
        "--mount",
        "type=bind,source=/data,target=/in,readonly",
        "--mount",
        "type=bind,source=/scratch,target=/out",
        "--mount",
        "type=bind,source=/ref,target=/ref,readonly",
    )


def test_a_volume_is_linked_as_root_before_the_command() -> None:
    role = Role(entrypoint="ls", args=["/data"], mounts=[VolumeMount("share 1", "/data")])
    task = task_of(role, pool="mine")
    assert task.elevated
    assert task.command[:2] == ("/bin/sh", "-c")
    assert task.command[3:] == ("sh", "ls", "/data")


def test_no_volume_no_shell() -> None:
    assert mounts.linked(("ls",), ()) == ("ls",)
