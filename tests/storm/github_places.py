"""What stands in a repository of the storm, and how its state is told in one line."""

from pipelines.demo.github.repo import Repo
from pipelines.demo.github.state import Issue
from tests.storm.said import Fact, Words

__all__ = ["everything", "is_in", "issues_of", "pulls_of", "state_of"]


def state_of(state: str, sha: str | None, milestone: str | None, given: list[list[str]]) -> Words:
    """What it shows beside its words: where it stands, when it is due, and who has it in hand."""
    return f"{state} {sha} {milestone} {given}"


def everything(repo: Repo) -> list[Issue]:
    return list(repo.issues.rows.values())


def issues_of(repo: Repo) -> list[Issue]:
    return [issue for issue in repo.issues.rows.values() if issue.pull is None]


def pulls_of(repo: Repo) -> list[Issue]:
    return [issue for issue in repo.issues.rows.values() if issue.pull is not None]


def is_in(repo: Repo, fact: Fact) -> bool:
    return fact.about.startswith(f"{repo.id}#")
