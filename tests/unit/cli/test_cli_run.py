from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click
import pytest

from azbatch_core.cli.run import _job
from azbatch_core.errors import SpecError
from azbatch_core.service.states import FailureCategory, TaskState
from azbatch_core.service.summaries import Explanation

if TYPE_CHECKING:
    from cli_fakes import Azbatch, Chunk, FakeBatch, MakeTask
    from pytest_mock import MockerFixture

    from azbatch_core.specs import JobSpec

NOTHING = {
    "name": None,
    "pool": None,
    "max_nodes": None,
    "cpus": None,
    "memory": None,
    "gpus": None,
    "nodes": None,
    "image": None,
    "environment": (),
    "shell": False,
    "wall_time": None,
    "retries": None,
}


def job_of(*words: str, **wishes: object) -> JobSpec:
    return _job(words, **{**NOTHING, **wishes})


def test_options_become_a_job_of_one_task() -> None:
    job = job_of(
        "python3",
        "-c",
        "print(1)",
        pool="mine",
        cpus=4.0,
        memory="16GiB",
        gpus=1,
        nodes=2,
        image="python:3.12",
        wall_time="2h",
        retries=2,
    )
    (task,) = job.tasks
    assert task.command == ("python3", "-c", "print(1)")
    assert job.pool is not None
    assert job.pool.model_dump(include={"kind", "id"}) == {"kind": "existing", "id": "mine"}
    assert (task.resources.cpus, task.resources.memory, task.resources.gpus) == (4, 16 * 1024**3, 1)
    assert (task.container.image, task.gang.nodes) == ("python:3.12", 2)
    assert task.wall_time.total_seconds() == 7200
    assert task.retry.max_retries == 2


def test_how_far_the_pool_grows_is_a_field_of_a_managed_one() -> None:
    job = job_of("true", max_nodes=7)
    assert job.pool is not None
    assert job.pool.model_dump(include={"kind", "max_nodes"}) == {"kind": "managed", "max_nodes": 7}
    with pytest.raises(click.UsageError, match="--max-nodes"):
        job_of("true", pool="mine", max_nodes=7)


def test_options_not_given_leave_the_specs_defaults() -> None:
    job = job_of("true")
    (task,) = job.tasks
    assert (job.pool, task.resources, task.container, task.retry, task.wall_time) == (None,) * 5
    assert task.environment == ()


@pytest.mark.parametrize(
    ("words", "shell", "name"),
    [
        (("/usr/bin/python3", "x.py"), False, "python3"),
        (("./my script.sh",), False, "my-script-sh"),
        (("echo hi && ls",), True, "echo"),
        (("///",), False, "run"),
        (("é",), False, "run"),
        (("x" * 99,), False, "x" * 40),
    ],
)
def test_the_job_is_named_after_its_command(words: tuple[str, ...], *, shell: bool, name: str) -> None:
    assert job_of(*words, shell=shell).name == name


def test_a_shell_script_stays_one_script() -> None:
    (task,) = job_of("echo $X", "| wc", shell=True).tasks  # noqa: S604 - a spec, nothing runs
    assert task.command.script == "echo $X | wc"


def test_a_value_may_hold_equals_signs_and_a_bare_name_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hush")
    (task,) = job_of("true", environment=("CONN=Server=x,1433;A=b", "EMPTY=", "TOKEN")).tasks
    connection, empty, token = task.environment
    assert (connection.name, connection.value) == ("CONN", "Server=x,1433;A=b")
    assert empty.value == ""
    assert token.value is None
    assert token.secret.reference == "env:TOKEN"
    assert "hush" not in repr(task)


def test_a_reserved_variable_is_refused() -> None:
    with pytest.raises(SpecError, match="AZ_BATCH_"):
        job_of("true", environment=("AZ_BATCH_POOL_ID=x",))


def test_output_goes_to_the_same_streams(batch: FakeBatch, azbatch: Azbatch, chunk: Chunk) -> None:
    batch.fake_job.chunks = [
        chunk("t1", "stdout", "one\ntw"),
        chunk("t1", "stderr", "oops\n"),
        chunk("t1", "stdout", "o\n"),
    ]
    result = azbatch("run", "--", "echo", "one")
    assert result.code == 0
    assert result.out == "one\ntwo\n"
    assert result.err == "azbatch: submitted local:job-1: 1 task, pool pool-1\noops\n"


def test_quiet_leaves_only_the_task(batch: FakeBatch, azbatch: Azbatch, chunk: Chunk) -> None:
    batch.fake_job.chunks = [chunk("t1", "stderr", "oops\n")]
    batch.fake_plan.warnings = ("nodes cost money",)
    assert azbatch("run", "-q", "true").err == "oops\n"


def test_colours_of_the_task_pass_untouched(batch: FakeBatch, azbatch: Azbatch, chunk: Chunk) -> None:
    batch.fake_job.chunks = [chunk("t1", "stdout", "\x1b[31mred\x1b[0m")]
    assert azbatch("run", "ls").out == "\x1b[31mred\x1b[0m"


