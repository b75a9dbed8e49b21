"""A model's SQL narrowed to the parents that were touched: so that what is kept is brought up to date at their cost.

Views in between are inlined, so that the narrowing reaches the tables that they read; but for those that a build makes
once (`made: once a build`), which several models read. What DuckDB takes for few rows is the planning: so what a source
says of which nothing was touched is left out of unions. Views of a source are called after it (`staging.github_…`).
"""

from dataclasses import dataclass
from functools import lru_cache, reduce

import duckdb

from sources.core.values import fingerprint

__all__ = ["Narrowing", "narrowed"]

ROWS = "SELECT * FROM {name} WHERE parent_key IN (SELECT parent_key FROM dirty)"
# in a file: the wide columns of a million rows are not read to find a hundred (150 ms against 10)
BY_ROW = """
SELECT * FROM {name} WHERE rowid IN (SELECT rowid FROM {name} WHERE parent_key IN (SELECT parent_key FROM dirty))
"""


@dataclass(frozen=True)
class Narrowing:
    views: frozenset[tuple[str, str]]  # name, SQL
    parents: frozenset[str]  # tables with a parent_key
    by_row: bool
    quiet: frozenset[str] = frozenset()  # sources of which nothing was touched

    @property
    def rows(self) -> str:
        return BY_ROW if self.by_row else ROWS

    @property
    def empty(self) -> set[str]:
        return {name for name, _ in self.views if name.startswith(tuple(f"staging.{source}_" for source in self.quiet))}


def narrowed(connection: duckdb.DuckDBPyConnection, name: str, sql: str, to: Narrowing) -> str:
    """As an earlier run worked it out from the same models: importing the parser takes 0.1 s."""
    made_of = fingerprint(sql, sorted(to.views), sorted(to.parents), to.rows)  # in whatever order this process has them
    name = " without ".join([name, *sorted(to.quiet)])
    known = connection.execute(
        "SELECT sql FROM ops.narrowed WHERE name = ? AND made_of = ?", [name, made_of]
    ).fetchone()
    if known:
        return str(known[0])
    made = _narrowed(sql, to)
    connection.execute("DELETE FROM ops.narrowed WHERE name = ?", [name])
    connection.execute("INSERT INTO ops.narrowed VALUES (?, ?, ?)", [name, made_of, made])
    return made


@lru_cache
def _narrowed(sql: str, to: Narrowing) -> str:
    """Tables with parents, landed ones and models kept before this one, give only the rows of the dirty."""
    import sqlglot
    from sqlglot import exp

    views, empty = dict(to.views), to.empty

    def is_told(arm: exp.Expr) -> bool:
        read = arm.args.get("from_")
        return not (read and isinstance(read.this, exp.Table) and f"{read.this.db}.{read.this.name}" in empty)

    def arms(node: exp.Expr) -> list[exp.Expr]:
        if isinstance(node, exp.Union) and not node.args["distinct"]:
            return [*arms(node.left), *arms(node.right)]
        return [node]

    def inline(node: exp.Expr) -> exp.Expr:
        told = [arm for arm in arms(node) if is_told(arm)] or arms(node)[:1]
        if len(told) < len(arms(node)):
            few = reduce(lambda some, arm: exp.union(some, arm, distinct=False), told)
            few.set("with_", node.args.get("with_") or few.args.get("with_"))
            return few.transform(inline)
        if not isinstance(node, exp.Table):
            return node
        name = f"{node.db}.{node.name}"
        if name in views:
            inner: exp.Expr = sqlglot.parse_one(views[name], dialect="duckdb").transform(inline)
        elif name in to.parents:
            inner = sqlglot.parse_one(to.rows.format(name=name), dialect="duckdb")
        else:
            return node
        return exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(node.alias_or_name)))

    return sqlglot.parse_one(sql, dialect="duckdb").transform(inline).sql(dialect="duckdb")
