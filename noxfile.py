"""Every check of the project: `nox` runs them all, `nox -s tests` one of them, `nox -l` lists them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import nox

AZURITE = "3.35.0"
SDK = "azure-batch==15.1.0"
CLIENTS = {
    "azure-batch-14": ["azure-batch==14.2.0"],
    "azure-batch-15": [SDK, "azure-identity", "aiohttp", "six"],
    "azure-cli": ["azure-cli==2.91.0"],
}
"""What the session `interop` plays with: a folder of packages for each client."""
TORCHX = {"stable": "torchx==0.7.0", "nightly": "torchx-nightly==2026.10.26"}
"""The lines of TorchX, which cannot be in one environment."""
PULSARS = ("0.15.15", "0.16.0")
"""The versions of pulsar-app that the adapter is for."""
GALAXY_RUNNERS = {"24.0": "24.0.3", "26.1": "26.1.2"}
"""The oldest and newest Galaxy, of which the session `pulsar` has what a job runner needs."""
GALAXY_PARTS = (
    *("app", "auth", "config", "data", "files", "job-execution", "job-metrics", "navigation", "objectstore"),
    *("schema", "tool-util", "tours", "util", "web-framework", "web-stack"),
)
"""Galaxy's packages, which do not ask for each other's version themselves."""
GALAXY = "galaxy==26.1.2"
GALAXY_OVERRIDE = "certifi>=2026.4"
"""In the place of the release that Galaxy's package pins, which no index has any more."""
PULSAR = "pulsar-app==0.15.15"
"""What runs on nodes; Galaxy brings its own build of the same, and both cannot be in one environment."""
RELAY = "pulsar-relay==0.2.1"
"""The server of Pulsar's relay mode."""
TORCH = "torch==2.13.0"
"""What the training in the tests of TorchX runs on."""
PARALLEL = ("-n", "2", "--dist", "loadfile")
"""Two at a time, file by file: most of the time is spent in waiting for processes to start."""

SUPPORTED = ("3.10", "3.11", "3.12", "3.13")

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = [
    "lint",
    "types",
    "imports",
    "tests",
    "contract",
    "interop",
    "torchx",
    "pulsar",
    "galaxy",
    "docs",
    "demo",
]
nox.options.reuse_existing_virtualenvs = True
os.environ.setdefault("UV_PYTHON_DOWNLOADS", "never")


def _runs(command: str, version: str) -> bool:
    """Whether `command` starts and is Python `version`; a version manager's shim may not."""
    found = shutil.which(command)
    if found is None:
        return False
    asked = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    return asked.returncode == 0 and asked.stdout.startswith(f"Python {version}.")


def _add_pyenv_to_path() -> None:
    """Put pyenv's Pythons on PATH, so that each is found under its own name."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    folders = [str(path) for version in SUPPORTED for path in sorted(versions.glob(f"{version}.*/bin"))]
    os.environ["PATH"] = os.pathsep.join([*folders, os.environ["PATH"]])


_add_pyenv_to_path()
PYTHONS = [version for version in SUPPORTED if _runs(f"python{version}", version)]
MAIN = "3.11" if "3.11" in PYTHONS else PYTHONS[0]


def _install_azurite(session: nox.Session) -> None:
    """Have Microsoft's storage emulator, if npm is there; where the tests look for it."""
    folder = Path(session.cache_dir) / "azurite"
    if not (folder / "node_modules" / ".bin" / "azurite-blob").exists() and shutil.which("npm"):
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), f"azurite@{AZURITE}"]
        session.run(*command, external=True)
    session.env["AZBATCH_TEST_AZURITE"] = str(folder / "node_modules" / ".bin" / "azurite-blob")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Unit tests: no sockets, no sleeping, seconds."""
    session.install("-e", ".[dev]")
    session.run("pytest", "tests/unit", *PARALLEL, *session.posargs)


@nox.session(python=MAIN)
def contract(session: nox.Session) -> None:
    """Unit and contract tests with coverage: the real SDK against the local service over HTTP."""
    session.install("-e", ".[dev]")
    _install_azurite(session)
    session.run("coverage", "erase")
    covered = ("tests/unit", "tests/contract", "--cov", "--cov-report=")
    session.run("pytest", *covered, *PARALLEL, *session.posargs)
    session.run("coverage", "report", "--skip-covered", "--fail-under=93")
    client_half = "azbatch_core/specs/*,azbatch_core/plan/*,azbatch_core/service/*"
    session.run("coverage", "report", f"--include={client_half}", "--fail-under=95", "--format=total")
    # A minute of random requests, ten times as many as in the run above.
    session.run("pytest", "tests/contract/test_wire_fuzz.py", env={"AZBATCH_FUZZ": "10000"})


@nox.session(python=MAIN)
def interop(session: nox.Session) -> None:
    """Clients that are not ours on the local service: `az batch`, Node.js, azure-batch 14, the SDK's own."""
    session.install("-e", ".[dev]")
    folder = Path(session.cache_dir).absolute() / "clients"
    folder.mkdir(parents=True, exist_ok=True)
    for name, packages in CLIENTS.items():
        session.install("--target", str(folder / name), *packages)
    _unpack_source(session, folder)
    npm = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), "@azure/batch@10.2.0"]
    session.run(*npm, external=True)
    session.env["AZBATCH_TEST_CLIENTS"] = str(folder)
    session.run("pytest", "tests/interop", *session.posargs)


