"""The command as people run it: real processes, the real SDK, a local service of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from cli_shell import COMMAND, ROOT, Shell
from waiting import WITHIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell whose account `local` starts by itself at the first command."""
    made = Shell(tmp_path_factory.mktemp("cli"))
    yield made
    made.run("local", "stop")


def one_error_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if line.startswith("azbatch: error: ")]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


def test_run_is_like_running_it_here(shell: Shell) -> None:
    done = shell.run("run", "--shell", "--", "echo out; echo err >&2; exit 7")
    assert done.returncode == 7
    assert done.stdout == "out\n"
    assert "err\n" in done.stderr
    assert re.search(r"^azbatch: local:echo-\w+ failed: .*\b7\b", done.stderr, re.MULTILINE)


def test_run_gets_arguments_and_variables_exactly(shell: Shell) -> None:
    show = "import os, sys; print(sys.argv[1:], os.environ['CONN'], os.environ['TOKEN'])"
    words = ("python3", "-c", show, "$HOME", "a b", "", "it's", "&&")
    done = shell.run("run", "-q", "-e", "CONN=a=b;c", "-e", "TOKEN", "--", *words, TOKEN="hush")
    assert done.stderr == ""
    assert done.stdout == """['$HOME', 'a b', '', "it's", '&&'] a=b;c hush\n"""


def test_a_secret_is_not_in_the_dry_run(shell: Shell) -> None:
    for option in ((), ("--json",)):
        done = shell.run("run", "--dry-run", *option, "-e", "TOKEN", "--", "true", TOKEN="hush")
        assert done.returncode == 0
        assert "hush" not in done.stdout + done.stderr


def test_a_signal_is_reported_as_a_shell_would(shell: Shell) -> None:
    assert shell.run("run", "--shell", "--", "kill -9 $$").returncode == 128 + 9


def test_a_program_that_is_not_there(shell: Shell) -> None:
    done = shell.run("run", "--", "no-such-program")
    assert done.returncode == 1
    assert "not found" in done.stderr


def test_a_file_of_many_tasks_ends_with_a_table(shell: Shell) -> None:
    done = shell.run("submit", "--follow", "examples/pi.yaml")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "[seed-07] seed 7 says 3.14067" in lines
    assert any(line.startswith("[mean] pi is about 3.141") for line in lines)
    table = lines[lines.index(next(line for line in lines if line.startswith("TASK "))) + 1 :]
    assert len(table) == 41
    row = re.compile(r"(seed-\d\d|mean) +succeeded +0 +tvmps_\w{6}…_\w +[\d.]+s +1 +-")
    assert all(row.fullmatch(line) for line in table), table
    assert table[-1].startswith("mean")
    assert "\x1b" not in done.stdout + done.stderr
    assert re.search(r"azbatch: local:pi-\w+ succeeded in ", done.stderr)


def test_one_failed_seed_stops_the_mean_and_is_named(shell: Shell, tmp_path: Path) -> None:
    text = (ROOT / "examples/pi.yaml").read_text()
    wrong = text.replace(
        'seed = int(os.environ["SEED"])', 'seed = int(os.environ["SEED"]); seed == 7 and exit(3)'
    )
    path = tmp_path / "pi.yaml"
    path.write_text(wrong.replace("400_000", "1_000"))
    handle = shell.run("submit", str(path)).stdout.strip()
    done = shell.run("wait", handle)
    assert done.returncode == 1
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
    assert rows["seed-07"][1:3] == ["failed", "3"]
    assert rows["mean"][1:5] == ["blocked", "-", "-", "-"]
    assert sum(row[1] == "succeeded" for row in rows.values()) == 39
    assert "seed-07" in done.stderr
    why = shell.run("why", handle)
    assert why.returncode == 0
    assert "task seed-07: the command failed: exit code 3" in why.stdout
    assert "mean" in why.stdout
    assert shell.document("show", handle)["counts"]["succeeded"] == 39
    assert shell.inside("cancel", handle, handle).returncode == 0


def test_ctrl_c_stops_looking_not_the_job(shell: Shell) -> None:
    process = shell.start("run", "--shell", "--", "echo started; exec sleep 300")
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(WITHIN) == 130
        said = process.stderr.read()
    handle = re.findall(r"azbatch logs -f (\S+)", said)[0]
    assert f"azbatch cancel {handle}" in said
    assert "Traceback" not in said
    assert shell.document("show", handle)["state"] == "running"
    timed_out = shell.run("wait", "--timeout", "0.2", handle)
    assert timed_out.returncode == 124
    assert handle in one_error_line(timed_out)
    assert shell.run("cancel", handle).returncode == 0
    assert shell.run("wait", handle).returncode == 1
    assert shell.document("show", handle)["state"] == "cancelled"


