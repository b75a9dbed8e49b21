"""What a notebook that stays open asks: one short question at a time, of whatever is published by then."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any

from pipelines.ask.format.answer import Refusal
from pipelines.ask.query.control import Control, Held, read_control, read_held
from pipelines.ask.query.names import Names, names
from pipelines.ask.query.published import Published, Row, published
from pipelines.warehouse.configured import its_home
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.errors import Unavailable

__all__ = ["Bounds", "Nothing", "ask", "asking", "bounds", "control", "held", "home", "known_places", "ledger", "stamp"]

# A process's second connection to a path gets the file that its first one still holds, replaced or not: so never two
_ALONE = Lock()
PATIENCE = 10.0

BOUNDS = "SELECT min(updated_at) AS first_at, max(seen_at) AS until FROM feedback.events"


@dataclass(frozen=True)
class Nothing:
    """Why there is nothing to look at, and what to do."""

    message: str
    hint: str


@dataclass(frozen=True)
class Bounds:
    """When the first of all was said, and when we heard the last: what is later may still be on its way."""

    first_at: datetime
    until: datetime


def home() -> DataDir:
    """The project's data, also for a notebook that was opened in the project's notebooks/."""
    here = Path.cwd()
    return its_home(here if (here / ".dlt").is_dir() or not (here.parent / ".dlt").is_dir() else here.parent)


def stamp() -> str:
    """Another after every publish and every step of a run; cheap enough to be asked for every few seconds."""
    place = home()
    if place.destination.is_shared:
        return _last_word(place)
    files = (place.published, place.control, place.control.with_name(f"{place.control.name}-wal"))
    return " ".join(_mark(file) for file in files)


def ask(query: str, **values: Any) -> list[Row]:
    """A question to the published file, by itself: the file is not held between questions. Days are UTC's."""
    with asking() as warehouse:
        return warehouse.rows(query, values)


def bounds(*needed: str) -> Bounds | Nothing:
    """What there is to look at; where a notebook begins, and names the tables that it needs."""
    try:
        with asking() as warehouse:
            found = warehouse.row(BOUNDS)
            for table in needed:
                warehouse.rows(f"FROM {table} LIMIT 0")
    except Refusal as refusal:
        return Nothing(refusal.message, refusal.hint)
    if found["first_at"] is None:
        return Nothing("nothing has been said yet", "the sources were read and are silent; this page shows what comes")
    return Bounds(found["first_at"], found["until"])


def known_places() -> Names:
    """What projects are called where there are several."""
    try:
        with asking() as warehouse:
            return names(warehouse)
    except Refusal:
        return {}


def control() -> Control | Nothing:
    """What control.sqlite says now, also while a run is under way and before anything is published."""
    try:
        return read_control(home())
    except Refusal as refusal:
        return Nothing(refusal.message, refusal.hint)


def held() -> Held:
    """What the published file knows of its own completeness; nothing, where there is none to be read."""
    try:
        with _ALONE:
            return read_held(home())
    except Refusal:
        return Held()


def ledger(query: str, *values: object) -> list[Row]:
    """A question to control.sqlite, which is always as of now."""
    if not home().control.exists():  # of a runner elsewhere
        return []
    with closing(sqlite3.connect(f"{home().control.as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query, values)]


@contextmanager
def asking() -> Iterator[Published]:
    """For several questions that belong together: opening the file costs more than most of them. No `ask` within."""
    with _ALONE, published(home()) as warehouse:
        warehouse.connection.execute("SET TimeZone = 'UTC'")
        yield warehouse


def _last_word(place: DataDir) -> str:
    """When a runner last said what it did."""
    try:
        with place.destination.control(place, writes=False) as control:
            if control is None or not control.has("runners"):
                return "-"
            return " ".join(str(row) for row in control.rows("SELECT shard, told_at FROM runners ORDER BY shard"))
    except Unavailable:
        return "-"


def _mark(file: Path) -> str:
    try:
        found = file.stat()
    except OSError:
        return "-"
    return f"{found.st_ino}.{found.st_mtime_ns}.{found.st_size}"
