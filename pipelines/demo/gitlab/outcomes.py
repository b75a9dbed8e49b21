"""What becomes of merge requests and issues: closed, merged, locked, and what is closed with them."""

import re

from pipelines.demo.gitlab.notes import Conversation
from pipelines.demo.gitlab.state import Event, ExternalIssue, Issuable, Issue, Label, MergeRequest, Milestone

CLOSING = re.compile(
    r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)):?((?:,? ?(?:and )?(?:#\d+|(?-i:[A-Z]+-\d+)))+)",
    re.I,
)


class Outcomes(Conversation):
    """What of a project is done; `notes` has what is said, `project` all else."""

    default_branch = "main"
    issues: dict[int, Issue]
    tracker: dict[str, ExternalIssue]  # issues of Jira's, if it is connected to one

    def close(self, parent: Issuable, by: str, source: MergeRequest | None = None) -> None:
        parent.state, parent.closed_at, parent.closed_by = "closed", self.world.now, self.world.user(by)
        self._event(parent, "state", by, "closed", source=source)
        self._moved(parent)

    def reopen(self, parent: Issuable, by: str) -> None:
        parent.state, parent.closed_at, parent.closed_by = "opened", None, None
        self._event(parent, "state", by, "reopened")
        self._moved(parent)

    def lock_discussion(self, parent: Issuable, by: str, locked: bool = True) -> None:
        """For all but members; not to be confused with `lock`, which is a state."""
        parent.is_locked = locked
        kind = "issue" if isinstance(parent, Issue) else "merge request"
        self.system_note(
            parent, by, f"{'locked' if locked else 'unlocked'} the discussion in this {kind}", touches=False
        )
        self._moved(parent)

    def lock(self, mr: MergeRequest) -> None:
        """The merge has begun: for seconds, or for ever when it went wrong. Leaves no event."""
        mr.state = "locked"
        self._moved(mr)

    def merge(self, mr: MergeRequest, by: str, removes_branch: bool | None = None) -> None:
        """Issues that its description closes are closed with it, if it goes to the default branch."""
        mr.removes_branch = removes_branch
        mr.state, mr.merged_at, mr.merge_user = "merged", self.world.now, self.world.user(by)
        self._event(mr, "state", by, "merged")
        self._moved(mr)
        if mr.target_branch == self.default_branch:
            for issue in self.closes(mr):
                self.close(issue, by, source=mr)

    def closes(self, mr: MergeRequest) -> list[Issue]:
        """The open issues that its description promises to close; after the merge the ones that it did close."""
        numbers = {int(iid) for said in CLOSING.findall(mr.description) for iid in re.findall(r"#(\d+)", said)}
        issues = [self.issues[iid] for iid in sorted(numbers) if iid in self.issues]
        return [issue for issue in issues if issue.state == "opened" or mr.state == "merged"]

    def closes_elsewhere(self, mr: MergeRequest) -> list[ExternalIssue]:
        keys = {key for said in CLOSING.findall(mr.description) for key in re.findall(r"[A-Z]+-\d+", said)}
        return [self.tracker[key] for key in sorted(keys & self.tracker.keys())]

    def _event(
        self,
        parent: Issuable,
        kind: str,
        by: str,
        action: str,
        subject: Label | Milestone | None = None,
        source: MergeRequest | None = None,
    ) -> None:
        event_id = self.world.next_id(f"{kind}_event")
        user = self.world.user(by)
        parent.events.append(
            Event(event_id, kind, user, self.world.now, action, subject, source.id if source else None)
        )
