"""From batches to rows in the warehouse: what is read lands once, also over what an earlier landing left."""

import shutil
import subprocess
import sys
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import orjson
import pyarrow as pa
import pytest

from pipelines.sync.source.committed import Committed, committed, is_pending
from pipelines.sync.source.pipeline import SourcePipeline
from pipelines.warehouse.data_dir import DataDir, LandingError
from sources.core.reading import Batch
from sources.core.surfaces import Fills
from sources.core.values import COUNT, TEXT, Table
from sources.extraction import RECHECKS
from tests.landed import extracted, landed, opened
from tests.test_gitlab_kills import SETTLED, judge, past, served

NOTES = Table("notes", ("id",), {"id": COUNT, "words": TEXT, "parent_key": TEXT})
SAID = Table("said", ("id", "version"), {"id": COUNT, "version": TEXT, "parent_key": TEXT}, keeps="versions")
TABLES = (NOTES, SAID)


FILLS = {"notes": (NOTES, SAID), RECHECKS: ()}


def talk(home: DataDir, fills: Fills = FILLS) -> SourcePipeline:
    return opened(home, TABLES, fills)


def notes(*ids: int, words: str = "first", cursor: dict[str, object] | None = None) -> Batch:
    rows: list[dict[str, object]] = [{"id": id_, "words": words, "parent_key": "a:1"} for id_ in ids]
    said: list[dict[str, object]] = [{"id": id_, "version": words, "parent_key": "a:1"} for id_ in ids]
    return Batch("notes", "1", {"notes": rows, "said": said}, cursor)


def rows(home: DataDir, query: str) -> list[Any]:
    with duckdb.connect(str(home.warehouse), read_only=True) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def home(tmp_path: Path) -> DataDir:
    home = DataDir(tmp_path / "data")
    home.create()
    return home


def test_a_key_lands_once_and_the_last_wins_however_far_apart_its_rows_came(home: DataDir) -> None:
    many = [notes(*range(n, n + 1000)) for n in (0, 1000)]
    landed(talk(home), many[0], notes(7, words="second"), many[1])
    assert rows(home, "SELECT count(*), count(DISTINCT id) FROM talk.notes") == [(2000, 2000)]
    assert rows(home, "SELECT count(*), count(DISTINCT (id, version)) FROM talk.said") == [(2001, 2001)]
    assert rows(home, "SELECT words FROM talk.notes WHERE id = 7") == [("second",)]


def test_a_row_that_arrow_refuses_takes_the_whole_package_with_it(home: DataDir) -> None:
    """Were it dropped, the next landing would move cursors past rows that are not there."""
    landed(talk(home), notes(1, cursor={"since": 1}))
    with pytest.raises((OverflowError, pa.ArrowInvalid)):
        extracted(talk(home), notes(2, cursor={"since": 2}), notes(2**70))
    assert talk(home).cursors == {"notes": {"1": {"since": 1}}}
    landed(talk(home), notes(2, cursor={"since": 2}))
    assert rows(home, "SELECT id FROM talk.notes ORDER BY id") == [(1,), (2,)]


def test_rows_and_moved_cursors_are_news_another_etag_is_not(home: DataDir) -> None:
    landed(talk(home), notes(1, cursor={"since": 1, "etag": "a"}))
    for batch, packages in (
        (Batch("notes", "1", {}, {"since": 1, "etag": "b"}), 0), (Batch("notes", "1", {}, {"since": 2, "etag": "a"}), 1),
        (Batch("notes", "2", {}, {"since": 1, "etag": "a"}), 1), (notes(1, cursor={"since": 2, "etag": "a"}), 1),
    ):  # fmt: skip
        assert landed(talk(home), batch).packages == packages


def test_another_etag_goes_with_what_else_is_new(home: DataDir) -> None:
    """Whether it was met before or after that: else it would be asked for in vain as long as nothing else happens there."""
    landed(
        talk(home),
        Batch("notes", "2", {}, {"since": 1, "etag": "a"}),
        Batch("notes", "3", {}, {"since": 1, "etag": "a"}),
    )
    later = [Batch("notes", scope, {}, {"since": 1, "etag": "b"}) for scope in "23"]
    landed(talk(home), later[0], notes(1, cursor={"since": 1}), later[1])
    assert {scope: cursor["etag"] for scope, cursor in talk(home).cursors["notes"].items() if scope != "1"} == {
        "2": "b", "3": "b",
    }  # fmt: skip


