"""The models: built over nothing, over a few rows by hand, and narrowed to what was touched."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pendulum
import pytest

from pipelines.models import build
from pipelines.models.landed_tables import ensure
from pipelines.settings import landed_tables
from pipelines.state.mirror import prepare
from pipelines.warehouse.data_dir import DataDir
from sources.core.values import event_key

NOW = pendulum.datetime(2026, 3, 1, 12)
TABLES = landed_tables()


@contextmanager
def made(*, is_shared: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        prepare(connection, [])
        build.build(connection, TABLES, anew=True, is_shared=is_shared)
        yield connection


@pytest.fixture
def empty() -> Iterator[duckdb.DuckDBPyConnection]:
    with made() as connection:
        yield connection


def put(connection: duckdb.DuckDBPyConnection, table: str, load: str = "1", **values: Any) -> None:
    columns = ", ".join([*values, "_dlt_load_id"])
    marks = ", ".join("?" * (len(values) + 1))
    connection.execute(f"INSERT INTO github.{table} ({columns}) VALUES ({marks})", [*values.values(), load])


def issue(connection: duckdb.DuckDBPyConnection, number: int, **more: Any) -> None:
    values = {
        "id": number, "scope": "7", "repo": "a/b", "number": number, "parent_key": f"github:7:{number}", "state": "open",
        "is_pull_request": False, "comment_count": 0, "title": "T", "author": "maya", "created_at": NOW, "updated_at": NOW,
        "seen_at": NOW,
    }  # fmt: skip
    put(connection, "issues", **{**values, **more})


def child(connection: duckdb.DuckDBPyConnection, number: int, table: str, **values: Any) -> None:
    """A label, an assignee, a reviewer of an issue or a pull request."""
    columns, marks = ", ".join(values), ", ".join("?" * len(values))
    sql = f"INSERT INTO github.{table} (parent_key, {columns}) VALUES (?, {marks})"
    connection.execute(sql, [f"github:7:{number}", *values.values()])


def comment(connection: duckdb.DuckDBPyConnection, id_: int, number: int, body: str, **more: Any) -> None:
    version = more.pop("version", f"v-{body}")
    values = {
        "event_key": event_key("github", "issue_comment", "7", id_, version), "id": id_, "version": version, "scope": "7",
        "repo": "a/b", "number": number, "parent_key": f"github:7:{number}", "body": body, "author": "odile",
        "created_at": NOW, "updated_at": NOW, "seen_at": NOW,
    }  # fmt: skip
    put(connection, "issue_comments", **{**values, **more})


def test_every_model_builds_over_empty_tables_and_keeps_its_own_promise(empty: duckdb.DuckDBPyConnection) -> None:
    """A source that is not configured leaves its tables empty, not missing."""
    for model in build.read_models():
        assert empty.execute(f"SELECT count(*) FROM {model.name}").fetchone() == (0,)
        build.check(empty, model)


def test_models_build_over_tables_of_an_earlier_version() -> None:
    """Of a source that this run did not read: the columns that its tables lack are there, and null."""
    lacking = {"gitlab.threads__discussions__notes": "position_x", "gitlab.closes_issues__issues": "external_id"}
    with duckdb.connect() as connection:
        prepare(connection, [])
        ensure(connection, {f"gitlab.{name}": t for root in TABLES["gitlab"] for name, t in root.family().items()})
        for table, column in lacking.items():
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        build.build(connection, TABLES, anew=True)
        for table, column in lacking.items():
            assert connection.execute(f"SELECT count({column}) FROM {table}").fetchone() == (0,)


def test_a_thread_begins_and_ends_with_who_spoke_then(empty: duckdb.DuckDBPyConnection) -> None:
    """In order of time, then of numbers; an account that is gone has no name, and gets nobody else's."""
    issue(empty, 1)
    comment(empty, 12, 1, "late, as another said it", author="maya")
    comment(empty, 9, 1, "late", author="odile")
    comment(empty, 30, 1, "first", author=None, created_at=NOW.subtract(days=1))
    build.build(empty, TABLES, anew=False)
    told = (
        "SELECT opener, opening_words, last_author, last_words, comment_count, participant_count FROM feedback.threads"
    )
    assert empty.execute(told).fetchall() == [(None, "first", "maya", "late, as another said it", 3, 2)]


