"""`earshot sql`: the published warehouse, asked in its own language; and its answers, to be taken away whole."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import time
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from traceback import clear_frames
from typing import Any

import click
import duckdb

from pipelines.ask.format.answer import USAGE, Answer, Refusal, answering, console
from pipelines.ask.format.shown import counted
from pipelines.ask.query.filters import MOST
from pipelines.ask.query.published import published
from pipelines.sync.output.summary import safe

__all__ = ["sql"]

LOGGING = "enable_logging"
JSON_INTEGERS = range(-(2**63), 2**64)
SHOWN = 40
DRAWN = 9_999  # more rows than DuckDB draws as a table
AT_ONCE = 5_000
SCHEMA = "`earshot schema` tells what there is to ask"
Rows = Iterable[Sequence[Any]]
Form = Callable[[duckdb.DuckDBPyRelation, int | None], Answer]


@click.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, MOST), help=f"Rows at the most.  [default: {SHOWN} on a terminal]")
@click.option("--csv", "as_csv", is_flag=True, help="All rows as CSV.")
@click.option("--parquet", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="All rows into FILE.")
@answering
def sql(query: str, limit: int | None, as_csv: bool, parquet: Path | None) -> Answer:
    """Ask the published warehouse one QUERY, read-only.

    \b
    earshot sql "FROM feedback.events LIMIT 5"
    earshot sql "FROM feedback.comments" --csv > comments.csv

    A table on a terminal shows the first rows; --json, --csv and --parquet have them all.
    """
    _refuse_logging(query)
    if not query.strip(" \t\n;"):
        raise Refusal("SQL", "there is no question", SCHEMA, USAGE)
    context = click.get_current_context()
    as_json = bool(context.params["as_json"])
    if as_csv and (as_json or parquet):
        raise click.UsageError("one of --csv, --json, --parquet at a time")
    connection = context.with_resource(published()).connection  # open until the last row is told
    form = _parquet(parquet) if parquet else _as_json if as_json else _as_csv if as_csv else _table
    try:
        return _asked(connection, query, limit, form)
    except Exception as error:
        clear_frames(error.__traceback__)  # a result that is held keeps this process from opening the file again
        if isinstance(error, duckdb.Error):
            hint = SCHEMA if isinstance(error, duckdb.CatalogException | duckdb.BinderException) else ""
            raise Refusal("SQL", str(error), hint, USAGE) from None
        raise


def _refuse_logging(query: str) -> None:
    """DuckDB's log in a file, which it may not write here, ends the whole process with its last connection."""
    starts = [start for start, _ in duckdb.tokenize(query)]
    raw = query.encode()  # where tokens start is told in bytes
    for start, end in pairwise([*starts, len(raw)]):
        if raw[start:end].decode(errors="replace").strip().strip('"').casefold() == LOGGING:
            raise Refusal("SQL", f"{LOGGING}: a question writes nothing", exit_code=USAGE)


def _asked(connection: duckdb.DuckDBPyConnection, query: str, limit: int | None, form: Form) -> Answer:
    found = connection.sql(query)
    if found is None:
        return Answer([], lambda _: click.echo("done"))
    return form(found, limit)


def _as_json(found: duckdb.DuckDBPyRelation, limit: int | None) -> Answer:
    names, rows = _distinct(found.columns), _rows(found, limit)
    return Answer(None, lambda _: None, rows=(dict(zip(names, map(_json, row), strict=True)) for row in rows))


def _as_csv(found: duckdb.DuckDBPyRelation, limit: int | None) -> Answer:
    text = found.project(", ".join(f"CAST(#{n} AS VARCHAR)" for n in range(1, len(found.columns) + 1)))
    return Answer(None, partial(_print_csv, _distinct(found.columns), _rows(text, limit)))


def _rows(found: duckdb.DuckDBPyRelation, limit: int | None) -> Rows:
    """They are computed before the first is told: a row that cannot be leaves nothing half said."""
    found = found.limit(limit) if limit else found
    found.execute()
    return chain.from_iterable(iter(lambda: found.fetchmany(AT_ONCE), []))


def _distinct(columns: list[str]) -> list[str]:
    """One value a name: the second `a` is `a_1`, or the first of these that is free."""
    names: list[str] = []
    for column in columns:
        free = (f"{column}_{n}" for n in range(1, len(columns) + 1) if f"{column}_{n}" not in {*names, *columns})
        names.append(next(free) if column in names else column)
    return names


def _json(value: object) -> object:
    """As JSON can say it, however deep it lies: in lists, structs and maps too."""
    if isinstance(value, dict):
        return {str(key): _json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json(each) for each in value]
    is_too_large = isinstance(value, int) and value not in JSON_INTEGERS
    return str(value) if is_too_large or isinstance(value, time) else value


def _print_csv(names: list[str], rows: Rows, _: object) -> None:
    """As it was said, but for what could act on a terminal, where it is shown on one."""
    shown = safe if sys.stdout.isatty() else str
    for row in chain([names], rows):
        sys.stdout.write(f"{shown(','.join(map(_field, row)))}\n")  # click.echo takes colours out of what was said


def _field(text: str | None) -> str:
    """Nothing is nothing; an empty text is a pair of quotes."""
    if text is None:
        return ""
    is_plain = text and not any(sign in text for sign in ',"\n\r')
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def _parquet(file: Path) -> Form:
    def form(found: duckdb.DuckDBPyRelation, limit: int | None) -> Answer:
        count = _written(found.limit(limit) if limit else found, file)
        told = f"{counted(count, 'row')} in {file}"
        return Answer({"rows": count, "file": str(file)}, lambda _: click.echo(safe(told)))

    return form


def _written(found: duckdb.DuckDBPyRelation, file: Path) -> int:
    """There whole, or as it was before: a query can fail late, a disk can be full. How many rows."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    partial_file, count = file.with_name(f".{file.name}.partial"), 0
    try:
        batches = found.to_arrow_reader(AT_ONCE)
        schema = batches.schema.remove_metadata()
        schema = pa.schema(field.with_name(name) for field, name in zip(schema, _distinct(schema.names), strict=True))
        with ParquetWriter(partial_file, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
                count += batch.num_rows
        partial_file.replace(file)
    except pa.ArrowNotImplementedError as error:  # an INTERVAL, for one
        raise Refusal("SQL", f"Parquet does not have that: {error}", "cast it to VARCHAR", USAGE) from None
    except pa.ArrowInvalid as error:
        raise Refusal("SQL", str(error), exit_code=USAGE) from None
    finally:
        partial_file.unlink(missing_ok=True)
    return count


def _table(found: duckdb.DuckDBPyRelation, limit: int | None) -> Answer:
    limit, text = min(limit or (SHOWN if sys.stdout.isatty() else DRAWN), DRAWN), io.StringIO()
    with contextlib.redirect_stdout(text):
        found.limit(limit).show(max_width=console().width, max_rows=limit)
    total = (found.aggregate("count(*)").fetchone() or (0,))[0]
    more = f"\n… and {counted(total - limit, 'more row')}: --limit, or all with --csv, --json, --parquet FILE"
    return Answer(None, lambda _: click.echo(safe(text.getvalue().rstrip() + (more if total > limit else ""))))
