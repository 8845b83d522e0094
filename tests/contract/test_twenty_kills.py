"""A service under load is killed at twenty random moments, and loses nothing that it had acknowledged."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from killed_actors import Gangs, Work
from killed_nodes import Nodes
from killed_owners import Jobs, Schedules
from killed_service import KilledService

from azbatch_core.local.runtime.reaper import find_marked, state_mark

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from killed_service import Actor

KILLS = 20
ROUNDS = int(os.environ.get("AZBATCH_KILL_ROUNDS", "1"))
FIRST = int(os.environ.get("AZBATCH_KILL_SEED", "1"))


@contextmanager
def under_load(service: KilledService, seed: str) -> Iterator[list[Actor]]:
    actors: list[Actor] = [kind(service, seed) for kind in (Work, Gangs, Jobs, Schedules, Nodes)]
    for actor in actors:
        actor.start()
    try:
        yield actors
    finally:
        for actor in actors:
            actor.stop()
            actor.caller.close()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + ROUNDS))
def test_twenty_kills_under_load_lose_nothing(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a game, no secret
    service = KilledService(tmp_path)
    service.begin()
    service.wait_until_up()
    try:
        with under_load(service, str(seed)) as actors:
            for _ in range(KILLS):
                time.sleep(dice.uniform(0.1, 0.8))
                kill(service, dice)
                for actor in actors:
                    actor.raise_error()
            finish(service, actors)
    except BaseException as error:
        raise AssertionError(f"seed {seed}, life {service.life}: {error}") from error
    finally:
        if service.alive:
            service.kill()


def kill(service: KilledService, dice: random.Random) -> None:
    """Kill it, now and then as it sleeps or after that, and now and then again while it starts."""
    if dice.random() < 0.2:
        os.kill(service.pid, signal.SIGSTOP)
        time.sleep(dice.uniform(0.0, 0.5))
        if dice.random() < 0.5:
            os.kill(service.pid, signal.SIGCONT)
            time.sleep(dice.uniform(0.0, 0.1))
    service.kill()
    while dice.random() < 0.25:
        service.begin()
        time.sleep(dice.uniform(0.0, 1.0))
        service.kill()
    dead = set(find_marked((state_mark(service.state.path),)))
    service.begin()
    service.wait_until_up()
    alive = dead & set(find_marked((state_mark(service.state.path),)))
    assert not alive, f"processes of the killed service: {alive}"


def finish(service: KilledService, actors: list[Actor]) -> None:
    """Let all come to rest, and look whether it is as it was told to be."""
    for actor in actors:
        actor.stop()
        actor.raise_error()
    for actor in actors:
        actor.settle()
    events = service.events()
    for actor in actors:
        actor.check(events)
    wrong = service.root / "wrong"
    assert not service.wrong
    assert not wrong.exists(), wrong.read_text()
    caller = actors[0].caller
    for pool in caller.all("/pools"):
        for node in caller.all(f"/pools/{pool['id']}/nodes"):
            assert (node["state"], node["runningTasksCount"]) == ("idle", 0), node
