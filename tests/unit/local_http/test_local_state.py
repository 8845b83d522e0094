"""The state directory."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import sqlite3
import stat
import threading

import pytest

from azbatch_core import __version__
from azbatch_core.local import daemon
from azbatch_core.local.__main__ import main
from azbatch_core.local.options import Options
from azbatch_core.local.runtime.docker import left
from azbatch_core.local.service import LocalService
from azbatch_core.local.state import Endpoint, StateDirectory, StateError

ENDPOINT = Endpoint("http://127.0.0.1:1", "local", "a2V5", 1, "0", "http://127.0.0.1:1/b", "b", "a2V5Mg==")


@pytest.fixture
def state(tmp_path):
    state = StateDirectory(tmp_path / "state")
    state.make()
    return state


def test_the_account_is_made_once_and_only_its_owner_can_read_it(state):
    first = state.identity()
    assert state.identity() == first
    assert stat.S_IMODE(state.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((state.path / "identity.json").stat().st_mode) == 0o600
    assert first.account_key not in repr(first)
    assert first.blob_key not in repr(first)


def test_an_announcement_can_be_read_back_and_hides_its_keys_from_reprs(state):
    state.announce(ENDPOINT)
    assert state.announced() == ENDPOINT
    assert stat.S_IMODE((state.path / "endpoint.json").stat().st_mode) == 0o600
    assert "a2V5" not in repr(ENDPOINT)
    assert [path.name for path in state.path.iterdir()] == ["endpoint.json"]


def test_an_announcement_without_a_living_service_is_stale(state):
    state.announce(ENDPOINT)
    assert state.running() is None
    with state.hold():
        assert state.running() == ENDPOINT
    assert state.running() is None


def test_half_a_file_is_no_announcement(state):
    (state.path / "endpoint.json").write_text('{"endpoint": "http')
    assert state.announced() is None


def test_what_another_version_announced_can_be_read(state):
    found = {**json.loads(ENDPOINT.to_json()), "grpc_endpoint": "new in version 9"}
    del found["blob_key"]
    (state.path / "endpoint.json").write_text(json.dumps(found))
    assert state.announced() == dataclasses.replace(ENDPOINT, blob_key="")


@pytest.mark.parametrize("pid", [0, -1, None, "7", True])
def test_an_announcement_that_names_no_process_is_none(state, pid):
    (state.path / "endpoint.json").write_text(json.dumps({**json.loads(ENDPOINT.to_json()), "pid": pid}))
    assert state.announced() is None


@pytest.mark.parametrize(
    "damaged", ["", '{"account_name": "loc', "[]", '{"account_name": "local"}', '"\\ud800"', b"\xff"]
)
def test_a_damaged_identity_is_an_error_and_stays_as_it_is(state, damaged):
    path = state.path / "identity.json"
    path.write_bytes(damaged.encode() if isinstance(damaged, str) else damaged)
    before = path.read_bytes()
    with pytest.raises(StateError, match=r"identity\.json"):
        state.identity()
    assert path.read_bytes() == before


def test_an_identity_of_a_later_version_is_read(state):
    first = state.identity()
    path = state.path / "identity.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "blue"}))
    assert state.identity() == first


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [("database or disk is full", "make room"), ("file is not a database", "azbatch local reset")],
)
def test_nobody_is_told_to_throw_jobs_away_because_a_disk_is_full(state, monkeypatch, reason, way_out):
    async def run(_service, _ready):
        raise sqlite3.OperationalError(reason)

    monkeypatch.setattr(LocalService, "run", run)
    with pytest.raises(daemon.DaemonError, match=f"{reason}; .*{way_out}"):
        daemon.serve(state, Options(), lambda _: None)


def test_a_start_that_another_service_forestalls_answers_with_that_one(state, monkeypatch):
    there = dataclasses.replace(ENDPOINT, version=__version__)
    with contextlib.ExitStack() as others:

        def spawn(state, _options):
            others.enter_context(state.hold())
            state.announce(there)
            raise daemon.DaemonError("another service is running")

        monkeypatch.setattr(daemon, "_spawn", spawn)
        assert daemon.start(state) == there


def test_who_looks_whether_a_service_is_there_is_none(state):
    """Else a second one who looks takes the announcement of a killed service for that of one that lives."""
    with state.hold():
        state.announce(ENDPOINT)
    with (state.path / "service.lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert state.running() is None
        timer = threading.Timer(0.05, lambda: fcntl.flock(looking, fcntl.LOCK_UN))
        timer.start()
        with state.hold():
            assert state.running() == ENDPOINT
        timer.join()


def test_one_service_holds_the_directory(state):
    with state.hold():
        assert state.held()
        with pytest.raises(BlockingIOError), state.hold():
            pass
    assert not state.held()


def test_stopping_what_does_not_run_says_so(state, tmp_path):
    assert daemon.stop(state) is False
    assert daemon.stop(StateDirectory(tmp_path / "nowhere")) is False


def test_reset_deletes_a_services_state_and_nothing_else(state, tmp_path):
    state.identity()
    (state.path / left.FOLDER).mkdir()
    daemon.reset(state)
    assert not state.path.exists()
    daemon.reset(state)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")
    with pytest.raises(daemon.DaemonError, match="does not look like"):
        daemon.reset(StateDirectory(precious))
    assert (precious / "thesis.tex").exists()


def test_no_service_starts_among_other_files(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(daemon.DaemonError, match=r"other files, such as thesis.tex.*AZBATCH_LOCAL_DIR"):
        daemon.start(StateDirectory(tmp_path))


def test_reset_leaves_files_that_came_later(state):
    state.make()
    state.identity()
    (state.path / "nodes").mkdir()
    (state.path / "thesis.tex").write_text("years of work")
    daemon.reset(state)
    assert [path.name for path in state.path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("verb", ["start", "stop", "reset", "status"])
def test_a_file_where_the_directory_should_be_is_told(verb, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([verb, "--state-dir", str(tmp_path / "file")]) in {0, 1}
    assert "Traceback" not in capsys.readouterr().err
    assert (tmp_path / "file").exists()


def test_status_of_nothing(tmp_path, capsys):
    assert main(["status", "--state-dir", str(tmp_path / "none")]) == 1
    assert '"running": false' in capsys.readouterr().out


@pytest.mark.parametrize("command", ["start", "serve"])
def test_without_the_extra_one_line_says_what_to_install(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("azbatch_core.local.__main__.missing_modules", lambda: ["uvicorn"])
    assert main([command, "--state-dir", str(tmp_path / "state")]) == 3
    assert capsys.readouterr().err == "the local service needs an extra: pip install 'azbatch[local]'\n"
    assert not (tmp_path / "state").exists()


def test_the_directory_comes_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("AZBATCH_LOCAL_DIR", str(tmp_path))
    assert StateDirectory.default().path == tmp_path
    monkeypatch.delenv("AZBATCH_LOCAL_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert StateDirectory.default().path == tmp_path / ".local/state/azbatch/local"
