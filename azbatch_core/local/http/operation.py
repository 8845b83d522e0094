"""What an operation is: one row of the table that routing, checking and the documentation come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.local.http.aside import Work
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response

Handler: TypeAlias = "Callable[[Call], Response | Work]"
Subject = Literal["pool", "job", "schedule", "task"]


@dataclass(frozen=True)
class Operation:
    """One operation of the REST API.

    Attributes:
        name: the SDK's method.
        method: the HTTP method.
        path: the path's template; `{poolId}` takes one segment.
        status: the status of success.
        handler: what answers it.
        body: model of the request body; empty for operations without one.
        body_optional: the body may be left out.
        subject: the resource that conditional headers are compared with, None where they are ignored.
        filter: key of the rules that `$filter` obeys, for lists that have it.
        select: model whose properties `$select` may name.
        expand: `$expand=stats` is taken (and adds nothing: there are no statistics).
        paged: `maxresults` and pages.
        options: further query parameters, in lower case.
        fragment: what follows `$metadata#` in the answer's first member.
    """

    name: str
    method: str
    path: str
    status: int
    handler: Handler
    body: str = ""
    body_optional: bool = False
    subject: Subject | None = None
    filter: str = ""
    select: str = ""
    expand: bool = False
    paged: bool = False
    options: frozenset[str] = frozenset()
    fragment: str = ""

    @property
    def parameters(self) -> frozenset[str]:
        """The query parameters that the operation has, in lower case."""
        names = set(self.options)
        if self.paged:
            names |= {"maxresults", "$skiptoken"}
        if self.filter:
            names.add("$filter")
        if self.select:
            names.add("$select")
        if self.expand:
            names.add("$expand")
        return frozenset(names)
