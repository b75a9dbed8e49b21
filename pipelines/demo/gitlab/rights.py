"""Who may see what of a project. For the API by the visitor's token, for the truth by whoever one asks about."""

from dataclasses import dataclass

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import Issue, Note


@dataclass(frozen=True)
class Reader:
    project: Project
    username: str | None  # None: a stranger
    sees_all: bool = False

    @property
    def may_enter(self) -> bool:
        members = self.project.members
        if self.sees_all or not self.project.private:
            return True
        return self.username is not None and (members is None or self.username in members | self.project.team)

    def may_read(self, issue: Issue) -> bool:
        """A confidential issue is for the team, its author and who is assigned."""
        involved = {issue.author.username, *(user.username for user in issue.assignees)}
        return self.sees_all or not issue.is_confidential or self.username in self.project.team | involved

    def may_hear(self, note: Note) -> bool:
        return self.sees_all or not note.is_internal or self.username in self.project.team
