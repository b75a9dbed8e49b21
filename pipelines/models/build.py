"""SQL models: orders, builds, checks. A file's path is its name (`feedback/events.sql` → feedback.events); its header
says what one row is, its key, and how it is kept; comments beside columns become the database's own comments.

A model is a view, or (`kept by: column`) a table of which only the touched part is computed again: the landed tables
are narrowed to the parents that came in by loads not taken yet, views in between are inlined so that the narrowing
reaches the tables, and the result replaces these parents' rows. What was taken is remembered by load, not by time:
loads can commit out of order, and a killed load's rows count too.

A model with a `stage` of its own is not built with the others: what is due in it is remembered, parent by parent, until
`regenerate` is told to bring all of it up to date, or some of it.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping

import duckdb

from pipelines.models import glossary, python_models, touching
from pipelines.models.files import Model, is_shown, models_fingerprint, read_models
from pipelines.models.landed_tables import ensure
from pipelines.models.narrowing import Narrowing, narrowed
from sources.core.values import Table

__all__ = ["CheckFailed", "Model", "build", "check", "models_fingerprint", "read_models", "regenerate"]

AT_ONCE = 12_000  # events whose documents are made in one go

OURS = ("staging", "feedback", "ops")


class CheckFailed(Exception):
    """A model does not keep its own promise; nothing is published."""


def build(
    connection: duckdb.DuckDBPyConnection,
    landed: Mapping[str, Iterable[Table]],
    *,
    anew: bool,
    is_shared: bool = False,
    touched: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
) -> int:
    """Brings every model up to date; rows replaced in kept tables. `anew`: all is rebuilt. `touched`: is called when
    the TEMP table `dirty` says which parents were, and before anything is built of them.
    """
    models = read_models(is_shared=is_shared)
    for schema in OURS:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    connection.execute("CREATE TABLE IF NOT EXISTS ops.dirty_documents (parent_key VARCHAR)")
    touching.prepare(connection)
    connection.execute("CREATE TABLE IF NOT EXISTS ops.narrowed (name VARCHAR, made_of VARCHAR, sql VARCHAR)")
    connection.begin()
    try:
        tables = _tables(landed)
        ensure(connection, tables)
        touching.mark(connection, tables, anew=anew)
        if touched:
            touched(connection)
        replaced, to = 0, _narrowing(connection, models, tables, by_row=not is_shared)
        for model in models:
            if model.stage:
                _put_off(connection, model, anew=anew, is_shared=is_shared)
            else:
                replaced += _build_one(connection, model, to, anew=anew)
        for name, told in glossary.TABLES.items() if anew else ():
            _comment(connection, name, "TABLE", told)
        for name in filter(None, (model.made_once for model in models)):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        touching.take(connection, tables)
        connection.commit()
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a full disk may have ended the transaction already
            connection.rollback()
        raise
    return replaced


def regenerate(
    connection: duckdb.DuckDBPyConnection,
    landed: Mapping[str, Iterable[Table]],
    only: Iterable[str] | None = None,
    told: Callable[[list[str]], None] | None = None,
    *,
    is_shared: bool = False,
) -> list[str]:
    """Brings models with a stage of their own up to date, or only these parents in them; the parents that were due.

    Some thousand words at a time, and `told` is told of them: what is killed in between leaves the rest due.
    """
    models, tables, found = read_models(is_shared=is_shared), _tables(landed), list[str]()
    bound = _bound(only)
    which = "list_contains(?, parent_key)" if bound else "true"
    connection.execute(_DUE.format(which=which, at_once=AT_ONCE), bound)
    batches = connection.execute("SELECT DISTINCT batch FROM due ORDER BY batch").fetchall()
    for (batch,) in batches:
        is_all = only is None and len(batches) == 1
        some = _regenerate_some(connection, models, tables, batch, by_row=not is_shared, is_all=is_all)
        if told:
            told(some)
        found += some
    return sorted(found)


def _regenerate_some(
    connection: duckdb.DuckDBPyConnection,
    models: list[Model],
    tables: Mapping[str, Table],
    batch: int,
    *,
    by_row: bool,
    is_all: bool,
) -> list[str]:
    connection.begin()
    try:
        connection.execute("CREATE OR REPLACE TEMP TABLE dirty AS SELECT parent_key FROM due WHERE batch = ?", [batch])
        to = _narrowing(connection, models, tables, by_row=by_row)
        for model in models:
            if model.stage:
                is_first = is_all and not connection.execute(f"SELECT 1 FROM {model.name} LIMIT 1").fetchone()
                if is_first:  # what is not in it is due: all of it, and nothing has to be narrowed
                    python_models.insert(connection, model.name, model.sql, model.parsed_by)
                    check(connection, model)
                else:
                    _build_one(connection, model, to, anew=False)
        connection.execute("DELETE FROM ops.dirty_documents WHERE parent_key IN (SELECT parent_key FROM dirty)")
        found = connection.execute("SELECT parent_key FROM dirty").fetchall()
        connection.commit()
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            connection.rollback()
        raise
    return [key for (key,) in found]


_DUE = """
CREATE OR REPLACE TEMP TABLE due AS
WITH asked AS (SELECT DISTINCT parent_key FROM ops.dirty_documents WHERE {which}),
sized AS (
    SELECT d.parent_key, count(e.parent_key) AS words FROM asked AS d
    LEFT JOIN feedback.events AS e ON e.parent_key = d.parent_key GROUP BY d.parent_key
)
SELECT
    parent_key,
    (sum(words) OVER (ORDER BY parent_key ROWS UNBOUNDED PRECEDING) - words) // {at_once} AS batch
