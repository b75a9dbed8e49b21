"""The control plane as tables for SQL: `ops.runs`, `ops.requests`, `ops.failures`, `ops.quarantine`, `ops.cursors`,
`ops.scopes`, `ops.authors`, and what people decided: `ops.answers`, `ops.lifecycle`, `ops.links`,
`ops.acknowledgements`. Rewritten before a publish; what only grows (runs, requests) is carried over from where it
ended.
"""

from collections.abc import Iterable, Mapping

import duckdb
import orjson
import pyarrow as pa

from pipelines.ledger import Ledger

__all__ = ["Cursors", "mirror", "mirror_cursors", "mirror_decisions", "prepare"]

Cursors = Mapping[str, Mapping[str, Mapping[str, object]]]  # source → surface → scope → cursor
Names = Mapping[str, Mapping[str, str]]  # source → scope → what people call it

GROWING = {
    "runs": "run_id BIGINT, started_at TIMESTAMPTZ, finished_at TIMESTAMPTZ, status VARCHAR, exit_code INTEGER,"
    " mode VARCHAR, sources VARCHAR, phase VARCHAR, requests BIGINT, not_modified BIGINT, rows_new BIGINT,"
    " rows_replayed BIGINT, packages BIGINT, published_bytes BIGINT, seconds DOUBLE, error VARCHAR,"
    " pid BIGINT, heartbeat_at TIMESTAMPTZ, detail VARCHAR",
    "requests": "run_id BIGINT, source VARCHAR, scope VARCHAR, scope_name VARCHAR, surface VARCHAR, requests BIGINT,"
    " pages BIGINT, fetched BIGINT, new BIGINT, replayed BIGINT, not_modified BIGINT, retries BIGINT, bytes BIGINT,"
    " waited_seconds DOUBLE, lag_seconds DOUBLE",
}
WHOLE = {
    "failures": "source VARCHAR, scope VARCHAR, scope_name VARCHAR, surface VARCHAR, code VARCHAR, message VARCHAR,"
    " first_run_id BIGINT, last_run_id BIGINT, first_at TIMESTAMPTZ, last_at TIMESTAMPTZ, attempts BIGINT,"
    " until_at TIMESTAMPTZ, resolved_at TIMESTAMPTZ",
    "quarantine": "source VARCHAR, key VARCHAR, scope VARCHAR, surface VARCHAR, reason VARCHAR, raw VARCHAR,"
    " first_at TIMESTAMPTZ, last_at TIMESTAMPTZ, attempts BIGINT, retry_at TIMESTAMPTZ, resolved_at TIMESTAMPTZ",
    "scopes": "source VARCHAR, scope VARCHAR, scope_name VARCHAR, last_read_at TIMESTAMPTZ, last_new_at TIMESTAMPTZ,"
    " reads BIGINT, new BIGINT",
    "lifecycle": "parent_key VARCHAR, state VARCHAR, since_at TIMESTAMPTZ, actionable_from TIMESTAMPTZ,"
    " revision BIGINT",
    "links": "issue_key VARCHAR, change_key VARCHAR, linked_at TIMESTAMPTZ",
    "answers": "token VARCHAR, source VARCHAR, scope VARCHAR, scope_name VARCHAR, parent_key VARCHAR,"
    " parent_kind VARCHAR, parent_number BIGINT, thread VARCHAR, event_key VARCHAR, command_key VARCHAR,"
    " status VARCHAR, attempts BIGINT, is_unsure BOOLEAN, code VARCHAR, error VARCHAR, planned_at TIMESTAMPTZ,"
    " posted_at TIMESTAMPTZ, observed_at TIMESTAMPTZ, resolved_at TIMESTAMPTZ, url VARCHAR,"
    " author VARCHAR, observed_key VARCHAR",
    "acknowledgements": "consumer VARCHAR, event_key VARCHAR, processed_at TIMESTAMPTZ",
}
DECIDED = ("lifecycle", "links", "answers")
CURSORS = (
    "source VARCHAR, surface VARCHAR, scope VARCHAR, scope_name VARCHAR, since TIMESTAMPTZ, newest TIMESTAMPTZ,"
    " is_complete BOOLEAN, state VARCHAR"
)


