"""One run with a clock in the future must not put anything off: an instant later than now is due."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pendulum
import pytest

from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.replies.reply_seen import rule_out
from pipelines.search.chunks import Chunk
from pipelines.search.vectors import opened_vectors
from pipelines.settings import landed_fills, landed_tables
from pipelines.state import decisions, ledger_history
from pipelines.state.ledger import Ledger
from pipelines.state.quarantine import Quarantine
from pipelines.state.runners import report_for_work, reports
from pipelines.sync.after_load import Options
from pipelines.warehouse.data_dir import DataDir
from sources.bluesky.accounts import Account
from sources.bluesky.source import deep_due
from sources.core.reading import Batch, Quarantined
from tests.landed import landed, opened
from tests.small_gitlab import NOW, gitlab, project, world
from tests.speaker import Speaker, answers
from tests.synced import Desk, GitLabDesk, bluesky_desk
from tests.test_past import ran, told

__all__ = ["gitlab", "project", "world"]

FUTURE = pendulum.datetime(2099, 1, 1)


@contextmanager
def in_the_future() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pendulum, "now", lambda _="UTC": FUTURE)
        yield


def test_a_sweep_of_the_future_is_due() -> None:
    """As one of long ago; one of an hour ago is not."""
    now, options = pendulum.now("UTC"), Options(sweep_hours=24)
    for moment, is_due in ((FUTURE, True), (now.subtract(hours=25), True), (now.subtract(hours=1), False)):
        assert options.sweep_is_due(moment) is is_due, moment
    assert not options.sweep_is_due(now.add(seconds=30)), "clocks are set by seconds all the time"


def test_sweeps_go_on_after_a_run_with_a_clock_in_the_future(gitlab: GitLabDesk) -> None:
    with in_the_future():
        gitlab.run(sweep=True)
    assert gitlab.run().sources[0].swept
    assert not gitlab.run().sources[0].swept


def spoil(desk: Desk, source: str) -> None:
    """All of its cursors, as a wrong clock would have left them."""
    pipeline, spoilt = opened(desk.home, landed_tables()[source], landed_fills()[source], source), list[Batch]()
    later = dict.fromkeys(("since", "newest", "head", "watermark"), FUTURE.to_iso8601_string())
    for surface, scopes in pipeline.cursors.items():
        for scope, cursor in scopes.items():
            if surface != "actors" and isinstance(cursor, dict):
                spoilt.append(Batch(surface, scope, {}, {**cursor, **later, "etag": None, "digest": None}))
    landed(pipeline, *spoilt)


def test_a_cursor_that_was_reset_makes_a_sweep_due(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes back a day; what was said before that and after the last run is found by the sweep. Once."""
    project.comment(project.merge_requests[1], "maya", "Said before the day that is read again.")
    world.advance(seconds=3 * 86400)
    spoil(gitlab, "gitlab")
    assert not gitlab.run().sources[0].swept and "cursor_invalid" in caplog.text
    assert gitlab.run().sources[0].swept
    gitlab.judge()
    assert not gitlab.run().sources[0].swept


@pytest.mark.ci
def test_a_reset_feed_is_compared_with_its_own_records(tmp_path: Path) -> None:
    """On Bluesky a sweep looks at what is held: what never was is listed by the deep one alone."""
    sky = BlueskyWorld(NOW)
    sky.account("maya.example", "Maya")
    sky.post("maya.example", "First.")
    sky.advance(600)
    desk = bluesky_desk(tmp_path / "data", sky, "maya.example")
    desk.run()
    sky.post("maya.example", "Said before the day that is read again.")
    sky.advance(3 * 86400)
    spoil(desk, "bluesky")
    assert not desk.run().sources[0].swept
    assert desk.run().sources[0].swept
    desk.judge()


