"""Warnings, each said once however many tasks it concerns."""

from __future__ import annotations

_NAMED = 3


class Notes:
    """Collects warnings in the order in which they first came up."""

    def __init__(self) -> None:
        self._subjects: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def copy(self) -> Notes:
        """The same warnings, to go on from separately."""
        twin = Notes()
        twin._subjects = {text: list(subjects) for text, subjects in self._subjects.items()}
        twin._counts = dict(self._counts)
        return twin

    def add(self, text: str, task: str | None = None) -> None:
        """Note a warning, about a task where one is named."""
        subjects = self._subjects.setdefault(text, [])
        self._counts[text] = self._counts.get(text, 0) + 1
        if task is not None and len(subjects) < _NAMED:
            subjects.append(task)

    def lines(self) -> tuple[str, ...]:
        """One line for each warning, with the first tasks that it concerns."""
        return tuple(self._line(text) for text in self._subjects)

    def _line(self, text: str) -> str:
        subjects = self._subjects[text]
        if not subjects:
            return text
        more = self._counts[text] - len(subjects)
        names = ", ".join(subjects) + (f" and {more} more" if more else "")
        return f"{'task' if len(subjects) == 1 and not more else 'tasks'} {names}: {text}"
