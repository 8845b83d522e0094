"""The job itself: its id, its stamp and the body that creates it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core import __version__
from azbatch_core.catalog import metadata_names
from azbatch_core.plan.bodies import Body, constraints, environment, metadata, program
from azbatch_core.specs import iso_duration, slug

if TYPE_CHECKING:
    from azbatch_core.plan.facts import AccountFacts
    from azbatch_core.plan.model import PlannedPool
    from azbatch_core.specs import JobPreparation, JobRelease, JobSpec
    from azbatch_core.specs.command import OperatingSystem


def make_job_id(job: JobSpec, facts: AccountFacts) -> str:
    """The job's own id, or one made from its name that no other submission has."""
    return (
        job.id if job.id is not None else f"{slug(job.name, suffix_room=len(facts.nonce) + 1)}-{facts.nonce}"
    )


def make_stamp(facts: AccountFacts) -> str:
    """What tells this submission from any other: its time and its nonce."""
    return f"{facts.now:%Y%m%dT%H%M%S}-{facts.nonce}"


def job_body(
    job: JobSpec,
    job_id: str,
    stamp: str,
    pool: PlannedPool,
    facts: AccountFacts,
    *,
    dependencies: bool,
    os: OperatingSystem,
) -> Body:
    """The JSON of ``POST /jobs``.

    The job is created to stay open when all its tasks are complete: an empty job that ends by itself would
    end before its first task comes (best practices of Batch). The submitter changes that when the last task
    is in.
    """
    body: Body = {
        "id": job_id,
        "displayName": job.display_name or job.name,
        "priority": job.priority,
        "onAllTasksComplete": "noaction",
        "onTaskFailure": "performexitoptionsjobaction" if job.on_task_failure == "terminate" else "noaction",
        "poolInfo": {"autoPoolSpecification": pool.body} if pool.kind == "auto" else {"poolId": pool.id},
        "metadata": metadata(
            [
                (metadata_names.STAMP, stamp),
                (metadata_names.USER, facts.user),
                (metadata_names.VERSION, __version__),
                (metadata_names.NAME, job.name),
                *job.metadata.items(),
            ]
        ),
    }
    if dependencies:
        body["usesTaskDependencies"] = True
    if job.max_parallel_tasks is not None:
        body["maxParallelTasks"] = job.max_parallel_tasks
    if job.wall_time is not None:
        body["constraints"] = {"maxWallClockTime": iso_duration(job.wall_time)}
    if job.environment:
        body["commonEnvironmentSettings"] = environment(job.environment)
    if job.preparation is not None:
        body["jobPreparationTask"] = _preparation(job.preparation, os, job_id)
    if job.release is not None:
        body["jobReleaseTask"] = _release(job.release, os, job_id)
    return body


def _preparation(spec: JobPreparation, os: OperatingSystem, job_id: str) -> Body:
    body: Body = {"id": spec.id, **_program(spec, os, job_id)}
    retries = spec.retry.max_retries if spec.retry is not None else 0
    limits = constraints(wall_time=spec.wall_time, retention=spec.retention, max_retries=retries)
    if limits:
        body["constraints"] = limits
    body["waitForSuccess"] = spec.wait_for_success
    body["rerunOnNodeRebootAfterSuccess"] = spec.rerun_on_node_reboot
    return body


def _release(spec: JobRelease, os: OperatingSystem, job_id: str) -> Body:
    body: Body = {"id": spec.id, **_program(spec, os, job_id)}
    if spec.wall_time is not None:
        body["maxWallClockTime"] = iso_duration(spec.wall_time)
    if spec.retention is not None:
        body["retentionTime"] = iso_duration(spec.retention)
    return body


def _program(spec: JobPreparation | JobRelease, os: OperatingSystem, job_id: str) -> Body:
    return program(
        spec.command,
        os=os,
        variables=spec.environment,
        files=spec.resource_files,
        in_container=spec.container,
        elevated=spec.elevated,
        job_id=job_id,
    )
