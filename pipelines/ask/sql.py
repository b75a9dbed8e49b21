"""`earshot sql`: the published warehouse, asked in its own language."""

import contextlib
import io

import click
import duckdb

from pipelines.ask.answer import USAGE, Answer, Refusal, answering, console
from pipelines.ask.filters import MOST
from pipelines.ask.published import published
from pipelines.screen import safe

__all__ = ["sql"]

JSON_INTEGERS = range(-(2**63), 2**64)


@click.command()
@click.argument("query")
@click.option("--limit", default=40, show_default=True, type=click.IntRange(1, MOST), help="Rows to show at the most.")
@answering
def sql(query: str, limit: int) -> Answer:
    """Ask the published warehouse one QUERY, read-only: `earshot sql "FROM feedback.events LIMIT 5"`."""
    with published() as warehouse:
        try:
            found = warehouse.connection.sql(query)
            if click.get_current_context().params["as_json"]:
                return Answer(_rows(found, limit), lambda _: None)
            text = "done" if found is None else _table(found, limit, console().width)
        except duckdb.Error as error:
            raise Refusal("SQL", str(error), exit_code=USAGE) from None
    return Answer(None, lambda _: click.echo(safe(text)))


def _rows(found: duckdb.DuckDBPyRelation | None, limit: int) -> list[dict[str, object]]:
    if found is None:
        return []
    return [dict(zip(found.columns, map(_json, row), strict=False)) for row in found.limit(limit).fetchall()]


def _json(value: object) -> object:
    return str(value) if isinstance(value, int) and value not in JSON_INTEGERS else value


def _table(found: duckdb.DuckDBPyRelation, limit: int, width: int) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        found.show(max_width=width, max_rows=limit)
    return text.getvalue().rstrip()