@pytest.mark.parametrize(("task_code", "expected"), [(3, 3), (-15, 143), (None, 1)])
def test_it_exits_with_the_tasks_code_and_says_why(
    task_code: int | None, expected: int, batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask
) -> None:
    batch.fake_job.listed = [make_task("t1", task_code)]
    batch.fake_job.reason = "a task failed"
    batch.fake_job.reasons = [Explanation("t1", "no such image\ndetail one\n detail two", "look at the name")]
    result = azbatch("run", "--", "false")
    assert result.code == expected
    assert result.out == ""
    assert "azbatch: local:job-1 failed\n" in result.err
    assert result.err.endswith(
        "  t1: no such image\n    | detail one\n    | detail two\n    try: look at the name\n"
    )


def test_a_command_that_failed_by_itself_is_one_line(
    batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask
) -> None:
    batch.fake_job.listed = [make_task("t1", 5, category=FailureCategory.USER, message="exit code 5")]
    batch.fake_job.reasons = [Explanation("t1", "a tail of what was just shown")]
    assert azbatch("run", "false").err.endswith("azbatch: local:job-1 failed: exit code 5\n")
    assert azbatch("run", "-q", "false").err == ""


def test_a_cancelled_job_is_no_success(batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask) -> None:
    batch.fake_job.listed = [make_task("t1", None, state=TaskState.CANCELLED)]
    assert azbatch("run", "true").code == 1


def test_options_of_the_command_are_not_ours(batch: FakeBatch, azbatch: Azbatch) -> None:
    assert azbatch("run", "ls", "--json", "-d").code == 0
    assert batch.planned[0].tasks[0].command == ("ls", "--json", "-d")


def test_detach_prints_the_handle_alone(batch: FakeBatch, azbatch: Azbatch) -> None:
    result = azbatch("run", "--detach", "true")
    assert result.out == "local:job-1\n"
    assert "azbatch logs -f local:job-1" in result.err
    assert batch.fake_job.calls == []


def test_dry_run_sends_nothing(batch: FakeBatch, azbatch: Azbatch) -> None:
    assert azbatch("run", "--dry-run", "true").out == "the plan as a table\n"
    assert batch.submitted == []


def test_bad_input_is_one_line_before_anything_is_sent(batch: FakeBatch, azbatch: Azbatch) -> None:
    result = azbatch("run", "--memory", "lots", "true")
    assert result.code == 2
    assert result.err.startswith("azbatch: error: ")
    assert "lots" in result.err
    assert batch.submitted == []


def test_a_reader_that_goes_away_ends_the_following_at_once(
    batch: FakeBatch, azbatch: Azbatch, chunk: Chunk, mocker: MockerFixture
) -> None:
    batch.fake_job.chunks = [chunk("t1", "stdout", "y\n")]
    mocker.patch("sys.stdout.write", side_effect=BrokenPipeError)
    # As if asleep between two looks at the job: only a signal can end it early.
    mocker.patch.object(batch.fake_job, "wait", side_effect=lambda *_: threading.Event().wait(30))
    result = azbatch("run", "yes")
    assert result.code == 141
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--cpus", "-1"), "--cpus: -1"),
        (("--gpus", "-1"), "--gpus: -1"),
        (("--memory", "1x"), "--memory: '1x'"),
        (("--wall-time", "x"), "--wall-time: 'x'"),
        (("--image", ":::"), "--image: ':::'"),
        (("--pool", "x/y"), "--pool: 'x/y'"),
        (("-e", "GOOD=1", "-e", "A B=hush"), "--env 'A B': "),
        (("-e", "=hush"), "--env '': "),
    ],
)
def test_mistakes_are_told_of_the_option(
    words: tuple[str, ...], expected: str, batch: FakeBatch, azbatch: Azbatch
) -> None:
    result = azbatch("run", *words, "true")
    assert (result.code, batch.planned) == (2, [])
    assert result.err.startswith(f"azbatch: error: {expected}")
    assert "tasks[0]" not in result.err
    assert "hush" not in result.err


def test_what_only_the_plan_finds_is_told_of_the_option_too(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["plan"] = SpecError(
        "tasks[0].resources.cpus: no VM size has 999", field="tasks[0].resources.cpus", hint="ask for less"
    )
    assert azbatch("run", "--cpus", "999", "true").err == (
        "azbatch: error: --cpus: no VM size has 999 - ask for less\n"
    )


@pytest.mark.parametrize("option", ["--image", "--name", "--pool", "--memory", "--wall-time", "--account"])
def test_an_option_without_a_value_is_refused(option: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    result = azbatch("run", option, "", "true")
    assert (result.code, batch.submitted) == (2, [])
    assert result.err.startswith(f"azbatch: error: {option} is empty")
