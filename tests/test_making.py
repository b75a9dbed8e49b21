"""How the warehouse is written: within a limit of memory where that is possible, and quickly where somebody waits."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.demo import demo_sources
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.models import build as models
from pipelines.models import narrowing
from pipelines.models.build import read_models
from pipelines.models.narrowing import Narrowing
from pipelines.sync import after_load
from pipelines.sync.run import Options, sync
from pipelines.warehouse.data_dir import DataDir
from sources.core.targets import Target
from tests.synced import GitLabDesk, gitlab_desk
from tests.test_models import NOW, empty

__all__ = ["empty"]

pytestmark = pytest.mark.ci  # length: more than fits into memory
PLACE = "lantern/console"


@pytest.fixture
def gitlab(tmp_path: Path) -> GitLabDesk:
    world = GitLabWorld(NOW)
    world.fill(world.add_project(PLACE), merge_requests=12, discussions=10, notes=10, issues=2, days=10)
    world.advance(seconds=300)
    return gitlab_desk(tmp_path / "data", world, PLACE)


def made(gitlab: GitLabDesk) -> list[object]:
    return [gitlab.sql(f"FROM feedback.{name} ORDER BY ALL") for name in ("events", "documents", "threads")]


def test_what_does_not_fit_is_made_without_a_limit(
    gitlab: GitLabDesk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Models, documents and the file for readers: all is there as if there were none."""
    gitlab.run()
    whole = made(gitlab)
    monkeypatch.setattr(after_load, "ROOMY", "6MiB")
    with duckdb.connect(str(gitlab.home.warehouse)) as connection:
        connection.execute("DELETE FROM ops.taken_loads")
        connection.execute("DELETE FROM feedback.events")
    from pipelines.state.ledger import Ledger

    with Ledger.open(gitlab.home.control) as ledger:
        ledger.state.is_unpublished = True
    with caplog.at_level(logging.INFO, logger="earshot.making"):
        report = gitlab.run()
    assert report.exit_code == 0 and "built again without a limit" in caplog.text
    assert made(gitlab) == whole


def test_news_of_all_sources_are_made_within_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are not begun in too little memory to be built a second time in more."""
    built, build = list[bool](), models.build
    monkeypatch.setattr(models, "build", lambda *a, **k: (built.append(k["anew"]), build(*a, **k)))
    for number in (0, 1):
        report = asyncio.run(sync(DataDir(tmp_path), demo_sources(number), Options()))
        assert sum(report.new_events.values()) > 0
    assert built == [True, False]


def test_text_is_compressed_by_runs_over_lists_not_by_those_somebody_waits_for(
    gitlab: GitLabDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What DuckDB may use is asked, not what it used: it looks at a random part of the rows to choose."""
    without, build = list[str](), models.build

    def built(connection: duckdb.DuckDBPyConnection, *args: Any, **more: Any) -> None:
        without.append(connection.execute("SELECT current_setting('disabled_compression_methods')").fetchall()[0][0])
        build(connection, *args, **more)

    monkeypatch.setattr(models, "build", built)
    gitlab.run()
    gitlab.operate(PLACE, Target("mr", 1))
    gitlab.run(full=True)
    assert without == ["", "FSST", ""]


def test_nothing_keeps_the_warehouse_open_when_a_run_is_over(
    gitlab: GitLabDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it failed: another configuration could not open it."""
    monkeypatch.setattr("pipelines.warehouse.data_dir.DataDir.publish", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        gitlab.run()
    with duckdb.connect(str(gitlab.home.warehouse), config={"threads": "2"}) as connection:
        assert connection.execute("SELECT count(*) FROM feedback.events").fetchone() != (0,)


def test_narrowing_is_worked_out_once_for_the_same_models(
    empty: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever order a process has them: sets are ordered differently in each."""
    model = next(m for m in read_models() if m.kept_by)
    views = frozenset((m.name, m.sql) for m in read_models() if not m.kept_by)
    first = narrowing.narrowed(empty, model.name, model.sql, Narrowing(views, frozenset(), by_row=True))
    monkeypatch.setattr(narrowing, "_narrowed", lambda *_: 1 / 0)
    again = Narrowing(frozenset(sorted(views, reverse=True)), frozenset(), by_row=True)
    assert narrowing.narrowed(empty, model.name, model.sql, again) == first
