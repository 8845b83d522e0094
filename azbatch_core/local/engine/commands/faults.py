"""The façade's calls on faults: trouble that is set, told and taken back while the service runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import striking
from azbatch_core.local.engine.commands.base import Commands
from azbatch_core.local.errors import BatchError
from azbatch_core.local.faults import FaultError, read_fault

if TYPE_CHECKING:
    from typing import Any

    from azbatch_core.local.store.records import Doc

__all__ = ["FaultCommands"]


class FaultCommands(Commands):
    """Faults. They are not kept: with the service's end they are gone."""

    def list(self) -> list[Doc]:
        """All of them in the order in which they were set, with their hits."""
        return [fault.document() for fault in self.account.faults]

    def add(self, document: Any) -> Doc:
        """Set a fault; on return it is live, unless it is to wait.

        Raises:
            BatchError: InvalidRequestBody: it cannot be; the reason says why.
        """
        try:
            fault = read_fault(document)
            self.account.faults.add(fault)
            striking.arm(self.account, fault)
        except FaultError as error:
            stop = "" if str(error).endswith("?") else "."
            raise BatchError("InvalidRequestBody", Reason=f"{error}{stop}") from None
        self.done()
        return fault.document()

    def remove(self, fault_id: str) -> None:
        """Take a fault back; what it has done stays.

        Raises:
            BatchError: ResourceNotFound.
        """
        if not self.account.faults.remove(fault_id):
            raise BatchError("ResourceNotFound", Reason=f"There is no fault {fault_id}.")

    def clear(self) -> int:
        """Take all faults back; how many there were."""
        return self.account.faults.clear()