def test_folding_goes_on_too(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        ran(ledger, days_ago=40, new=0)
        with in_the_future():
            ledger_history.fold(ledger)
        ran(ledger, days_ago=39, new=0)
        ran(ledger, days_ago=38, new=0)
        ledger_history.fold(ledger)
        assert len(told(ledger, "SELECT 1 FROM runs")) == 1
        folded = ledger.state.folded
        ledger_history.fold(ledger)
        assert ledger.state.folded == folded, "once a day"


def test_a_run_that_died_in_the_future_is_dead(tmp_path: Path) -> None:
    """Its number may be another process's by now, and its heart is said to have beaten in 2099."""
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        with in_the_future():
            dead = ledger.begin("bulk", ["gitlab"])  # as this process, which lives
        ledger.begin("bulk", ["gitlab"])
        assert told(ledger, f"SELECT status FROM runs WHERE run_id = {dead}") == [("killed",)]


def test_what_was_kept_raw_in_the_future_is_asked_for_now(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        with in_the_future():
            for _ in range(5):
                Quarantine(ledger, "gitlab").keep([Quarantined("1", "notes", "k", "why", {})])
        assert Quarantine(ledger, "gitlab").unread()["k"].is_due
        Quarantine(ledger, "gitlab").keep([Quarantined("1", "notes", "k", "why", {})])
        assert not Quarantine(ledger, "gitlab").unread()["k"].is_due, "and rests between its attempts as ever"


def test_what_somebody_asked_for_again_in_the_future_is_asked_for_now(tmp_path: Path) -> None:
    """Also where the clock was set back by less than a second between `quarantine retry` and the run."""
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        kept = Quarantine(ledger, "gitlab")
        for _ in range(5):
            kept.keep([Quarantined("1", "notes", "k", "why", {})])
        kept.let_be(["k"])
        with in_the_future():
            kept.ask_again(["k"])
        assert kept.unread()["k"].is_due


def test_what_could_not_be_embedded_in_the_future_is_tried_now(tmp_path: Path) -> None:
    with opened_vectors(tmp_path / "vectors.sqlite") as vectors:
        assert vectors is not None
        with in_the_future():
            vectors.failed("a", "model", "why")
        vectors.failed("b", "model", "why")
        assert vectors.waiting("model") == {"b"}
        vectors.keep("a", "model", [Chunk(0, "words")], [b"\0\0\0\0"])


def test_a_deep_look_of_the_future_is_due() -> None:
    now = pendulum.datetime(2026, 3, 1)
    for deep, is_due in ((FUTURE, True), (now.subtract(days=1), False), (now.subtract(years=1), True)):
        saved = {"floor": "2026-01-01T00:00:00Z", "deep": deep.to_iso8601_string()}
        assert deep_due(Account("did:plc:x", "x", saved), now) is is_due


def test_an_answer_tried_in_the_future_is_looked_for_as_far_back_as_can_be(speaker: Speaker) -> None:
    """Its time tells nothing: what was said before then is not all later than that. And a run can rule it out."""
    reply = ("reply", "--pr", "2", "--body", "Thank you!", "--token", "thanks-1")
    assert speaker.say(*reply).code == 0
    with decisions.writing(DataDir(speaker.data)) as outbox:
        tried = "planned_at = ?1, attempted_at = ?1, unsure_from = ?1, is_unsure = 1, is_over = 1, status = 'planned'"
        outbox.rows(f"UPDATE answers SET {tried}", [FUTURE.to_iso8601_string()])
    assert speaker.say(*reply).code == 0
    assert answers(speaker) == ["thanks-1"]
    with decisions.writing(DataDir(speaker.data)) as outbox:
        outbox.rows(f"UPDATE answers SET {tried}, token = 'thanks-2'", [FUTURE.to_iso8601_string()])
    began = pendulum.now("UTC")
    for later, is_unsure in ((0, 1), (400, 0)):
        rule_out(DataDir(speaker.data), {"github": {"1001"}}, began.add(seconds=later).to_iso8601_string())
        assert [row["is_unsure"] for row in speaker.outbox()] == [is_unsure]


def test_a_runner_from_the_future_hides_nobody(tmp_path: Path, gitlab: GitLabDesk) -> None:
    """Of how many shards there are the last word counts, not the one with the latest date."""
    home = gitlab.home
    with Ledger.open(home.control) as ledger:
        with home.destination.control(home, writes=True) as decisions:
            assert decisions is not None
            report_for_work(decisions, "1/4", FUTURE.to_iso8601_string(), ledger.connection)
        with home.destination.control(home, writes=True) as decisions:
            assert decisions is not None
            report_for_work(decisions, "1/1", pendulum.now("UTC").to_iso8601_string(), ledger.connection)
            found = reports(decisions)
    assert found is not None and found["last_finished"] is not None
