"""The demo world's runs on DuckDB, Postgres and DuckLake, with real servers: the same rows, and readers of all."""

import asyncio
import json
import logging
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

from pipelines.ask.query.acks import acknowledge, acknowledged
from pipelines.cli import main
from pipelines.demo import demo_sources
from pipelines.settings import EarshotConfig
from pipelines.state import watched
from pipelines.sync.move import NotEmpty, moved
from pipelines.sync.output.report import Report
from pipelines.sync.run import Options, sync
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.ducklake import destination
from pipelines.warehouse.postgres.destination import Postgres
from sources.core.values import instant
from tests.elsewhere import ENGINES, IN_CI, begun, differences, place
from tests.servers import PASSWORD, Cluster

pytestmark = pytest.mark.ci


def run(home: DataDir, number: int, *only: str, **options: Any) -> Report:
    sources = [each for each in demo_sources(number) if not only or each.source.name in only]
    report = asyncio.run(sync(home, sources, Options(**options)))
    assert report.exit_code == 0, (report.error, [source.problems for source in report.sources])
    return report


def costs(report: Report) -> dict[str, int]:
    return {source.source: source.requests for source in report.sources}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a first run, on DuckDB."""
    home = DataDir(tmp_path_factory.mktemp("first") / "data")
    run(home, 0)
    return home.path


@pytest.fixture(scope="module")
def embedded(first: Path, tmp_path_factory: pytest.TempPathFactory) -> DataDir:
    home = DataDir(shutil.copytree(first, tmp_path_factory.mktemp("embedded") / "data"))
    run(home, 1)
    return home


@pytest.mark.parametrize("engine", ENGINES)
def test_how_a_connection_is_to_be_secured_is_minded_by_all_drivers(
    engine: str, server: Cluster, tmp_path: Path
) -> None:
    """This server cannot: whoever reads from it all the same has sent a password in the clear."""
    address = replace(
        server.address(server.database()), query=(("sslrootcert", "it's mine \\"), ("sslmode", "require"))
    )
    where: Any = destination.DuckLake(address, f"{tmp_path}/") if engine == "ducklake" else Postgres(address)
    with (
        pytest.raises(duckdb.IOException, match="does not support SSL, but SSL was required"),
        where.published(DataDir(tmp_path / "data", where)),
    ):
        pass


@pytest.mark.parametrize("engine", ENGINES)
def test_before_the_first_run_there_is_nothing_to_read(engine: str, server: Cluster, tmp_path: Path) -> None:
    home = place(engine, server, tmp_path)
    with home.destination.published(home) as connection:
        assert connection is None


@pytest.fixture(scope="module")
def events(embedded: DataDir) -> int:
    with embedded.destination.published(embedded) as connection:
        assert connection is not None
        ((found,),) = connection.execute("SELECT count(*) FROM feedback.events").fetchall()
    return int(found)


@pytest.fixture(scope="module")
def first_there(server: Cluster, tmp_path_factory: pytest.TempPathFactory) -> DataDir:
    """After a first run into Postgres: to be copied, not gone on with."""
    home = place("postgres", server, tmp_path_factory.mktemp("postgres"))
    assert sum(run(home, 0).new_events.values()) > 900
    return home


@pytest.fixture(scope="module", params=ENGINES)
def there(
    request: pytest.FixtureRequest, server: Cluster, first_there: DataDir, tmp_path_factory: pytest.TempPathFactory
) -> DataDir:
    """After two runs."""
    folder = tmp_path_factory.mktemp("there")
    if request.param == "postgres":
        home = begun(first_there, server, folder)
    else:
        home = place(request.param, server, folder)
        assert sum(run(home, 0).new_events.values()) > 900
    assert 0 < sum(run(home, 1).new_events.values()) < 50
    return home


@pytest.fixture
def ask(there: DataDir, server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`earshot …` on a machine that never ran anything, with one setting and the address."""
    where = there.destination
    url = server.url((where.catalog if isinstance(where, destination.DuckLake) else where.address).database)  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EARSHOT_DATA", str(tmp_path / "reader"))
    monkeypatch.setenv("EARSHOT__DESTINATION", "ducklake" if isinstance(where, destination.DuckLake) else "postgres")
    monkeypatch.setenv("DESTINATION__POSTGRES__CREDENTIALS", url)
    monkeypatch.setenv("DESTINATION__DUCKLAKE__CREDENTIALS__CATALOG", url)
    monkeypatch.setenv("DESTINATION__DUCKLAKE__CREDENTIALS__STORAGE", str(getattr(where, "storage", "")))

    def asked(*words: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, list(words))
        assert result.exit_code == code, result.output
        assert PASSWORD not in result.output
        return result

    return asked


def test_two_runs_leave_the_same_rows_as_on_duckdb(there: DataDir, embedded: DataDir) -> None:
    """Events, comments, threads, diff notes and all else that readers see; a third run finds nothing to do."""
    assert differences(embedded, there) == {}
    third = run(there, 1)
    assert third.published_bytes is None and not any(source.packages for source in third.sources)
    for file in there.path.rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes(), f"{file} holds the password"


