"""The service inside a program: a context manager for tests and notebooks."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import threading
from concurrent.futures import Future
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

from azbatch_core.local.clock import LONGEST
from azbatch_core.local.options import Options
from azbatch_core.local.requirements import INSTALL_HINT, missing_modules
from azbatch_core.local.settings import NODE_QUOTA
from azbatch_core.local.state import StateDirectory
from azbatch_core.local.storage_account import StorageAccount

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from types import TracebackType

    from azbatch_core.local.clock import VirtualClock
    from azbatch_core.local.options import ClockKind, ContainerChoice
    from azbatch_core.local.service import LocalService
    from azbatch_core.local.state import Endpoint

_STOP_SECONDS = 60.0
_T = TypeVar("_T")


@final
class LocalBatch:
    """A local Batch service on a free port, in a thread of its own.

        with LocalBatch() as batch:
            key = AzureNamedKeyCredential(batch.account_name, batch.account_key)
            client = BatchClient(batch.endpoint, key)

    On entry it answers requests; on exit nothing of it is left: no thread, socket, process or temporary file.

    Args:
        state_dir: where its state is kept, for the next one to go on with; by default a temporary directory.
        clock: `real`, or `virtual` for a clock that moves by `advance` only.
        boot_time: seconds that a node takes to start.
        port: where to listen; 0 takes a free port.
        containers: where container tasks run: `docker`, `host` (as if they had no settings), or `auto`: in
            Docker if a daemon answers, else on this machine itself, which they say.
        storage: connection string of the account's storage account; by default one that the service serves.
        model: tasks run no process, they only last (`AZBATCH_MODEL_SECONDS` or `sleep N`).
        node_quota: nodes that the account may hold.
        faults: what is to go wrong, as documents or as the path of a file of them; set anew at `restart`.

    Attributes:
        state_dir: the directory of its state.

    Raises:
        FaultError: on entry, if `faults` cannot be read.
        StorageAccountError: `storage` is no connection string.
        OptionError: an option cannot be, as a negative `boot_time`; it is a ValueError.
        ImportError: on entry, if the extra `local` is not installed.
        NoContainersError: on entry, if `containers` is `docker` and no daemon answers.
        BlockingIOError: on entry, if another service uses `state_dir`.
        OSError: on entry, if the port cannot be had.
    """

    def __init__(
        self,
        state_dir: str | Path | None = None,
        *,
        clock: ClockKind = "real",
        boot_time: float = 0.0,
        port: int = 0,
        containers: ContainerChoice = "auto",
        storage: str | None = None,
        model: bool = False,
        node_quota: int = NODE_QUOTA,
        faults: str | Path | Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._given = None if state_dir is None else Path(state_dir).absolute()
        self._options = Options(
            port=port,
            idle_timeout=0.0,
            boot_time=boot_time,
            clock=clock,
            containers=containers,
            model=model,
            node_quota=node_quota,
            faults=str(Path(faults).absolute()) if isinstance(faults, (str, Path)) else "",
        )
        self._faults = () if isinstance(faults, (str, Path)) else tuple(faults)
        self._storage = StorageAccount.parse(storage) if storage else None
        self._temporary: Path | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._service: LocalService | None = None
        self._clock: VirtualClock | None = None
        self._endpoint: Endpoint | None = None

    def __repr__(self) -> str:
        return f"LocalBatch({self._endpoint.endpoint if self._endpoint else 'not running'})"

    def __enter__(self) -> LocalBatch:
        if self._given is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="azbatch-local-"))
        try:
            self._start()
        except BaseException:
            self._clean_up()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stop()
        finally:
            self._clean_up()

    @property
    def state_dir(self) -> Path:
        """The directory of its state."""
        directory = self._given or self._temporary
        if directory is None:
            raise RuntimeError("LocalBatch is a context manager; it is not running")
        return directory

    @property
    def endpoint(self) -> str:
        """URL of the Batch account, no slash at the end."""
        return self._running.endpoint

    @property
    def account_name(self) -> str:
        """Name of the Batch account."""
        return self._running.account_name

    @property
    def account_key(self) -> str:
        """Its key, base64."""
        return self._running.account_key

    @property
    def blob_endpoint(self) -> str:
        """URL of the storage account, no slash at the end."""
        return self._running.blob_endpoint

    @property
    def blob_account(self) -> str:
        """Name of the storage account."""
        return self._running.blob_account

    @property
    def blob_key(self) -> str:
        """Its key, base64."""
        return self._running.blob_key

    @property
    def now(self) -> datetime:
        """The service's time, in UTC: what signatures for its storage expire by."""
        return datetime.now(timezone.utc) if self._clock is None else self._clock.now()

    def restart(self) -> None:
        """Stop the service in good order and start it again on the same state, port and keys."""
        self._stop()
        self._start()

    def advance(self, seconds: float) -> None:
        """Move a virtual clock on; on return all that was due by then has been done.

        Raises:
            RuntimeError: the clock is a real one.
            ValueError: less than 0, more than 100 years, or no number.
        """
        self._in_service(self._virtual.advance(seconds))

    def advance_until_idle(self, most: float = LONGEST) -> float:
        """Move a virtual clock on until no task runs or can start and no pool or node is on its way.

        It stops as well when nothing is due any more or after `most` seconds of the clock. What only comes
        round again (retention, formulas, the next job of a schedule) keeps nobody waiting.

        Returns:
            how far the clock has moved, in seconds.

        Raises:
            RuntimeError: the clock is a real one.
            ValueError: less than 0, more than 100 years, or no number.
        """
        clock, service = self._virtual, self._service

        async def move() -> float:
            engine = None if service is None else service.engine
            return 0.0 if engine is None else await clock.advance_until(lambda: not engine.under_way(), most)

        return self._in_service(move())

    def _in_service(self, work: Coroutine[Any, Any, _T]) -> _T:
        """What `work` gives, done in the service's thread; Ctrl-C here ends it there."""
        doing = asyncio.run_coroutine_threadsafe(work, self._in_loop)
        try:
            return doing.result()
        finally:
            doing.cancel()

    @property
    def _virtual(self) -> VirtualClock:
        if self._clock is None:
            raise RuntimeError("only LocalBatch(clock='virtual') can be told to move its clock")
        return self._clock

    @property
    def _in_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("LocalBatch is a context manager; it is not running")
        return self._loop

    @property
    def _running(self) -> Endpoint:
        if self._endpoint is None:
            raise RuntimeError("LocalBatch is a context manager; it is not running")
        return self._endpoint

    def _start(self) -> None:
        if missing_modules():
            raise ImportError(INSTALL_HINT)
        ready: Future[Endpoint] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="azbatch-local", daemon=True)
        self._thread.start()
        try:
            self._endpoint = ready.result()
        except BaseException:
            self._thread.join()
            self._thread = None
            raise

    def _run(self, ready: Future[Endpoint]) -> None:
        try:
            asyncio.run(self._serve(ready))
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def _serve(self, ready: Future[Endpoint]) -> None:
        from azbatch_core.local.clock import VirtualClock
        from azbatch_core.local.service import LocalService

        if self._options.clock == "virtual" and self._clock is None:
            self._clock = VirtualClock()
        self._loop = asyncio.get_running_loop()
        self._service = LocalService(
            StateDirectory(self.state_dir), self._options, self._clock, self._storage, faults=self._faults
        )
        await self._service.run(ready.set_result)

    def _stop(self) -> None:
        thread, loop, service = self._thread, self._loop, self._service
        if thread is None or loop is None or service is None:
            return
        with contextlib.suppress(RuntimeError):  # it has stopped by itself and its loop is closed
            loop.call_soon_threadsafe(service.stop)
        thread.join(_STOP_SECONDS)
        if thread.is_alive():
            raise RuntimeError(f"the local service did not stop within {_STOP_SECONDS:.0f} seconds")
        self._thread = self._loop = self._service = self._endpoint = None

    def _clean_up(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None
