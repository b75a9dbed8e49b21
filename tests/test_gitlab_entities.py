"""The demo GitLab's answers over its whole story, against what GitLab documents: nothing else, and all that we must meet."""

from collections.abc import Callable
from typing import Any

import pytest

from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.state import Position, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.story.gitlab.story import START, STORY_END, Story, beats
from tests.demo_client import TOKEN, get
from tests.gitlab_entities import wrong

Answers = dict[str, list[dict[str, Any]]]
EVENTS = ("state", "label", "milestone")


def everything(app: GitLabApp) -> Answers:
    """Every answer to what is read of every project, by entity."""
    found: Answers = {}

    def ask(kind: str, path: str) -> list[dict[str, Any]]:
        told = get(app, path, TOKEN, per_page=100).json()
        rows: list[dict[str, Any]] = told if isinstance(told, list) else [told]
        found.setdefault(kind, []).extend(rows)
        return rows

    for id_ in app.world.projects:
        root = f"/api/v4/projects/{id_}"
        ask("project", root)
        for kind in ("merge_request", "issue"):
            for parent in ask(kind, f"{root}/{kind}s"):
                one = f"{root}/{kind}s/{parent['iid']}"
                ask("discussion", f"{one}/discussions")
                ask("note", f"{one}/notes")
                for event in EVENTS:
                    ask(f"{event}_event", f"{one}/resource_{event}_events")
                if kind == "merge_request":
                    ask("single_merge_request", one)
                    ask("closed_issue", f"{one}/closes_issues")
                    ask("diff", f"{one}/diffs")
                    ask("reviewer", f"{one}/reviewers")
    return found


@pytest.fixture(scope="module")
def told() -> Answers:
    world = GitLabWorld(START)
    Story(world, beats()).play(STORY_END)
    return everything(GitLabApp(world))


def test_the_story_is_told_in_gitlabs_words(told: Answers) -> None:
    """Every field of every answer is one that GitLab documents, of its kind, and none is missing."""
    found = [
        each for kind, rows in told.items() for n, row in enumerate(rows) for each in wrong(row, kind, f"{kind}[{n}]")
    ]
    assert found == [] and len(told) == 12


@pytest.mark.parametrize("names", ["old", "disagreeing", "current"])
@pytest.mark.parametrize("range_as", ["numbers", "strings", "missing", "codes"])
def test_so_are_servers_of_other_versions(names: Any, range_as: str) -> None:
    """Whatever the names of fields and the shape of ranges."""
    world = GitLabWorld(START)
    project = world.add_project("lantern/console")
    mr = project.open_merge_request("benji", "Dark mode", reviewers=["maya"], assignees=["benji"])
    project.start_thread(mr, "maya", "Both?", Position("a", "b", mr.refs, Spot(9, 12), Spot(8, 11, "new"), range_as))
    world.field_names = names
    app = GitLabApp(world)
    assert [each for kind, rows in everything(app).items() for row in rows for each in wrong(row, kind, kind)] == []


def with_flag(name: str, value: object) -> Callable[[dict[str, Any]], bool]:
    return lambda row: name in row and row[name] is value


SHOWN: list[tuple[str, str, Callable[[dict[str, Any]], Any]]] = [
    ("several are assigned", "issue", lambda row: len(row["assignees"]) > 1),
    ("a merge request is assigned", "merge_request", lambda row: row["assignee"]),
    ("nobody is", "merge_request", lambda row: row["assignees"] == [] and row["assignee"] is None),
    ("a milestone", "merge_request", lambda row: row["milestone"]),
    ("a milestone of an issue", "issue", lambda row: row["milestone"]),
    ("reviewers", "merge_request", lambda row: len(row["reviewers"]) > 1),
    ("a locked discussion", "issue", with_flag("discussion_locked", True)),
    ("an unlocked one", "merge_request", with_flag("discussion_locked", False)),
    ("one that was never locked", "issue", with_flag("discussion_locked", None)),
    ("a private project", "project", lambda row: row["visibility"] == "private"),
    ("an archived project", "project", with_flag("archived", True)),
    ("squashed", "merge_request", lambda row: row["squash"] and row["squash_commit_sha"]),
    ("not squashed", "merge_request", with_flag("squash", False)),
    *((f"{name} {value}", "merge_request", with_flag(f"{name}_remove_source_branch", value))
      for name in ("should", "force") for value in (True, False, None)),
    ("an issue of Jira's", "closed_issue", lambda row: row["id"] == "LAMP-12"),
    ("a label that is gone", "label_event", with_flag("label", None)),
    ("a label event of nobody", "label_event", with_flag("user", None)),
    ("a state event of nobody", "state_event", with_flag("user", None)),
    ("a milestone event", "milestone_event", lambda row: row["milestone"]),
    ("an incident", "issue", lambda row: (row["type"], row["issue_type"]) == ("INCIDENT", "incident")),
    ("a task", "issue", lambda row: row["issue_type"] == "task" and "/-/work_items/" in row["web_url"]),
    ("a point on a picture", "note", lambda row: row.get("position", {}).get("x")),
    ("a point between pixels", "note", lambda row: isinstance(row.get("position", {}).get("y"), float)),
    ("a range of codes", "note", lambda row: "start_line_code" in (row.get("position", {}).get("line_range") or {})),
    ("who is no more", "note", lambda row: row["author"]["username"] == "ghost"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "kind", "holds"), SHOWN, ids=[what for what, _, _ in SHOWN])
def test_the_story_shows(told: Answers, what: str, kind: str, holds: Callable[[dict[str, Any]], Any]) -> None:
    """What readers must meet before their users do."""
    assert any(holds(row) for row in told[kind]), what


def test_a_wrong_answer_is_noticed(told: Answers) -> None:
    """A field that is missing, null, new, or of another kind."""
    row = told["merge_request"][0]
    for change, n in (({"title": None}, 1), ({"squash": 1}, 1), ({"colour": "red"}, 1), ({"created_at": 5}, 1)):
        assert len(wrong({**row, **change}, "merge_request")) == n
    assert wrong({name: value for name, value in row.items() if name != "iid"}, "merge_request") == [".iid is missing"]
