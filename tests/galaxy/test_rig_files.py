"""The parts of the rig that need no server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml
from rig.galaxy_files import write_files
from rig.plan import Environment, Plan, Runner
from rig.programs import ENDS_WITHIN, until

SOON = 30.0
STARTED_AND_KILLED = """
import os, signal
from pathlib import Path
from rig.programs import Program

up = Path("up")
words = ["sh", "-c", "touch up; exec sleep 60"]
server = Program(words, log=Path("log"), environment=os.environ, folder=Path.cwd(), ready=up.exists)
server.start()
print(server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_job_conf_has_the_addresses_of_this_run(tmp_path: Path):
    plan = Plan(
        runners=(Runner("queue", {"amqp_url": "{amqp_url}", "manager": "a"}), Runner("poll")),
        environments=(
            Environment("q", "queue", {"env": [{"value": "{galaxy_url}/x"}]}),
            Environment("p", "poll"),
        ),
    )
    write_files(tmp_path, plan, {"amqp_url": "amqp://here", "galaxy_url": "http://there"}, "key")
    written = yaml.safe_load((tmp_path / "job_conf.yml").read_text())
    load = "azbatch_pulsar.galaxy:PulsarAzureBatchJobRunner"
    assert written["runners"]["queue"] == {"load": load, "amqp_url": "amqp://here", "manager": "a"}
    assert written["execution"]["environments"]["q"] == {
        "runner": "queue",
        "env": [{"value": "http://there/x"}],
    }
    mapped = {tool["id"]: tool["environment"] for tool in written["tools"]}
    assert (mapped["exits_q"], mapped["exits_p"]) == ("q", "p")
    assert (tmp_path / "job_conf.yml").stat().st_mode & 0o077 == 0


def test_server_ends_where_the_tests_are_killed(tmp_path: Path):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    words = [sys.executable, "-c", STARTED_AND_KILLED]
    killed = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=ENDS_WITHIN
    )
    server = Path("/proc", killed.stdout.strip())
    assert server.name.isdigit(), killed.stderr
    until(lambda: not _runs(server), SOON, lambda: f"{server} ends")


def _runs(process: Path) -> bool:
    """Whether it does; one that nobody reaps does not."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
