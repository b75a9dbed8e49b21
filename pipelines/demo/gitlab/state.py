"""What the demo GitLab holds: merge requests, issues, the notes under them, the events on them, and places in diffs.

Instants are kept to the microsecond, as GitLab's database keeps them; its API tells milliseconds.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from pendulum import DateTime


@dataclass(eq=False, slots=True)
class User:
    id: int
    username: str
    name: str
    is_bot: bool = False


@dataclass(eq=False, slots=True)
class Label:
    id: int
    name: str
    color: str = "#6699cc"
    is_deleted: bool = False


@dataclass(eq=False, slots=True)
class Milestone:
    id: int
    iid: int
    title: str
    created_at: DateTime
    due_date: str | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """One line of a diff. Both counters always run; the line exists on one side only if `type` names one."""

    old: int
    new: int
    type: str | None = None  # "new": added, "old": removed, None: on both sides

    @property
    def old_line(self) -> int | None:
        return None if self.type == "new" else self.old

    @property
    def new_line(self) -> int | None:
        return None if self.type == "old" else self.new

    def code(self, path: str) -> str:
        return f"{hashlib.sha1(path.encode()).hexdigest()}_{self.old}_{self.new}"


@dataclass(frozen=True, slots=True)
class DiffRefs:
    base_sha: str
    start_sha: str
    head_sha: str


@dataclass(frozen=True, slots=True)
class Position:
    """Where a DiffNote hangs: a line, perhaps the end of a range; a point on an image; or a whole file.

    `range_as` is how the ends of the range are sent: "numbers", "strings", "missing" lines, where only the line code
    says them, or "codes": no ends at all, their codes and types beside each other. GitLab has done all four.
    """

    old_path: str
    new_path: str
    refs: DiffRefs
    line: Spot | None = None
    start: Spot | None = None
    range_as: str = "numbers"
    image: tuple[int, int, float, float] | None = None  # width, height, x, y

    @property
    def type(self) -> str:
        if self.image:
            return "image"
        return "text" if self.line else "file"


@dataclass(eq=False, slots=True)
class Note:
    id: int
    discussion: "Discussion"
    author: User
    body: str
    created_at: DateTime
    updated_at: DateTime
    type: str | None = None  # DiscussionNote, DiffNote, or None: an individual note
    is_system: bool = False
    is_internal: bool = False
    position: Position | None = None
    resolved_by: User | None = None
    resolved_at: DateTime | None = None

    @property
    def parent(self) -> "Issuable":
        return self.discussion.parent

    @property
    def is_resolvable(self) -> bool:
        """Threads on merge requests only; never an individual note, never what the system says."""
        return isinstance(self.parent, MergeRequest) and self.type is not None and not self.is_system


@dataclass(eq=False, slots=True)
class Discussion:
    id: str
    parent: "Issuable"
    notes: list[Note] = field(default_factory=list)

    @property
    def is_individual(self) -> bool:
        return self.notes[0].type is None

    @property
    def is_resolved(self) -> bool:
        resolvable = [note for note in self.notes if note.is_resolvable]
        return bool(resolvable) and all(note.resolved_at for note in resolvable)

    def order(self) -> tuple[DateTime, int]:
        return min(note.created_at for note in self.notes), min(note.id for note in self.notes)


@dataclass(frozen=True, slots=True)
class Event:
    """A label added or removed, a state reached, or a milestone set or taken away."""

    id: int
    kind: str  # "label", "state", "milestone"
    user: User | None  # None: the account is no more; events have no ghost
    created_at: DateTime
    action: str  # add, remove; for states: opened is never told, closed, reopened, merged, locked
    subject: Label | Milestone | None = None
    source_merge_request_id: int | None = None  # which merge closed this issue


@dataclass(frozen=True, slots=True)
class FileDiff:
    old_path: str
    new_path: str
    diff: str
    is_new: bool = False
    is_deleted: bool = False
    is_collapsed: bool = False
    is_too_large: bool = False
    is_generated: bool = False

    @property
    def is_renamed(self) -> bool:
        return self.old_path != self.new_path


@dataclass(eq=False, slots=True, kw_only=True)
class Issuable:
    """What merge requests and issues share; GitLab has no name for it outside its source."""

    id: int
    iid: int
    project_id: int
    author: User
    title: str
    description: str
    created_at: DateTime
    updated_at: DateTime
    state: str = "opened"
    closed_at: DateTime | None = None
    closed_by: User | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    milestone: Milestone | None = None
    discussions: dict[str, Discussion] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    user_notes_count: int = 0  # everybody's, internal ones too, whoever asks
    revision: int = 0  # grows with every change that an answer could show
    hidden_until: DateTime | None = None  # a permission flaps: by itself it answers 404 till then
    is_locked: bool | None = None  # its discussion, for all but members; None: it never was
    is_listed: bool = True  # all the same, as if lists were told by another replica

    @property
    def threads(self) -> list[Discussion]:
        return sorted(self.discussions.values(), key=Discussion.order)

    @property
    def notes(self) -> list[Note]:
        return sorted((note for thread in self.discussions.values() for note in thread.notes), key=lambda note: note.id)


@dataclass(eq=False, slots=True, kw_only=True)
class Issue(Issuable):
    is_confidential: bool = False
    type: str = "issue"  # or incident, task


@dataclass(frozen=True, slots=True)
class ExternalIssue:
    """One of a tracker that is not GitLab's, such as Jira, which the project is connected to."""

    id: str
    title: str


@dataclass(eq=False, slots=True)
class Review:
    """Somebody asked to review, and what became of it."""

    user: User
    created_at: DateTime
    state: str = "unreviewed"  # or reviewed, requested_changes, approved, unapproved


@dataclass(eq=False, slots=True, kw_only=True)
class MergeRequest(Issuable):
    source_branch: str
    target_branch: str
    refs: DiffRefs
    diffs: list[FileDiff] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    pushes: int = 0
    squash: bool = False
    force_removes_branch: bool | None = None  # as its author wished; None: wished nothing
    removes_branch: bool | None = None  # as who merged it wished
    is_mergeable: bool = True
    merged_at: DateTime | None = None
    merge_user: User | None = None

    @property
    def is_draft(self) -> bool:
        """As on GitLab a matter of the title."""
        return self.title.lower().startswith("draft:")

    @property
    def detailed_merge_status(self) -> str:
        if self.state != "opened":
            return "not_open"
        if self.is_draft:
            return "draft_status"
        return "mergeable" if self.is_mergeable else "conflict"


@dataclass(frozen=True, slots=True)
class Version:
    """One state that something was in; a deletion is its last."""

    kind: str  # merge_request, issue, note
    project_id: int
    id: int
    parent: tuple[str, int]  # ("merge_request", iid), for openers their own
    discussion_id: str | None
    updated_at: DateTime
    title: str | None
    body: str
    state: str | None
    is_resolved: bool | None
    at: DateTime
    is_deleted: bool = False


def kind_of(parent: Issuable) -> str:
    return "merge_request" if isinstance(parent, MergeRequest) else "issue"


Fact = dict[str, Any]
