"""How GitHub writes its rows in JSON: pure functions of a row and the address that it is asked at.

Only fields that matter to a reader are kept; their names, order of nulls and oddities are the service's.
"""

from pipelines.demo.github.parts import (
    Json,
    Place,
    app_json,
    label_json,
    milestone_json,
    people_json,
    reactions_json,
    stamp,
    team_json,
    user_json,
)
from pipelines.demo.github.state import Comment, Issue, Pull, Review, ReviewComment, User

__all__ = [
    "Json", "Place", "comment_json", "issue_json", "pull_detail_json", "pull_json", "repo_json", "review_comment_json",
    "review_json", "stamp", "user_json",
]  # fmt: skip


def repo_json(place: Place) -> Json:
    repo = place.repo
    owner, name = repo.full_name.split("/")
    return {
        "id": repo.id,
        "node_id": f"R_{repo.id}",
        "name": name,
        "full_name": repo.full_name,
        "private": repo.private,
        "visibility": "private" if repo.private else "public",
        "archived": repo.archived,
        "owner": user_json(place.root, User(repo.id, owner)),
        "html_url": place.web,
        "url": place.api,
        "default_branch": "main",
        "has_issues": True,
        "has_pull_requests": True,
        "open_issues_count": sum(issue.state == "open" for issue in repo.issues.rows.values()),
        "created_at": stamp(repo.created_at),
    }


def issue_json(place: Place, issue: Issue) -> Json:
    number = issue.number
    row = {
        "id": issue.id,
        "node_id": f"I_{issue.id}",
        "number": number,
        "url": f"{place.api}/issues/{number}",
        "repository_url": place.api,
        "comments_url": f"{place.api}/issues/{number}/comments",
        "comments": place.repo.comments.count(number),
        "reactions": reactions_json(f"{place.api}/issues/{number}"),
        "performed_via_github_app": issue.app and app_json(place, issue.app),
        "state_reason": issue.state_reason,
        "closed_by": user_json(place.root, issue.closed_by),
        **_shared(place, issue),
    }
    if pull := issue.pull:
        row |= {"draft": pull.draft, "node_id": f"PR_{pull.id}"}
        row["pull_request"] = {
            "url": f"{place.api}/pulls/{number}",
            "html_url": place.thread(number),
            "diff_url": f"{place.thread(number)}.diff",
            "patch_url": f"{place.thread(number)}.patch",
            "merged_at": stamp(pull.merged_at),
        }
    return row


def pull_json(place: Place, issue: Issue) -> Json:
    """A list item: without the counts, which only the single pull request tells."""
    pull, number = _pull(issue), issue.number
    return {
        "id": pull.id,
        "node_id": f"PR_{pull.id}",
        "number": number,
        "url": f"{place.api}/pulls/{number}",
        "issue_url": f"{place.api}/issues/{number}",
        "review_comments_url": f"{place.api}/pulls/{number}/comments",
        "comments_url": f"{place.api}/issues/{number}/comments",
        "merged_at": stamp(pull.merged_at),
        "draft": pull.draft,
        "merge_commit_sha": pull.merged_at and pull.head_sha,
        "requested_reviewers": people_json(place, pull.requested_reviewers),
        "requested_teams": [team_json(place, slug) for slug in pull.requested_teams],
        "head": _branch(place, pull.head, pull.head_sha),
        "base": _branch(place, pull.base, pull.base_sha),
        "auto_merge": None,
        **_shared(place, issue),
    }


def pull_detail_json(place: Place, issue: Issue) -> Json:
    pull, number = _pull(issue), issue.number
    return {
        **pull_json(place, issue),
        "merged": pull.merged_at is not None,
        "merged_by": user_json(place.root, pull.merged_by),
        "comments": place.repo.comments.count(number),
        "review_comments": place.repo.review_comments.count(number),
        "commits": 1 + pull.pushes,
    }


