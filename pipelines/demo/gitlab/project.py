"""One project: its merge requests and issues, what people do to them, and what each deed moves or leaves.

Labels, states and milestones leave events, titles and pushes leave system notes, as GitLab has done since version 13.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pipelines.demo.gitlab.around import Around
from pipelines.demo.gitlab.outcomes import Outcomes
from pipelines.demo.gitlab.state import (
    DiffRefs,
    FileDiff,
    Issuable,
    Issue,
    Label,
    MergeRequest,
    Milestone,
    Review,
)


class Project(Outcomes):
    def __init__(self, world: Around, project_id: int, path: str, private: bool) -> None:
        super().__init__(world, project_id)
        self.path_with_namespace = path
        self.private = private
        self.members: set[str] | None = None  # who may read it while it is private; None: whoever has a token
        self.team: set[str] = set()  # who may read internal notes and confidential issues
        self.created_at = world.now
        self.revision = 0
        self.archived = False  # to be read only
        self.tracker = {}
        self.merge_requests: dict[int, MergeRequest] = {}
        self.issues = {}
        self.labels: dict[str, Label] = {}
        self.milestones: dict[str, Milestone] = {}
        self._last_iids = {"merge_request": 0, "issue": 0}

    def rename(self, new_path: str) -> None:
        """Renamed, or moved to another namespace: the id stays, the old path answers 301."""
        paths, former = self.world.paths, self.world.former_paths
        del paths[self.path_with_namespace.lower()]
        former[self.path_with_namespace.lower()] = self
        former.pop(new_path.lower(), None)
        paths[new_path.lower()] = self
        self.path_with_namespace = new_path
        self.revision += 1

    def archive(self) -> None:
        """Everything stays and nothing can be said; no `updated_at` moves."""
        self.archived = True
        self.revision += 1

    def ordered(self, name: str, rows: Iterable[Issuable], key: Callable[[Issuable], Any]) -> Sequence[Issuable]:
        """The ascending order `name`, sorted once and kept until a row moves; do not change it."""
        if name not in self._orders:
            self._orders[name] = sorted(rows, key=key)
        return self._orders[name]

    # Openers

    def open_merge_request(
        self,
        author: str,
        title: str,
        description: str = "",
        source: str = "feature",
        target: str = "main",
        draft: bool = False,
        labels: Sequence[str] = (),
        reviewers: Sequence[str] = (),
        assignees: Sequence[str] = (),
        diffs: Sequence[FileDiff] = (),
        squash: bool = False,
        force_removes_branch: bool | None = None,
    ) -> MergeRequest:
        mr_id, iid, now = self.world.next_id("merge_request"), self._next_iid("merge_request"), self.world.now
        base = self._sha(f"{target} {iid}")
        mr = MergeRequest(
            id=mr_id,
            iid=iid,
            project_id=self.id,
            author=self.world.user(author),
            title=f"Draft: {title}" if draft else title,
            description=description,
            created_at=now,
            updated_at=now,
            source_branch=source,
            target_branch=target,
            refs=DiffRefs(base, base, self._sha(f"head {iid} 0")),
            diffs=list(diffs),
            squash=squash,
            force_removes_branch=force_removes_branch,
        )
        mr.reviews = [Review(self.world.user(name), now) for name in reviewers]
        self.merge_requests[iid] = mr
        self._opened(mr, labels, assignees)
        return mr

    def open_issue(
        self,
        author: str,
        title: str,
        description: str = "",
        labels: Sequence[str] = (),
        assignees: Sequence[str] = (),
        confidential: bool = False,
        type: str = "issue",
    ) -> Issue:
        iid, now = self._next_iid("issue"), self.world.now
        issue = Issue(
            id=self.world.next_id("issue"),
            iid=iid,
            project_id=self.id,
            author=self.world.user(author),
            title=title,
            description=description,
            created_at=now,
            updated_at=now,
            is_confidential=confidential,
            type=type,
        )
        self.issues[iid] = issue
        self._opened(issue, labels, assignees)
        return issue

    def delete(self, parent: Issuable) -> None:
        """An owner may; everything under it goes with it, and its address answers 404."""
        for note in parent.notes:
            self.delete_note(note)
        self._say(parent, is_deleted=True)
        shelf: dict[int, Any] = self.merge_requests if isinstance(parent, MergeRequest) else self.issues
        del shelf[parent.iid]
        self._orders.clear()

    def hide(self, parent: Issuable, seconds: float, *, listed: bool = True) -> None:
        """It and all that hangs on it answer 404 for a while, and then as before. Nothing of it moves."""
        parent.hidden_until, parent.is_listed = self.world.now.add(seconds=seconds), listed

    def is_hidden(self, parent: Issuable) -> bool:
        return parent.hidden_until is not None and self.world.now < parent.hidden_until

    def is_told(self, parent: Issuable) -> bool:
        """By lists."""
        return parent.is_listed or not self.is_hidden(parent)

    # Edits: all of them move `updated_at`, unless the world is told otherwise

    def edit(self, parent: Issuable, by: str, title: str | None = None, description: str | None = None) -> None:
        old, parent.title = parent.title, parent.title if title is None else title
        if title is not None and old != title:
            self.system_note(parent, by, f"changed title from **{{-{old}-}}** to **{{+{title}+}}**", touches=False)
        if description is not None and description != parent.description:
            parent.description = description
            self.system_note(parent, by, "changed the description", touches=False)
        self._moved(parent)

    def set_draft(self, mr: MergeRequest, by: str, draft: bool) -> None:
        title = re.sub(r"(?i)^draft: *", "", mr.title)
        mr.title = f"Draft: {title}" if draft else title
        self.system_note(mr, by, f"marked this merge request as **{'draft' if draft else 'ready'}**", touches=False)
        self._moved(mr)

    def label(self, parent: Issuable, by: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        for name in add:
            if (label := self.project_label(name)) not in parent.labels:
                parent.labels.append(label)
                self._event(parent, "label", by, "add", label)
        for label in [label for label in parent.labels if label.name in remove]:
            parent.labels.remove(label)
            self._event(parent, "label", by, "remove", label)
        self._moved(parent)

    def rename_label(self, old: str, new: str) -> None:
        """Everywhere at once, without any `updated_at` moving."""
        if new in self.labels:
            raise ValueError(f"title has already been taken: {new}")
        label = self.labels[new] = self.labels.pop(old)
        label.name = new
        self._changed_where(label)

    def delete_label(self, name: str) -> None:
        """Gone from everything that wore it, without any `updated_at` moving; events then say `label: null`."""
        label = self.labels.pop(name)
        label.is_deleted = True
        self._changed_where(label)

    def set_milestone(self, parent: Issuable, by: str, title: str | None) -> None:
        if parent.milestone:
            self._event(parent, "milestone", by, "remove", parent.milestone)
        parent.milestone = self.project_milestone(title) if title else None
        if parent.milestone:
            self._event(parent, "milestone", by, "add", parent.milestone)
        self._moved(parent)

    def assign(self, parent: Issuable, by: str, *usernames: str) -> None:
        """Whether this moves `updated_at` differs between reports: `world.assigning_moves_parent`."""
        parent.assignees = [self.world.user(name) for name in usernames]
        people = " and ".join(f"@{name}" for name in usernames)
        self.system_note(parent, by, f"assigned to {people}" if people else "removed assignees", touches=False)
        (self._moved if self.world.assigning_moves_parent else self._changed)(parent)

    def request_review(self, mr: MergeRequest, by: str, *usernames: str) -> None:
        known = {review.user.username: review for review in mr.reviews}
        mr.reviews = [known.get(name) or Review(self.world.user(name), self.world.now) for name in usernames]
        people = " and ".join(f"@{name}" for name in usernames)
        self.system_note(mr, by, f"requested review from {people}" if people else "removed review request")
        self._moved(mr)

    def review(self, mr: MergeRequest, by: str, state: str) -> None:
        """reviewed, requested_changes, approved or unapproved; approving says so in a system note."""
        for review in mr.reviews:
            if review.user.username == by:
                review.state = state
        words = {"approved": "approved this merge request", "requested_changes": "requested changes"}
        if state in words:
            self.system_note(mr, by, words[state])
        self._changed(mr)

    def push(self, mr: MergeRequest, by: str, said: str | None = None, diffs: Sequence[FileDiff] | None = None) -> str:
        """A new head, perhaps a forced one. `said`: the system note about it, such as "added 2 commits"."""
        mr.pushes += 1
        mr.refs = DiffRefs(mr.refs.base_sha, mr.refs.start_sha, self._sha(f"head {mr.iid} {mr.pushes}"))
        mr.diffs = mr.diffs if diffs is None else list(diffs)
        moves = self.world.pushing_moves_parent
        if said:
            self.system_note(mr, by, said, touches=moves)
        (self._moved if moves else self._changed)(mr)
        return mr.refs.head_sha

    # What they share

    def project_label(self, name: str) -> Label:
        if name not in self.labels:
            self.labels[name] = Label(self.world.next_id("label"), name)
        return self.labels[name]

    def project_milestone(self, title: str, due_date: str | None = None) -> Milestone:
        if title not in self.milestones:
            milestone_id, iid = self.world.next_id("milestone"), len(self.milestones) + 1
            self.milestones[title] = Milestone(milestone_id, iid, title, self.world.now, due_date)
        return self.milestones[title]

    def _next_iid(self, kind: str) -> int:
        self._last_iids[kind] += 1
        return self._last_iids[kind]

    def _opened(self, parent: Issuable, labels: Sequence[str], assignees: Sequence[str]) -> None:
        parent.assignees = [self.world.user(name) for name in assignees]
        for name in labels:
            parent.labels.append(self.project_label(name))
            self._event(parent, "label", parent.author.username, "add", parent.labels[-1])
        self._changed(parent)

    def _changed_where(self, label: Label) -> None:
        for parent in [*self.merge_requests.values(), *self.issues.values()]:
            if label in parent.labels:
                if label.is_deleted:
                    parent.labels.remove(label)
                self._changed(parent)

    def _sha(self, what: str) -> str:
        return hashlib.sha1(f"{self.id} {what}".encode()).hexdigest()
