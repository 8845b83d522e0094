"""What type checkers see of the public API: this file only has to check, strictly, and is never imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from azure.core.credentials import AzureNamedKeyCredential
from azure.identity import DefaultAzureCredential
from typing_extensions import assert_type

from azbatch_core import (
    AccountSpec,
    AzBatchError,
    AzureBatch,
    JobFailed,
    JobHandle,
    JobSpec,
    JobState,
    JobStatus,
    ManagedPool,
    Resources,
    Submission,
    SubmissionError,
    TaskSpec,
    TaskStatus,
    shell,
)
from azbatch_core.local import LocalBatch
from azbatch_core.plan import Plan
from azbatch_core.specs import load_job


def specs() -> JobSpec:
    """Exact types need no plugin."""
    task = TaskSpec(id="a", command=("echo", "hi"), wall_time=timedelta(minutes=5))
    script = TaskSpec(id="b", command=shell("echo $HOME"), depends_on=("a",))
    pool = ManagedPool(nodes=2, task_slots_per_node=4)
    return JobSpec(name="typed", tasks=(task, script), pool=pool, resources=Resources(cpus=2))


def submission(spec: JobSpec) -> JobStatus:
    """What each call gives."""
    with AzureBatch() as batch:
        assert_type(batch.plan(spec), Plan)
        submitted = batch.submit(spec, tasks=iter([TaskSpec(command=("true",))]))
        assert_type(submitted, Submission)
        assert_type(submitted.job, JobHandle)
        assert_type(submitted.job.tasks(), Iterator[TaskStatus])
        status = submitted.job.wait(timeout=60.0)
        assert_type(status.state, JobState)
        return status


def credentials(account: AccountSpec) -> None:
    """A caller's own credential, in both kinds."""
    AzureBatch(account, credential=DefaultAzureCredential()).close()
    AzureBatch("research", credential=AzureNamedKeyCredential("name", "a2V5")).close()


def errors(spec: JobSpec) -> Sequence[str]:
    """The tree, and what its branches carry."""
    try:
        submission(spec)
    except SubmissionError as error:
        return [error.message, error.hint or ""]
    except JobFailed as error:
        return [str(error.status)]
    except AzBatchError as error:
        return [f"{key}={value}" for key, value in error.details.items()]
    return []


def local() -> str:
    """The service as a context manager."""
    with LocalBatch() as service:
        assert_type(service.endpoint, str)
        assert_type(service.account_key, str)
    return str(load_job("job.yaml"))
