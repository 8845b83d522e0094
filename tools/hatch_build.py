"""Keeps the order in which pyproject.toml lists TorchX schedulers.

Every build backend sorts entry points by name, and TorchX takes the first scheduler as the default of
`torchx run`: sorted, that would be `aws_batch`.
"""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GROUP = "torchx.schedulers"


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling's own, without arguments
    """Puts the entry points back in order before the wheel is written."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's signature
        """Refill the sorted copy that the wheel's writer uses."""
        wanted = self.metadata.core.config["entry-points"][GROUP]
        copy = self.metadata.core.entry_points[GROUP]
        if dict(wanted) != dict(copy):
            raise RuntimeError(f"hatchling changed the entry points of {GROUP}, not only their order")
        copy.clear()
        copy.update(wanted)
