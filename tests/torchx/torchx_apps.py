"""Apps for tests, submitted and waited for through a scheduler."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from conftest import WITHIN
from torchx.specs import AppDef, AppState, Resource, Role

if TYPE_CHECKING:
    from collections.abc import Callable

CFG = {"account": "here"}


def app_of(*command: str, name: str = "app", **role: Any) -> AppDef:
    words = {"name": "role", "image": "alpine:3.20", "resource": Resource(cpu=1, gpu=0, memMB=64), **role}
    return AppDef(name=name, roles=[Role(entrypoint=command[0], args=list(command[1:]), **words)])


def until(met: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        found = met()
        if found:
            return found
        time.sleep(0.05)  # what is waited for happens in another process
    raise AssertionError(what)


def wait(scheduler: Any, app_id: str, state: AppState) -> Any:
    def described() -> Any:
        now = scheduler.describe(app_id)
        return now if now.state == state else None

    return until(described, f"{app_id} is not {state}")


def submit(scheduler: Any, app: AppDef, **cfg: Any) -> str:
    return scheduler.submit(app, {**CFG, **cfg})


def log(scheduler: Any, app_id: str, **words: Any) -> list[str]:
    return list(scheduler.log_iter(app_id, words.pop("role", "role"), **words))


def stdout(scheduler: Any, app_id: str, **words: Any) -> list[str]:
    from torchx.schedulers.api import Stream

    return log(scheduler, app_id, streams=Stream.STDOUT, **words)
