"""From `containerSettings` to the arguments of `docker create`. Pure."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from azbatch_core.local.runtime import commandline
from azbatch_core.local.runtime.failures import TaskFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from azbatch_core.local.runtime.base import Launch

STATE_LABEL = "azbatch.state"
"""The label by which a later service finds the containers of a state directory."""

# Documented: "--gpus" is refused, Batch picks the runtime by itself.
_DENIED = ("--gpus", "--runtime")
_MOUNTS = ("--mount", "--volume", "-v", "--device", "--tmpfs")
# The grammar of github.com/distribution/reference: domain and port, path in lower case, tag, digest.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_STEP = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(?:{_LABEL}(?:\.{_LABEL})*|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?/)?{_STEP}(?:/{_STEP})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9_+.-]*:[0-9A-Fa-f]{32,})?"
)
_LONGEST_NAME = 255
_NETWORK = ("--network", "--net")
_ORDINARY = ("PATH", "HOME", "PWD", "USER")
_NAME = re.compile(r"[A-Za-z_][^\s=]*")
_LONGEST_LINE = 60_000  # docker reads lines of 64 KiB at most
_DEFAULT_SERVER = "docker.io"
_BATCH_FOLDERS = {
    "shared": ("AZ_BATCH_NODE_SHARED_DIR",),
    "startup": ("AZ_BATCH_NODE_STARTUP_DIR", "AZ_BATCH_NODE_STARTUP_WORKING_DIR"),
    "vfsmounts": ("AZ_BATCH_NODE_MOUNTS_DIR",),
    "task": (
        "AZ_BATCH_TASK_DIR",
        "AZ_BATCH_TASK_WORKING_DIR",
        "AZ_BATCH_CERTIFICATES_DIR",
        "AZ_BATCH_TASK_SHARED_DIR",
    ),
    "jobprep": ("AZ_BATCH_JOB_PREP_DIR", "AZ_BATCH_JOB_PREP_WORKING_DIR"),
    "applications": (),
}
_PACKAGE = "AZ_BATCH_APP_PACKAGE_"


@dataclass(frozen=True)
class Registry:
    """How to get an image.

    Attributes:
        server: Where it is.
        username: None for what the daemon's machine is logged in as, or nobody.
        password: Never shown.
    """

    server: str
    username: str | None
    password: str

    def __repr__(self) -> str:
        return f"Registry({self.server}, {self.username})"


def registry_of(image: str, own: Mapping[str, Any] | None, shared: Sequence[Mapping[str, Any]]) -> Registry:
    """The registry of an image: the task's own, else the pool's of that name, else without a login.

    Names are compared with case, as the service does. An identity stands for whatever account the machine is
    logged in with.
    """
    first, slash, _ = image.partition("/")
    qualified = bool(slash) and (first == "localhost" or "." in first or ":" in first)
    server = first if qualified else _DEFAULT_SERVER
    for given in (*([own] if own is not None else ()), *shared):
        if _server(given) == server:
            return Registry(server, given.get("username"), str(given.get("password") or ""))
    return Registry(server, None, "")


def _server(given: Mapping[str, Any]) -> str:
    text = str(given.get("registryServer") or _DEFAULT_SERVER)
    return text.removeprefix("https://").removeprefix("http://").rstrip("/")


def invalid(message: str) -> TaskFailure:
    """The failure of settings that are not valid; `message` is Docker's, or says it as Docker would."""
    return TaskFailure("ContainerInvalidSettings", Message=message)


def check_reference(image: str) -> None:
    """Refuse what is no reference of an image, as Docker would without asking anybody.

    Raises:
        TaskFailure: ContainerInvalidImage.
    """
    name = image.partition("@")[0]
    if not _REFERENCE.fullmatch(image) or len(name) > _LONGEST_NAME:
        raise TaskFailure("ContainerInvalidImage", ImageName=image, Message="invalid reference format")


def check(settings: Mapping[str, Any]) -> None:
    """Refuse settings that can be seen to be wrong without a daemon.

    Raises:
        TaskFailure: ContainerInvalidImage, ContainerInvalidSettings.
    """
    check_reference(str(settings.get("imageName") or ""))
    run_options(settings)
    mounted = _mounted(settings)
    if mounted is not None and "task" not in mounted and not _in_image_s_folder(settings):
        raise invalid("Without a mount of Task, workingDirectory must be containerImageDefault")


def _in_image_s_folder(settings: Mapping[str, Any]) -> bool:
    return str(settings.get("workingDirectory") or "").lower() == "containerimagedefault"


