"""What 0.1 left is recognised and refused in one line that says what to do; not a byte of it is changed."""

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.search import search
from pipelines.state import decisions
from pipelines.state.ledger import Ledger
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.files import DEMO_RUN
from pipelines.warehouse.for_dlt.destination import earshot
from pipelines.warehouse.for_dlt.home import plug_run_context
from pipelines.warehouse.version import VERSION, OtherVersion
from tests.asked import Reader
from tests.elsewhere import IN_CI, place
from tests.servers import Cluster
from tests.synced import Desk, desk
from tests.test_dlt_tools import NOW, attached
from tests.test_strangers import stir_github

FILES = ("control.sqlite", "published.duckdb", "warehouse.duckdb")
REFUSED = "was made by Earshot 0.1: move it aside, and the next run reads everything anew"


def left_by_0_1(folder: Path, *files: str) -> Path:
    """As its last run left them, in short."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        if name == "control.sqlite":
            with closing(sqlite3.connect(folder / name)) as control, control:
                control.execute("PRAGMA journal_mode=WAL")
                control.execute("CREATE TABLE runs (run_id INTEGER PRIMARY KEY, started_at TEXT NOT NULL)")
                control.execute("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
                control.execute("INSERT INTO facts VALUES ('unpublished', '')")
        else:
            with duckdb.connect(str(folder / name)) as held:
                for schema in ("ops", "feedback", "github"):
                    held.execute(f"CREATE SCHEMA {schema}")
                held.execute("CREATE TABLE ops.settings AS SELECT '/earshot' AS command_prefix")
                held.execute("CREATE TABLE feedback.events AS SELECT range AS event_key FROM range(50000)")
                held.execute("CREATE TABLE github._dlt_loads AS SELECT '1' AS load_id")
    return folder


def hashes(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def old(tmp_path: Path) -> Reader:
    return Reader(DataDir(left_by_0_1(tmp_path / "data", *FILES)))


@pytest.mark.parametrize(
    "words",
    [
        "sync", "sync --demo", "sync --dry-run", "sync --issue 1", "sync --mr 1 --preflight-only",
        "list threads", "show mr 1", "count mrs", "status", "status --check", "search tokens", "sql SELECT+1", "verify",
        "quarantine list", "ack key --as bot", "reply --issue 1 --body hello", "watch mr 1", "link 1 2",
        "reset github --yes", "index",
    ],
)  # fmt: skip
def test_each_command_refuses_it(old: Reader, words: str) -> None:
    """Whether it reads or writes: exit 2, one line for people, one code for programs."""
    if "--demo" in words:  # it goes on in the directory that it has left
        (old.home.path / DEMO_RUN).write_text('{"last_day": "2026-11-01", "runs": 1, "sent": []}')
    before = hashes(old.home.path)
    asked = old.ask(*(word.replace("+", " ") for word in words.split()))
    assert (asked.code, asked.out, asked.err) == (2, "", f"earshot: {old.home.path} {REFUSED}\n")
    error = old.json(*(word.replace("+", " ") for word in words.split()))["error"]
    assert error["code"] == "CONFIG" and error["message"].endswith(REFUSED)
    assert hashes(old.home.path) == before


@pytest.mark.parametrize("left", [FILES[:1], FILES[1:2], FILES[2:], FILES[1:]], ids=lambda left: "+".join(left))
def test_some_of_its_files_are_enough(tmp_path: Path, left: tuple[str, ...]) -> None:
    """Nothing is put back of them, and nothing is decided beside them."""
    home = DataDir(left_by_0_1(tmp_path / "data", *left))
    before = hashes(home.path)
    for way_in in (home.lock, home.lock_here, lambda: decisions.writing(home)):
        with pytest.raises(OtherVersion), way_in():
            pass
    if home.control.exists():
        with pytest.raises(OtherVersion), Ledger.open(home.control):
            pass
    assert hashes(home.path) == before


def test_notebooks_and_python_are_told(old: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    charts = pytest.importorskip("pipelines.charts")
    monkeypatch.setenv("EARSHOT_DATA", str(old.home.path))
    for found in (charts.bounds(), charts.control()):
        assert isinstance(found, charts.Nothing) and found.message.endswith(REFUSED)
    with pytest.raises(OtherVersion):
        search("tokens", data=old.home.path)


def test_dlt_is_told(old: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the destination, to read and to write, and by the project that names where pipelines lie."""
    import dlt

    before = hashes(old.home.path)
    pipeline = dlt.pipeline(
        "earshot_github", pipelines_dir=str(tmp_path / "dlt"), dataset_name="github", destination=earshot(str(old.home.path))
    )  # fmt: skip
    with pytest.raises(OtherVersion):
        pipeline.dataset(schema=dlt.Schema("github"))("SELECT 1").fetchall()
    monkeypatch.delenv("DLT_DATA_DIR", raising=False)
    context = plug_run_context(str(tmp_path), None)
    assert context is not None
    with pytest.raises(OtherVersion):
        context.get_data_entity("pipelines")
    assert hashes(old.home.path) == before


