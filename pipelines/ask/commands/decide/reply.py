"""`earshot reply`: an answer to what was said, at most once. Everything else here only reads; this writes, if a token
that may is configured under its own key.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format.answer import USAGE, Answer, Refusal, answering, typed
from pipelines.ask.format.shown import line
from pipelines.ask.query import find
from pipelines.ask.query.filters import options
from pipelines.ask.query.health import moment
from pipelines.ask.query.published import Published, Row, home, published
from pipelines.ask.query.times import instant
from pipelines.sync.output.summary import safe
from pipelines.warehouse.configured import connected

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.replies.delivery import Sent
    from pipelines.replies.outbox import Reply

__all__ = ["reply"]

TOLD = [
    "token",
    "status",
    "source",
    "scope_name",
    "parent_kind",
    "parent_number",
    "thread",
    "event_key",
    "command_key",
    "url",
    "remote_id",
    "author",
    "attempts",
    "planned_at",
    "posted_at",
    "observed_at",
    "resolved_at",
]
SAID = "SELECT * FROM feedback.events WHERE event_key = ?"
ORDERED = """
SELECT command_key, (SELECT event_key FROM feedback.commands WHERE command_key = mark.command_key) AS event_key
FROM staging.marks AS mark WHERE kind = 'command' AND command_key = ?
"""
CALLED = """
SELECT DISTINCT unnest([command_key, said_key]) AS key FROM staging.marks WHERE kind = 'command' AND command_key = ?
"""
USAGE_CODES = ("USAGE", "REFUSED", "TOKEN_TAKEN")


@click.command()
@click.argument("event_key", required=False)
@click.option("--issue", metavar="N", help="Answer this issue; `console/12` names its project too.")
@click.option("--mr", metavar="N", help="Answer this merge request.")
@click.option("--pr", metavar="N", help="Answer this pull request.")
@click.option("--body", metavar="TEXT", help="The words, as Markdown; `-` reads them from standard input.")
@click.option("--body-file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--token", metavar="TOKEN", help="What makes it this answer and no other. Default: of place and words.")
@click.option("--again", is_flag=True, help="Also where the command has its answer already.")
@click.option("--resolve", is_flag=True, help="And resolve the thread (GitLab).")
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
@click.option("--forget", metavar="TOKEN", help="Give up an answer that `status` names; nothing is sent or deleted.")
@options("project", "source")
@answering
def reply(
    event_key: str | None,
    body: str | None,
    body_file: Path | None,
    token: str | None,
    again: bool,
    resolve: bool,
    dry_run: bool,
    forget: str | None,
    issue: str | None,
    mr: str | None,
    pr: str | None,
    **asked: Any,
) -> Answer:
    """Answer an event or command in its thread, or an issue or change.

    The same words to the same place, or the same --token, are said once, however often this is called and whatever
    broke in between: a second call tells of the first answer. A command gets one answer, in whatever words, unless
    --again. Needs [sources.NAME] write_token.
    """
    from pipelines.replies.outbox import Refused, said_once

    if forget:
        if any((event_key, body, body_file, token, again, resolve, dry_run, issue, mr, pr, *asked.values())):
            raise click.UsageError("--forget TOKEN goes alone: it names the answer, and does what it says")
        return _forgotten(forget)
    named = {noun: number for noun, number in (("issue", issue), ("mr", mr), ("pr", pr)) if number}
    if len(named) + bool(event_key) != 1:
        raise click.UsageError("say what is answered: one of EVENT_KEY, --issue, --mr, --pr")
    words = _words(body, body_file)
    with published() as warehouse:
        where = _heard(warehouse, event_key) if event_key else _parent(warehouse, named, asked)
    letter = _letter(where, words, token, resolve)
    if again and not letter.command_key:
        raise click.UsageError("--again is for a command that has an answer: name its command_key")
    once = None
    if letter.command_key and not again:
        once = partial(said_once, home(), keys=where["called"], is_named=token is not None)
    try:
        return _dry(once(letter) if once else letter) if dry_run else _send(letter, once)
    except Refused as why:
        raise Refusal(why.code, str(why), why.hint, USAGE if why.code in USAGE_CODES else 1) from None


def _forgotten(token: str) -> Answer:
    from pipelines.replies.outbox import Refused, give_up

    try:
        row = asyncio.run(give_up(home(), token))
    except Refused as why:
        raise Refusal(why.code, str(why), why.hint) from None
    told = f"forgotten: {line(token)} on {line(row['scope_name'])} {row['parent_number']}, {row['status']}"
    return Answer({name: row[name] for name in TOLD}, lambda console: console.print(told, soft_wrap=True))


def _words(body: str | None, file: Path | None) -> str:
    if (body is None) == (file is None):
        raise click.UsageError("say the words: one of --body, --body-file")
    if file is not None:
        return typed(file)
    return typed() if body == "-" else str(body)


def _heard(warehouse: Published, key: str) -> Row:
    ordered = warehouse.rows(ORDERED, [key])
    rows = warehouse.rows(SAID, [ordered[0]["event_key"] if ordered else key])
    if not rows:
        raise Refusal(
            "NOT_FOUND", f"nobody has heard of {key!r}", "`earshot list events --json` tells the keys.", USAGE
        )
    row = rows[0]
    if row["is_deleted"]:
        raise Refusal("GONE", f"{key} was deleted: there is nothing to answer")
    thread = row["thread_id"].removeprefix(f"{row['parent_key']}:")
    is_thread = thread not in (row["thread_id"], "conversation")
    command_key = ordered[0]["command_key"] if ordered else None
    called = [each["key"] for each in warehouse.rows(CALLED, [command_key])]
    return {**row, "thread": thread if is_thread else None, "command_key": command_key, "called": called}


def _parent(warehouse: Published, named: dict[str, str], asked: dict[str, Any]) -> Row:
    [(noun, number)] = named.items()
    row = find.parent(warehouse, noun, number, asked)
    return {**row, "parent_kind": row["kind"], "parent_number": row["number"]}


def _letter(where: Row, words: str, token: str | None, resolve: bool) -> "Reply":
    from pipelines.models.slash_commands import said_key
    from pipelines.replies.outbox import Reply, token_of

    if where["parent_number"] is None:
        raise Refusal("UNSUPPORTED", f"Earshot does not answer on {where['source']}", exit_code=USAGE)
    event_key, command_key = where.get("event_key"), where.get("command_key")
    said = said_key(event_key) if event_key else None
    target = command_key or said or where["parent_key"]
    return Reply(
        token=token or token_of(target, words.rstrip()),
        source=where["source"],
        scope=where["scope"],
        scope_name=where["scope_name"],
        parent_key=where["parent_key"],
        parent_kind=where["parent_kind"],
        parent_number=where["parent_number"],
        body=words.rstrip(),
        thread=where.get("thread"),
        event_key=event_key,
        said_key=said,
        command_key=command_key,
        resolves=resolve,
    )


def _dry(letter: "Reply") -> Answer:
    from pipelines.replies.delivery import check, worded

    there = connected(home(), letter.source)
    check(letter, there.source.answers)
    sent = worded(letter)
    may = bool(there.source.answers.write_headers)
    data = {**{name: getattr(letter, name, None) for name in TOLD}, "status": "dry run", "body": sent, "may_write": may}

    def show(console: "Console") -> None:
        console.print(f"would be said on {_place(letter)}, token {letter.token}:", soft_wrap=True)
        for text in sent.splitlines():
            console.print(f"  {safe(text)}", soft_wrap=True)
        if not may:
            console.print(f"but no write_token is set for {letter.source}: answering is off")

    return Answer(data, show)


def _send(letter: "Reply", once: "Callable[[Reply], Reply] | None") -> Answer:
    from pipelines.replies.delivery import deliver

    there = connected(home(), letter.source)
    if not there.source.answers.write_headers:
        name = f"SOURCES__{letter.source.upper()}__WRITE_TOKEN"
        raise Refusal(
            "READ_ONLY",
            f"answering on {letter.source} is off: no write_token is set",
            f"[sources.{letter.source}] write_token in .dlt/secrets.toml, or {name} in the environment",
            USAGE,
        )
    timeout = there.config.timeout_seconds
    sent = asyncio.run(deliver(home(), there, letter, timeout=timeout, told=_told, once=once))
    data = {**{name: sent.row[name] for name in TOLD}, "is_new": sent.is_new}
    return Answer(data, lambda console: console.print(_outcome(letter, sent), soft_wrap=True))


def _outcome(letter: "Reply", sent: "Sent") -> str:
    resolved = ", and the thread is resolved" if sent.row["resolved_at"] else ""
    where = line(sent.row["url"]) or _place(letter)
    if sent.is_new:
        return f"said on {where}{resolved}"
    when = instant(moment(sent.row["posted_at"] or sent.row["planned_at"]))
    return f"already said on {when}: {where}{resolved}; nothing was posted"


def _place(letter: "Reply") -> str:
    where = line(f"{letter.scope_name}/{letter.parent_number}")
    return f"{where}, in thread {line(letter.thread)}" if letter.thread else where


def _told(message: str) -> None:
    click.echo(f"earshot: {safe(message)}", err=True)
