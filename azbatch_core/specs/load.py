"""Job files: YAML or JSON, with the line of each mistake.

YAML is read with the scalars of JSON only: ``true``, ``false``, ``null``, decimal numbers; everything else is
text. So ``no``, ``12:30``, ``010`` and ``2026-12-01`` mean what they look like, and ``1.50`` in a command
stays ``1.50``.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from azbatch_core.errors import SpecError
from azbatch_core.specs.each import expand
from azbatch_core.specs.job import JobSpec
from azbatch_core.specs.problems import problem

if TYPE_CHECKING:
    from typing_extensions import Self

    from azbatch_core.specs.lines import Document


_TASK: Final = re.compile(r"(?<!['\"\w.])tasks\[(\d+)\]")


class WrittenFloat(float):
    """A number that remembers how the file wrote it, for places where it turns out to be text."""

    text: str

    def __new__(cls, text: str) -> Self:
        """A number from its decimal text."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text


def load_job(path: str | os.PathLike[str]) -> JobSpec:
    """The job that a YAML or JSON file describes.

    Args:
        path: The file's path.

    Raises:
        SpecError: The file cannot be read, is not YAML or JSON, has a key twice, or describes no valid job.
            `line` says where (from 1), and the message starts with the file's name and that line.
    """
    return parse_job(_read(Path(path)), name=os.fspath(path))


def parse_job(text: str, *, name: str = "<text>") -> JobSpec:
    """The job that a text in YAML or JSON describes.

    Args:
        text: The text.
        name: What messages call it; one that ends in ``.json`` must be JSON.

    Raises:
        SpecError: As for `load_job`.
    """
    from azbatch_core.specs.lines import Document

    document = Document(text.removeprefix("\ufeff"), name, WrittenFloat)
    data = _data(document)
    if not isinstance(data, dict):
        raise document.failure("a job file is a mapping with name and tasks", line=1)
    origins: list[int] = []
    try:
        if isinstance(data.get("tasks"), list):
            data["tasks"], origins = expand(data["tasks"])
        return JobSpec(**data)
    except SpecError as error:
        failure = document.located(_written(error, origins))
    raise failure


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        failure = SpecError(f"{path}: is not UTF-8 text")
    except (OSError, ValueError) as error:
        failure = SpecError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")
    raise failure


def _written(error: SpecError, origins: list[int]) -> SpecError:
    """The same error at the entries of the file that the tasks came from; an ``each`` makes many of one."""

    def entry(found: re.Match[str]) -> str:
        place = int(found[1])
        return f"tasks[{origins[place]}]" if place < len(origins) else found[0]

    def entry_in_words(found: re.Match[str]) -> str:
        named = entry(found)
        place = int(found[1])
        copies = origins.count(origins[place]) if place < len(origins) else 1
        return f"{named} (made by its each)" if copies > 1 else named

    field = error.field or ""
    text = error.message.removeprefix(f"{field}: ") if field else error.message
    return problem(_TASK.sub(entry_in_words, text), field=_TASK.sub(entry, field, 1) or None, hint=error.hint)


def _data(document: Document) -> Any:
    if not document.text.lstrip().startswith(("{", "[")):
        return document.data()
    line = None
    try:
        return json.loads(
            document.text, object_pairs_hook=_unique, parse_float=WrittenFloat, parse_constant=str
        )
    except json.JSONDecodeError as error:
        is_json = document.name.endswith(".json")
        wrong, line = (f"is not valid JSON: {error.msg}", error.lineno) if is_json else (None, None)
    except RecursionError:
        wrong = "is nested too deeply"
    except ValueError as error:
        wrong = str(error)
    if wrong is None:
        # YAML may start with a brace as well.
        return document.data()
    if line is None:
        # This reader does not say where; the reader of YAML does, when it meets the same problem.
        document.data()
    raise document.failure(wrong, line=line)


class _TwiceError(ValueError):
    """One key twice in a mapping, which Python's reader of JSON accepts."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise _TwiceError(f"the key {twice!r} is given twice")
    return content
