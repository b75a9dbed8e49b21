"""What models say in DuckDB's dialect means the same in Postgres: every function whose translation could go wrong."""

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.servers import Cluster

pytest.importorskip("psycopg2", reason="the extra [postgres] is not installed")

from pipelines.warehouse.postgres.session import PostgresSession

pytestmark = pytest.mark.ci

SAID = """
CREATE OR REPLACE TABLE said AS
SELECT * FROM (VALUES
    (1, 'b', 'Zoë', CAST('2026-03-01 10:00:00+02:00' AS TIMESTAMPTZ), '["x","ä b"]', '7/2zz', true),
    (2, 'b', 'adam', CAST('2026-03-01 08:00:00+00:00' AS TIMESTAMPTZ), '[]', '7/2a', false),
    (3, 'a', NULL, CAST('2026-12-31 23:59:59+00:00' AS TIMESTAMPTZ), NULL, '10', NULL),
    (4, 'a', 'Adam', NULL, '["quote\\"d"]', '9', true)
) AS t (n, k, who, said_at, labels, id, flag)
"""
LOADS = """
CREATE OR REPLACE TABLE loads AS SELECT l AS _dlt_load_id FROM (VALUES ('2.5'), ('10.1'), ('3'), ('2.5'), ('2.5')) AS t (l);
CREATE OR REPLACE TABLE nothing AS SELECT _dlt_load_id FROM loads WHERE false
"""
QUESTIONS = {
    "the value of the least, where it is null": "SELECT k, arg_min(who, n), arg_max(who, n) FROM said GROUP BY k ORDER BY k",
    "the value of the least, by several": """
        SELECT k, arg_min(n, row(said_at, lpad(split_part(id, '/', -1), 20, '0'), who)) FROM said
        WHERE said_at IS NOT NULL GROUP BY k ORDER BY k""",
    "an aggregate filtered": "SELECT arg_max(who, n) FILTER (flag), any_value(said_at) FILTER (WHERE n = 3), bool_or(flag) FROM said",
    "any value is none that is missing": "SELECT k, any_value(who) FROM said WHERE n > 2 GROUP BY k",
    "text in the order of its bytes": "SELECT who FROM said WHERE who IS NOT NULL ORDER BY who",
    "nulls come last, either way": "SELECT n FROM said ORDER BY who DESC, n",
    "a list in order": "SELECT list(DISTINCT lower(who) ORDER BY lower(who)) FILTER (who IS NOT NULL) FROM said",
    "members of a JSON list": "SELECT n, coalesce(json_extract_string(labels, '$[*]'), []) FROM said ORDER BY n",
    "rows of a JSON list": "SELECT n, unnest(json_extract_string(labels, '$[*]')) AS label FROM said ORDER BY n, label",
    "an empty list": "SELECT coalesce(CAST(NULL AS VARCHAR[]), [])",
    "the first fence alone": r"""
        SELECT nullif(regexp_extract(chr(10) || b, '\n[ \t]*?```suggestion[^\n]*?\n((?:[^\n]*\n)*?)[ \t]*```', 1), ''),
            nullif(regexp_extract(chr(10) || b, '\n[ \t]*?````+suggestion[^\n]*?\n((?:[^\n]*\n)*?)[ \t]*````', 1), '')
        FROM (VALUES
        ('x' || chr(10) || '```suggestion:-0+1' || chr(10) || 'one' || chr(10) || '```' || chr(10) || '```py' || chr(10) || 'two```'),
        ('```suggestion' || chr(10) || 'a```' || chr(10) || 'b' || chr(10) || '  ```' || chr(10) || '```'),
        ('````suggestion' || chr(10) || '```' || chr(10) || '```' || chr(10) || '````' || chr(10) || '````'),
        ('> ```suggestion' || chr(10) || '> a' || chr(10) || '> ```'), ('no fence'), (NULL)) AS t (b)""",
    "the end of a path": "SELECT regexp_extract(id, '[^/]+$') FROM said ORDER BY n",
    "does it match": "SELECT n, regexp_matches(who, '^[aA]') FROM said ORDER BY n",
    "a pattern with per cent signs": "SELECT n FROM said WHERE who LIKE '%da%' AND n > ?",
    "what contains, what ends": "SELECT contains(id, '/2'), ends_with(id, 'a'), ends_with('', 'a') FROM said ORDER BY n",
    "a day, and an instant with its letters": """
        SELECT strftime(said_at AT TIME ZONE 'UTC', '%Y-%m-%d'), strftime(said_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')
        FROM said ORDER BY n""",
    "what is left of a division": "SELECT n / 2, round(n / 3, 2), round(7 / 2, 0) FROM said ORDER BY n",
    "greatest and least pass nulls": "SELECT greatest(said_at, CAST('2026-06-01 00:00:00+00' AS TIMESTAMPTZ)), least(who, 'm') FROM said ORDER BY n",
    "words put together": "SELECT concat_ws(', ', who, k), 'at ' || n || ':' || k, array_to_string(['a', 'b'], ' ') FROM said ORDER BY n",
    "a hash of words": "SELECT md5(coalesce(who, '') || chr(10) || k) FROM said ORDER BY n",
    "one of these": "SELECT n FROM said WHERE list_contains(?, k) ORDER BY n",
    "all of these, one by one": "SELECT n FROM said WHERE k IN (SELECT unnest(?)) ORDER BY n",
    "the loads of two tables": """
        SELECT load_id FROM (SELECT DISTINCT _dlt_load_id AS load_id FROM loads
        UNION SELECT DISTINCT _dlt_load_id AS load_id FROM nothing) AS found WHERE load_id NOT IN ('3') ORDER BY load_id""",
    "none of no list": "SELECT n FROM said WHERE k IN (SELECT unnest(?)) OR list_contains(?, k)",
    "distinct or null": "SELECT who IS DISTINCT FROM 'adam', flag IS NOT TRUE, who IS NOT DISTINCT FROM NULL FROM said ORDER BY n",
    "versions numbered": """
        SELECT n, row_number() OVER (PARTITION BY k ORDER BY coalesce(flag, false) DESC, said_at DESC, who DESC) FROM said ORDER BY n""",
    "so many, and no more": "SELECT n FROM said QUALIFY sum(n) OVER (ORDER BY n ROWS UNBOUNDED PRECEDING) - n < 3 ORDER BY n",
    "what is in one and not in the other": "SELECT k FROM (SELECT k FROM said EXCEPT SELECT k FROM said WHERE n = 3) ORDER BY k",
    "joined into one text, in order": "SELECT string_agg(who || chr(10), '-' ORDER BY who, n) FILTER (n <> 2) FROM said",
}  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "a pattern with per cent signs": [1], "one of these": [["a", "c"]], "all of these, one by one": [["b"]],
    "none of no list": [[], []],
}  # fmt: skip


