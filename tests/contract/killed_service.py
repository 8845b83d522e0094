"""A service that is killed and started again while clients go on, and the tasks that tell on it."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from wire_client import Wire

from azbatch_core.local.state import StateDirectory

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local.state import Endpoint

WITHIN = 90.0
_KILLED = (OSError, http.client.HTTPException, ValueError)

# Run as `sh run.sh ROOT SECONDS CODE [node]`. Says that it started and which service started it, holds a lock
# while it runs, and says that it ended. A lock whose process is dead was left by a killed try.
SCRIPT = r"""
me=$AZ_BATCH_JOB_ID.$AZ_BATCH_TASK_ID
[ "$4" = node ] && me=$me@$AZ_BATCH_NODE_ID
echo "start $PPID $me $$" >>"$1/log"
if ! (set -C; echo $$ >"$1/locks/$me") 2>/dev/null; then
  read -r other <"$1/locks/$me"
  case $(ps -o stat= -p "${other:-0}") in
    ''|Z*) echo $$ >"$1/locks/$me";;
    *) echo "$me runs twice at once: $other and $$" >>"$1/wrong";;
  esac
fi
sleep "$2"
read -r now <"$1/locks/$me"
[ "$now" = $$ ] || echo "$me: its lock went from $$ to $now" >>"$1/wrong"
rm -f "$1/locks/$me"
echo "end $PPID $me $$" >>"$1/log"
echo "said $me"
exit "$3"
"""


class Event(NamedTuple):
    """A line of the tasks' log: `start` or `end`, `<job>.<task>`, in which life of the service (or 0)."""

    what: str
    life: int
    name: str


class KilledService:
    """A service in a process of its own, its lives counted from 1.

    Attributes:
        life: Its life now; raised before a new one begins.
        wrong: What must never be, such as an answer 500.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = StateDirectory(root / "state")
        self.life = 0
        self.wrong: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._lives: dict[int, int] = {}
        self._up = threading.Condition()
        self._place: Endpoint | None = None
        (root / "locks").mkdir()
        (root / "log").touch()
        (root / "run.sh").write_text(SCRIPT)

    def command(self, seconds: float = 0.0, code: int = 0, how: str = "") -> str:
        """A task's command line."""
        return f"/bin/sh {self.root}/run.sh {self.root} {seconds} {code} {how}".rstrip()

    def begin(self) -> None:
        """Have the next life begin; it does not answer yet on return."""
        self.life += 1
        line = [sys.executable, "-m", "azbatch_core.local", "serve", "--state-dir", str(self.state.path)]
        with (self.root / "service.out").open("ab") as log:
            self._process = subprocess.Popen(
                line, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._lives[self._process.pid] = self.life

    def wait_until_up(self) -> None:
        """On return it answers, and clients go on."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        assert process.stdout.readline(), (self.root / "service.out").read_text()[-3000:]
        with self._up:
            self._place = self.state.announced()
            self._up.notify_all()

    def kill(self) -> None:
        """Kill it at once; on return its process is gone."""
        process, self._process = self._process, None
        assert process is not None
        with self._up:
            self._place = None
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(WITHIN) == -signal.SIGKILL, "it had ended before"
        if process.stdout is not None:
            process.stdout.close()

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Of the process that there is."""
        assert self._process is not None
        return self._process.pid

    def place(self) -> Endpoint:
        """Where it answers; waits until it does."""
        with self._up:
            assert self._up.wait_for(lambda: self._place is not None, WITHIN)
            assert self._place is not None
            return self._place

    def events(self) -> list[Event]:
        """What the tasks said; the last line may be half of one."""
        found = re.findall(r"(start|end) (\d+) (\S+) \d+\n", (self.root / "log").read_text())
        return [Event(what, self._lives.get(int(pid), 0), name) for what, pid, name in found]


class Answer(NamedTuple):
    """An answer; `tries` is more than 1 if earlier ones, which may have had their effect, got none."""

    status: int
    body: Any
    etag: str | None
    tries: int
    life: int

    @property
    def code(self) -> str:
        """The error's code, empty if there is none."""
        return str(self.body.get("code", "")) if self.status >= 400 and isinstance(self.body, dict) else ""


class Caller:
    """One thread's connection, that asks until it is answered."""

    def __init__(self, service: KilledService) -> None:
        self.service = service
        self._wire: Wire | None = None
        self._life = 0

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            self._wire.connection.close()
            self._wire = None

    def ask(self, method: str, target: str, body: Any = None, *, tries: int = 1000, **headers: str) -> Answer:
        """The answer, after as many tries as it takes."""
        for number in range(1, tries + 1):
            place = self.service.place()
            life = self.service.life
            try:
                if self._wire is None or self._life != life:
                    self.close()
                    self._wire, self._life = Wire(place), life
                response, raw = self._wire.ask(method, target, body, **headers)
                text = raw.decode() or "null"
                found = json.loads(text) if text[:1] in "{[n" else text
            except _KILLED:
                self.close()
                time.sleep(0.01)
                continue
            if response.status >= 500 and response.status != http.client.SERVICE_UNAVAILABLE:
                self.service.wrong.append(f"{method} {target}: {response.status} {raw[:300]!r}")
            if response.status == http.client.SERVICE_UNAVAILABLE:
                time.sleep(0.01)
                continue
            return Answer(response.status, found, response.getheader("etag"), number, life)
        raise AssertionError(f"{method} {target} was never answered")

    def all(self, target: str) -> list[dict[str, Any]]:
        """All members of a list."""
        found: list[dict[str, Any]] = []
        while target:
            answer = self.ask("GET", target)
            assert answer.status == http.client.OK, (target, answer)
            found += answer.body["value"]
            link = answer.body.get("odata.nextLink", "")
            target = re.sub(r"^https?://[^/]+", "", link)
            target = re.sub(r"api-version=[^&]*&?", "", target)
        return found


class Actor(threading.Thread):
    """A client that does what its dice say until it is told to stop, and remembers what it was told."""

    def __init__(self, service: KilledService, seed: str) -> None:
        super().__init__(daemon=True)
        self.service = service
        self.caller = Caller(service)
        self.dice = random.Random(f"{seed} {type(self).__name__}")  # noqa: S311 - a game, no secret
        self.over = threading.Event()
        self.error: BaseException | None = None
        self._number = 0

    def name_of(self, prefix: str) -> str:
        """A new id."""
        self._number += 1
        return f"{prefix}{self._number}"

    def run(self) -> None:
        """Act."""
        try:
            self.prepare()
            acts = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("do_")]
            while not self.over.is_set():
                self.dice.choice(acts)()
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def prepare(self) -> None:
        """Make what the acts need."""

    def stop(self) -> None:
        """On return it has stopped; while a service runs, or comes back."""
        self.over.set()
        self.join(WITHIN)
        assert not self.is_alive()

    def raise_error(self) -> None:
        """Raise what it found wrong, if it did."""
        if self.error is not None:
            raise self.error

    def ask(self, *what: Any, **more: Any) -> Answer:
        """See `Caller.ask`."""
        return self.caller.ask(*what, **more)

    def expect(self, answer: Answer, *statuses: int, again: tuple[str, ...] = ()) -> bool:
        """Whether an answer has one of the statuses; else its code must be one of `again`, or it is wrong.

        Codes of `again` are those of an earlier, unanswered try that had its effect, or of a race.
        """
        if answer.status in statuses:
            return True
        if answer.code not in again:
            raise AssertionError(f"{type(self).__name__}: {answer}")
        return False
