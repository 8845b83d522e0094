"""The package's public names: all there, and loaded only when used."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import azbatch_core


def loaded_by(statement: str, *packages: str) -> list[str]:
    """The modules of some packages that a fresh interpreter has after a statement."""
    code = f"import sys; {statement}; print(*(m for m in sys.modules if m.split('.')[0] in {packages!r}))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return answer.stdout.split()


def test_importing_the_package_imports_neither_azure_nor_pydantic() -> None:
    assert loaded_by("import azbatch_core", "azure", "pydantic") == []


def test_importing_the_client_imports_no_azure() -> None:
    assert loaded_by("from azbatch_core import AzureBatch", "azure", "requests") == []


@pytest.mark.parametrize("name", azbatch_core.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(azbatch_core, name) is not None
    assert name in dir(azbatch_core)


MODULES_FIRST = (
    "[import_module(f'azbatch_core.{m}') for m in ('plan', 'specs.load', 'service.handle', 'client')]"
)
NAMES_FIRST = "[getattr(azbatch_core, name) for name in azbatch_core.__all__]"


@pytest.mark.parametrize("order", ["pass", MODULES_FIRST, f"{NAMES_FIRST}; {MODULES_FIRST}"])
def test_every_public_name_is_the_object_of_its_home_whatever_was_imported_first(order: str) -> None:
    code = (
        f"from importlib import import_module; import azbatch_core; {order}\n"
        "for name, home in azbatch_core._HOME_OF.items():\n"
        "    there = getattr(import_module(home), name)\n"
        "    assert getattr(azbatch_core, name) is there, name\n"
        "assert {*azbatch_core._HOME_OF, '__version__'} == {*azbatch_core.__all__}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_public_name_is_the_name_of_a_module() -> None:
    modules = {found.name for found in pkgutil.iter_modules(azbatch_core.__path__)}
    assert not modules & set(azbatch_core.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = azbatch_core.no_such_name
