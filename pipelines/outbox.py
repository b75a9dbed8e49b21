"""Answers, each said at most once: planned → posted → observed | failed.

A POST can take effect and its answer be lost: by a kill on either side, a time-out, a proxy. Nothing here tells then
whether the words are there; saying them again may double them, not saying them may lose them. So an answer is on disk,
with the attempt that is about to be made, before the first byte goes out; and whatever follows an attempt without a
clear end begins by looking: one page of what was said since it was tried. Only an attempt that cannot
take effect any more (the service has answered, or twice as long has passed as we wait for one) is made again.

Two processes with one token: a lock on the token, which the kernel drops with its holder, lets one of them go first;
the other then finds what the first has done. The same token with other words or for another place is refused: it would
hide one of two answers. Clocks: what was planned has our time, what was said the server's; how far they differ is known
from the last run, and where the server's `Date` shows something else, it is looked again.
"""

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import pendulum
from pendulum import DateTime

from pipelines import control
from pipelines.ledger import clock_ahead
from pipelines.marks import TOKEN, marker, tokens
from pipelines.warehouse import Home
from sources.answering import Address, Answering, Look, Said
from sources.http import Api, Failure, Unsure

__all__ = ["Letter", "Refused", "Sent", "check", "deliver", "give_up", "token_of", "worded"]

OVERLAP = 120  # seconds
SKEW = 60  # seconds: clocks that differ by more from what was thought are minded
TRIES = 3


class Refused(Exception):
    """An answer that was not given, and will not be without somebody's doing."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


@dataclass(frozen=True)
class Letter:
    """An answer and where it belongs."""

    token: str
    source: str
    scope: str
    scope_name: str
    parent_key: str
    parent_kind: str
    parent_number: int
    body: str
    thread: str | None = None
    event_key: str | None = None
    said_key: str | None = None  # the event, whatever its time
    command_key: str | None = None
    resolves: bool = False

    @property
    def address(self) -> Address:
        return Address(self.scope, self.scope_name, self.parent_kind, self.parent_number, self.thread)


@dataclass(frozen=True)
class Sent:
    """What became of an answer: the row of the outbox, and whether this call posted it."""

    row: dict[str, Any]
    is_new: bool


class Writable(Protocol):
    """A source that may be written to."""

    source: Any

    def connect_to_write(self) -> AbstractAsyncContextManager[Api]: ...


def token_of(target: str, body: str) -> str:
    """Without one of the caller's own: the same words to the same place are the same answer."""
    return hashlib.blake2b(f"{target}\n{body}".encode(), digest_size=10).hexdigest()


def give_up(home: Home, token: str) -> dict[str, Any]:
    """Away with it: nobody waits for it any more. What was said of it is not unsaid."""
    with control.writing(home) as outbox:
        rows = control.dicts(outbox, "answers", "WHERE token = ?", [token])
        if not rows:
            raise Refused("NOT_FOUND", f"there is no answer {token}", "`earshot status` names those nobody has heard")
        outbox.rows("DELETE FROM answers WHERE token = ?", [token])
    return rows[0]


def worded(letter: Letter) -> str:
    """The body with its marker, where Markdown shows neither: at the end, unless that is inside a code block."""
    mark = marker(letter.token)
    ending = f"{letter.body.rstrip()}\n\n{mark}"
    return ending if tokens(ending) == [letter.token] else f"{mark}\n\n{letter.body.rstrip()}"


async def deliver(
    home: Home, connected: Writable, letter: Letter, *, timeout: float, told: Callable[[str], None] = lambda _: None
) -> Sent:
    """Says it, unless it was said; `told` hears what is waited for."""
    answering: Answering = connected.source.answers
    check(letter, answering)
    async with _alone(home, letter.token, patience=8 * timeout + 30, told=told):
        row = _planned(home, letter)
        letter = replace(letter, thread=row["thread"])
        is_new = row["status"] not in ("posted", "observed")
        if is_new or (letter.resolves and not row["resolved_at"]):
            async with connected.connect_to_write() as api:
                if is_new:
                    row = await _Delivery(home, answering, api, letter, timeout, told).run(row)
                if letter.resolves and not row["resolved_at"]:
                    await _resolve(home, answering, api, letter)
        return Sent(_row(home, letter.token), is_new)


