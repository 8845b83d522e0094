"""Failures on demand, with the details that a real one of that code has: which file, from where, to where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.local.runtime.failures import TaskFailure
from azbatch_core.local.runtime.storage import without_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from azbatch_core.local.runtime.base import Launch, LaunchFault

__all__ = ["scripted"]


def scripted(fault: LaunchFault, launch: Launch) -> TaskFailure:
    """The failure of a try that fails on demand: of its first file that can fail so."""
    before, after = _details(fault, launch)
    message = {"Message": fault.message} if fault.message else {}
    return TaskFailure(fault.code, **before, **message, **after)


def _details(fault: LaunchFault, launch: Launch) -> tuple[dict[str, str], dict[str, str]]:
    """What stands before the message, and what behind it."""
    if fault.step == "download":
        files = (*launch.common_resource_files, *launch.resource_files)
        return _of_download(fault.code, files)
    if fault.step == "upload" and launch.output_files:
        file = launch.output_files[0]
        url = ((file.get("destination") or {}).get("container") or {}).get("containerUrl") or ""
        return {"FilePath": str(file.get("filePattern") or ""), "Destination": without_query(url)}, {}
    if fault.step == "image" and launch.container is not None:
        return {"ImageName": str(launch.container.get("imageName") or "")}, {}
    return {}, {}


def _of_download(code: str, files: Iterable[Mapping[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    of_container = code.startswith("ResourceContainer")
    file = next((file for file in files if bool(file.get("httpUrl")) != of_container), None)
    file = file or next(iter(files), {})
    container = file.get("autoStorageContainerName")
    url = without_query(file.get("httpUrl") or file.get("storageContainerUrl") or "")
    if of_container:
        return {"AutoStorageContainerName": container} if container else {"BlobContainerUrl": url}, {}
    path = str(file.get("filePath") or file.get("blobPrefix") or "")
    return {"BlobSource": url or str(container)}, {"FilePath": path}
