"""The `azbatch` command for the contract tests, with a home and a local service of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from waiting import WITHIN

from azbatch_core.cli import main

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "azbatch_core.cli"]


@dataclass(frozen=True)
class Shell:
    """Runs the command on one local service, with nothing of the developer's own settings."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of every process."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),  # the background service is to be of this tree
            "HOME": str(self.home),
            "AZBATCH_LOCAL_DIR": str(self.home / "local"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PYTHONWARNINGS": "error",
        }

    def run(self, *words: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        return subprocess.run(
            [*COMMAND, *words],
            input=stdin,
            env={**self.environment, **variables},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=WITHIN,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start, with both streams as pipes."""
        return subprocess.Popen(
            [*COMMAND, *words],
            env=self.environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def inside(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run in this process: the same client and service, without a second for the imports."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            for name, value in self.environment.items():
                patch.setenv(name, value)
            patch.chdir(ROOT)
            code = main(words)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def document(self, *words: str) -> Any:
        """The one JSON document that a command prints."""
        done = self.inside(*words, "--json")
        assert done.stdout.endswith("\n"), done.stderr
        return json.loads(done.stdout)

    def submit(self, tasks: str, *options: str) -> str:
        """The handle of a job with these tasks, written as YAML."""
        done = self.run("submit", *options, "-", stdin=f"name: t\ntasks: {tasks}\n")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
