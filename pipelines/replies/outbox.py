"""The outbox: answers that are to be said once, on disk before they are sent; beside the rows, as all decisions are.

planned → posted → observed | failed. One process at a time works on a token, and one machine, where several share it;
the kernel and the server drop the lock with its holder, so that nothing stale is left behind. So it is with a command,
which gets one answer: of two in other words at the same moment, or one after the other, the second finds the first.
"""

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from pipelines.state import decisions
from pipelines.warehouse.control import Control
from pipelines.warehouse.data_dir import DataDir
from sources.core.reply import Address

__all__ = ["AGAIN", "Refused", "Reply", "alone", "give_up", "note", "planned", "row_of", "said_once", "token_of"]

AGAIN = "say it again later, with the same words and token: it looks before it speaks"


class Refused(Exception):
    """An answer that was not given, and will not be without somebody's doing."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


@dataclass(frozen=True)
class Reply:
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


async def give_up(home: DataDir, token: str) -> dict[str, Any]:
    """Away with it: nobody waits for it any more. What was said of it is not unsaid. Nobody may be saying it."""
    async with alone(home, token, patience=0, told=lambda _: None):
        with decisions.writing(home) as outbox:
            rows = decisions.dicts(outbox, "answers", "WHERE token = ?", [token])
            if not rows:
                raise Refused(
                    "NOT_FOUND", f"there is no answer {token}", "`earshot status` names those nobody has heard"
                )
            outbox.rows("DELETE FROM answers WHERE token = ?", [token])
    return rows[0]


def said_once(home: DataDir, letter: Reply, keys: Sequence[str], *, is_named: bool) -> Reply:
    """The letter, if its command has no answer yet; with the token of the answer it has, if that is in the same words
    and none was `is_named` for this one; else refused. `keys`: whatever an answer may name the command by.
    """
    places = ", ".join("?" * len(keys))
    which = f"WHERE coalesce(command_key, said_key) IN ({places}) AND (status <> 'failed' OR is_unsure = 1)"
    with home.destination.control(home, writes=False) as outbox:
        there = outbox is not None and outbox.has("answers")
        rows = decisions.dicts(outbox, "answers", f"{which} ORDER BY planned_at", keys) if outbox and there else []
    if not rows or any(row["token"] == letter.token for row in rows):
        return letter
    if not is_named and (same := [row for row in rows if row["body"] == letter.body]):
        return replace(letter, token=same[0]["token"])
    known = ", ".join(str(row["url"] or f"token {row['token']}, {row['status']}") for row in rows)
    raise Refused(
        "ANSWERED", f"this command was answered already: {known}", "--again answers it once more, in other words"
    )


def planned(home: DataDir, letter: Reply) -> dict[str, Any]:
    """The outbox's row of this token, new or as it is."""
    values = {**asdict(letter), "resolves": int(letter.resolves), "planned_at": decisions.now()}
    new = {**values, "status": "planned", "attempts": 0, "is_unsure": 0, "is_over": 1}
    with decisions.writing(home) as outbox:
        places = ", ".join("?" * len(new))
        outbox.rows(f"INSERT INTO answers ({', '.join(new)}) VALUES ({places}) ON CONFLICT DO NOTHING", [*new.values()])
        _doubt(outbox, letter.token)
        row = _row(outbox, letter.token)
    # a thread can get another name: a note that somebody replies to begins one
    is_the_same_event = any(values[name] and row[name] == values[name] for name in ("said_key", "command_key"))
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


def note(home: DataDir, token: str, **columns: object) -> dict[str, Any]:
    assignments = ", ".join(f"{name} = ?" for name in columns)
    heard = "" if "resolved_at" in columns else " AND status <> 'observed'"  # which a run knows better than we
    with decisions.writing(home) as outbox:
        outbox.rows(f"UPDATE answers SET {assignments} WHERE token = ?{heard}", [*columns.values(), token])
        return _row(outbox, token)


def row_of(home: DataDir, token: str) -> dict[str, Any]:
    with decisions.writing(home) as outbox:
        return _row(outbox, token)


def _row(outbox: Control, token: str) -> dict[str, Any]:
    (row,) = decisions.dicts(outbox, "answers", "WHERE token = ?", [token])
    return row


@asynccontextmanager
async def alone(home: DataDir, name: str, *, patience: float, told: Callable[[str], None]) -> AsyncIterator[None]:
    """The only process at work on this token or command: a lock on one byte of a file, where the name tells."""
    home.create()
    place = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "big")
    descriptor = os.open(home.path / "replies.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        await _until(lambda: _locked(descriptor, place), "process", name, patience, told)
        with ExitStack() as held:  # the only machine, too, where several share an outbox
            await _until(lambda: _claimed(held, home, name), "machine", name, patience, told)
            yield
    finally:
        os.close(descriptor)


async def _until(
    is_ours: Callable[[], bool], who: str, name: str, patience: float, told: Callable[[str], None]
) -> None:
    until, is_waiting = time.monotonic() + patience, False
    while not is_ours():
        if time.monotonic() > until:
            raise Refused("LOCKED", f"another {who} is at work on {name}", AGAIN)
        if not is_waiting:
            told(f"another {who} is at work on this answer: waiting for it")
        is_waiting = True
        await asyncio.sleep(0.05)


def _locked(descriptor: int, place: int) -> bool:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError:
        return False
    return True


def _claimed(held: ExitStack, home: DataDir, name: str) -> bool:
    with ExitStack() as tried:
        is_ours = tried.enter_context(home.destination.claim(home, name))
        if is_ours:
            held.push(tried.pop_all())
    return is_ours
