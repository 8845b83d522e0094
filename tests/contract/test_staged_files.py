"""Files of this machine, staged into the account's storage and read by tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from waiting import WITHIN

from azbatch_core import AccountSpec, AzureBatch, ConfigurationError, JobSpec, JobState

if TYPE_CHECKING:
    from pathlib import Path

Make = Callable[..., JobSpec]


@pytest.mark.parametrize("gang", [None, 2])
def test_what_is_staged_is_read_on_every_node(
    client: AzureBatch, make_job: Make, tmp_path: Path, job_name: str, gang: int | None
) -> None:
    file = tmp_path / "input"
    file.write_text("staged\n")
    name = f"{job_name}.txt"
    assert client.stage(file, "staged-files", name)
    assert not client.stage(file, "staged-files", name), "it is there already"
    files = [{"container": "staged-files", "blob_prefix": name, "file_path": "in"}]
    job = client.submit(
        make_job(t={"command": ["cat", f"in/{name}"], "resource_files": files, "gang": gang})
    ).job
    assert job.wait(WITHIN).state is JobState.SUCCEEDED
    said = [chunk.text for chunk in job.logs("t") if chunk.stream == "stdout"]
    assert said == ["staged\n"] * (gang or 1)
    file.write_text("staged anew\n")
    assert client.stage(file, "staged-files", name), "its length differs"


def test_without_storage_nothing_is_staged(account: AccountSpec, tmp_path: Path) -> None:
    (tmp_path / "input").touch()
    with (
        AzureBatch(account.replace(storage=None)) as bare,
        pytest.raises(ConfigurationError, match="no storage"),
    ):
        bare.stage(tmp_path / "input", "staged-files", "x")
