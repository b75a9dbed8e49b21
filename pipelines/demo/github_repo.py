"""One repository: what people do in it, and what each deed moves or leaves: the point is `updated_at`."""

import hashlib
from typing import TYPE_CHECKING

from pipelines.demo.github_state import Comment, Issue, Pull, Review, ReviewComment, Shelf, Version

if TYPE_CHECKING:
    from pipelines.demo.github_world import GitHubWorld


class Repo:
    def __init__(self, world: "GitHubWorld", repo_id: int, full_name: str, private: bool) -> None:
        self.world = world
        self.id = repo_id
        self.full_name = full_name
        self.private = private
        self.members: set[str] = set()  # of the organisation that it belongs to
        self.created_at = world.second
        self.revision = 0
        self.issues: Shelf[Issue] = Shelf()
        self.comments: Shelf[Comment] = Shelf()
        self.review_comments: Shelf[ReviewComment] = Shelf()
        self.reviews: Shelf[Review] = Shelf()
        self.deleted_numbers: set[int] = set()
        self._numbers: dict[int, Issue] = {}
        self._last_number = 0
        self._drafts: dict[int, ReviewComment] = {}  # comments of pending reviews: no list shows them

    def rename(self, new_name: str) -> None:
        names, former = self.world.names, self.world.former_names
        del names[self.full_name.lower()]
        former[self.full_name.lower()] = self
        former.pop(new_name.lower(), None)
        names[new_name.lower()] = self
        self.full_name = new_name
        self.revision += 1

    def numbered(self, number: int) -> Issue | None:
        return self._numbers.get(number)

    # Issues and pull requests

    def open_issue(self, author: str, title: str, body: str, labels: tuple[str, ...] = ()) -> int:
        return self._open(author, title, body, labels, None)

    def open_pull(
        self,
        author: str,
        title: str,
        body: str,
        head: str = "feature/x",
        base: str = "main",
        draft: bool = False,
        labels: tuple[str, ...] = (),
    ) -> int:
        pull_id = self.world.next_id("pull_request")
        pull = Pull(pull_id, head, base, self._sha(f"head {pull_id} 0"), self._sha(base), draft)
        return self._open(author, title, body, labels, pull)

    def edit_issue(self, number: int, title: str | None = None, body: str | None = None) -> None:
        issue = self._numbers[number]
        issue.title = issue.title if title is None else title
        issue.body = issue.body if body is None else body
        self._touch(number)

    def label(self, number: int, *labels: str) -> None:
        known = self._numbers[number].labels
        known.extend(label for label in labels if label not in known)
        self._touch(number)

    def close(self, number: int) -> None:
        issue = self._numbers[number]
        issue.state, issue.closed_at = "closed", self.world.second
        issue.state_reason = None if issue.pull else "completed"
        self._touch(number)

    def reopen(self, number: int) -> None:
        issue = self._numbers[number]
        issue.state, issue.closed_at = "open", None
        issue.state_reason = None if issue.pull else "reopened"
        self._touch(number)

    def merge(self, number: int, by: str) -> None:
        pull = self._pull(number)
        pull.merged_at, pull.merged_by = self.world.second, self.world.user(by)
        self.close(number)

    def push(self, number: int, outdates: tuple[str, ...] = ()) -> str:
        """Comments follow to the new head, those on `outdates` lose their line; only the PR's `updated_at` moves."""
        pull = self._pull(number)
        pull.pushes += 1
        pull.head_sha = self._sha(f"head {pull.id} {pull.pushes}")
        for row in self.review_comments.of(number):
            row.commit_id = pull.head_sha
            if row.path in outdates:
                row.line = row.start_line = None
            row.revision += 1
        self._touch(number)
        return pull.head_sha

    def delete_issue(self, number: int) -> None:
        issue = self._numbers[number]
        if issue.pull:
            raise ValueError(f"#{number} is a pull request: GitHub lets nobody delete one")
        for comment in self.comments.of(number):
            self._say("issue_comment", self.comments.take(comment.id), is_deleted=True)
        del self._numbers[number]
        self._say("issue", self.issues.take(issue.id), is_deleted=True)
        self.deleted_numbers.add(number)

    def hide(self, number: int, seconds: float, *, listed: bool = True) -> None:
        """It and all that hangs on it answer 404 for a while, and then as before. Nothing of it moves."""
        issue = self._numbers[number]
        issue.hidden_until, issue.is_listed = self.world.now.add(seconds=seconds), listed

    def is_hidden(self, number: int) -> bool:
        issue = self._numbers.get(number)
        return bool(issue and issue.hidden_until and self.world.now < issue.hidden_until)

    def is_told(self, row: Issue | Comment | ReviewComment | Review) -> bool:
        """By lists, with all that hangs on it."""
        issue = self._numbers.get(row.number)
        return issue is None or issue.is_listed or not self.is_hidden(row.number)

    # Conversation

    def comment(self, number: int, author: str, body: str, app: str | None = None) -> int:
        now = self.world.second
        row = Comment(self.world.next_id("issue_comment"), number, self.world.user(author), body, now, now, app)
        self.comments.put(row)
        self._say("issue_comment", row)
        self._touch(number)
        return row.id

    def edit_comment(self, comment_id: int, body: str) -> None:
        row = self.comments.rows[comment_id]
        row.body, row.updated_at = body, self.world.second
        row.revision += 1
        self.comments.moved()
        self._say("issue_comment", row)
        self._touch(row.number)

    def delete_comment(self, comment_id: int) -> None:
        row = self.comments.take(comment_id)
        self._say("issue_comment", row, is_deleted=True)
        self._lost_child(row.number)

    # Reviews

    def review(self, number: int, author: str, state: str, body: str = "") -> int:
        """A PENDING review is its author's secret, and moves nothing before `submit_review`."""
        is_pending = state == "PENDING"
        row = Review(
            id=self.world.next_id("review"),
            number=number,
            author=self.world.user(author),
            body=body,
            state=state,
            commit_id=self._pull(number).head_sha,
            submitted_at=None if is_pending else self.world.second,
        )
        self.reviews.put(row)
        self._changed_review(row, touch=not is_pending)
        return row.id

    def submit_review(self, review_id: int, state: str) -> None:
        """Its comments become visible now: created when drafted, updated when submitted, with their old low ids."""
        row = self.reviews.rows[review_id]
        row.state, row.submitted_at = state, self.world.second
        for draft in [draft for draft in self._drafts.values() if draft.review_id == review_id]:
            draft.updated_at = self.world.second
            self._show_review_comment(self._drafts.pop(draft.id))
        self._changed_review(row)

    def edit_review(self, review_id: int, body: str) -> None:
        row = self.reviews.rows[review_id]
        row.body = body
        self._changed_review(row, touch=row.state != "PENDING")

    def dismiss_review(self, review_id: int) -> None:
        row = self.reviews.rows[review_id]
        row.state = "DISMISSED"
        self._changed_review(row)

    def review_comment(
        self,
        number: int,
        author: str,
        path: str,
        body: str,
        line: int | None,
        side: str = "RIGHT",
        start_line: int | None = None,
        in_reply_to: int | None = None,
        subject_type: str = "line",
        diff_hunk: str = "",
        review_id: int | None = None,
    ) -> int:
        """Belongs to a review, always: without one, GitHub makes an empty COMMENTED review around it."""
        review = self.reviews.rows[review_id or self.review(number, author, "COMMENTED")]
        now, head = self.world.second, self._pull(number).head_sha
        line = None if subject_type == "file" else line
        row = ReviewComment(
            id=self.world.next_id("review_comment"),
            number=number,
            author=self.world.user(author),
            body=body,
            created_at=now,
            updated_at=now,
            review_id=review.id,
            path=path,
            side=side,
            subject_type=subject_type,
            diff_hunk=diff_hunk,
            line=line,
            start_line=start_line,
            original_line=line,
            original_start_line=start_line,
            commit_id=head,
            original_commit_id=head,
        )
        if in_reply_to is not None:
            _answer_to(self._review_comment(in_reply_to), row)
        if review.state == "PENDING":
            self._drafts[row.id] = row
        else:
            self._show_review_comment(row)
        return row.id

    def edit_review_comment(self, comment_id: int, body: str) -> None:
        row = self._review_comment(comment_id)
        row.body, row.updated_at = body, self.world.second
        row.revision += 1
        if comment_id not in self._drafts:
            self._show_review_comment(row)

    def delete_review_comment(self, comment_id: int) -> None:
        if self._drafts.pop(comment_id, None):
            return
        row = self.review_comments.take(comment_id)
        self._say("review_comment", row, is_deleted=True)
        self._lost_child(row.number)

    # What they share

    def _open(self, author: str, title: str, body: str, labels: tuple[str, ...], pull: Pull | None) -> int:
        self._last_number += 1
        number, now, user = self._last_number, self.world.second, self.world.user(author)
        issue = Issue(self.world.next_id("issue"), number, user, title, body, now, now, list(labels), pull)
        self._numbers[number] = issue
        self.issues.put(issue)
        self._say(*_opener(issue))
        return number

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
        self._say(*_opener(issue))

    def _lost_child(self, number: int) -> None:
        if self.world.deletions_move_parent:
            self._touch(number)
        self._numbers[number].revision += 1  # its comment count changed all the same

    def _show_review_comment(self, row: ReviewComment) -> None:
        self.review_comments.put(row)
        self._say("review_comment", row)
        self._touch(row.number)

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


def _opener(issue: Issue) -> tuple[str, Issue]:
    return ("pull_request" if issue.pull else "issue"), issue


def _answer_to(said: ReviewComment, reply: ReviewComment) -> None:
    """A reply stands where its thread stands, and names the thread's first comment, not the one it answers."""
    reply.in_reply_to_id = said.in_reply_to_id or said.id
    for name in ("path", "side", "subject_type", "diff_hunk", "line", "start_line", "commit_id"):
        setattr(reply, name, getattr(said, name))
    for name in ("original_line", "original_start_line", "original_commit_id"):
        setattr(reply, name, getattr(said, name))
