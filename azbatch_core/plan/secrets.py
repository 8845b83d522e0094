"""Request bodies that hold secrets: shown with masks, revealed only when they are sent.

A body is plain JSON data whose secret values are leaf objects: `Secret` and `UrlSecret` of the specs, and
`StorageRef` for a container whose URL (with its signature) is made when the job is submitted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from azbatch_core.specs.problems import mask_text
from azbatch_core.specs.secrets import MASK, Secret
from azbatch_core.specs.urls import UrlSecret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Permission = Literal["w", "rl"]
"""What is done in a container: outputs are written, inputs are read and listed."""

_REFERENCE_BYTES = 2048  # what a value that is not known yet may take in a request
_STORAGE_URL_BYTES = 512


@dataclass(frozen=True)
class StorageRef:
    """A container in the account's own storage; it becomes a URL when the job is submitted.

    Attributes:
        container: The container's name.
        permission: ``w`` (outputs) or ``rl`` (inputs).
        identity: The resource id of the pool identity that opens it; None = a signed URL.
    """

    container: str
    permission: Permission = "w"
    identity: str | None = None

    def __str__(self) -> str:
        return f"<storage>/{self.container}?***"


def mask(body: Any) -> Any:
    """A body without secrets: plain JSON data for people, logs and dry runs.

    References (``env:NAME``) stay, literal secrets become ``***``, URLs lose their signatures; text that
    looks like a signature or a key is masked wherever it stands, in command lines too.
    """
    if isinstance(body, dict):
        if _is_confidential_pair(body):
            return {**body, "value": MASK}
        return {key: mask(value) for key, value in body.items()}
    if isinstance(body, (list, tuple)):
        return [mask(value) for value in body]
    return _masked_leaf(body)


def _masked_leaf(leaf: Any) -> Any:
    if isinstance(leaf, Secret):
        return leaf.reference or MASK
    if isinstance(leaf, str):
        return mask_text(leaf)
    return str(leaf) if isinstance(leaf, (UrlSecret, StorageRef)) else leaf


def _is_confidential_pair(body: dict[str, Any]) -> bool:
    """Whether this is a variable with a plain value and a name such as ``API_KEY``: probably a secret."""
    name, value = body.get("name"), body.get("value")
    return isinstance(name, str) and isinstance(value, str) and mask_text(f"{name}=x") != f"{name}=x"


def reveal(
    body: Any,
    resolver: Callable[[str], str] | None = None,
    storage: Callable[[StorageRef], str] | None = None,
) -> Any:
    """A body ready to send.

    Args:
        body: JSON data with secret leaves; it is not changed.
        resolver: Resolves ``keyvault:`` references.
        storage: Turns a `StorageRef` into a URL. Without it, references to storage are left in place.

    Raises:
        ConfigurationError: A reference cannot be resolved.
    """
    if isinstance(body, dict):
        return {key: reveal(value, resolver, storage) for key, value in body.items()}
    if isinstance(body, (list, tuple)):
        return [reveal(value, resolver, storage) for value in body]
    if isinstance(body, Secret):
        return body.reveal(resolver)
    if isinstance(body, UrlSecret):
        return body.reveal(resolver)
    if isinstance(body, StorageRef) and storage is not None:
        return storage(body)
    return body


def leaves(body: Any) -> Iterator[Secret | UrlSecret | StorageRef]:
    """Everything in a body that `reveal` would replace, as often as it stands there."""
    if isinstance(body, dict):
        for value in body.values():
            yield from leaves(value)
    elif isinstance(body, (list, tuple)):
        for value in body:
            yield from leaves(value)
    elif isinstance(body, (Secret, UrlSecret, StorageRef)):
        yield body


def body_size(body: Any) -> int:
    """The bytes of a body in a request; values that are not known yet count with a generous guess."""
    return len(_ENCODER.encode(body))


def _stand_in(leaf: object) -> str:
    """Text as long as the secret."""
    if isinstance(leaf, (Secret, UrlSecret)):
        return "x" * _REFERENCE_BYTES if leaf.reference else leaf.reveal()
    return "x" * _STORAGE_URL_BYTES


_ENCODER = json.JSONEncoder(default=_stand_in)  # made once: `json.dumps` would make one for each task
