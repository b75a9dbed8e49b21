"""The demo GitHub's REST endpoints: who asks for what, and the answer the real service gives.

A parameter that GitHub knows and this world does not model is refused with 501, so that no test believes it.
"""

import re
from collections.abc import Callable
from typing import Any

import orjson
import pendulum

from pipelines.demo.github.api import graphql, rows
from pipelines.demo.github.api.access import Access, Refused, Visitor, not_found, refusal
from pipelines.demo.github.api.ask import Ask, Shape, moved
from pipelines.demo.github.api.lists import (
    Order,
    by_created,
    by_id,
    by_updated,
    cursor_cut,
    since_of,
    updated_since,
)
from pipelines.demo.github.api.rows import Place
from pipelines.demo.github.api.threads import Viewer
from pipelines.demo.github.api.writes import post_comment, post_reply
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.state import Issue, Row
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import App, Request, Response, Routes, Switches, conditional


class GitHubApp(App):
    """The service. Item addresses name `public_url`; without one, the address that the client used."""

    def __init__(
        self,
        world: GitHubWorld,
        switches: Switches | None = None,
        access: Access | None = None,
        public_url: str | None = None,
    ) -> None:
        super().__init__(self.answer, lambda: world.now, switches)
        self.world = world
        self.access = access or Access()
        self._public_url = public_url
        self._encoded: dict[tuple[str, int], tuple[tuple[int, int, str], bytes]] = {}

    def answer(self, request: Request) -> Response:
        access, second = self.access, self.world.second.int_timestamp
        try:
            visitor = access.visitor(request)
        except Refused as refused:
            return refused.response
        if request.method == "POST" and request.path in ("/graphql", "/api/graphql"):
            return self._queried(request, visitor, second)
        response = self._admitted(request, visitor, second)
        response.headers |= access.headers(visitor, second)
        return response

    def _queried(self, request: Request, visitor: Visitor, second: int) -> Response:
        access = self.access
        if visitor.login is None:
            return refusal(401, "This endpoint requires you to be authenticated.", "graphql/guides")
        if access.secondary and access.secondary.times > 0 and (limited := access.limited(visitor, second)):
            return limited
        purse = access.points_of(visitor)
        told, window = access.budget(purse, second), access.window(purse, second)
        if window.used >= access.points:
            message = f"API rate limit exceeded for user ID {visitor.login}."
            body: dict[str, object] = {"errors": [{"type": "RATE_LIMITED", "message": message}]}
        else:
            resets_at = pendulum.from_timestamp(told["reset"]).to_iso8601_string()
            asked, viewer = request.json(), Viewer(self.world, visitor.login)
            budget = {**told, "resetAt": resets_at}
            body, cost = graphql.answer(asked["query"], asked.get("variables") or {}, viewer, budget)
            window.used += cost
        return Response(200, body, access.headers(purse, second))

    def _admitted(self, request: Request, visitor: Visitor, second: int) -> Response:
        if request.path == "/rate_limit":  # costs nothing
            budget = self.access.budget(visitor, second)
            return Response(200, {"resources": {"core": budget}, "rate": budget})
        if limited := self.access.limited(visitor, second):
            return limited
        if request.path == "/user":
            if visitor.login is None:
                return refusal(401, "Requires authentication")
            if visitor.token in self.access.installations:
                return refusal(403, "Resource not accessible by integration")
            return Response(200, {"login": visitor.login, "type": "User"})
        try:
            credentials = request.headers.get("authorization", "")  # GitHub's tags change with them
            response = conditional(request, self._routed(request, visitor), salt=credentials)
            if response.status == 304 and not self.switches.max_per_page:  # who gives less than asked says so always
                response.headers.pop("link", None)  # as users report it
        except Refused as refused:
            response = refused.response
        if response.status != 304 or visitor.login is None:
            self.access.window(visitor, second).used += 1
        return response

    def _routed(self, request: Request, visitor: Visitor) -> Response:
        repo, rest, is_former_name = self._found(request.path)
        if repo is None or not self.access.may_enter(visitor, repo.private):
            raise not_found()
        if repo.private:
            self.access.refuse_narrow(visitor, rest)
        if is_former_name:
            return moved(request, repo.id, rest)
        endpoint = ENDPOINTS.match(request.method, rest)
        if endpoint is None:
            raise not_found()
        handler, params = endpoint
        root = self._public_url or request.root
        return handler(Ask(self, request, visitor, repo, rest, Place(root, repo)), **params)

    def _found(self, path: str) -> tuple[Repo | None, str, bool]:
        """(repository, path below it, whether it was asked for by a name it had before)."""
        if by_id := re.fullmatch(r"/repositories/([0-9]+)(/.*)?", path):
            return self.world.repos.get(int(by_id[1])), by_id[2] or "", False
        if by_name := re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", path):
            name, rest = by_name[1].lower(), by_name[2] or ""
            current = self.world.names.get(name)
            return current or self.world.former_names.get(name), rest, current is None
        return None, "", False

    def encoded(self, shape: Shape, place: Place, row: Row) -> bytes:
        """A row's JSON, kept until the row or its repository's name changes."""
        name, state = (shape.__name__, row.id), (row.revision, place.repo.revision, place.root)
        known = self._encoded.get(name)
        if known is None or known[0] != state:
            known = self._encoded[name] = (state, orjson.dumps(shape(place, row)))
        return known[1]


