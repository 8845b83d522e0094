"""Resource files that cannot be are refused wherever there are any, and their URLs are not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from engine_fakes import refused

from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules import jobs, pools, schedules

if TYPE_CHECKING:
    from engine_fakes import Service

URL = "https://x.blob.core.windows.net/c/b?sig=hunter2"
POOL = {"vmSize": "standard_d2s_v3"}
JOB = {"id": "j", "poolInfo": {"poolId": "p"}}
PREPARED = {"jobPreparationTask": {"commandLine": "x"}}

WRONG = [
    ({"httpUrl": URL, "filePath": "f", "storageContainerUrl": URL}, "httpUrl"),
    ({"httpUrl": URL, "filePath": "f", "autoStorageContainerName": "c"}, "httpUrl"),
    ({"filePath": "f"}, "resourceFiles"),
    ({"httpUrl": "", "filePath": "f"}, "resourceFiles"),
    ({"httpUrl": URL}, "filePath"),
    ({"httpUrl": URL, "filePath": ""}, "filePath"),
    ({"httpUrl": URL, "filePath": "f", "blobPrefix": "a/"}, "blobPrefix"),
    ({"httpUrl": f'"{URL}"', "filePath": "f"}, "httpUrl"),
    ({"httpUrl": f"'{URL}'", "filePath": "f"}, "httpUrl"),
    ({"httpUrl": f'{URL}"', "filePath": "f"}, "httpUrl"),
    ({"httpUrl": f" {URL}", "filePath": "f"}, "httpUrl"),
    ({"httpUrl": f"{URL}\n", "filePath": "f"}, "httpUrl"),
    ({"httpUrl": "x.blob.core.windows.net/c/b", "filePath": "f"}, "httpUrl"),
    ({"httpUrl": "file:///etc/passwd", "filePath": "f"}, "httpUrl"),
    ({"httpUrl": "http://[", "filePath": "f"}, "httpUrl"),
    ({"storageContainerUrl": f'"{URL}"'}, "storageContainerUrl"),
]


@pytest.mark.parametrize(("file", "name"), WRONG)
def test_a_file_that_cannot_be_is_refused_in_every_kind_of_task(file: dict[str, Any], name: str) -> None:
    task = {"id": "t", "commandLine": "x", "resourceFiles": [file]}
    auto = {"poolInfo": {"autoPoolSpecification": {"pool": {**POOL, "startTask": task}}}}
    schedule = {"recurrenceInterval": "PT1H"}
    for check, body in (
        (pools.check_new, {**POOL, "startTask": task}),
        (pools.check_new, {"vmSize": "standard_d2s_v3", "startTask": task}),
        (jobs.check_new, {**JOB, "jobManagerTask": task}),
        (jobs.check_new, {**JOB, "jobPreparationTask": task}),
        (jobs.check_new, {**JOB, **PREPARED, "jobReleaseTask": task}),
        (jobs.check_new, {**JOB, **auto}),
        (
            schedules.check_new,
            {"id": "s", "schedule": schedule, "jobSpecification": {**JOB, "jobPreparationTask": task}},
        ),
    ):
        with pytest.raises(BatchError) as caught:
            check(body)
        assert caught.value.code in {"InvalidPropertyValue", "MissingRequiredProperty"}
        assert dict(caught.value.values)["PropertyName"] == name
        assert "hunter2" not in str(caught.value)


@pytest.mark.asyncio
async def test_a_task_with_a_file_that_cannot_be_is_not_added(service: Service) -> None:
    await service.pool()
    service.job()
    with refused("InvalidPropertyValue"):
        service.task("t", resourceFiles=[WRONG[0][0]])
    settings = {"coordinationCommandLine": "x", "commonResourceFiles": [WRONG[0][0]]}
    with refused("InvalidPropertyValue"):
        service.task("t", multiInstanceSettings=settings)


@pytest.mark.parametrize(
    "file",
    [
        {"httpUrl": URL, "filePath": "a/b"},
        {"httpUrl": "HTTP://127.0.0.1:1/it's a blob", "filePath": "f", "fileMode": "0755"},
        {"storageContainerUrl": "https://x.blob.core.windows.net/c", "blobPrefix": "a/"},
        {"autoStorageContainerName": "c", "filePath": "folder"},
    ],
)
def test_files_that_can_be(file: dict[str, Any]) -> None:
    pools.check_fields({"startTask": {"commandLine": "x", "resourceFiles": [file]}}, {})


def test_users_of_pools_have_names_of_twenty_characters() -> None:
    def body(name: str) -> dict[str, Any]:
        return {**POOL, "userAccounts": [{"name": name, "password": "hunter2"}]}

    for name in ("u" * 20, "ü"):
        pools.check_new(body(name))
    for name in ("u" * 21, ""):
        with pytest.raises(BatchError) as caught:
            pools.check_new(body(name))
        assert caught.value.values[0] == ("PropertyName", "name")
        assert "hunter2" not in str(caught.value)
