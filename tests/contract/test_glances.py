"""Many jobs at one glance: their phases, and which run on a pool's nodes, by a request a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import sdk_bodies as bodies
from sdk_client import connect
from waiting import until

from azbatch_core import AzureBatch, JobPhase, NotFound
from azbatch_core.service.connect import sdk
from azbatch_core.service.documents import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azure.batch import BatchClient

    from azbatch_core.local import LocalBatch


@pytest.fixture(scope="module")
def plain(local: LocalBatch) -> Iterator[BatchClient]:
    """The SDK's own client."""
    with connect(local) as made:
        yield made


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the requests that azbatch sends."""
    paths: list[str] = []
    real = sdk.request

    def noting(client: Any, method: Any, path: str, **options: Any) -> Any:
        paths.append(path)
        return real(client, method, path, **options)

    monkeypatch.setattr(sdk, "request", noting)
    return paths


def test_every_phase_of_a_job_is_told_in_one_request(
    client: AzureBatch, plain: BatchClient, sent: list[str]
) -> None:
    plain.create_pool(bodies.pool("phases"))
    metadata = [{"name": "galaxy", "value": "17"}]
    for name in ("phase-active", "phase-disabled", "phase-ended", "other-phase"):
        plain.create_job(bodies.job(name, "phases", metadata=metadata))
    plain.begin_disable_job("phase-disabled", {"disableTasks": "requeue"}, polling_interval=0).wait()
    plain.begin_terminate_job("phase-ended", bodies.TERMINATE, polling_interval=0).wait()
    sent.clear()
    found = client.job_phases("phase-")
    assert sent == ["/jobs"]
    assert {name: (phase.state, phase.open) for name, phase in found.items()} == {
        "phase-active": ("active", True),
        "phase-disabled": ("disabled", True),
        "phase-ended": ("completed", False),
    }
    ended = found["phase-ended"]
    made = plain.get_job("phase-ended").creation_time
    assert ended == JobPhase(
        "phase-ended", "completed", "enough", "phases", created=made, metadata={"galaxy": "17"}
    )
    assert found["phase-active"].terminate_reason is None
    assert client.job_phases("phase-active-not") == {}


def test_a_prefix_is_compared_without_case_and_ids_keep_theirs(
    client: AzureBatch, plain: BatchClient
) -> None:
    plain.create_job(bodies.job("Cased-Job"))
    assert list(client.job_phases("cAsED-")) == ["Cased-Job"]


@pytest.mark.parametrize("prefix", ["it's", "') or startswith(id,'", "%27", "a&$select=id"])
def test_a_prefix_is_nothing_but_text(client: AzureBatch, plain: BatchClient, prefix: str) -> None:
    if not list(client.job_phases("quoted")):
        plain.create_job(bodies.job("quoted"))
    assert client.job_phases(prefix) == {}


def test_an_empty_prefix_gives_every_job(client: AzureBatch, plain: BatchClient) -> None:
    plain.create_job(bodies.job("any-job"))
    assert client.job_phases("").keys() == {job.id for job in plain.list_jobs()}


def test_a_page_costs_a_request(
    client: AzureBatch, plain: BatchClient, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        plain.create_job(bodies.job(f"paged-{number}"))
    monkeypatch.setattr(requests, "PAGE", 2)
    assert list(client.job_phases("paged-")) == [f"paged-{number}" for number in range(5)]
    assert len(sent) == 3


def test_jobs_with_a_task_on_a_node_run(client: AzureBatch, plain: BatchClient, sent: list[str]) -> None:
    plain.create_pool(bodies.pool("glanced", 2))
    for name in ("Runs-Both", "runs-one", "waits", "ended"):
        plain.create_job(bodies.job(name, "glanced"))
    plain.create_task("ended", bodies.task("t"))
    until(lambda: plain.get_task("ended", "t").state == "completed")
    assert client.running_jobs("glanced") == frozenset()
    plain.create_task("Runs-Both", bodies.task("a", "sleep 600"))
    plain.create_task("runs-one", bodies.task("t", "sleep 600"))
    until(lambda: plain.get_task("runs-one", "t").state == "running")
    plain.create_task("Runs-Both", bodies.task("b", "sleep 600"))
    plain.create_task("waits", bodies.task("t", "sleep 600"))
    until(lambda: plain.get_task("Runs-Both", "a").state == "running")
    sent.clear()
    assert client.running_jobs("GLANCED") == {"Runs-Both", "runs-one"}
    assert sent == ["/pools/GLANCED/nodes"]
    plain.begin_terminate_job("runs-one", bodies.TERMINATE, polling_interval=0).wait()
    plain.begin_terminate_job("Runs-Both", bodies.TERMINATE, polling_interval=0).wait()
    until(lambda: plain.get_task("waits", "t").state == "running")
    assert client.running_jobs("glanced") == {"waits"}
    plain.begin_delete_pool("glanced", polling_interval=0).wait()


def test_without_the_pool_nothing_is_said_to_run(client: AzureBatch) -> None:
    with pytest.raises(NotFound):
        client.running_jobs("nobodys")
