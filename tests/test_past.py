"""What a ledger says of long ago: every sum is what it was, what was found stays, and it does not grow for nothing."""

from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.state import ledger_history
from pipelines.state.ledger import Ledger
from sources.core.http.client import RequestCounts
from tests.small_gitlab import gitlab, project, world
from tests.synced import GitLabDesk

__all__ = ["gitlab", "project", "world"]

SUMS = "SELECT source, surface, sum(requests), sum(new), sum(not_modified) FROM {} GROUP BY 1, 2 ORDER BY 1, 2"


def told(ledger: Ledger, query: str) -> list[Any]:
    return [tuple(row) for row in ledger.connection.execute(query).fetchall()]


def ran(ledger: Ledger, *, days_ago: float, new: int) -> int:
    run_id = ledger.begin("bulk", ["gitlab"])
    lists = {
        ("issues", "1"): RequestCounts(requests=2, new=new, lag_seconds=3.0 if new else None),
        ("issues", "2"): RequestCounts(3),
    }
    ledger.record_requests(run_id, "gitlab", lists, {})
    ledger.finish(run_id, "done", 0, rows_new=new)
    ledger.note(run_id, started_at=pendulum.now("UTC").subtract(hours=int(days_ago * 24)).to_iso8601_string())
    return run_id


def test_quiet_runs_of_long_ago_are_one_row_a_list(tmp_path: Path) -> None:
    """What was found, by whom and how late, is told as before; nothing of the last weeks is folded."""
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        runs = [ran(ledger, days_ago=49.5 - n, new=int(n == 3)) for n in range(40)]
        sums = "SELECT sum(requests), sum(new), count(lag_seconds) FROM requests"
        before = told(ledger, sums)
        ledger_history.fold(ledger)
        old = runs[19]  # the last one of more than 30 days ago
        assert told(ledger, sums) == before
        assert [id_ for (id_,) in told(ledger, "SELECT run_id FROM runs ORDER BY 1")] == [runs[3], *runs[19:]]
        kept = told(ledger, f"SELECT run_id, scope, requests, new FROM requests WHERE run_id < {old} ORDER BY 1, 2")
        assert kept == [(0, "*", 19 * 5 - 2, 0), (runs[3], "1", 2, 1)]
        assert len(told(ledger, f"SELECT 1 FROM requests WHERE run_id >= {old}")) == 2 * 21


def test_it_is_done_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        for _ in range(3):
            ran(ledger, days_ago=29.9, new=0)
        ledger_history.fold(ledger)
        for days, runs in ((0.5, 3), (1.5, 1), (3, 1)):
            with monkeypatch.context() as patch:
                now = pendulum.now("UTC").add(hours=int(days * 24))
                patch.setattr(pendulum, "now", lambda _, now=now: now)
                ledger_history.fold(ledger)
            assert told(ledger, "SELECT count(*) FROM runs") == [(runs,)]
            assert told(ledger, "SELECT sum(requests) FROM requests") == [(15,)]


def test_what_is_folded_is_folded_for_sql_too(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """After the next publish `ops` tells what the ledger tells."""

    def news() -> None:
        world.advance(seconds=61)
        project.comment(project.merge_requests[1], "maya", "news")
        world.advance(seconds=300)

    for _ in range(3):
        gitlab.run()
    news()
    gitlab.run()
    held = gitlab.one("SELECT count(*) FROM ops.runs")
    with Ledger.open(gitlab.home.control) as ledger:
        ledger.state.folded = None
        ledger.connection.execute("UPDATE runs SET started_at = '2026-01-01T00:00:00Z'")
    gitlab.run()
    news()
    gitlab.run()
    with Ledger.open(gitlab.home.control) as ledger:
        assert gitlab.sql(SUMS.format("ops.requests")) == told(ledger, SUMS.format("requests"))
        runs = "SELECT run_id FROM {} ORDER BY 1"
        assert gitlab.sql(runs.format("ops.runs")) == told(ledger, runs.format("runs"))
    assert gitlab.one("SELECT count(*) FROM ops.runs") < held + 2
    assert gitlab.one("SELECT sum(requests) FROM ops.requests WHERE run_id = 0") > 0
