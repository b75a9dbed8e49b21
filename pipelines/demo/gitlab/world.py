"""A GitLab in memory: its projects and people, its clock, its quirks, and everything that anybody ever said.

What differs between versions, or between reports, is an attribute here; the default is the harder case.
"""

from collections import Counter
from dataclasses import replace
from typing import Literal

from pendulum import DateTime

from pipelines.demo.gitlab import fill as gitlab_fill
from pipelines.demo.gitlab import truth as gitlab_truth
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.rights import Reader
from pipelines.demo.gitlab.state import Issuable, User, Version
from pipelines.demo.gitlab.truth import Truth

FIRST_ID = 1000
GHOST = "ghost"

# "current": today's names, with the deprecated ones beside them; "old": only the deprecated ones, and nothing newer;
# "disagreeing": both, and they do not say the same.
FieldNames = Literal["current", "old", "disagreeing"]


class GitLabWorld:
    def __init__(self, now: DateTime, old_instance: bool = False) -> None:
        self.now = now
        self.users: dict[str, User] = {}
        self.projects: dict[int, Project] = {}
        self.paths: dict[str, Project] = {}  # lower case, as GitLab compares them
        self.former_paths: dict[str, Project] = {}
        self.history: list[Version] = []
        self.field_names: FieldNames = "old" if old_instance else "current"
        self.resolving: Literal["older", "newer"] = "older"  # newer: moves the notes, and is announced when all is done
        self.pushing_moves_parent = False
        self.assigning_moves_parent = True
        self._ids: Counter[str] = Counter()

    @property
    def now(self) -> DateTime:
        return self._now

    @now.setter
    def now(self, value: DateTime) -> None:
        self._now = value.in_timezone("UTC")

    def advance(self, seconds: float = 0) -> None:
        self.now = self._now.add(seconds=seconds)

    def next_id(self, kind: str) -> int:
        self._ids[kind] += 1
        return FIRST_ID + self._ids[kind]

    def add_project(self, path: str, private: bool = False) -> Project:
        project = Project(self, self.next_id("project"), path, private)
        self.projects[project.id] = project
        self.paths[path.lower()] = project
        return project

    def user(self, username: str, name: str = "", bot: bool = False) -> User:
        """Whoever speaks for the first time has an account from then on."""
        if username not in self.users:
            readable = name or username.replace("-", " ").title()
            self.users[username] = User(self.next_id("user"), username, readable, bot or "_bot_" in username)
        return self.users[username]

    def delete_user(self, username: str) -> None:
        """Their words stay, by the ghost; events are nobody's, and nobody is assigned. No `updated_at` moves."""
        gone, ghost = self.users.pop(username), self.user(GHOST, "Ghost User")
        for project in self.projects.values():
            parents: list[Issuable] = [*project.merge_requests.values(), *project.issues.values()]
            for parent in parents:
                parent.author = ghost if parent.author is gone else parent.author
                parent.closed_by = None if parent.closed_by is gone else parent.closed_by
                parent.assignees = [user for user in parent.assignees if user is not gone]
                parent.events = [replace(each, user=None) if each.user is gone else each for each in parent.events]
                for note in parent.notes:
                    note.author = ghost if note.author is gone else note.author
                parent.revision += 1

    def truth(self, reader: str | None = None) -> Truth:
        """Everything that exists now; or what `reader`, by username, may see of it."""
        truth = Truth()
        for project in self.projects.values():
            gitlab_truth.tell(truth, project, Reader(project, reader, sees_all=reader is None))
        return truth

    def fill(
        self,
        project: Project,
        merge_requests: int = 500,
        discussions: int = 10,
        notes: int = 3,
        issues: int = 0,
        days: int = 90,
    ) -> None:
        """Past activity in bulk; see `gitlab_fill`."""
        gitlab_fill.fill(self, project, gitlab_fill.Amounts(merge_requests, issues, discussions, notes), days)