def comment_json(place: Place, comment: Comment) -> Json:
    url = f"{place.api}/issues/comments/{comment.id}"
    return {
        "id": comment.id,
        "node_id": f"IC_{comment.id}",
        "url": url,
        "html_url": f"{place.thread(comment.number)}#issuecomment-{comment.id}",
        "issue_url": f"{place.api}/issues/{comment.number}",
        "performed_via_github_app": comment.app and app_json(place, comment.app),
        "reactions": reactions_json(url),
        **_said(place, comment),
    }


def review_comment_json(place: Place, comment: ReviewComment) -> Json:
    """`position` needs a real diff; here it repeats the line, and is null when the line is."""
    url = f"{place.api}/pulls/comments/{comment.id}"
    row = {
        "id": comment.id,
        "node_id": f"PRRC_{comment.id}",
        "url": url,
        "html_url": f"{place.thread(comment.number)}#discussion_r{comment.id}",
        "pull_request_url": f"{place.api}/pulls/{comment.number}",
        "pull_request_review_id": comment.review_id,
        "diff_hunk": comment.diff_hunk,
        "path": comment.path,
        "commit_id": comment.commit_id,
        "original_commit_id": comment.original_commit_id,
        "line": comment.line,
        "original_line": comment.original_line,
        "start_line": comment.start_line,
        "original_start_line": comment.original_start_line,
        "side": comment.side,
        "start_side": comment.side if comment.original_start_line else None,
        "position": comment.line or (1 if comment.subject_type == "file" else None),
        "original_position": comment.original_line or 1,
        "subject_type": comment.subject_type,
        "reactions": reactions_json(url),
        **_said(place, comment),
    }
    # A thread's first comment has no such key at all.
    return row | ({"in_reply_to_id": comment.in_reply_to_id} if comment.in_reply_to_id else {})


def review_json(place: Place, review: Review) -> Json:
    row = {
        "id": review.id,
        "node_id": f"PRR_{review.id}",
        "user": user_json(place.root, review.author),
        "body": review.body,
        "state": review.state,
        "html_url": f"{place.thread(review.number)}#pullrequestreview-{review.id}",
        "pull_request_url": f"{place.api}/pulls/{review.number}",
        "author_association": place.association(review.author),
        "commit_id": review.commit_id,
    }
    return row | ({"submitted_at": stamp(review.submitted_at)} if review.submitted_at else {})


def _shared(place: Place, issue: Issue) -> Json:
    """What an issue and a pull request say in the same words."""
    people = people_json(place, issue.assignees)
    return {
        "html_url": place.thread(issue.number),
        "title": issue.title,
        "body": issue.body,
        "user": user_json(place.root, issue.author),
        "author_association": place.association(issue.author),
        "state": issue.state,
        "locked": issue.locked_for is not None,
        "active_lock_reason": issue.locked_for,
        "labels": [label_json(place, name) for name in issue.labels],
        "assignee": people[0] if people else None,
        "assignees": people,
        "milestone": milestone_json(place, issue.milestone),
        "created_at": stamp(issue.created_at),
        "updated_at": stamp(issue.updated_at),
        "closed_at": stamp(issue.closed_at),
    }


def _said(place: Place, comment: Comment | ReviewComment) -> Json:
    return {
        "user": user_json(place.root, comment.author),
        "author_association": place.association(comment.author),
        "body": comment.body,
        "created_at": stamp(comment.created_at),
        "updated_at": stamp(comment.updated_at),
    }


def _pull(issue: Issue) -> Pull:
    assert issue.pull is not None
    return issue.pull


def _branch(place: Place, ref: str, sha: str) -> Json:
    owner = place.repo.full_name.split("/")[0]
    repo = {"id": place.repo.id, "full_name": place.repo.full_name}
    user = user_json(place.root, User(place.repo.id, owner))
    return {"label": f"{owner}:{ref}", "ref": ref, "sha": sha, "repo": repo, "user": user}
