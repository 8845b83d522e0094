"""Job files: YAML or JSON, with the line of each mistake.

YAML is read with the scalars of JSON only: ``true``, ``false``, ``null``, decimal numbers; everything else
is text. So ``no``, ``12:30``, ``010`` and ``2026-12-01`` mean what they look like, and ``1.50`` in a
command stays ``1.50``.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from azbatch_core.errors import SpecError
from azbatch_core.specs.job import JobSpec
from azbatch_core.specs.problems import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import MappingNode, Node

_TAG: Final = "tag:yaml.org,2002:"
_MAX_ITEMS: Final = 5_000_000
"""Values of a file, aliases counted each time: no real job has more, and an alias bomb has."""

_SCALARS: Final = (
    ("bool", r"true|false", "tf"),
    ("int", r"-?(?:0|[1-9][0-9]*)", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", "-0123456789"),
    ("null", r"~|null|", ["~", "n", ""]),
    ("merge", r"<<", "<"),
)


class WrittenFloat(float):
    """A number that remembers how the file wrote it, for places where it turns out to be text."""

    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text


def load_job(source: str | Path) -> JobSpec:
    """The job that a YAML or JSON file describes.

    Args:
        source: A path; or the text itself, recognised by having a line end or starting with ``{``.

    Raises:
        SpecError: The file cannot be read, is not YAML or JSON, has a key twice, or describes no valid job.
            `line` says where (from 1), and the message starts with the file's name and that line.
    """
    if isinstance(source, Path) or not ("\n" in source or source.lstrip().startswith("{")):
        return _load(_read(Path(source)), str(source))
    return _load(source, "<text>")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        failure = SpecError(f"{path}: is not UTF-8 text")
    except OSError as error:
        failure = SpecError(f"{path}: cannot be read: {error.strerror or error}")
    raise failure


def _load(text: str, name: str) -> JobSpec:
    document = _Document(text.removeprefix("\ufeff"), name)
    data = document.data()
    if not isinstance(data, dict):
        raise document.failure("a job file is a mapping with name and tasks", line=1)
    try:
        return JobSpec(**data)
    except SpecError as error:
        failure = document.located(error)
    raise failure


class _Document:
    """One YAML or JSON text: its data, and the line of each path in it."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._node: Node | None = None
        self._count = 0

    def data(self) -> Any:
        """The content as plain Python values."""
        self._node = self._compose()
        if self._node is None:
            raise self.failure("the file is empty", line=1)
        try:
            return self._value(self._node, ())
        except RecursionError:
            failure = self.failure("the file is nested too deeply")
        raise failure

    def located(self, error: SpecError) -> SpecError:
        """The same error with the line of its field (or of the nearest thing around it that the file has)."""
        lines = dict(self._lines())
        path = error.field or ""
        while path and path not in lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.failure(error.message, line=lines.get(path, 1), field=error.field, hint=error.hint)

    def failure(
        self, text: str, *, line: int | None = None, field: str | None = None, hint: str | None = None
    ) -> SpecError:
        place = f"{self._name}:{line}" if line else self._name
        return SpecError(f"{place}: {text}", field=field, line=line, hint=hint)

    def _compose(self) -> Node | None:
        import yaml  # noqa: PLC0415  # slow to import, and only files need it

        text = self._text.replace("\t", " ") if _is_json(self._text) else self._text
        try:
            return yaml.compose(text, Loader=_loader())
        except yaml.MarkedYAMLError as error:
            failure = self._syntax(error)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            failure = self.failure(f"is not valid YAML: {str(error).splitlines()[0]}")
        raise failure

    def _syntax(self, error: Any) -> SpecError:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        lines = self._text.splitlines()
        if line and line <= len(lines) and "\t" in lines[line - 1]:
            return self.failure("YAML does not allow a tab here", line=line, hint="indent with spaces")
        if "single document" in str(error.context or ""):
            return self.failure(
                "a job file describes one job", line=line, hint="put the other one into a file of its own"
            )
        words = ": ".join(part for part in (error.context, error.problem) if part)
        return self.failure(f"is not valid YAML: {words}", line=line)

    def _value(self, node: Node, parents: tuple[int, ...]) -> Any:
        import yaml  # noqa: PLC0415  # imported already

        self._count += 1
        if id(node) in parents or self._count > _MAX_ITEMS:
            raise self.failure("an alias makes the file endless", line=_line(node))
        below = (*parents, id(node))
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, below)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self._value(item, below) for item in node.value]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        raise self.failure(
            f"the tag {node.tag!r} is not allowed", line=_line(node), hint="write plain values"
        )

    def _scalar(self, node: Node) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind in {"str", "merge"}:
            return text
        if kind == "null":
            return None
        if kind == "bool" and text in {"true", "false"}:
            return text == "true"
        try:
            if kind == "int":
                return int(text)
            if kind == "float":
                return WrittenFloat(text)
        except ValueError:
            pass
        raise self.failure(
            f"{text[:40]!r} is not allowed here", line=_line(node), hint="put quotes around it if it is text"
        )

    def _mapping(self, node: MappingNode, parents: tuple[int, ...]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == f"{_TAG}merge":
                merged = {**self._merged(value, parents), **merged}
                continue
            name = self._key(key)
            if name in own:
                raise self.failure(
                    f"the key {name!r} is given twice", line=_line(key), hint="keep one of them"
                )
            own[name] = self._value(value, parents)
        return {**merged, **own}

    def _merged(self, node: Node, parents: tuple[int, ...]) -> dict[str, Any]:
        value = self._value(node, parents)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            raise self.failure("'<<' takes a mapping", line=_line(node))
        return {name: content for part in reversed(parts) for name, content in part.items()}

    def _key(self, node: Node) -> str:
        if isinstance(node.value, str):
            return node.value
        raise self.failure("a key must be text", line=_line(node))

    def _lines(self) -> Iterator[tuple[str, int]]:
        """Every path of the file with its line; needed only when something is wrong."""
        import yaml  # noqa: PLC0415  # imported already

        stack: list[tuple[tuple[int | str, ...], Node | None, int]] = [((), self._node, 1)]
        while stack:
            path, node, line = stack.pop()
            yield path_of(path), line
            if isinstance(node, yaml.MappingNode):
                stack.extend(
                    ((*path, key.value), value, _line(key))
                    for key, value in node.value
                    if isinstance(key.value, str)
                )
            elif isinstance(node, yaml.SequenceNode):
                stack.extend(((*path, index), value, _line(value)) for index, value in enumerate(node.value))


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@functools.cache
def _loader() -> Any:
    """PyYAML's fastest safe loader, with the scalars of JSON."""
    import yaml  # noqa: PLC0415  # slow to import, and only files need it

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = type("JsonScalars", (base,), {"yaml_implicit_resolvers": {}})
    for kind, pattern, first in _SCALARS:
        loader.add_implicit_resolver(_TAG + kind, re.compile(f"(?:{pattern})$"), list(first))
    return loader
