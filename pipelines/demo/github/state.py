"""What the demo GitHub holds: its rows, the shelves they stand on, and the plain truth about them.

The truth is told in the world's own terms, so that a test which compares a warehouse with it does not lean on
the encoding that the API uses.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pendulum import DateTime


@dataclass(eq=False, slots=True)
class User:
    id: int
    login: str
    is_bot: bool = False
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Milestone:
    id: int
    number: int
    title: str
    creator: User
    created_at: DateTime


@dataclass(eq=False, slots=True)
class Pull:
    """What a pull request has beyond the issue that it also is. It carries an id of its own."""

    id: int
    head: str
    base: str
    head_sha: str
    base_sha: str
    draft: bool
    pushes: int = 0
    merged_at: DateTime | None = None
    merged_by: User | None = None
    requested_reviewers: list[User] = field(default_factory=list)
    requested_teams: list[str] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Issue:
    id: int
    number: int
    author: User
    title: str
    body: str
    created_at: DateTime
    updated_at: DateTime
    labels: list[str]
    pull: Pull | None = None
    state: str = "open"
    state_reason: str | None = None
    closed_at: DateTime | None = None
    closed_by: User | None = None
    assignees: list[User] = field(default_factory=list)
    milestone: str | None = None
    locked_for: str | None = None  # why its conversation is locked
    app: str | None = None  # with which program its author opened it
    revision: int = 0  # grows with every change that an answer could show
    hidden_until: DateTime | None = None  # a permission flaps: by itself it answers 404 till then
    is_listed: bool = True  # all the same, as if lists were told by another replica


@dataclass(eq=False, slots=True)
class Comment:
    id: int
    number: int
    author: User
    body: str
    created_at: DateTime
    updated_at: DateTime
    app: str | None = None
    revision: int = 0


@dataclass(eq=False, slots=True)
class ReviewComment:
    id: int
    number: int
    author: User
    body: str
    created_at: DateTime
    updated_at: DateTime
    review_id: int
    path: str
    side: str
    subject_type: str
    diff_hunk: str
    line: int | None
    start_line: int | None
    original_line: int | None
    original_start_line: int | None
    commit_id: str
    original_commit_id: str
    in_reply_to_id: int | None = None
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ReviewThread:
    """A place in a diff and what was said there. Only GraphQL knows that there is such a thing."""

    id: str
    number: int
    comments: list[int]  # those that are left, oldest first
    is_resolved: bool
    resolved_by: User | None
    is_outdated: bool


@dataclass(eq=False, slots=True)
class Review:
    """Has no `updated_at`, and no `submitted_at` while it is PENDING."""

    id: int
    number: int
    author: User
    body: str
    state: str
    commit_id: str
    submitted_at: DateTime | None
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Version:
    """One state that something was in; a deletion is its last."""

    kind: str
    repo_id: int
    id: int
    number: int
    updated_at: DateTime | None
    title: str | None
    body: str
    state: str | None
    at: DateTime
    is_deleted: bool = False


Fact = dict[str, Any]


@dataclass(frozen=True)
class Truth:
    """Everything that exists now, by id, as a full scan with all rights would tell it."""

    issues: dict[int, Fact] = field(default_factory=dict)
    pull_requests: dict[int, Fact] = field(default_factory=dict)
    issue_comments: dict[int, Fact] = field(default_factory=dict)
    review_comments: dict[int, Fact] = field(default_factory=dict)
    reviews: dict[int, Fact] = field(default_factory=dict)
    review_threads: dict[str, Fact] = field(default_factory=dict)
    closes: set[tuple[int, int, int, int]] = field(default_factory=set)  # pull request and issue: repository, number


class Row(Protocol):
    id: int
    number: int
    author: User
    revision: int


R = TypeVar("R", bound=Row)


class Shelf(Generic[R]):
    """Rows of one kind: by id, by issue number, and in orders that are sorted once and kept until a row moves."""

    def __init__(self) -> None:
        self.rows: dict[int, R] = {}
        self._of: dict[int, dict[int, R]] = {}
        self._orders: dict[str, list[R]] = {}

    def put(self, row: R) -> None:
        self.rows[row.id] = row
        self._of.setdefault(row.number, {})[row.id] = row
        self.moved()

    def take(self, row_id: int) -> R:
        row = self.rows.pop(row_id)
        del self._of[row.number][row_id]
        self.moved()
        return row

    def of(self, number: int) -> list[R]:
        """By ascending id."""
        return [row for _, row in sorted(self._of.get(number, {}).items())]

    def count(self, number: int) -> int:
        return len(self._of.get(number, ()))

    def moved(self) -> None:
        self._orders.clear()

    def ordered(self, name: str, key: Callable[[R], Any], keep: Callable[[R], bool] | None = None) -> list[R]:
        """The ascending order `name`; do not change the list."""
        if name not in self._orders:
            self._orders[name] = sorted(filter(keep, self.rows.values()), key=key)
        return self._orders[name]


def issue_fact(repo_id: int, issue: Issue, comments: int) -> Fact:
    fact = {
        "repo_id": repo_id,
        "id": issue.id,
        "number": issue.number,
        "author": author_name(issue.author),
        "title": issue.title,
        "body": issue.body,
        "state": issue.state,
        "labels": list(issue.labels),
        "assignees": logins(issue.assignees),
        "milestone": issue.milestone,
        "is_locked": issue.locked_for is not None,
        "comments": comments,
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
    }
    if pull := issue.pull:
        fact |= {"id": pull.id, "issue_id": issue.id, "draft": pull.draft, "merged_at": pull.merged_at}
        fact |= {"head": pull.head, "base": pull.base, "head_sha": pull.head_sha}
        fact |= {"requested_reviewers": logins(pull.requested_reviewers), "requested_teams": list(pull.requested_teams)}
        fact["merged_by"] = author_name(pull.merged_by) if pull.merged_by else None
    return fact


def row_fact(repo_id: int, row: Comment | ReviewComment | Review) -> Fact:
    """Every field of a comment or review, under its own name."""
    fields = {name: getattr(row, name) for name in row.__slots__ if name not in {"author", "revision"}}
    return {"repo_id": repo_id, "author": author_name(row.author), **fields}


def author_name(user: User) -> str | None:
    return None if user.is_deleted else user.login


def logins(users: list[User]) -> list[str]:
    return [user.login for user in users if not user.is_deleted]
