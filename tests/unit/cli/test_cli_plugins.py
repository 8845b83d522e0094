"""Commands that an adapter registers: in help and completion, called, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
ADAPTERS = [str(ROOT / "adapters" / name) for name in ("pulsar", "torchx")]
MODULE = """
import click

@click.group("zoo", short_help="Animals.")
def zoo():
    "Animals of all kinds."

@zoo.command("feed")
@click.argument("animal")
def feed(animal):
    "Feed an animal."
    click.echo(f"fed the {animal}")
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Run `azbatch` where its distribution registers what is given."""

    def call(*words: str, registers: str, **variables: str) -> tuple[int, str, str]:
        folder = tmp_path / "azbatch-1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: azbatch\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[azbatch.commands]\n{registers}\n")
        (tmp_path / "zoo_module.py").write_text(MODULE)
        done = subprocess.run(
            [sys.executable, "-m", "azbatch_core.cli", *words],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT), *ADAPTERS]),
                **variables,
            },
        )
        return done.returncode, done.stdout, done.stderr

    return call


def test_a_registered_command_is_listed_and_called(run: Callable[..., Any]) -> None:
    registers = "zoo = zoo_module:zoo"
    code, out, _ = run("--help", registers=registers)
    assert code == 0
    assert "zoo         Animals." in out
    assert out.index("Run work") < out.index("zoo "), "the built-in commands come first"
    assert run("zoo", "feed", "cat", registers=registers) == (0, "fed the cat\n", "")
    assert "--debug" in run("zoo", "feed", "--help", registers=registers)[1]


def test_it_completes_and_is_suggested(run: Callable[..., Any]) -> None:
    asked = {"_AZBATCH_COMPLETE": "bash_complete", "COMP_WORDS": "azbatch zo", "COMP_CWORD": "1"}
    assert run(registers="zoo = zoo_module:zoo", **asked)[1] == "plain,zoo\n"
    code, _, err = run("zooo", registers="zoo = zoo_module:zoo")
    assert (code, "Did you mean 'zoo'?" in err) == (2, True)


@pytest.mark.parametrize("registers", ["zoo = no_such_module:zoo", "zoo = zoo_module:nothing"])
def test_one_that_cannot_be_imported_is_not_in_the_way(run: Callable[..., Any], registers: str) -> None:
    code, out, err = run("--help", registers=registers)
    assert (code, err) == (0, "")
    assert "zoo" not in out
    assert run("zoo", registers=registers)[0] == 2


def test_a_built_in_command_cannot_be_replaced_and_looks_nothing_up(run: Callable[..., Any]) -> None:
    code, out, _ = run("version", "--json", registers="version = zoo_module:zoo")
    assert (code, "azbatch" in json.loads(out)) == (0, True)
    assert (
        run("wait", "--help", registers="zoo = zoo_module:zoo", PYTHONVERBOSE="1")[2].count(
            "importlib.metadata'"
        )
        == 0
    )


def test_what_the_wheel_registers_is_light(run: Callable[..., Any]) -> None:
    """Help imports it: it may cost no more than click."""
    import tomli

    points = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["azbatch.commands"]
    registers = "\n".join(f"{name} = {target}" for name, target in points.items())
    code, out, err = run("--help", registers=registers, PYTHONVERBOSE="1")
    assert (code, "pulsar" in out) == (0, True)
    heavy = ("pydantic", "azure", "yaml", "rich", "azbatch_pulsar.destination", "pulsar")
    assert [name for name in heavy if f"import '{name}'" in err] == []
