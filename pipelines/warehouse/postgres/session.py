"""A Postgres connection that is spoken to as if it were DuckDB's: the same methods, the same SQL, the same errors.

So that models, mirror and documents are written once and know nothing of engines. Statements that Postgres has no word
for (`CREATE OR REPLACE TABLE`, `BY NAME`, `DESCRIBE`) are put into several here; all else is a matter of translation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any

import duckdb
import psycopg2
import pyarrow as pa
from psycopg2 import errors
from psycopg2.extensions import AsIs
from sqlglot import exp

from pipelines.warehouse.postgres.sql import spoken, translated

__all__ = ["PostgresSession", "speaking_duckdb"]

Values = Sequence[Any] | Mapping[str, Any]
COLUMNS = (
    "SELECT attname FROM pg_attribute WHERE attrelid = CAST(%s AS regclass) AND attnum > 0 AND NOT attisdropped"
    " ORDER BY attnum"
)
KIND = (
    "SELECT CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END FROM pg_class WHERE oid = to_regclass(%s)"
    " AND relkind IN ('r', 'v')"
)
SHAPE = """
SELECT quote_ident(attname), format_type(atttypid, atttypmod) || coalesce(' COLLATE ' || quote_ident(collname), '')
FROM pg_attribute LEFT JOIN pg_collation AS c ON c.oid = attcollation AND collname <> 'default'
WHERE attrelid = CAST(%s AS regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
SAME_VIEW = "SELECT pg_get_viewdef(CAST(%s AS regclass)) = pg_get_viewdef('pg_temp.wanted'::regclass)"
KINDS: list[tuple[Callable[[pa.DataType], bool], str]] = [
    (pa.types.is_integer, "BIGINT"),
    (pa.types.is_floating, "DOUBLE PRECISION"),
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_timestamp, "TIMESTAMPTZ"),
]
TEXT = 'TEXT COLLATE "C"'
ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


@contextmanager
def speaking_duckdb() -> Iterator[None]:
    """What Postgres objects to, as the error that DuckDB would have raised; one line, which never holds a password."""
    try:
        yield
    except (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedColumn) as error:
        raise duckdb.CatalogException(_first(error)) from None
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
        raise duckdb.IOException(f"Postgres: {_first(error)}") from None
    except psycopg2.Error as error:
        raise duckdb.Error(f"Postgres: {_first(error)}") from None


