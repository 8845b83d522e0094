"""What a dry run of TorchX holds: azbatch's plan."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from azbatch_torchx import app_ids, stamp

if TYPE_CHECKING:
    from azbatch_core import Plan
    from azbatch_torchx.building import Images
    from azbatch_torchx.workspace import Archive


class Request:
    """A planned app. Prints as the plan; holds no secret in clear text.

    Attributes:
        plan: Exactly what will be sent.
        notes: What the user should know, besides the plan's own warnings.
        archives: Workspaces that must be in the account's storage first.
        images: Images that must be pushed first.
    """

    def __init__(
        self,
        plan: Plan,
        notes: tuple[str, ...] = (),
        *,
        archives: tuple[Archive, ...] = (),
        images: Images | None = None,
    ) -> None:
        self.plan = plan
        self.notes = notes
        self.archives = archives
        self.images = images or {}

    @property
    def app_id(self) -> str:
        """The id that the app will have."""
        return app_ids.join(self.plan.account, self.plan.job_id)

    def __str__(self) -> str:
        app = stamp.read(self.plan.job.metadata)
        commands = {role.task: shlex.join((role.entrypoint, *role.args)) for role in app.roles} if app else {}
        table = self.plan.to_table(warnings=True, formula=False, commands=commands)
        sent = [f"{one.words} of the workspace, unpacked where the command starts" for one in self.archives]
        return "\n".join([f"app  {self.app_id}", table, *(f"note: {note}" for note in (*self.notes, *sent))])
