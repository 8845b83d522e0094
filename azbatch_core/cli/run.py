"""`azbatch run`: one command, as near to running it here as a queue allows."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from azbatch_core.cli import exits
from azbatch_core.cli.client import open_batch
from azbatch_core.cli.follow import follow
from azbatch_core.cli.lazy import command, json_option, not_empty
from azbatch_core.cli.output import job_document, paint_state, print_json
from azbatch_core.cli.progress import info
from azbatch_core.cli.submission import show_plan, submit_plan
from azbatch_core.cli.tables import print_outcome
from azbatch_core.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.client import JobHandle
    from azbatch_core.service.states import JobStatus
    from azbatch_core.specs import JobSpec


@command("run", context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]")
@click.option(
    "--pool",
    callback=not_empty,
    metavar="ID",
    help="Run on this pool; otherwise azbatch makes one, grows it, and uses it again.",
)
@click.option(
    "--max-nodes", type=click.IntRange(min=1), metavar="N", help="The most nodes that the managed pool gets."
)
@click.option("--cpus", type=float, metavar="N", help="CPUs that the command needs.")
@click.option("--memory", callback=not_empty, metavar="SIZE", help="Memory that it needs, such as 16GiB.")
@click.option("--gpus", type=int, metavar="N", help="GPUs that it needs.")
@click.option(
    "--nodes",
    type=int,
    metavar="N",
    help="Run it on N nodes at the same time; AZBATCH_NODE_RANK tells which.",
)
@click.option("--image", callback=not_empty, metavar="REF", help="Run in a container of this image.")
@click.option(
    "-e",
    "--env",
    "environment",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Set a variable. NAME alone passes this shell's value on, as a secret. May be repeated.",
)
@click.option("--shell", is_flag=True, help="The words are a bash script: $VAR, pipes and && work.")
@click.option(
    "--wall-time", callback=not_empty, metavar="TIME", help="End it after this time, such as 90s, 15m or 2h."
)
@click.option(
    "--retries", type=click.IntRange(min=0), metavar="N", help="Try again this often when it fails."
)
@click.option("--name", callback=not_empty, metavar="NAME", help="The job's name; otherwise the command's.")
@click.option("-d", "--detach", is_flag=True, help="Print the job and return; do not follow it.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent; send nothing.")
@click.option("-q", "--quiet", is_flag=True, help="No remarks of azbatch's own, errors excepted.")
@json_option
@click.argument("words", nargs=-1, required=True, metavar="CMD [ARGS]...")
def run(
    *, words: tuple[str, ...], detach: bool, dry_run: bool, quiet: bool, as_json: bool, **wishes: Any
) -> None:
    """Run one command, show its output as it comes, and exit with its exit code.

    Its stdout and stderr arrive on this command's. It starts in an empty folder of its own on a node; files
    and variables of this machine are not there unless sent. Put `--` before the command.

    \b
      azbatch run -- python3 -c 'print(6 * 7)'
      azbatch run --cpus 4 --memory 16GiB --wall-time 2h -- ./solve --fast
      azbatch run --shell -- 'echo $AZ_BATCH_NODE_ID | tr a-z A-Z'
      azbatch run --nodes 2 --shell -- 'echo node $AZBATCH_NODE_RANK of $AZBATCH_NODE_COUNT'
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    with open_batch() as batch:
        with _naming_options(wishes["environment"]):
            plan = batch.plan(_job(words, **wishes))
        if dry_run:
            show_plan(plan, as_json=as_json)
            return
        submission = submit_plan(batch, plan, detach=detach, quiet=quiet, as_json=as_json)
        if detach:
            return
        status = follow(submission.job, tasks=1, logs=not as_json, quiet=quiet)
        task = status.failures[0] if status.failures else None
        code = exits.task_exit_code(task, succeeded=status.exit_code == 0)
        if as_json:
            print_json({**job_document(status), "exit_code": code})
        if code:
            _say_failure(submission.job, status, quiet=quiet)
    exits.finish(code)


