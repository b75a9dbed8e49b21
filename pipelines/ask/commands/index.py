"""`earshot index`: the full text of what several runners read, on the machine where people search it."""

from typing import TYPE_CHECKING

import click

from pipelines.ask.format.answer import Answer, answering
from pipelines.ask.query.published import home, published

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["index"]


@click.command()
@answering
def index() -> Answer:
    """Bring this machine's full-text index up to date.

    For a destination that several runners share.
    Runs that read all scopes do it themselves; shards leave it to whoever searches.
    """
    place = home()
    with published(place):
        pass  # is there something to be indexed?
    from pipelines.search.documents import index_all

    changed = index_all(place)

    def show(console: "Console") -> None:
        console.print(f"{changed:,} documents indexed into {place.search}")

    return Answer({"indexed": changed}, show)
