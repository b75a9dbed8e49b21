"""The plain truth about a demo GitLab, in its own terms: what a full scan ought to end with.

A test that compares a warehouse with it does not lean on the encoding that the API uses. Instants are cut to the
millisecond: nobody outside can know more.
"""

from dataclasses import dataclass, field
from typing import Any

from pendulum import DateTime

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.rights import Reader
from pipelines.demo.gitlab.state import (
    Event,
    Fact,
    FileDiff,
    Issuable,
    Label,
    MergeRequest,
    Note,
    Position,
    Spot,
    kind_of,
)


@dataclass(frozen=True)
class Truth:
    """Everything that exists now, by id. A merge request's diffs and closed issues hang under its own id."""

    merge_requests: dict[int, Fact] = field(default_factory=dict)
    issues: dict[int, Fact] = field(default_factory=dict)
    discussions: dict[str, Fact] = field(default_factory=dict)
    notes: dict[int, Fact] = field(default_factory=dict)
    label_events: dict[int, Fact] = field(default_factory=dict)
    state_events: dict[int, Fact] = field(default_factory=dict)
    milestone_events: dict[int, Fact] = field(default_factory=dict)
    diffs: dict[int, list[Fact]] = field(default_factory=dict)
    closes: dict[int, list[int]] = field(default_factory=dict)  # merge request id → issue iids
    closes_elsewhere: dict[int, list[str]] = field(default_factory=dict)  # merge request id → ids of another tracker's


def told(instant: DateTime) -> DateTime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def tell(truth: Truth, project: Project, reader: Reader) -> None:
    """One project, as far as the reader may see it."""
    if not reader.may_enter:
        return
    for mr in filter(project.is_told, project.merge_requests.values()):
        truth.merge_requests[mr.id] = merge_request_fact(mr)
        truth.diffs[mr.id] = [diff_fact(diff) for diff in mr.diffs]
        truth.closes[mr.id] = [issue.iid for issue in project.closes(mr) if reader.may_read(issue)]
        truth.closes_elsewhere[mr.id] = [issue.id for issue in project.closes_elsewhere(mr)]
        _tell_what_hangs_on(truth, mr, reader)
    for issue in filter(project.is_told, filter(reader.may_read, project.issues.values())):
        truth.issues[issue.id] = issuable_fact(issue) | {"is_confidential": issue.is_confidential, "type": issue.type}
        _tell_what_hangs_on(truth, issue, reader)


def _tell_what_hangs_on(truth: Truth, parent: Issuable, reader: Reader) -> None:
    for thread in parent.threads:
        if notes := [note for note in thread.notes if reader.may_hear(note)]:
            truth.discussions[thread.id] = {
                "parent": (kind_of(parent), parent.iid),
                "project_id": parent.project_id,
                "is_individual": thread.is_individual,
                "notes": [note.id for note in notes],
            }
            truth.notes.update({note.id: note_fact(note) for note in notes})
    tables = {"label": truth.label_events, "state": truth.state_events, "milestone": truth.milestone_events}
    for event in parent.events:
        tables[event.kind][event.id] = event_fact(parent, event)


def issuable_fact(parent: Issuable) -> Fact:
    return {
        "project_id": parent.project_id,
        "id": parent.id,
        "iid": parent.iid,
        "author": parent.author.username,
        "title": parent.title,
        "description": parent.description,
        "state": parent.state,
        "labels": sorted(label.name for label in parent.labels),
        "assignees": [user.username for user in parent.assignees],
        "milestone": parent.milestone and parent.milestone.title,
        "user_notes_count": parent.user_notes_count,
        "created_at": told(parent.created_at),
        "updated_at": told(parent.updated_at),
        "closed_at": parent.closed_at and told(parent.closed_at),
    }


def merge_request_fact(mr: MergeRequest) -> Fact:
    return issuable_fact(mr) | {
        "is_draft": mr.is_draft,
        "source_branch": mr.source_branch,
        "target_branch": mr.target_branch,
        "sha": mr.refs.head_sha,
        "reviewers": [review.user.username for review in mr.reviews],
        "review_states": {review.user.username: review.state for review in mr.reviews},
        "detailed_merge_status": mr.detailed_merge_status,
        "merge_user": mr.merge_user and mr.merge_user.username,
        "merged_at": mr.merged_at and told(mr.merged_at),
    }


def note_fact(note: Note) -> Fact:
    return {
        "id": note.id,
        "discussion_id": note.discussion.id,
        "parent": (kind_of(note.parent), note.parent.iid),
        "project_id": note.parent.project_id,
        "author": note.author.username,
        "body": note.body,
        "type": note.type,
        "is_system": note.is_system,
        "is_internal": note.is_internal,
        "created_at": told(note.created_at),
        "updated_at": told(note.updated_at),
        "is_resolvable": note.is_resolvable,
        "is_resolved": note.resolved_at is not None,
        "resolved_by": note.resolved_by and note.resolved_by.username,
        "resolved_at": note.resolved_at and told(note.resolved_at),
        "position": note.position and position_fact(note.position),
    }


def position_fact(position: Position) -> Fact:
    """Lines as numbers, however they are sent. `range` is null where only one line was marked."""
    line, start = position.line, position.start
    return {
        "position_type": position.type,
        "old_path": position.old_path,
        "new_path": position.new_path,
        "old_line": line and line.old_line,
        "new_line": line and line.new_line,
        "range": (_line(start), _line(line)) if start and line else None,
        "base_sha": position.refs.base_sha,
        "start_sha": position.refs.start_sha,
        "head_sha": position.refs.head_sha,
        "image": position.image,
    }


def event_fact(parent: Issuable, event: Event) -> Fact:
    fact: dict[str, Any] = {
        "id": event.id,
        "parent": (kind_of(parent), parent.iid),
        "project_id": parent.project_id,
        "user": event.user and event.user.username,
        "action": event.action,
        "created_at": told(event.created_at),
    }
    if event.kind == "state":
        return fact | {"source_merge_request_id": event.source_merge_request_id}
    subject = event.subject
    if isinstance(subject, Label):
        return fact | {"subject": None if subject.is_deleted else subject.name}
    return fact | {"subject": subject and subject.title}


def diff_fact(diff: FileDiff) -> Fact:
    return {
        "old_path": diff.old_path,
        "new_path": diff.new_path,
        "is_new": diff.is_new,
        "is_renamed": diff.is_renamed,
        "is_deleted": diff.is_deleted,
        "is_collapsed": diff.is_collapsed,
        "is_too_large": diff.is_too_large,
    }


def _line(spot: Spot) -> tuple[int | None, int | None]:
    return spot.old_line, spot.new_line