def test_one_source_after_another_leaves_what_all_leave_at_once(
    server: Cluster, tmp_path: Path, first_there: DataDir, embedded: DataDir
) -> None:
    """What models read of a source that said nothing is left out: types must not have come from there."""
    home = begun(first_there, server, tmp_path)
    for source in ("gitlab", "github", "bluesky"):
        run(home, 1, source)
    assert differences(embedded, home) == {}


def test_readers_ask_what_they_ask_of_a_file(ask: Any, events: int) -> None:
    """Lists with their filters, one thing in full, counts, SQL, status; read-only, and nothing else of the machine."""
    listed = json.loads(ask("list", "mrs", "--reviewer", "tomasz-w", "--state", "merged", "--json").stdout)
    assert listed["data"] and all("tomasz-w" in row["reviewers"] for row in listed["data"])
    assert "Split NodeTable" in ask("show", "mr", "console!1").stdout
    assert "Merge Requests: 17" in ask("count", "mrs").stdout
    assert json.loads(ask("sql", "SELECT count(*) AS n FROM feedback.events", "--json").stdout)["data"] == [
        {"n": events}
    ]
    assert "read-only" in ask("sql", "DELETE FROM feedback.events", code=2).output
    for query in ("FROM read_text('/etc/hostname')", "ATTACH 'other.db' AS other"):
        assert "disabled by configuration" in ask("sql", query, code=2).output
    assert "NOTHING_YET" in ask("search", "aria", "--json", code=1).output
    assert json.loads(ask("index", "--json").stdout)["data"]["indexed"] > 100
    assert json.loads(ask("index", "--json").stdout)["data"] == {"indexed": 0}
    assert json.loads(ask("search", "aria", "--json").stdout)["data"]
    told = json.loads(ask("status", "--json").stdout)["data"]
    assert [row["status"] for row in told["runs"]][:2] == ["done", "done"] and told["events"] == events


def test_an_index_is_made_by_one_at_a_time(ask: Any, tmp_path: Path) -> None:
    """Two that made it anew wrote one file, and whoever was done first put the other's half in its place."""
    with DataDir(tmp_path / "reader").lock_here():
        assert "another run holds" in ask("index", code=4).output
    assert json.loads(ask("index", "--json").stdout)["data"]["indexed"] > 100


def test_runs_there_are_those_of_the_ledger_that_goes_on(server: Cluster, tmp_path: Path) -> None:
    """A shard that goes on on another machine counts its runs from 1 again: its first ones were never shown, and told
    of as if they were those of the machine before.
    """
    home = place("postgres", server, tmp_path)
    for number in (0, 1):
        run(home, number, "bluesky")
    other = DataDir(tmp_path / "elsewhere", home.destination)
    for _ in range(2):
        run(other, 1, "bluesky", sweep=True)
        with other.destination.looking(other) as there, sqlite3.connect(other.control) as ledger:
            shown = there.execute("SELECT run_id, started_at FROM ops.runs ORDER BY run_id").fetchall()
            known = ledger.execute("SELECT run_id, started_at FROM runs ORDER BY run_id").fetchall()
            assert [(id_, instant(at)) for id_, at in known][: len(shown)] == shown and shown
            asked = there.execute("SELECT DISTINCT run_id FROM ops.requests ORDER BY run_id").fetchall()
            assert asked == [(id_,) for id_, _ in shown]


