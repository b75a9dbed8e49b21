"""`earshot sql`: what can be asked, and that all of the answer can be taken away."""

import csv
import io
from pathlib import Path

import duckdb
import pytest

from tests.asked import Reader

QUERY = "SELECT event_key, source, body, title, created_at, seen_at FROM feedback.events ORDER BY event_key"


def held(reader: Reader, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(reader.home.published), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_json_has_every_row(demo: Reader) -> None:
    """Not the first forty; with --limit as many as were asked for."""
    expected = held(demo, QUERY)
    assert len(expected) > 900
    rows = demo.data("sql", QUERY)
    assert [row["event_key"] for row in rows] == [key for key, *_ in expected]
    assert all(row["body"] == body for row, (_, _, body, *_) in zip(rows, expected, strict=True))
    assert demo.data("sql", QUERY, "--limit", "7") == rows[:7]
    told = demo.json("sql", "SELECT 1 AS a WHERE false")
    assert (told["ok"], told["data"], told["meta"]) == (True, [], {"exit_code": 0})


def test_csv_has_every_row_as_it_was_said(demo: Reader) -> None:
    """Lines, quotes and commas within words; nothing is null, an empty text is not."""
    asked = demo.ask("sql", QUERY, "--csv")
    head, *rows = csv.reader(io.StringIO(asked.out, newline=""))
    assert head == ["event_key", "source", "body", "title", "created_at", "seen_at"]
    said = [(key, source, str(body).replace("\r\n", "\n")) for key, source, body, *_ in held(demo, QUERY)]
    assert len(rows) == len(said)
    for row, expected in zip(rows, said, strict=True):  # what is captured has its line ends changed
        assert tuple(row[:3]) == expected
    odd = "SELECT 'a\"b,c' AS a, '' AS b, NULL AS a, chr(10) || 'x' AS d, 'ü' AS \"e,f\", [1, NULL] AS g"
    assert demo.ask("sql", odd, "--csv").out == 'a,b,a_1,d,"e,f",g\n"a""b,c","",,"\nx",ü,"[1, NULL]"\n'
    assert demo.ask("sql", "SELECT 1 AS a WHERE false", "--csv").out == "a\n"


def test_parquet_is_the_table_itself(demo: Reader, tmp_path: Path) -> None:
    """Every row, in its types; two columns of one name are two. It is there whole, or not at all."""
    file = tmp_path / "events.parquet"
    asked = demo.ask("sql", QUERY, "--parquet", str(file))
    assert asked.code == 0 and f"{len(held(demo, QUERY)):,} rows" in asked.out
    with duckdb.connect() as connection:
        is_same = connection.execute("FROM read_parquet(?)", [str(file)]).fetchall() == held(demo, QUERY)
        assert is_same
        demo.ask("sql", "SELECT 1 AS a, 'x' AS a", "--parquet", str(file))
        assert connection.execute("FROM read_parquet(?)", [str(file)]).fetchall() == [(1, "x")]
        late = "SELECT if(range = 50000, error('late'), range) AS a FROM range(100000)"
        refused = demo.ask("sql", late, "--parquet", str(file))
        assert refused.code == 2 and "late" in refused.err
        assert connection.execute("FROM read_parquet(?)", [str(file)]).fetchall() == [(1, "x")]
    assert list(tmp_path.iterdir()) == [file]
    assert demo.data("sql", "SELECT 1 AS a", "--parquet", str(file)) == {"rows": 1, "file": str(file)}
    gone = demo.ask("sql", QUERY, "--parquet", str(tmp_path / "no" / "x.parquet"))
    assert gone.code == 1 and "No such file" in gone.err


@pytest.mark.parametrize("late", ["--json", "--csv"])
def test_what_fails_late_leaves_nothing_half_told(demo: Reader, late: str) -> None:
    """A row that cannot be computed: no rows, one refusal."""
    asked = demo.ask("sql", "SELECT if(range = 50000, error('late'), range) AS a FROM range(100000)", late)
    assert asked.code == 2 and "late" in asked.out + asked.err and "49999" not in asked.out


def test_a_terminal_is_told_how_many_more_there_are(demo: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them, and the rest as a number, with the ways to have them all."""
    out = demo.ask("sql", QUERY, "--limit", "3").out
    assert f"… and {len(held(demo, QUERY)) - 3:,} more rows" in out and "--csv" in out
    first = held(demo, QUERY)[2][0]
    assert isinstance(first, str) and first[:20] in out
    assert "more row" not in demo.ask("sql", "FROM range(3)", "--limit", "3").out
    assert "… and 1 more row:" in demo.ask("sql", "FROM range(4)", "--limit", "3").out
    for statement in ("DESCRIBE feedback.events", "SHOW TABLES", "EXPLAIN SELECT 1", "SET threads = 1"):
        assert demo.ask("sql", statement).code == 0, statement


@pytest.mark.parametrize("words", [["--csv", "--json"], ["--csv", "--parquet", "x"]])
def test_one_form_at_a_time(demo: Reader, words: list[str]) -> None:
    """Two at once are refused, and nothing is written."""
    assert demo.ask("sql", "SELECT 1", *words).code == 2
    assert not Path("x").exists()


def test_a_million_rows_are_passed_on_as_they_come(demo: Reader) -> None:
    """Not held as objects, all at once: what one row takes must not grow with how many there are."""
    import tracemalloc

    peaks = []
    for rows in (5_000, 50_000):
        tracemalloc.start()
        out = demo.ask("sql", f"SELECT range AS a, repeat('x', 20) AS b FROM range({rows})", "--json").out
        peaks.append(tracemalloc.get_traced_memory()[1] / len(out))
        tracemalloc.stop()
        assert out.count('"a":') == rows
    assert peaks[1] < 4.5, peaks  # the test itself keeps what was printed, once or twice
