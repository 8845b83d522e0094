"""`plan`: from a job and the facts of an account to exactly what will be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.catalog.vm_sizes import price_terms
from azbatch_core.errors import SpecError
from azbatch_core.plan import member_logs
from azbatch_core.plan.ids import TaskIds
from azbatch_core.plan.jobs import job_body, make_job_id, make_stamp
from azbatch_core.plan.limits import program_warnings, too_long_variables
from azbatch_core.plan.model import Plan
from azbatch_core.plan.notes import Notes
from azbatch_core.plan.pools import plan_pool
from azbatch_core.plan.tasks import TaskPlanner, refuse_hopeless
from azbatch_core.plan.urls import check_start_task_urls, check_urls
from azbatch_core.specs import ExistingPool

if TYPE_CHECKING:
    from azbatch_core.plan.facts import AccountFacts
    from azbatch_core.plan.model import PlannedPool
    from azbatch_core.plan.pools import PoolContext
    from azbatch_core.specs import JobSpec, TaskSpec


def plan(job: JobSpec, facts: AccountFacts, *, streaming: bool = False) -> Plan:
    """Plan a job. The same job and facts give the same plan; nothing is read or sent.

    Args:
        job: What is asked for.
        facts: Where it goes.
        streaming: Whether tasks will be added through `Plan.plan_task`; a job without tasks is planned for
            it anyway. It lets later tasks have dependencies.

    Raises:
        SpecError: The job cannot run as asked: no VM size or image fits, a task is larger than the existing
            pool's nodes, containers do not match the pool's, output patterns overlap, every task is larger
            than a request may be …
        ConfigurationError: The account cannot do it: no storage for output files, a shared key where Entra
            ID is needed, pool identities.
        Conflict: The existing pool is being deleted.
    """
    notes = Notes()
    job_id, stamp = make_job_id(job, facts), make_stamp(facts)
    pool, context = plan_pool(job, facts, notes)
    _check_common(job, context, facts, notes)
    own = (part.id for part in (job.preparation, job.release) if part is not None)
    ids = TaskIds(own)
    dependencies = streaming or not job.tasks or any(task.depends_on for task in job.tasks)
    planner = TaskPlanner(
        job,
        facts,
        job_id=job_id,
        pool=context,
        ids=ids,
        notes=notes,
        uses_dependencies=dependencies,
    )
    task_ids = _assign_ids(job.tasks, ids)
    tasks = tuple(planner.plan_as(task_id, spec) for task_id, spec in zip(task_ids, job.tasks, strict=True))
    if not streaming:
        refuse_hopeless(tasks, context.os)
    planner.mark()
    price, basis = _price(pool, context, facts)
    body = job_body(job, job_id, stamp, pool, facts, dependencies=dependencies, os=context.os)
    body |= member_logs.job_parts(job, member_logs.container_of(job, context.os))
    return Plan(
        account=facts.account,
        endpoint=facts.endpoint,
        job_id=job_id,
        job=job,
        pool=pool,
        tasks=tasks,
        job_body=body,
        warnings=notes.lines(),
        reasons=pool.reasons,
        stamp=stamp,
        hourly_price_usd=price,
        price_basis=basis,
        _planner=planner,
    )


def _assign_ids(tasks: tuple[TaskSpec, ...], ids: TaskIds) -> list[str]:
    """An id for every task, in order: own ids first, so that no number takes one, then numbers by stage.

    Numbering by stage makes a stage one range of numbers even where its tasks are scattered in the file.
    """
    given: dict[int, str] = {}
    stages: dict[str | None, list[int]] = {}
    for index, task in enumerate(tasks):
        if task.id is None:
            stages.setdefault(task.stage, []).append(index)
        else:
            given[index] = ids.add(task.id, task.stage)  # a job's own ids are unique by construction
    for members in stages.values():
        for index in members:
            given[index] = ids.add(None, tasks[index].stage)
    return [given[index] for index in range(len(tasks))]


def _check_common(job: JobSpec, pool: PoolContext, facts: AccountFacts, notes: Notes) -> None:
    """What preparation, release and start task need of the pool, and what they should know."""
    for name, part in (("preparation", job.preparation), ("release", job.release)):
        if part is None:
            continue
        if part.container is not None and pool.containers is False:
            raise SpecError(
                f"the job's {name} runs in a container, but {pool.name} has no container configuration",
                field=f"{name}.container",
            )
        check_urls(part.resource_files, facts.now, job.wall_time, notes, part.id)
        for text in program_warnings(part.command, part.environment, pool.os):
            notes.add(text, part.id)
    if pool.os == "linux":
        _check_environment(job, notes)
    if job.pool is None or isinstance(job.pool, ExistingPool) or job.pool.start_task is None:
        return
    check_start_task_urls(job.pool.start_task.resource_files, facts.now, notes)
    start = job.pool.start_task
    for text in program_warnings(start.command, start.environment, pool.os):
        notes.add(f"the start task: {text}")


def _check_environment(job: JobSpec, notes: Notes) -> None:
    """Refuse a variable of the job that keeps every task from starting: one that no task sets otherwise."""
    for variable in job.environment:
        for text in too_long_variables([variable]):
            if job.tasks and not any(
                own.name == variable.name for task in job.tasks for own in task.environment
            ):
                raise SpecError(text, field="environment")
            notes.add(text)


def _price(pool: PlannedPool, context: PoolContext, facts: AccountFacts) -> tuple[float | None, str | None]:
    """What the pool's nodes cost an hour, and of what, where and when that is the price.

    Spot prices change by the hour and are in no table: those of dedicated nodes bound them.
    """
    price = context.vm.price(facts.known_region) if context.vm else None
    count = pool.nodes + (pool.spot_nodes if pool.scaling else 0)
    if price is None or context.vm is None or not count:
        return None, None
    basis = f"{count:,} x {context.vm.name} at ${price:.4g} in {facts.known_region}, {price_terms()}"
    return round(price * count, 6), basis
