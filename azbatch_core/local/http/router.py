"""From method and encoded path to an operation and its decoded parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from azbatch_core.local.http.operation import Operation


class _Node:
    __slots__ = ("branches", "operations", "parameter")

    def __init__(self) -> None:
        self.branches: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.operations: dict[str, tuple[Operation, tuple[str, ...]]] = {}


class Router:
    """The operations by path; a literal segment goes before a parameter."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _Node()
        for operation in operations:
            self._add(operation)

    def match(self, method: str, path: str) -> tuple[Operation, dict[str, str]]:
        """The operation, and the path's parameters, each percent-decoded on its own.

        Raises:
            BatchError: `InvalidUri` for no such path, `UnsupportedHttpVerb` for no such method on it.
        """
        node: _Node | None = self._root
        values: list[str] = []
        for segment in path.removeprefix("/").split("/"):
            if node is None:
                break
            following = node.branches.get(segment)
            if following is None and segment:
                following = node.parameter
                values.append(segment)
            node = following
        if node is None or not node.operations:
            raise BatchError("InvalidUri")
        if method not in node.operations:
            raise BatchError("UnsupportedHttpVerb")
        operation, names = node.operations[method]
        return operation, {name: _decoded(name, value) for name, value in zip(names, values, strict=True)}

    def _add(self, operation: Operation) -> None:
        node = self._root
        names: list[str] = []
        for segment in operation.path.removeprefix("/").split("/"):
            if segment.startswith("{"):
                names.append(segment.strip("{}"))
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.branches.setdefault(segment, _Node())
        node.operations[operation.method] = (operation, tuple(names))


def _decoded(name: str, segment: str) -> str:
    # A file's name may be any bytes, and then it is known to the file system in this form; ids never are.
    try:
        return unquote(segment, errors="surrogateescape" if name == "filePath" else "strict")
    except UnicodeDecodeError:
        raise BatchError("InvalidUri") from None
