"""Images made of this machine's own programs: one with Pulsar, one for tools, one that has no bash.

As a program: has them in the daemon at the address that is its argument.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker_daemon import DockerPlace

PULSAR, TOOL, NO_BASH = "pulsar-here:1", "tool-here:1", "no-bash-here:1"
_DISTRIBUTIONS = ("pulsar-app", "kombu")
_APPLETS = (
    "sh cat chmod cp date dd dirname env find head hostname id ln ls mkdir mv printf ps pwd rm sed sleep"
)
_APPLETS += " sort tail test touch tr wc which"
_LEFT_OUT = re.compile(r"site-packages|test|tests|idlelib|tkinter|turtledemo|ensurepip|config-.*|lib2to3")


def make_images(place: DockerPlace | _Daemon) -> None:
    """Have the three images in the daemon."""
    base = _busybox()
    place.docker("import", "-", NO_BASH, given=_packed(base))
    tool = {**base, **_with_libraries([Path(str(shutil.which("bash")))], {}), **_python()}
    tool["/bin/bash"] = Path(str(shutil.which("bash")))
    place.docker("import", "-", TOOL, given=_packed(tool))
    place.docker("import", "-", PULSAR, given=_packed({**tool, **_pulsar()}))
    # As images of the wild, they have their modules compiled.
    _run_once(place, TOOL, "import json, os, re, sys")
    _run_once(place, PULSAR, "import kombu, pulsar.client, pulsar.main, pulsar.scripts.submit_util, requests")


def _run_once(place: DockerPlace | _Daemon, image: str, code: str) -> None:
    """Have what Python writes beside its modules in the image."""
    place.docker("run", "--name", "once", "--network", "host", image, "python3", "-c", code)
    place.docker("commit", "once", image)
    place.docker("rm", "once")


def _busybox() -> dict[str, Path | bytes | str]:
    """The programs of busybox, which need no library; a text is a link."""
    found: dict[str, Path | bytes | str] = {"/bin/busybox": Path(str(shutil.which("busybox")))}
    found.update({f"/bin/{name}": "busybox" for name in _APPLETS.split()})
    found["/usr/bin/env"] = "/bin/busybox"
    return found


def _python() -> dict[str, Path | bytes | str]:
    """This Python without what is installed in it, where it lies here."""
    library = Path(sys.base_prefix, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}")
    program = Path(sys.executable).resolve()
    files = [
        path
        for part in library.iterdir()
        if not _LEFT_OUT.fullmatch(part.name)
        for path in ([part] if part.is_file() else part.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    ]
    native = [path for path in files if path.suffix == ".so"]
    return {
        **{str(path): path for path in files},
        **_with_libraries([program, *native], {}),
        str(program): program,
        "/usr/bin/python": str(program),
        "/usr/bin/python3": str(program),
    }


def _pulsar() -> dict[str, Path | bytes | str]:
    """Pulsar and what it needs, in that Python; its programs on PATH."""
    site = Path(
        sys.base_prefix, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages"
    )
    found: dict[str, Path | bytes | str] = {}
    native: list[Path] = []
    for distribution in _needed():
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            if path.suffix == ".pyc" or not path.is_file():
                continue
            if path.parent.name == "bin":
                text = path.read_text(errors="replace").partition("\n")[2]
                found[f"/usr/bin/{path.name}"] = f"#!/usr/bin/python3\n{text}".encode()
            elif ".." not in file.parts:
                found[f"{site}/{file}"] = path
                native += [path] if path.suffix == ".so" else []
    return {**found, **_with_libraries(native, {})}


def _needed() -> Iterator[metadata.Distribution]:
    """Pulsar's distribution and all that it requires, as far as they are installed."""
    seen: set[str] = set()
    waiting = list(_DISTRIBUTIONS)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system, or an extra
        yield distribution
        wanted = (text for text in distribution.requires or () if "extra ==" not in text)
        waiting += [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in wanted]


def _with_libraries(
    programs: list[Path], found: dict[str, Path | bytes | str]
) -> dict[str, Path | bytes | str]:
    """The shared libraries that programs ask the loader for, where it looks for them."""
    for start in range(0, len(programs), 100):
        words = ["ldd", *map(str, programs[start : start + 100])]
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        for path in re.findall(r"(?:=> |\t)(/\S+) \(0x", said):
            found[path] = Path(path)
    return found


def _packed(files: dict[str, Path | bytes | str]) -> bytes:
    """A file system as `docker import` takes it."""
    with io.BytesIO() as packed:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name in ("tmp", "root"):
                folder = tarfile.TarInfo(name)
                folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
                tar.addfile(folder)
            for name, content in files.items():
                entry = tarfile.TarInfo(name.lstrip("/"))
                entry.mode = 0o755
                if isinstance(content, str):
                    entry.type, entry.linkname = tarfile.SYMTYPE, content
                    tar.addfile(entry)
                    continue
                data = content if isinstance(content, bytes) else content.resolve().read_bytes()
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        return packed.getvalue()


class _Daemon:
    """What is asked of `DockerPlace` above, in a Python that has nothing for tests."""

    def __init__(self, host: str) -> None:
        self._host = host

    def docker(self, *words: str, given: bytes | None = None) -> None:
        command = ["docker", "--host", self._host, *words]
        subprocess.run(command, input=given, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    make_images(_Daemon(sys.argv[1]))
