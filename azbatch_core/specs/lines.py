"""A YAML (or JSON) text as plain data that still knows on which line each value stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

from azbatch_core.errors import SpecError
from azbatch_core.specs.problems import join, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TAG: Final = "tag:yaml.org,2002:"
_MAX_VALUES: Final = 1_000_000
"""Values of a file, aliases counted each time: no real job has more, and an alias bomb has."""

_MAX_DEPTH: Final = 100
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")

_SCALARS: Final = (
    ("bool", r"true|false", "tf"),
    ("int", r"-?(?:0|[1-9][0-9]*)", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", "-0123456789"),
    ("null", r"~|null|", ["~", "n", ""]),
    ("merge", r"<<", "<"),
)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml's where it is built in
    """PyYAML's fastest safe loader, with the scalars of JSON."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # PyYAML's own shape: emptied, then filled below


for _kind, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"(?:{_pattern})$"), list(_first))


class Document:
    """One text, its data, and the line of each path in it.

    Args:
        text: The text.
        name: What messages call it: a file's name.
        number: Makes a number with a fraction or an exponent from its text.
    """

    def __init__(self, text: str, name: str, number: Callable[[str], float] = float) -> None:
        self.text = text
        self.name = name
        self._number = number
        self._node: yaml.Node | None = None

    def data(self) -> Any:
        """The content as dicts, lists, text, numbers, booleans and None.

        Raises:
            SpecError: Not YAML, more than one document, a key twice, a tag, or an alias that makes the file
                endless.
        """
        self._node = self._compose()
        if self._node is None:
            raise self.failure("is empty", line=1)
        self._measure(self._node, (), {})
        return self._value(self._node)

    def located(self, error: SpecError) -> SpecError:
        """The same error with the line of its field, or of the nearest thing around it that the text has."""
        lines = self._lines()
        path = error.field or ""
        while path and path not in lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.failure(error.message, line=lines.get(path), field=error.field, hint=error.hint)

    def failure(
        self, text: str, *, line: int | None = None, field: str | None = None, hint: str | None = None
    ) -> SpecError:
        """A `SpecError` that starts with the file's name and the line."""
        place = f"{self.name}:{line}" if line else self.name
        return SpecError(f"{place}: {text}", field=field, line=line, hint=hint)

    def _compose(self) -> yaml.Node | None:
        try:
            return yaml.compose(self.text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            failure = self._syntax(error)
        except yaml.reader.ReaderError as error:
            line = self.text.count("\n", 0, error.position) + 1
            failure = self.failure("has a character that YAML does not allow", line=line)
        except RecursionError:
            failure = self.failure("is nested too deeply")
        raise failure

    def _syntax(self, error: yaml.MarkedYAMLError) -> SpecError:
        mark = error.problem_mark or error.context_mark
        lines = self.text.rstrip("\n").split("\n")
        # The reader may blame the end of the text, which is one line after its last.
        line = min(mark.line + 1, len(lines)) if mark else None
        if line and re.match(r"\s*\t", lines[line - 1]):
            return self.failure("YAML does not allow a tab here", line=line, hint="indent with spaces")
        if "single document" in str(error.context):
            return self.failure(
                "a file describes one job", line=line, hint="put the other one into a file of its own"
            )
        words = ", ".join(part for part in (error.context, error.problem) if part)
        hint = (
            "put quotes around text that has ': ' or starts with a sign"
            if "mapping values" in words
            else None
        )
        return self.failure(f"is not valid YAML: {words}", line=line, hint=hint)

    def _measure(self, node: yaml.Node, parents: tuple[yaml.Node, ...], known: dict[int, int]) -> int:
        """How many values the node stands for with its aliases written out; refuses what has no end."""
        if id(node) in known:
            return known[id(node)]
        if len(parents) > _MAX_DEPTH:
            raise self.failure("is nested too deeply", line=_line(node))
        inner = node.value if isinstance(node, yaml.SequenceNode) else []
        inner = [value for _, value in node.value] if isinstance(node, yaml.MappingNode) else inner
        if any(item is parent for item in inner for parent in (*parents, node)):
            raise self.failure("an alias makes the file endless", line=_line(node))
        count = 1 + sum(self._measure(item, (*parents, node), known) for item in inner)
        if count > _MAX_VALUES:
            raise self.failure("aliases make the file too large", line=_line(node))
        known[id(node)] = count
        return count

    def _value(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self._value(item) for item in node.value]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        raise self.failure(
            f"the tag {node.tag!r} is not allowed", line=_line(node), hint="write plain values"
        )

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind in {"str", "merge"}:
            return text
        if kind == "null" and text in {"", "~", "null"}:
            return None
        if kind == "bool" and text in {"true", "false"}:
            return text == "true"
        try:
            if kind == "int":
                return int(text)
            if kind == "float":
                return self._number(text)
        except ValueError:
            pass
        if kind == "int" and text.lstrip("-").isdigit():
            # Python does not read that many digits; no field takes them either.
            digits = len(text.lstrip("-"))
            raise self.failure(f"a number of {digits} digits is out of range", line=_line(node))
        raise self.failure(
            f"{text[:40]!r} is not allowed here", line=_line(node), hint="put quotes around text"
        )

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == f"{_TAG}merge":
                merged = {**self._merged(value), **merged}
                continue
            name = key.value
            if not isinstance(name, str):
                raise self.failure("a key must be text", line=_line(key))
            if name in own:
                raise self.failure(
                    f"the key {name!r} is given twice", line=_line(key), hint="keep one of them"
                )
            own[name] = self._value(value)
        return {**merged, **own}

    def _merged(self, node: yaml.Node) -> dict[str, Any]:
        value = self._value(node)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            raise self.failure("'<<' takes a mapping", line=_line(node))
        return {name: content for part in reversed(parts) for name, content in part.items()}

    def _lines(self) -> dict[str, int]:
        """The line of every path; needed only when something is wrong."""
        try:
            # What JSON allows and YAML does not: tabs outside of strings, characters in two halves.
            text = _SURROGATE.sub("?", self.text.replace("\t", " "))
            node = self._node or yaml.compose(text, Loader=_Loader)
        except (yaml.YAMLError, RecursionError):
            return {}
        return dict(_walk(node)) if node else {}


def _walk(root: yaml.Node) -> Iterator[tuple[str, int]]:
    stack: list[tuple[str, yaml.Node, int]] = [("", root, 1)]
    while stack:
        path, node, line = stack.pop()
        yield path, line
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name = key.value if isinstance(key.value, str) else "?"
                stack.append((join(path, path_of((name,))) or "", value, _line(key)))
        elif isinstance(node, yaml.SequenceNode):
            stack.extend((f"{path}[{index}]", item, _line(item)) for index, item in enumerate(node.value))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
