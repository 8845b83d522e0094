"""A local service, a Galaxy's files, a broker and a Docker for the tests of the Pulsar adapter.

They run once for each version of Pulsar, in an environment of its own, with azbatch installed from its wheel.
"""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from files_endpoint import files_endpoint
from pulsar_rig import BIN, HOST, Rig, end, manager_of

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from docker_daemon import DockerPlace
    from files_endpoint import FilesEndpoint
    from rig.relay import Relay

_TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def files() -> Iterator[FilesEndpoint]:
    """Galaxy's files."""
    with files_endpoint() as place:
        yield place


@pytest.fixture(scope="session")
def docker() -> Iterator[DockerPlace]:
    """A Docker daemon with an image of Pulsar and one of tools."""
    sys.path.append(str(_TESTS / "contract"))
    from docker_daemon import docker_place
    from pulsar_images import make_images

    with docker_place() as place:
        make_images(place)
        yield place


@pytest.fixture(scope="session")
def broker_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A RabbitMQ of our own."""
    sys.path.append(str(_TESTS / "galaxy"))
    from rig.broker import Broker
    from rig.installed import rabbitmq_server

    broker = Broker(rabbitmq_server(), tmp_path_factory.mktemp("broker"))
    try:
        broker.start()
        yield broker.url
    finally:
        broker.close()


@pytest.fixture(scope="session")
def start_relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Relay]]:
    """Start a pulsar-relay of our own."""
    sys.path.append(str(_TESTS / "galaxy"))
    from rig.installed import relay_programs
    from rig.relay import Relay

    with ExitStack() as running:

        def start(**options: Any) -> Relay:
            relay = Relay(relay_programs(), tmp_path_factory.mktemp("relay"), **options)
            running.callback(relay.stop)
            relay.start()
            return relay

        yield start


@pytest.fixture(scope="session")
def relay(start_relay: Callable[..., Relay]) -> Relay:
    """One that takes any number of messages."""
    return start_relay()


@pytest.fixture
def start_manager(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Make a client manager with messages by the `broker` or the `relay`, under the test's own name."""
    made: list[Any] = []

    def start(queue: str, account: str = "here") -> Any:
        if queue == "relay":
            means = request.getfixturevalue("relay").login
        else:
            means = {"amqp_url": request.getfixturevalue("broker_url")}
        made.append(manager_of(account, manager=re.sub(r"\W+", "-", request.node.name), **means))
        return made[-1]

    yield start
    for manager in made:
        end(manager)


@pytest.fixture(scope="module")
def start_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., LocalBatch]]:
    """Start a local service, and have an account on it under a name."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as running:
        config = tmp_path_factory.mktemp("config") / "config.toml"
        patch.setenv("AZBATCH_CONFIG", str(config))
        patch.setenv("AZBATCH_LOCAL_DIR", str(config.parent / "never"))

        def start(name: str, **options: Any) -> LocalBatch:
            local = running.enter_context(LocalBatch(**options))
            with config.open("a") as file:
                file.write(
                    f'[accounts.{name}]\nendpoint = "{local.endpoint}"\n'
                    f'account_name = "{local.account_name}"\naccount_key = "env:{name}_KEY"\n'
                    f'[accounts.{name}.storage]\nblob_endpoint = "{local.blob_endpoint}"\n'
                    f'account_name = "{local.blob_account}"\naccount_key = "env:{name}_STORAGE_KEY"\n'
                )
            patch.setenv(f"{name}_KEY", local.account_key)
            patch.setenv(f"{name}_STORAGE_KEY", local.blob_key)
            return local

        yield start


@pytest.fixture(scope="module")
def service(start_service: Callable[..., LocalBatch]) -> Iterator[LocalBatch]:
    """A local service whose nodes are this machine, with Pulsar's programs on PATH: the account `here`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", BIN, prepend=":")
        yield start_service("here", containers="host")


@pytest.fixture(scope="module")
def docker_service(docker: DockerPlace, start_service: Callable[..., LocalBatch]) -> Iterator[LocalBatch]:
    """A local service whose nodes have Docker: the account `docked`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", docker.host)
        yield start_service("docked", containers="docker")


@pytest.fixture(scope="module")
def manager(service: LocalBatch) -> Iterator[Any]:  # noqa: ARG001  # has to be there
    """A manager without a message queue."""
    made = manager_of()
    yield made
    made.shutdown()


@pytest.fixture
def rig(files: FilesEndpoint, manager: Any, tmp_path: Path) -> Rig:
    """Jobs by polling on this machine itself; what the test before heard of the service is forgotten."""
    manager._runs.clear()
    return Rig(files, tmp_path, HOST, manager)


@pytest.fixture(params=["host", "docker"])
def any_rig(request: pytest.FixtureRequest) -> Rig:
    """Jobs in both ways of running them."""
    return request.getfixturevalue({"host": "rig", "docker": "docker_rig"}[request.param])


@pytest.fixture(scope="module")
def docker_manager(docker_service: LocalBatch) -> Iterator[Any]:  # noqa: ARG001  # has to be there
    """A manager without a message queue, for jobs in Docker."""
    made = manager_of("docked")
    yield made
    made.shutdown()


@pytest.fixture
def fault(service: LocalBatch) -> Iterator[Callable[..., None]]:
    """Have something go wrong on the service, while the test lasts."""
    sys.path.append(str(_TESTS / "contract"))
    from wire_client import Wire

    wire = Wire(service)

    def add(kind: str, **fields: Any) -> None:
        assert wire.ask("POST", "/_local/faults", {"kind": kind, **fields})[0].status == 200

    yield add
    wire.ask("DELETE", "/_local/faults")
    wire.connection.close()


@pytest.fixture
def docker_rig(files: FilesEndpoint, docker_manager: Any, tmp_path: Path) -> Rig:
    """Jobs by polling in Docker; tools see the test's folder."""
    params = {
        "azure_batch_docker_options": "--network host",
        "docker_extra_volumes": f"{tmp_path}:{tmp_path}",
        "pulsar_container_image": "pulsar-here:1",
    }
    return Rig(files, tmp_path, params, docker_manager, "docked")