@pytest.fixture
def read(tmp_path: Path) -> Desk:
    world = GitHubWorld(NOW)
    world.add_repo("lantern/lantern")
    stir_github(world)
    made = desk(tmp_path / "data", world)
    assert made.run().exit_code == 0
    return made


@pytest.mark.on_disk
@pytest.mark.parametrize("name", ["warehouse.duckdb", "published.duckdb"])
def test_a_file_of_0_1_among_ours_is_not_mixed_with_them(read: Desk, tmp_path: Path, name: str) -> None:
    """A backup that was put in place: no row lands in it, and no reader sees it."""
    left_by_0_1(tmp_path / "old", name).joinpath(name).replace(read.home.path / name)
    if name.startswith("published"):
        read.home.warehouse.unlink()  # it would be made of that
    before = hashes(read.home.path)[name]
    stir_github(read.world)
    read.world.advance(seconds=600)
    with pytest.raises(OtherVersion):
        read.run()
    if name.startswith("published"):
        assert Reader(read.home).ask("list", "threads").err == f"earshot: {read.home.path} {REFUSED}\n"
    assert hashes(read.home.path)[name] == before


@pytest.mark.on_disk
def test_ours_is_known_by_its_number(read: Desk) -> None:
    """In each file that could be left alone; a dataset of dlt's reads it, and so does a run that lost its ledger."""
    with closing(sqlite3.connect(read.home.control)) as control:
        assert control.execute("PRAGMA user_version").fetchone() == (VERSION,)
    for file in (read.home.warehouse, read.home.published):
        with duckdb.connect(str(file), read_only=True) as held:
            assert held.execute("SELECT version FROM ops.settings").fetchall() == [(VERSION,)]
    assert attached(read, "earshot_github").dataset().issues.arrow().num_rows == 2
    read.home.control.unlink()
    assert read.run().exit_code == 0


@pytest.mark.parametrize("engine", IN_CI)
def test_a_server_that_0_1_wrote_to_is_refused(server: Cluster, tmp_path: Path, engine: str) -> None:
    """By runs, by whoever decides or asks, and nothing is made there. An empty one is ours with the first write."""
    home = place(engine, server, tmp_path)
    address: Any = home.destination.server.address  # type: ignore[attr-defined]
    ways: list[Callable[[], Any]] = [
        home.lock,
        lambda: decisions.writing(home),
        lambda: home.destination.control(home, writes=False),
    ]
    with home.destination.control(home, writes=False) as control:
        assert control is not None and not control.has("version"), "whoever reads makes nothing"
    said(address, "CREATE SCHEMA control", "CREATE TABLE control.runners (shard TEXT, told_at TEXT, told TEXT)")
    for way_in in ways:
        with pytest.raises(OtherVersion, match="name an empty database, or move its schemas aside"), way_in():
            pass
    assert tables(address) == ["runners"]
    said(address, "DROP SCHEMA control CASCADE")
    for way_in in ways:
        with way_in():
            pass
    assert "version" in tables(address)
    said(address, f"UPDATE control.version SET version = {VERSION - 1}")
    with pytest.raises(OtherVersion), home.lock():
        pass


def said(address: Any, *statements: str) -> None:
    with closing(address.connect()) as connection, connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def tables(address: Any) -> list[str]:
    with closing(address.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'control' ORDER BY 1")
        return [name for (name,) in cursor.fetchall()]
