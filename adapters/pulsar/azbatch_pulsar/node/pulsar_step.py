"""One of Pulsar's steps, with its outcome kept: Pulsar's own scripts exit with 0 whatever happens.

Runs on the node, in the Python that Pulsar is installed in, and needs nothing else. Any Pulsar from 0.15 on:
the functions of ``pulsar.scripts.submit_util`` that ``pulsar-submit`` and ``pulsar-finish`` consist of.
"""

import argparse
import json
import logging
import os
import re
import sys
import threading
import time
from pathlib import Path

from pulsar.main import PulsarManagerConfigBuilder
from pulsar.manager_endpoint_util import full_status
from pulsar.managers import stateful, status
from pulsar.scripts import submit_util

POLL_SECONDS = 0.1
TIMED_OUT = 124
"""The exit code of a step that took too long, as of timeout(1)."""
MESSAGE_SECONDS = 15.0
"""How long the last messages may take: Pulsar itself tries for ever on a relay that takes only its login."""
SECRETS = re.compile(r"(job_key=|://[^/:@\s]*:)[^&@\s]+")


def main() -> int:
    """Run the step; 0 when it did what it is for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=["submit", "finish"])
    parser.add_argument("--marks", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.set_defaults(wait=False)
    submit_util.add_common_submit_args(parser)
    given = parser.parse_args()
    handler = logging.StreamHandler()
    handler.setFormatter(WithoutKeys("%(levelname)s:%(name)s:%(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    end_after(given.seconds, given.step, given.marks / "outcome")
    lost = given.marks / "not_collected"
    remember_collection(lost)
    give_messages_up()
    if given.step == "submit":
        submit(given)
        return 0
    return finish(given, lost)


def end_after(seconds: float, step: str, outcome: Path) -> None:
    """Have the process end by itself, and say why, if the step takes longer."""
    what = {
        "submit": "bringing the job's inputs to the node",
        "finish": "bringing the job's outputs to Galaxy",
    }

    def expire() -> None:
        text = f"{what[step]} took longer than azure_batch_stage_timeout ({seconds:g} s), and was ended"
        sys.stderr.write(f"azbatch: {text}\n")
        if not outcome.exists():
            write_text(outcome, f"stage_timeout\n{text}\n")
        os._exit(TIMED_OUT)

    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()


def submit(given: argparse.Namespace) -> None:
    """Bring the inputs to the node; where Pulsar itself cannot begin, the user is told why."""
    try:
        submit_util.run_server_for_job(given)
    except Exception as error:
        why = SECRETS.sub(r"\1...", str(error)).partition("\n")[0]
        write_text(
            given.marks / "outcome", f"stage_in_failed\nPulsar could not prepare the job on the node: {why}\n"
        )
        raise


class WithoutKeys(logging.Formatter):
    """Pulsar logs the addresses of Galaxy's files, and the job's key is in them."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with its traceback."""
        return SECRETS.sub(r"\1...", super().format(record))


def remember_collection(mark: Path) -> None:
    """Leave a mark where outputs could not be brought away: Pulsar itself forgets it and says complete."""
    collect = stateful.postprocess

    def recording(*args: object, **kwargs: object) -> object:
        done = False
        try:
            done = collect(*args, **kwargs)
            return done
        finally:
            if not done:
                mark.write_text("outputs were not collected")

    stateful.postprocess = recording


def give_messages_up() -> None:
    """Have Pulsar end though a message does not get away: Batch tells the same."""
    make = submit_util.manager_from_args

    def making(builder: PulsarManagerConfigBuilder) -> tuple[object, object]:
        manager, app = make(builder)
        end = app.shutdown

        def shutdown() -> None:
            ending = threading.Thread(target=end, daemon=True)
            ending.start()
            ending.join(MESSAGE_SECONDS)

        app.shutdown = shutdown
        return manager, app

    submit_util.manager_from_args = making


def finish(given: argparse.Namespace, mark: Path) -> int:
    """Bring the outputs away, and write Pulsar's full status beside the marks."""
    job_id = submit_util._load_job_config(given)["job_id"]  # noqa: SLF001  # Pulsar has no public way
    manager, app = submit_util.manager_from_args(PulsarManagerConfigBuilder(given))
    try:
        manager._proxied_manager.finish_execution(job_id)  # noqa: SLF001  # same
        state = manager.get_status(job_id)
        while not status.is_job_done(state):
            time.sleep(POLL_SECONDS)
            state = manager.get_status(job_id)
        if state == status.COMPLETE and mark.exists():
            state = status.FAILED
        write(given.marks / "status.json", full_status(manager, state, job_id))
    finally:
        app.shutdown()
    return 0


def write(path: Path, document: object) -> None:
    """The document in a file that is there only when it is whole."""
    write_text(path, json.dumps(document))


def write_text(path: Path, text: str) -> None:
    """The same with a text."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
