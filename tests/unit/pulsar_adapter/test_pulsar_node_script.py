"""The script of a node, with programs that play Pulsar's."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from azbatch_pulsar.destination import parse
from azbatch_pulsar.jobs import Launch, files_of

WITHIN = 30.0
"""Seconds after which a wait is a failure, on the slowest machine."""


def test_a_script_that_is_asked_to_end_leaves_no_secret_and_no_process(tmp_path: Path) -> None:
    """While a step runs: a shell that waits for it in the foreground would not hear it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    staging = tmp_path / "staging" / "galaxy-main-7"
    begun = tmp_path / "begun"
    python = programs / "pulsars-python"
    python.write_text(
        f"#!/bin/sh\ntrap '' TERM\necho $$ >{begun}.part; mv {begun}.part {begun}; exec sleep 600\n"
    )
    submit = programs / "pulsar-submit"
    submit.write_text(f"#!{python}\n")
    for program in (python, submit):
        program.chmod(0o755)
    launch = Launch(
        batch_id="galaxy-main-7",
        staging=str(staging),
        job_directory=f"{staging}/7",
        destination=parse({"azure_batch_runtime": "host"}),
        pulsar_image="",
        tool_image="",
        arguments=(),
        message={"key": "key-0815"},
        app_config={},
    )
    work = tmp_path / "wd"
    for name, content in files_of(launch).items():
        path = work / "galaxy-main-7" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    script = subprocess.Popen(
        ["/bin/sh", "galaxy-main-7/steps/single_task.sh"],
        cwd=work,
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
    )
    try:
        deadline = time.monotonic() + WITHIN
        while not begun.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        script.send_signal(signal.SIGTERM)
        assert script.wait(WITHIN) == 143
    finally:
        script.kill()
    assert not (work / "galaxy-main-7" / "secret").exists()
    assert not (work / "staging").exists()
    assert not staging.is_symlink()
    process = Path("/proc", begun.read_text().strip(), "cmdline")
    assert not process.exists() or not process.read_bytes(), "what has ended has no words left"
