"""Images with a workspace inside, as TorchX makes them. Importing this imports docker."""

from __future__ import annotations

from torchx.workspace.docker_workspace import DockerWorkspaceMixin


class DockerImages(DockerWorkspaceMixin):
    """TorchX's own building of images, apart from any scheduler."""

    def trouble(self) -> str | None:
        """Why there is no Docker here; None if there is."""
        try:
            self._docker_client.ping()
        except Exception as error:  # noqa: BLE001  # docker's own, and of what it uses
            return f"no Docker daemon answers ({str(error).splitlines()[0]})"
        return None

    def pinned(self, image: str, repo: str, tag: str) -> str:
        """The image by its digest, as the registry gave it."""
        digests = self._docker_client.images.get(image).attrs.get("RepoDigests") or ()
        return next((str(one) for one in digests if one.startswith(f"{repo}@")), f"{repo}:{tag}")
