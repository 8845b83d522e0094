"""One running service: the parts put together, served on a loopback port until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import shlex
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from azbatch_core import __version__
from azbatch_core.local.app import LocalApplication
from azbatch_core.local.auth import SharedKey
from azbatch_core.local.blobs.app import create_blob_app
from azbatch_core.local.clock import Clock, RealClock, VirtualClock
from azbatch_core.local.control.app import PREFIX, Control
from azbatch_core.local.control.clock import clock_routes
from azbatch_core.local.control.faults import fault_routes
from azbatch_core.local.engine.engine import Engine
from azbatch_core.local.faults import Faults, read_faults, read_file
from azbatch_core.local.http.dispatch import BatchApplication
from azbatch_core.local.page.app import PREFIX as PAGE
from azbatch_core.local.page.app import Page, page_url
from azbatch_core.local.routes.table import OPERATIONS
from azbatch_core.local.runtime.base import BlobPlace, RuntimeConfig
from azbatch_core.local.runtime.model import ModelRuntime
from azbatch_core.local.runtime.process import ProcessRuntime
from azbatch_core.local.settings import Settings
from azbatch_core.local.state import Endpoint, Identity, StateDirectory
from azbatch_core.local.storage_account import StorageAccount
from azbatch_core.local.transport import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from azbatch_core.local.asgi import Application
    from azbatch_core.local.options import Options
    from azbatch_core.local.runtime.base import Runtime

_LOG = logging.getLogger(__name__)
_HOST = "127.0.0.1"
_BACKLOG = 512
_TICK_SECONDS = 1.0
_GRACE_SECONDS = 2


class LocalService:
    """A service over one state directory.

    Args:
        state: its directory; nobody else may serve it meanwhile.
        options: what it was told.
        clock: what the engine takes for the time; by default what the options say.
        storage: the account's storage account, by default one that this service serves itself.
        faults: trouble that it has on demand, besides what the options' file says.
        own_process: the process is there for the service alone, and holds the directory until it exits.

    Attributes:
        endpoint: where it listens; set once `run` has begun.
        engine: the Batch account's engine; set once `run` has begun.
    """

    def __init__(
        self,
        state: StateDirectory,
        options: Options,
        clock: Clock | None = None,
        storage: StorageAccount | None = None,
        *,
        faults: Sequence[Mapping[str, Any]] = (),
        own_process: bool = False,
    ) -> None:
        self._state = state
        self._options = options
        self._clock = clock or (VirtualClock() if options.clock == "virtual" else RealClock())
        self._storage = storage
        self._faults = faults
        self._own_process = own_process
        self._server: _Server | None = None
        self._stopped = False
        self.endpoint: Endpoint | None = None
        self.engine: Engine | None = None

    async def run(self, ready: Callable[[Endpoint], None]) -> None:
        """Serve until `stop`, or until it has been idle for long enough.

        On return every process and file that it opened is closed, and what was acknowledged is on disk.

        Args:
            ready: called once requests are answered.

        Raises:
            BlockingIOError: another service holds the directory.
            OSError: the port cannot be had; the message names it.
            NoContainersError: container tasks are to run in Docker, and no daemon answers.
            FaultError: the faults cannot be read.
            StateError: the account's names and keys cannot be read.
        """
        self._state.make()
        with self._state.hold(until_exit=self._own_process), contextlib.ExitStack() as cleanup:
            self._state.withdraw()
            identity = self._state.identity()
            listener = cleanup.enter_context(_listen(self._options.port, identity.port))
            identity = dataclasses.replace(identity, port=listener.getsockname()[1])
            self._state.remember(identity)
            words = shlex.join(self._options.arguments(all_of_them=False))
            endpoint = self.endpoint = dataclasses.replace(_endpoint(identity, self._storage), options=words)
            cleanup.callback(self._state.withdraw)
            await self._serve(identity, endpoint, listener, lambda: self._announce(endpoint, ready))

    def stop(self) -> None:
        """Have `run` return. Only in the event loop's thread."""
        self._stopped = True
        if self._server is not None:
            self._server.stop()

    def _announce(self, endpoint: Endpoint, ready: Callable[[Endpoint], None]) -> None:
        self._state.announce(endpoint)
        ready(endpoint)

    async def _serve(
        self, identity: Identity, endpoint: Endpoint, listener: socket.socket, ready: Callable[[], None]
    ) -> None:
        blob_root = self._state.path / "blobs"
        account = (endpoint.blob_endpoint, endpoint.blob_account, endpoint.blob_key)
        place = (
            BlobPlace(*account, None) if self._storage else BlobPlace(*account, blob_root, self._clock.now)
        )
        config = RuntimeConfig(
            *(self._state.path, identity.account_name, endpoint.endpoint + "/", place),
            containers=self._options.containers,
        )
        runtime = await self._runtime(config)
        settings = Settings(
            self._state.path,
            identity.account_name,
            endpoint.endpoint,
            boot_time=self._options.boot_time,
            pool_quota=self._options.pool_quota,
            node_quota=self._options.node_quota,
            simulated=self._options.model,
        )
        faults = self._read_faults()
        engine = self.engine = Engine(settings, self._clock, runtime, self.stop, faults)
        keys = SharedKey(identity.account_name, identity.account_key)
        page = Page(engine, OPERATIONS, endpoint.endpoint, identity.port)
        routes = {**clock_routes(self._clock, engine), **page.routes(), **fault_routes(engine)}
        control = Control(keys, routes, endpoint.endpoint)
        beside: dict[str, Application] = {PREFIX: control, PAGE: page}
        with contextlib.ExitStack() as cleanup:
            if self._storage is None:
                key = (identity.blob_account, identity.blob_key)
                blobs = create_blob_app(blob_root, *key, now=self._clock.now)
                cleanup.callback(blobs.close)
                beside[f"/{identity.blob_account}"] = blobs
            batch = BatchApplication(engine, keys, OPERATIONS, endpoint.endpoint, faults)
            await self._answer(engine, LocalApplication(batch, beside), listener, ready)

    async def _runtime(self, config: RuntimeConfig) -> Runtime:
        if self._options.model:
            return ModelRuntime(config, self._clock)
        runtime = ProcessRuntime(config, self._clock)
        await runtime.check_containers()
        return runtime

    def _read_faults(self) -> Faults:
        file = self._options.faults
        return Faults([*(read_file(Path(file)) if file else ()), *read_faults(self._faults)], OPERATIONS)

    async def _answer(
        self,
        engine: Engine,
        application: LocalApplication,
        listener: socket.socket,
        ready: Callable[[], None],
    ) -> None:
        await engine.start()
        try:
            self._server = _Server(application, lambda: self._look(engine, application), ready)
            if not self._stopped:
                await self._server.serve(sockets=[listener])
        finally:
            await engine.stop()

    def _look(self, engine: Engine, application: LocalApplication) -> bool:
        """Whether it is idle; what it announced is said again if that got lost."""
        if self.endpoint is not None and self._state.announced() is None:
            with contextlib.suppress(OSError):
                self._state.announce(self.endpoint)
        return self._is_idle(engine, application)

    def _is_idle(self, engine: Engine, application: LocalApplication) -> bool:
        timeout = self._options.idle_timeout
        if not timeout or application.open_requests or engine.busy():
            return False
        return time.monotonic() - application.last_request > timeout


