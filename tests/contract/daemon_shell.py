"""The service as a background process, by its own program."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil
from azure.batch import BatchClient
from azure.core.credentials import AzureNamedKeyCredential

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 60.0
ENDED = {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}


def run(command: str, path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A verb of the service's own program, to its end."""
    line = [sys.executable, "-m", "azbatch_core.local", command, "--state-dir", str(path), *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False)


def start(path: Path, *arguments: str) -> dict[str, Any]:
    """Start it; what it says of itself."""
    done = run("start", path, *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def has_ended(pid: int) -> bool:
    """Whether the process is gone; nobody may be there to take note of a child of init."""
    try:
        return psutil.Process(pid).status() in ENDED
    except psutil.NoSuchProcess:
        return True


def client(endpoint: dict[str, Any]) -> BatchClient:
    """The SDK's client of it."""
    key = AzureNamedKeyCredential(endpoint["account_name"], endpoint["account_key"])
    return BatchClient(endpoint["endpoint"], key, retry_total=0, polling_interval=0)
