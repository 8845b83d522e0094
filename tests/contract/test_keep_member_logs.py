"""The release task that keeps the output of a gang's members, run by itself against a made-up storage."""

from __future__ import annotations

import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from azbatch_core.plan.node import keep_member_logs


class Storage(ThreadingHTTPServer):
    """What the script sends to; answers with the codes that it is told to, then with 201."""

    def __init__(self, *codes: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.codes = list(codes)
        self.got: dict[str, bytes] = {}
        self.asked = 0


class _Handler(BaseHTTPRequestHandler):
    server: Storage

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        code = self.server.codes.pop(0) if self.server.codes else 201
        if code == 201:
            self.server.got[self.path] = data
        self.send_response(code)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


def release(folder: Path, server: Storage) -> subprocess.CompletedProcess[str]:
    """Run the script as on a node, in a folder of tasks."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    given = {
        "AZ_BATCH_TASK_DIR": str(folder / "jobrelease"),
        "AZ_BATCH_NODE_ID": "tvm-1",
        "AZBATCH_MEMBER_LOGS": f"http://127.0.0.1:{server.server_port}/logs?sig=secret",
    }
    program = "import time; time.sleep = lambda _: None\n" + Path(keep_member_logs.__file__).read_text(
        "utf-8"
    )
    try:
        return subprocess.run(
            [sys.executable, "-c", program],
            env={"PATH": os.environ["PATH"], **given},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def member(folder: Path, task: str, rank: int) -> None:
    (folder / task / "wd").mkdir(parents=True)
    words = f"{rank}\nstdout.txt j/{task}/a b.txt\nstderr.txt top.txt\n"
    (folder / task / "wd" / ".azbatch-member").write_text(words)
    (folder / task / "stdout.txt").write_text(f"of {task}\n")


def test_the_release_task_sends_what_members_wrote_and_nothing_else(tmp_path: Path):
    member(tmp_path, "one", 3)
    member(tmp_path, "two", 1)
    (tmp_path / "two" / "stderr.txt").write_text("")
    (tmp_path / "plain" / "wd").mkdir(parents=True)
    (tmp_path / "plain" / "stdout.txt").write_text("not of a member")
    server = Storage(503)
    ended = release(tmp_path, server)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert server.got == {
        "/logs/j/one/member-3/tvm-1/a%20b.txt?sig=secret": b"of one\n",
        "/logs/j/two/member-1/tvm-1/a%20b.txt?sig=secret": b"of two\n",
        "/logs/member-1/tvm-1/top.txt?sig=secret": b"",
    }


def test_a_release_task_that_may_not_write_says_so_without_the_signature(tmp_path: Path):
    member(tmp_path, "one", 3)
    server = Storage(403)
    ended = release(tmp_path, server)
    assert ended.returncode == 1
    assert ended.stderr == (
        "azbatch: j/one/member-3/tvm-1/a b.txt was not uploaded: the storage answered 403\n"
    )
    assert server.asked == 1
