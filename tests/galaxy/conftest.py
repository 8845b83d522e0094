"""A broker, a local Batch service and a Galaxy for the whole run: they take long to start. See `cases.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cases import PLAN
from rig.batch_service import ACCOUNT, BatchService
from rig.broker import Broker
from rig.docker import Docker
from rig.galaxy_server import GalaxyServer
from rig.installed import docker_daemon, galaxy_programs, node_programs, rabbitmq_server, relay_programs
from rig.pools import make_pool
from rig.refusal import refusal
from rig.relay import Relay
from rig.user import GalaxyUser

from azbatch_core import AzureBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.user import Dataset, History

_SERVERS = ("galaxy", "batch", "broker", "relay", "docker")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """RabbitMQ, running."""
    server = Broker(rabbitmq_server(), tmp_path_factory.mktemp("broker"))
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    """pulsar-relay, running."""
    server = Relay(relay_programs(), tmp_path_factory.mktemp("relay"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def docker_place() -> Iterator[Docker]:
    """Where the nodes look for Docker; nothing runs there."""
    place = Docker()
    try:
        yield place
    finally:
        place.close()


@pytest.fixture
def docker(docker_place: Docker) -> Iterator[Docker]:
    """Docker for the nodes, not yet running; a registry with no image."""
    docker_daemon()
    yield docker_place
    docker_place.stop()


@pytest.fixture
def docker_with_images(docker: Docker) -> Docker:
    """The same, running, with images of Pulsar and of tools."""
    docker.start()
    docker.have_images(node_programs() / "python")
    return docker


@pytest.fixture(scope="session")
def batch(docker_place: Docker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BatchService]:
    """The local Batch service, running, with a pool."""
    server = BatchService(tmp_path_factory.mktemp("batch"), node_programs(), docker_place.host)
    try:
        server.start()
        make_pool(server.place)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def refusing_url() -> Iterator[str]:
    """Where whatever a node asks for is refused."""
    with refusal() as address:
        yield address


@pytest.fixture(scope="session")
def client(batch: BatchService) -> Iterator[AzureBatch]:
    """The account that the jobs run on."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in batch.variables.items():
            patch.setenv(name, value)
        with AzureBatch(ACCOUNT) as account:
            yield account


@pytest.fixture(scope="session")
def addresses(broker: Broker, relay: Relay, docker_place: Docker, refusing_url: str) -> dict[str, str]:
    """What stands in `cases.py` for what there is in this run."""
    return {
        "amqp_url": broker.url,
        **relay.login,
        "registry": docker_place.registry,
        "refusing_url": refusing_url,
    }


@pytest.fixture(scope="session")
def galaxy(
    batch: BatchService, addresses: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GalaxyServer]:
    """Galaxy, running, with everything of `cases.py`."""
    server = GalaxyServer(
        galaxy_programs(),
        tmp_path_factory.mktemp("galaxy"),
        PLAN,
        addresses=addresses,
        variables=batch.variables,
    )
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def user(galaxy: GalaxyServer) -> GalaxyUser:
    """A user of it."""
    return GalaxyUser(galaxy)


@pytest.fixture(scope="session")
def pasted(user: GalaxyUser) -> Dataset:
    """An uploaded file of two lines, `first` and `second`: an input for any test's tools."""
    return user.history("pasted").upload("first\nsecond\n")


@pytest.fixture
def history(user: GalaxyUser, request: pytest.FixtureRequest) -> History:
    """A history of this test's own."""
    return user.history(request.node.name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Show the end of each server's log where a test failed."""
    report = yield
    if report.failed:
        for name in _SERVERS:
            server = getattr(item, "funcargs", {}).get(name)
            if server is not None:
                report.sections.append((f"log of {name}", server.program.tail()))
    return report