class _Server(uvicorn.Server):
    """Uvicorn, told to stop by an event instead of by signals and polling."""

    def __init__(
        self, application: LocalApplication, idle: Callable[[], bool], ready: Callable[[], None]
    ) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                loop="asyncio",
                http=Protocol,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._idle = idle
        self._ready = ready
        self._over = asyncio.Event()

    def stop(self) -> None:
        """Have `serve` return."""
        self.should_exit = True
        self._over.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals alone: the daemon has its own handlers, and an embedded service has none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the listener, then say so."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests end; on return those that took too long have been cut off."""
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(tuple(self.server_state.tasks), timeout=_GRACE_SECONDS)

    async def main_loop(self) -> None:
        """Wait for the end; once a second, renew the date header and look whether anybody is there."""
        while not self._over.is_set():
            await self.on_tick(0)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._over.wait(), _TICK_SECONDS)
            if self._idle():
                _LOG.info("idle; stopping")
                return


def _listen(port: int, last_port: int) -> socket.socket:
    for choice in (port,) if port else (last_port, 0):
        # With the protocol named, asyncio sets TCP_NODELAY; without, small answers wait 40 ms for an ACK.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((_HOST, choice))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            if choice == port:
                raise OSError(error.errno, f"port {port} cannot be had: {error.strerror}") from None
        else:
            listener.setblocking(False)
            return listener
    raise AssertionError("port 0 is always free")


def _endpoint(identity: Identity, storage: StorageAccount | None) -> Endpoint:
    url = f"http://{_HOST}:{identity.port}"
    own = StorageAccount(f"{url}/{identity.blob_account}", identity.blob_account, identity.blob_key)
    blobs = storage or own
    return Endpoint(
        endpoint=url,
        account_name=identity.account_name,
        account_key=identity.account_key,
        pid=os.getpid(),
        version=__version__,
        blob_endpoint=blobs.endpoint,
        blob_account=blobs.name,
        blob_key=blobs.key,
        page=page_url(url),
    )
