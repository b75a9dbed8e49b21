"""A short storm. `make storm` has a long one: nothing lost, doubled or wrongly deleted, no clean exit with something missing."""

from pathlib import Path

import pytest

from tests.storm.plan import Plan, Step, draw
from tests.storm.round import Round


@pytest.mark.ci
def test_a_storm_in_memory_ends_with_everything_right(tmp_path: Path) -> None:
    """Operations before and amid runs, faults, shut places, records that nobody can read, wrong clocks."""
    played = Round(draw("short", runs=2, density=0.2), tmp_path, in_memory=True)
    assert played.play() == []
    assert played.tally.exits["0"] >= 4


@pytest.mark.ci
def test_a_storm_with_kills_ends_with_everything_right(tmp_path: Path) -> None:
    """The same through dlt and files, in processes that are killed."""
    told: list[int] = []
    played = Round(draw("killed", runs=3, density=0.3), tmp_path, tell=lambda tally: told.append(tally.kills))
    assert played.play() == []
    assert sum(told) >= 2


@pytest.mark.ci
def test_what_the_world_says_and_the_warehouse_does_not_is_found(tmp_path: Path) -> None:
    """An oracle that finds nothing is worth nothing: words that never land, are forgotten, or stay when they are gone."""
    played = Round(Plan("oracle", steps=[Step(before={"github": [("open_issue", 1), ("comment", 1), ("comment", 2)]})]),
                   tmp_path, in_memory=True)  # fmt: skip
    assert played.play() == []
    github = played.mobs[0]
    before = github.exists()
    repo = next(repo for repo in github.world.repos.values() if repo.comments.rows)
    gone = next(iter(repo.comments.rows))
    repo.comment(repo.comments.rows[gone].number, "maya", "Never read.")
    repo.delete_comment(gone)
    found = played.oracle.differences(github, lambda key, about: False)
    assert sorted(each.what for each in found) == ["kept", "lost"] and len(before) > 2
    played.oracle.keys.add("github:issue_comment:1:77:x")
    assert "forgotten" in {each.what for each in played.oracle.look()}
