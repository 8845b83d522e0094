"""Request bodies against the declared shapes: refuse what is wrong, return what is right in normal form.

Every model is compiled once into a closure, because a collection of tasks is checked property by property.
The service names the property itself, not the path to it, so errors do the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from azbatch_core.local.errors import ERRORS, HIDDEN, BatchError, invalid_property, shown
from azbatch_core.local.wire.durations import normalise_duration, normalise_time
from azbatch_core.local.wire.schema import schema
from azbatch_core.local.wire.secrets import bears_secrets, holds_secrets, is_near_a_secret

Check = Callable[[Any, str], Any]

_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_INT32 = 2**31
_INT64 = 2**63

# Properties that api-versions before 2025-06-01 had and the current models have not. A client that speaks
# such a version may send them; nothing here uses them, so they are read over.
_OLDER_POOL = frozenset(
    {"certificateReferences", "applicationLicenses", "targetNodeCommunicationMode", "resourceTags"}
)
_OLDER = {
    "BatchPoolCreateOptions": _OLDER_POOL,
    "BatchPoolSpecification": _OLDER_POOL,
    "BatchPoolUpdateOptions": _OLDER_POOL,
    "BatchPoolReplaceOptions": _OLDER_POOL,
    "BatchTaskCreateOptions": frozenset({"authenticationTokenSettings"}),
    "BatchJobManagerTask": frozenset({"authenticationTokenSettings"}),
}
_DISPLAY_NAME_MOST = 1024
# The only wrong enumeration member of which a refusal was recorded (2025-01): it repeats the code's message.
_RECORDED = {"onAllTasksComplete": ERRORS["InvalidPropertyValue"].message}
_RETIRED = {"cloudServiceConfiguration": "CloudServiceConfigurationRetired"}


def validate(model: str, body: Any, *, older: bool = False) -> dict[str, Any]:
    """`body` in normal form, if it is a request of shape `model`.

    Normal form: enumeration members in the declared case, numbers sent as strings as numbers, durations and
    times canonical, properties sent as null left out.

    Args:
        model: name of a model of the SDK, for example `BatchTaskCreateOptions`.
        body: parsed JSON.
        older: the client speaks an earlier api-version, whose extra properties are read over.

    Raises:
        BatchError: `InvalidRequestBody`, `MissingRequiredProperty`, `UnsupportedProperty` (unknown, or
            read-only) or `InvalidPropertyValue`.
    """
    if type(body) is not dict:
        raise BatchError("InvalidRequestBody", Reason="The body must be a JSON object.")
    checked: dict[str, Any] = _model(model, older=older)(body, "")
    return checked


@cache
def _model(name: str, *, older: bool) -> Check:
    declared = schema()["models"][name]
    checks = {
        key: _STRICTER.get((name, key)) or _STRICTER_ANYWHERE.get(key) or _check(kind, older=older)
        for key, (kind, flags) in declared.items()
        if flags != "o"
    }
    required = [key for key, (_, flags) in declared.items() if flags == "r"]
    dropped = _OLDER.get(name, frozenset()) if older else frozenset()
    find = checks.get
    bears = bears_secrets(f"model:{name}")

    def check(value: Any, prop: str) -> dict[str, Any]:
        if type(value) is not dict:
            raise invalid_property(prop, HIDDEN if bears else value, "An object is expected.")
        result = {}
        for key, item in value.items():
            field = find(key)
            if field is None:
                # Annotations come back from clients that send what they read, changed in part.
                if key not in dropped and not key.startswith("odata."):
                    raise _unsupported(name, key, item)
            elif item is not None:
                result[key] = field(item, key)
        for key in required:
            if key not in result:
                raise BatchError("MissingRequiredProperty", PropertyName=key)
        return result

    return _hiding(check) if holds_secrets(name) else check


def _hiding(check: Callable[[Any, str], dict[str, Any]]) -> Check:
    """The same check, whose refusals show no value: a secret may have a wrong name or a wrong type."""

    def hidden(value: Any, prop: str) -> dict[str, Any]:
        try:
            return check(value, prop)
        except BatchError as error:
            error.hide("PropertyValue")
            raise

    return hidden


def _unsupported(model: str, key: str, value: Any) -> BatchError:
    if key in _RETIRED:
        return BatchError(_RETIRED[key])
    known = key in schema()["models"][model]
    return BatchError(
        "UnsupportedProperty",
        PropertyName=key,
        PropertyValue=HIDDEN if is_near_a_secret(key) else shown(value),
        Reason=f"{key} is read-only." if known else f"{model} has no property {key}.",
    )


def _check(kind: str, *, older: bool) -> Check:
    if kind.startswith("list:"):
        return _list(_check(kind[len("list:") :], older=older), bears=bears_secrets(kind))
    if kind.startswith("enum:"):
        return _enum(schema()["enums"][kind[len("enum:") :]])
    if kind.startswith("model:"):
        return _model(kind[len("model:") :], older=older)
    return _PLAIN[kind]


def _list(item: Check, *, bears: bool) -> Check:
    def check(value: Any, name: str) -> list[Any]:
        if type(value) is not list:
            raise invalid_property(name, HIDDEN if bears else value, "An array is expected.")
        return [item(element, name) for element in value]

    return check


def _enum(members: list[str]) -> Check:
    canonical = {form: member for member in members for form in (member.lower(), member)}
    one_of = f"The value must be one of {', '.join(members)}."

    def check(value: Any, name: str) -> str:
        try:
            return canonical[value]
        except (KeyError, TypeError):
            if isinstance(value, str) and value.lower() in canonical:
                return canonical[value.lower()]
            raise invalid_property(name, value, _RECORDED.get(name) or one_of) from None

    return check


def _string(value: Any, name: str) -> str:
    if type(value) is not str:
        raise invalid_property(name, value, "A string is expected.")
    return value


def _bool(value: Any, name: str) -> bool:
    if type(value) is bool:
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise invalid_property(name, value, "A Boolean is expected.")


def _whole(limit: int) -> Callable[[Any, str], int]:
    def check(value: Any, name: str) -> int:
        number = value
        if isinstance(value, str) and _INTEGER.fullmatch(value):
            number = int(value)
        if type(number) is not int or not -limit <= number < limit:
            raise invalid_property(name, value, "A whole number is expected.")
        return number

    return check


_long = _whole(_INT64)


def _int64(value: Any, name: str) -> str:
    return str(_long(value, name))


def _number(value: Any, name: str) -> float:
    if type(value) in (int, float):
        return float(value)
    try:
        return float(_string(value, name))
    except ValueError:
        raise invalid_property(name, value, "A number is expected.") from None


def _time(value: Any, name: str) -> str:
    try:
        return normalise_time(_string(value, name))
    except ValueError:
        raise invalid_property(name, value, "A time is expected.") from None


def _duration(value: Any, name: str) -> str:
    try:
        return normalise_duration(_string(value, name))
    except ValueError:
        raise invalid_property(name, value, "A duration is expected.") from None


def _map(value: Any, name: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise invalid_property(name, value, "An object is expected.")
    return value


def _variable(value: Any, name: str) -> str:
    text = _string(value, name)
    if not text or "=" in text or "\0" in text:
        raise invalid_property(name, value, "The name of a variable is not empty and has no equals sign.")
    return text


def _display_name(value: Any, name: str) -> str:
    text = _string(value, name)
    if len(text) > _DISPLAY_NAME_MOST:
        reason = f"A display name has at most {_DISPLAY_NAME_MOST} characters; it has {len(text)}."
        raise invalid_property(name, value, reason)
    return text


_STRICTER: dict[tuple[str, str], Check] = {("EnvironmentSetting", "name"): _variable}

# What every model with such a property says of it (SDK BatchPoolCreateOptions.display_name and others).
_STRICTER_ANYWHERE: dict[str, Check] = {"displayName": _display_name}

_PLAIN: dict[str, Check] = {
    "string": _string,
    "bool": _bool,
    "int": _whole(_INT32),
    "int64": _int64,
    "number": _number,
    "time": _time,
    "duration": _duration,
    "map": _map,
}