def run_options(settings: Mapping[str, Any]) -> list[str]:
    """`containerRunOptions` as arguments: split like a command line, nothing is expanded.

    Raises:
        TaskFailure: A quote is open, or Batch denies an option.
    """
    text = str(settings.get("containerRunOptions") or "").strip()
    try:
        options = commandline.split(text) if text else []
    except ValueError as error:
        raise invalid(str(error)) from error
    for option in options:
        if _names(option, _DENIED):
            raise invalid(f"The option {option.partition('=')[0]} is not supported in containerRunOptions")
    return options


def mount_options(settings: Mapping[str, Any]) -> list[str]:
    """The mounts and devices that `containerRunOptions` ask for, each as an option with its value.

    Raises:
        TaskFailure: As `run_options`.
    """
    return [
        option if "=" in option else f"{option} {value}"
        for option, value in pairwise([*run_options(settings), ""])
        if _names(option, _MOUNTS)
    ]


def create_arguments(  # noqa: PLR0917 - one caller, and all of it is needed
    launch: Launch, directory: Path, user: str, state: str, options: Sequence[str], names: Sequence[str]
) -> list[str]:
    """The arguments from `create` up to the image, without it.

    What Batch sets comes first, so that the user's options win over it; what only the local service needs
    comes last and wins. Host network: members of multi-instance tasks reach each other by their nodes'
    addresses, and every task reaches the storage of the local service.

    Args:
        launch: The try.
        directory: Its folder.
        user: `uid:gid` that the command runs as.
        state: Value of the label by which a later service finds the container.
        options: The user's, from `run_options`.
        names: `--env-file` and `--env` arguments, from `environment_arguments`.
    """
    settings = launch.container or {}
    arguments = ["create", "--pull", "never", "--log-driver", "none", "--user", user]
    if not any(_names(option, _NETWORK) for option in options):
        arguments += ["--network", "host"]
    mounted = _mounted(settings)
    if not _in_image_s_folder(settings):
        arguments += ["--workdir", f"{directory}/wd"]
    for path, read_only in _paths(launch, directory, mounted):
        arguments += ["--mount", mount(path, read_only=read_only)]
    return [*arguments, *names, *options, "--rm=false", "--restart=no", "--label", f"{STATE_LABEL}={state}"]


def container_environment(launch: Launch, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are set inside, of those that the command would have on the node itself.

    PATH, HOME, PWD and USER are the image's own unless the user set them; variables that name what is not
    mounted are left out ("Isolate container task").
    """
    own = {name for name, _ in launch.environment} | set(launch.extra_environment)
    inside = {name: value for name, value in environment.items() if name in own or name not in _ORDINARY}
    mounted = _mounted(launch.container or {})
    if mounted is None:
        return inside
    gone = {"AZ_BATCH_NODE_ROOT_DIR"}
    gone.update(name for source, names in _BATCH_FOLDERS.items() if source not in mounted for name in names)
    packages = "applications" in mounted
    return {
        name: value
        for name, value in inside.items()
        if name not in gone and (packages or not name.startswith(_PACKAGE))
    }


def environment_arguments(environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Variables as the text of an `--env-file`, and those that cannot be in one: more than a line, too long.

    Neither way shows values in the list of processes.
    """
    lines, rest = [], {}
    for name, value in environment.items():
        line = f"{name}={value}"
        plain = _NAME.fullmatch(name) and "\n" not in value and "\r" not in value
        if plain and len(line.encode(errors="replace")) < _LONGEST_LINE:
            lines.append(line + "\n")
        else:
            rest[name] = value
    return "".join(lines), rest


def mount(path: Path, *, read_only: bool) -> str:
    """A `--mount` of a folder at its own path."""
    fields = ["type=bind", f"source={path}", f"target={path}", *(["readonly"] if read_only else [])]
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(fields)
    return text.getvalue()


def _names(option: str, wanted: Sequence[str]) -> bool:
    return option.partition("=")[0] in wanted


def _mounted(settings: Mapping[str, Any]) -> dict[str, bool] | None:
    """The Batch folders that are mounted, and whether read-only; None for all of the root."""
    given = settings.get("containerHostBatchBindMounts")
    if given is None:
        return None
    return {str(entry.get("source") or "").lower(): bool(entry.get("isReadOnly")) for entry in given}


def _paths(
    launch: Launch, directory: Path, mounted: Mapping[str, bool] | None
) -> Iterator[tuple[Path, bool]]:
    root = launch.node.root
    if mounted is None:
        yield root, False
        return
    places = {
        "shared": root / "shared",
        "startup": root / "startup",
        "vfsmounts": root / "fsmounts",
        "task": directory,
        "applications": root / "applications",
    }
    if launch.job_prep_id is not None:
        places["jobprep"] = directory.parent / launch.job_prep_id
    for source, read_only in mounted.items():
        if source in places:
            yield places[source], read_only
