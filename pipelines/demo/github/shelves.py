"""One repository: who belongs to it, the shelves that its rows stand on, and how it notes down that a row changed."""

import hashlib
import re

from pipelines.demo.github.around import Around
from pipelines.demo.github.state import (
    Comment,
    Issue,
    Milestone,
    Pull,
    Review,
    ReviewComment,
    ReviewThread,
    Shelf,
    User,
    Version,
)

__all__ = ["Shelves", "opener"]

CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? (?:([\w.-]+/[\w.-]+))?#([0-9]+)\b", re.IGNORECASE)


class Shelves:
    def __init__(self, world: Around, repo_id: int, full_name: str, private: bool) -> None:
        self.world = world
        self.id = repo_id
        self.full_name = full_name
        self.private = private
        self.archived = False
        self.members: set[str] = set()  # of the organisation that it belongs to
        self.collaborators: set[str] = set()  # from outside
        self.contributors: set[str] = set()  # whose changes were merged before
        self.teams: dict[str, set[str]] = {}  # of the organisation: slug → who is in it
        self.milestones: dict[str, Milestone] = {}
        self.created_at = world.second
        self.revision = 0
        self.issues: Shelf[Issue] = Shelf()
        self.comments: Shelf[Comment] = Shelf()
        self.review_comments: Shelf[ReviewComment] = Shelf()
        self.reviews: Shelf[Review] = Shelf()
        self.deleted_numbers: set[int] = set()
        self._numbers: dict[int, Issue] = {}
        self._last_number = 0
        self._resolved: dict[int, User] = {}  # threads, by their first comment → who did it
        self._drafts: dict[int, ReviewComment] = {}  # comments of pending reviews: no list shows them

    def archive(self) -> None:
        """Nobody can write there any more; all of it can be read."""
        self.archived = True
        self.revision += 1

    def belongs(self, login: str) -> bool:
        """Who may write to it."""
        return login in {self.full_name.split("/")[0], *self.members, *self.collaborators}

    def numbered(self, number: int) -> Issue | None:
        return self._numbers.get(number)

    def is_hidden(self, number: int) -> bool:
        issue = self._numbers.get(number)
        return bool(issue and issue.hidden_until and self.world.now < issue.hidden_until)

    def threads(self, number: int, viewer: str = "") -> list[ReviewThread]:
        """Of a pull request, oldest first; drafts are their author's."""
        said = [*self.review_comments.of(number)]
        said += [d for d in self._drafts.values() if d.number == number and d.author.login == viewer]
        found: dict[int, list[ReviewComment]] = {}
        for row in sorted(said, key=lambda row: row.id):
            found.setdefault(row.in_reply_to_id or row.id, []).append(row)
        return [
            ReviewThread(
                f"PRRT_{self.id}_{first}", number, [row.id for row in rows], first in self._resolved,
                self._resolved.get(first), rows[0].line is None and rows[0].subject_type == "line",
            )
            for first, rows in sorted(found.items())
        ]  # fmt: skip

    def closes(self, number: int) -> list[tuple["Shelves", Issue]]:
        """Issues that its description says it closes, also in other repositories."""
        found = list[tuple[Shelves, Issue]]()
        for name, told in CLOSES.findall(self._numbers[number].body or ""):
            there = self.world.names.get(name.lower()) if name else self
            issue = there and there.numbered(int(told))
            if there and issue and not issue.pull:
                found.append((there, issue))
        return list(dict.fromkeys(found))

    def is_told(self, row: Issue | Comment | ReviewComment | Review) -> bool:
        """By lists, with all that hangs on it."""
        issue = self._numbers.get(row.number)
        return issue is None or issue.is_listed or not self.is_hidden(row.number)

    def _pull(self, number: int) -> Pull:
        pull = self._numbers[number].pull
        if pull is None:
            raise ValueError(f"#{number} is not a pull request")
        return pull

    def _review_comment(self, comment_id: int) -> ReviewComment:
        return self._drafts.get(comment_id) or self.review_comments.rows[comment_id]

    def _touch(self, number: int) -> None:
        issue = self._numbers[number]
        issue.updated_at = self.world.second
        issue.revision += 1
        self.issues.moved()
        self._say(*opener(issue))

    def _lost_child(self, number: int) -> None:
        if self.world.deletions_move_parent:
            self._touch(number)
        self._numbers[number].revision += 1  # its comment count changed all the same

    def _show_review_comment(self, row: ReviewComment) -> None:
        self.review_comments.put(row)
        self._say("review_comment", row)
        self._touch(row.number)

    def _answered(self, review: Review) -> None:
        """Who has reviewed is not asked any more, nor is the team that they are in."""
        if review.state != "PENDING":
            pull, user = self._pull(review.number), review.author
            pull.requested_reviewers = [asked for asked in pull.requested_reviewers if asked is not user]
            pull.requested_teams = [slug for slug in pull.requested_teams if user.login not in self.teams[slug]]

    def _changed_review(self, row: Review, touch: bool = True) -> None:
        row.revision += 1
        self._say("review", row)
        if touch:
            self._touch(row.number)

    def _say(self, kind: str, row: Issue | Comment | ReviewComment | Review, is_deleted: bool = False) -> None:
        self.world.history.append(
            Version(
                kind=kind,
                repo_id=self.id,
                id=row.pull.id if isinstance(row, Issue) and row.pull else row.id,
                number=row.number,
                updated_at=None if isinstance(row, Review) else row.updated_at,
                title=row.title if isinstance(row, Issue) else None,
                body=row.body,
                state=row.state if isinstance(row, Issue | Review) else None,
                at=self.world.second,
                is_deleted=is_deleted,
            )
        )

    def _sha(self, what: str) -> str:
        return hashlib.sha1(f"{self.id} {what}".encode()).hexdigest()


def opener(issue: Issue) -> tuple[str, Issue]:
    return ("pull_request" if issue.pull else "issue"), issue
