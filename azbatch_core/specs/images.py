"""Container image references, read by the rules of the container registries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from azbatch_core.specs.problems import problem, show

DEFAULT_REGISTRY: Final = "docker.io"
_MAX_NAME: Final = 255
_SHA256_DIGITS: Final = 64

_PART: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", re.ASCII)
_DIGEST: Final = re.compile(r"[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-f]{32,}")


@dataclass(frozen=True)
class ImageReference:
    """The parts of an image name such as ``myregistry.azurecr.io:443/tools/bwa:0.7@sha256:…``.

    Attributes:
        registry: The registry as written, with its port; None when the name has none.
        repository: The path of the image in its registry.
        tag: The tag; None when the name has none.
        digest: The digest with its algorithm; None when the name has none.
    """

    registry: str | None
    repository: str
    tag: str | None = None
    digest: str | None = None

    @classmethod
    def parse(cls, text: str) -> ImageReference:
        """Read a reference as ``docker pull`` does.

        The first part is a registry when it has a dot or a colon, is ``localhost`` or has a capital letter;
        otherwise it is part of the path.

        Raises:
            SpecError: Some part breaks the rules.
        """
        if not text or any(char.isspace() for char in text):
            raise problem(f"{show(text)} is not an image: it is empty or has a space in it")
        if "://" in text:
            raise problem(f"{show(text)} is a URL, not an image", hint=f"write {text.partition('://')[2]!r}")
        name, at, digest = text.partition("@")
        if at and not _is_digest(digest):
            raise problem(
                f"{show(text)} has a malformed digest",
                hint="it looks like @sha256: and 64 hexadecimal digits",
            )
        head, slash, path = name.partition("/")
        registry = head if slash and _names_registry(head) else None
        path = path if registry is not None else name
        repository, colon, tag = path.partition(":")
        if colon and not _TAG.fullmatch(tag):
            raise problem(
                f"{show(text)} has a malformed tag",
                hint="a tag has at most 128 letters, digits, '_', '.' and '-'",
            )
        if registry is not None and not _HOST.fullmatch(registry):
            raise problem(f"{show(text)} has a malformed registry {registry!r}")
        _check_repository(text, repository)
        return cls(registry=registry, repository=repository, tag=tag or None, digest=digest or None)

    @property
    def server(self) -> str:
        """The registry that the image comes from, if no default is set: the written one, or Docker Hub."""
        return self.registry or DEFAULT_REGISTRY

    @property
    def moving(self) -> bool:
        """Whether the same name can mean another image tomorrow: no digest, and no tag or ``latest``."""
        return self.digest is None and self.tag in {None, "latest"}

    def __str__(self) -> str:
        registry = f"{self.registry}/" if self.registry else ""
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{registry}{self.repository}{tag}{digest}"


def _names_registry(head: str) -> bool:
    return "." in head or ":" in head or head == "localhost" or head != head.lower()


def _is_digest(text: str) -> bool:
    if not _DIGEST.fullmatch(text):
        return False
    algorithm, _, digits = text.partition(":")
    return algorithm != "sha256" or len(digits) == _SHA256_DIGITS


def _check_repository(text: str, repository: str) -> None:
    if repository != repository.lower():
        raise problem(
            f"{show(text)} has capital letters in its path",
            hint=f"write {text.replace(repository, repository.lower())!r}",
        )
    if len(repository) > _MAX_NAME or not all(_PART.fullmatch(part) for part in repository.split("/")):
        raise problem(
            f"{show(text)} is not an image",
            hint=(
                "write [REGISTRY[:PORT]/]PATH[:TAG][@DIGEST], such as 'ubuntu:24.04' or "
                "'myregistry.azurecr.io/tools/bwa:0.7'"
            ),
        )


def check_image(text: str) -> str:
    """The text itself, when it is an image reference.

    Raises:
        SpecError: As for `ImageReference.parse`.
    """
    ImageReference.parse(text)
    return text
