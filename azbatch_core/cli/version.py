"""`azbatch version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import click

from azbatch_core import __version__
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import print_json

_PARTS = ("azure-batch", "azure-identity", "azure-storage-blob", "pydantic", "click")
_EXTRAS = {"local": "uvicorn", "torchx": "torchx", "pulsar": "pulsar-app", "arm": "azure-mgmt-batch"}


@command("version", account=False)
@json_option
def version(*, as_json: bool) -> None:
    """Print the versions of azbatch and what it stands on, and which extras are there: for a bug report."""
    parts = {name: _installed(name) for name in _PARTS}
    extras = {extra: _installed(package) for extra, package in _EXTRAS.items()}
    if as_json:
        print_json(
            {"azbatch": __version__, "python": platform.python_version(), "packages": parts, "extras": extras}
        )
        return
    click.echo(f"azbatch {__version__}")
    click.echo(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for name, found in parts.items():
        click.echo(f"{name} {found or 'missing'}")
    there = ", ".join(extra for extra, found in extras.items() if found) or "none"
    click.echo(f"extras: {there}")


def _installed(package: str) -> str | None:
    try:
        return installed(package)
    except PackageNotFoundError:
        return None
