"""How GitHub writes its rows in JSON: pure functions of a row and the address that it is asked at.

Only fields that matter to a reader are kept; their names, order of nulls and oddities are the service's.
"""

from dataclasses import dataclass
from typing import Any

from pendulum import DateTime

from pipelines.demo.github_repo import Repo
from pipelines.demo.github_state import Comment, Issue, Pull, Review, ReviewComment, User

WEB = "https://github.com"
Json = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A repository as seen at an API address."""

    root: str
    repo: Repo

    @property
    def api(self) -> str:
        return f"{self.root}/repos/{self.repo.full_name}"

    @property
    def web(self) -> str:
        return f"{WEB}/{self.repo.full_name}"

    def thread(self, number: int) -> str:
        issue = self.repo.numbered(number)
        return f"{self.web}/{'pull' if issue and issue.pull else 'issues'}/{number}"

    def association(self, user: User) -> str:
        if user.is_deleted:
            return "NONE"
        if user.login == self.repo.full_name.split("/")[0]:
            return "OWNER"
        return "MEMBER" if user.login in self.repo.members else "CONTRIBUTOR"


def stamp(instant: DateTime | None) -> str | None:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ") if instant else None


def user_json(root: str, user: User | None) -> Json | None:
    if user is None or user.is_deleted:
        return None
    return {
        "login": user.login,
        "id": user.id,
        "node_id": f"U_{user.id}",
        "url": f"{root}/users/{user.login}",
        "html_url": f"{WEB}/{user.login}",
        "type": "Bot" if user.is_bot else "User",
        "site_admin": False,
    }


def repo_json(place: Place) -> Json:
    repo = place.repo
    owner, name = repo.full_name.split("/")
    return {
        "id": repo.id,
        "node_id": f"R_{repo.id}",
        "name": name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": {"login": owner, "type": "Organization"},
        "html_url": place.web,
        "url": place.api,
        "default_branch": "main",
        "has_issues": True,
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
        "reactions": _reactions(f"{place.api}/issues/{number}"),
        "performed_via_github_app": None,
        "state_reason": issue.state_reason,
        **_shared(place, issue),
    }
    if pull := issue.pull:
        row |= {"draft": pull.draft, "node_id": f"PR_{pull.id}"}
        row["pull_request"] = {
            "url": f"{place.api}/pulls/{number}",
            "html_url": place.thread(number),
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
        "requested_reviewers": [],
        "requested_teams": [],
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
    app = comment.app
    return {
        "id": comment.id,
        "node_id": f"IC_{comment.id}",
        "url": url,
        "html_url": f"{place.thread(comment.number)}#issuecomment-{comment.id}",
        "issue_url": f"{place.api}/issues/{comment.number}",
        "performed_via_github_app": app and {"id": sum(app.encode()), "slug": app, "name": app, "node_id": f"A_{app}"},
        "reactions": _reactions(url),
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
        "reactions": _reactions(url),
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
    return {
        "html_url": place.thread(issue.number),
        "title": issue.title,
        "body": issue.body,
        "user": user_json(place.root, issue.author),
        "author_association": place.association(issue.author),
        "state": issue.state,
        "locked": False,
        "labels": [{"name": name, "color": "ededed", "default": False} for name in issue.labels],
        "assignee": None,
        "assignees": [],
        "milestone": None,
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
    return {"label": f"{owner}:{ref}", "ref": ref, "sha": sha, "repo": repo}


def _reactions(url: str) -> Json:
    kinds = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    return {"url": f"{url}/reactions", "total_count": 0, **dict.fromkeys(kinds, 0)}
