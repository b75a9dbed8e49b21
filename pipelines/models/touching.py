"""Which parents a build has to look at: those in loads that were not taken yet, and those of which somebody has decided
something, or a scope shows something else, since they were taken.
"""

from collections.abc import Mapping

import duckdb

from sources.core.values import Table

__all__ = ["mark", "prepare", "take"]

# decisions, and what lies unread, change what is said of a parent: what was shown is remembered as scopes' names are
WATCHED = "SELECT parent_key AS scope, state || ' ' || CAST(revision AS VARCHAR) AS shown FROM ops.lifecycle"
SIGNED = "SELECT token AS scope, coalesce(author, '') AS shown FROM ops.answers"
UNREAD = """
SELECT parent_key AS scope, CAST(count(*) AS VARCHAR) || ' ' || CAST(count(let_be_at) AS VARCHAR) AS shown
FROM ops.quarantine WHERE resolved_at IS NULL AND parent_key IS NOT NULL GROUP BY parent_key
"""
THEMSELVES = "SELECT scope FROM ({changed}) AS changed"
DECIDED = {
    "ops.lifecycle": (WATCHED, THEMSELVES),
    "ops.quarantine": (UNREAD, THEMSELVES),
    "ops.answers": (
        SIGNED,
        "SELECT parent_key FROM staging.marks WHERE token IN (SELECT scope FROM ({changed}) AS changed)",
    ),
}


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS ops.taken_loads (load_id VARCHAR)")
    connection.execute("CREATE TABLE IF NOT EXISTS ops.taken_scopes (name VARCHAR, scope VARCHAR, shown VARCHAR)")


def mark(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table], *, anew: bool) -> None:
    """TEMP tables `untaken` (loads, by table) and `dirty` (parents that they touched). Only tables that have news are
    asked for parents: what takes time is the planning.
    """
    each = "SELECT DISTINCT '{0}' AS name, _dlt_load_id AS load_id FROM {0}"
    loads = " UNION ALL ".join(each.format(name) for name in tables if "__" not in name)
    taken = "SELECT load_id FROM ops.taken_loads"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE untaken AS FROM ({loads}) WHERE load_id NOT IN ({taken})")
    parts = ["SELECT CAST(NULL AS VARCHAR) AS parent_key WHERE false"]
    for (name,) in connection.execute("SELECT DISTINCT name FROM untaken").fetchall():
        if "parent_key" in tables[name].columns:
            new = f"SELECT load_id FROM untaken WHERE name = '{name}'"
            parts.append(f"SELECT parent_key FROM {name} WHERE _dlt_load_id IN ({new})")
    if not anew:  # what a scope shows in everything said in it, e.g. its name
        renamed = f"SELECT scope FROM ({_scopes_shown(tables)} EXCEPT FROM ops.taken_scopes)"
        parts.append(f"SELECT parent_key FROM feedback.events WHERE scope IN ({renamed})")
        parts += [touched.format(changed=_changed(name, now)) for name, (now, touched) in DECIDED.items()]
    connection.execute(f"CREATE OR REPLACE TEMP TABLE dirty AS {' UNION '.join(parts)}")


def take(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
    """What was marked is built: it is not looked at again."""
    connection.execute("INSERT INTO ops.taken_loads SELECT DISTINCT load_id FROM untaken")
    connection.execute("DELETE FROM ops.taken_scopes")
    connection.execute(f"INSERT INTO ops.taken_scopes {_scopes_shown(tables)}")
    for name, (now, _) in DECIDED.items():
        connection.execute(f"INSERT INTO ops.taken_scopes SELECT '{name}', scope, shown FROM ({now}) AS now")


def _changed(name: str, now: str) -> str:
    """What is decided otherwise than when it was last taken, or no more."""
    taken = f"SELECT scope, shown FROM ops.taken_scopes WHERE name = '{name}'"
    return f"(({now}) EXCEPT ({taken})) UNION (({taken}) EXCEPT ({now}))"


def _scopes_shown(tables: Mapping[str, Table]) -> str:
    return " UNION ALL ".join(
        f"SELECT '{name}' AS name, scope, CAST(row({', '.join(table.shown)}) AS VARCHAR) AS shown FROM {name}"
        for name, table in tables.items()
        if table.shown
    )
