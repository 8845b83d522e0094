"""Container images that a pool may not be able to pull, or that may be another image tomorrow."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from azbatch_core.plan.notes import Notes
    from azbatch_core.plan.pools import PoolContext
    from azbatch_core.specs import ContainerSpec

_PUBLIC = frozenset(
    {
        "docker.io",
        "gcr.io",
        "ghcr.io",
        "mcr.microsoft.com",
        "nvcr.io",
        "public.ecr.aws",
        "quay.io",
        "registry.k8s.io",
    }
)


def check_image(spec: ContainerSpec, pool: PoolContext, notes: Notes, task_id: str) -> None:
    """Warn of a moving tag, and of a registry that nothing logs in to."""
    for text in _warnings(spec, pool.name, pool.registries):
        notes.add(text, task_id)


@lru_cache(maxsize=1024)
def _warnings(spec: ContainerSpec, pool: str, registries: tuple[str, ...] | None) -> tuple[str, ...]:
    reference = spec.reference
    found = []
    if reference.moving:
        found.append(f"image {spec.image!r} has a moving tag: nodes and retries may get different images")
    known = {server.lower() for server in registries or ()}
    if spec.registry is not None:
        own = spec.registry.server
        if own.lower() != reference.server.lower():
            found.append(
                f"image {spec.image!r} comes from {reference.server}: the login to {own} is not used for it"
            )
    elif reference.registry is None and known - _PUBLIC:
        named = ", ".join(sorted(known - _PUBLIC))
        found.append(f"image {spec.image!r} names no registry: it comes from docker.io, not from {named}")
    elif registries is None and reference.server.lower() not in _PUBLIC:
        found.append(f"image {spec.image!r} comes from {reference.server}: {pool} must know that registry")
    elif reference.server.lower() not in known | _PUBLIC:
        found.append(
            f"image {spec.image!r} comes from {reference.server}, which is no registry of {pool}: "
            "it is pulled without a login"
        )
    return tuple(found)
