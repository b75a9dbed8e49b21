"""`earshot search`: where something was discussed, by its words or by its meaning."""

from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format.answer import USAGE, Answer, Refusal, answering
from pipelines.ask.format.shown import at, hang, line
from pipelines.ask.query.known import has_name, project_names, refuse
from pipelines.ask.query.names import place, short_id
from pipelines.ask.query.times import ago, since
from pipelines.search.index import Unreadable, reading
from pipelines.search.query import KINDS, Hit, NoMeaning, Only, search_index
from pipelines.settings import SOURCES, load
from pipelines.warehouse.configured import its_home

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from pipelines.search.embedders import Embedder

__all__ = ["search"]

FOUND = "bold yellow"
BEFORE = 40  # letters before what was found, where the beginning leaves no room for it
KNOWN = ("issue", "merge_request", "pull_request", "post", *KINDS)

NAMES = "SELECT DISTINCT scope_name FROM documents WHERE scope_name IS NOT NULL"


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--semantic", "mode", flag_value="semantic", help="By meaning: needs the extra [semantic] or a server.")
@click.option("--hybrid", "mode", flag_value="hybrid", help="By words and by meaning.")
@click.option("--keyword", "mode", flag_value="keyword", default="keyword", help="By words (the default).")
@click.option("--source", metavar="NAME", help="Only from this source.")
@click.option("-p", "--scope", "--project", "scope", metavar="PATH", help="group/name, or the name alone.")
@click.option("--author", metavar="NAME", help="Who opened it, or spoke in it.")
@click.option("--since", type=since, metavar="WHEN", help="Touched since: 3d, 12h, 2w, 2026-01-31.")
@click.option("--kind", type=click.Choice(KNOWN), help="Only this kind of document.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True)
@answering
def search(words: tuple[str, ...], mode: str | None, limit: int, **asked: Any) -> Answer:
    """Find threads, issues, merge and pull requests by their words.

    \b
    earshot search token rotation

    \b
    "a phrase", the beginning of a word with tok*, and -- -not this.
    """
    from pathlib import Path

    text, mode = " ".join(words), mode or "keyword"
    _, config = load(Path.cwd())
    home = its_home(Path.cwd())
    home.refuse_another_version()
    if not home.search.exists():
        raise Refusal("NOTHING_YET", f"nothing to search in {home.path} yet", "run `earshot sync` (without --no-docs)")
    embedder = _embedder(config) if mode != "keyword" else None
    try:
        with reading(home.search) as index:
            hits = search_index(index, home, text, Only(**asked), mode, limit, embedder)
            hint = "" if hits else _why_none(index, text, asked)
    except NoMeaning as error:
        raise Refusal("NO_MEANING", str(error), "by words it works: leave --semantic or --hybrid out") from None
    except Unreadable as error:
        raise Refusal("UNREADABLE", f"{home.search} cannot be read: {error}", "the next run makes it anew") from None

    def show(console: "Console") -> None:
        if not hits:
            console.print(hint)
        told = False
        for hit in hits:
            if not hit.has_all_words and not told:
                console.print("Not all of the words, but some:\n", style="dim")
                told = True
            _show(console, hit)

    meta = {"mode": mode, "shown": len(hits), **({"hint": hint} if hint else {})}
    return Answer([{**asdict(hit), "reference": _reference(hit)} for hit in hits], show, meta)


def _reference(hit: Hit) -> str:
    """What `show` takes: with the whole path, so that nobody need look which others there are."""
    return place(asdict(hit), "number") if hit.number is not None else short_id(hit.document_key)


def _show(console: "Console", hit: Hit) -> None:
    from datetime import datetime

    from rich.cells import cell_len
    from rich.text import Text

    head = Text.assemble((_reference(hit), "cyan"), "  ")
    head.append_text(_marked(hit.title, hit.title_highlights, "bold") if hit.title else Text(at(hit.author), "bold"))
    head.truncate(console.width, overflow="ellipsis")
    console.print(head)
    about = [hit.kind.replace("_", " "), at(hit.author), ago(datetime.fromisoformat(hit.updated_at)), f"{hit.score:g}"]
    console.print(Text(f"    {' · '.join(part for part in about if part)} · {line(hit.url)}", "dim"), soft_wrap=True)
    words, room = _marked(hit.snippet, hit.highlights, ""), (console.width - 4) * 2
    found = next((span for span in words.spans if span.style == FOUND), None)
    if found and cell_len(words.plain[: found.end]) >= room:  # what was found is to be seen
        words = Text("…") + words[max(0, found.start - BEFORE) :]
    words.truncate(room, overflow="ellipsis")
    hang(console, "    ", words)
    console.print()


def _marked(text: str, highlights: list[tuple[int, int]], style: str) -> "Text":
    """On one line, what was found standing out, and nothing in it that could act on the terminal."""
    from rich.text import Text

    shown, upto = Text(style=style), 0
    for start, end in [*highlights, (len(text), len(text))]:
        for part, look in ((text[upto:start], ""), (text[start:end], FOUND)):
            said = line(part)
            before = " " if part[:1].isspace() and shown.plain else ""
            after = " " if part[-1:].isspace() and said else ""
            shown.append(f"{before}{said}{after}", style=look)
        upto = end
    return shown


def _why_none(index: Any, text: str, asked: dict[str, Any]) -> str:
    if not index.count():
        return "There are no documents yet."
    if asked["source"]:
        refuse("source", asked["source"], SOURCES)
    if asked["scope"]:
        found = {row[0] for row in index.connection.execute(NAMES)}
        if not any(has_name(name, asked["scope"]) for name in found):
            refuse("project", asked["scope"], found | _silent())
    if not any(char.isalnum() for char in text):
        return "There is nothing to look for in that: letters and digits are."
    return "Nothing matches."


def _silent() -> set[str]:
    """Projects that are read although nothing was said there, as far as something is published."""
    from pipelines.ask.query.published import published

    with suppress(Refusal), published() as warehouse:
        return set(project_names(warehouse))
    return set()


def _embedder(config: Any) -> "Embedder":
    from pipelines.search.embedders import INSTALL, configured_embedder

    found = configured_embedder(config.embed)
    if found is None:
        raise Refusal("NOT_INSTALLED", INSTALL, "or set [earshot.embed] provider to a server", USAGE)
    return found