class PostgresSession:
    """`begin` within `begin` is one transaction, that of the outermost: readers see all that was built, or nothing."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.connection.autocommit = True
        self.cursor: Any = None
        self.depth = 0
        with speaking_duckdb(), connection.cursor() as cursor:
            cursor.execute("SET TIME ZONE 'UTC'")
            cursor.execute("SET jit = off")  # costs are guesses in tables just filled: 4 s compiling for 0.2 s of work
            cursor.execute("SET client_min_messages = 'error'")  # tables that were not there to be dropped

    def execute(self, sql: str, values: Values = ()) -> "PostgresSession":
        if sql.strip() == "CHECKPOINT":  # Postgres looks after its own log
            return self
        with speaking_duckdb():
            for tree in translated(sql):
                self._execute(tree.copy(), values)
        return self

    def executemany(self, sql: str, rows: Sequence[Values]) -> None:
        for values in rows:
            self.execute(sql, values)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self.cursor.fetchall())

    def fetchone(self) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self.cursor.fetchone()
        return found

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        return list(self.cursor.fetchmany(size))

    @property
    def description(self) -> Any:
        return self.cursor.description

    def begin(self) -> None:
        if self.depth == 0:
            self._say("BEGIN")
        self.depth += 1

    def commit(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self._say("COMMIT")

    def rollback(self) -> None:
        self.depth = 0
        self._say("ROLLBACK")

    def register(self, name: str, table: pa.Table) -> None:
        """The Arrow table as a temporary one of this connection alone."""
        kinds = [next((sql for fits, sql in KINDS if fits(column.type)), TEXT) for column in table.columns]
        columns = ", ".join(f'"{column}" {kind}' for column, kind in zip(table.column_names, kinds, strict=True))
        text = StringIO()
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            text.write("\t".join(map(_copied, row)) + "\n")
        text.seek(0)
        self._say(f"DROP TABLE IF EXISTS pg_temp.{name}; CREATE TEMP TABLE {name} ({columns})")
        with speaking_duckdb(), self.connection.cursor() as cursor:
            cursor.copy_expert(f"COPY {name} FROM STDIN", text)

    def unregister(self, name: str) -> None:
        self._say(f"DROP TABLE IF EXISTS pg_temp.{name}")

    def close(self) -> None:
        self.connection.close()

    def _execute(self, tree: exp.Expr, values: Values) -> None:
        if isinstance(tree, exp.Create) and tree.args.get("replace"):
            tree.set("replace", False)
            if self._is_replaced(tree, values):
                return
        elif isinstance(tree, exp.Describe):
            self._ask(COLUMNS, [tree.this.sql(dialect="postgres")])
            return
        elif isinstance(tree, exp.Insert) and tree.args.get("by_name"):
            tree.set("by_name", False)
            named = [exp.to_identifier(name) for name in self._columns_of(tree.expression, values)]
            tree.set("this", exp.Schema(this=tree.this, expressions=named))
        self._ask(spoken(tree), values)

    def _columns_of(self, query: exp.Expr, values: Values) -> list[str]:
        self._ask(f"SELECT * FROM ({spoken(query)}) AS columns_only LIMIT 0", values)
        return [column[0] for column in self.cursor.description]

    def _is_replaced(self, tree: exp.Create, values: Values) -> bool:
        """`OR REPLACE`, for what is a table now and was a view once, too; False: there is room for it now.

        Whoever reads goes on with what stood there: in a table made in its place they would find nothing, however old
        their snapshot is, and till it is committed wait for it. So it is emptied, and filled again.
        """
        name = (tree.this.this if isinstance(tree.this, exp.Schema) else tree.this).sql(dialect="postgres")
        self._ask(KIND, [name])
        for (kind,) in self.cursor.fetchall():
            if kind == tree.kind and not tree.find(exp.TemporaryProperty):
                is_done = self._refilled(name, tree, values) if kind == "TABLE" else self._is_same(name, tree, values)
                if is_done:
                    return True
            self._say(f"DROP {kind} {name} CASCADE")  # what stands on it is built after it
        return False

    def _refilled(self, name: str, tree: exp.Create, values: Values) -> bool:
        if tree.expression is not None:
            query = spoken(tree.expression)
            self._ask(f"CREATE TEMP TABLE wanted AS SELECT * FROM ({query}) AS nothing LIMIT 0", values)
        else:
            self._say(f"CREATE TEMP TABLE wanted ({', '.join(map(spoken, tree.this.expressions))})")
        held, wanted = self._shape(name), self._shape("pg_temp.wanted")
        self._say("DROP TABLE pg_temp.wanted")
        for column, _ in held.items() - wanted.items():
            self._say(f"ALTER TABLE {name} DROP COLUMN {column} CASCADE")
        for column, kind in wanted.items():
            if held.get(column) != kind:
                self._say(f"ALTER TABLE {name} ADD COLUMN {column} {kind}")
        self._say(f"DELETE FROM {name}")
        if tree.expression is not None:
            self._ask(f"INSERT INTO {name} ({', '.join(wanted)}) {query}", values)
        return True

    def _shape(self, table: str) -> dict[str, str]:
        self._ask(SHAPE, [table])
        return dict(self.fetchall())

    def _is_same(self, view: str, tree: exp.Create, values: Values) -> bool:
        self._ask(f"CREATE TEMP VIEW wanted AS {spoken(tree.expression)}", values)
        self._ask(SAME_VIEW, [view])
        (is_same,) = self.fetchall()[0]
        self._say("DROP VIEW pg_temp.wanted")
        return bool(is_same)

    def _ask(self, sql: str, values: Values) -> None:
        self.cursor = self.connection.cursor()
        told = values if isinstance(values, Mapping) else tuple(map(_told, values))
        self.cursor.execute(sql, told)

    def _say(self, sql: str) -> None:
        with speaking_duckdb(), self.connection.cursor() as cursor:
            cursor.execute(sql)


def _told(value: object) -> object:
    """A list of nothing has no type for the driver; ours are all of text."""
    return AsIs("CAST(ARRAY[] AS TEXT[])") if value == [] else value


def _copied(value: object) -> str:
    return r"\N" if value is None else str(value).translate(ESCAPES)


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
