"""What type checkers see of the public API: this file only has to check, strictly, and is never imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from azure.core.credentials import AzureNamedKeyCredential
from azure.identity import DefaultAzureCredential
from typing_extensions import assert_type

from azbatch_core import (
    AccountSpec,
    AzBatchError,
    AzureBatch,
    Credential,
    JobFailed,
    JobHandle,
    JobSpec,
    JobState,
    JobStatus,
    LogStream,
    ManagedPool,
    PoolSpec,
    PoolSummary,
    Resources,
    Submission,
    SubmissionError,
    TaskSpec,
    TaskStatus,
    UrlSecret,
    load_account,
    load_job,
    parse_job,
    shell,
)
from azbatch_core.local import LocalBatch
from azbatch_core.plan import Plan


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
        assert_type(submitted.job.download("a", "wd/out.csv", "out.csv"), Path)
        assert_type(batch.pool("p"), PoolSummary)
        return status


def credentials(account: AccountSpec) -> None:
    """A caller's own credential, in both kinds."""
    own: Credential = DefaultAzureCredential()
    stream: LogStream = "both"
    pool: PoolSpec = ManagedPool()
    AzureBatch(load_account("research"), credential=own).job("j").logs("t", stream)
    assert_type(JobSpec(name="x", pool=pool).pool, PoolSpec | None)
    assert_type(UrlSecret("https://example.org/x").host, str | None)
    AzureBatch(account, credential=DefaultAzureCredential()).close()
    AzureBatch("research", credential=AzureNamedKeyCredential("name", "a2V5")).close()


def errors(spec: JobSpec) -> Sequence[str]:
    """The tree, and what its branches carry."""
    try:
        submission(spec)
    except SubmissionError as error:
        assert_type(error.submission, Submission)
        return [error.message, error.hint or ""]
    except JobFailed as error:
        assert_type(error.status, JobStatus)
        return [str(error.status)]
    except AzBatchError as error:
        return [f"{key}={value}" for key, value in error.details.items()]
    return []


def local() -> str:
    """The service as a context manager."""
    with LocalBatch() as service:
        assert_type(service.endpoint, str)
        assert_type(service.account_key, str)
    assert_type(parse_job("name: x"), JobSpec)
    return str(load_job("job.yaml"))
