"""One fault: what it takes to be hit by it, and how often it has hit."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["Fault"]


@dataclass(eq=False)
class Fault:
    """One fault as `reading` made it; what a kind does not take has its default.

    Attributes:
        given: The document that it was made from.
        places: Globs in lower case by what they are compared with: `operation`, `path`, `pool`, `task`, ….
        count: How often it hits at most, None for no limit.
        skip: How many occasions go by before the first hit.
        probability: Share of the occasions that it hits.
        after: Seconds from the moment it was set until it is live.
        at: The moment from which it is live, instead of `after`.
        values: What else the kind takes, by name.
        hits: How often it has hit.
        number: Its place among all faults that the service was ever told.
        struck: Keys of the nodes that it has hit.
        live_from: When it becomes live on the engine's clock; None until it has been set.
    """

    kind: str
    id: str
    given: dict[str, Any]
    places: Mapping[str, str] = field(default_factory=dict)
    count: int | None = None
    skip: int = 0
    probability: float = 1.0
    seed: int = 0
    after: float = 0.0
    at: datetime | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    hits: int = 0
    number: int = 0
    struck: set[int] = field(default_factory=set)
    live_from: datetime | None = None
    _passed: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - repeatable, not secret

    @property
    def spent(self) -> bool:
        """Whether it has hit as often as it was to."""
        return self.count is not None and self.hits >= self.count

    def befalls(self, where: Mapping[str, str]) -> bool:
        """Whether a thing with these names is one that it hits; does not count."""
        return all(
            name in where and fnmatchcase(where[name].lower(), glob) for name, glob in self.places.items()
        )

    def hit(self) -> bool:
        """Whether this occasion is one that it hits; counts it."""
        if self.spent:
            return False
        self._passed += 1
        if self._passed <= self.skip:
            return False
        if self.probability < 1.0 and self._random.random() >= self.probability:
            return False
        self.hits += 1
        return True

    def document(self) -> dict[str, Any]:
        """It as listed: as given, with its id and how often it has hit."""
        return {**self.given, "id": self.id, "kind": self.kind, "hits": self.hits}