def test_a_closed_pipe_is_no_error(shell: Shell) -> None:
    shell.submit("[{command: ['true']}]")
    process = shell.start("jobs")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.wait(WITHIN) == 141
        assert process.stderr.read() == ""


def test_a_closed_pipe_ends_the_following_of_endless_output(shell: Shell) -> None:
    process = shell.start("run", "-q", "yes")
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stderr:
        assert process.stdout.readline() == "y\n"
        process.stdout.close()
        assert process.wait(WITHIN) == 141
        assert process.stderr.read() == ""
    running = [job["handle"] for job in shell.document("jobs", "--state", "running")]
    assert shell.run("cancel", *running).returncode == 0


def test_logs_follow_to_the_last_byte(shell: Shell) -> None:
    script = "for n in 1 2 3; do echo $n; sleep 0.1; done; printf end"
    handle = shell.submit(f"[{{id: a, command: {{shell: '{script}'}}}}]")
    assert shell.run("logs", "-f", handle).stdout == "1\n2\n3\nend"
    assert shell.run("logs", handle, "a").stdout == "1\n2\n3\nend"
    assert shell.run("logs", "--stream", "stderr", handle).stdout == ""


def test_files_come_as_they_are(shell: Shell, tmp_path: Path) -> None:
    handle = shell.submit("[{id: a, command: {shell: 'printf \"\\\\000\\\\377x\" > out.bin'}}]")
    shell.run("wait", handle)
    names = [item["name"] for item in shell.document("files", "ls", handle, "a")]
    assert {"stdout.txt", "stderr.txt", "wd/out.bin"} <= set(names)
    assert shell.run("files", "get", handle, "a", "wd/out.bin", str(tmp_path)).returncode == 0
    assert (tmp_path / "out.bin").read_bytes() == b"\x00\xffx"
    missing = shell.run("files", "get", handle, "a", "wd/none", str(tmp_path))
    assert missing.returncode == 3
    assert "wd/none" in one_error_line(missing)
    assert not (tmp_path / "none").exists()


def test_files_get_says_what_is_wrong(shell: Shell, tmp_path: Path) -> None:
    handle = shell.submit("[{id: a, command: ['true']}]")
    shell.inside("wait", handle)
    for words, code, expected in (
        (("a", "wd", str(tmp_path)), 2, "wd is a folder: name a file in it"),
        (("b", "stdout.txt", str(tmp_path)), 3, f"there is no task b in {handle}"),
        (("a", "../../x", str(tmp_path)), 2, "'../../x' is not in the task's folder"),
        (("a", "/etc/passwd", str(tmp_path)), 2, "'/etc/passwd' is not in the task's folder"),
        (("a", "stdout.txt", str(tmp_path / "no" / "x")), 2, f"there is no folder {tmp_path / 'no'}"),
        (("a", "stdout.txt", "/proc/x"), 2, "/proc/x: "),
    ):
        done = shell.inside("files", "get", handle, *words)
        assert done.returncode == code, done.stderr
        assert expected in one_error_line(done)
        assert ".part" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_output_is_what_the_task_wrote_to_the_byte(shell: Shell) -> None:
    written = bytes(range(256)) * 3 + "€".encode()[:2]
    script = "python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 3 + bytes([226, 130]))'"

    def output(*words: str) -> bytes:
        line = [*COMMAND, *words]
        return subprocess.run(
            line, env=shell.environment, cwd=ROOT, stdout=subprocess.PIPE, timeout=WITHIN, check=True
        ).stdout

    assert output("run", "-q", "--shell", "--", script) == written
    handle = shell.document("jobs")[0]["handle"]
    assert output("logs", handle, "--stream", "stdout") == written


def test_every_list_is_one_document_with_utc_times(shell: Shell) -> None:
    handle = shell.submit("[{id: a, command: [echo, hi]}]")
    shell.inside("wait", handle)
    job = shell.document("show", handle)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", job["created"])
    assert job["handle"] == handle
    assert handle in [item["handle"] for item in shell.document("jobs")]
    (task,) = shell.document("tasks", handle)
    assert (task["id"], task["state"], task["exit_code"]) == ("a", "succeeded", 0)
    pools = shell.document("pools")
    assert job["pool_id"] in [pool["id"] for pool in pools]
    nodes = shell.document("nodes", job["pool_id"])
    assert task["node_id"] in [node["id"] for node in nodes]
    assert shell.document("pools", "show", job["pool_id"])["nodes"][0]["pool_id"] == job["pool_id"]
    assert shell.document("why", handle) == []
    assert shell.document("account", "check")["ok"] is True
    assert shell.document("wait", handle)["exit_code"] == 0