def repository(ask: Ask) -> Response:
    return Response(200, rows.repo_json(ask.place))


def issues(ask: Ask) -> Response:
    ask.refuse_unmodelled()
    state, since = ask.state("Issue"), since_of(ask.request, "Issue")
    sort = ask.choice("sort", {"created", "updated", "comments"}, "created")
    descending = ask.choice("direction", {"asc", "desc"}, "desc") == "desc"
    order = _issue_order(ask.repo, sort, state, "issues")
    kept = updated_since(list(filter(ask.repo.is_told, order.rows)), since, sort == "updated")
    cut = cursor_cut(Order(kept, order.key, descending), ask.request, ask.app.switches, ask.app.access.deep_issues)
    return ask.page(rows.issue_json, cut)


def pulls(ask: Ask) -> Response:
    """Knows no `since`, and ignores it."""
    ask.refuse_unmodelled()
    state, sort = ask.state("PullRequest"), ask.choice("sort", {"created", "updated"}, "created")
    default = "desc" if sort == "created" else "asc"
    descending = ask.choice("direction", {"asc", "desc"}, default) == "desc"
    order = _issue_order(ask.repo, sort, state, "pulls")
    told = list(filter(ask.repo.is_told, order.rows))
    return ask.numbered(rows.pull_json, Order(told, order.key, descending))


def comments(ask: Ask) -> Response:
    shelf = ask.repo.comments
    return _comments(ask, rows.comment_json, lambda sort: shelf.ordered(sort, ORDERS[sort]))


def review_comments(ask: Ask) -> Response:
    shelf = ask.repo.review_comments
    return _comments(ask, rows.review_comment_json, lambda sort: shelf.ordered(sort, ORDERS[sort]))


def one_issue(ask: Ask, number: int) -> Response:
    return Response(200, rows.issue_json(ask.place, ask.issue(number)))


def issue_comments(ask: Ask, number: int) -> Response:
    ask.issue(number)
    kept = updated_since(ask.repo.comments.of(number), since_of(ask.request, "IssueComment"), False)
    return ask.numbered(rows.comment_json, Order(kept, by_id))


def one_pull(ask: Ask, number: int) -> Response:
    return Response(200, rows.pull_detail_json(ask.place, ask.pull(number)))


def pull_comments(ask: Ask, number: int) -> Response:
    ask.pull(number)
    found = ask.repo.review_comments.of(number)
    return _comments(ask, rows.review_comment_json, lambda sort: sorted(found, key=ORDERS[sort]))