def _unpack_source(session: nox.Session, folder: Path) -> None:
    """Have the SDK's source distribution, with its tests and samples."""
    target = folder / "azure-batch-source"
    if target.exists():
        return
    name, version = "azure-batch", SDK.partition("==")[2]
    session.install("pip")
    words = ["pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), SDK]
    session.run("python", "-m", *words)
    archive = next(folder.glob(f"{name.replace('-', '?')}-{version}.tar.gz"))
    shutil.unpack_archive(archive, folder, filter="data")
    (folder / archive.name.removesuffix(".tar.gz")).rename(target)


@nox.session(python=MAIN)
@nox.parametrize("line", list(TORCHX))
def torchx(session: nox.Session, line: str) -> None:
    """The TorchX adapter on one line of TorchX, installed from the built wheel: it decides what is listed."""
    session.install(
        "pytest", "pytest-asyncio", "pytest-mock", "pytest-randomly", "pytest-xdist", TORCHX[line]
    )
    _install_wheel(session)
    # By pip, which takes a build without CUDA where the machine offers one.
    session.install("pip")
    session.run("python", "-m", "pip", "install", "--quiet", TORCH, "numpy")
    session.run("pytest", "tests/torchx", *PARALLEL, *session.posargs)


def _install_wheel(session: nox.Session) -> Path:
    """Build azbatch's wheel and install it with the local service; the wheel."""
    folder = Path(session.create_tmp()).absolute()
    session.install("hatchling")
    session.run("python", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    wheel = max(folder.glob("azbatch-*.whl"), key=lambda path: path.stat().st_mtime)
    session.install(f"azbatch[local] @ {wheel.as_uri()}")
    session.install("--force-reinstall", "--no-deps", str(wheel))  # the same version may be an older tree
    return wheel


@nox.session(python=MAIN)
@nox.parametrize("version", PULSARS)
def pulsar(session: nox.Session, version: str) -> None:
    """The Pulsar adapter with one version of Pulsar, in Docker and without, from the built wheel."""
    plugins = ("pytest-asyncio", "pytest-randomly", "pytest-xdist")
    session.install("uv", "pytest", *plugins, f"pulsar-app=={version}", "kombu")
    wheel = _install_wheel(session)
    override = _galaxy_override(session)
    for name, release in GALAXY_RUNNERS.items():
        packages = [f"galaxy-{part}=={release}" for part in GALAXY_PARTS]
        words = ["--override", override, "--reinstall-package", "azbatch", "pulsar-galaxy-lib<0.16"]
        session.env[f"AZBATCH_TEST_GALAXY_{name.replace('.', '')}"] = _environment(
            session, f"galaxy-runner-{name}", *words, *packages, f"azbatch @ {wheel.as_uri()}"
        )
    session.env["AZBATCH_TEST_RELAY"] = _environment(session, "relay", RELAY)
    session.run("pytest", "tests/pulsar", *PARALLEL, "-W", "ignore::DeprecationWarning", *session.posargs)


@nox.session(python=MAIN)
def galaxy(session: nox.Session) -> None:
    """The Galaxy adapter in a real Galaxy, with a broker and a local Batch service, from the built wheel."""
    session.install("uv", "bioblend", "kombu", "pytest", "pytest-asyncio", "pytest-randomly")
    wheel = _install_wheel(session)
    words = ["--override", _galaxy_override(session), "--reinstall-package", "azbatch"]
    session.env["AZBATCH_TEST_GALAXY"] = _environment(
        session, "galaxy", *words, GALAXY, f"azbatch @ {wheel.as_uri()}"
    )
    session.env["AZBATCH_TEST_PULSAR"] = _environment(session, "pulsar", PULSAR, "kombu")
    session.env["AZBATCH_TEST_RELAY"] = _environment(session, "relay", RELAY)
    session.run("pytest", "tests/galaxy", *session.posargs)


def _galaxy_override(session: nox.Session) -> str:
    """The file with what Galaxy's own pins are replaced by."""
    override = Path(session.cache_dir).absolute() / "galaxy-override.txt"
    override.write_text(f"{GALAXY_OVERRIDE}\n")
    return str(override)


def _environment(session: nox.Session, name: str, *words: str) -> str:
    """Have an environment beside the session's, with what `uv pip install` is told; its folder."""
    folder = Path(session.cache_dir).absolute() / f"{name}-{session.python}"
    if not folder.exists():
        session.run("uv", "venv", "--quiet", "--python", f"python{MAIN}", str(folder))
    session.run("uv", "pip", "install", "--quiet", "--python", str(folder), *words)
    return str(folder)


@nox.session(python=MAIN)
def lint(session: nox.Session) -> None:
    """Ruff's rules and format."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(python=MAIN)
def types(session: nox.Session) -> None:
    """Mypy, strict, on the packages and on the tests of the public API."""
    session.install("-e", ".[dev]")
    session.run("mypy")
    session.run("mypy", "tests/typing")


@nox.session(python=MAIN)
def imports(session: nox.Session) -> None:
    """The arrows between the packages."""
    session.install("-e", ".[dev]")
    session.run("lint-imports")


@nox.session(python=MAIN)
def docs(session: nox.Session) -> None:
    """The documentation, built with warnings as errors into ``site/``."""
    session.install("-e", ".[local]", "-r", "docs/requirements.txt")
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-b", "html", "docs", "site")


@nox.session(python=MAIN)
def demo(session: nox.Session) -> None:
    """The main job on a local service of its own, from the installed package, as the README runs it."""
    session.install(".[local]")
    state = session.create_tmp()
    session.env["AZBATCH_LOCAL_DIR"] = str(Path(state) / "local")
    session.env["AZBATCH_CONFIG"] = str(Path(state) / "config.toml")
    try:
        session.run("azbatch", "submit", "examples/pi.yaml", "--follow")
    finally:
        session.run("azbatch", "local", "stop")


@nox.session(python=MAIN)
def bench(session: nox.Session) -> None:
    """Measured figures, printed; nothing is asserted."""
    session.install("-e", ".[dev]")
    session.run("python", "benchmarks/run.py", *session.posargs)
