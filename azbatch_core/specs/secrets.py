"""Secret values: given as they are, or better as a reference that is resolved only when the value is sent."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr
from pydantic_core import core_schema

from azbatch_core.errors import ConfigurationError
from azbatch_core.specs.problems import problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

MASK: Final = "***"
"""What is shown in place of a secret."""

_ENV: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
_KEY_VAULT: Final = re.compile(
    r"keyvault:https://[A-Za-z0-9-]+\.vault\.[a-z0-9.-]+/secrets/[A-Za-z0-9-]+(?:/[A-Za-z0-9]+)?"
)


class Secret:
    """A secret that shows itself to nobody: not in `repr`, `str`, JSON, an error or a pickle.

    ``Secret("env:NAME")`` refers to an environment variable of the process that submits, and
    ``Secret("keyvault:https://VAULT.vault.azure.net/secrets/NAME")`` to a secret in Azure Key Vault; both
    are safe to keep in files and are shown as they are. Any other text is the secret itself (a literal) and
    is shown as ``***``. Secrets with the same content are equal.

    Raises:
        SpecError: The value is empty, is not text, or is a malformed reference. The value is not repeated.
    """

    __slots__ = ("_is_reference", "_value")

    _value: str
    _is_reference: bool

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise problem(
                "a secret must be text", hint="put quotes around it, or use a reference: 'env:NAME'"
            )
        if not value:
            raise problem("a secret must not be empty")
        if value == MASK:
            raise problem(
                f"{MASK!r} is a mask, not a secret", hint="give the secret, or a reference: 'env:NAME'"
            )
        is_reference = value.startswith(("env:", "keyvault:"))
        if is_reference and not (_ENV.fullmatch(value) or _KEY_VAULT.fullmatch(value)):
            raise problem(
                "a secret that starts with 'env:' or 'keyvault:' must be a complete reference",
                hint=(
                    "'env:NAME' or 'keyvault:https://VAULT.vault.azure.net/secrets/NAME'; "
                    "Secret.literal(...) takes it as it is"
                ),
            )
        _fill(self, value, is_reference=is_reference)

    @classmethod
    def literal(cls, value: str) -> Secret:
        """The text itself as a secret, even when it looks like a reference."""
        secret = cls("x" if isinstance(value, str) and value else value)
        _fill(secret, value, is_reference=False)
        return secret

    @property
    def reference(self) -> str | None:
        """Where the secret is kept (``env:…``, ``keyvault:…``), or None for a literal."""
        return self._value if self._is_reference else None

    def reveal(self, resolver: Callable[[str], str] | None = None) -> str:
        """The secret value.

        Args:
            resolver: Takes a ``keyvault:`` reference and returns its value.

        Raises:
            ConfigurationError: The environment variable is not set, or a Key Vault reference meets no
                resolver.
        """
        if not self._is_reference:
            return self._value
        if self._value.startswith("env:"):
            name = self._value.removeprefix("env:")
            value = os.environ.get(name)
            if not value:
                raise ConfigurationError(
                    f"the secret {self._value} cannot be read: the environment variable {name} is not set",
                    hint=f"export {name}=... in the shell that runs this",
                )
            return value
        if resolver is None:
            raise ConfigurationError(
                f"the secret {self._value} cannot be read here: nothing resolves Key Vault references"
            )
        return resolver(self._value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Secret is frozen")

    def __repr__(self) -> str:
        return f"Secret({self._shown()!r})"

    def __str__(self) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self._value == other._value and self._is_reference == other._is_reference

    def __hash__(self) -> int:
        return hash((self._value, self._is_reference))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        if not self._is_reference:
            raise TypeError(
                "a literal Secret cannot be pickled: it would be readable there; use a "
                "reference such as 'env:NAME'"
            )
        return (Secret, (self._value,))

    def _shown(self) -> str:
        return self._value if self._is_reference else MASK

    @classmethod
    def _validate(cls, value: object) -> Secret:
        if isinstance(value, Secret):
            return value
        if isinstance(value, SecretStr):
            value = value.get_secret_value()
        return cls(value)  # type: ignore[arg-type]  # the constructor refuses what is not text

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(cls._shown, when_used="json"),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "type": "string",
            "minLength": 1,
            "writeOnly": True,
            "description": "A secret: better a reference than the value itself.",
            "examples": ["env:MY_TOKEN", "keyvault:https://my-vault.vault.azure.net/secrets/my-token"],
        }


def _fill(secret: Secret, value: str, *, is_reference: bool) -> None:
    object.__setattr__(secret, "_value", value)
    object.__setattr__(secret, "_is_reference", is_reference)
