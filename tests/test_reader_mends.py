"""Each difference that `earshot verify` prints comes with the command that mends it, and that command mends it."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipelines import run as run_module
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.state import Position, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.sync.mending import DELETED, Difference, mends
from pipelines.sync.run import Options
from pipelines.sync.verify import Verdict, verify
from sources.github.source import Github
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.source import Gitlab
from tests import memory
from tests.story import NOW
from tests.synced import Desk, Reached, bluesky_desk, desk, gitlab_desk

Found = set[tuple[str, str]]


@dataclass
class Place:
    """A desk, and what differs there after the silent deeds that no plain run can see."""

    desk: Desk
    deeds: Callable[[], None]
    expected: Found

    def connected(self) -> list[Any]:
        return [Reached(self.desk.source(self.desk.names), self.desk.app)]

    def verdict(self) -> Verdict:
        verdict = verify(self.desk.home, self.connected(), Options(keep_payloads=False))
        assert verdict.problems == []
        return verdict


def github(folder: Path) -> Place:
    """Said late, edited, deleted and closed without any time moving, and an issue that is no more."""
    world = GitHubWorld(NOW)
    repo = world.add_repo("lantern/lantern")
    issue, pull, gone = (
        repo.open_issue("maya", "Slow", "It is."), repo.open_pull("kofi", "Faster", "Try."),
        repo.open_issue("odile", "Gone", "Soon."),
    )  # fmt: skip
    said = [repo.comment(number, "odile", f"One {n}.") for n, number in enumerate((issue, issue, pull, pull, gone))]
    notes = [repo.review_comment(pull, "sanvi", "a.go", f"Line {n}.", n) for n in (1, 2)]
    review = repo.review(pull, "sanvi", "COMMENTED", "Fine.")
    world.advance(seconds=86_400)

    def deeds() -> None:
        moved = [(row, row.updated_at) for row in repo.issues.rows.values()]
        late = repo.comment(issue, "kofi", "Late.")
        repo.edit_comment(said[0], "Other words.")
        repo.edit_review(review, "Not fine.")
        repo.edit_review_comment(notes[0], "Other line.")
        repo.close(pull)
        repo.label(issue, "slow")
        for row, at in [*moved, (repo.comments.rows[late], NOW), (repo.comments.rows[said[0]], NOW),
                        (repo.review_comments.rows[notes[0]], NOW)]:  # fmt: skip
            row.updated_at = at
        for shelf in (repo.issues, repo.comments, repo.review_comments):
            shelf.moved()
        repo.delete_comment(said[2])
        repo.delete_review_comment(notes[1])
        repo.delete_issue(gone)

    expected = {
        ("missing", "issue_comment"), ("stale", "issue_comment"), ("stale", "review"), ("stale", "review_comment"),
        ("in another state", "pull_request"), ("in another state", "issue"), (DELETED, "issue_comment"),
        (DELETED, "review_comment"), (DELETED, "issue"),
    }  # fmt: skip
    return Place(desk(folder, world), deeds, expected)


def gitlab(folder: Path) -> Place:
    """As above; and a thread resolved on what is closed, a label renamed, a push: what no time tells."""
    world = GitLabWorld(NOW)
    project = world.add_project("lantern/console")
    mr, gone = (project.open_merge_request("benji", title, "Text", labels=("slow",)) for title in ("Table", "Gone"))
    closed, issue = project.open_merge_request("benji", "Closed", "Text"), project.open_issue("freja", "Slow", "It is.")
    notes = [project.comment(parent, "maya", f"One on {parent.iid}") for parent in (mr, gone, closed, issue)]
    thread = project.start_thread(closed, "maya", "Why?", Position("a.ts", "a.ts", closed.refs, Spot(1, 2, "new")))
    project.close(closed, "maya")
    world.advance(seconds=86_400)

    def deeds() -> None:
        times = [(parent, parent.updated_at) for parent in (mr, closed, issue)]
        late, _ = project.comment(issue, "kofi", "Late."), project.edit_note(notes[0], "Other words.")
        project.edit(closed, "maya", title="Closed for good")
        late.updated_at = late.created_at = notes[0].updated_at = NOW
        project.resolve(thread, "maya")
        for parent, at in times:
            parent.updated_at = at
        project.rename_label("slow", "fast")
        project.push(mr, "benji")
        project.delete_note(notes[2])
        project.delete(gone)

    expected = {
        ("missing", "note"), ("stale", "note"), ("stale", "merge_request"), ("in another state", "merge_request"),
        ("resolved or not", "thread"), (DELETED, "note"), (DELETED, "merge_request"),
    }  # fmt: skip
    return Place(gitlab_desk(folder, world), deeds, expected)


def bluesky(folder: Path) -> Place:
    """Dated back by years, edited, deleted, a repost taken back, an account that hides its words."""
    world = BlueskyWorld(NOW)
    for handle in ("maya.example", "odile.example", "shy.example"):
        world.account(handle)
    posts = [world.post("maya.example", f"Post {n}", created=NOW.subtract(days=n)) for n in range(6)]
    repost = world.repost("odile.example", posts[0])
    world.post("odile.example", "Said.")
    world.post("shy.example", "Quietly.")
    world.advance(seconds=86_400)

    def deeds() -> None:
        world.post("maya.example", "Of old", created=NOW.subtract(years=2))
        world.edit(posts[3], "Other words")
        world.label(posts[2], "!no-unauthenticated")
        world.delete(posts[5])
        world.unrepost(repost)
        world.label_account("shy.example", "!no-unauthenticated")

    expected = {
        ("missing", "post"), ("stale", "post"), ("in another state", "post"), (DELETED, "post"), (DELETED, "repost"),
    }  # fmt: skip
    return Place(bluesky_desk(folder, world, "maya.example", "odile.example", "shy.example"), deeds, expected)


@pytest.mark.ci
@pytest.mark.parametrize("made", [github, gitlab, bluesky])
def test_every_difference_is_mended_by_its_command(
    made: Callable[[Path], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run as they are printed, one after the other, they leave nothing that differs."""
    place = made(tmp_path / "data")
    monkeypatch.setattr(run_module, "configured", lambda settings, config, names=(): place.connected())
    monkeypatch.setenv("EARSHOT_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    assert place.desk.run().exit_code == 0
    place.deeds()
    verdict = place.verdict()
    assert {(each.what, each.kind) for each in verdict.differences} == place.expected
    for mend in verdict.mends:
        _typed(mend.command)
    assert place.verdict().differences == []


def _typed(command: str) -> None:
    for part in command.split(" && "):
        words = shlex.split(part)
        assert words[:2] == ["earshot", "sync"]
        ended = CliRunner().invoke(run_module.main, words[2:], catch_exceptions=False)
        assert ended.exit_code == 0, ended.output


def difference(number: int, what: str = "stale", kind: str = "merge_request", **more: Any) -> Difference:
    told = {"parent_key": f"gitlab:1:{number}", "parent_kind": kind, "parent_number": number, "is_parent_there": True}
    return Difference(what, "gitlab", "1", "Lantern/Console", "note", f"key {number}", None, **{**told, **more})


def test_what_can_be_named_is_named_a_hundred_at_a_time() -> None:
    """One command for many, by the name that is configured; what is gone itself takes a sweep and another run."""
    source = Gitlab(GitlabConfig(projects=["lantern/console"]))
    found = mends([difference(n) for n in (7, 7, *range(1, 102))], {"gitlab": source})
    first, second = (mend.command.split(" ", 5) for mend in found)
    assert first[:5] == ["earshot", "sync", "gitlab", "-p", "lantern/console"] and first[5].count("--mr") == 100
    assert second[5] == "--mr 101" and [mend.mends for mend in found] == [102, 1]
    gone = mends([difference(3, DELETED, is_parent_there=False)], {"gitlab": source})
    sweep = "earshot sync gitlab -p lantern/console"
    assert [mend.command for mend in gone] == [f"{sweep} --sweep && {sweep}"]


def test_a_place_is_quoted_for_the_shell() -> None:
    """A name is somebody else's text, and is typed as one word."""
    source = Github(memory.settings(["lantern/lantern"]))
    odd = Difference("stale", "github", "1", "a; rm -rf ~", "issue", "key", None, "k", "issue", 1, True)
    assert shlex.split(mends([odd], {"github": source})[0].command)[4] == "a; rm -rf ~"
