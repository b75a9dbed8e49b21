"""The reader's commands: they open `published.duckdb` read-only for as long as a question takes, and import no dlt."""

import contextlib
import io
import shutil
import sys
from pathlib import Path

import click

from pipelines.screen import safe
from pipelines.settings import data_dir
from pipelines.warehouse import Home
from sources.config import ConfigError

__all__ = ["sql"]

NOTHING_YET = 1
USAGE = 2


@click.command()
@click.argument("query")
@click.option("--limit", default=40, show_default=True, help="Rows to show at the most.")
def sql(query: str, limit: int) -> None:
    """Ask the published warehouse one QUERY, read-only: `earshot sql "FROM feedback.events LIMIT 5"`."""
    import duckdb

    try:
        home = Home(data_dir(Path.cwd()))
    except ConfigError as error:
        raise click.UsageError(str(error)) from None
    if not home.published.exists():
        click.echo(
            f"no warehouse in {home.path} yet; run `python pipelines/run.py --demo` or configure a source", err=True
        )
        sys.exit(NOTHING_YET)
    width = shutil.get_terminal_size((80, 24)).columns
    try:
        # nothing of this machine is within a query's reach: neither files nor extensions
        with duckdb.connect(
            str(home.published), read_only=True, config={"enable_external_access": "false"}
        ) as connection:
            found = connection.sql(query)
            shown = str(connection.sql("SELECT 'done'")) if found is None else _table(found, limit, width)
    except duckdb.Error as error:
        click.echo(safe(str(error)), err=True)
        sys.exit(USAGE)
    click.echo(safe(shown))


def _table(found: object, limit: int, width: int) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        found.show(max_width=width, max_rows=limit)  # type: ignore[attr-defined]
    return text.getvalue().rstrip()
