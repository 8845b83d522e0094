"""What becomes of a workspace: an archive beside the image, or an image with it inside, as TorchX makes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from azbatch_core import SpecError
from azbatch_torchx import workspace as ws

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_torchx.images import DockerImages
    from azbatch_torchx.workspace import Archive

LOG = logging.getLogger("azbatch")
AUTO, ARCHIVE, IMAGE, NONE = "auto", "archive", "image", "none"
FORMS: Final = (AUTO, ARCHIVE, IMAGE, NONE)
Images = dict[str, tuple[str, str]]
"""Images to push: of each id the repository and the tag."""


class Workspaces:
    """The workspaces of one scheduler, between TorchX's build and its dry run of the app."""

    def __init__(self) -> None:
        self._archives: dict[str, Archive] = {}
        self._docker: DockerImages | None = None

    def build(self, role: Any, workspace: object, cfg: Mapping[str, Any], *, has_storage: bool) -> None:
        """Make what the role's nodes get of a workspace, and note it in the role.

        Raises:
            SpecError: What was asked for by name cannot be had.
        """
        form = str(cfg.get("workspace") or AUTO)
        if form not in FORMS:
            raise SpecError(f"workspace={form} is none of {', '.join(FORMS)}", field="workspace")
        if form == NONE:
            return
        if form == IMAGE and not cfg.get("image_repo"):
            raise SpecError(
                "workspace=image needs image_repo, where the image is pushed to", field="workspace"
            )
        if form == IMAGE or (form == AUTO and cfg.get("image_repo")):
            trouble = self._images.trouble()
            if trouble is None:
                self._images.build_workspace_and_update_role(role, str(workspace), cfg)
                return
            if form == IMAGE:
                raise SpecError(f"workspace=image needs Docker: {trouble}", field="workspace")
            LOG.info("no image is built for image_repo, the workspace goes as an archive: %s", trouble)
        self._pack(role, workspace, forced=form == ARCHIVE, has_storage=has_storage)

    def _pack(self, role: Any, workspace: object, *, forced: bool, has_storage: bool) -> None:
        folder = ws.folder_of(workspace)
        if folder is None:
            raise SpecError(
                f"the workspace {workspace} is no folder of this machine",
                field="workspace",
                hint='name another, or --workspace="" for none',
            )
        trouble = None if has_storage else "the account has no storage, so the workspace is not sent"
        if trouble is None:
            try:
                archive = ws.pack(folder, bounded=not forced)
            except ws.TooLargeError as error:
                trouble = str(error)
            except OSError as error:
                raise SpecError(f"the workspace {folder} cannot be read: {error}") from error
            else:
                role.metadata.pop(ws.METADATA, None)
                if archive is not None:
                    self._archives[archive.name] = archive
                    role.metadata[ws.METADATA] = archive.name
        if trouble is not None and forced:
            raise SpecError(trouble, field="workspace")
        if trouble is not None:
            LOG.warning("%s", trouble)

    @property
    def _images(self) -> DockerImages:
        if self._docker is None:
            from azbatch_torchx.images import DockerImages

            self._docker = DockerImages()
        return self._docker

    def archives(self, app: Any) -> tuple[Archive, ...]:
        """What the roles of an app need in storage."""
        names = {role.metadata.get(ws.METADATA) for role in app.roles}
        return tuple(archive for name, archive in self._archives.items() if name in names)

    def to_push(self, app: Any, cfg: Mapping[str, Any]) -> Images:
        """The images that were built for an app's roles; the roles name their future places from now on."""
        return dict(self._images.dryrun_push_images(app, cfg)) if cfg.get("image_repo") else {}


def push(images: Images) -> dict[str, str]:
    """Push images; for each place with its tag, the same with its digest, which never means another image.

    Raises:
        SpecError: The registry did not take one.
    """
    if not images:
        return {}
    from azbatch_torchx.images import DockerImages

    pusher = DockerImages()
    try:
        pusher.push_images(images)
        return {f"{repo}:{tag}": pusher.pinned(image, repo, tag) for image, (repo, tag) in images.items()}
    except Exception as error:  # docker's and requests' own, and RuntimeError, by TorchX
        raise SpecError(f"the image was not pushed: {error}", field="image_repo") from error
