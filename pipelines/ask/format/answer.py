"""How every question is answered: for people on a terminal or in a log, or with `--json` in the one envelope for
programs, and refusals likewise.
"""

import functools
import inspect
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pipelines.sync.output.summary import envelope, envelope_of, safe
from pipelines.warehouse.errors import LandingError, Locked, Unavailable
from sources.core.config import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "FAILED",
    "USAGE",
    "Answer",
    "Refusal",
    "after",
    "answer_of",
    "answered",
    "answering",
    "console",
    "nobody_was",
    "typed",
]

T = TypeVar("T")
FAILED, USAGE, LOCKED = 1, 2, 4
DAMAGED = "put its backup in its place, or move it away: the next run makes it of what was published"
NO_ROOM = "see that there is room on its disk and that you may write there; then try again"
WIDTH_IN_A_PIPE = 160  # whoever reads on there is a program or a file


class Refusal(Exception):
    """A question that cannot be answered: why, and what to do instead."""

    def __init__(self, code: str, message: str, hint: str = "", exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.exit_code = code, message, hint, exit_code


@dataclass
class Answer:
    """What is so (`data`, for programs) and how a person is shown it."""

    data: Any
    show: Callable[["Console"], None]
    meta: dict[str, Any] = field(default_factory=dict)
    exit_code: int = 0
    rows: Iterable[Any] | None = None  # in place of `data`, where there may be more than can be held


def answering(question: Callable[..., Answer]) -> Callable[..., None]:
    """Adds `--json` to a command and prints what its function returns."""

    @click.option("--json", "as_json", is_flag=True, help="One JSON envelope on stdout.")
    @functools.wraps(question)
    def command(as_json: bool, **options: Any) -> None:
        try:
            answer = answered(question, options)
        except Refusal as refusal:
            sys.exit(_refused(refusal, as_json))
        if as_json and answer.rows is not None:
            envelope_of(answer.rows, {**answer.meta, "exit_code": answer.exit_code})
        elif as_json:
            envelope(answer.exit_code == 0, answer.data, {**answer.meta, "exit_code": answer.exit_code})
        else:
            answer.show(console())
        sys.exit(answer.exit_code)

    return command


def answered(question: Callable[..., T], options: Mapping[str, Any]) -> T:
    """The answer; whatever it is that cannot be used or reached is a `Refusal`."""
    try:
        _refuse_half_characters(options.values())
        return question(**options)
    except ConfigError as error:
        raise Refusal("CONFIG", str(error), exit_code=USAGE) from error
    except Locked as error:
        raise Refusal("LOCKED", str(error), "try again when it is done", LOCKED) from error
    except (LandingError, Unavailable) as error:
        raise Refusal("UNAVAILABLE", str(error), "try again") from error
    except BrokenPipeError:  # whoever read on has gone: click ends it without a word
        raise
    except OSError as error:
        raise Refusal("FAILED", f"{error.strerror or error}: {error.filename or 'the data directory'}") from error
    except sqlite3.Error as error:
        told = f"the data directory's control.sqlite cannot be used: {error}"
        raise Refusal("FAILED", told, after(error)) from error


def answer_of(command: click.Command, *words: str, **values: Any) -> Answer:
    """A command's answer for who has no command line: values are read as typed ones are, and refused likewise."""
    try:
        with command.make_context(command.name, list(words), default_map=values) as context:
            options = {name: value for name, value in context.params.items() if name != "as_json"}
            assert command.callback
            question: Callable[..., Answer] = inspect.unwrap(command.callback)
            return answered(question, options)
    except click.UsageError as error:
        raise Refusal("USAGE", error.format_message(), exit_code=USAGE) from None


def nobody_was(where: str) -> Refusal:
    """No run has left anything to ask about."""
    return Refusal(
        "NOTHING_YET", f"no run has been {where}", "`earshot init` asks what to read; then run `earshot sync`"
    )


def after(error: sqlite3.Error) -> str:
    """What to do about it. A full disk or a lock is not the file's fault: nobody is to move it away for that."""
    is_its_fault = not isinstance(error, sqlite3.OperationalError) or "unable to open" in str(error)
    return DAMAGED if is_its_fault else NO_ROOM


def console() -> "Console":
    """No colour where it is not wanted (rich minds NO_COLOR) or not seen; no markup in other people's words."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else WIDTH_IN_A_PIPE
    return Console(markup=False, highlight=False, emoji=False, width=width, soft_wrap=False)


def typed(file: Path | None = None) -> str:
    """What stands in a file, or comes on standard input."""
    raw = sys.stdin.buffer.read() if file is None else file.read_bytes()
    try:
        text = raw.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise Refusal("USAGE", f"{file or 'standard input'} is not UTF-8", exit_code=USAGE) from None
    if "\0" in text:  # no database takes it everywhere
        raise Refusal("USAGE", f"{file or 'standard input'} is no text: there is a NUL in it", exit_code=USAGE)
    return text


def _refuse_half_characters(values: Iterable[object]) -> None:
    """Bytes that are no text arrive here as lone surrogates, which no database takes."""
    for value in values:
        if isinstance(value, tuple):
            _refuse_half_characters(value)
        elif isinstance(value, str) and not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise Refusal("USAGE", f"{value!a} is not UTF-8", exit_code=USAGE)


def _refused(refusal: Refusal, as_json: bool) -> int:
    if as_json:
        said = {"code": refusal.code, "message": refusal.message, "exit_code": refusal.exit_code}
        envelope(False, None, {**said, **({"hint": refusal.hint} if refusal.hint else {})})
    else:
        click.echo(safe(f"earshot: {refusal.message}"), err=True)
        if refusal.hint:
            click.echo(safe(refusal.hint), err=True)
    return refusal.exit_code
