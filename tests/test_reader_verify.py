"""`earshot verify`: the world in full beside the warehouse."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest

from pipelines import settings
from pipelines.demo import demo_sources
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Request, Response
from pipelines.sync.run import Options, sync
from pipelines.sync.verify import DELETED, Difference, in_doubt, verify
from pipelines.warehouse.data_dir import DataDir
from sources.core.reading import Problem
from tests.asked import Reader
from tests.story import NOW
from tests.synced import GitHubDesk, Reached, desk


def gitlab() -> list[Any]:
    return [each for each in demo_sources(0) if each.source.name == "gitlab"]


def found(reader: Reader, sources: list[Any]) -> Counter[str]:
    return Counter(each.what for each in verify(reader.home, sources, Options(keep_payloads=False)).differences)


@pytest.mark.ci
def test_a_whole_warehouse_differs_in_nothing(own: Reader) -> None:
    """All three sources, read twice the same; and nothing is written beside it."""
    before = {path.name: path.read_bytes() for path in own.home.path.iterdir()}
    verdict = verify(own.home, demo_sources(0), Options(keep_payloads=False))
    assert (verdict.exit_code, verdict.differences, verdict.problems) == (0, [], [])
    live = own.data("sql", "SELECT count(*) AS n FROM feedback.comments")[0]["n"]
    assert verdict.read == live and verdict.requests > 100
    assert before == {path.name: path.read_bytes() for path in own.home.path.iterdir()}


def test_every_kind_of_difference_is_found(own: Reader) -> None:
    """Missing, stale, doubled, not noticed as deleted: one of each, by its address."""
    with duckdb.connect(str(own.home.published)) as connection:
        keys = [key for (key,) in connection.execute(
            "SELECT event_key FROM feedback.events WHERE source = 'gitlab' AND is_latest AND NOT is_deleted AND kind = 'note'"
            " ORDER BY created_at DESC LIMIT 4").fetchall()]  # fmt: skip
        connection.execute("DELETE FROM feedback.events WHERE event_key = ?", [keys[0]])
        connection.execute("UPDATE feedback.events SET body = 'old words' WHERE event_key = ?", [keys[1]])
        connection.execute("INSERT INTO feedback.events FROM feedback.events WHERE event_key = ?", [keys[2]])
        connection.execute(
            "INSERT INTO feedback.events SELECT * REPLACE ('gone' AS id, 'k' AS event_key) FROM feedback.events"
            " WHERE event_key = ?", [keys[3]])  # fmt: skip
    verdict = verify(own.home, gitlab(), Options(keep_payloads=False))
    assert verdict.exit_code == 1
    assert {each.what: each.event_key for each in verdict.differences} == {
        "missing": keys[0], "stale": keys[1], "doubled": keys[2], "not noticed as deleted": "k",
    }  # fmt: skip


@pytest.mark.ci
def test_what_was_said_since_is_missing_until_the_next_run(tmp_path: Path) -> None:
    """A run behind the world, then one more."""
    reader = Reader(DataDir(tmp_path))
    asyncio.run(sync(reader.home, gitlab(), Options(keep_payloads=False)))
    later = [each for each in demo_sources(2) if each.source.name == "gitlab"]
    assert found(reader, later)["missing"] > 0
    asyncio.run(sync(reader.home, later, Options(keep_payloads=False)))
    assert found(reader, later) == Counter()


def verified(told: GitHubDesk, **config: Any) -> list[tuple[str, str, str]]:
    sources = [Reached(told.source(told.names, **config), told.app)]
    verdict = verify(told.home, sources, Options(keep_payloads=False))
    assert not verdict.problems
    return [(each.what, each.scope_name, each.kind) for each in verdict.differences]


@pytest.mark.ci
def test_the_oldest_is_missed_too_when_it_is_gone(tmp_path: Path) -> None:
    """Nothing older is left there to tell how far back was read, or nothing at all; what a place was read from does."""
    world = GitHubWorld(NOW)
    for name in ("lantern/old", "lantern/single"):
        world.add_repo(name).open_issue("liu", "First", "words")
        world.advance(600)
    world.names["lantern/old"].open_issue("liu", "Second", "more")
    told = desk(tmp_path, world, "lantern/old", "lantern/single")
    told.run()
    assert verified(told) == []
    for repo in world.names.values():
        repo.delete_issue(1)
    assert verified(told) == [(DELETED, "lantern/old", "issue"), (DELETED, "lantern/single", "issue")]


@pytest.mark.ci
def test_what_lies_before_the_configured_start_is_not_called_deleted(tmp_path: Path) -> None:
    """Held from when more was read. That an older issue moved since shows nothing of those between it and the start."""
    world = GitHubWorld(NOW)
    repo = world.add_repo("lantern/lantern")
    for title in ("Moves again", "Rests", "Follows alone"):
        repo.open_issue("liu", title, "words")
        world.advance(86400)
    told = desk(tmp_path, world)
    told.run()
    start = {"since": world.now.add(days=1).to_iso8601_string()}
    world.advance(2 * 86400)
    comment = repo.comment(1, "maya", "Any news?")
    told.run(start)
    assert verified(told, **start) == []
    repo.delete_comment(comment)
    assert verified(told, **start) == [(DELETED, "lantern/lantern", "issue_comment")]


def test_what_could_not_be_read_is_not_called_deleted(own: Reader) -> None:
    """A project that is away today: exit 3 with its name, and its words are in doubt, not gone."""
    sources = gitlab()
    world = sources[0].app.world
    world.paths.pop("lantern/charts", None)
    verdict = verify(own.home, sources, Options(keep_payloads=False))
    assert verdict.exit_code == 3 and [problem.scope for _, problem in verdict.problems] == ["lantern/charts"]
    assert verdict.differences == []


def test_a_list_that_fails_today_leaves_its_words_in_doubt(own: Reader) -> None:
    """The merge requests were read, the issues beside them were not: none of these is called gone."""
    sources = gitlab()

    def no_issues(request: Request) -> Response | None:
        return Response(403, {"message": "403 Forbidden"}) if request.path.endswith("/issues") else None

    sources[0].app.switches.fault = no_issues
    verdict = verify(own.home, sources, Options(keep_payloads=False))
    assert verdict.exit_code == 3 and {problem.surface for _, problem in verdict.problems} == {"issues"}
    assert verdict.read > 50 and verdict.differences == []


@pytest.mark.parametrize(
    ("what", "scope", "expected"),
    [(DELETED, "1002", True), (DELETED, "1002/7", True), (DELETED, "g/charts", True), (DELETED, "*", True),
     (DELETED, "1001", False), ("stale", "1002", False)],
)  # fmt: skip
def test_a_place_read_in_part_leaves_its_own_in_doubt(what: str, scope: str, expected: bool) -> None:
    """By id, by name, by one of its pull requests, or all; what was read and differs, differs."""
    difference = Difference(what, "gitlab", "1002", "g/Charts", "note", "key", None)
    problem = Problem(scope, "issues", "FETCH_ERROR", "500")
    assert in_doubt(difference, [("gitlab", problem)]) is expected
    assert in_doubt(difference, [("github", problem)]) is False


@pytest.mark.ci
def test_the_command_reads_what_is_configured(own: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named sources or all; its words and its envelope."""
    monkeypatch.setattr(settings, "configured", lambda *_: gitlab())
    asked = own.ask("verify", "gitlab")
    assert (
        asked.code == 0
        and asked.lines[-1] == "Nothing differs: the warehouse holds all of it, once, in its present words."
    )
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute(
            "UPDATE feedback.events SET body = 'x\x1b[31m' WHERE kind = 'merge_request' AND parent_number = 9"
        )
    asked = own.ask("verify", width=160)
    assert asked.code == 1 and "stale: 1" in asked.out and "merge_requests/9" in asked.out
    told = orjson.loads(own.ask("verify", "--json").out)
    assert told["ok"] is False and told["data"]["differences"][0]["what"] == "stale"


def test_nothing_to_compare_with_is_said_before_reading(tmp_path: Path) -> None:
    """An hour of requests later would be late."""
    asked = Reader(DataDir(tmp_path / "none")).ask("verify")
    assert asked.code == 1 and "no warehouse" in asked.err
