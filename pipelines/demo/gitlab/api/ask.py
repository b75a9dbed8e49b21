"""One request to a demo GitLab project, as its endpoint sees it: who asks, for what, and how a page is answered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from pipelines.demo.gitlab.api.access import Access, Visitor, not_found
from pipelines.demo.gitlab.api.lists import cut, page_headers
from pipelines.demo.gitlab.api.rows import Json, Place
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.rights import Reader
from pipelines.demo.gitlab.state import Issuable, Issue, MergeRequest, Note
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Request, Response, Switches, visible

Shape = Callable[[Place, Any], Json]


class Service(Protocol):
    """What an endpoint asks of the service that it belongs to."""

    world: GitLabWorld
    access: Access
    switches: Switches
    link_root: str | None

    def encoded(
        self, kind: str, parent: Issuable, state: tuple[Any, ...], make: Callable[[], list[Json]]
    ) -> list[bytes]: ...


@dataclass(frozen=True)
class Ask:
    """`reference`: the id or path that the project was asked by."""

    app: Service
    request: Request
    visitor: Visitor
    project: Project
    reference: str
    place: Place

    @property
    def reader(self) -> Reader:
        return Reader(self.project, self.visitor.username)

    def parent(self, kind: str, iid: int) -> MergeRequest | Issue:
        if kind == "merge_requests":
            return self.merge_request(iid)
        issue = self.project.issues.get(iid)
        if issue is None or not self.reader.may_read(issue) or self.project.is_hidden(issue):
            raise not_found()
        return issue

    def merge_request(self, iid: int) -> MergeRequest:
        mr = self.project.merge_requests.get(iid)
        if mr is None or self.project.is_hidden(mr):
            raise not_found()
        return mr

    def hears(self, note: Note) -> bool:
        hide = self.app.switches.hide
        return self.reader.may_hear(note) and not (hide and hide(note))

    @property
    def state(self) -> tuple[Any, ...]:
        """What the encoding of a row depends on besides the row."""
        return self.project.revision, self.place.web_root, self.place.field_names

    def listed(self, parents: Sequence[Issuable], shape: Shape, **declared: str) -> Response:
        def encode(parent: Issuable) -> bytes:
            return self.app.encoded("row", parent, self.state, lambda: [shape(self.place, parent)])[0]

        return self.page(parents, lambda page: [encode(row) for row in visible(page, self.app.switches)], **declared)

    def shaped(self, found: Sequence[Any], shape: Callable[[Any], Json], **declared: str) -> Response:
        def encode(page: Sequence[Any]) -> list[bytes]:
            return [orjson.dumps(shape(row)) for row in visible(page, self.app.switches)]

        return self.page(found, encode, **declared)

    def page(self, found: Sequence[Any], encode: Callable[[Sequence[Any]], list[bytes]], **declared: str) -> Response:
        """What is cut first and filtered afterwards leaves short and empty pages before the end."""
        app, request = self.app, self.request
        one = cut(found, request, app.access, app.switches)
        root = app.link_root or request.root
        headers = page_headers(request, one, app.access.counted_rows, {"id": self.reference, **declared}, root)
        return Response(200, b"[" + b",".join(encode(one.rows)) + b"]", headers)
