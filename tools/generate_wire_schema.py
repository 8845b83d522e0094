"""Write `azbatch_core/local/wire/schema.json` from the models of the installed azure-batch.

Run it with the SDK version that the project pins: `python tools/generate_wire_schema.py`. With `--check` it
writes nothing and exits 1 if the file differs from what it would write.

A property is `[kind, flags]`. Kinds: `string`, `bool`, `int`, `int64` (travels as a string), `number`,
`time`, `duration`, `enum:NAME`, `model:NAME`, each also as `list:KIND`, and `map` (string to string).
Flags: `r` required, in the model's type or in its words alone ("This property must be specified."), `o`
read-only. All of it is what the SDK declares; nothing here is typed by hand.
"""

from __future__ import annotations

import datetime as dt
import inspect
import json
import re
import sys
import types
import typing
from enum import Enum
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "azbatch_core" / "local" / "wire" / "schema.json"
PLAIN = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "number",
    dt.datetime: "time",
    dt.timedelta: "duration",
}


def kind_of(annotation: Any, field_format: str | None, model_base: type) -> str:
    """The kind of a property, from the type its model declares."""
    origin = typing.get_origin(annotation)
    arguments = [a for a in typing.get_args(annotation) if a is not type(None)]
    if origin in (typing.Union, types.UnionType):
        enums = [a for a in arguments if isinstance(a, type) and issubclass(a, Enum)]
        return f"enum:{enums[0].__name__}" if enums else kind_of(arguments[0], field_format, model_base)
    if origin is list:
        return "list:" + kind_of(arguments[0], field_format, model_base)
    if origin is dict:
        return "map"
    if isinstance(annotation, type) and issubclass(annotation, model_base):
        return f"model:{annotation.__name__}"
    if annotation is int and field_format == "str":
        return "int64"
    return PLAIN[annotation]


def is_optional(annotation: Any) -> bool:
    """Whether the model may leave the property out."""
    return type(None) in typing.get_args(annotation)


def required_by_words(model: type) -> frozenset[str]:
    """The attributes of which the model's text ends so: their type is optional all the same."""
    entries = re.split(r"^:ivar (\w+):", inspect.getdoc(model) or "", flags=re.MULTILINE)[1:]
    texts = {
        name: " ".join(text.partition(":vartype")[0].split())
        for name, text in zip(entries[::2], entries[1::2], strict=True)
    }
    return frozenset(
        name for name, text in texts.items() if text.endswith("This property must be specified.")
    )


def build() -> dict[str, Any]:
    """The whole schema: every model and enumeration of the SDK, sorted by name."""
    from azure.batch import _version
    from azure.batch import models as public
    from azure.batch.models import _enums, _models

    base: type = _models._Model  # noqa: SLF001 - the SDK's models have no public base
    names = {**vars(_models), "_models": public, "datetime": dt}
    declared: dict[str, dict[str, list[str]]] = {}
    for name, model in sorted(vars(_models).items()):
        if not (isinstance(model, type) and issubclass(model, base) and model is not base):
            continue
        hints = typing.get_type_hints(model, names)
        wanted = required_by_words(model)
        properties: dict[str, list[str]] = {}
        for attribute, field in vars(model).items():
            if not hasattr(field, "_visibility"):
                continue
            annotation = hints[attribute]
            read_only = field._visibility == ["read"]  # noqa: SLF001 - rest_field keeps its facts to itself
            required = attribute in wanted or not is_optional(annotation)
            flags = "o" if read_only else "r" if required else ""
            wire_name = field._rest_name_input or attribute  # noqa: SLF001 - same
            properties[wire_name] = [kind_of(annotation, field._format, base), flags]  # noqa: SLF001 - same
        declared[name] = properties
    enums = {
        name: [member.value for member in enum]
        for name, enum in sorted(vars(_enums).items())
        if isinstance(enum, type) and issubclass(enum, Enum) and enum is not Enum
    }
    return {"source": f"azure-batch {_version.VERSION}", "models": declared, "enums": enums}


def render(schema: dict[str, Any]) -> str:
    """The file's text: one property a line, so that a change of SDK shows as a readable diff."""
    lines = ["{", f' "source": {json.dumps(schema["source"])},', ' "models": {']
    for name, properties in schema["models"].items():
        rows = ",\n".join(f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in properties.items())
        lines.append(f"  {json.dumps(name)}: {{\n{rows}\n  }},")
    lines[-1] = lines[-1].removesuffix(",")
    lines.extend([" },", ' "enums": {'])
    lines.extend(f"  {json.dumps(name)}: {json.dumps(values)}," for name, values in schema["enums"].items())
    lines[-1] = lines[-1].removesuffix(",")
    lines.extend([" }", "}", ""])
    return "\n".join(lines)


def main() -> int:
    """Write the file, or compare with it."""
    text = render(build())
    if "--check" in sys.argv[1:]:
        current = TARGET.read_text(encoding="utf-8") == text
        print(
            f"{TARGET.name} is {'current' if current else 'out of date: run tools/generate_wire_schema.py'}"
        )
        return 0 if current else 1
    TARGET.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
