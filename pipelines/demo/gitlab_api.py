"""The demo GitLab's REST endpoints: who asks for what, and the answer the real service gives.

A parameter that GitLab knows and this world does not model is refused with 501, so that no test believes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import orjson

from pipelines.demo import gitlab_rows as rows
from pipelines.demo import gitlab_thread_rows as thread_rows
from pipelines.demo.gitlab_access import Access, Refused, Visitor, invalid, not_found, told, unauthorized
from pipelines.demo.gitlab_lists import choice, cut, filtered, page_headers
from pipelines.demo.gitlab_project import Project
from pipelines.demo.gitlab_rows import Json, Place
from pipelines.demo.gitlab_state import Issuable, Issue, MergeRequest, Note, kind_of
from pipelines.demo.gitlab_world import GitLabWorld, may_enter, may_hear, may_read
from pipelines.demo.web import App, Request, Response, Routes, Switches, conditional, visible

Shape = Callable[[Place, Any], Json]

API = "/api/v4"
MR_STATES, ISSUE_STATES = {"opened", "closed", "locked", "merged", "all"}, {"opened", "closed", "all"}
ORDERS = {"created_at", "updated_at", "label_priority", "milestone_due", "popularity", "priority", "title", "merged_at"}
SCOPES = {"created-by-me", "assigned-to-me", "created_by_me", "assigned_to_me", "reviews_for_me", "all"}
NOT_MODELLED = {
    "approved", "assignee_id", "assignee_username", "author_id", "author_username", "confidential", "deployed_after",
    "deployed_before", "due_date", "environment", "in", "issue_type", "merge_user_id", "merge_user_username",
    "milestone", "milestone_id", "my_reaction_emoji", "not", "reviewer_id", "reviewer_username", "search",
    "source_branch", "source_project_id", "target_branch", "view", "weight", "wip", "with_labels_details",
}  # fmt: skip


class GitLabApp(App):
    """The service. Rows name `public_url`; links lead to `link_root`, which a badly set up server has wrong."""

    def __init__(
        self,
        world: GitLabWorld,
        switches: Switches | None = None,
        access: Access | None = None,
        public_url: str | None = None,
        link_root: str | None = None,
    ) -> None:
        super().__init__(self.answer, lambda: world.now, switches)
        self.world = world
        self.access = access or Access()
        self.rewrite: Callable[[Request, Any], Any] | None = None  # change what an answer says: broken rows
        self.public_url = public_url
        self.link_root = link_root
        self._encoded: dict[tuple[str, str, int], tuple[tuple[Any, ...], list[bytes]]] = {}

    def answer(self, request: Request) -> Response:
        second = self.world.now.int_timestamp
        try:
            visitor = self.access.visitor(request)
            limited = self.access.admit(visitor, second)
            response = limited or self._routed(request, visitor)
        except Refused as refused:
            return refused.response
        if self.rewrite and response.status == 200:
            response.body = orjson.dumps(self.rewrite(request, orjson.loads(response.encoded())))
        response.headers = self.access.headers(visitor, second) | response.headers
        return conditional(request, response)

    def _routed(self, request: Request, visitor: Visitor) -> Response:
        endpoint = ENDPOINTS.match(request.method, request.raw_path)
        if endpoint is None:
            raise invalid("404 Not Found", 404)
        (handler, needs_user), params = endpoint
        if needs_user and visitor.username is None:
            raise unauthorized()
        reference = unquote(params.pop("project", ""))
        if not reference:
            return handler(self, request, visitor)
        project, is_former_path = self._found(reference)
        if project is None or not may_enter(project, visitor.username):
            raise not_found("Project")
        if is_former_path:
            return _moved(request, reference, project)
        place = Place(self.public_url or request.root, project)
        return handler(Ask(self, request, visitor, project, reference, place), **params)

    def _found(self, reference: str) -> tuple[Project | None, bool]:
        """(project, whether it was asked for by a path that it had before)"""
        if reference.isdecimal():
            return self.world.projects.get(int(reference)), False
        current = self.world.paths.get(reference.lower())
        return current or self.world.former_paths.get(reference.lower()), current is None

    def encoded(self, kind: str, parent: Issuable, state: tuple[Any, ...], make: Callable[[], list[Json]]) -> list[bytes]:
        """JSON that hangs on one merge request or issue, kept until something there changes."""
        name, state = (kind, kind_of(parent), parent.id), (parent.revision, *state)
        known = self._encoded.get(name)
        if known is None or known[0] != state:
            known = self._encoded[name] = (state, [orjson.dumps(row) for row in make()])
        return known[1]


@dataclass(frozen=True)
class Ask:
    """One request to a project, as its endpoint sees it. `reference`: the id or path that it was asked by."""

    app: GitLabApp
    request: Request
    visitor: Visitor
    project: Project
    reference: str
    place: Place

    def parent(self, kind: str, iid: int) -> MergeRequest | Issue:
        if kind == "merge_requests":
            return self.merge_request(iid)
        issue = self.project.issues.get(iid)
        if issue is None or not may_read(self.project, self.visitor.username, issue):
            raise not_found()
        return issue

    def merge_request(self, iid: int) -> MergeRequest:
        mr = self.project.merge_requests.get(iid)
        if mr is None:
            raise not_found()
        return mr

    def hears(self, note: Note) -> bool:
        hide = self.app.switches.hide
        return may_hear(self.project, self.visitor.username, note) and not (hide and hide(note))

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


def version(app: GitLabApp, request: Request, visitor: Visitor) -> Response:
    number = "12.10.14-ee" if app.world.field_names == "old" else "18.5.1-ee"
    return Response(200, {"version": number, "revision": "0123456789a"})


def current_user(app: GitLabApp, request: Request, visitor: Visitor) -> Response:
    user = app.world.user(visitor.username or "")
    root = app.public_url or request.root
    row = {"id": user.id, "username": user.username, "name": user.name, "state": "active", "bot": user.is_bot}
    return Response(200, row | {"web_url": f"{root}/{user.username}"})


def one_project(ask: Ask) -> Response:
    return Response(200, rows.project_json(ask.place))


def merge_requests(ask: Ask) -> Response:
    found = _listed_parents(ask, "merge_requests", list(ask.project.merge_requests.values()), MR_STATES)
    return ask.listed(found, rows.merge_request_json, **DECLARED)


def issues(ask: Ask) -> Response:
    """Confidential ones are left out before the list is cut: its pages are full."""
    readable = [issue for issue in ask.project.issues.values() if may_read(ask.project, ask.visitor.username, issue)]
    found = _listed_parents(ask, "issues", readable, ISSUE_STATES)
    return ask.listed(found, rows.issue_json, **DECLARED)


def one_merge_request(ask: Ask, iid: int) -> Response:
    return Response(200, rows.single_merge_request_json(ask.place, ask.merge_request(iid)))


def one_issue(ask: Ask, iid: int) -> Response:
    issue = ask.parent("issues", iid)
    assert isinstance(issue, Issue)
    return Response(200, rows.issue_json(ask.place, issue) | {"subscribed": False})


def discussions(ask: Ask, kind: str, iid: int) -> Response:
    """Oldest first, always whole: `updated_after` and the like mean nothing here. Filtered after the cut."""
    parent = ask.parent(kind, iid)
    threads = parent.threads
    is_all_heard = all(ask.hears(note) for thread in threads for note in thread.notes)

    def shape(thread: Any) -> Json:
        return thread_rows.discussion_json(ask.place, thread, [note for note in thread.notes if ask.hears(note)])

    if is_all_heard:  # the ordinary case, kept encoded
        made = ask.app.encoded("threads", parent, ask.state, lambda: [shape(thread) for thread in threads])
        return ask.page(made, list, noteable_id=str(iid))
    return ask.page(
        threads, lambda page: [orjson.dumps(row) for row in map(shape, page) if row["notes"]], noteable_id=str(iid)
    )


def notes(ask: Ask, kind: str, iid: int) -> Response:
    """Newest first unless asked otherwise. Filtered after the cut."""
    parent = ask.parent(kind, iid)
    order = choice(ask.request, "order_by", {"created_at", "updated_at"}, "created_at")
    descending = choice(ask.request, "sort", {"asc", "desc"}, "desc") == "desc"
    filters = {"all_notes", "only_comments", "only_activity"}
    wanted = choice(ask.request, "activity_filter", filters, "all_notes")
    kept = [note for note in parent.notes if wanted == "all_notes" or note.is_system is (wanted == "only_activity")]
    kept.sort(key=lambda note: (getattr(note, order), note.id), reverse=descending)

    def encode(page: Sequence[Note]) -> list[bytes]:
        return [orjson.dumps(thread_rows.note_json(ask.place, note)) for note in page if ask.hears(note)]

    return ask.page(kept, encode, noteable_id=str(iid))


def events(ask: Ask, kind: str, iid: int, event: str) -> Response:
    parent = ask.parent(kind, iid)
    found = [row for row in parent.events if row.kind == event]
    return ask.shaped(found, lambda row: thread_rows.event_json(ask.place, parent, row), eventable_id=str(iid))


def closes_issues(ask: Ask, iid: int) -> Response:
    mr = ask.merge_request(iid)
    found = [issue for issue in ask.project.closes(mr) if may_read(ask.project, ask.visitor.username, issue)]
    return ask.listed(found, rows.issue_json, merge_request_iid=str(iid))


def diffs(ask: Ask, iid: int) -> Response:
    mr = ask.merge_request(iid)
    return ask.shaped(mr.diffs, lambda diff: thread_rows.diff_json(ask.place, diff), merge_request_iid=str(iid))


def changes(ask: Ask, iid: int) -> Response:
    mr = ask.merge_request(iid)
    row = rows.single_merge_request_json(ask.place, mr)
    row["changes"] = [thread_rows.diff_json(ask.place, diff) for diff in mr.diffs]
    return Response(200, row | {"overflow": any(diff.is_too_large for diff in mr.diffs)})


def reviewers(ask: Ask, iid: int) -> Response:
    """All of them at once: this list has no pages."""
    mr = ask.merge_request(iid)
    return Response(200, [thread_rows.reviewer_json(ask.place, review) for review in mr.reviews])


def post_note(ask: Ask, kind: str, iid: int, thread: str = "") -> Response:
    parent = ask.parent(kind, iid)
    body = _posted(ask.request)
    who = ask.visitor.username or ""
    if thread:
        discussion = parent.discussions.get(thread)
        if discussion is None or not any(ask.hears(note) for note in discussion.notes):
            raise not_found("Discussion")
        if discussion.notes[0].is_system:
            raise told(400, "400 Bad request - Discussion can not be replied to.")
        note = ask.project.reply(discussion.notes[0], who, body)
    else:
        note = ask.project.comment(parent, who, body)
    return Response(201, thread_rows.note_json(ask.place, note))


def _posted(request: Request) -> str:
    try:
        body = request.json().get("body")
    except (ValueError, AttributeError):
        body = None
    if not isinstance(body, str):
        raise invalid("body is missing")
    if not body.strip():
        raise told(400, "400 Bad request - Note {:note=>[\"can't be blank\"]}")
    return body


def _listed_parents(ask: Ask, kind: str, parents: Sequence[Issuable], states: set[str]) -> Sequence[Issuable]:
    request = ask.request
    if named := NOT_MODELLED & {name.split("[")[0] for name in request.query}:
        raise Refused(Response(501, {"message": f"the demo world does not model {sorted(named)}"}))
    state = choice(request, "state", states, "all")
    order = choice(request, "order_by", ORDERS, "created_at", {"created_at", "updated_at"})
    descending = choice(request, "sort", {"asc", "desc"}, "desc") == "desc"
    scope = choice(request, "scope", SCOPES, "all").replace("-", "_")
    if state == "locked" and ask.app.world.field_names == "old":
        state = "all"  # accepted and ignored, for years
    ordered = ask.project.ordered(
        f"{kind} {order} {len(parents)}", parents, lambda row: (getattr(row, order), row.id)
    )
    found = filtered(ordered, request)
    found = [row for row in found if state in (row.state, "all") and _concerns(ask, row, scope)]
    return found[::-1] if descending else found


def _concerns(ask: Ask, row: Issuable, scope: str) -> bool:
    if scope == "all":
        return True
    if ask.visitor.username is None:
        raise unauthorized()
    people = [row.author]
    if scope == "assigned_to_me":
        people = row.assignees
    elif scope == "reviews_for_me":
        people = [review.user for review in row.reviews] if isinstance(row, MergeRequest) else []
    return ask.visitor.username in {user.username for user in people}


def _moved(request: Request, reference: str, project: Project) -> Response:
    """Reads are sent on, by id; writes are not."""
    if request.method != "GET":
        raise told(405, "405 Method Not Allowed - Non GET methods are not allowed for moved projects")
    rest = request.raw_path.removeprefix(f"{API}/projects/").partition("/")[2]
    query = "&".join(f"{quote(name)}={quote(value)}" for name, value in request.pairs)
    url = f"{request.root}{API}/projects/{project.id}{'/' if rest else ''}{rest}{'?' if query else ''}{query}"
    body = f"This resource has been moved permanently to {url}".encode()
    return Response(301, body, {"location": url, "content-type": "text/plain"})


DECLARED = {
    "order_by": "created_at", "sort": "desc", "state": "all",
    "with_labels_details": "false", "with_merge_status_recheck": "false",
}  # fmt: skip

ENDPOINTS: Routes[tuple[Callable[..., Response], bool]] = Routes()  # with whether a user is needed even in public


def _add(pattern: str, handler: Callable[..., Response], needs_user: bool = False, method: str = "GET") -> None:
    ENDPOINTS.add(method, f"{API}{pattern}", (handler, needs_user))


_add("/version", version, needs_user=True)
_add("/user", current_user, needs_user=True)
_add("/projects/{project}", one_project)
_add("/projects/{project}/merge_requests", merge_requests)
_add("/projects/{project}/issues", issues)
_add("/projects/{project}/merge_requests/{iid:int}", one_merge_request)
_add("/projects/{project}/issues/{iid:int}", one_issue)
_add("/projects/{project}/merge_requests/{iid:int}/closes_issues", closes_issues)
_add("/projects/{project}/merge_requests/{iid:int}/diffs", diffs)
_add("/projects/{project}/merge_requests/{iid:int}/changes", changes)
_add("/projects/{project}/merge_requests/{iid:int}/reviewers", reviewers)
