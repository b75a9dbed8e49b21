"""How GitLab writes its rows in JSON: pure functions of a row and the place that it is asked at.

Only fields that matter to a reader are kept; their names, nulls and oddities are the service's.
"""

from dataclasses import dataclass
from typing import Any

from pendulum import DateTime

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import (
    ExternalIssue,
    Issuable,
    Issue,
    MergeRequest,
    Milestone,
    User,
    kind_of,
)

Json = dict[str, Any]
TYPES = {"merge_request": "MergeRequest", "issue": "Issue"}


@dataclass(frozen=True)
class Place:
    """A project as seen at one web address."""

    web_root: str
    project: Project

    @property
    def web(self) -> str:
        return f"{self.web_root}/{self.project.path_with_namespace}"

    @property
    def field_names(self) -> str:
        return self.project.world.field_names

    def thread(self, parent: Issuable) -> str:
        kind = "work_item" if isinstance(parent, Issue) and parent.type == "task" else kind_of(parent)
        return f"{self.web}/-/{kind}s/{parent.iid}"


def stamp(instant: DateTime | None) -> str | None:
    """Milliseconds, cut and not rounded."""
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03}Z" if instant else None


def user_json(place: Place, user: User | None) -> Json | None:
    if user is None:
        return None
    return {
        "id": user.id,
        "username": user.username,
        "name": user.name,
        "state": "active",
        "avatar_url": None,
        "web_url": f"{place.web_root}/{user.username}",
    }


def project_json(place: Place) -> Json:
    project = place.project
    namespace, path = project.path_with_namespace.rsplit("/", 1)
    return {
        "id": project.id,
        "description": None,
        "name": path,
        "name_with_namespace": project.path_with_namespace.replace("/", " / "),
        "path": path,
        "path_with_namespace": project.path_with_namespace,
        "created_at": stamp(project.created_at),
        "default_branch": project.default_branch,
        "visibility": "private" if project.private else "public",
        "web_url": place.web,
        "namespace": {
            "id": sum(namespace.encode()),
            "name": namespace,
            "path": namespace.rsplit("/", 1)[-1],
            "kind": "group",
            "full_path": namespace,
        },
        "archived": project.archived,
        "open_issues_count": sum(issue.state == "opened" for issue in project.issues.values()),
    }


# Merge requests and issues


def merge_request_json(place: Place, mr: MergeRequest) -> Json:
    """A list item; see `single_merge_request_json` for what only one alone tells."""
    row = {
        **_shared(place, mr),
        "merged_at": stamp(mr.merged_at),
        "source_branch": mr.source_branch,
        "target_branch": mr.target_branch,
        "source_project_id": mr.project_id,
        "target_project_id": mr.project_id,
        "reviewers": [user_json(place, review.user) for review in mr.reviews],
        "sha": mr.refs.head_sha,
        "merge_commit_sha": mr.refs.head_sha[::-1] if mr.merged_at else None,
        "squash": mr.squash,
        "squash_commit_sha": mr.refs.base_sha[::-1] if mr.merged_at and mr.squash else None,
        "should_remove_source_branch": mr.removes_branch,
        "force_remove_source_branch": mr.force_removes_branch,
        "merge_when_pipeline_succeeds": False,
        "has_conflicts": not mr.is_mergeable,
        "blocking_discussions_resolved": True,
    }
    return row | _named(place, mr)


def single_merge_request_json(place: Place, mr: MergeRequest) -> Json:
    refs = {"base_sha": mr.refs.base_sha, "start_sha": mr.refs.start_sha, "head_sha": mr.refs.head_sha}
    return {
        **merge_request_json(place, mr),
        "subscribed": False,
        "changes_count": str(len(mr.diffs)),  # a string, "1000+" beyond what is counted
        "diff_refs": refs,
        "merge_error": None,
        "first_contribution": False,
        "user": {"can_merge": False},
    }


def issue_json(place: Place, issue: Issue) -> Json:
    return {
        **_shared(place, issue),
        "type": issue.type.upper(),
        "issue_type": issue.type,
        "due_date": None,
        "confidential": issue.is_confidential,
    }


def closed_issue_json(place: Place, issue: Issue | ExternalIssue) -> Json:
    """Another tracker's issue has an id of that tracker's kind, and no other field than its title."""
    return issue_json(place, issue) if isinstance(issue, Issue) else {"title": issue.title, "id": issue.id}


def _shared(place: Place, parent: Issuable) -> Json:
    sign = "!" if isinstance(parent, MergeRequest) else "#"
    short = f"{sign}{parent.iid}"
    references = {"short": short, "relative": short, "full": f"{place.project.path_with_namespace}{short}"}
    return {
        "id": parent.id,
        "iid": parent.iid,
        "project_id": parent.project_id,
        "title": parent.title,
        "description": parent.description,
        "state": parent.state,
        "created_at": stamp(parent.created_at),
        "updated_at": stamp(parent.updated_at),
        "closed_at": stamp(parent.closed_at),
        "closed_by": user_json(place, parent.closed_by),
        "labels": sorted(label.name for label in parent.labels),
        "milestone": parent.milestone and milestone_json(place, parent.milestone),
        "assignees": [user_json(place, user) for user in parent.assignees],
        "assignee": user_json(place, parent.assignees[0]) if parent.assignees else None,
        "author": user_json(place, parent.author),
        "user_notes_count": parent.user_notes_count,
        "discussion_locked": parent.is_locked,
        "upvotes": 0,
        "downvotes": 0,
        "reference": short,
        "references": references,
        "web_url": place.thread(parent),
    }


def _named(place: Place, mr: MergeRequest) -> Json:
    """What changed its name over the years."""
    merged_by = user_json(place, mr.merge_user)
    old = {
        "work_in_progress": mr.is_draft,
        "merge_status": "can_be_merged" if mr.is_mergeable else "cannot_be_merged",
        "merged_by": merged_by,
    }
    if place.field_names == "old":
        return old
    new = {"draft": mr.is_draft, "detailed_merge_status": mr.detailed_merge_status, "merge_user": merged_by}
    if place.field_names == "disagreeing":
        told_by = ("draft", "work_in_progress")[mr.iid % 2]
        drafts = {name: mr.is_draft and name == told_by for name in ("draft", "work_in_progress")}
        others = {"merge_status": "checking", "merged_by": merged_by and user_json(place, mr.author)}
        return old | new | drafts | others
    return old | new


def milestone_json(place: Place, milestone: Milestone) -> Json:
    return {
        "id": milestone.id,
        "iid": milestone.iid,
        "project_id": place.project.id,
        "title": milestone.title,
        "description": "",
        "state": "active",
        "created_at": stamp(milestone.created_at),
        "updated_at": stamp(milestone.created_at),
        "due_date": milestone.due_date,
        "start_date": None,
        "expired": False,
        "web_url": f"{place.web}/-/milestones/{milestone.iid}",
    }
