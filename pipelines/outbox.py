"""The outbox: answers that are to be said once, on disk before they are sent; beside the rows, as all decisions are.

planned → posted → observed | failed. One process at a time works on a token, and one machine, where several share it;
the kernel and the server drop the lock with its holder, so that nothing stale is left behind.
"""

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

from pipelines import control
from pipelines.destinations.control import Control
from pipelines.warehouse import Home
from sources.answering import Address

__all__ = ["AGAIN", "Letter", "Refused", "alone", "give_up", "note", "planned", "row_of", "token_of"]

AGAIN = "say it again later, with the same words and token: it looks before it speaks"


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


def token_of(target: str, body: str) -> str:
    """Without one of the caller's own: the same words to the same place are the same answer."""
    return hashlib.blake2b(f"{target}\n{body}".encode(), digest_size=10).hexdigest()


async def give_up(home: Home, token: str) -> dict[str, Any]:
    """Away with it: nobody waits for it any more. What was said of it is not unsaid. Nobody may be saying it."""
    async with alone(home, token, patience=0, told=lambda _: None):
        with control.writing(home) as outbox:
            rows = control.dicts(outbox, "answers", "WHERE token = ?", [token])
            if not rows:
                raise Refused(
                    "NOT_FOUND", f"there is no answer {token}", "`earshot status` names those nobody has heard"
                )
            outbox.rows("DELETE FROM answers WHERE token = ?", [token])
    return rows[0]


def planned(home: Home, letter: Letter) -> dict[str, Any]:
    """The outbox's row of this token, new or as it is."""
    values = {**asdict(letter), "resolves": int(letter.resolves), "planned_at": control.now()}
    new = {**values, "status": "planned", "attempts": 0, "is_unsure": 0, "is_over": 1}
    with control.writing(home) as outbox:
        places = ", ".join("?" * len(new))
        outbox.rows(f"INSERT INTO answers ({', '.join(new)}) VALUES ({places}) ON CONFLICT DO NOTHING", [*new.values()])
        _doubt(outbox, letter.token)
        row = _row(outbox, letter.token)
    # a thread can get another name: a note that somebody replies to begins one
    is_the_same_event = letter.said_key is not None and row["said_key"] == letter.said_key
    same = ("source", "scope", "parent_key", "body", *(() if is_the_same_event else ("thread",)))
    if any(row[name] != values[name] for name in same):
        where = f"{row['scope_name']} {row['parent_number']}"
        raise Refused(
            "TOKEN_TAKEN", f"token {letter.token} stands for another answer, on {where}", "take another token"
        )
    return row


def _doubt(outbox: Control, token: str) -> None:
    """Where this outbox came back from a copy: what it does not know of, or knows as not sent, may have been sent
    after the copy was made. It is looked for before it is said; what was tried since then is known again.
    """
    as_of, restored_at = outbox.rows("SELECT min(as_of), max(restored_at) FROM restorations")[0]
    if as_of is None:
        return
    outbox.rows(
        "UPDATE answers SET status = 'planned', is_unsure = 1, is_over = 0, attempted_at = ?,"
        " unsure_from = CASE WHEN unsure_from < ? THEN unsure_from ELSE ? END"
        " WHERE token = ? AND status IN ('planned', 'failed') AND (attempted_at IS NULL OR attempted_at < ?)",
        [restored_at, as_of, as_of, token, restored_at],
    )


def note(home: Home, token: str, **columns: object) -> dict[str, Any]:
    assignments = ", ".join(f"{name} = ?" for name in columns)
    heard = "" if "resolved_at" in columns else " AND status <> 'observed'"  # which a run knows better than we
    with control.writing(home) as outbox:
        outbox.rows(f"UPDATE answers SET {assignments} WHERE token = ?{heard}", [*columns.values(), token])
        return _row(outbox, token)


def row_of(home: Home, token: str) -> dict[str, Any]:
    with control.writing(home) as outbox:
        return _row(outbox, token)


def _row(outbox: Control, token: str) -> dict[str, Any]:
    (row,) = control.dicts(outbox, "answers", "WHERE token = ?", [token])
    return row


@asynccontextmanager
async def alone(home: Home, token: str, *, patience: float, told: Callable[[str], None]) -> AsyncIterator[None]:
    """The only process at work on this token: a lock on one byte of a file, at a place that the token names."""
    home.create()
    place = int.from_bytes(hashlib.blake2b(token.encode(), digest_size=7).digest(), "big")
    descriptor = os.open(home.path / "replies.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        await _until(lambda: _locked(descriptor, place), "process", token, patience, told)
        with ExitStack() as held:  # the only machine, too, where several share an outbox
            await _until(lambda: _claimed(held, home, token), "machine", token, patience, told)
            yield
    finally:
        os.close(descriptor)


async def _until(
    is_ours: Callable[[], bool], who: str, token: str, patience: float, told: Callable[[str], None]
) -> None:
    until, is_waiting = time.monotonic() + patience, False
    while not is_ours():
        if time.monotonic() > until:
            raise Refused("LOCKED", f"another {who} is at work on {token}", AGAIN)
        if not is_waiting:
            told(f"another {who} is at work on this token: waiting for it")
        is_waiting = True
        await asyncio.sleep(0.05)


def _locked(descriptor: int, place: int) -> bool:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError:
        return False
    return True


def _claimed(held: ExitStack, home: Home, token: str) -> bool:
    with ExitStack() as tried:
        is_ours = tried.enter_context(home.destination.claim(home, token))
        if is_ours:
            held.push(tried.pop_all())
    return is_ours
