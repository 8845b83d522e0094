"""Tasks: what is refused, what is filled in, what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import orjson

from azbatch_core.local.errors import BatchError, invalid_property
from azbatch_core.local.rules.checks import (
    check_at_least,
    check_id,
    check_program,
    check_resource_file,
    check_seconds,
)
from azbatch_core.local.rules.documents import (
    default_identity,
    fill_constraints,
    job_folder,
    put_transitions,
    put_written,
    without_secrets,
)
from azbatch_core.local.rules.times import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from azbatch_core.local.store.records import Doc, Job
    from azbatch_core.local.store.task_rows import Task

__all__ = [
    "Needs",
    "TaskView",
    "add_refusal",
    "add_result",
    "check_new",
    "environment",
    "execution_info",
    "fill",
    "instances_of",
    "needs_of",
    "node_info",
    "number_of",
    "task_document",
    "wanted_node",
]

_IDS_MOST = 64_000
_LARGEST = 2**31 - 1
_DIGITS_MOST = 10


class Needs(NamedTuple):
    """What a task waits for: ids, each once, and ranges of integer ids."""

    ids: list[str]
    ranges: list[tuple[int, int]]


def check_new(job: Job, body: Doc) -> None:
    """Refuse a task that the service would refuse; whether its id is taken is looked at elsewhere."""
    task_id = body.get("id")
    check_id(task_id)
    spec = job.spec
    for name, code in (
        ("jobPreparationTask", "TaskIdSameAsJobPreparationTask"),
        ("jobReleaseTask", "TaskIdSameAsJobReleaseTask"),
    ):
        if name in spec and spec[name]["id"].lower() == str(task_id).lower():
            raise BatchError(code)
    if "multiInstanceSettings" in body:
        _check_instances(body["multiInstanceSettings"])
    check_at_least(body, "requiredSlots", 1)
    check_program(body)
    constraints = body.get("constraints")
    if constraints:
        check_at_least(constraints, "maxTaskRetryCount", -1)
        check_seconds(constraints, "maxWallClockTime")
        check_seconds(constraints, "retentionTime")
    if body.get("dependsOn"):
        _check_needs(spec, body["dependsOn"])
    if body.get("exitConditions"):
        _check_exits(spec, body["exitConditions"])


def _check_needs(spec: Doc, given: Doc) -> None:
    ids, ranges = given.get("taskIds") or (), given.get("taskIdRanges") or ()
    if not ids and not ranges:
        return
    if not spec["usesTaskDependencies"]:
        raise BatchError("TaskDependenciesNotSpecifiedOnJob")
    if sum(map(len, ids)) > _IDS_MOST:
        raise BatchError("TaskDependencyListTooLong")
    # The size that ranges may have is not published: the same as for ids, of their JSON.
    if len(orjson.dumps(ranges)) > _IDS_MOST:
        raise BatchError("TaskDependencyRangesTooLong")
    for item in ranges:
        if item["start"] > item["end"]:
            raise invalid_property(
                "taskIdRanges", f"{item['start']}-{item['end']}", "The start of a range is after its end."
            )


def _check_instances(settings: Doc) -> None:
    check_at_least(settings, "numberOfInstances", 1)
    if not settings["coordinationCommandLine"].strip():
        raise invalid_property(
            "coordinationCommandLine", settings["coordinationCommandLine"], "A command line is needed."
        )
    for file in settings.get("commonResourceFiles") or ():
        check_resource_file(file)


def _exit_options(conditions: Doc) -> Iterator[Doc]:
    for name in ("exitCodes", "exitCodeRanges"):
        for item in conditions.get(name) or ():
            yield item.get("exitOptions") or {}
    for name in ("preProcessingError", "fileUploadError", "default"):
        yield conditions.get(name) or {}


def _check_exits(spec: Doc, conditions: Doc) -> None:
    for options in _exit_options(conditions):
        if options.get("jobAction") and spec["onTaskFailure"] == "noaction":
            raise invalid_property("jobAction", options["jobAction"], "The job's onTaskFailure is noaction.")
        if options.get("dependencyAction") and not spec["usesTaskDependencies"]:
            raise invalid_property(
                "dependencyAction", options["dependencyAction"], "The job does not use task dependencies."
            )


def needs_of(body: Doc) -> Needs:
    """The dependencies of a body that `check_new` has let through."""
    given = body.get("dependsOn") or {}
    unique = {task_id.lower(): task_id for task_id in given.get("taskIds") or ()}
    return Needs(
        list(unique.values()),
        [(int(item["start"]), int(item["end"])) for item in given.get("taskIdRanges") or ()],
    )


def number_of(task_id: str) -> int | None:
    """The integer that a range may name a task by: `7` is 7, `07` and `x` are none."""
    if not task_id.isdigit() or len(task_id) > _DIGITS_MOST or (task_id[0] == "0" and task_id != "0"):
        return None
    number = int(task_id)
    return number if number <= _LARGEST else None


def fill(job: Job, body: Doc) -> Doc:
    """A task as echoed."""
    spec = {key: value for key, value in body.items() if value is not None}
    spec["constraints"] = fill_constraints(
        body.get("constraints"), job.spec["constraints"]["maxTaskRetryCount"]
    )
    spec["requiredSlots"] = body.get("requiredSlots") or 1
    if "userIdentity" not in spec:
        spec["userIdentity"] = default_identity()
    if "multiInstanceSettings" in spec:
        spec["multiInstanceSettings"] = {"numberOfInstances": 1, **spec["multiInstanceSettings"]}
    return spec


def wanted_node(spec: Doc) -> str:
    """Id of the node that a task would rather have, in lower case; empty if it names none.

    Source: SDK BatchAffinityInfo, which takes a node's `affinityId`.
    """
    return str((spec.get("affinityInfo") or {}).get("affinityId", "")).removeprefix("TVM:").lower()


def instances_of(spec: Doc) -> int:
    """How many nodes a multi-instance task takes, 0 for plain tasks; `spec` as filled."""
    settings = spec.get("multiInstanceSettings")
    return 0 if settings is None else int(settings["numberOfInstances"])


def environment(common: Sequence[Doc], own: Sequence[Doc]) -> tuple[tuple[str, str], ...]:
    """The job's settings, overridden by the task's by name (SDK BatchJob.common_environment_settings)."""
    if not common and not own:
        return ()
    merged = {item["name"]: item.get("value") or "" for item in common}
    merged.update((item["name"], item.get("value") or "") for item in own)
    return tuple(merged.items())


def execution_info(task: Task) -> Doc:
    """`executionInfo` of a task: what an earlier try left is not in it."""
    info: Doc = {"retryCount": task.retries, "requeueCount": task.requeues}
    if task.retried is not None:
        info["lastRetryTime"] = moment(task.retried)
    if task.requeued is not None:
        info["lastRequeueTime"] = moment(task.requeued)
    if task.state in {"active", "preparing"}:
        return info
    if task.started is not None:
        info["startTime"] = moment(task.started)
    if task.state == "completed":
        if task.ended is not None:
            info["endTime"] = moment(task.ended)
        if task.exit_code is not None:
            info["exitCode"] = task.exit_code
        if task.container is not None:
            info["containerInfo"] = orjson.loads(task.container)
        if task.failure is not None:
            info["failureInfo"] = orjson.loads(task.failure)
        info["result"] = task.result
    return info


def node_info(pool_id: str | None, node_id: str, job_id: str, task_id: str, base: str) -> Doc:
    """`nodeInfo` of a task or subtask."""
    root = f"{job_folder(job_id)}/{task_id}"
    node_url = f"{base}/pools/{pool_id}/nodes/{node_id}"
    return {
        "affinityId": f"TVM:{node_id}",
        "nodeUrl": node_url,
        "poolId": pool_id,
        "nodeId": node_id,
        "taskRootDirectory": root,
        "taskRootDirectoryUrl": f"{node_url}/files/{root}",
    }


class TaskView(Mapping[str, Any]):
    """Those properties of a task that a `$filter` may name, each made when it is asked for.

    So a filter over a hundred thousand tasks builds no documents but those that it lets through.
    """

    _FIELDS: ClassVar[dict[str, Callable[[Task], Any]]] = {
        "id": lambda task: task.id,
        "state": lambda task: task.state,
        "stateTransitionTime": lambda task: moment(task.since),
        "creationTime": lambda task: moment(task.created),
        "lastModified": lambda task: moment(task.modified),
        "executionInfo": execution_info,
    }

    __slots__ = ("_task",)

    def __init__(self, task: Task) -> None:
        self._task = task

    def __getitem__(self, name: str) -> Any:
        return self._FIELDS[name](self._task)

    def __iter__(self) -> Iterator[str]:
        return iter(self._FIELDS)

    def __len__(self) -> int:
        return len(self._FIELDS)


def task_document(task: Task, job: Job, base: str) -> Doc:
    """A task as GET shows it."""
    doc: Doc = orjson.loads(task.spec)
    if "containerSettings" in doc:
        doc["containerSettings"] = without_secrets(doc["containerSettings"])
    doc["url"] = f"{base}/jobs/{job.id}/tasks/{task.id}"
    put_written(doc, task.created, task.modified)
    put_transitions(doc, task.state, task.since, task.previous, task.previous_since)
    doc["executionInfo"] = execution_info(task)
    if task.placed and task.node_id is not None:
        doc["nodeInfo"] = node_info(task.pool_id, task.node_id, job.id, task.id, base)
    elif task.state == "completed":
        doc["nodeInfo"] = {}
    return doc


def add_result(job: Job, base: str, task_id: str, modified: str, tag: str) -> Doc:
    """A member of `addtaskcollection`'s answer for a task that went in."""
    return {
        "status": "Success",
        "taskId": task_id,
        "eTag": tag,
        "lastModified": modified,
        "location": f"{base}/jobs/{job.id}/tasks/{task_id}",
    }


def add_refusal(task_id: str, error: BatchError) -> Doc:
    """A member for a task that was refused.

    The status is spelt as the SDK's enumeration: no recording shows one, and its own helper takes any other
    spelling for a success.
    """
    body: Doc = {"code": error.code, "message": {"lang": "en-US", "value": error.message}}
    if error.values:
        body["values"] = [{"key": key, "value": value} for key, value in error.values]
    return {"status": "clienterror", "taskId": task_id, "error": body}
