"""What all specs have in common: frozen, no unknown fields, and mistakes told as `SpecError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError

from azbatch_core.specs.problems import explain, problem

if TYPE_CHECKING:
    from typing_extensions import Self


class Spec(BaseModel):
    """A frozen description that is right by construction.

    Every rule of the service that needs no account is checked when the object is made; a spec that exists
    is valid. Lists are kept as tuples. Equal content makes equal specs.

    Fields also take the short forms that their description names (``memory="16GiB"``, ``pool="my-pool"``); a
    type checker sees that through pydantic's own plugin for mypy.

    Raises:
        SpecError: On construction; names the field, the value, the rule and the nearest right name.
    """

    # Models are built when first used: a command that needs accounts only does not pay for jobs and pools.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    _elsewhere: ClassVar[Mapping[str, str]] = {}
    """Names that people write here though they belong somewhere else, and what to write instead."""

    def __init__(self, /, **data: Any) -> None:
        __tracebackhide__ = True
        try:
            super().__init__(**data)
        except ValidationError as error:
            failure = explain(error, list(type(self).model_fields), self._elsewhere)
        else:
            return
        del data
        # Raised outside the handler, so that no chained exception carries the input (it may hold a secret).
        raise failure

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise problem("a spec is frozen", field=name, hint=f"make a changed copy: spec.replace({name}=...)")

    def __delattr__(self, name: str) -> NoReturn:
        raise problem("a spec is frozen", field=name)

    def replace(self, **changes: Any) -> Self:
        """A checked copy with some fields changed.

        Raises:
            SpecError: The changed spec breaks a rule.
        """
        kept = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**kept, **changes})

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Like pydantic's, but a mistake is a `SpecError`."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            failure = explain(error, list(cls.model_fields), cls._elsewhere)
        raise failure

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Like pydantic's, but a mistake is a `SpecError`."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            failure = explain(error, list(cls.model_fields), cls._elsewhere)
        raise failure
