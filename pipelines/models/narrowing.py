"""A model's SQL narrowed to the parents that were touched: so that what is kept is brought up to date at their cost.

Views in between are inlined, so that the narrowing reaches the tables that they read.
"""

from functools import lru_cache

import duckdb

from sources.core.values import fingerprint

__all__ = ["narrowed"]

ROWS = "SELECT * FROM {name} WHERE parent_key IN (SELECT parent_key FROM dirty)"
# in a file: the wide columns of a million rows are not read to find a hundred (150 ms against 10)
BY_ROW = """
SELECT * FROM {name} WHERE rowid IN (SELECT rowid FROM {name} WHERE parent_key IN (SELECT parent_key FROM dirty))
"""
Views = tuple[tuple[str, str], ...]  # name, SQL


def narrowed(
    connection: duckdb.DuckDBPyConnection, name: str, sql: str, views: Views, parents: frozenset[str], *, by_row: bool
) -> str:
    """As an earlier run worked it out from the same models: importing the parser takes 0.1 s."""
    rows = BY_ROW if by_row else ROWS
    made_of = fingerprint(sql, sorted(views), sorted(parents), rows)  # in whatever order this process has them
    known = connection.execute(
        "SELECT sql FROM ops.narrowed WHERE name = ? AND made_of = ?", [name, made_of]
    ).fetchone()
    if known:
        return str(known[0])
    made = _narrowed(sql, views, parents, rows)
    connection.execute("DELETE FROM ops.narrowed WHERE name = ?", [name])
    connection.execute("INSERT INTO ops.narrowed VALUES (?, ?, ?)", [name, made_of, made])
    return made


@lru_cache
def _narrowed(sql: str, all_views: Views, parents: frozenset[str], rows: str) -> str:
    """Tables with parents, landed ones and models kept before this one, give only the rows of the dirty."""
    import sqlglot
    from sqlglot import exp

    views = dict(all_views)

    def inline(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Table):
            return node
        name = f"{node.db}.{node.name}"
        if name in views:
            inner: exp.Expr = sqlglot.parse_one(views[name], dialect="duckdb").transform(inline)
        elif name in parents:
            inner = sqlglot.parse_one(rows.format(name=name), dialect="duckdb")
        else:
            return node
        return exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(node.alias_or_name)))

    return sqlglot.parse_one(sql, dialect="duckdb").transform(inline).sql(dialect="duckdb")
