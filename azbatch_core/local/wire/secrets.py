"""Which parts of a body may hold secrets, so that a refusal does not send them back."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache

from azbatch_core.local.wire.schema import schema

__all__ = ["bears_secrets", "holds_secrets", "is_near_a_secret"]

_SECRET = frozenset(
    {
        *("password", "sshPrivateKey", "accountKey", "sasKey", "protectedSettings"),
        *("httpUrl", "storageContainerUrl", "containerUrl"),  # signatures are in their query
    }
)
_OWN_WORDS = frozenset({"EnvironmentSetting"})
"""Models whose values are the user's own, tokens and passwords among them."""

_TELLING = re.compile(r"pass|secret|token|credential|signature|key\b|key$|sas\b|sas$", re.IGNORECASE)
_NAMES = tuple(sorted({name.lower() for name in _SECRET} | {"secret", "token", "credential", "signature"}))
_NEAR = 0.75


@cache
def holds_secrets(model: str) -> bool:
    """Whether one of the model's own properties is a secret, which a wrong name may stand for."""
    return model in _OWN_WORDS or not _SECRET.isdisjoint(schema()["models"][model])


@cache
def bears_secrets(kind: str) -> bool:
    """Whether what a property of this kind holds may be a secret, at whatever depth."""
    return _bears(kind, ())


def _bears(kind: str, above: tuple[str, ...]) -> bool:
    kind = kind.removeprefix("list:")
    if not kind.startswith("model:"):
        return False
    model = kind.removeprefix("model:")
    if model in above:
        return False
    properties = schema()["models"][model].values()
    return holds_secrets(model) or any(_bears(inner, (*above, model)) for inner, _ in properties)


def is_near_a_secret(name: str) -> bool:
    """Whether a name that no model has sounds like that of a secret, or is one mistyped."""
    return bool(_TELLING.search(name) or get_close_matches(name.lower(), _NAMES, n=1, cutoff=_NEAR))
