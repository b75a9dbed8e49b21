"""What a check found, and how it is shown: what is wrong first, each with its remedy, within 80 columns."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

from pipelines.ask.format.shown import hang, line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from sources.core.http.client import Failure

__all__ = ["Finding", "Level", "expiring", "is_wrong", "note", "show", "unanswered", "well", "worst_first", "wrong"]

Level = Literal["wrong", "note", "well"]
Field = Literal["", "token", "place"]
SIGNS: dict[Level, tuple[str, str]] = {"wrong": ("!", "bold red"), "note": ("·", "yellow"), "well": ("✓", "green")}
WIDEST = 22  # of what a finding is about
ADDRESS = 6
SOON = 14  # days


@dataclass(frozen=True)
class Finding:
    """One thing that is well or not: about what, in one line, and what to do."""

    level: Level
    about: str
    message: str
    remedy: str = ""
    field: Field = ""  # which answer of `init` it is about, where typing another one would mend it

    def json(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if name != "field"}


def wrong(about: str, message: str, remedy: str, field: Field = "") -> Finding:
    return Finding("wrong", about, message, remedy, field)


def note(about: str, message: str, remedy: str = "") -> Finding:
    return Finding("note", about, message, remedy)


def well(about: str, message: str) -> Finding:
    return Finding("well", about, message)


def unanswered(about: str, failure: "Failure") -> Finding:
    """A service that did not answer: out of reach, broken, or asking to wait."""
    if failure.code == "RATE_LIMITED":
        return wrong(about, str(failure), "wait till then; a token (or another one) has a quota of its own")
    return wrong(about, str(failure), "see that this machine reaches it (proxy, firewall, api_url), then try again")


def expiring(about: str, days: int | None, remedy: str) -> list[Finding]:
    """A token that is good, and not for long; `days`: None, where nothing tells."""
    if days is None or days > SOON:
        return []
    return [note(about, f"the token expires in {days} {'day' if days == 1 else 'days'}", remedy)]


def is_wrong(findings: Iterable[Finding]) -> bool:
    return any(each.level == "wrong" for each in findings)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: list(SIGNS).index(each.level))


def show(console: "Console", findings: Iterable[Finding]) -> None:
    """Names and messages are others' words: control characters never reach the terminal."""
    from rich.text import Text

    found = list(findings)
    width = min(WIDEST, max((len(line(each.about)) for each in found), default=0))
    for each in found:
        sign, style = SIGNS[each.level]
        about = Text(line(each.about))
        about.truncate(width, overflow="ellipsis", pad=True)
        _hang(console, Text.assemble(f"  {sign} ", about, "  "), line(each.message), style=style)
        for words in re.split(r" (?=https?://)", line(each.remedy)) if each.remedy else ():
            lead = ADDRESS if "://" in words else width + 6  # an address wants the whole line
            _hang(console, Text(" " * lead), words)


def _hang(console: "Console", lead: "Text", words: str, style: str = "") -> None:
    """As `hang`, which leaves a line with an address in it as long as it is: here only the address itself is."""
    if "://" in words:
        room = max(console.width - lead.cell_len, 20)
        words = "\n".join(wrap(words, room, break_long_words=False, break_on_hyphens=False))
    hang(console, lead, words, style)