def test_what_lies_there_is_verified(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shadow is a file as ever, what it is compared with lies there."""
    gitlab = [each for each in demo_sources(1) if each.source.name == "gitlab"]
    monkeypatch.setattr("pipelines.settings.configured", lambda *_: gitlab)
    told = json.loads(ask("verify", "gitlab", "--json").stdout)["data"]
    assert told["utterances"] > 200 and told["differences"] == []


def test_every_event_once_to_every_consumer_wherever_it_asks_from(ask: Any, there: DataDir, events: int) -> None:
    """Two machines acknowledge the same events at the same moment, in opposite order: each event is new to one."""
    rows = json.loads(ask("list", "events", "--limit", "40", "--json").stdout)["data"]
    keys = [row["event_key"] for row in rows]
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda order: acknowledge(there, "bot", keys[::order]), (1, -1)))
    assert sorted(found[0].new + found[1].new) == sorted(keys)
    assert found[0].already.keys() | found[1].already.keys() <= set(keys)
    assert sorted(json.loads(acknowledged(there, "bot"))) == sorted(keys)
    assert "already on" in ask("ack", keys[0], "--as", "bot").stdout
    left = json.loads(ask("list", "events", "--unacked-by", "bot", "--limit", "2000", "--json").stdout)["data"]
    assert len(left) == events - 40


def test_notebooks_ask_there_too_and_notice_the_next_run(ask: Any, there: DataDir) -> None:
    questions = pytest.importorskip("pipelines.charts.questions", reason="earshot[notebooks] is not installed")
    before = questions.stamp()
    assert questions.ask("SELECT count(*) AS n FROM feedback.comments")[0]["n"] > 900
    run(there, 1)
    assert questions.stamp() != before


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_file_moves_and_its_next_run_asks_for_the_news_alone(
    there: DataDir, embedded: DataDir, first: Path, server: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows, cursors and acknowledgements; what was seen stays first seen then. Twice is refused: pasts do not mix.

    It asks for what it would have asked for without the move, and warns of nothing; so does a shard on a new machine.
    """
    engine = "postgres" if "Postgres" in type(there.destination).__name__ else "ducklake"
    if engine not in IN_CI:
        pytest.skip("EARSHOT_LONG=1 moves to a lake, too")
    ours, stayed = (DataDir(shutil.copytree(first, tmp_path / name)) for name in ("data", "stayed"))
    key = "SELECT min(event_key), min(seen_at) FROM feedback.events"
    with ours.destination.looking(ours) as connection:
        before = connection.execute(key).fetchone()
        held = connection.execute("SELECT count(*) FROM feedback.events").fetchone()
    assert before and held
    acknowledge(ours, "bot", [before[0]])
    target = place(engine, server, tmp_path)
    told = moved(ours, target, EarshotConfig())
    assert (told.events, told.decisions) == (held[0], 1) and told.cursors > 40
    assert differences(ours, target, ("feedback.events", "feedback.threads", "feedback.diff_notes")) == {}
    with target.destination.looking(target) as connection:
        assert connection.execute(key).fetchone() == before
    assert json.loads(acknowledged(target, "bot")) == [before[0]]
    caplog.clear()
    report = run(target, 1)
    assert 0 < sum(report.new_events.values()) < 50
    assert costs(report) == costs(run(stayed, 1)) and warned(caplog) == []
    assert differences(embedded, target) == {}
    elsewhere = run(DataDir(tmp_path / "machine", target.destination), 1)
    assert costs(elsewhere)["gitlab"] < 10 and warned(caplog) == []
    with pytest.raises(NotEmpty, match="holds a warehouse already"):
        moved(ours, target, EarshotConfig())


def test_a_file_of_an_earlier_version_moves_and_a_lost_server_is_told_in_one_line(
    first: Path, server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not read in its time is not there to be moved; and what fails midway is no traceback."""
    monkeypatch.chdir(tmp_path)
    database = server.database()
    monkeypatch.setenv("EARSHOT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DESTINATION__POSTGRES__CREDENTIALS", server.url(database))
    shutil.copytree(first, tmp_path / "data")
    with duckdb.connect(str(tmp_path / "data" / "warehouse.duckdb")) as connection:
        connection.execute("DROP TABLE github.reviews")

    def lost(*_: Any, **__: Any) -> None:
        raise duckdb.IOException(f"lost after password={PASSWORD}\nLINE 1")

    with monkeypatch.context() as patch:
        patch.setattr(Postgres, "attach", lost)
        failed = CliRunner().invoke(main, ["move", "--to", "postgres"])
    assert failed.exit_code == 1 and "earshot: not moved: lost after password=***\n" in failed.output, failed.output
    done = CliRunner().invoke(main, ["move", "--to", "postgres"])
    assert done.exit_code == 0 and "events are there now" in done.output, done.output


def test_what_moves_is_minded_as_it_was(first: Path, server: Cluster, tmp_path: Path) -> None:
    """Whose words count, and what was blocked: till the next run everybody's counted, strangers' commands too. And that
    run has nothing to build.
    """
    ours, authors = DataDir(shutil.copytree(first, tmp_path / "data")), ["maya"]
    run(ours, 0, authors=authors)
    with ours.destination.looking(ours) as connection:
        said = "SELECT parent_key FROM feedback.events WHERE is_actionable ORDER BY parent_key LIMIT 1"
        (blocked,) = connection.execute(said).fetchone() or ("",)
    watched.put(ours, blocked, "blocked")
    run(ours, 0, authors=authors)
    target = DataDir(ours.path, place("postgres", server, tmp_path).destination)
    moved(ours, target, EarshotConfig(authors=authors))
    assert differences(ours, target, ("feedback.events", "feedback.documents")) == {}
    assert "models" not in run(target, 0, authors=authors).timings_ms


def test_a_lake_is_compacted_after_so_many_changes(
    there: DataDir, embedded: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers find the same rows in fewer files."""
    if not isinstance(there.destination, destination.DuckLake):
        pytest.skip("only a lake has files")
    files = "SELECT file_count FROM ducklake_table_info('earshot') WHERE table_name = 'landings'"
    with there.destination.building(there, {}) as lake:
        lake.execute("CREATE TABLE ops.landings AS SELECT 0 AS n")
    for _ in range(3):
        with there.destination.building(there, {}) as lake:
            lake.execute("INSERT INTO ops.landings FROM range(5000)")
    monkeypatch.setattr(destination, "SNAPSHOTS", 1)
    with there.destination.looking(there) as lake:
        before = lake.execute(files).fetchone()
        there.destination.publish(there)
        assert before and before[0] >= 3 and lake.execute(files).fetchone() == (1,)
    assert differences(embedded, there, ("feedback.events", "feedback.threads")) == {}
