"""Pulsar's own check of a client, end to end, through ours."""

from __future__ import annotations

import functools
import itertools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pulsar.client.test import check
from pulsar_rig import HOST, end, manager_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from files_endpoint import FilesEndpoint

DOCKER = {"azure_batch_docker_options": "--network host", "pulsar_container_image": "pulsar-here:1"}
DEPENDENT = {"azure_batch_strategy": "dependent_tasks"}
WAYS: dict[str, dict[str, Any]] = {
    "host": HOST,
    "docker": DOCKER,
    "dependent-host": DEPENDENT,
    "dependent-docker": {**DEPENDENT, **DOCKER},
}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("way", "queue"),
    [*itertools.product(WAYS, ["polling", "broker"]), ("host", "relay"), ("docker", "relay")],
)
def test_pulsar_s_own_check(
    way: str,
    queue: str,
    files: FilesEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    request.getfixturevalue("docker_service" if "docker" in way else "service")
    job_id = f"check_{way.replace('-', '_')}_{queue}"
    means: dict[str, Any] = {"manager": job_id}
    if queue == "broker":
        means["amqp_url"] = request.getfixturevalue("broker_url")
    elif queue == "relay":
        means.update(request.getfixturevalue("relay").login)
    seen: list[Any] = []
    params = {**WAYS[way], "files_endpoint": files.url(job_id)}
    account = "docked" if "docker" in way else "here"
    monkeypatch.setattr(check, "build_client_manager", lambda **_: _manager(account, means, seen))
    plain = check.extract_client_options
    monkeypatch.setattr(check, "extract_client_options", lambda options: {**plain(options), **params})
    check.run(
        SimpleNamespace(
            job_id=job_id,
            container="tool-here:1",
            default_file_action="remote_transfer",
            suppress_output=False,
            test_env=True,
            test_unicode=True,
        )
    )
    assert seen or queue != "polling", "it was cleaned, and the full status was there before"
    for key in ("returncode", "stdout", "working_directory_contents", "realized_dynamic_file_sources"):
        assert all(key in status for status in seen)


def _manager(account: str, means: dict[str, Any], seen: list[Any]) -> Any:
    made = manager_of(account, **means)
    get_client: Callable[..., Any] = made.get_client

    def noting(*args: Any, **kwargs: Any) -> Any:
        client = get_client(*args, **kwargs)
        clean = client.clean

        def clean_noting() -> None:
            seen.append(client.full_status())
            clean()

        if (
            not {"amqp_url", "relay_url"} & means.keys()
        ):  # there it need not be over on Batch when the message comes
            client.clean = clean_noting
        return client

    made.get_client = noting
    if "relay_url" in means:
        made.shutdown = functools.partial(end, made, made.shutdown)
    return made
