"""Azurite, Microsoft's storage emulator, on a port of its own: what is no blob server of ours."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from azbatch_core.local.storage_account import StorageAccount

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SECONDS = 60


@contextmanager
def azurite_server(folder: Path) -> Iterator[StorageAccount]:
    """Serve an empty account while the context lasts.

    Skips the test where Azurite is not installed, but fails it where `CI` is set.
    """
    program = os.environ.get("AZBATCH_TEST_AZURITE") or "azurite-blob"
    if shutil.which(program) is None:
        missing = "Azurite is not installed (npm install azurite; AZBATCH_TEST_AZURITE names the program)"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log = folder / "said.txt"
    words = ["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--location", str(folder)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), *words],
            stdout=subprocess.PIPE,
            stderr=output,
        )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if b"successfully listen" in line:
                break
        else:
            pytest.fail(f"Azurite did not start: {log.read_text()}")
        emulator = StorageAccount.parse("UseDevelopmentStorage=true")
        yield StorageAccount(f"http://127.0.0.1:{port}/{emulator.name}", emulator.name, emulator.key)
    finally:
        process.terminate()
        process.wait(_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