def test_every_model_says_what_one_row_is(empty: duckdb.DuckDBPyConnection) -> None:
    """Header and comments beside columns arrive in the database itself."""
    for model in build.read_models():
        assert "one row per" in model.description, model.name
        assert model.key, model.name
    shown = empty.execute(
        "SELECT comment FROM duckdb_columns() WHERE schema_name = 'feedback' AND table_name = 'events' AND column_name = 'event_key'"
    ).fetchone()
    assert shown == ("source:kind:scope:id:version, the same for ever",)


def test_the_latest_version_is_the_one_that_counts(empty: duckdb.DuckDBPyConnection) -> None:
    """Two versions, one utterance: the older is kept and not actionable."""
    issue(empty, 1)
    comment(empty, 10, 1, "old")
    comment(empty, 10, 1, "new", updated_at=NOW.add(minutes=1))
    build.build(empty, TABLES, anew=False)
    rows = (
        "SELECT body, is_edit, is_latest, is_actionable FROM feedback.events WHERE kind = 'issue_comment' ORDER BY body"
    )
    assert empty.execute(rows).fetchall() == [("new", True, True, True), ("old", False, False, False)]


def test_only_what_was_touched_is_computed_again(empty: duckdb.DuckDBPyConnection) -> None:
    """The parents of new loads; what lies beside them keeps its rows."""
    for number in (1, 2):
        issue(empty, number)
        comment(empty, 10 + number, number, f"said {number}")
    assert build.build(empty, TABLES, anew=False) == 2 + 2 + 2  # events, threads, parents
    empty.execute("UPDATE feedback.events SET body = 'untouched' WHERE parent_number = 2")
    comment(empty, 20, 1, "more", load="2")
    assert build.build(empty, TABLES, anew=False) == 2 + 1 + 1
    assert empty.execute("SELECT body FROM feedback.events ORDER BY body").fetchall() == [
        ("more",), ("said 1",), ("untouched",),
    ]  # fmt: skip
    assert build.build(empty, TABLES, anew=False) == 0


def test_narrowing_computes_what_building_anew_computes(empty: duckdb.DuckDBPyConnection) -> None:
    """The rewritten SQL is the model's own SQL, for fewer parents."""
    for number in range(1, 6):
        issue(empty, number, state="open" if number % 2 else "closed")
        put(empty, "openers", id=number, event_key=f"o{number}", version=f"v{number}", kind="issue", parent_key=f"github:7:{number}",
            scope="7", number=number, title="T", body="B", author="maya", created_at=NOW, updated_at=NOW, seen_at=NOW)  # fmt: skip
        for n in range(3):
            comment(empty, number * 10 + n, number, f"{number}.{n}", author="ci[bot]" if n == 2 else "odile")
    put(
        empty,
        "deletions",
        kind="issue_comment",
        id=11,
        scope="7",
        parent_key="github:7:1",
        is_deleted=True,
        noticed_at=NOW,
    )
    build.build(empty, TABLES, anew=False)
    comment(empty, 100, 3, "later", load="2")  # the others keep what they had, once
    build.build(empty, TABLES, anew=False)
    kept = [model for model in build.read_models() if model.kept_by]
    narrowed = {model.name: empty.execute(f"FROM {model.name} ORDER BY ALL").fetchall() for model in kept}
    build.build(empty, TABLES, anew=True)
    assert narrowed == {model.name: empty.execute(f"FROM {model.name} ORDER BY ALL").fetchall() for model in kept}
    assert len(narrowed["feedback.events"]) == 21
    assert len(narrowed["feedback.threads"]) == len(narrowed["feedback.parents"]) == 5


@pytest.mark.parametrize("quiet", [("bluesky", "gitlab"), ("github",)])
def test_what_is_made_of_some_sources_reads_nothing_of_the_others(
    demo_home: DataDir, tmp_path: Path, quiet: tuple[str, ...]
) -> None:
    """Their parts of unions are left out, and what is made is what it was."""
    file = shutil.copy(demo_home.warehouse, tmp_path / "warehouse.duckdb")
    kept = [model.name for model in build.read_models() if model.kept_by and not model.stage]
    with duckdb.connect(str(file)) as warehouse:
        before = {name: warehouse.execute(f"FROM {name} ORDER BY ALL").fetchall() for name in kept}
        for source in TABLES.keys() - set(quiet):
            for root in TABLES[source]:
                loads = f"SELECT _dlt_load_id FROM {source}.{root.name}"
                warehouse.execute(f"DELETE FROM ops.taken_loads WHERE load_id IN ({loads})")
            warehouse.execute("UPDATE feedback.events SET body = 'made again' WHERE source = ?", [source])
            warehouse.execute("UPDATE feedback.parents SET title = 'made again' WHERE source = ?", [source])
        build.build(warehouse, TABLES, anew=False)
        assert before == {name: warehouse.execute(f"FROM {name} ORDER BY ALL").fetchall() for name in kept}
        made = "SELECT sql FROM ops.narrowed WHERE name = ?"
        ((said,),) = warehouse.execute(made, [" without ".join(["staging.said", *quiet])]).fetchall()
        assert not any(f"FROM {source}." in said for source in quiet)


