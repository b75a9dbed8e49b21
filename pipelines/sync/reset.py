"""`earshot reset`: forget how far something was read. What was read stays; reading it again changes nothing in it."""

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.ask.format.answer import USAGE, Answer, Refusal, answering
from pipelines.settings import SOURCES, landed_fills, landed_tables
from pipelines.state.ledger import Ledger
from pipelines.warehouse.configured import its_home
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.errors import LandingError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Unknown", "forget", "reset"]


class Unknown(Exception):
    """A name that was never read."""


@click.command()
@click.argument("source", type=click.Choice(SOURCES))
@click.argument("names", nargs=-1, metavar="[NAME]…")
@click.option("--yes", is_flag=True, help="Do not ask before forgetting a whole source.")
@answering
def reset(source: str, names: tuple[str, ...], yes: bool) -> Answer:
    """Forget how far SOURCE was read, or only NAMEs in it.

    NAMEs are repositories, projects or accounts.
    The next run reads them as if for the first time. Nothing that was read is lost or doubled.
    """
    home = its_home(Path.cwd())
    if not home.control.exists():
        raise Refusal("NOTHING_YET", f"nothing was read into {home.path} yet", "read something:  earshot sync")
    if not names and not yes:
        if not sys.stdin.isatty() or click.get_current_context().params["as_json"]:
            raise Refusal("USAGE", f"this forgets how far all of {source} was read", "say so with --yes", USAGE)
        click.confirm(f"Read all of {source} again with the next run?", abort=True, err=True)
    try:
        gone = forget(home, source, names)
    except LandingError as error:
        raise Refusal("UNREACHABLE", str(error)) from None
    except Unknown as error:
        raise Refusal("NOT_FOUND", str(error), exit_code=USAGE) from None

    def show(console: "Console") -> None:
        told = f"{', '.join(names) or source}: {gone} {'cursor' if gone == 1 else 'cursors'} forgotten"
        console.print(told, soft_wrap=True)

    return Answer({"source": source, "names": list(names), "forgotten": gone}, show)


def forget(home: DataDir, source: str, names: tuple[str, ...]) -> int:
    from pipelines.sync.source.pipeline import SourcePipeline

    with home.lock(), Ledger.open(home.control) as ledger:
        pipeline = SourcePipeline.open(home, source, landed_tables()[source], landed_fills()[source])
        if not names:
            return pipeline.forget()
        called = ledger.scopes(source)
        held = {scope for scopes in pipeline.cursors.values() for scope in scopes}
        return pipeline.forget(scope for name in names for scope in _meant(name, held, called))


def _meant(name: str, held: set[str], called: dict[str, str]) -> set[str]:
    """Scopes with this id or name, and what hangs on them (`id/…`)."""
    wanted = name.strip().removeprefix("@").casefold()
    ids = {scope for scope, said in called.items() if wanted in (scope.casefold(), said.casefold())}
    found = {s for s in held if s.partition("/")[0] in ids or wanted in (s.casefold(), s.partition("/")[0].casefold())}
    if not found:
        known = sorted(set(called.values()) - {"*"})
        near = get_close_matches(wanted, known, 3) or known[:5]
        raise Unknown(f"{name!r} was never read; known: {', '.join(near) or 'nothing yet'}")
    return found