def mirror(connection: duckdb.DuckDBPyConnection, ledger: Ledger, run_id: int, status: str, exit_code: int) -> None:
    """As of this publish; the run that publishes is shown as it will end unless publishing itself fails."""
    for table in GROWING:
        known = connection.execute(f"SELECT coalesce(max(run_id), 0) FROM ops.{table}").fetchone()
        since = known[0] if known else 0  # the last mirrored run was still running then
        connection.execute(f"DELETE FROM ops.{table} WHERE run_id >= ?", [since])
        _insert(connection, table, ledger.connection.execute(f"SELECT * FROM {table} WHERE run_id >= ?", (since,)))
    connection.execute("UPDATE ops.runs SET status = ?, exit_code = ? WHERE run_id = ?", [status, exit_code, run_id])
    for table in WHOLE:
        if table != "acknowledgements":
            _copy(connection, ledger, table)
    held = connection.execute("SELECT count(*) FROM ops.acknowledgements").fetchone()
    if held != tuple(
        ledger.connection.execute("SELECT count(*) FROM acknowledgements").fetchone()
    ):  # none ever changes
        _copy(connection, ledger, "acknowledgements")


def _copy(connection: duckdb.DuckDBPyConnection, ledger: Ledger, table: str) -> None:
    names = ", ".join(column.split()[0] for column in WHOLE[table].split(", "))
    connection.execute(f"CREATE OR REPLACE TABLE ops.{table} ({WHOLE[table]})")
    _insert(connection, table, ledger.connection.execute(f"SELECT {names} FROM {table}"))


def mirror_cursors(connection: duckdb.DuckDBPyConnection, cursors: Cursors, names: Names) -> None:
    """What `dlt pipeline earshot_… info` shows, in SQL: written after the rows that the cursors vouch for. Sources that
    this run did not read keep what they had; a place that could not be asked for its name keeps the one it had.
    """
    held = connection.execute("SELECT DISTINCT source, scope, scope_name FROM ops.cursors").fetchall()
    known = {(source, scope): name for source, scope, name in held}
    rows = [
        (source, surface, scope, _name(names, known, source, scope), *_shown(cursor))
        for source, surfaces in cursors.items()
        for surface, scopes in surfaces.items()
        for scope, cursor in scopes.items()
    ]
    connection.executemany("DELETE FROM ops.cursors WHERE source = ?", [[source] for source in cursors] or [[None]])
    _insert(connection, "cursors", rows)


def prepare(connection: duckdb.DuckDBPyConnection, authors: Iterable[str], prefix: str = "/earshot") -> None:
    """The tables that models stand on; `ops.authors`: whose words are actionable, empty means everybody's."""
    connection.execute("CREATE SCHEMA IF NOT EXISTS ops")
    counted = "SELECT table_name, count(*) FROM duckdb_columns() WHERE schema_name = 'ops' GROUP BY table_name"
    held = dict(connection.execute(counted).fetchall())
    for table, columns in {**GROWING, **WHOLE, "cursors": CURSORS}.items():
        if held.get(table, 0) not in (0, columns.count(",") + 1):  # of an earlier version: mirrored anew
            connection.execute(f"DROP TABLE ops.{table}")
        connection.execute(f"CREATE TABLE IF NOT EXISTS ops.{table} ({columns})")
    connection.execute("CREATE OR REPLACE TABLE ops.authors (login VARCHAR)")
    _insert(connection, "authors", [(login,) for login in authors])
    connection.execute("CREATE OR REPLACE TABLE ops.settings (command_prefix VARCHAR)")
    _insert(connection, "settings", [(prefix,)])


def mirror_decisions(connection: duckdb.DuckDBPyConnection, ledger: Ledger) -> None:
    """What people decided, before the models that mind it are built."""
    for table in DECIDED:
        _copy(connection, ledger, table)


def _name(names: Names, known: Mapping[tuple[str, str], str], source: str, scope: str) -> str:
    """Ids are a service's own: another's repository may have the same."""
    place = scope.partition("/")[0]
    return names.get(source, {}).get(place) or known.get((source, scope), scope)


def _shown(cursor: object) -> tuple[object, object, bool, str]:
    state = cursor if isinstance(cursor, dict) else {}
    is_complete = state.get("complete", state.get("walking") is None) is True
    return state.get("since"), state.get("newest"), is_complete, orjson.dumps(cursor).decode()


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Iterable[object]]) -> None:
    """By Arrow: thousands of rows one by one take seconds. Times come as text here and are cast by the table."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    if columns:
        names = [f"column_{n}" for n in range(len(columns))]
        connection.register("told", pa.table(columns, names=names))
        connection.execute(f"INSERT INTO ops.{table} FROM told")
        connection.unregister("told")