def check(letter: Letter, answering: Answering) -> None:
    """Raises `Refused` for what would not be sent."""
    if not TOKEN.fullmatch(letter.token):
        raise Refused("USAGE", f"{letter.token!r} is not a token: letters, digits, . _ : and single -, at most 128")
    if not letter.body.strip():
        raise Refused("USAGE", "an answer needs words")
    if marker("")[:-4] in letter.body:
        raise Refused(
            "USAGE", "the body already carries a marker; whose words it is would not be clear", "leave it out"
        )
    if letter.resolves and not (answering.resolves and letter.thread):
        what = "is no thread that can be resolved" if answering.resolves else "cannot be resolved there by REST"
        raise Refused("USAGE", f"--resolve: what is answered {what}", "leave --resolve out")
    if why := answering.refuses(worded(letter)):
        raise Refused("REFUSED", f"not sent: {why}")


@dataclass
class _Delivery:
    home: Home
    answering: Answering
    api: Api
    letter: Letter
    timeout: float
    told: Callable[[str], None]

    async def run(self, row: dict[str, Any]) -> dict[str, Any]:
        for _ in range(TRIES):
            if row["status"] == "observed":  # a run has heard it in the meantime
                return row
            if row["is_unsure"] and (found := await self._said_already(row)):
                return self._note(status="posted", is_unsure=0, **_proof(found), posted_at=row["attempted_at"])
            now = control.now()
            self._note(
                attempts=row["attempts"] + 1, is_unsure=1, is_over=0, attempted_at=now, status="planned", code=None,
                error=None, unsure_from=row["unsure_from"] if row["is_unsure"] else now,
            )  # fmt: skip
            try:
                said = await self.answering.say(self.api, self.letter.address, worded(self.letter))
            except Unsure as why:
                row = self._note(code=why.code, error=str(why), is_over=int(why.is_over))
                self.told(f"{why}; looking whether it is there")
                continue
            except Failure as why:
                self._note(status="failed", is_unsure=row["is_unsure"], is_over=1, code=why.code, error=str(why))
                raise Refused(why.code, f"not sent: {_without_promise(why)}", AGAIN if why.until else "") from None
            return self._note(status="posted", is_unsure=0, **_proof(said), posted_at=control.now())
        if found := await self._said_already(row, patient=False):
            return self._note(status="posted", is_unsure=0, **_proof(found), posted_at=row["attempted_at"])
        raise Refused(row["code"] or "FETCH_ERROR", f"not known to be there: {row['error']}", AGAIN)

    async def _said_already(self, row: dict[str, Any], *, patient: bool = True) -> Said | None:
        """Looks now, and, if an attempt may still be on its way, once more when it cannot be."""
        if found := await self._found(row):
            return found
        rest = 2 * self.timeout - (pendulum.now("UTC") - _instant(row["attempted_at"])).total_seconds()
        if row["is_over"] or not patient or rest <= 0:
            return None
        self.told(f"an earlier attempt may still arrive: waiting {rest:.0f} s before it is made again")
        await asyncio.sleep(min(rest, 2 * self.timeout))
        return await self._found(row)

    async def _found(self, row: dict[str, Any]) -> Said | None:
        since = _instant(row["unsure_from"] or row["planned_at"]).subtract(seconds=OVERLAP)
        ahead = self.api.ahead if self.api.ahead is not None else self._ahead_last_time()
        look = await self._look(since.subtract(seconds=round(ahead)))
        if abs((self.api.ahead or 0) - ahead) > SKEW and not _carrying(look, self.letter.token):
            look = await self._look(since.subtract(seconds=round(self.api.ahead or 0)))
        found = await self._ours(_carrying(look, self.letter.token))
        if found is None and not look.is_complete:
            raise Refused(
                "UNDECIDED", "so much was said there since that one page does not show whether this was",
                "run `earshot sync` more than five minutes after it was tried: it reads all; then say it again",
            )  # fmt: skip
        return found

    def _ahead_last_time(self) -> float:
        return clock_ahead(self.home, self.letter.source)

    async def _ours(self, carrying: list[Said]) -> Said | None:
        """Anybody can copy a marker: only what the token's owner says with it is our answer."""
        if not carrying:
            return None
        with control.writing(self.home) as outbox:
            known = "SELECT DISTINCT author FROM answers WHERE source = ? AND author IS NOT NULL"
            names = {author for (author,) in outbox.rows(known, [self.letter.source])}
        if not any(said.author in names for said in carrying):
            try:
                names = {await self.answering.who(self.api) or carrying[0].author}
            except Failure as why:
                raise Refused(why.code, f"cannot look whose words these are: {_without_promise(why)}", AGAIN) from None
        return next((said for said in carrying if said.author in names), None)

    async def _look(self, since: DateTime) -> Look:
        try:
            return await self.answering.look(self.api, self.letter.address, since)
        except Failure as why:
            said = _without_promise(why)
            raise Refused(why.code, f"cannot look whether it was said already: {said}", AGAIN) from None

    def _note(self, **columns: object) -> dict[str, Any]:
        return _note(self.home, self.letter.token, **columns)


