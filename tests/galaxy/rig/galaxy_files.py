"""Galaxy's configuration: galaxy.yml, job_conf.yml, the tools and their list."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import yaml

from rig.plan import filled, tool_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rig.plan import Plan

TOOLS = Path(__file__).parents[1] / "tools"
UPLOADS = "uploads"
"""The environment of Galaxy's own tools, above all of uploads: this machine itself."""

_SQLITE = "isolation_level=IMMEDIATE&timeout=120"
"""Writers wait for each other, on a busy machine for longer than the 5 s after which SQLite gives up."""


def write_files(folder: Path, plan: Plan, addresses: Mapping[str, str], admin_key: str) -> Path:
    """Write all of it into `folder`.

    Args:
        folder: Galaxy's own.
        plan: Runners and environments.
        addresses: What stands for `{amqp_url}` and `{galaxy_url}`.
        admin_key: The API key of Galaxy's administrator.

    Returns:
        galaxy.yml.
    """
    _write_tools(folder, plan)
    _write_yaml(folder / "job_conf.yml", _job_conf(plan, addresses))
    (folder / "tables.xml").write_text("<tables/>")
    settings = _settings(folder, addresses["galaxy_url"], admin_key)
    return _write_yaml(folder / "galaxy.yml", {"galaxy": settings})


def _write_yaml(path: Path, document: Any) -> Path:
    path.touch(mode=0o600)  # passwords and keys are in it
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _write_tools(folder: Path, plan: Plan) -> None:
    tools = folder / "tools"
    tools.mkdir()
    toolbox = ET.Element("toolbox")
    section = ET.SubElement(toolbox, "section", id="tests", name="Tests")
    for source in sorted(TOOLS.glob("*.xml")):
        for environment in plan.environments:
            # Our own files: no stranger's XML is read here.
            tool = ET.parse(source)  # noqa: S314
            name = tool_id(source.stem, environment.name)
            tool.getroot().set("id", name)
            tool.write(tools / f"{name}.xml")
            ET.SubElement(section, "tool", file=str(tools / f"{name}.xml"))
    ET.ElementTree(toolbox).write(folder / "tool_conf.xml")


def _job_conf(plan: Plan, addresses: Mapping[str, str]) -> dict[str, Any]:
    runners: dict[str, Any] = {"local": {"load": "galaxy.jobs.runners.local:LocalJobRunner", "workers": 2}}
    for runner in plan.runners:
        runners[runner.name] = {"load": runner.load, **filled(dict(runner.settings), addresses)}
    environments: dict[str, Any] = {UPLOADS: {"runner": "local"}}
    mapped = []
    for environment in plan.environments:
        params = filled(dict(environment.params), addresses)
        environments[environment.name] = {"runner": environment.runner, **params}
        names = (tool_id(source.stem, environment.name) for source in TOOLS.glob("*.xml"))
        mapped += [{"id": name, "environment": environment.name} for name in sorted(names)]
    return {
        "runners": runners,
        "execution": {"default": UPLOADS, "environments": environments},
        "tools": mapped,
    }


def _settings(folder: Path, url: str, admin_key: str) -> dict[str, Any]:
    return {
        "config_dir": str(folder),
        "data_dir": str(folder / "data"),
        "database_connection": f"sqlite:///{folder}/galaxy.sqlite?{_SQLITE}",
        "amqp_internal_connection": f"sqlalchemy+sqlite:///{folder}/control.sqlite?{_SQLITE}",
        "tool_config_file": str(folder / "tool_conf.xml"),
        "job_config_file": str(folder / "job_conf.yml"),
        "bootstrap_admin_api_key": admin_key,
        "id_secret": secrets.token_hex(16),
        "galaxy_infrastructure_url": url,
        # By a worker that is there already: a process for each job would first import Galaxy.
        "enable_celery_tasks": True,
        "metadata_strategy": "directory_celery",
        # Looks for what was done, each every second unless it is told.
        "job_handler_monitor_sleep": 0.2,
        "job_runner_monitor_sleep": 0.2,
        # Each of these would ask the network.
        "conda_auto_init": False,
        "conda_auto_install": False,
        "involucro_auto_init": False,
        "enable_mulled_containers": False,
        "container_resolvers": [{"type": "explicit"}],
        "enable_tool_shed_check": False,
        "biotools_use_api": False,
        "tool_data_table_config_path": str(folder / "tables.xml"),  # one of its own is read from a web site
        "watch_tools": "false",
        "watch_core_config": "false",
    }
