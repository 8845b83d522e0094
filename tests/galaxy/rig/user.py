"""A user of Galaxy, through its API: histories, uploads, tools, and what became of their jobs."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bioblend.galaxy import GalaxyInstance

from rig.plan import tool_id
from rig.programs import until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rig.galaxy_server import GalaxyServer

WITHIN = 300.0
"""Seconds after which a job that has not come to where it should is a failure, on the slowest machine."""
ENDS = frozenset({"ok", "error", "deleted", "stopped", "failed", "skipped", "paused"})
"""States of a job that no job leaves by itself."""

_POLL_SECONDS = 0.5
"""Galaxy is asked no more often: each answer takes time that its jobs want."""


def starts(file: Path) -> int:
    """How often the tool `waits` began to wait for the file."""
    return _lines(file.with_name(f"{file.name}.started"))


def ends(file: Path) -> int:
    """How often it ended, for the file or because its time was over."""
    return _lines(file.with_name(f"{file.name}.ended"))


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


@dataclass(frozen=True)
class Dataset:
    """A file of a history."""

    history: History
    id: str

    def text(self) -> str:
        """What is in it, whatever the state of the job that made it."""
        api = self.history.user.api
        return bytes(api.datasets.download_dataset(self.id, require_ok_state=False)).decode()

    def details(self) -> dict[str, Any]:
        """What Galaxy says of it: `state`, and in `misc_info` why there is no more of it."""
        return dict(self.history.user.api.datasets.show_dataset(self.id))


@dataclass(frozen=True)
class Ended:
    """What became of a job.

    Attributes:
        state: `ok`, `error`, `deleted` …
        exit_code: The tool's; None where Galaxy was told none.
        stdout: The tool's.
        stderr: The tool's.
        info: What the user reads at the first output, as why the job failed.
        details: All that Galaxy says to its administrator.
    """

    state: str
    exit_code: int | None
    stdout: str
    stderr: str
    info: str
    details: Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """A run of a tool.

    Attributes:
        id: Galaxy's id, encoded, as in its API.
        outputs: What it writes, by the names in the tool.
    """

    history: History
    id: str
    outputs: Mapping[str, Dataset]

    def details(self) -> dict[str, Any]:
        """What Galaxy says of it to its administrator: `external_id` too, the runner's own."""
        return dict(self.history.user.admin.jobs.show_job(self.id, full_details=True))

    def wait_for(self, *states: str, within: float = WITHIN) -> dict[str, Any]:
        """Wait until it is in one of the states; what Galaxy says of it then.

        Raises:
            AssertionError: it does not come to that in time, or ends otherwise.
        """
        state = ""

        def arrived() -> bool:
            nonlocal state
            state = self.history.user.api.jobs.get_state(self.id)
            assert state in states or state not in ENDS, f"not {states}: {self.details()}"
            return state in states

        until(arrived, within, lambda: f"a job in {' or '.join(states)}; it is {state}", every=_POLL_SECONDS)
        return self.details()

    def wait(self, within: float = WITHIN) -> Ended:
        """Wait until it ended, however it did.

        Raises:
            AssertionError: it does not end within so many seconds.
        """
        found = self.wait_for(*ENDS, within=within)
        infos = [str(output.details().get("misc_info") or "") for output in self.outputs.values()]
        return Ended(
            state=found["state"],
            exit_code=found["exit_code"],
            stdout=found["tool_stdout"] or "",
            stderr=found["tool_stderr"] or "",
            info=infos[0] if infos else "",
            details=found,
        )

    def cancel(self) -> None:
        """Ask Galaxy to end it; the job may still run on return."""
        self.history.user.api.jobs.cancel_job(self.id)


@dataclass(frozen=True)
class History:
    """A place for datasets: one for each test."""

    user: GalaxyUser
    id: str

    def upload(self, text: str) -> Dataset:
        """Have a text as a dataset; on return it can be used."""
        item = {"src": "pasted", "paste_content": text, "ext": "txt"}
        target = {"destination": {"type": "hdas"}, "items": [item]}
        api = self.user.api  # bioblend's own way is an older one, that takes a process which imports Galaxy
        job = self._job(
            api.make_post_request(
                f"{api.url}/tools/fetch", payload={"history_id": self.id, "targets": [target]}
            )
        )
        ended = job.wait()
        assert ended.state == "ok", ended
        return next(iter(job.outputs.values()))

    def run(self, tool: str, on: str, **inputs: Any) -> Job:
        """Run a tool of `tests/galaxy/tools` in an environment; does not wait.

        Args:
            tool: The name of its file.
            on: The name of the environment.
            inputs: Values of its parameters; a `Dataset` for one that takes data.
        """
        values = {
            name: {"src": "hda", "id": value.id} if isinstance(value, Dataset) else value
            for name, value in inputs.items()
        }
        return self._job(self.user.api.tools.run_tool(self.id, tool_id(tool, on), values))

    def _job(self, answer: Mapping[str, Any]) -> Job:
        assert len(answer["jobs"]) == 1, json.dumps(answer)
        outputs = {output["output_name"]: Dataset(self, output["id"]) for output in answer["outputs"]}
        return Job(self, answer["jobs"][0]["id"], outputs)


class GalaxyUser:
    """A new user, with an API key.

    Attributes:
        api: bioblend's client, as this user.
        admin: The same, as the administrator.
    """

    def __init__(self, server: GalaxyServer) -> None:
        name = f"user-{secrets.token_hex(4)}"
        self.admin = GalaxyInstance(server.url, key=server.admin_key)
        made = self.admin.users.create_local_user(name, f"{name}@example.org", secrets.token_urlsafe(24))
        self.api = GalaxyInstance(server.url, key=self.admin.users.create_user_apikey(made["id"]))

    def history(self, name: str) -> History:
        """A new history."""
        return History(self, self.api.histories.create_history(name)["id"])
