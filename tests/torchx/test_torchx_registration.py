"""With azbatch installed, TorchX lists what it ships as before, and `azure_batch`; from the built wheel."""

from __future__ import annotations

import importlib.util
import json
import logging
import subprocess
import sys
from importlib import metadata

import pytest
from torchx.schedulers import DEFAULT_SCHEDULER_MODULES, get_default_scheduler_name, get_scheduler_factories

from azbatch_torchx import compat

ALL = (
    *("local_docker", "local_cwd", "slurm", "kubernetes", "kubernetes_mcad"),
    *("aws_batch", "aws_sagemaker", "gcp_batch", "ray", "lsf", "azure_batch"),
)
SHIPPED = [name for name, module in DEFAULT_SCHEDULER_MODULES.items() if importlib.util.find_spec(module)]
LIST = """
import json, logging, sys
records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append(record.getMessage())
logging.getLogger().addHandler(Keep(logging.WARNING))
from torchx.schedulers import get_default_scheduler_name, get_scheduler_factories
names = list(get_scheduler_factories())
get_scheduler_factories()["azure_batch"]("session", image="x", me="y")
errors = []
try:
    from torchx.plugins import registry
    errors = [str(error) for error in registry().load_errors()]
except ImportError:
    pass
slow = [name for name in sys.modules if name.split(".")[0] in ("azure", "pydantic")]
print(json.dumps([names, get_default_scheduler_name(), records, errors, slow]))
"""


def test_the_wheel_keeps_the_order_of_the_entry_points() -> None:
    found = metadata.distribution("azbatch").entry_points
    assert tuple(entry.name for entry in found if entry.group == "torchx.schedulers") == ALL


def test_what_torchx_ships_and_ours_are_listed() -> None:
    assert list(get_scheduler_factories()) == [*SHIPPED, "azure_batch"]
    assert get_default_scheduler_name() == next(iter(DEFAULT_SCHEDULER_MODULES))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_others_work_as_before(name: str) -> None:
    module = DEFAULT_SCHEDULER_MODULES[name]
    before = _made(lambda: importlib.import_module(module).create_scheduler("session"))
    assert _made(lambda: get_scheduler_factories()[name]("session")) == before


def _made(make) -> tuple[type, str]:
    """What a factory gives: a scheduler's class and name, or why it gives none."""
    try:
        made = make()
    except Exception as error:  # noqa: BLE001  # some need packages that are not here, and one has a bug
        return type(error), str(error)
    return type(made), made.backend


def test_nothing_is_warned_of_and_nothing_slow_is_imported() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:azbatch_torchx", "-c", LIST],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    names, default, records, errors, slow = json.loads(ended.stdout.splitlines()[-1])
    assert names == [*SHIPPED, "azure_batch"]
    assert default == next(iter(DEFAULT_SCHEDULER_MODULES))
    assert (records, errors, slow, ended.stderr) == ([], [], [], "")


@pytest.mark.skipif(
    not importlib.util.find_spec("torchx.plugins"), reason="this line has no plugin namespace"
)
def test_with_entry_points_turned_off() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LIST],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"TORCHX_PLUGINS_SOURCE": "1"},
    )
    names, default, records, errors, _ = json.loads(ended.stdout.splitlines()[-1])
    assert names == [*SHIPPED, "azure_batch"]
    assert (default, records, errors) == (SHIPPED[0], [], [])


def test_two_lines_in_one_place_are_noticed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compat.warn_of_two_lines.cache_clear()
    compat.warn_of_two_lines()
    assert not caplog.records
    compat.warn_of_two_lines.cache_clear()
    monkeypatch.setattr(compat.metadata, "distributions", lambda name: [name])
    with caplog.at_level(logging.WARNING):
        compat.warn_of_two_lines()
        compat.warn_of_two_lines()
    assert [record.getMessage() for record in caplog.records] == [
        (
            "torchx and torchx-nightly are installed in one place and overwrite each other: uninstall both,"
            " then install one (with torchx-nightly, install azbatch without the extra [torchx])"
        )
    ]
    compat.warn_of_two_lines.cache_clear()
