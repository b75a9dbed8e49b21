"""What can be said on the demo GitHub: comments in a conversation, replies in a review's thread."""

from pipelines.demo.github.api import rows
from pipelines.demo.github.api.access import Refused, refusal
from pipelines.demo.github.api.ask import Ask
from pipelines.demo.server.web import Response

LONGEST = 65_536
REPLIED = "in_reply_to is a reply itself"


def post_comment(ask: Ask, number: int) -> Response:
    login = _writer(ask, number)
    ask.issue(number)
    row = ask.repo.comments.rows[ask.repo.comment(number, login, _body(ask, "IssueComment"))]
    written = rows.comment_json(ask.place, row)
    return Response(201, written, {"location": written["url"]})


def post_reply(ask: Ask, number: int, comment_id: int) -> Response:
    """To the first comment of a thread only: replies to replies are not supported."""
    login = _writer(ask, number)
    ask.pull(number)
    first = ask.repo.review_comments.rows.get(comment_id)
    if first is None or first.number != number:
        raise Refused(refusal(404, "Not Found", "rest/pulls/comments#create-a-reply-for-a-review-comment"))
    body = _body(ask, "PullRequestReviewComment")
    if first.in_reply_to_id:
        error = {"resource": "PullRequestReviewComment", "code": "custom", "field": "in_reply_to", "message": REPLIED}
        raise Refused(refusal(422, "Validation Failed", errors=[error]))
    reply = ask.repo.review_comment(
        number, login, first.path, body, first.line, first.side, first.start_line, in_reply_to=comment_id,
        subject_type=first.subject_type, diff_hunk=first.diff_hunk,
    )  # fmt: skip
    written = rows.review_comment_json(ask.place, ask.repo.review_comments.rows[reply])
    return Response(201, written, {"location": written["url"]})


def _writer(ask: Ask, number: int) -> str:
    if ask.visitor.login is None:
        raise Refused(refusal(401, "Requires authentication"))
    if not ask.visitor.may_write:
        raise Refused(refusal(403, "Resource not accessible by personal access token"))
    issue, login = ask.repo.numbered(number), ask.visitor.login
    if ask.repo.archived:
        raise Refused(refusal(403, "Repository was archived so is read-only."))
    if issue and issue.locked_for is not None and not ask.repo.belongs(login):
        raise Refused(refusal(403, "Unable to create comment because issue is locked."))
    return login


def _body(ask: Ask, resource: str) -> str:
    try:
        body = ask.request.json()["body"]
    except (ValueError, TypeError, KeyError) as cause:
        raise Refused(refusal(422, 'Invalid request.\n\n"body" wasn\'t supplied.')) from cause
    said = "Body cannot be blank" if not isinstance(body, str) or not body.strip() else ""
    said = said or ("body is too long (maximum is 65536 characters)" if len(body) > LONGEST else "")
    if said:
        error = {"resource": resource, "code": "unprocessable", "field": "data", "message": said}
        raise Refused(refusal(422, "Validation Failed", errors=[error]))
    return str(body)
