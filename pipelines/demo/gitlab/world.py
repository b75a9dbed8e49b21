"""A GitLab in memory: its projects and people, its clock, its quirks, and everything that anybody ever said.

What differs between versions, or between reports, is an attribute here; the default is the harder case.
"""

from dataclasses import replace

from pendulum import DateTime

from pipelines.demo.gitlab import fill as gitlab_fill
from pipelines.demo.gitlab import truth as gitlab_truth
from pipelines.demo.gitlab.around import Around
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.rights import Reader
from pipelines.demo.gitlab.state import Issuable
from pipelines.demo.gitlab.truth import Truth

GHOST = "ghost"


class GitLabWorld(Around):
    def __init__(self, now: DateTime, old_instance: bool = False) -> None:
        super().__init__(now)
        self.projects: dict[int, Project] = {}
        self.paths: dict[str, Project] = {}
        self.former_paths: dict[str, Project] = {}
        self.field_names = "old" if old_instance else "current"

    def add_project(self, path: str, private: bool = False) -> Project:
        project = Project(self, self.next_id("project"), path, private)
        self.projects[project.id] = project
        self.paths[path.lower()] = project
        return project

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
