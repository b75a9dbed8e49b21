"""DuckDB's SQL as Postgres understands it: sqlglot's translation, and what it leaves out or gets silently wrong.

Models and whatever else a run asks are written once, in DuckDB's dialect. What differs is here and nowhere else; every
rule stands for a difference that was seen in results, and tests/test_two_engines.py asks both engines.
"""

import re
from functools import lru_cache
from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.generators.postgres import PostgresGenerator

__all__ = ["spoken", "translated"]

STAMPS = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%H": "HH24", "%M": "MI", "%S": "SS"}
MARK = "\x01"  # stands for a value until all is written
LOADS = "SELECT DISTINCT _dlt_load_id AS load_id FROM "
# the loads of a table by its index, from one to the next: Postgres would read all its rows to find the few
SKIPPING = """
(WITH RECURSIVE known AS (
    (SELECT _dlt_load_id AS load_id FROM {0} ORDER BY _dlt_load_id LIMIT 1)
    UNION ALL
    SELECT (SELECT _dlt_load_id FROM {0} WHERE _dlt_load_id > known.load_id ORDER BY _dlt_load_id LIMIT 1)
    FROM known WHERE NOT known.load_id IS NULL
) SELECT load_id FROM known WHERE NOT load_id IS NULL)
"""
WHOLE_LIST = "'$[*]'"


def _chosen(to: Generator, node: exp.Expr, where: exp.Expr | None = None) -> str:
    """One value of a group: any, or that of the least or greatest; as in DuckDB, a null is never the one chosen."""
    value, order = to.sql(node, "this"), node.args.get("expression")
    by = f" ORDER BY {to.sql(order)}{' DESC' if isinstance(node, exp.ArgMax) else ''}" if order else ""
    conditions = [f"NOT ({value}) IS NULL"]
    if order is not None and not isinstance(order, exp.Struct | exp.Anonymous):  # a row is never null itself
        conditions.append(f"NOT ({to.sql(order)}) IS NULL")
    if where is not None:
        conditions.append(f"({to.sql(where)})")
    return f"(ARRAY_AGG({value}{by}) FILTER (WHERE {' AND '.join(conditions)}))[1]"


def _filtered(to: Generator, node: exp.Expr) -> str:
    """`arg_min(…) FILTER (…)`: what these become must carry the condition inside."""
    inner = node.this.this if isinstance(node.this, exp.IgnoreNulls) else node.this
    if isinstance(inner, exp.AnyValue | exp.ArgMin | exp.ArgMax):
        return _chosen(to, inner, node.expression.this)
    return str(PostgresGenerator.filter_sql(to, node))  # type: ignore[arg-type]


def _members(to: Generator, node: exp.Expr) -> str:
    """`json_extract_string(x, '$[*]')`, a list of all members: the one path that models use."""
    path = node.expression.sql(dialect="duckdb")
    if path != WHOLE_LIST:
        raise ValueError(f"no translation for json_extract_string(…, {path})")
    document = to.sql(node, "this")
    members = f'ARRAY(SELECT JSONB_ARRAY_ELEMENTS_TEXT(CAST({document} AS JSONB)) COLLATE "C")'
    return f"CASE WHEN NOT {document} IS NULL THEN {members} END"


def _extracted(to: Generator, node: exp.Expr) -> str:
    """The whole match, or its one group; nothing found is empty text. Postgres' dot takes line ends anyway (`s`).

    Its regular expressions are as greedy as their first repetition: write `[^x]*?` there where a later one is `.*?`.
    """
    text, pattern = to.sql(node, "this"), to.sql(node, "expression")
    return f"CASE WHEN NOT {text} IS NULL THEN COALESCE((REGEXP_MATCH({text}, {pattern}))[1], '') END"


