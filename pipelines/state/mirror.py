"""The control plane as tables for SQL: `ops.runs`, `ops.requests`, `ops.failures`, `ops.quarantine`, `ops.cursors`,
`ops.scopes`, `ops.authors`, and what people decided: `ops.answers`, `ops.lifecycle`, `ops.links`,
`ops.acknowledgements`, `ops.restorations`. Rewritten before a publish; what only grows (runs, requests) is carried
over from where it ended, and what was folded is folded here too. Each shard has a ledger of its own and rewrites its
own rows alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from pipelines.models.control_tables import DECIDED, TABLES, WHOLE
from pipelines.state import decisions, ledger_history
from pipelines.state.ledger import Ledger
from pipelines.sync.shards import ALONE
from pipelines.warehouse.control import Control
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.version import VERSION
from sources.core.values import instant

__all__ = [
    "Cursors",
    "mirror",
    "mirror_cursors",
    "mirror_decisions",
    "mirror_ending",
    "mirror_unread",
    "prepare",
    "put_cursors",
]

Cursors = Mapping[str, Mapping[str, Mapping[str, object]]]  # source → surface → scope → cursor
Names = Mapping[str, Mapping[str, str]]  # source → scope → what people call it

ACKNOWLEDGED = "acknowledgements"
FROM_THE_FIRST = f"SELECT count(*) AS held, '0001-01-01T00:00:00' AS since FROM ops.{ACKNOWLEDGED}"
NEAR_THE_LAST = f"""
SELECT count(*) AS held, coalesce(
    strftime((max(processed_at) FILTER (WHERE processed_at <= now()) - INTERVAL 10 MINUTE) AT TIME ZONE 'UTC',
        '%Y-%m-%dT%H:%M:%S'), '0001-01-01T00:00:00'
) AS since FROM ops.{ACKNOWLEDGED}
"""
HELD = "SELECT table_name, count(*) FROM information_schema.columns WHERE table_schema = 'ops' GROUP BY table_name"


def mirror(connection: duckdb.DuckDBPyConnection, ledger: Ledger, shard: str = ALONE) -> None:
    """As of this publish; what had not ended when it was last told is told again."""
    first, is_its_own = ledger_history.folded_before(ledger), _is_of(connection, ledger, shard)
    for table, quiet in ledger_history.QUIET.items():
        unended = "SELECT min(run_id) FROM ops.runs WHERE shard = ? AND finished_at IS NULL"  # beside another one
        last = f"SELECT coalesce(least(max(run_id), ({unended})), 0) FROM ops.{table} WHERE shard = ?"
        known = connection.execute(last, [shard, shard]).fetchone()
        since = known[0] if known and is_its_own else 0  # of the last one, not all was known
        again = f"run_id >= ? OR run_id = {ledger_history.EARLIER}"
        connection.execute(f"DELETE FROM ops.{table} WHERE shard = ? AND ({again} OR {quiet})", [shard, since, first])
        _insert(connection, table, ledger.connection.execute(f"SELECT * FROM {table} WHERE {again}", (since,)), shard)
    for table in WHOLE:
        _mirror_whole(connection, ledger, shard, table)


def mirror_unread(connection: duckdb.DuckDBPyConnection, ledger: Ledger, shard: str) -> None:
    """What lies in quarantine, before the models that count it are built."""
    _mirror_whole(connection, ledger, shard, "quarantine")


def _mirror_whole(connection: duckdb.DuckDBPyConnection, ledger: Ledger, shard: str, table: str) -> None:
    connection.execute(f"DELETE FROM ops.{table} WHERE shard = ?", [shard])
    _insert(connection, table, ledger.connection.execute(f"SELECT * FROM {table}"), shard)


def mirror_ending(connection: duckdb.DuckDBPyConnection, run_id: int, shard: str, **columns: object) -> None:
    """How a run ends whose last word the ledger does not have yet."""
    kinds = dict(column.split()[:2] for column in TABLES["runs"].split(", "))
    set_ = ", ".join(f"{name} = CAST(? AS {kinds[name]})" for name in columns)
    connection.execute(f"UPDATE ops.runs SET {set_} WHERE shard = ? AND run_id = ?", [*columns.values(), shard, run_id])


def _is_of(connection: duckdb.DuckDBPyConnection, ledger: Ledger, shard: str) -> bool:
    """Whether this shard's runs there are this ledger's: one on another machine counts from 1, too."""
    last = "SELECT run_id, started_at FROM ops.runs WHERE shard = ? ORDER BY run_id DESC LIMIT 1"
    held = connection.execute(last, [shard]).fetchone()
    ours = held and ledger.connection.execute("SELECT started_at FROM runs WHERE run_id = ?", held[:1]).fetchone()
    return bool(held and ours and instant(ours[0]) == held[1])


def mirror_cursors(connection: duckdb.DuckDBPyConnection, cursors: Cursors, names: Names) -> None:
    """What `dlt pipeline earshot_… info` shows, in SQL: written after the rows that the cursors vouch for. Sources that
    this run did not read keep what they had; a place that could not be asked for its name keeps the one it had.
    """
    for source, surfaces in cursors.items():
        put_cursors(connection, source, surfaces, names.get(source, {}), whole=True)


def put_cursors(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    surfaces: Mapping[str, Mapping[str, object]],
    names: Mapping[str, str],
    *,
    whole: bool = False,
) -> None:
    """These in place of those held of the same lists, or `whole`, of the source. Ids are a service's own: another's
    repository may have the same.
    """
    known = dict(
        connection.execute("SELECT DISTINCT scope, scope_name FROM ops.cursors WHERE source = ?", [source]).fetchall()
    )
    rows = [
        (source, surface, scope, names.get(scope.partition("/")[0]) or known.get(scope, scope), *_shown(cursor))
        for surface, scopes in surfaces.items()
        for scope, cursor in scopes.items()
    ]
    held = "source = ?"
    if not whole:
        lists = [list(column) for column in zip(*((row[1], row[2]) for row in rows), strict=True)] or [[], []]
        connection.register("lists", pa.table({"surface": lists[0], "scope": lists[1]}))
        held += " AND (surface, scope) IN (SELECT surface, scope FROM lists)"
    connection.execute(f"DELETE FROM ops.cursors WHERE {held}", [source])
    _insert(connection, "cursors", rows)


def prepare(
    connection: duckdb.DuckDBPyConnection, authors: Iterable[str], prefix: str = "/earshot", team: Iterable[str] = ()
) -> None:
    """The tables that models stand on; `ops.authors`: whose words are actionable, empty means everybody's; `ops.team`:
    who answers, empty means that the services tell.
    """
    connection.execute("CREATE SCHEMA IF NOT EXISTS ops")
    held = dict(connection.execute(HELD).fetchall())
    for table, columns in TABLES.items():
        if table in held and held[table] != columns.count(",") + 1:  # one has been added since: mirrored anew
            connection.execute(f"DROP TABLE ops.{table}")
            del held[table]
        if table not in held:
            connection.execute(f"CREATE TABLE IF NOT EXISTS ops.{table} ({columns})")
    for table, logins in (("authors", authors), ("team", team)):
        connection.execute(f"DELETE FROM ops.{table}")
        _insert(connection, table, [(login.removeprefix("@").lower(),) for login in logins])
    connection.execute("DELETE FROM ops.settings")
    _insert(connection, "settings", [(prefix, VERSION)])


def mirror_decisions(connection: duckdb.DuckDBPyConnection, home: DataDir) -> None:
    """What people decided: before the models that mind it are built, and as the run has left it."""
    with decisions.writing(home) as decided:
        told = {table: _decided(decided, table) for table in DECIDED if table != ACKNOWLEDGED}
        _mirror_acknowledged(connection, decided)
    for table, rows in told.items():
        connection.execute(f"DELETE FROM ops.{table}")
        _insert(connection, table, rows)


def _mirror_acknowledged(connection: duckdb.DuckDBPyConnection, decided: Control) -> None:
    """There may be very many and none ever changes: what is new stands behind the last that is known, or a little
    before it, where another machine's clock is slow. Where that does not add up, all of them.
    """
    total = decided.rows(f"SELECT count(*) FROM {ACKNOWLEDGED}")[0][0]
    for query in (NEAR_THE_LAST, FROM_THE_FIRST):
        held, since = connection.execute(query).fetchone() or (0, None)
        if held == total:
            return
        connection.execute(
            f"DELETE FROM ops.{ACKNOWLEDGED} WHERE processed_at >= CAST(? AS TIMESTAMPTZ)", [f"{since}Z"]
        )
        _insert(connection, ACKNOWLEDGED, _decided(decided, ACKNOWLEDGED, "WHERE processed_at >= ?", since))


def _decided(decided: Control, table: str, where: str = "", *values: object) -> Sequence[tuple[Any, ...]]:
    return decided.rows(f"SELECT {_names(table)} FROM {table} {where}", values)


def _names(table: str) -> str:
    return ", ".join(column.split()[0] for column in DECIDED[table].split(", "))


def _shown(cursor: object) -> tuple[object, object, bool, str]:
    state = cursor if isinstance(cursor, dict) else {}
    is_complete = state.get("complete", state.get("walking") is None) is True
    return state.get("since"), state.get("newest"), is_complete, orjson.dumps(cursor).decode()


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Iterable[object]], shard: str | None = None
) -> None:
    """By Arrow: thousands of rows one by one take seconds. Times come as text and are cast to what the table holds."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    if columns:
        kinds = [column.split()[-1] for column in TABLES[table].split(", ")]
        told = [[shard] * len(columns[0]), *columns] if shard else columns
        connection.register("told", pa.table(told, names=[f"column_{n}" for n in range(len(told))]))
        values = ", ".join(f"CAST(column_{n} AS {kind})" for n, kind in enumerate(kinds))
        connection.execute(f"INSERT INTO ops.{table} SELECT {values} FROM told")
        connection.unregister("told")
