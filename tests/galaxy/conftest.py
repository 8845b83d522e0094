"""A broker, a local Batch service and a Galaxy for the whole run: they take long to start. See `cases.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cases import PLAN
from rig.batch_service import BatchService
from rig.broker import Broker
from rig.galaxy_server import GalaxyServer
from rig.installed import galaxy_programs, node_programs, rabbitmq_server
from rig.user import GalaxyUser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.user import Dataset, History

_SERVERS = ("galaxy", "batch", "broker")


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
def batch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BatchService]:
    """The local Batch service, running."""
    server = BatchService(tmp_path_factory.mktemp("batch"), node_programs())
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def galaxy(
    broker: Broker, batch: BatchService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GalaxyServer]:
    """Galaxy, running, with everything of `cases.py`."""
    folder = tmp_path_factory.mktemp("galaxy")
    server = GalaxyServer(galaxy_programs(), folder, PLAN, amqp_url=broker.url, variables=batch.variables)
    try:
        server.start()
        yield server
    finally:
        server.stop()


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
