"""The operation table: all 72 operations of api-version 2025-06-01, in the order of the SDK's documentation.

Routing, checks of query and body, and the documentation's table come from these rows.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from azbatch_core.local.http.operation import Handler, Operation
from azbatch_core.local.routes import accounts, applications, files, jobs, nodes, pools, schedules, tasks

_FORCE = frozenset({"force"})
_RECURSIVE = frozenset({"recursive"})
_PERIOD = frozenset({"starttime", "endtime"})

_pool = partial(Operation, subject="pool")
_job = partial(Operation, subject="job")
_schedule = partial(Operation, subject="schedule")
_task = partial(Operation, subject="task")


def _list(name: str, path: str, handler: Handler, **options: Any) -> Operation:
    return Operation(name, "GET", path, 200, handler, paged=True, **options)


_POOL = "/pools/{poolId}"
_NODE = "/pools/{poolId}/nodes/{nodeId}"
_NODE_FILE = _NODE + "/files/{filePath}"
_JOB = "/jobs/{jobId}"
_TASK = "/jobs/{jobId}/tasks/{taskId}"
_TASK_FILE = _TASK + "/files/{filePath}"
_SCHEDULE = "/jobschedules/{jobScheduleId}"

_ACCOUNT = (
    _list(
        "list_applications",
        "/applications",
        applications.list_applications,
        fragment="listapplicationsummariesresponses",
    ),
    Operation(
        "get_application",
        "GET",
        "/applications/{applicationId}",
        200,
        applications.get,
        fragment="getapplicationsummaryresponse/@Element",
    ),
    _list(
        "list_pool_usage_metrics",
        "/poolusagemetrics",
        pools.usage_metrics,
        filter="poolUsageMetrics",
        options=_PERIOD,
    ),
    _list(
        "list_supported_images",
        "/supportedimages",
        accounts.supported_images,
        filter="supportedImages",
        fragment="supportedimages",
    ),
    _list(
        "list_pool_node_counts", "/nodecounts", nodes.counts, filter="nodeCounts", fragment="poolnodecounts"
    ),
)
_POOLS = (
    Operation("create_pool", "POST", "/pools", 201, pools.create, body="BatchPoolCreateOptions"),
    _list(
        "list_pools",
        "/pools",
        pools.list_pools,
        filter="pools",
        select="BatchPool",
        expand=True,
        fragment="pools",
    ),
    _pool("begin_delete_pool", "DELETE", _POOL, 202, pools.delete),
    _pool("pool_exists", "HEAD", _POOL, 200, pools.exists),
    _pool(
        "get_pool", "GET", _POOL, 200, pools.get, select="BatchPool", expand=True, fragment="pools/@Element"
    ),
    _pool("update_pool", "PATCH", _POOL, 200, pools.patch, body="BatchPoolUpdateOptions"),
    Operation("disable_pool_auto_scale", "POST", _POOL + "/disableautoscale", 200, pools.disable_auto_scale),
    _pool(
        "enable_pool_auto_scale",
        "POST",
        _POOL + "/enableautoscale",
        200,
        pools.enable_auto_scale,
        body="BatchPoolEnableAutoScaleOptions",
    ),
    Operation(
        "evaluate_pool_auto_scale",
        "POST",
        _POOL + "/evaluateautoscale",
        200,
        pools.evaluate_auto_scale,
        body="BatchPoolEvaluateAutoScaleOptions",
        fragment="Microsoft.Azure.Batch.Protocol.Entities.AutoScaleRun",
    ),
    _pool("begin_resize_pool", "POST", _POOL + "/resize", 202, pools.resize, body="BatchPoolResizeOptions"),
    _pool("begin_stop_pool_resize", "POST", _POOL + "/stopresize", 202, pools.stop_resize),
    Operation(
        "replace_pool_properties",
        "POST",
        _POOL + "/updateproperties",
        204,
        pools.replace,
        body="BatchPoolReplaceOptions",
    ),
    _pool(
        "begin_remove_nodes",
        "POST",
        _POOL + "/removenodes",
        202,
        pools.remove_nodes,
        body="BatchNodeRemoveOptions",
    ),
)
_JOBS = (
    _job("begin_delete_job", "DELETE", _JOB, 202, jobs.delete, options=_FORCE),
    _job("get_job", "GET", _JOB, 200, jobs.get, select="BatchJob", expand=True, fragment="jobs/@Element"),
    _job("update_job", "PATCH", _JOB, 200, jobs.patch, body="BatchJobUpdateOptions"),
    _job("replace_job", "PUT", _JOB, 200, jobs.replace, body="BatchJob"),
    _job("begin_disable_job", "POST", _JOB + "/disable", 202, jobs.disable, body="BatchJobDisableOptions"),
    _job("begin_enable_job", "POST", _JOB + "/enable", 202, jobs.enable),
    _job(
        "begin_terminate_job",
        "POST",
        _JOB + "/terminate",
        202,
        jobs.terminate,
        body="BatchJobTerminateOptions",
        body_optional=True,
        options=_FORCE,
    ),
    Operation("create_job", "POST", "/jobs", 201, jobs.create, body="BatchJobCreateOptions"),
    _list(
        "list_jobs", "/jobs", jobs.list_jobs, filter="jobs", select="BatchJob", expand=True, fragment="jobs"
    ),
    _list(
        "list_jobs_from_schedule",
        _SCHEDULE + "/jobs",
        schedules.list_jobs,
        filter="jobsOfSchedule",
        select="BatchJob",
        expand=True,
        fragment="jobs",
    ),
    _list(
        "list_job_preparation_and_release_task_status",
        _JOB + "/jobpreparationandreleasetaskstatus",
        jobs.preparation_status,
        filter="preparationAndRelease",
        select="BatchJobPreparationAndReleaseTaskStatus",
        fragment="jobpreparationandreleasetaskstatuslist",
    ),
    Operation(
        "get_job_task_counts",
        "GET",
        _JOB + "/taskcounts",
        200,
        jobs.task_counts,
        fragment="taskcountsresult/@Element",
    ),
)
_JOB_SCHEDULES = (
    _schedule("job_schedule_exists", "HEAD", _SCHEDULE, 200, schedules.exists),
    _schedule("begin_delete_job_schedule", "DELETE", _SCHEDULE, 202, schedules.delete, options=_FORCE),
    _schedule(
        "get_job_schedule",
        "GET",
        _SCHEDULE,
        200,
        schedules.get,
        select="BatchJobSchedule",
        expand=True,
        fragment="jobschedules/@Element",
    ),
    _schedule(
        "update_job_schedule", "PATCH", _SCHEDULE, 200, schedules.patch, body="BatchJobScheduleUpdateOptions"
    ),
    _schedule("replace_job_schedule", "PUT", _SCHEDULE, 200, schedules.replace, body="BatchJobSchedule"),
    _schedule("disable_job_schedule", "POST", _SCHEDULE + "/disable", 204, schedules.disable),
    _schedule("enable_job_schedule", "POST", _SCHEDULE + "/enable", 204, schedules.enable),
    _schedule(
        "begin_terminate_job_schedule",
        "POST",
        _SCHEDULE + "/terminate",
        202,
        schedules.terminate,
        options=_FORCE,
    ),
    Operation(
        "create_job_schedule",
        "POST",
        "/jobschedules",
        201,
        schedules.create,
        body="BatchJobScheduleCreateOptions",
    ),
    _list(
        "list_job_schedules",
        "/jobschedules",
        schedules.list_schedules,
        filter="jobSchedules",
        select="BatchJobSchedule",
        expand=True,
        fragment="jobschedules",
    ),
)
_TASKS = (
    Operation("create_task", "POST", _JOB + "/tasks", 201, tasks.create, body="BatchTaskCreateOptions"),
    _list(
        "list_tasks",
        _JOB + "/tasks",
        tasks.list_tasks,
        filter="tasks",
        select="BatchTask",
        expand=True,
        fragment="tasks",
    ),
    Operation(
        "create_task_collection",
        "POST",
        _JOB + "/addtaskcollection",
        200,
        tasks.add_collection,
        body="BatchTaskGroup",
        fragment="taskaddresult",
    ),
    _task("delete_task", "DELETE", _TASK, 200, tasks.delete),
    _task(
        "get_task", "GET", _TASK, 200, tasks.get, select="BatchTask", expand=True, fragment="tasks/@Element"
    ),
    _task("replace_task", "PUT", _TASK, 200, tasks.replace, body="BatchTask"),
    Operation(
        "list_subtasks",
        "GET",
        _TASK + "/subtasksinfo",
        200,
        tasks.subtasks,
        select="BatchSubtask",
        fragment="subtaskinfo",
    ),
    _task("terminate_task", "POST", _TASK + "/terminate", 204, tasks.terminate),
    _task("reactivate_task", "POST", _TASK + "/reactivate", 204, tasks.reactivate),
    Operation("delete_task_file", "DELETE", _TASK_FILE, 200, files.delete, options=_RECURSIVE),
    Operation("download_task_file", "GET", _TASK_FILE, 200, files.download),
    Operation("get_task_file_properties", "HEAD", _TASK_FILE, 200, files.properties),
    _list(
        "list_task_files",
        _TASK + "/files",
        files.list_files,
        filter="files",
        options=_RECURSIVE,
        fragment="files",
    ),
)
_NODES = (
    Operation(
        "create_node_user",
        "POST",
        _NODE + "/users",
        201,
        nodes.create_user,
        body="BatchNodeUserCreateOptions",
    ),
    Operation("delete_node_user", "DELETE", _NODE + "/users/{userName}", 200, nodes.delete_user),
    Operation(
        "replace_node_user",
        "PUT",
        _NODE + "/users/{userName}",
        200,
        nodes.replace_user,
        body="BatchNodeUserReplaceOptions",
    ),
    Operation("get_node", "GET", _NODE, 200, nodes.get, select="BatchNode", fragment="nodes/@Element"),
    Operation(
        "begin_reboot_node",
        "POST",
        _NODE + "/reboot",
        202,
        nodes.reboot,
        body="BatchNodeRebootOptions",
        body_optional=True,
    ),
    Operation("begin_start_node", "POST", _NODE + "/start", 202, nodes.start),
    Operation(
        "begin_reimage_node",
        "POST",
        _NODE + "/reimage",
        202,
        nodes.reimage,
        body="BatchNodeReimageOptions",
        body_optional=True,
    ),
    Operation(
        "begin_deallocate_node",
        "POST",
        _NODE + "/deallocate",
        202,
        nodes.deallocate,
        body="BatchNodeDeallocateOptions",
        body_optional=True,
    ),
    Operation(
        "disable_node_scheduling",
        "POST",
        _NODE + "/disablescheduling",
        200,
        nodes.disable_scheduling,
        body="BatchNodeDisableSchedulingOptions",
        body_optional=True,
    ),
    Operation("enable_node_scheduling", "POST", _NODE + "/enablescheduling", 200, nodes.enable_scheduling),
    Operation(
        "get_node_remote_login_settings",
        "GET",
        _NODE + "/remoteloginsettings",
        200,
        nodes.remote_login,
        fragment="Microsoft.Azure.Batch.Protocol.Entities.RemoteLoginSettings",
    ),
    Operation(
        "upload_node_logs",
        "POST",
        _NODE + "/uploadbatchservicelogs",
        200,
        nodes.upload_logs,
        body="UploadBatchServiceLogsOptions",
        fragment="Microsoft.Azure.Batch.Protocol.Entities.UploadBatchServiceLogsResult",
    ),
    _list(
        "list_nodes",
        _POOL + "/nodes",
        nodes.list_nodes,
        filter="nodes",
        select="BatchNode",
        fragment="nodes",
    ),
    Operation(
        "get_node_extension",
        "GET",
        _NODE + "/extensions/{extensionName}",
        200,
        nodes.get_extension,
        select="BatchNodeVMExtension",
        fragment="extensions/@Element",
    ),
    _list(
        "list_node_extensions",
        _NODE + "/extensions",
        nodes.list_extensions,
        select="BatchNodeVMExtension",
        fragment="extensions",
    ),
    Operation("delete_node_file", "DELETE", _NODE_FILE, 200, files.delete, options=_RECURSIVE),
    Operation("download_node_file", "GET", _NODE_FILE, 200, files.download),
    Operation("get_node_file_properties", "HEAD", _NODE_FILE, 200, files.properties),
    _list(
        "list_node_files",
        _NODE + "/files",
        files.list_files,
        filter="files",
        options=_RECURSIVE,
        fragment="files",
    ),
)

OPERATIONS: tuple[Operation, ...] = (*_ACCOUNT, *_POOLS, *_JOBS, *_JOB_SCHEDULES, *_TASKS, *_NODES)