@pytest.fixture(scope="module")
def postgres(server: Cluster) -> Iterator[PostgresSession]:
    session = PostgresSession(server.address(server.database()).connect())
    session.execute(
        "CREATE OR REPLACE TABLE told (n BIGINT, k VARCHAR, who VARCHAR, said_at TIMESTAMPTZ, labels VARCHAR, id VARCHAR, flag BOOLEAN)"
    )
    session.execute(SAID.replace("CREATE OR REPLACE TABLE said AS", "INSERT INTO told"))
    session.execute("CREATE OR REPLACE TABLE said AS SELECT * FROM told")
    session.execute(LOADS)
    yield session
    session.close()


@pytest.fixture(scope="module")
def embedded() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(SAID)
        connection.execute(LOADS)
        yield connection


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_question_has_the_same_answer(
    question: str, postgres: PostgresSession, embedded: duckdb.DuckDBPyConnection
) -> None:
    """In a database whose own language sorts otherwise."""
    values = VALUES.get(question, [])
    expected = embedded.execute(QUESTIONS[question], values).fetchall()
    assert postgres.execute(QUESTIONS[question], values).fetchall() == expected


def test_tables_and_views_can_be_made_over_each_other(postgres: PostgresSession) -> None:
    """`OR REPLACE` where it was the other kind, `BY NAME`, `DESCRIBE`, comments, and a table of Arrow."""
    postgres.execute("CREATE OR REPLACE VIEW thing AS SELECT n, k FROM said")
    postgres.execute("CREATE OR REPLACE TABLE thing AS SELECT n, k FROM said WHERE n < 3")
    postgres.execute("INSERT INTO thing BY NAME SELECT 'z' AS k, 9 AS n")
    postgres.execute("COMMENT ON TABLE thing IS 'it''s one'")
    assert [row[0] for row in postgres.execute("DESCRIBE thing").fetchall()] == ["n", "k"]
    assert postgres.execute("SELECT n, k FROM thing ORDER BY n").fetchall() == [(1, "b"), (2, "b"), (9, "z")]
    words = ["tab\there", "back\\slash\nand line", "", None, "\\N"]
    postgres.register("words", pa.table({"n": range(5), "word": words}))
    assert [row[0] for row in postgres.execute("SELECT word FROM words ORDER BY n").fetchall()] == words
    postgres.unregister("words")
    with pytest.raises(duckdb.CatalogException):
        postgres.execute("SELECT * FROM words")


def test_a_transaction_within_another_is_the_outer_one(postgres: PostgresSession, server: Cluster) -> None:
    """Readers see all that was built, or nothing: also where a part of it was committed by itself."""
    postgres.begin()
    postgres.execute("CREATE OR REPLACE TABLE half AS SELECT 1 AS x")
    postgres.begin()
    postgres.commit()
    other = PostgresSession(server.address(f"test_{__import__('os').getpid()}_{server.made}").connect())
    with pytest.raises(duckdb.CatalogException):
        other.execute("SELECT * FROM half")
    other.close()
    postgres.rollback()
    with pytest.raises(duckdb.CatalogException):
        postgres.execute("SELECT * FROM half")
