"""What a node's agent would have logged, as far as the service knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import recent
from azbatch_core.local.rules.recent import recent_document
from azbatch_core.local.rules.times import moment
from azbatch_core.local.wire.durations import sortable_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Doc, Node

__all__ = ["log_files"]

_AGENT_LOG = "agent-debug.log"
_SERVICE_LOG = "service.log"


def log_files(account: Account, node: Node, start: str, end: str) -> dict[str, bytes]:
    """The log files with messages of a span of time, by name: the node's own, the service's if it has one.

    Whole files are given even if only a part of them is of that time (SDK UploadBatchServiceLogsOptions).
    """
    lines = sorted(_events(account, node), key=lambda line: sortable_time(line[0]))
    files = {}
    if any(sortable_time(start) <= sortable_time(when) <= sortable_time(end) for when, _ in lines):
        files[_AGENT_LOG] = "".join(f"{when} {text}\n" for when, text in lines).encode()
    log = account.settings.state_dir / _SERVICE_LOG
    if log.is_file():
        files[_SERVICE_LOG] = log.read_bytes()
    return files


def _events(account: Account, node: Node) -> Iterator[tuple[str, str]]:
    yield moment(node.allocated), f"node {node.id} of pool {node.pool_id} allocated, address {node.address}"
    if node.booted is not None:
        yield moment(node.booted), f"agent {account.settings.vm_agent_version} started"
    if node.start is not None:
        yield from _run("start task", node.start)
    for item in recent.rows(account, node):
        task = recent_document(item, account.base)
        yield from _run(f"task {task['taskId']} of job {task['jobId']}", task["executionInfo"])
    for error in node.errors:
        yield moment(node.since), f"error {error['code']}: {error['message']}"
    yield moment(node.since), f"state {node.state}, scheduling {node.scheduling}"


def _run(what: str, info: Doc) -> Iterator[tuple[str, str]]:
    if "startTime" in info:
        yield info["startTime"], f"{what} started"
    if "endTime" in info:
        code = info.get("exitCode")
        yield (
            info["endTime"],
            f"{what} ended, {info.get('result')}" + ("" if code is None else f", exit code {code}"),
        )
