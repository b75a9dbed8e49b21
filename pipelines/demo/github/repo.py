"""One repository: what people do in it, and what each deed moves or leaves: the point is `updated_at`."""

from pipelines.demo.github.shelves import Shelves, opener
from pipelines.demo.github.state import Comment, Issue, Milestone, Pull, Review, ReviewComment


class Repo(Shelves):
    def rename(self, new_name: str) -> None:
        names, former = self.world.names, self.world.former_names
        del names[self.full_name.lower()]
        former[self.full_name.lower()] = self
        former.pop(new_name.lower(), None)
        names[new_name.lower()] = self
        self.full_name = new_name
        self.revision += 1

    # Issues and pull requests

    def open_issue(
        self, author: str, title: str, body: str, labels: tuple[str, ...] = (), app: str | None = None
    ) -> int:
        number = self._open(author, title, body, labels, None)
        self._numbers[number].app = app
        return number

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

    def unlabel(self, number: int, *labels: str) -> None:
        issue = self._numbers[number]
        issue.labels = [label for label in issue.labels if label not in labels]
        self._touch(number)

    def assign(self, number: int, *logins: str) -> None:
        known = self._numbers[number].assignees
        known.extend(user for user in map(self.world.user, logins) if user not in known)
        self._touch(number)

    def unassign(self, number: int, *logins: str) -> None:
        issue = self._numbers[number]
        issue.assignees = [user for user in issue.assignees if user.login not in logins]
        self._touch(number)

    def set_milestone(self, number: int, title: str) -> None:
        if title not in self.milestones:
            id_, user = self.world.next_id("milestone"), self._numbers[number].author
            self.milestones[title] = Milestone(id_, len(self.milestones) + 1, title, user, self.world.second)
        self._numbers[number].milestone = title
        self._touch(number)

    def lock(self, number: int, why: str) -> None:
        """From now on only those who may write to the repository can comment."""
        self._numbers[number].locked_for = why
        self._touch(number)

    def close(self, number: int, by: str | None = None) -> None:
        issue = self._numbers[number]
        issue.state, issue.closed_at = "closed", self.world.second
        issue.closed_by = self.world.user(by) if by else issue.author
        issue.state_reason = None if issue.pull else "completed"
        self._touch(number)

    def reopen(self, number: int) -> None:
        issue = self._numbers[number]
        issue.state, issue.closed_at, issue.closed_by = "open", None, None
        issue.state_reason = None if issue.pull else "reopened"
        self._touch(number)

    def merge(self, number: int, by: str) -> None:
        pull = self._pull(number)
        pull.merged_at, pull.merged_by = self.world.second, self.world.user(by)
        self.close(number, by)

    def request_review(self, number: int, *logins: str, teams: tuple[str, ...] = ()) -> None:
        """Who is asked stands there until they have answered."""
        pull = self._pull(number)
        asked = [self.world.user(login) for login in logins]
        pull.requested_reviewers += [user for user in asked if user not in pull.requested_reviewers]
        pull.requested_teams += [slug for slug in teams if slug not in pull.requested_teams]
        for slug in teams:
            self.teams.setdefault(slug, set())
        self._touch(number)

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
        self._answered(row)
        self._changed_review(row, touch=not is_pending)
        return row.id

    def submit_review(self, review_id: int, state: str) -> None:
        """Its comments become visible now: created when drafted, updated when submitted, with their old low ids."""
        row = self.reviews.rows[review_id]
        row.state, row.submitted_at = state, self.world.second
        for draft in [draft for draft in self._drafts.values() if draft.review_id == review_id]:
            draft.updated_at = self.world.second
            self._show_review_comment(self._drafts.pop(draft.id))
        self._answered(row)
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

    def resolve(self, comment_id: int, by: str) -> None:
        """The whole thread of this comment. Nothing else moves: no `updated_at`, no list."""
        row = self._review_comment(comment_id)
        self._resolved[row.in_reply_to_id or row.id] = self.world.user(by)

    def unresolve(self, comment_id: int) -> None:
        row = self._review_comment(comment_id)
        self._resolved.pop(row.in_reply_to_id or row.id, None)

    # What they share

    def _open(self, author: str, title: str, body: str, labels: tuple[str, ...], pull: Pull | None) -> int:
        self._last_number += 1
        number, now, user = self._last_number, self.world.second, self.world.user(author)
        issue = Issue(self.world.next_id("issue"), number, user, title, body, now, now, list(labels), pull)
        self._numbers[number] = issue
        self.issues.put(issue)
        self._say(*opener(issue))
        return number


def _answer_to(said: ReviewComment, reply: ReviewComment) -> None:
    """A reply stands where its thread stands, and names the thread's first comment, not the one it answers."""
    reply.in_reply_to_id = said.in_reply_to_id or said.id
    for name in ("path", "side", "subject_type", "diff_hunk", "line", "start_line", "commit_id"):
        setattr(reply, name, getattr(said, name))
    for name in ("original_line", "original_start_line", "original_commit_id"):
        setattr(reply, name, getattr(said, name))
