"""How a wrong spec is told: one line with the field's path, what was given, the rule and the next step.

pydantic finds most mistakes; this module turns what it found into a `SpecError`. Values that may be secret
are never repeated: unknown fields are named without their value, and anything that looks like a signature
or a key is masked.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

from azbatch_core.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_SHOWN: Final = 80
"""Characters of a value that a message repeats."""

_HUGE: Final = 10**30

_CONFIDENTIAL: Final = re.compile(
    r"(?i)\b([a-z_-]*(?:sig|key|password|passwd|pwd|secret|token))(\s*[=:]\s*)[^&;,\s'\"]+"
)
_USERINFO: Final = re.compile(r"//[^/\s@]+@")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def problem(text: str, *, field: str | None = None, hint: str | None = None) -> SpecError:
    """A `SpecError` that says `text` about `field` (a path below the spec that raises it)."""
    return SpecError(f"{field}: {text}" if field else text, field=field, hint=hint)


def relocate(error: SpecError, parent: str) -> SpecError:
    """The same problem, seen from the spec that holds the one that raised it."""
    text = error.message.removeprefix(f"{error.field}: ") if error.field else error.message
    moved = problem(text, field=join(parent, error.field), hint=error.hint)
    moved.others = tuple(relocate(other, parent) for other in error.others)
    return moved


def join(parent: str | None, child: str | None) -> str | None:
    """Two paths as one: ``tasks[3]`` and ``command`` give ``tasks[3].command``."""
    if not parent or not child:
        return parent or child
    return f"{parent}{child}" if child.startswith("[") else f"{parent}.{child}"


def path_of(location: Iterable[int | str]) -> str:
    """A location as a path: ``("tasks", 3, "command")`` gives ``tasks[3].command``."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f"[{json.dumps(part, ensure_ascii=False)}]"
    return path


def show(value: object) -> str:
    """A value for a message: short, on one line, with signatures and keys masked."""
    if isinstance(value, str):
        # Masked before it is cut, so that a cut secret is still recognised.
        masked = mask_text(value)
        return repr(masked if len(masked) <= _SHOWN else masked[:_SHOWN] + "…")
    if isinstance(value, (bool, type(None))):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return "a huge number" if _HUGE <= abs(value) < math.inf else repr(value)
    words: dict[type, str] = {dict: "a mapping", list: "a list", tuple: "a list"}
    return words.get(type(value), f"a {type(value).__name__}")


def mask_text(text: str) -> str:
    """The text without what looks like a signature, key, password or token."""
    return _USERINFO.sub("//***@", _CONFIDENTIAL.sub(r"\1\2***", text))


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant, or None."""
    folded = {known.lower().replace("-", "_"): known for known in names}
    found = difflib.get_close_matches(name.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def explain(error: ValidationError, fields: Sequence[str], elsewhere: Mapping[str, str]) -> SpecError:
    """The problem to show first, with the others.

    An unknown field comes before all others: a misspelled name is usually why another one is missing.

    Args:
        error: What pydantic found.
        fields: The names that the spec knows.
        elsewhere: Names that people write in this spec though they belong somewhere else, and what to do
            instead.
    """
    details = error.errors(include_url=False)
    details.sort(key=lambda detail: detail["type"] != "extra_forbidden")
    found = [_problem(detail, fields, elsewhere) for detail in details]
    first, *others = (each for one in found for each in (one, *one.others))
    first.others = tuple(others)
    return first


def _problem(detail: ErrorDetails, fields: Sequence[str], elsewhere: Mapping[str, str]) -> SpecError:
    path = path_of(detail["loc"])
    if detail["type"] == "extra_forbidden":
        return _unknown_field(str(detail["loc"][-1]), path, fields, elsewhere)
    inner = detail.get("ctx", {}).get("error")
    if isinstance(inner, SpecError):
        return relocate(inner, path)
    text, hint = _text(detail)
    return problem(text, field=path or None, hint=hint)


def _unknown_field(name: str, path: str, fields: Sequence[str], elsewhere: Mapping[str, str]) -> SpecError:
    if name in elsewhere:
        return problem("unknown field", field=path, hint=elsewhere[name])
    meant = nearest(name, fields)
    if meant:
        return problem("unknown field", field=path, hint=f"did you mean {meant!r}?")
    return problem("unknown field", field=path, hint="the fields here are " + ", ".join(fields))


def _text(detail: ErrorDetails) -> tuple[str, str | None]:
    """The rule that was broken, in our words, and a hint."""
    kind = detail["type"]
    context: dict[str, Any] = detail.get("ctx", {})
    given = detail["input"]
    if kind == "missing":
        return "is missing", None
    if kind == "string_unicode":
        return "has characters that are not valid Unicode text", None
    if kind == "literal_error":
        return _not_a_choice(given, str(context.get("expected", "")))
    for start, rule in _TYPE_RULES.items():
        if kind.startswith(start):
            shown = _kind_of(given) if start in _NEVER_REPEATED else show(given)
            quote = isinstance(given, (int, float)) and start == "string_"
            too_long = kind == "float_type" and type(given) is int  # more digits than a float holds
            text = f"{show(given)} is out of range" if too_long else f"{rule}, not {shown}"
            return text, "put quotes around it" if quote else None
    bound = next((key for key in _BOUNDS if key in context), None)
    if bound:
        return f"{show(given)} is out of range: must be {_BOUNDS[bound]} {_number(context[bound])}", None
    return ("must not be empty" if "min_length" in context else detail["msg"]), None


def _number(value: float) -> str:
    """A limit, in full: what is written instead must be compared with it."""
    return str(int(value)) if value == int(value) else f"{value:g}"


def _not_a_choice(given: object, expected: str) -> tuple[str, str | None]:
    choices = re.findall(r"'([^']*)'", expected)
    meant = nearest(given, choices) if isinstance(given, str) else None
    listed = ", ".join(repr(choice) for choice in choices)
    return f"{show(given)} is not one of {listed}", f"did you mean {meant!r}?" if meant else None


def _kind_of(value: object) -> str:
    return "text" if isinstance(value, str) else show(value)


_TYPE_RULES: Final = {
    "model_": "must be a mapping of fields",
    "dict_": "must be a mapping",
    "tuple_": "must be a list",
    "string_type": "must be text",
    "int_": "must be a whole number",
    "float_": "must be a number",
    "finite_number": "must be a finite number",
    "bool_": "must be true or false",
}
_NEVER_REPEATED: Final = {"model_", "dict_", "tuple_"}
_BOUNDS: Final = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
