"""`azbatch pulsar check`, by the installed command, on the Pulsar that is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import yaml

from azbatch_pulsar.check.files import FilesEndpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rig.relay import Relay

WITHIN = 120.0
BIN = Path(sys.executable).parent
LOCAL = Path(__file__).parents[2] / "examples" / "galaxy" / "local.yml"
STEPS = [
    "parameters",
    "account",
    "storage",
    "launched",
    "staged in",
    "tool ran",
    "results back",
    "cleaned up",
]

pytestmark = pytest.mark.usefixtures("service")


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Run the command on the example for one machine, with something replaced in it."""

    def run(
        *words: str, programs: Path = BIN, also: str = "", runner: dict[str, str] | None = None
    ) -> tuple[int, str]:
        text = LOCAL.read_text().replace(
            "azure_batch_path: /srv/galaxy/venv/bin", f"azure_batch_path: {programs}{also}"
        )
        document = yaml.safe_load(text)
        document["runners"]["azure_batch"].update(runner or {})
        text = yaml.safe_dump(document)
        path = tmp_path / "job_conf.yml"
        path.write_text(text)
        return azbatch("--account", "here", "pulsar", "check", "--destination", str(path), *words)

    return run


def azbatch(*words: str) -> tuple[int, str]:
    """Run the command: its exit code and what it prints."""
    command = [str(BIN / "azbatch"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


def words_of(out: str) -> list[tuple[str, str]]:
    """Mark and name of each step."""
    lines = [line for line in out.splitlines() if not line.startswith("     ")]
    return [(line[:4].strip(), line[5:].partition(":")[0]) for line in lines]


def test_a_destination_that_works_passes_every_step(check: Callable[..., Any]) -> None:
    code, out = check()
    assert (code, words_of(out)) == (0, [("ok", name) for name in STEPS])


@pytest.mark.parametrize(
    ("account", "strategy"),
    [("here", "dependent_tasks"), ("docked", "dependent_tasks"), ("docked", "single_task")],
)
def test_every_step_passes_in_containers_with_both_strategies(
    account: str, strategy: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On `here` the service runs the command of a container task on this machine: no Docker is needed."""
    if account == "docked":
        request.getfixturevalue("docker_service")
    path = tmp_path / "destination.yml"
    path.write_text(
        f"azure_batch_account: {account}\nazure_batch_strategy: {strategy}\n"
        "azure_batch_docker_options: --network host\npulsar_container_image: pulsar-here:1\n"
    )
    code, out = azbatch("pulsar", "check", "--destination", str(path), "--image", "tool-here:1")
    assert (code, words_of(out)) == (0, [("ok", name) for name in STEPS]), out
    assert strategy in out


def test_nothing_is_left_on_batch_and_in_storage(check: Callable[..., Any]) -> None:
    from azbatch_core import AzureBatch

    document = json.loads(check("--json")[1])
    assert (document["ok"], [step["name"] for step in document["steps"]]) == (True, STEPS)
    seconds = {step["name"]: step["seconds"] for step in document["steps"]}
    assert min(seconds[name] for name in ("staged in", "tool ran", "results back")) > 0
    assert sum(seconds.values()) == pytest.approx(document["seconds"])
    job_id = document["job"].partition(":")[2]
    with AzureBatch("here") as batch:
        assert batch.job_phases(job_id) == {}
        assert batch.unstage("pulsar", job_id) == 0
        assert batch.unstage("pulsar", f"results/{job_id}") == 0


def test_nodes_without_pulsar_fail_at_staging_and_hear_what_to_do(
    check: Callable[..., Any], tmp_path: Path
) -> None:
    code, out = check(programs=tmp_path)
    assert (code, words_of(out)[-1]) == (1, ("FAIL", "staged in"))
    assert f"azure_batch_path: the folder of pulsar-submit, here {BIN}" in out
    assert "azbatch logs here:galaxy-" in out


def test_nodes_that_do_not_reach_this_machine_are_told_apart(check: Callable[..., Any]) -> None:
    code, out = check("--url", "http://192.0.2.1:18765", "--timeout", "6s")
    assert (code, words_of(out)[-1]) == (1, ("FAIL", "staged in"))
    assert "can the nodes reach http://192.0.2.1:18765?" in out


def test_a_wrong_parameter_is_named_and_nothing_is_tried(check: Callable[..., Any]) -> None:
    code, out = check(also="\n      azure_batch_memmory: 8GiB")
    assert (code, words_of(out)) == (1, [("FAIL", "parameters")])
    assert "did you mean 'azure_batch_memory'?" in out


def test_results_come_by_the_queue(check: Callable[..., Any], broker_url: str) -> None:
    code, out = check("--amqp-url", broker_url)
    assert (code, [mark for mark, _ in words_of(out)]) == (0, ["ok"] * (len(STEPS) + 1))


def test_results_come_by_the_runner_s_own_queue(check: Callable[..., Any], broker_url: str) -> None:
    code, out = check(runner={"amqp_url": broker_url, "amqp_publish_retry": "true"})
    assert (code, [mark for mark, _ in words_of(out)]) == (0, ["ok"] * (len(STEPS) + 1)), out
    assert "message queue, and Batch beside it" in out


def test_results_come_by_the_runner_s_relay(check: Callable[..., Any], relay: Relay) -> None:
    code, out = check(runner=relay.login)
    assert (code, [mark for mark, _ in words_of(out)]) == (0, ["ok"] * len(STEPS)), out
    assert "message queue, and Batch beside it" in out


def test_a_runner_that_galaxy_would_refuse_is_told(check: Callable[..., Any]) -> None:
    code, out = check(runner={"azure_batch_account": "here"})
    assert (code, words_of(out)) == (1, [("FAIL", "parameters")])
    assert "has azure_batch_account, which Galaxy refuses" in out


def test_a_broker_that_is_not_there_is_said_before_the_launch(check: Callable[..., Any]) -> None:
    code, out = check("--amqp-url", "amqp://someone:hidden@127.0.0.1:1//")
    assert (code, words_of(out)[-1]) == (1, ("FAIL", "message queue"))
    assert "hidden" not in out


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[FilesEndpoint]:
    served = tmp_path / "served"
    served.mkdir()
    made = FilesEndpoint(served)
    yield made
    made.close()


def status_of(url: str, content: bytes | None = None) -> int:
    try:
        with urllib.request.urlopen(url, content, timeout=WITHIN) as answer:  # noqa: S310 - our own
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_files_are_served_to_who_has_the_key_and_from_the_folder_only(
    endpoint: FilesEndpoint, tmp_path: Path
) -> None:
    (endpoint.folder / "in").write_bytes(b"input")
    (tmp_path / "secret").write_bytes(b"secret")
    inside = quote(str(endpoint.folder / "in"))
    assert status_of(f"{endpoint.url}&path={inside}") == 200
    assert status_of(f"{endpoint.url}x&path={inside}") == 403
    assert status_of(f"{endpoint.url}&path={quote(str(tmp_path / 'secret'))}") == 403
    assert status_of(f"{endpoint.url}&path={quote(str(endpoint.folder / '../secret'))}") == 403
    assert status_of(f"{endpoint.url}&path={quote(str(tmp_path / 'new'))}", b"x") == 403
    assert not (tmp_path / "new").exists()
    assert endpoint.fetched == ["in"]
