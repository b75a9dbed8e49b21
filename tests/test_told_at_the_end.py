"""What a run says when it has ended: a failed read never looks like an empty one; what changed without a word is counted."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipelines.demo.server.web import Request, Response
from pipelines.sync.output.report import Report, SourceReport
from pipelines.sync.output.summary import summary
from pipelines.warehouse.data_dir import DataDir
from sources.core.reading import Problem
from tests.in_memory import InMemory
from tests.speaker import Speaker
from tests.story import REPO, Ended, Project, served, small_world

OTHER = "lantern/other"
EMPTY = ("nothing new", "nothing changed", "published", "new event", "list threads", "filters")


def refusing(part: str) -> Any:
    def fault(request: Request) -> Response | None:
        return Response(401, {"message": "Bad credentials"}) if part in request.path else None

    return fault


def looks_empty(ended: Ended) -> list[str]:
    return [words for words in EMPTY if words in ended.out.lower()]


def ask(project: Project, *words: str) -> Ended:
    """`earshot …` in this process."""
    return Speaker.say(Speaker(project.folder, project.app, project.url), *words)


# Nothing could be read


@pytest.mark.parametrize("why", ["wrong token", "no network"])
def test_a_first_run_that_reads_nothing_publishes_nothing(tmp_path: Path, why: str) -> None:
    """No line says that there is nothing; readers are told that no run has published anything, not that all is empty."""
    with served(small_world()[0], tmp_path) as project:
        if why == "no network":
            project.url = "http://127.0.0.1:9"
        project.app.switches.fault = refusing("")
        for _ in range(2):
            ended = project.quick()
            assert ended.code == 1 and looks_empty(ended) == [], ended.out
            assert "github  not read" in ended.out and "earshot status" in ended.out
            assert not project.published.exists()
        listed = ask(project, "list", "issues")
        assert listed.code == 1 and "no run has published anything" in listed.err and looks_empty(listed) == []
        project.app.switches.fault, project.url = None, project.url
        assert "threads hold" not in ask(project, "status").out


def test_what_was_read_before_stays_and_nobody_says_that_nothing_changed(tmp_path: Path) -> None:
    with served(small_world()[0], tmp_path) as project:
        assert project.quick().code == 0
        before = project.published.read_bytes()
        project.app.switches.fault = refusing("")
        ended = project.quick()
        assert ended.code == 1 and looks_empty(ended) == [] and "as it was" in ended.out, ended.out
        assert project.published.read_bytes() == before
        told = orjson.loads(project.quick("--json").out)
        assert not told["ok"] and told["data"]["sources"][0]["completed"] == 0


def test_a_part_that_failed_is_counted(tmp_path: Path) -> None:
    """Of two repositories one was read: the line says so, and what nobody could read is not called unchanged."""
    world = small_world()[0]
    world.add_repo(OTHER)
    with served(world, tmp_path, repos=(REPO, OTHER)) as project:
        project.app.switches.fault = refusing(OTHER)
        first, second = project.quick(), project.quick()
        assert first.code == second.code == 3
        assert "read 1 of 2 scopes" in first.out and "published" in first.out
        assert "no news in what could be read" in second.out and looks_empty(second) == ["list threads"], second.out
        listed = ask(project, "list", "mrs")
        assert listed.code == 0 and "names what cannot be read" in listed.out and looks_empty(listed) == []


def test_a_list_that_is_empty_blames_no_filters_that_nobody_gave(tmp_path: Path) -> None:
    with served(small_world()[0], tmp_path) as project:
        assert project.quick().code == 0
        assert ask(project, "list", "mrs").out.splitlines()[-1] == "There are none."
        assert ask(project, "list", "mrs", "--limit", "5").out.splitlines()[-1] == "There are none."
        for words in (("issues", "--author", "nobody"), ("events", "--unacked-by", "x", "--author", "nobody"),
                      ("prs", "--no-draft", "--label", "none")):  # fmt: skip
            assert ask(project, "list", *words).out.splitlines()[-1] == "Nothing matches these filters.", words


# What changed without a word


def test_a_label_and_a_merge_are_counted(tmp_path: Path) -> None:
    """Of issues and pull requests, by what became of them; those that nobody touched are said to be skipped."""
    world, repo = small_world()
    with served(world, tmp_path, memory=InMemory()) as project:
        first = project.quick()
        assert "changed" not in first.out.lower() and "unchanged" not in first.out, "all of it is new"
        pulls = sorted(issue.number for issue in repo.issues.rows.values() if issue.pull and issue.state == "open")
        numbers = sorted(issue.number for issue in repo.issues.rows.values())
        issues = sorted(i.number for i in repo.issues.rows.values() if not i.pull and i.state == "open")
        world.advance(3600)
        repo.merge(pulls[0], "maya")
        repo.label(pulls[1], "urgent")
        ended = project.quick()
        assert ended.code == 0, ended.said
        assert "2 pull requests changed (1 merged)" in ended.out, ended.out
        assert f"{len(numbers) - 2} unchanged, skipped" in ended.out and "nothing new" not in ended.out
        world.advance(3600)
        assert project.quick().code == 0, "what was read in the second of its change is looked at once more"
        world.advance(3600)
        quiet = orjson.loads(project.quick("--json").out)["data"]["sources"][0]
        assert (quiet["changed"], quiet["unchanged"]) == ({}, len(numbers))
        world.advance(3600)
        repo.close(issues[0])
        shown = orjson.loads(project.quick("--json").out)["data"]["sources"][0]
        assert sum(kind["closed"] for kind in shown["changed"].values()) == 1 and shown["unchanged"] == len(numbers) - 1
        world.advance(3600)
        repo.reopen(issues[0])
        shown = orjson.loads(project.quick("--json").out)["data"]["sources"][0]
        assert sum(kind["reopened"] for kind in shown["changed"].values()) == 1


def test_each_project_is_told_with_v(tmp_path: Path) -> None:
    """How much of each was left alone; without it, one line for all."""
    world, repo = small_world()
    other = world.add_repo(OTHER)
    other.open_issue("liu", "Alone", "words")
    with served(world, tmp_path, repos=(REPO, OTHER), memory=InMemory()) as project:
        assert project.quick().code == 0
        world.advance(3600)
        repo.close(sorted(issue.number for issue in repo.issues.rows.values() if issue.state == "open")[0])
        ended = project.quick("-v")
        count = len(repo.issues.rows)
        lines = [line.split() for line in ended.out.splitlines()]
        assert [REPO + ":", "1", "changed,", str(count - 1), "unchanged,", "skipped;"] in [line[:6] for line in lines]
        assert [OTHER + ":", "1", "unchanged,", "skipped;"] in [line[:4] for line in lines], ended.out
        assert OTHER not in project.quick().out


def test_what_fails_a_hundred_times_fills_no_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of which many records cannot be read is named with the first of them; programs are told of each."""
    problems = [Problem("1", "rechecks", "NOT_FOUND", f"pulls/{n} not found") for n in range(100)]
    problems.append(Problem("2", "issues", "TIMEOUT", "no answer in 30 s"))
    source = SourceReport("github", scopes=2, completed=9, problems=problems, names={"1": REPO, "2": OTHER})
    summary(Report(1, [source], seconds=1.0), DataDir(tmp_path), as_json=False, demo=False)
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ! ")]
    assert told[-2:] == [f"  ! {REPO} rechecks: and 97 more", f"  ! {OTHER} issues: no answer in 30 s"]
    assert len(told) == 5
    summary(Report(1, [source], seconds=1.0), DataDir(tmp_path), as_json=True, demo=False)
    assert len(orjson.loads(capsys.readouterr().out)["data"]["sources"][0]["problems"]) == 101
