"""`earshot schema`: what readers may ask of the warehouse, table by table and column by column. docs/schema.md is made
of the same.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format.answer import USAGE, Answer, Refusal, answering
from pipelines.ask.format.shown import hang, table
from pipelines.ask.query.known import nearest
from pipelines.ask.query.published import Published, Row, published
from pipelines.models import glossary
from pipelines.models.files import SHOWN, read_models
from pipelines.sync.output.summary import safe

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["schema"]

COLUMNS = """
SELECT table_schema || '.' || table_name AS name, column_name, lower(data_type) AS type
FROM information_schema.columns
WHERE table_catalog = current_database() AND table_schema = ?
ORDER BY table_name, ordinal_position
"""
PICTURE = """\
# What is in the warehouse

`earshot schema [TABLE]` prints this; `earshot schema --markdown > docs/schema.md` makes it. Readers are promised the
schemas `feedback` and `ops`. `github`, `gitlab` and `bluesky` are what dlt lands of each service, in the service's own
words; `staging` is what the models make of them on the way.

```text
 github.*   gitlab.*   bluesky.*        landed by dlt: every version, in the service's words
     └──────────┼──────────┘
            staging.said                one row per version of an utterance, on every surface
                │
         feedback.events                + whose turn, whose words, what we answered
          │     │    │  │
          │     │    │  └── event_key ──  feedback.commands   feedback.tokens   ops.acknowledgements
          │     │    └───── issue_key ──  feedback.routes ── feedback.consumed   (ops.links: issue → change)
          │     │
          │  feedback.comments          the latest version, without what was deleted
          │     ├── event_key ──  feedback.diff_notes   feedback.reviews   feedback.links
          │     └── thread_id ──  feedback.threads
          │
          └── parent_key ──  feedback.parents   feedback.state_changes   feedback.documents
                             feedback.closes   ops.completeness   ops.lifecycle

 ops.*   source, scope: which repository, project or account;  shard, run_id: which run
```
"""


@click.command()
@click.argument("name", metavar="[TABLE]", required=False)
@click.option("--markdown", is_flag=True, help="As a page to keep.")
@answering
def schema(name: str | None, markdown: bool) -> Answer:
    """What the warehouse holds: its tables, or the columns of TABLE.

    \b
    earshot schema
    earshot schema feedback.events
    """
    with published() as warehouse:
        tables = list(_tables(warehouse))
    chosen = [_chosen(tables, name)] if name else tables

    def show(console: "Console") -> None:
        if markdown:
            click.echo(_markdown(chosen, is_whole=not name), nl=False)
        elif name:
            _show_one(console, chosen[0])
        else:
            _show_all(console, tables)

    return Answer(chosen[0] if name else chosen, show)


def _tables(warehouse: Published) -> Iterator[Row]:
    """As they stand there, with the words that belong to them."""
    told = {**glossary.TABLES, **{model.name: model.told for model in read_models()}}
    for kind in SHOWN:
        found: dict[str, list[Row]] = {}
        for row in warehouse.rows(COLUMNS, [kind]):
            if row["name"] in told:  # a shared warehouse keeps tables of its own beside these
                said = told[row["name"]].of(row["column_name"])
                column = {"name": row["column_name"], "type": _short(row["type"]), "comment": said}
                found.setdefault(row["name"], []).append(column)
        for name, columns in found.items():
            yield {"table": name, "comment": told[name].table, "key": told[name].key, "columns": columns}


def _chosen(tables: Iterable[Row], name: str) -> Row:
    """By its whole name, or by the last part of it: `events`; `links` is `feedback.links`, as those come first."""
    by_name: dict[str, Row] = {}
    for each in tables:
        by_name[each["table"]] = each
        by_name.setdefault(each["table"].partition(".")[2], each)
    if found := by_name.get(name.lower()):
        return found
    near = nearest(name, sorted(by_name))
    raise Refusal(
        "UNKNOWN_NAME",
        f"no table {name} here{f'; did you mean {near}?' if near else ''}",
        "`earshot schema` lists them",
        USAGE,
    )


def _show_all(console: "Console", tables: Iterable[Row]) -> None:
    width = max(len(each["table"]) for each in tables) + 2
    for each in tables:
        hang(console, each["table"].ljust(width), safe(each["comment"]))
    console.print("\nThe columns of one: earshot schema feedback.events", highlight=False)


def _show_one(console: "Console", found: Row) -> None:
    console.print(f"{found['table']}: {safe(found['comment'])}", highlight=False, markup=False)
    if found["key"]:
        console.print(f"Known by: {found['key']}", highlight=False)
    console.print()
    console.print(
        table(
            ("column", "type", ("", {"no_wrap": False, "overflow": "fold"})),
            ((column["name"], column["type"], column["comment"] or "") for column in found["columns"]),
        )
    )


def _short(told: str) -> str:
    """`timestamp with time zone` is half a line."""
    return told.replace("timestamp with time zone", "timestamptz")


def _markdown(tables: Iterable[Row], *, is_whole: bool) -> str:
    parts = [PICTURE] if is_whole else []
    for each in tables:
        known = f" Known by `{each['key']}`." if each["key"] else ""
        rows = "\n".join(
            f"| `{column['name']}` | {column['type']} | {_cell(column['comment'])} |" for column in each["columns"]
        )
        parts.append(f"## {each['table']}\n\n{each['comment']}{known}\n\n| column | type | |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def _cell(comment: Any) -> str:
    return str(comment or "").replace("|", "\\|").replace("<", "&lt;")
