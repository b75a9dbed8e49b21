"""What a run says of each account, and who is skipped: told when it happens, listed by `status`, and no failure."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pendulum
import pytest

from pipelines.demo.bluesky.state import Card
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.server.web import Response
from tests.asked import Reader
from tests.in_memory import in_memory
from tests.synced import BlueskyDesk, bluesky_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
MAYA, ODILE, NOBODY = "maya.example", "odile.example", "nobody.example"
ROOT = Path(__file__).parent.parent
Said = pytest.LogCaptureFixture


@pytest.fixture
def world() -> BlueskyWorld:
    made = BlueskyWorld(NOW)
    made.account(MAYA, "Maya")
    made.account(ODILE, "Odile")
    return made


@pytest.fixture
def desk(tmp_path: Path, world: BlueskyWorld) -> BlueskyDesk:
    return in_memory(bluesky_desk(tmp_path, world, MAYA, ODILE, NOBODY, "not a handle"))


@pytest.fixture
def said(caplog: Said) -> Said:
    """As a run without `-v` hears it."""
    caplog.set_level(logging.INFO, "earshot.accounts")
    return caplog


def lines(said: Said, word: str = "[") -> list[str]:
    found = [r.getMessage() for r in said.records if r.name == "earshot.accounts" and r.levelno >= logging.INFO]
    said.clear()
    return sorted(line for line in found if line.startswith(word))


def skipped(desk: BlueskyDesk) -> dict[str, str]:
    return {row["name"]: row["why"] for row in Reader(desk.home).data("status")["skipped"]}


def test_a_line_an_account_where_something_happened(desk: BlueskyDesk, world: BlueskyWorld, said: Said) -> None:
    """[INITIAL] once, [POLL] where there is news, with posts, links and pages as they were counted; else none."""
    desk.names = (MAYA, ODILE)
    world.post(MAYA, "one https://a.example/1")
    world.post(MAYA, "two", card=Card("https://a.example/2", "Two"))
    desk.run()
    assert lines(said) == [
        f"[INITIAL] {MAYA}: 2 posts, 2 URLs across 1 page", f"[INITIAL] {ODILE}: 0 posts, 0 URLs across 1 page",
    ]  # fmt: skip
    desk.run()
    assert lines(said) == []
    world.advance(seconds=60)
    world.post(ODILE, "three https://a.example/1")
    desk.run()
    assert lines(said) == [f"[POLL] {ODILE}: 1 post, 1 URL across 1 page"]


def test_a_high_volume_is_told_and_so_is_a_walk_that_is_capped(
    desk: BlueskyDesk, world: BlueskyWorld, said: Said
) -> None:
    """A whole page of news, and there are more."""
    desk.names = (MAYA,)
    world.post(MAYA, "one")
    desk.run({"posts_per_page": 10})
    for n in range(25):
        world.advance(seconds=1)
        world.post(MAYA, f"burst {n}")
    lines(said)
    desk.run({"posts_per_page": 10})
    assert lines(said) == [
        f"[POLL] {MAYA}: 25 posts, 0 URLs across 3 pages",
        f"[POLL] {MAYA}: high volume detected, fetching more pages",
    ]
    for n in range(45):
        world.advance(seconds=1)
        world.post(MAYA, f"again {n}")
    desk.run({"posts_per_page": 10, "max_pages_per_actor": 2})
    assert f"[POLL] {MAYA}: stopped after 2 pages; the next run goes on there" in lines(said)


def test_who_cannot_be_resolved_is_skipped_and_no_failure(desk: BlueskyDesk, world: BlueskyWorld, said: Said) -> None:
    """Once told, listed by `status` with the reason for as long as it is so; the others are read, the run is done. Whoever
    takes the name later is followed then."""
    world.post(MAYA, "hello")
    report = desk.run()
    assert report.exit_code == 0 and report.sources[0].problems == []
    assert lines(said, "[SKIP]") == [
        f"[SKIP] {NOBODY}: nobody is called so", "[SKIP] not a handle: neither a handle nor a DID",
    ]  # fmt: skip
    assert skipped(desk) == {NOBODY: "nobody is called so", "not a handle": "neither a handle nor a DID"}
    reader = Reader(desk.home)
    assert f"{NOBODY}  nobody is called so" in reader.ask("status").out
    assert not [each for each in reader.data("status")["troubles"] if "nobody" in each["message"]]
    assert desk.run().exit_code == 0 and lines(said, "[SKIP]") == []
    world.account(NOBODY, "Somebody")
    world.post(NOBODY, "now I am")
    assert desk.run().exit_code == 0
    assert skipped(desk) == {"not a handle": "neither a handle nor a DID"}
    assert desk.one("SELECT count(*) FROM feedback.comments WHERE body = 'now I am'") == 1


def test_who_is_away_is_skipped_until_they_are_back(desk: BlueskyDesk, world: BlueskyWorld, said: Said) -> None:
    """Told when they leave, not by every run; listed with the reason."""
    desk.names = (MAYA, ODILE)
    world.post(MAYA, "hello")
    desk.run()
    world.deactivate(MAYA)
    desk.run()
    assert lines(said, "[SKIP]") == [f"[SKIP] {MAYA}: deactivated"] and skipped(desk) == {MAYA: "deactivated"}
    desk.run()
    assert lines(said, "[SKIP]") == [] and skipped(desk) == {MAYA: "deactivated"}
    world.take_down(MAYA)
    desk.run()
    assert lines(said, "[SKIP]") == [f"[SKIP] {MAYA}: taken down"] and skipped(desk) == {MAYA: "taken down"}
    world.reactivate(MAYA)
    desk.run()
    assert skipped(desk) == {}


def test_a_run_over_some_says_nothing_of_the_others(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """Who was skipped is still, after a run that did not ask; who is followed no more is not."""
    desk.run()
    desk.names = (MAYA,)
    desk.run(is_narrowed=True)
    assert set(skipped(desk)) == {NOBODY, "not a handle"}
    desk.names = (MAYA, NOBODY)
    world.account(NOBODY)
    desk.run(is_narrowed=True)
    assert set(skipped(desk)) == {"not a handle"}
    desk.names = (MAYA,)
    desk.run()
    assert skipped(desk) == {}


def test_what_could_not_be_asked_is_a_failure_and_no_skip(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """A service that answers 500 for a name has not said that nobody has it."""
    desk.app.switches.fault = lambda r: Response(500, {}) if r.path.endswith("resolveHandle") else None
    report = desk.run()
    assert report.exit_code == 3 and [p.scope for p in report.sources[0].problems] == [NOBODY]
    assert set(skipped(desk)) == {"not a handle"}


@pytest.mark.ci
def test_the_lines_are_seen_by_who_starts_a_run(tmp_path: Path) -> None:
    """Beside the screen: what happened, without asking for more; with `-v` every scan, and who has nothing new."""

    def run(*more: str) -> str:
        command = [sys.executable, "pipelines/run.py", "--demo", "bluesky", "--no-embed", *more]
        told = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "EARSHOT_DATA": str(tmp_path)}, capture_output=True, text=True
        )
        assert told.returncode == 0, told.stderr
        return told.stderr

    first, second = run(), run("-v")
    assert "[INITIAL] lantern.example: " in first and "incremental_scan" not in first
    assert "[INITIAL]" not in second and "[POLL] lantern.example: nothing new" in second
    for event in ("started", "completed"):
        assert f"incremental_scan_{event} surface=posts scope=lantern.example" in second


def test_what_was_edited_before_a_sweep_that_could_not_see_it_is_seen_on_return(tmp_path: Path) -> None:
    """No list shows an edit of what is old, and the sweep that would have was while the account was away."""
    world = BlueskyWorld(pendulum.datetime(2026, 3, 1, 12))
    maya = world.account("maya.example", "Maya")
    posts = []
    for n in range(12):
        posts.append(world.post("maya.example", f"Post {n}"))
        world.advance(seconds=43200)
    desk = in_memory(bluesky_desk(tmp_path, world, "maya.example"))
    config = {"posts_per_page": 2}
    assert desk.run(config).exit_code == desk.run(config).exit_code == 0
    world.edit(posts[1], "Edited.")
    world.deactivate(maya)
    assert desk.run(config, sweep=True).exit_code == 0
    world.advance(seconds=60)
    world.reactivate(maya)
    assert desk.run(config).exit_code == 0
    desk.judge()
