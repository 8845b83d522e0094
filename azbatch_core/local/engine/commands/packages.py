"""The façade's calls on applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine.commands.base import Commands
from azbatch_core.local.errors import BatchError
from azbatch_core.local.store import applications

if TYPE_CHECKING:
    from azbatch_core.local.store.applications import Application
    from azbatch_core.local.store.records import Doc

__all__ = ["PackageCommands"]


class PackageCommands(Commands):
    """Applications."""

    def page(self) -> list[Doc]:
        """All applications, in the order of their ids."""
        return [_document(found) for found in applications.read_all(self.account.settings.state_dir)]

    def get(self, application_id: str) -> Doc:
        """An application.

        Raises:
            BatchError: ApplicationNotFound.
        """
        found = applications.find(self.account.settings.state_dir, application_id)
        if found is None:
            raise BatchError("ApplicationNotFound")
        return _document(found)


def _document(found: Application) -> Doc:
    return {"id": found.id, "displayName": found.display_name, "versions": list(found.versions)}
