"""Application packages on nodes: the folders they lie in and the variables that lead there."""

from __future__ import annotations

import re
from datetime import datetime, timezone

__all__ = ["folder_name", "variables"]

_PREFIX = "AZ_BATCH_APP_PACKAGE_"
_FLATTENED = re.compile(r"[.#-]")


def folder_name(application_id: str, version: str, modified: float) -> str:
    """The folder below `applications`: id, version and the package's time.

    Recorded is the time to the minute; here it is to the second, so that a newer package gets a new folder.
    """
    when = datetime.fromtimestamp(modified, timezone.utc).strftime("%Y-%m-%d-%H-%M-%S")
    return f"{application_id}{version}{when}"


def variables(application_id: str, version: str | None, folder: str) -> dict[str, str]:
    """The variables of a reference on Linux; `version` is the one that it names, None for the default.

    Documented: `AZ_BATCH_APP_PACKAGE_<id>_<version>`, without the version for references that name none, with
    periods, hyphens and number signs as underscores. Node agents since 1.8.2 set the name as it is and in
    upper case.
    """
    name = application_id if version is None else f"{application_id}_{version}"
    flat = _FLATTENED.sub("_", name)
    return {_PREFIX + flat: folder, _PREFIX + flat.upper(): folder}