def test_delete_removes_and_is_idempotent(shell: Shell) -> None:
    handle = shell.submit("[{command: ['true']}]")
    for _ in range(2):
        assert shell.inside("delete", "--wait", handle).returncode == 0
    gone = shell.inside("show", handle)
    assert gone.returncode == 3
    one_error_line(gone)


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("show", "nothing-here"), 3, "there is no job local:nothing-here"),
        (("nodes", "nothing-here"), 3, "there is no pool nothing-here"),
        (("jobs", "--account", "nowhere"), 2, "nowhere"),
        (("show", "nowhere:job"), 2, "nowhere"),
        (("submit", "no-such-file.yaml"), 2, "no-such-file.yaml"),
        (("run", "--cpus", "many", "true"), 2, "--cpus"),
        (("run", "--cpus", "100000", "true"), 2, "100000"),
        (("run", "--pool", "no-such-pool", "true"), 3, "no-such-pool"),
        (("jbos",), 2, "'jobs'"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], code: int, expected: str, shell: Shell) -> None:
    done = shell.inside(*words)
    assert done.stdout == ""
    assert expected in one_error_line(done)
    assert done.returncode == code


def on_a_terminal(shell: Shell, *words: str, watch: Callable[[str], object] = len, **variables: str) -> str:
    """What the command writes when both of its streams are a terminal of 80 columns.

    `watch` is given all that was written so far whenever that is more.
    """
    main, side = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words],
        env={**shell.environment, "COLUMNS": "80", **variables},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=side,
    )
    os.close(side)
    pieces, deadline = [], time.monotonic() + WITHIN
    with os.fdopen(main, "rb", buffering=0) as terminal:
        while select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
            try:
                piece = terminal.read(65536)
            except OSError:  # Linux's way to say that the other side is closed
                break
            if not piece:
                break
            pieces.append(piece)
            watch(b"".join(pieces).decode(errors="replace"))
    process.wait(WITHIN)
    return b"".join(pieces).decode()


def test_a_terminal_gets_a_line_of_progress_and_colours(shell: Shell, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    task = f"{{command: {{shell: 'until [ -e {gate} ]; do sleep 0.05; done'}}}}"
    handle = shell.submit(f"[{task}, {task}]")

    def open_gate(text: str) -> None:
        if "2 running" in re.sub(r"\x1b\[[\d;]*m", "", text):
            gate.touch()

    text = on_a_terminal(shell, "wait", handle, watch=open_gate)
    assert gate.exists()
    assert "\x1b[32msucceeded" in text
    assert max(len(re.sub(r"\x1b\[[\d;]*[mK]", "", line)) for line in re.split("[\r\n]+", text)) <= 80


def test_no_color(shell: Shell) -> None:
    text = on_a_terminal(shell, "run", "--", "false", NO_COLOR="1")
    assert "failed" in text
    assert not re.search(r"\x1b\[[\d;]*m", text)


def test_the_local_service_can_be_stopped_started_and_emptied(tmp_path: Path) -> None:
    own = Shell(tmp_path)
    try:
        status = own.run("local", "status", "--json")
        assert (status.returncode, json.loads(status.stdout)["running"]) == (3, False)
        started = own.run("local", "start", "--json")
        key = json.loads((tmp_path / "local" / "endpoint.json").read_text())["account_key"]
        assert json.loads(started.stdout)["endpoint"].startswith("http://127.0.0.1:")
        assert own.run("local", "start").returncode == 0
        assert own.run("local", "status").returncode == 0
        handle = own.submit("[{command: [echo, kept]}]")
        assert own.run("wait", handle).returncode == 0
        assert own.run("local", "stop").returncode == 0
        assert own.run("local", "stop").returncode == 0
        assert own.run("logs", handle).stdout == "kept\n", "the next command starts it again, with its jobs"
        shown = [started, *(own.run("account", "show", *option) for option in ((), ("--json",)))]
        assert all(key not in done.stdout + done.stderr for done in shown)
        unsure = own.run("local", "reset", stdin="y\n")
        assert unsure.returncode == 2
        assert one_error_line(unsure).endswith("not confirmed; give --yes. See `azbatch local reset --help`.")
        assert own.run("local", "reset", "--yes").returncode == 0
        assert own.document("jobs") == []
    finally:
        own.run("local", "stop")


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("hello", 0, "hi\n"),
        ("shell", 0, "a literal $HOME, an * and a 'quote'\n"),
        ("dependencies", 1, "everything that matters is done\n"),
        ("limits", 1, "second try\n"),
        ("preparation", 0, "500500\n"),
        ("secrets", 0, "the token has 6 characters\n"),
    ],
)
def test_examples_do_what_they_say(name: str, code: int, expected: str, shell: Shell) -> None:
    done = shell.run("submit", "--follow", f"examples/{name}.yaml", TOKEN="abc123")
    assert done.returncode == code, done.stdout + done.stderr
    assert expected in done.stdout
    if name == "limits":
        assert "its time was up" in done.stderr


def test_the_python_example(shell: Shell) -> None:
    done = subprocess.run(
        [sys.executable, "examples/sweep.py"],
        env=shell.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "succeeded\n3.1396" in done.stdout
