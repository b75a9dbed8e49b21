"""`earshot schema`: every table and column that readers are promised tells what it means, the same everywhere."""

from pathlib import Path

import duckdb
import pytest

from pipelines.warehouse.data_dir import DataDir
from tests.asked import Reader

PAGE = Path(__file__).parents[1] / "docs/schema.md"
HERE = """
SELECT schema_name || '.' || table_name, column_name, comment FROM duckdb_columns()
WHERE schema_name IN ('feedback', 'ops') ORDER BY ALL
"""
TABLES = """
SELECT schema_name || '.' || table_name, comment FROM duckdb_tables() WHERE schema_name IN ('feedback', 'ops')
UNION ALL SELECT schema_name || '.' || view_name, comment FROM duckdb_views() WHERE schema_name IN ('feedback', 'ops')
"""


def test_no_column_is_without_a_sentence(demo: Reader) -> None:
    """And the database tells the same of itself, to whoever opens it with something else."""
    told = {each["table"]: each for each in demo.data("schema")}
    with duckdb.connect(str(demo.home.published), read_only=True) as connection:
        tables, columns = connection.execute(TABLES).fetchall(), connection.execute(HERE).fetchall()
    assert dict(tables) == {name: each["comment"] for name, each in told.items()}
    assert len(columns) > 300 and [column for *column, comment in columns if not comment] == []
    said = [(name, one["name"], one["comment"]) for name, each in told.items() for one in each["columns"]]
    assert sorted(said) == sorted(columns)


def test_the_page_is_made_of_it(demo: Reader) -> None:
    """`earshot schema --markdown > docs/schema.md` after a change of a model."""
    assert demo.ask("schema", "--markdown").out == PAGE.read_text(encoding="utf-8")


def test_one_table_by_either_name(demo: Reader) -> None:
    whole = demo.data("schema", "feedback.threads")
    assert whole == demo.data("schema", "Threads") and whole["key"] == "thread_id"
    assert demo.data("schema", "links")["table"] == "feedback.links", "readers ask of what was said first"
    shown = demo.ask("schema", "threads", width=80)
    assert shown.lines[0].startswith("feedback.threads: Discussions") and max(map(len, shown.out.splitlines())) <= 80
    for column in whole["columns"]:
        assert column["name"] in shown.out
    assert max(map(len, demo.ask("schema", width=80).out.splitlines())) <= 80
    page = demo.ask("schema", "threads", "--markdown").out
    assert page.startswith("## feedback.threads\n") and page in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("typed", ["feedback.evnts", "evnts", "github.issues", ""])
def test_a_table_that_is_not_there(demo: Reader, typed: str) -> None:
    refused = demo.ask("schema", typed) if typed else demo.ask("schema", "' OR true --")
    assert refused.code == 2 and "earshot schema" in refused.err and "no table" in refused.err
    assert ("did you mean" in refused.err) == ("evnts" in typed)


def test_no_warehouse_yet(tmp_path: Path) -> None:
    told = Reader(DataDir(tmp_path)).json("schema")
    assert not told["ok"] and told["error"]["code"] == "NOTHING_YET"