def _say_failure(job: JobHandle, status: JobStatus, *, quiet: bool) -> None:
    """Why it failed: a line where the command itself says more in its output, else all that is known."""
    from azbatch_core.service.states import FailureCategory

    task = status.failures[0] if status.failures else None
    if task is not None and task.category is FailureCategory.USER and task.exit_code is not None:
        if not quiet:
            info(f"{status.handle} {paint_state(status.state.value, err=True)}: {task.message}")
        return
    print_outcome(job, status)


def _job(
    words: tuple[str, ...],
    *,
    name: str | None,
    pool: str | None,
    max_nodes: int | None,
    cpus: float | None,
    memory: str | None,
    gpus: int | None,
    nodes: int | None,
    image: str | None,
    environment: tuple[str, ...],
    shell: bool,
    wall_time: str | None,
    retries: int | None,
) -> JobSpec:
    """The options as a job of one task. Options not given are left out, so that the specs' defaults hold."""
    from azbatch_core.specs import JobSpec

    if pool is not None and max_nodes is not None:
        exits.usage("--max-nodes is for the pool that azbatch makes, and --pool names another one.")
    resources = _given(cpus=cpus, memory=memory, gpus=gpus)
    task = _given(
        command={"shell": " ".join(words)} if shell else list(words),
        gang={"nodes": nodes} if nodes is not None else None,
        container={"image": image} if image else None,
        environment=[_variable(text) for text in environment] or None,
        resources=resources or None,
        retry={"max_retries": retries} if retries else None,
        wall_time=wall_time,
    )
    job: dict[str, Any] = {"name": name or _name(words, shell=shell), "tasks": [task], **_given(pool=pool)}
    if max_nodes is not None:
        job["pool"] = {"max_nodes": max_nodes}
    return JobSpec(**job)


_OPTIONS = (
    ("tasks[0].resources.cpus", "--cpus"),
    ("tasks[0].resources.memory", "--memory"),
    ("tasks[0].resources.gpus", "--gpus"),
    ("tasks[0].gang", "--nodes"),
    ("tasks[0].container", "--image"),
    ("tasks[0].wall_time", "--wall-time"),
    ("tasks[0].retry", "--retries"),
    ("tasks[0].command", "the command"),
    ("pool.max_nodes", "--max-nodes"),
    ("pool", "--pool"),
    ("name", "--name"),
)


@contextmanager
def _naming_options(environment: tuple[str, ...]) -> Iterator[None]:
    """What is wrong with a field is told of the option that set it."""
    try:
        yield
    except SpecError as error:
        option = _option(error.field or "", environment)
        if option is None:
            raise
        text = error.message.removeprefix(f"{error.field}: ")
        raise SpecError(f"{option}: {text}", field=error.field, hint=error.hint) from error


def _option(field: str, environment: tuple[str, ...]) -> str | None:
    variable = re.match(r"tasks\[0\]\.environment\[(\d+)\]", field)
    if variable is not None:
        # Its name alone: the value may be a secret.
        return f"--env '{environment[int(variable[1])].partition('=')[0]}'"
    return next((name for path, name in _OPTIONS if re.match(re.escape(path) + r"(?![\w-])", field)), None)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _variable(text: str) -> dict[str, Any]:
    """`NAME=VALUE`, split at the first `=`; `NAME` alone is a reference to this shell's variable."""
    name, equals, value = text.partition("=")
    if equals:
        return {"name": name, "value": value}
    return {"name": name, "secret": f"env:{name}"}


def _name(words: tuple[str, ...], *, shell: bool) -> str:
    """A job's name from its command: the program without its folder, only what an id may hold."""
    program = words[0].split()[0] if shell and words[0].split() else PurePath(words[0]).name
    return re.sub(r"[^A-Za-z0-9_-]+", "-", PurePath(program).name).strip("-")[:40] or "run"