def pull_reviews(ask: Ask, number: int) -> Response:
    """Oldest first; a pending review is shown to its author only."""
    ask.pull(number)
    login = ask.visitor.login
    shown = [row for row in ask.repo.reviews.of(number) if row.state != "PENDING" or row.author.login == login]
    return ask.numbered(rows.review_json, Order(shown, by_id))


def one_review(ask: Ask, number: int, review_id: int) -> Response:
    ask.pull(number)
    row = ask.repo.reviews.rows.get(review_id)
    is_ours = row and row.number == number and (row.state != "PENDING" or row.author.login == ask.visitor.login)
    return _one(ask, row if is_ours else None, rows.review_json)


def one_comment(ask: Ask, comment_id: int) -> Response:
    return _one(ask, ask.repo.comments.rows.get(comment_id), rows.comment_json)


def one_review_comment(ask: Ask, comment_id: int) -> Response:
    return _one(ask, ask.repo.review_comments.rows.get(comment_id), rows.review_comment_json)


def _one(ask: Ask, row: Row | None, shape: Shape) -> Response:
    if row is None or ask.repo.is_hidden(row.number):
        raise not_found()
    return Response(200, ask.app.encoded(shape, ask.place, row))


def _comments(ask: Ask, shape: Shape, ordered: Callable[[str], list[Any]]) -> Response:
    """Without `sort` these lists ascend by id, and `direction` is ignored."""
    sort = ask.choice("sort", {"created", "updated"}, "created") if "sort" in ask.request.query else "id"
    descending = sort != "id" and ask.choice("direction", {"asc", "desc"}, "desc") == "desc"
    told = list(filter(ask.repo.is_told, ordered(sort)))
    kept = updated_since(told, since_of(ask.request, "IssueComment"), sort == "updated")
    return ask.numbered(shape, Order(kept, ORDERS[sort], descending))


def _issue_order(repo: Repo, sort: str, state: str, kind: str) -> Order[Issue]:
    def keep(issue: Issue) -> bool:
        return state in (issue.state, "all") and (kind == "issues" or issue.pull is not None)

    if sort != "comments":
        return Order(repo.issues.ordered(f"{kind} {sort} {state}", ORDERS[sort], keep), ORDERS[sort])

    def by_comments(issue: Issue) -> tuple[int, int]:
        return repo.comments.count(issue.number), issue.id

    return Order(sorted(filter(keep, repo.issues.rows.values()), key=by_comments), by_comments)


ORDERS: dict[str, Callable[[Any], tuple[Any, int]]] = {"id": by_id, "created": by_created, "updated": by_updated}

ENDPOINTS: Routes[Callable[..., Response]] = Routes()
ENDPOINTS.add("GET", "", repository)
ENDPOINTS.add("GET", "/issues", issues)
ENDPOINTS.add("GET", "/issues/comments", comments)
ENDPOINTS.add("GET", "/issues/comments/{comment_id:int}", one_comment)
ENDPOINTS.add("GET", "/issues/{number:int}", one_issue)
ENDPOINTS.add("GET", "/issues/{number:int}/comments", issue_comments)
ENDPOINTS.add("POST", "/issues/{number:int}/comments", post_comment)
ENDPOINTS.add("GET", "/pulls", pulls)
ENDPOINTS.add("GET", "/pulls/comments", review_comments)
ENDPOINTS.add("GET", "/pulls/comments/{comment_id:int}", one_review_comment)
ENDPOINTS.add("GET", "/pulls/{number:int}", one_pull)
ENDPOINTS.add("GET", "/pulls/{number:int}/comments", pull_comments)
ENDPOINTS.add("POST", "/pulls/{number:int}/comments/{comment_id:int}/replies", post_reply)
ENDPOINTS.add("GET", "/pulls/{number:int}/reviews", pull_reviews)
ENDPOINTS.add("GET", "/pulls/{number:int}/reviews/{review_id:int}", one_review)
