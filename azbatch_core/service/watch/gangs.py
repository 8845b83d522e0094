"""Reading the gangs of one job: subtasks, and the addresses of nodes that put them in order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from azbatch_core.errors import AzBatchError, NotFound
from azbatch_core.service.documents import requests
from azbatch_core.service.states import TaskState
from azbatch_core.service.watch.members import blame, members_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.states import MemberStatus, TaskStatus

_MOST_BLAMED = 100  # each costs a request
_SURE = 2  # of so few members, each one's rank is known without addresses


class Gangs:
    """The gangs of one job. What cannot change any more is asked for once. For several threads."""

    def __init__(self, connection: Connection, job_id: str) -> None:
        self._connection = connection
        self._job_id = job_id
        self._addresses: dict[str, str] = {}
        self._missing: set[str] = set()
        self._plain: dict[str, TaskStatus] = {}
        self._over: dict[str, tuple[TaskStatus, tuple[MemberStatus, ...]]] = {}
        self._seen: dict[str, tuple[float, TaskStatus, tuple[MemberStatus, ...]]] = {}
        self._lock = threading.RLock()

    def members(self, task: TaskStatus, max_age: float = 0.0) -> tuple[MemberStatus, ...]:
        """The members of a gang, by rank; a plain task has none.

        Args:
            task: As a snapshot has it, or as its record alone tells.
            max_age: Seconds. What was listed not longer ago, of a task that stands the same, is good enough.

        Raises:
            NotFound: There is no such task any more.
        """
        if not task.nodes:
            return ()
        with self._lock:
            if task.member is not None:
                task = self._plain.get(task.id, task)
            at, before, members = self._seen.get(task.id, (0.0, task, ()))
            now = self._connection.clock.monotonic()
            if members and before == task and now - at <= max_age:
                return members
            members = self._members(task)
            self._seen[task.id] = (self._connection.clock.monotonic(), task, members)
            return members

    def _members(self, task: TaskStatus) -> tuple[MemberStatus, ...]:
        known = self._over.get(task.id)
        if known is not None and _same_try(known[0], task):
            return known[1]
        subtasks = self._subtasks(task)
        members = members_of(task, subtasks, self._places(task, subtasks))
        complete = task.started is None or len(subtasks) >= (task.nodes or 1) - 1
        if task.state.final and complete and all(member.state.final for member in members):
            self._over[task.id] = (task, members)
        return members

    def blamed(self, tasks: Sequence[TaskStatus]) -> Sequence[TaskStatus]:
        """The same tasks; gangs that failed tell which member failed first, as far as Batch lists it."""
        failed = [task for task in tasks if task.nodes and task.state is TaskState.FAILED][:_MOST_BLAMED]
        if not failed:
            return tasks
        self._plain |= {task.id: task for task in failed}
        told = {task.id: self._blame(task) for task in failed}
        return [told.get(task.id, task) for task in tasks]

    def _blame(self, task: TaskStatus) -> TaskStatus:
        try:
            return blame(task, self.members(task))
        except NotFound:
            return task

    def _subtasks(self, task: TaskStatus) -> list[dict[str, Any]]:
        if task.started is None and not task.node_id:
            return []
        path = ("jobs", self._job_id, "tasks", task.id, "subtasksinfo")
        return list(requests.send(self._connection, "GET", *path).get("value") or ())

    def _places(self, task: TaskStatus, subtasks: Iterable[dict[str, Any]]) -> dict[str, str]:
        nodes = [(subtask.get("nodeInfo") or {}).get("nodeId") for subtask in subtasks]
        wanted = {str(node) for node in nodes if node} - self._addresses.keys() - self._missing
        if (task.nodes or 0) > _SURE and wanted and task.pool_id:
            path = ("pools", task.pool_id, "nodes")
            try:
                listed = list(requests.listing(self._connection, *path, select=("id", "ipAddress")))
            except AzBatchError:
                listed = []  # Batch's numbers give an order, too
            self._addresses |= {str(node["id"]): str(node.get("ipAddress")) for node in listed}
            self._missing |= wanted - self._addresses.keys()
        return self._addresses


def _same_try(one: TaskStatus, other: TaskStatus) -> bool:
    return (one.started, one.ended, one.retries) == (other.started, other.ended, other.retries)
