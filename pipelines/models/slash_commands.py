"""What is written for programs between people's words: slash commands, and the markers of our own answers.

Both are read from the Markdown as it is shown: what stands in a code block or span, in a quote or in an HTML comment
was not said. A command begins a line; its line ends it, so that nothing runs on into what follows. A marker is an HTML
comment itself, `<!-- earshot:token -->`, and as a quote of one says nothing about who speaks, a quoted one is none.

The first 65,536 characters are read, up to the end of a line: GitHub and Bluesky take no more, GitLab a million. A
million characters of Markdown, nested as somebody pleases, take seconds and hundreds of megabytes to parse. Where a
line beyond that begins like a command, one row says so, so that nobody waits for it; markers beyond it are not looked
for (our own answers carry theirs where it is found).

A command is known by whose utterance it stands in, what it asks (name, arguments, options) and which of the equal ones
there it is: so it is the same one after an edit of the words around it, wherever it moves to, and answered if it was;
asking for something else makes another. Of two equal ones, of which one goes, the first stays: nobody can tell them
apart. What is taken away and put back is what it was; who wants it done again says so in a new comment.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import orjson

from sources.core.values import fingerprint

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["COLUMNS", "GIVEN", "MARKER", "TOKEN", "Command", "commands", "marker", "rows", "said_key", "tokens"]

MARKER = "<!-- earshot:"
TOKEN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:]|-(?!-)){0,127}(?<!-)")
MARKED = re.compile(rf"<!-- earshot:({TOKEN.pattern}) -->")
STAMP = re.compile(r"(?<=:)\d{8}T\d{6}Z-(?=[0-9a-f]+$)")
TICKS = re.compile(r"`+")
OPTION = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)=(?P<value>.*)", re.DOTALL)
NAME = re.compile(r"[A-Za-z][\w-]*")
LONGEST = 65_536  # characters that are read
BEYOND = f"stands beyond the first {LONGEST:,} characters, which alone are read; say it again in a comment of its own"


@dataclass(frozen=True)
class Command:
    line: str
    name: str | None  # null if none is named
    arguments: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)  # key=value
    problem: str | None = None


GIVEN = ("event_key", "parent_key", "body", "command_prefix")
COLUMNS = (
    "event_key VARCHAR, said_key VARCHAR, parent_key VARCHAR, kind VARCHAR, position BIGINT, token VARCHAR,"
    " command_key VARCHAR, line VARCHAR, name VARCHAR, arguments VARCHAR, options VARCHAR, problem VARCHAR"
)


def rows(event_key: str, parent_key: str, body: str, prefix: str) -> Iterator[tuple[object, ...]]:
    """The rows of `staging.marks` that one text gives, in the order of `COLUMNS`."""
    key, said = event_key, said_key(event_key)
    for position, token in enumerate(tokens(body), 1):
        yield key, said, parent_key, "token", position, token, None, None, None, None, None, None
    equal = Counter[str]()
    for position, one in enumerate(commands(body, prefix), 1):
        words = (orjson.dumps(value).decode() for value in (one.arguments, one.options))
        equal[asked := _asked(one)] += 1
        command_key = f"{key.rpartition(':')[0]}:command-{asked}:{equal[asked]}"
        yield key, said, parent_key, "command", position, None, command_key, one.line, one.name, *words, one.problem


def _asked(command: Command) -> str:
    """What it asks for, as who carries it out reads it: not how it is spaced."""
    return fingerprint(command.name, command.arguments, sorted(command.options.items()), command.problem)


def said_key(event_key: str) -> str:
    """An utterance in these words: an event's key without its time, which services move for other reasons too."""
    return STAMP.sub("", event_key)


def marker(token: str) -> str:
    return f"{MARKER}{token} -->"


def tokens(body: str) -> list[str]:
    """Every token marked in a body, each once, in their order."""
    found = list[str]()
    if MARKER in body:
        for text in _said(_parted(body)[0], html=True):
            found += MARKED.findall(_blanked(text, _code(text)))
    return list(dict.fromkeys(found))


def commands(body: str, prefix: str) -> list[Command]:
    """Every command in a body, in their order."""
    if prefix.casefold() not in body.casefold():
        return []
    body, rest = _parted(body)
    found = [_parsed(line, prefix) for text in _said(body, html=False) for line in _lines(text, prefix)]
    return found + _beyond(rest, prefix)


