"""The demo GitLab's endpoints, and the answer that the real service gives at each.

A parameter that GitLab knows and this world does not model is refused with 501, so that no test believes it.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import orjson

from pipelines.demo.gitlab.api import rows, thread_rows
from pipelines.demo.gitlab.api.access import SCOPE, Refused, invalid, not_found, told, unauthorized
from pipelines.demo.gitlab.api.ask import Ask
from pipelines.demo.gitlab.api.lists import choice, filtered
from pipelines.demo.gitlab.api.rows import Json
from pipelines.demo.gitlab.state import Discussion, Issuable, Issue, MergeRequest, Note
from pipelines.demo.server.web import Request, Response, Routes

API = "/api/v4"
MR_STATES, ISSUE_STATES = {"opened", "closed", "locked", "merged", "all"}, {"opened", "closed", "all"}
ORDERS = {"created_at", "updated_at", "label_priority", "milestone_due", "popularity", "priority", "title", "merged_at"}
SCOPES = {"created-by-me", "assigned-to-me", "created_by_me", "assigned_to_me", "reviews_for_me", "all"}
NOT_MODELLED = {
    "approved", "assignee_id", "assignee_username", "author_id", "author_username", "confidential", "deployed_after",
    "deployed_before", "due_date", "environment", "in", "issue_type", "merge_user_id", "merge_user_username",
    "milestone", "milestone_id", "my_reaction_emoji", "not", "reviewer_id", "reviewer_username", "search",
    "source_branch", "source_project_id", "target_branch", "view", "weight", "wip",
}  # fmt: skip


def one_project(ask: Ask) -> Response:
    return Response(200, rows.project_json(ask.place))


def merge_requests(ask: Ask) -> Response:
    found = _listed_parents(ask, "merge_requests", MR_STATES)
    return ask.listed(found, rows.merge_request_json, **DECLARED)


def issues(ask: Ask) -> Response:
    """Confidential ones are left out before the list is cut: its pages are full."""
    found = _listed_parents(ask, "issues", ISSUE_STATES)
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
    found = [issue for issue in ask.project.closes(mr) if ask.reader.may_read(issue)]
    both = [*ask.project.closes_elsewhere(mr), *found]
    return ask.shaped(both, lambda issue: rows.closed_issue_json(ask.place, issue), merge_request_iid=str(iid))


def diffs(ask: Ask, iid: int) -> Response:
    mr = ask.merge_request(iid)
    return ask.shaped(mr.diffs, lambda diff: thread_rows.diff_json(ask.place, diff), merge_request_iid=str(iid))


def changes(ask: Ask, iid: int) -> Response:
    mr = ask.merge_request(iid)
    row = rows.single_merge_request_json(ask.place, mr)
    row["changes"] = [thread_rows.diff_json(ask.place, diff) for diff in mr.diffs]
    return Response(200, row | {"overflow": any(diff.is_too_large for diff in mr.diffs)})


def reviewers(ask: Ask, iid: int) -> Response:
    mr = ask.merge_request(iid)
    return ask.shaped(mr.reviews, lambda row: thread_rows.reviewer_json(ask.place, row), merge_request_iid=str(iid))


def post_note(ask: Ask, kind: str, iid: int, thread: str = "") -> Response:
    who = _writer(ask)
    parent = ask.parent(kind, iid)
    if ask.project.archived or (parent.is_locked and who not in ask.project.team):
        raise told(403, "403 Forbidden")
    body = _posted(ask.request)
    if thread:
        discussion = _discussion(ask, parent, thread)
        if discussion.notes[0].is_system:
            raise told(400, "400 Bad request - Discussion can not be replied to.")
        note = ask.project.reply(discussion.notes[0], who, body)
    else:
        note = ask.project.comment(parent, who, body)
    return Response(201, thread_rows.note_json(ask.place, note))


def resolve(ask: Ask, iid: int, thread: str) -> Response:
    """Resolving what is resolved changes nothing."""
    who = _writer(ask)
    discussion = _discussion(ask, ask.parent("merge_requests", iid), thread)
    try:
        wanted = ask.request.query.get("resolved") or ask.request.json().get("resolved")
    except (ValueError, AttributeError):
        wanted = None
    if str(wanted).lower() not in {"true", "false"}:
        raise invalid("resolved is missing")
    first = discussion.notes[0]
    if not first.is_resolvable:
        raise told(403, "403 Forbidden")
    if str(wanted).lower() == "false":
        ask.project.unresolve(first)
    elif not discussion.is_resolved:
        ask.project.resolve(first, who)
    notes = [note for note in discussion.notes if ask.hears(note)]
    return Response(200, thread_rows.discussion_json(ask.place, discussion, notes))


def _writer(ask: Ask) -> str:
    if not ask.visitor.may_write:
        error = {"error": "insufficient_scope", "error_description": SCOPE, "scope": "api"}
        raise Refused(Response(403, error))
    return ask.visitor.username or ""


def _discussion(ask: Ask, parent: Issuable, thread: str) -> Discussion:
    found = parent.discussions.get(thread)
    if found is None or not any(ask.hears(note) for note in found.notes):
        raise not_found("Discussion")
    return found


def _posted(request: Request) -> str:
    try:
        body = request.json().get("body")
    except (ValueError, AttributeError):
        body = None
    if not isinstance(body, str):
        raise invalid("body is missing")
    if not body.strip():
        raise told(400, '400 Bad request - Note {:note=>["can\'t be blank"]}')
    return body


def _listed_parents(ask: Ask, kind: str, states: set[str]) -> list[Issuable]:
    request = ask.request
    if named := NOT_MODELLED & {name.split("[")[0] for name in request.query}:
        raise Refused(Response(501, {"message": f"the demo world does not model {sorted(named)}"}))
    choice(request, "with_labels_details", {"true", "false"}, "false", {"false"})
    state = choice(request, "state", states, "all")
    order = choice(request, "order_by", ORDERS, "created_at", {"created_at", "updated_at"})
    descending = choice(request, "sort", {"asc", "desc"}, "desc") == "desc"
    scope = choice(request, "scope", SCOPES, "all").replace("-", "_")
    if state == "locked" and ask.app.world.field_names == "old":
        state = "all"  # accepted and ignored, for years
    parents: Iterable[Issuable] = getattr(ask.project, kind).values()
    ordered = ask.project.ordered(f"{kind} {order}", parents, lambda row: (getattr(row, order), row.id))
    found = [
        row
        for row in filtered(ordered, request)
        if state in (row.state, "all")
        and ask.project.is_told(row)
        and (not isinstance(row, Issue) or ask.reader.may_read(row))
        and _concerns(ask, row, scope)
    ]
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


DECLARED = {"order_by": "created_at", "sort": "desc", "state": "all", "with_labels_details": "false"}

ENDPOINTS: Routes[tuple[Callable[..., Response], bool]] = Routes()  # with whether a user is needed even in public


def _add(pattern: str, handler: Callable[..., Response], needs_user: bool = False, method: str = "GET") -> None:
    ENDPOINTS.add(method, f"{API}{pattern}", (handler, needs_user))


_add("/projects/{project}", one_project)
_add("/projects/{project}/merge_requests", merge_requests)
_add("/projects/{project}/issues", issues)
_add("/projects/{project}/merge_requests/{iid:int}", one_merge_request)
_add("/projects/{project}/issues/{iid:int}", one_issue)
_add("/projects/{project}/merge_requests/{iid:int}/closes_issues", closes_issues)
_add("/projects/{project}/merge_requests/{iid:int}/diffs", diffs)
_add("/projects/{project}/merge_requests/{iid:int}/changes", changes)
_add("/projects/{project}/merge_requests/{iid:int}/reviewers", reviewers)
_thread = "/projects/{project}/merge_requests/{iid:int}/discussions/{thread}"
_add(_thread, resolve, needs_user=True, method="PUT")
for _kind in ("merge_requests", "issues"):
    _one = f"/projects/{{project}}/{_kind}/{{iid:int}}"
    _add(f"{_one}/discussions", partial(discussions, kind=_kind), needs_user=True)
    _add(f"{_one}/notes", partial(notes, kind=_kind), needs_user=True)
    for _event in ("label", "state", "milestone"):
        _add(f"{_one}/resource_{_event}_events", partial(events, kind=_kind, event=_event), needs_user=True)
    _add(f"{_one}/notes", partial(post_note, kind=_kind), needs_user=True, method="POST")
    _add(f"{_one}/discussions/{{thread}}/notes", partial(post_note, kind=_kind), needs_user=True, method="POST")
