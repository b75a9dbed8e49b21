"""One request to a demo GitHub repository, as its endpoint sees it: who asks, for what, and how a page is answered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

from pipelines.demo.github.api.access import DOCS, Access, Refused, Visitor, invalid, not_found, refusal
from pipelines.demo.github.api.lists import Cut, Order, link_header, numbered_cut
from pipelines.demo.github.api.rows import Json, Place
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.state import Issue, Row
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Request, Response, Switches, visible

__all__ = ["Ask", "Service", "Shape", "moved"]

Shape = Callable[[Place, Any], Json]

STATES = {"open", "closed", "all"}
NOT_MODELLED = {"labels", "assignee", "creator", "mentioned", "milestone", "type", "head", "base", "filter"}


class Service(Protocol):
    """What an endpoint asks of the service that it belongs to."""

    world: GitHubWorld
    access: Access
    switches: Switches

    def encoded(self, shape: Shape, place: Place, row: Row) -> bytes: ...


@dataclass(frozen=True)
class Ask:
    """One request to a repository, as its endpoint sees it. `rest` is the path below the repository."""

    app: Service
    request: Request
    visitor: Visitor
    repo: Repo
    rest: str
    place: Place

    def choice(self, name: str, allowed: set[str], default: str) -> str:
        """Observed on the issue list: an unknown `sort` or `direction` is ignored, not refused."""
        value = self.request.query.get(name, default)
        return value if value in allowed else default

    def issue(self, number: int) -> Issue:
        if there := self.app.world.transfers.get((self.repo.id, number)):
            rest = self.rest.replace(f"/issues/{number}", f"/issues/{there[1]}", 1)
            raise Refused(moved(self.request, there[0], rest))
        if number in self.repo.deleted_numbers:
            raise Refused(refusal(410, "This issue was deleted", "rest/issues/issues#get-an-issue"))
        issue = self.repo.numbered(number)
        if issue is None or self.repo.is_hidden(number):
            raise not_found()
        return issue

    def pull(self, number: int) -> Issue:
        issue = self.repo.numbered(number)
        if issue is None or issue.pull is None or self.repo.is_hidden(number):
            raise not_found()
        return issue

    def state(self, resource: str) -> str:
        state = self.request.query.get("state") or "open"
        if state not in STATES:
            raise invalid(resource, "state", state)
        return state

    def page(self, shape: Shape, cut: Cut[Any]) -> Response:
        shown = visible(cut.rows, self.app.switches)
        body = b"[" + b",".join(self.app.encoded(shape, self.place, row) for row in shown) + b"]"
        return Response(200, body, link_header(self.request, self.repo.id, self.rest, cut))

    def numbered(self, shape: Shape, order: Order[Any]) -> Response:
        return self.page(shape, numbered_cut(order, self.request, self.app.switches, self.app.access.deep_items))

    def refuse_unmodelled(self) -> None:
        if unknown := NOT_MODELLED & self.request.query.keys():
            raise Refused(refusal(501, f"The demo world does not model {', '.join(sorted(unknown))}"))


def moved(request: Request, repo_id: int, rest: str) -> Response:
    """Reads are sent on for good, writes for this once."""
    query = f"?{urlencode(request.query)}" if request.query else ""
    url = f"{request.root}/repositories/{repo_id}{rest}{query}"
    docs = f"{DOCS}/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"
    body = {"message": "Moved Permanently", "url": url, "documentation_url": docs}
    return Response(301 if request.method == "GET" else 307, body, {"location": url})