AGAIN = "say it again later, with the same words and token: it looks before it speaks"


async def _resolve(home: Home, answering: Answering, api: Api, letter: Letter) -> None:
    try:
        await answering.resolve(api, letter.address)  # resolving twice is resolving
    except Failure as why:
        _note(home, letter.token, code=why.code, error=f"said, but the thread is not resolved: {why}")
        raise Refused(why.code, f"said, but the thread is not resolved: {why}", AGAIN) from None
    _note(home, letter.token, resolved_at=control.now(), code=None, error=None)


def _without_promise(why: Failure) -> str:
    """Runs go on by themselves after a limit; an answer waits for somebody to say it again."""
    return f"limited until {why.until.to_datetime_string()} UTC" if why.until else str(why)


def _carrying(look: Look, token: str) -> list[Said]:
    return [said for said in look.said if token in tokens(said.body)]


def _planned(home: Home, letter: Letter) -> dict[str, Any]:
    """The outbox's row of this token, new or as it is."""
    values = {**asdict(letter), "resolves": int(letter.resolves), "planned_at": control.now()}
    new = {**values, "status": "planned", "attempts": 0, "is_unsure": 0, "is_over": 1}
    with control.writing(home) as outbox:
        places = ", ".join("?" * len(new))
        outbox.rows(f"INSERT INTO answers ({', '.join(new)}) VALUES ({places}) ON CONFLICT DO NOTHING", [*new.values()])
        (row,) = control.dicts(outbox, "answers", "WHERE token = ?", [letter.token])
    # a thread can get another name: a note that somebody replies to begins one
    is_the_same_event = letter.said_key is not None and row["said_key"] == letter.said_key
    same = ("source", "scope", "parent_key", "body", *(() if is_the_same_event else ("thread",)))
    if any(row[name] != values[name] for name in same):
        where = f"{row['scope_name']} {row['parent_number']}"
        raise Refused(
            "TOKEN_TAKEN", f"token {letter.token} stands for another answer, on {where}", "take another token"
        )
    return row


def _note(home: Home, token: str, **columns: object) -> dict[str, Any]:
    assignments = ", ".join(f"{name} = ?" for name in columns)
    heard = "" if "resolved_at" in columns else " AND status <> 'observed'"  # which a run knows better than we
    with control.writing(home) as outbox:
        outbox.rows(f"UPDATE answers SET {assignments} WHERE token = ?{heard}", [*columns.values(), token])
    return _row(home, token)


def _row(home: Home, token: str) -> dict[str, Any]:
    with control.writing(home) as outbox:
        (row,) = control.dicts(outbox, "answers", "WHERE token = ?", [token])
    return row


def _proof(said: Said) -> dict[str, object]:
    return {"remote_id": said.id, "url": said.url, "author": said.author, "code": None, "error": None}


def _instant(text: str) -> DateTime:
    parsed = pendulum.parse(text)
    assert isinstance(parsed, DateTime)
    return parsed


@asynccontextmanager
async def _alone(home: Home, token: str, *, patience: float, told: Callable[[str], None]) -> AsyncIterator[None]:
    """The only process at work on this token: a lock on one byte of a file, at a place that the token names."""
    home.create()
    place = int.from_bytes(hashlib.blake2b(token.encode(), digest_size=7).digest(), "big")
    descriptor, until, is_waiting = os.open(home.path / "replies.lock", os.O_RDWR | os.O_CREAT, 0o600), None, False
    try:
        while True:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                break
            except OSError:
                until = until or time.monotonic() + patience
                if time.monotonic() > until:
                    raise Refused("LOCKED", f"another process is at work on {token}", AGAIN) from None
                if not is_waiting:
                    told("another process is at work on this token: waiting for it")
                is_waiting = True
                await asyncio.sleep(0.05)
        yield
    finally:
        os.close(descriptor)