def _told_time(to: Generator, node: exp.Expr) -> str:
    """Letters between the parts are quoted: `DD` and a bare `T` would be an ordinal's `TH`."""
    said = node.args["format"].sql(dialect="duckdb").strip("'")
    parts = re.findall(r"%.|[A-Za-z]|[^%A-Za-z]+", said)
    told = "".join(f'"{part}"' if part.isalpha() else STAMPS.get(part, part) for part in parts)
    return f"TO_CHAR({to.sql(node, 'this')}, '{told}')"


def _rounded(to: Generator, node: exp.Expr) -> str:
    """To so many digits Postgres rounds only decimals."""
    digits = node.args.get("decimals")
    value = to.sql(node, "this")
    return (
        f"CAST(ROUND(CAST({value} AS DECIMAL), {to.sql(digits)}) AS DOUBLE PRECISION)" if digits else f"ROUND({value})"
    )


def _contained(to: Generator, node: exp.Expr) -> str:
    return f"(STRPOS({to.sql(node, 'this')}, {to.sql(node, 'expression')}) > 0)"


def _ending(to: Generator, node: exp.Expr) -> str:
    text, end = to.sql(node, "this"), to.sql(node, "expression")
    return f"(RIGHT({text}, LENGTH({end})) = {end})"


def _listed(to: Generator, node: exp.Expr) -> str:
    """An empty list has no type of its own in Postgres; as a literal it takes that of its surroundings."""
    return f"ARRAY[{to.expressions(node, flat=True)}]" if node.expressions else "'{}'"


def _bound(to: Generator, node: exp.Expr) -> str:
    return f"{MARK}({node.name})s" if node.name and node.name != "?" else f"{MARK}s"


class _Writer(PostgresGenerator):
    TRANSFORMS: ClassVar = {
        **PostgresGenerator.TRANSFORMS,
        exp.AnyValue: _chosen,
        exp.ArgMin: _chosen,
        exp.ArgMax: _chosen,
        exp.Filter: _filtered,
        exp.IgnoreNulls: lambda to, node: to.sql(node, "this"),  # any_value's own habit
        exp.JSONExtractScalar: _members,
        exp.RegexpExtract: _extracted,
        exp.TimeToStr: _told_time,
        exp.Round: _rounded,
        exp.Contains: _contained,
        exp.EndsWith: _ending,
        exp.Array: _listed,
        exp.Placeholder: _bound,
    }


@lru_cache(maxsize=512)
def translated(sql: str) -> tuple[exp.Expr, ...]:
    """The statements, parsed and put right where a whole statement differs; to be `spoken`."""
    return tuple(_put_right(tree) for tree in sqlglot.parse(sql, dialect="duckdb") if tree is not None)


def spoken(tree: exp.Expr) -> str:
    """As the driver takes it: its own signs for values, every other per cent sign doubled."""
    return _Writer(dialect="postgres").generate(tree).replace("%", "%%").replace(MARK, "%")


def _put_right(tree: exp.Expr) -> exp.Expr:
    for number, node in enumerate(tree.find_all(exp.Subquery)):
        if isinstance(node.parent, exp.From | exp.Join) and not node.alias:  # Postgres 15 wants a name for each
            node.set("alias", exp.TableAlias(this=exp.to_identifier(f"part_{number}")))
    for select in list(tree.find_all(exp.Select)):
        if select.args.get("distinct") and select.sql(dialect="duckdb").startswith(LOADS):
            select.replace(sqlglot.parse_one(SKIPPING.format(select.find(exp.Table)), dialect="postgres"))
    if isinstance(tree, exp.Create):
        for column in tree.find_all(exp.ColumnDef):
            if column.kind is not None and column.kind.is_type("varchar", "text"):
                column.append("constraints", exp.ColumnConstraint(kind=exp.CollateColumnConstraint(this=BYTES.copy())))
    return tree


# Text is compared by its bytes, as DuckDB does: the same order and keys, whatever the database's own language is.
BYTES = exp.to_identifier("C", quoted=True)