def test_what_is_there_is_merged(home: DataDir) -> None:
    """By the same disposition in each run, whoever filled the table, and how far: dlt's own tools show it."""
    versions = set[int]()
    for first, words in ((1, "first"), (2, "second"), (3, "second")):
        landing = landed(talk(home), notes(first, first + 1, words=words, cursor={"since": first}))
        told = landing.pipeline.default_schema.tables
        assert [told[t]["write_disposition"] for t in ("notes", "said")] == ["merge", "merge"]
        versions.add(landing.pipeline.default_schema.version)
    assert len(versions) <= 2, "the schema moves with every run"
    assert rows(home, "SELECT id, words FROM talk.notes ORDER BY ALL") == [
        (1, "first"), (2, "second"), (3, "second"), (4, "second")
    ]  # fmt: skip
    assert rows(home, "SELECT count(*), count(DISTINCT (id, version)) FROM talk.said") == [(5, 5)]
    assert talk(home).cursors == {"notes": {"1": {"since": 3}}}


@pytest.mark.parametrize("dropped", ["notes", "said"])
def test_what_was_dropped_with_dlt_is_read_again(home: DataDir, dropped: str) -> None:
    """A cursor counts only where all that its walk fills is there; killed in the middle of the repair, it stays so."""
    from dlt.pipeline.helpers import pipeline_drop

    fills = (
        FILLS if dropped == "notes" else {"notes": (NOTES, SAID), "more": (SAID,), RECHECKS: ()}
    )  # then it belongs to nobody
    landed(talk(home, fills), notes(1, 2, cursor={"since": 1}))
    landing = talk(home, fills)
    assert landing.cursors and not landing.committed.was_dropped
    pipeline_drop(landing.pipeline, resources=[dropped])()
    again = talk(home, fills)
    assert again.committed.was_dropped and again.cursors.get("notes", {}) == {}
    landed(again)  # a first part of the repair, and a kill
    left = talk(home, fills)
    assert not left.committed.was_dropped and left.cursors.get("notes", {}) == {}
    landed(left, notes(1, 2, cursor={"since": 1}))
    for table in ("notes", "said"):
        assert rows(home, f"SELECT id FROM talk.{table} ORDER BY id") == [(1,), (2,)]


def nested(*columns: str) -> Table:
    inner = Table("words", (), dict.fromkeys(("parent_key", *columns), TEXT))
    return Table("threads", ("id",), {"id": COUNT}, children={"words": inner})


def thread(id_: int, *words: dict[str, object]) -> Batch:
    return Batch("threads", "1", {"threads": [{"id": id_, "words": list(words)}]}, {"at": id_})


def test_a_column_that_a_nested_table_gains_is_there_before_its_first_row(home: DataDir) -> None:
    """dlt adds it only if the very first package has rows of that table, and never again: every later landing of a
    warehouse that an earlier version made would fail."""

    def land(table: Table, batch: Batch) -> None:
        landed(opened(home, (table,), {RECHECKS: (table,)}, "gitlab"), batch)

    land(nested("body"), thread(1, {"parent_key": "a:1", "body": "one"}))
    land(nested("body", "mood"), thread(2))
    land(nested("body", "mood"), thread(3, {"parent_key": "a:3", "body": "three", "mood": "gay"}))
    assert rows(home, "SELECT body, mood FROM gitlab.threads__words ORDER BY 1") == [("one", None), ("three", "gay")]


