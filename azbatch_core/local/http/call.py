"""A request that passed every general check, and the replies that a handler can give to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from azbatch_core.local.http.casing import recase
from azbatch_core.local.http.dates import http_date
from azbatch_core.local.http.paging import Page, check_expand, next_link, read_page, read_select
from azbatch_core.local.http.response import Response, json_response

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from azbatch_core.local.engine.engine import Engine
    from azbatch_core.local.http.casing import Casing
    from azbatch_core.local.http.operation import Operation
    from azbatch_core.local.http.query import Query


@dataclass
class Call:
    """One request.

    Attributes:
        operation: the row of the table that it matched.
        engine: what does the work.
        ids: the path's parameters, decoded.
        path: the path as it arrived, encoded.
        base: the service's URL as the client knows it, no slash at the end.
        query: the query parameters.
        headers: names in lower case.
        body: the body in normal form; empty when there is none.
    """

    operation: Operation
    engine: Engine
    ids: dict[str, str]
    path: str
    base: str
    query: Query
    headers: Mapping[str, str]
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The URL of the request, without its query."""
        return self.base + self.path

    def page(self) -> Page:
        """What the list is asked for; refuses wrong query options."""
        return read_page(self.operation, self.query, self.path)

    def element(self, document: dict[str, Any], casing: Casing = (), *, tagged: bool = True) -> Response:
        """200 with one resource.

        Args:
            document: the resource.
            casing: how its enumerations are written.
            tagged: whether the answer has the headers `ETag` and `Last-Modified`.
        """
        if self.operation.expand:
            check_expand(self.query)
        names = read_select(self.operation, self.query) if self.operation.select else ()
        shown = _selected(recase(document, casing), names)
        response = json_response(self.operation.status, {"odata.metadata": self._metadata(), **shown})
        if self.operation.method == "POST":
            response.headers["DataServiceId"] = self.url
        if tagged:
            response.headers.update(_tags(document))
        return response

    def listing(
        self, documents: Sequence[dict[str, Any]], after: Any = None, casing: Casing = ()
    ) -> Response:
        """200 with a page of resources, and a link to the next one unless `after` is None."""
        if self.operation.expand:
            check_expand(self.query)
        names = read_select(self.operation, self.query) if self.operation.select else ()
        shown = [_selected(recase(document, casing), names) for document in documents]
        content: dict[str, Any] = {"odata.metadata": self._metadata(), "value": shown}
        if after is not None:
            content["odata.nextLink"] = next_link(self.base, self.path, self.query, after)
        return json_response(self.operation.status, content)

    def created(self, document: dict[str, Any], name: str = "") -> Response:
        """201 for a new resource in the collection that was posted to.

        Args:
            document: the resource.
            name: what the headers call it; its id by default.
        """
        url = f"{self.url}/{name or document['id']}"
        return Response(self.operation.status, {"DataServiceId": url, "Location": url, **_tags(document)})

    def written(self, document: dict[str, Any], *, named: bool = True) -> Response:
        """The operation's status, without a body, for a resource that was written.

        Args:
            document: the resource as it is now.
            named: whether the answer has the header `DataServiceId`.
        """
        headers = {"DataServiceId": self.url} if named else {}
        return Response(self.operation.status, {**headers, **_tags(document)})

    def created_untagged(self, name: str) -> Response:
        """201 for a new resource that has no ETag, in the collection that was posted to."""
        url = f"{self.url}/{name}"
        return Response(self.operation.status, {"DataServiceId": url, "Location": url})

    def acted(self) -> Response:
        """The operation's status, without a body, for an action on what has no ETag."""
        return Response(self.operation.status, {"DataServiceId": self.url})

    def done(self) -> Response:
        """The operation's status and nothing else."""
        return Response(self.operation.status)

    def _metadata(self) -> str:
        return f"{self.base}/$metadata#{self.operation.fragment}"


def _selected(document: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: document[name] for name in names if name in document} if names else document


def _tags(document: Mapping[str, Any]) -> dict[str, str]:
    return {"ETag": document["eTag"], "Last-Modified": http_date(document["lastModified"])}
