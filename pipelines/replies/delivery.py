"""Answers, each said at most once: planned → posted → observed | failed.

A POST can take effect and its answer be lost: by a kill on either side, a time-out, a proxy. Nothing here tells then
whether the words are there; saying them again may double them, not saying them may lose them. So an answer is on disk,
with the attempt that is about to be made, before the first byte goes out; and whatever follows an attempt without a
clear end begins by looking: one page of what was said since it was tried. Only an attempt that cannot
take effect any more (the service has answered, or twice as long has passed as we wait for one) is made again.

Two processes with one token, or for one command: a lock on it, which the kernel drops with its holder, lets one of them
go first; the other then finds what the first has done. The same token with other words or for another place is refused:
it would hide one of two answers. Clocks: what was planned has our time, what was said the server's; how far they differ
is known from the last run, and where the server's `Date` shows something else, it is looked again.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import pendulum
from pendulum import DateTime

from pipelines.models.slash_commands import TOKEN, marker, tokens
from pipelines.replies import outbox
from pipelines.replies.outbox import Reply
from pipelines.state import decisions
from pipelines.state.ledger import clock_ahead
from pipelines.warehouse.data_dir import DataDir
from sources.core.http.client import Api, Failure, OutcomeUnknown
from sources.core.reply import Answering, Look, PostedComment
from sources.core.values import instant

__all__ = ["Sent", "check", "deliver", "worded"]

OVERLAP = 120  # seconds
BEGINNING = pendulum.datetime(2000, 1, 1)
SKEW = 60  # seconds: clocks that differ by more from what was thought are minded
TRIES = 3


@dataclass(frozen=True)
class Sent:
    """What became of an answer: the row of the outbox, and whether this call posted it."""

    row: dict[str, Any]
    is_new: bool


class Writable(Protocol):
    """A source that may be written to."""

    @property
    def source(self) -> Any: ...

    def connect_to_write(self) -> AbstractAsyncContextManager[Api]: ...


def worded(letter: Reply) -> str:
    """The body with its marker, where Markdown shows neither: at the end, unless that is inside a code block."""
    mark = marker(letter.token)
    ending = f"{letter.body.rstrip()}\n\n{mark}"
    return ending if tokens(ending) == [letter.token] else f"{mark}\n\n{letter.body.rstrip()}"


async def deliver(
    home: DataDir,
    connected: Writable,
    letter: Reply,
    *,
    timeout: float,
    told: Callable[[str], None] = lambda _: None,
    once: Callable[[Reply], Reply] | None = None,
) -> Sent:
    """Says it, unless it was said; `told` hears what is waited for. `once`: looks whether something else was said to
    the same command, while nobody else can answer it.
    """
    answering: Answering = connected.source.answers
    check(letter, answering)
    async with AsyncExitStack() as held:
        alone = partial(outbox.alone, home, patience=8 * timeout + 30, told=told)
        if letter.command_key:  # a space: no token is called so
            await held.enter_async_context(alone(f"command {letter.command_key}"))
        letter = once(letter) if once else letter
        await held.enter_async_context(alone(letter.token))  # left together: the kernel drops both with the first
        row = outbox.planned(home, letter)
        letter = replace(letter, thread=row["thread"])
        is_new = row["status"] not in ("posted", "observed")
        if is_new or (letter.resolves and not row["resolved_at"]):
            async with connected.connect_to_write() as api:
                if is_new:
                    row = await _Delivery(home, answering, api, letter, timeout, told).run(row)
                if letter.resolves and not row["resolved_at"]:
                    await _resolve(home, answering, api, letter)
        return Sent(outbox.row_of(home, letter.token), is_new)


def check(letter: Reply, answering: Answering) -> None:
    """Raises `Refused` for what would not be sent."""
    if not TOKEN.fullmatch(letter.token):
        raise outbox.Refused(
            "USAGE", f"{letter.token!r} is not a token: letters, digits, . _ : and single -, at most 128"
        )
    if not letter.body.strip():
        raise outbox.Refused("USAGE", "an answer needs words")
    if marker("")[:-4] in letter.body:
        raise outbox.Refused(
            "USAGE", "the body already carries a marker; whose words it is would not be clear", "leave it out"
        )
    if letter.resolves and not (answering.resolves and letter.thread):
        what = "is no thread that can be resolved" if answering.resolves else "cannot be resolved there by REST"
        raise outbox.Refused("USAGE", f"--resolve: what is answered {what}", "leave --resolve out")
    if why := answering.refuses(worded(letter)):
        raise outbox.Refused("REFUSED", f"not sent: {why}")


@dataclass
class _Delivery:
    home: DataDir
    answering: Answering
    api: Api
    letter: Reply
    timeout: float
    told: Callable[[str], None]

    async def run(self, row: dict[str, Any]) -> dict[str, Any]:
        for _ in range(TRIES):
            if row["is_unsure"] and (found := await self._said_already(row)):
                return self._note(status="posted", is_unsure=0, **_proof(found), posted_at=row["attempted_at"])
            now = decisions.now()
            begun = self._note(
                attempts=row["attempts"] + 1,
                is_unsure=1,
                is_over=0,
                attempted_at=now,
                status="planned",
                code=None,
                error=None,
                unsure_from=row["unsure_from"] if row["is_unsure"] else now,
            )
            if begun["status"] == "observed":  # by a run, while we looked
                return begun
            try:
                said = await self.answering.say(self.api, self.letter.address, worded(self.letter))
            except OutcomeUnknown as why:
                row = self._note(code=why.code, error=str(why), is_over=int(why.is_over))
                if row["status"] == "observed":
                    return row
                self.told(f"{why}; looking whether it is there")
                continue
            except Failure as why:
                self._note(status="failed", is_unsure=row["is_unsure"], is_over=1, code=why.code, error=str(why))
                raise outbox.Refused(
                    why.code, f"not sent: {_without_promise(why)}", outbox.AGAIN if why.until else ""
                ) from None
            return self._note(status="posted", is_unsure=0, **_proof(said), posted_at=decisions.now())
        if found := await self._said_already(row, patient=False):
            return self._note(status="posted", is_unsure=0, **_proof(found), posted_at=row["attempted_at"])
        raise outbox.Refused(row["code"] or "FETCH_ERROR", f"not known to be there: {row['error']}", outbox.AGAIN)

    async def _said_already(self, row: dict[str, Any], *, patient: bool = True) -> PostedComment | None:
        """Looks now, and, if an attempt may still be on its way, once more when it cannot be."""
        if found := await self._found(row):
            return found
        rest = 2 * self.timeout - (pendulum.now("UTC") - instant(row["attempted_at"])).total_seconds()
        if row["is_over"] or not patient or rest <= 0:
            return None
        self.told(f"an earlier attempt may still arrive: waiting {rest:.0f} s before it is made again")
        await asyncio.sleep(min(rest, 2 * self.timeout))
        return await self._found(row)

    async def _found(self, row: dict[str, Any]) -> PostedComment | None:
        since = instant(row["unsure_from"] or row["planned_at"])
        since = BEGINNING if since > pendulum.now("UTC") else since.subtract(seconds=OVERLAP)  # a wrong clock's
        ahead = self.api.ahead if self.api.ahead is not None else clock_ahead(self.home, self.letter.source)
        look = await self._look(since.subtract(seconds=round(ahead)))
        if abs((self.api.ahead or 0) - ahead) > SKEW and not _carrying(look, self.letter.token):
            look = await self._look(since.subtract(seconds=round(self.api.ahead or 0)))
        found = await self._ours(_carrying(look, self.letter.token))
        if found is None and not look.is_complete:
            raise outbox.Refused(
                "UNDECIDED",
                "so much was said there since that one page does not show whether this was",
                "run `earshot sync` more than five minutes after it was tried: it reads all; then say it again",
            )
        return found

    async def _ours(self, carrying: list[PostedComment]) -> PostedComment | None:
        """Anybody can copy a marker: only what the token's owner says with it is our answer."""
        if not carrying:
            return None
        with decisions.writing(self.home) as held:
            known = "SELECT DISTINCT author FROM answers WHERE source = ? AND author IS NOT NULL"
            names = {author for (author,) in held.rows(known, [self.letter.source])}
        if not any(said.author in names for said in carrying):
            try:
                names = {await self.answering.who(self.api) or carrying[0].author}
            except Failure as why:
                raise outbox.Refused(
                    why.code, f"cannot look whose words these are: {_without_promise(why)}", outbox.AGAIN
                ) from None
        return next((said for said in carrying if said.author in names), None)

    async def _look(self, since: DateTime) -> Look:
        try:
            return await self.answering.look(self.api, self.letter.address, since)
        except Failure as why:
            said = _without_promise(why)
            raise outbox.Refused(why.code, f"cannot look whether it was said already: {said}", outbox.AGAIN) from None

    def _note(self, **columns: object) -> dict[str, Any]:
        return outbox.note(self.home, self.letter.token, **columns)


async def _resolve(home: DataDir, answering: Answering, api: Api, letter: Reply) -> None:
    try:
        await answering.resolve(api, letter.address)  # resolving twice is resolving
    except Failure as why:
        outbox.note(home, letter.token, code=why.code, error=f"said, but the thread is not resolved: {why}")
        raise outbox.Refused(why.code, f"said, but the thread is not resolved: {why}", outbox.AGAIN) from None
    outbox.note(home, letter.token, resolved_at=decisions.now(), code=None, error=None)


def _without_promise(why: Failure) -> str:
    """Runs go on by themselves after a limit; an answer waits for somebody to say it again."""
    return f"limited until {why.until.to_datetime_string()} UTC" if why.until else str(why)


def _carrying(look: Look, token: str) -> list[PostedComment]:
    return [said for said in look.said if token in tokens(said.body)]


def _proof(said: PostedComment) -> dict[str, object]:
    return {"remote_id": said.id, "url": said.url, "author": said.author, "code": None, "error": None}