FROM sized
"""


def check(connection: duckdb.DuckDBPyConnection, model: Model, where: str = "true", *, by_row: bool = False) -> None:
    """The model's key is unique and what it calls not null is not."""
    keys = ", ".join(model.key)
    if keys:
        doubled = connection.execute(
            f"SELECT {keys} FROM {model.name} WHERE {where} GROUP BY {keys} HAVING count(*) > 1 LIMIT 1"
        ).fetchone()
        if doubled:
            raise CheckFailed(f"{model.name}: key {keys} is not unique, e.g. {doubled}")
    columns = [*model.key, *model.not_null]
    if not columns:
        return
    # in a file, by row, as in narrowing.py: `body` of all rows is not read to look at a few
    is_part = by_row and model.kept_by and where != "true"
    rows = f"rowid IN (SELECT rowid FROM {model.name} WHERE {where})" if is_part else where
    nulls = ", ".join(f"coalesce(bool_or({column} IS NULL), false)" for column in columns)
    told = connection.execute(f"SELECT {nulls} FROM {model.name} WHERE {rows}").fetchone()
    for column, is_null in zip(columns, told or (), strict=True):
        if is_null:
            raise CheckFailed(f"{model.name}: {column} is null")


def _put_off(connection: duckdb.DuckDBPyConnection, model: Model, *, anew: bool, is_shared: bool) -> None:
    """What was touched is due in this model, together with what was due before.

    Where readers see what is built when it is built, what is in it stays until it is made again.
    """
    due = "SELECT parent_key FROM dirty"
    if anew:
        due = "SELECT parent_key FROM feedback.events UNION SELECT parent_key FROM feedback.parents"
        columns = f"SELECT * FROM ({model.sql}) AS nothing LIMIT 0"
        if is_shared and _has_columns(connection, model.name, columns):
            due += f" UNION SELECT parent_key FROM {model.name}"
        else:
            connection.execute(f"CREATE OR REPLACE TABLE {model.name} AS {columns}")
        _comment(connection, model.name, "TABLE", model.told)
    connection.execute(f"INSERT INTO ops.dirty_documents ({due}) EXCEPT SELECT parent_key FROM ops.dirty_documents")


def _has_columns(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> bool:
    held = "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE columns_only AS {query}")
    wanted = {row[0] for row in connection.execute("DESCRIBE columns_only").fetchall()}
    return {column for (column,) in connection.execute(held, name.split(".")).fetchall()} == wanted


def _narrowing(
    connection: duckdb.DuckDBPyConnection, models: list[Model], tables: Mapping[str, Table], *, by_row: bool
) -> Narrowing:
    """What models are narrowed to, by the TEMP table `dirty`."""
    sources = connection.execute("SELECT DISTINCT split_part(parent_key, ':', 1) FROM dirty").fetchall()
    return Narrowing(
        views=frozenset((m.name, f"FROM {m.made_once}" if m.made_once else m.sql) for m in models if not m.kept_by),
        parents=frozenset(
            {"ops.quarantine"}
            | {name for name, table in tables.items() if "parent_key" in table.columns}
            | {m.name for m in models if m.kept_by == "parent_key"}
        ),
        by_row=by_row,
        quiet=frozenset({name.partition(".")[0] for name in tables} - {source for (source,) in sources}),
    )


def _build_one(connection: duckdb.DuckDBPyConnection, model: Model, to: Narrowing, *, anew: bool) -> int:
    if model.kept_by and anew:
        python_models.create(connection, model.name, model.sql, model.parsed_by)
        _comment(connection, model.name, "TABLE", model.told)
        check(connection, model)
        connection.commit()  # all is built again until all of it is: what was not committed stays in memory
        connection.execute("CHECKPOINT")
        connection.begin()
        return _count(connection, model.name)
    if model.kept_by:
        column = model.kept_by
        connection.execute(f"DELETE FROM {model.name} WHERE {column} IN (SELECT {column} FROM dirty)")
        few = narrowed(connection, model.name, model.sql, to)
        python_models.insert(connection, model.name, few, model.parsed_by)
        check(connection, model, f"{column} IN (SELECT {column} FROM dirty)", by_row=to.by_row)
        return _count(connection, f"{model.name} WHERE {column} IN (SELECT {column} FROM dirty)")
    if anew:
        connection.execute(f"CREATE OR REPLACE VIEW {model.name} AS {model.sql}")
        _comment(connection, model.name, "VIEW", model.told)
    elif model.made_once:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {model.made_once} AS {narrowed(connection, model.name, model.sql, to)}"
        )
    return 0


def _tables(landed: Mapping[str, Iterable[Table]]) -> dict[str, Table]:
    families = {source: [root.family() for root in all_] for source, all_ in landed.items()}
    return {f"{source}.{name}": t for source, all_ in families.items() for family in all_ for name, t in family.items()}


def _comment(connection: duckdb.DuckDBPyConnection, name: str, kind: str, told: glossary.Meaning) -> None:
    connection.execute(f"COMMENT ON {kind} {name} IS {_quoted(told.table)}")
    if not is_shown(name) and not told.columns:
        return
    of = told.of if is_shown(name) else told.columns.get
    meant = {column: of(column) for column, *_ in connection.execute(f"DESCRIBE {name}").fetchall()}
    columns = [f"COMMENT ON COLUMN {name}.{column} IS {_quoted(said)}" for column, said in meant.items() if said]
    if columns:  # at once: each by itself takes twice the time
        connection.execute("; ".join(columns))


def _bound(only: Iterable[str] | None) -> list[list[str]]:
    return [] if only is None else [list(only)]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _count(connection: duckdb.DuckDBPyConnection, what: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {what}").fetchone()
    return int(row[0]) if row else 0
