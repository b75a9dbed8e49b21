"""`earshot sql`: the published warehouse, asked in its own language."""

import contextlib
import io
from datetime import time

import click
import duckdb

from pipelines.ask.answer import USAGE, Answer, Refusal, answering, console
from pipelines.ask.filters import MOST
from pipelines.ask.published import published
from pipelines.screen import safe

__all__ = ["sql"]

LOGGING = "enable_logging"
JSON_INTEGERS = range(-(2**63), 2**64)


@click.command()
@click.argument("query")
@click.option("--limit", default=40, show_default=True, type=click.IntRange(1, MOST), help="Rows to show at the most.")
@answering
def sql(query: str, limit: int) -> Answer:
    """Ask the published warehouse one QUERY, read-only: `earshot sql "FROM feedback.events LIMIT 5"`."""
    _refuse_logging(query)
    with published() as warehouse:
        try:
            found = warehouse.connection.sql(query)
            if click.get_current_context().params["as_json"]:
                return Answer(_rows(found, limit), lambda _: None)
            text = "done" if found is None else _table(found, limit, console().width)
        except duckdb.Error as error:
            raise Refusal("SQL", str(error), exit_code=USAGE) from None
    return Answer(None, lambda _: click.echo(safe(text)))


def _refuse_logging(query: str) -> None:
    """DuckDB's log in a file, which it may not write here, ends the whole process with its last connection."""
    starts = [start for start, _ in duckdb.tokenize(query)]
    raw = query.encode()  # where tokens start is told in bytes
    for start, end in zip(starts, [*starts[1:], len(raw)], strict=True):
        if raw[start:end].decode(errors="replace").strip().strip('"').casefold() == LOGGING:
            raise Refusal("SQL", f"{LOGGING}: a question writes nothing", exit_code=USAGE)


def _rows(found: duckdb.DuckDBPyRelation | None, limit: int) -> list[dict[str, object]]:
    if found is None:
        return []
    names = _distinct(found.columns)
    return [dict(zip(names, map(_json, row), strict=True)) for row in found.limit(limit).fetchall()]


def _distinct(columns: list[str]) -> list[str]:
    """JSON has one value a name: the second `a` is `a_1`, or the first of these that is free."""
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


def _table(found: duckdb.DuckDBPyRelation, limit: int, width: int) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        found.show(max_width=width, max_rows=limit)
    return text.getvalue().rstrip()