@pytest.mark.parametrize("is_shared", [False, True])
def test_what_cannot_be_read_is_counted_once_and_for_as_long(is_shared: bool) -> None:
    """Also where readers are shown tables, and only what was touched is made again."""
    unread = "('1/1', 'github', 'k', '7', 'issue_comments', 'github:7:1'), ('1/1', 'github', 'l', '7', 'issues', 'github:7:9')"
    counts = "SELECT parent_number, unread_count, is_complete FROM ops.completeness ORDER BY parent_number"
    with made(is_shared=is_shared) as models:

        def told() -> list[Any]:
            build.build(models, TABLES, anew=False, is_shared=is_shared)
            return models.execute(counts).fetchall()

        issue(models, 1)
        assert told() == [(1, 0, True)]
        models.execute(f"INSERT INTO ops.quarantine (shard, source, key, scope, surface, parent_key) VALUES {unread}")
        assert told() == [(1, 1, False), (9, 1, False)]
        issue(models, 2, load="2")
        assert told() == [(1, 1, False), (2, 0, True), (9, 1, False)]
        models.execute("UPDATE ops.quarantine SET resolved_at = now()")
        assert told() == [(1, 0, True), (2, 0, True)]


def test_a_thread_says_whose_turn_it_is(empty: duckdb.DuckDBPyConnection) -> None:
    """The asker spoke last: the team; somebody else did: the asker; closed: nobody."""
    for number, (state, last) in enumerate([("open", "maya"), ("open", "odile"), ("closed", "odile")], 1):
        issue(empty, number, state=state)
        put(empty, "openers", id=number, event_key=f"o{number}", version="v", kind="issue", parent_key=f"github:7:{number}",
            scope="7", number=number, title="T", body="B", author="maya", created_at=NOW, updated_at=NOW, seen_at=NOW)  # fmt: skip
        comment(empty, number, number, "…", author=last, created_at=NOW.add(hours=1))
    build.build(empty, TABLES, anew=False)
    assert empty.execute("SELECT waiting_on FROM feedback.threads ORDER BY parent_number").fetchall() == [
        ("team",), ("maya",), (None,),
    ]  # fmt: skip


def test_a_bot_that_speaks_takes_nobodys_turn(empty: duckdb.DuckDBPyConnection) -> None:
    """A greeting is no answer; ours is, whatever account it comes from. Where only bots spoke nobody waits."""
    for number, last in enumerate(("Thanks for your report!", "Fixed. <!-- earshot:a -->"), 1):
        issue(empty, number)
        put(empty, "openers", id=number, event_key=f"o{number}", version="v", kind="issue", parent_key=f"github:7:{number}",
            scope="7", number=number, title="T", body="B", author="maya", created_at=NOW, updated_at=NOW, seen_at=NOW)  # fmt: skip
        comment(empty, number, number, last, author="ci[bot]", created_at=NOW.add(hours=1))
    issue(empty, 3)
    comment(empty, 3, 3, "A new release is out.", author="ci[bot]")
    build.build(empty, TABLES, anew=False)
    assert empty.execute("SELECT waiting_on FROM feedback.threads ORDER BY parent_number").fetchall() == [
        ("team",), ("maya",), (None,),
    ]  # fmt: skip


def test_a_doubled_key_stops_the_build(empty: duckdb.DuckDBPyConnection) -> None:
    """Nothing is published that breaks its own promise, and nothing of it stays behind."""
    issue(empty, 1)
    comment(empty, 1, 1, "same")
    comment(empty, 1, 1, "same")
    with pytest.raises(build.CheckFailed, match="not unique"):
        build.build(empty, TABLES, anew=False)
    assert empty.execute("SELECT count(*) FROM feedback.events").fetchone() == (0,)
