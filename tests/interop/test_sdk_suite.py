"""The SDK's own live tests, from its source distribution, unchanged: sync and async."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

SHIMS = Path(__file__).parent / "sdk_shims"

DIFFERENT = {
    # Its second pool is in a virtual network that does not exist: InvalidPropertyValue for the user of Entra
    # ID that it was recorded with. With a shared key, which is all there is here, any subnet is Forbidden.
    "test_batch_create_pools[sync]",
    "test_batch_create_pools[async]",
}
"""Tests that must fail here, with the reason. One that passes is to be struck off."""


def test_the_sdk_s_own_tests(
    run: Callable[..., CompletedProcess[str]], python: str, clients: Path, tmp_path: Path
) -> None:
    suite = tmp_path / "suite"
    shutil.copytree(SHIMS, suite, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("test_batch.py", "async_wrapper.py"):
        shutil.copy(clients / "azure-batch-source" / "tests" / name, suite)
    words = ["-c", "/dev/null", "--rootdir", suite, "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
    done = run(python, "-m", "pytest", "-q", "-rA", *words, suite, packages="azure-batch-15")
    found = re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\S+)", done.stdout, re.MULTILINE)
    results = {name: verdict for verdict, name in found}
    assert len(results) >= 32, done.stdout + done.stderr
    failed = {name for name, verdict in results.items() if verdict != "PASSED"}
    assert failed == DIFFERENT, done.stdout