def test_a_first_landing_that_broke_off_between_its_tables_is_landed_again(
    home: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One table is filled then, the other is not, and no cursor has moved."""
    from dlt.destinations.job_client_impl import SqlLoadJob

    merge = SqlLoadJob.run

    merged, turn = list[str](), Lock()

    def breaks(job: Any) -> None:
        with turn:
            if merged:  # the second of the two, whichever it is
                raise OSError("No space left on device")
            merge(job)
            merged.append(job.load_table_name)

    landing = talk(home)
    monkeypatch.setattr(SqlLoadJob, "run", breaks)
    monkeypatch.setenv("LOAD__RAISE_ON_MAX_RETRIES", "1")
    with pytest.raises(LandingError):
        landed(landing, notes(1, 2, cursor={"since": 1}))
    monkeypatch.setattr(SqlLoadJob, "run", merge)
    counts = {table: rows(home, f"SELECT count(*) FROM talk.{table}")[0][0] for table in ("notes", "said")}
    assert counts == {table: 2 * (table in merged) for table in counts} and len(merged) == 1
    repaired = talk(home)
    assert repaired.cursors == {}
    landed(repaired, notes(1, 2, cursor={"since": 1}))
    for table in ("notes", "said"):
        assert rows(home, f"SELECT id FROM talk.{table} ORDER BY id") == [(1,), (2,)]


def state_of(home: DataDir) -> Path:
    return home.working / "earshot_talk" / "state.json"


def told(home: DataDir) -> Committed | None:
    """Without dlt."""
    return committed(home, "talk", TABLES, FILLS)


def test_cursors_are_read_without_dlt_as_dlt_tells_them(home: DataDir) -> None:
    assert told(home) is None and talk(home).committed.is_new and not talk(home).committed.is_shaped
    landed(talk(home), notes(1, 2, cursor={"since": 1, "told": {"name": "\uf026Zoë"}, "complete": True}))
    left = told(home)
    assert left and left.is_shaped and left.cursors and not left.is_new and left == talk(home).committed
    landed(talk(home), notes(3, cursor={"since": 2}))
    assert told(home) == talk(home).committed and talk(home).cursors == {"notes": {"1": {"since": 2}}}


@pytest.mark.parametrize("what", ["torn", "another version", "extracted", "normalized", "no warehouse", "older", "odd"])
def test_dlt_is_asked_where_its_file_alone_does_not_tell(home: DataDir, tmp_path: Path, what: str) -> None:
    """What hangs in the air rewinds cursors; what the warehouse does not hold was never landed."""
    landed(talk(home), notes(1, cursor={"since": 1}))
    shutil.copy(home.warehouse, tmp_path / "older")
    landed(talk(home), notes(2, cursor={"since": 2}))
    assert told(home)
    state = orjson.loads(state_of(home).read_bytes())
    since = 2
    match what:
        case "torn":
            state_of(home).write_bytes(state_of(home).read_bytes()[:-40])
        case "another version":
            state_of(home).write_bytes(orjson.dumps({**state, "_state_engine_version": 3}))
        case "odd":
            state["sources"]["talk"]["resources"]["notes"] = "?"
            state_of(home).write_bytes(orjson.dumps(state))
        case "extracted":
            (home.working / "earshot_talk" / "normalize" / "extracted" / "1790000000.1").mkdir()
        case "normalized":
            (home.working / "earshot_talk" / "load" / "normalized" / "1790000000.1").mkdir()
        case "no warehouse":
            home.warehouse.unlink()
            since = 0
        case "older":
            shutil.copy(tmp_path / "older", home.warehouse)
            since = 1
    assert told(home) is None
    if what in ("torn", "no warehouse", "older", "extracted", "normalized"):
        assert talk(home).cursors == ({"notes": {"1": {"since": since}}} if since else {})


@pytest.mark.ci
def test_a_run_that_finds_nothing_new_imports_no_dlt(tmp_path: Path) -> None:
    """And writes nothing, nor asks for anything twice where there is news."""
    world, place = past()
    with served(world, tmp_path) as project:
        assert project.run().code == 0
        before = project.files()
        unchanged = project.run(PYTHONPROFILEIMPORTTIME="1")
        assert unchanged.code == 0 and " pyarrow" in unchanged.err and " dlt" not in unchanged.err
        after = project.files()
        ledger = {name for name in before | after if name.startswith(("control.sqlite", "earshot.lock"))}
        assert {n: f for n, f in before.items() if n not in ledger} == {
            n: f for n, f in after.items() if n not in ledger
        }
        world.advance(seconds=61)
        place.comment(place.issues[1], "maya", "something new")
        world.advance(seconds=SETTLED)
        changed = project.run(PYTHONPROFILEIMPORTTIME="1")
        assert " dlt" in changed.err
        asked = [(call.path, repr(sorted(call.query.items()))) for call in changed.calls]
        assert len(asked) == len(set(asked)), asked
        judge(project, world)


class Killed(BaseException):
    """Nothing catches a kill."""


def breaks_off(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second landing: one of its tables is in, dlt's file has its cursor, the disk is full."""
    from dlt.destinations.impl.duckdb.duck import DuckDbCopyJob

    copy = DuckDbCopyJob.run

    def full(job: Any) -> None:
        if job.load_table_name == "said":
            raise OSError("No space left on device")
        copy(job)

    landed(talk(home), notes(1, cursor={"since": 1}))
    with monkeypatch.context() as patch:
        patch.setattr(DuckDbCopyJob, "run", full)
        patch.setenv("LOAD__RAISE_ON_MAX_RETRIES", "1")
        with pytest.raises(LandingError) as failed:
            landed(talk(home), notes(2, cursor={"since": 2}))
    assert failed.value.is_torn and is_pending(home, "earshot_talk")


@pytest.mark.parametrize("moment", ["", "state gone", "package gone", "all gone"])
def test_what_was_thrown_away_is_read_again_wherever_that_is_killed(
    home: DataDir, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """dlt's file is ahead of the rows: it must not be believed once its package is gone."""
    from dlt.pipeline.pipeline import Pipeline

    breaks_off(home, monkeypatch)
    drop, working = Pipeline.drop, home.working / "earshot_talk"

    def killed(pipeline: Any) -> Any:
        if moment == "package gone":
            shutil.rmtree(working / "load")
        if moment == "all gone":
            drop(pipeline)
        raise Killed

    if moment:
        with monkeypatch.context() as patch:
            patch.setattr(Pipeline, "drop", killed)
            with pytest.raises(Killed):
                talk(home)
    landing = talk(home)
    assert landing.cursors == {"notes": {"1": {"since": 1}}} and not is_pending(home, "earshot_talk")
    landed(landing, notes(2, cursor={"since": 2}))
    landed(landing, notes(3, cursor={"since": 3}))
    assert talk(home).cursors == {"notes": {"1": {"since": 3}}}
    for table in ("notes", "said"):
        assert rows(home, f"SELECT id FROM talk.{table} ORDER BY id") == [(1,), (2,), (3,)]


def test_a_package_that_an_earlier_version_flagged_is_thrown_away_too(
    home: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dlt itself calls it no pending data: it would be taken for done together with the next one."""
    breaks_off(home, monkeypatch)
    [package] = (home.working / "earshot_talk" / "load" / "normalized").iterdir()
    from dlt import attach

    storage = attach("earshot_talk", pipelines_dir=str(home.working))._get_load_storage()
    storage.normalized_packages.set_abort_flag(package.name)
    landing = talk(home)
    assert landing.cursors == {"notes": {"1": {"since": 1}}}
    landed(landing, notes(2, cursor={"since": 2}))
    assert rows(home, "SELECT id FROM talk.said ORDER BY id") == [(1,), (2,)]


def test_a_warehouse_that_another_process_holds_is_named(home: DataDir) -> None:
    landed(talk(home), notes(1, cursor={"since": 1}))
    holds = f"import duckdb; c = duckdb.connect({str(home.warehouse)!r}); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdin
        holder.stdout.readline()
        with pytest.raises(LandingError, match="close what else has opened it"):
            talk(home)
        holder.communicate(b"\n", timeout=20)


def test_what_was_reset_stays_so_when_the_next_landing_is_killed(
    home: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dlt.pipeline.pipeline import Pipeline

    def killed(*_: Any, **more: Any) -> None:
        raise Killed

    landed(talk(home), notes(1, cursor={"since": 1}))
    assert talk(home).forget(["1"]) == 1
    landing = talk(home)
    assert landing.cursors == {"notes": {}}
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Pipeline, "load", killed)
        landed(landing, notes(1, cursor={"since": 1}))
    assert is_pending(home, "earshot_talk")
    assert talk(home).cursors == {"notes": {}}