def _parted(body: str) -> tuple[str, str]:
    """What is read, and the lines that are not."""
    if len(body) <= LONGEST:
        return body, ""
    end = body.rfind("\n", 0, LONGEST) + 1
    return (body[:end], body[end:]) if end else (body[:LONGEST], body[LONGEST:].partition("\n")[2])


def _beyond(rest: str, prefix: str) -> list[Command]:
    """The first line that begins like a command; whether it stands in a code block nobody has looked."""
    ends = "" if prefix == "/" else r"(?!\S)"  # `/earshotx` is another's
    begins = re.compile(rf"[ \t]*({re.escape(prefix)}{ends}.{{0,200}})", re.IGNORECASE)
    for line in rest.splitlines():
        if found := begins.match(line):
            return [Command(found[1].rstrip(), None, problem=BEYOND)]
    return []


def _parsed(line: str, prefix: str) -> Command:
    """The words after the prefix as a shell would see them, but that nothing is expanded."""
    rest = line[len(prefix) :].strip()
    try:
        words, problem = list(_words(rest)), None
    except ValueError:
        words, problem = rest.split(), "a quote is not closed"
    if not words:
        return Command(line, None, problem="names no command")
    name, *words = words
    if not NAME.fullmatch(name):
        return Command(line, None, [name, *words], problem=f"{name[:40]!r} is no command's name")
    options = {found["name"]: found["value"] for word in words if (found := OPTION.fullmatch(word))}
    return Command(line, name.lower(), [word for word in words if not OPTION.fullmatch(word)], options, problem)


def _words(text: str) -> Iterator[str]:
    """As a shell splits them, but a backslash is itself: paths are common, escapes are not."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    return lexer


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Code spans: from a run of backticks to the next of the same length. Looked up, not searched for: somebody may
    have written thousands of runs that no other closes.
    """
    runs = [run.span() for run in TICKS.finditer(text)]
    following = dict[int, int]()  # length → where the next such run is in the list
    closing = [0] * len(runs)
    for n in range(len(runs) - 1, -1, -1):
        length = runs[n][1] - runs[n][0]
        closing[n] = following.get(length, -1)
        following[length] = n
    n = 0
    while n < len(runs):
        if closing[n] < 0:
            n += 1
            continue
        yield runs[n][0], runs[closing[n]][1]
        n = closing[n] + 1


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """HTML comments. The first that nothing closes is the last that is looked for: thousands may follow it."""
    end = 0
    while (start := text.find("<!--", end)) >= 0 and (close := text.find("-->", start + 4)) >= 0:
        end = close + 3
        yield start, end


def _lines(text: str, prefix: str) -> Iterator[str]:
    code = list(_code(text))
    comments = list(_comments(_blanked(text, code)))
    written, shown, position = _blanked(text, comments), _blanked(text, [*code, *comments]), 0
    for line in text.split("\n"):
        start, end = position + len(line) - len(line.lstrip()), position + len(line)
        position = end + 1
        if shown[start : start + len(prefix)].casefold() != prefix.casefold():
            continue
        bare = written[start:end].replace("\0", "").strip()
        after = bare[len(prefix) :]
        if prefix == "/" or not after or after[0].isspace():  # `/earshotx` is another's
            yield bare


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Nothing there, and everything else where it was."""
    shown = list(text)
    for first, end in spans:
        shown[first:end] = "\0" * (end - first)
    return "".join(shown)


def _said(body: str, *, html: bool) -> Iterator[str]:
    """Runs of text that are shown as text (or, if asked for, are HTML), without what is quoted in them."""
    source = body.replace("\r\n", "\n").replace("\r", "\n")
    lines = source.split("\n")
    for block in _markdown().parse(source):
        if block.map and (block.type == "inline" or (html and block.type == "html_block")):
            first, end = block.map
            written = lines[first:end]
            yield "\n".join("" if line.lstrip().startswith(">") else line for line in written)


@cache
def _markdown() -> "MarkdownIt":
    """Blocks only: what stands within a line is looked at by ourselves, as it was written."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable("inline")
