"""Vectors of words, in vectors.sqlite: by the hash of a document's words, the model, and the part of the document.

A part whose very words were embedded before, in whatever document or version of it, is copied, not embedded again. What
failed is kept beside with its reason, and is tried again after a while. A lock of its own lets one process embed.
"""

import fcntl
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pendulum

from pipelines.search.chunks import Chunk
from pipelines.search.packed import drop_ahead

__all__ = ["Vectors", "WrongDimension", "opened_vectors", "text_hash"]

PATIENCE = 10.0
LONGEST_WAIT = 86_400
SCHEMA = """
CREATE TABLE IF NOT EXISTS models (model TEXT PRIMARY KEY, dimension INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY, content_hash TEXT NOT NULL, model TEXT NOT NULL, chunk INTEGER NOT NULL,
    start INTEGER NOT NULL, text_hash TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (content_hash, model, chunk)
);
CREATE INDEX IF NOT EXISTS vectors_by_text ON vectors (text_hash, model);
CREATE TABLE IF NOT EXISTS embedded (
    content_hash TEXT NOT NULL, model TEXT NOT NULL, chunks INTEGER NOT NULL, PRIMARY KEY (content_hash, model)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (
    content_hash TEXT NOT NULL, model TEXT NOT NULL, message TEXT NOT NULL, attempts INTEGER NOT NULL,
    last_at TEXT NOT NULL, retry_at TEXT NOT NULL, PRIMARY KEY (content_hash, model)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS numbering (born TEXT NOT NULL, last INTEGER NOT NULL);
INSERT INTO numbering
SELECT lower(hex(randomblob(16))), (SELECT coalesce(max(id), 0) FROM vectors)
WHERE NOT EXISTS (SELECT 1 FROM numbering);
"""


class WrongDimension(Exception):
    """Vectors of another length than this model's others."""


@dataclass
class Vectors:
    connection: sqlite3.Connection

    def dimension(self, model: str) -> int | None:
        row = self.connection.execute("SELECT dimension FROM models WHERE model = ?", (model,)).fetchone()
        return row[0] if row else None

    def embedded(self, model: str) -> set[str]:
        found = self.connection.execute("SELECT content_hash FROM embedded WHERE model = ?", (model,))
        return {hash_ for (hash_,) in found}

    def waiting(self, model: str) -> set[str]:
        """What failed, and is not yet to be tried again. What failed later than now did so by a wrong clock."""
        now, query = _now().to_iso8601_string(), "SELECT content_hash FROM failures WHERE model = ? AND retry_at > ?"
        return {hash_ for (hash_,) in self.connection.execute(f"{query} AND last_at <= ?", (model, now, now))}

    def known(self, model: str, text: str) -> bytes | None:
        row = self.connection.execute(
            "SELECT vector FROM vectors WHERE text_hash = ? AND model = ? LIMIT 1", (text_hash(text), model)
        ).fetchone()
        return row[0] if row else None

    def keep(self, content_hash: str, model: str, parts: Sequence[Chunk], vectors: Sequence[bytes]) -> None:
        """All parts of a document at once: there is no half-embedded one."""
        with self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            lengths = dict.fromkeys(len(vector) // 4 for vector in vectors)  # some may be copies of earlier ones
            self.connection.execute("INSERT OR IGNORE INTO models VALUES (?, ?)", (model, next(iter(lengths))))
            held = self.dimension(model)
            if other := lengths.keys() - {held}:
                told = f"{model} gives {max(other)} numbers, its other vectors have {held}"
                raise WrongDimension(f"{told}; if that is meant, remove vectors.sqlite: all is embedded anew")
            given = "UPDATE numbering SET last = last + ? RETURNING last"  # never given again: see packed.py
            first = self.connection.execute(given, (len(parts),)).fetchone()[0] - len(parts) + 1
            self.connection.executemany(
                "INSERT OR REPLACE INTO vectors (id, content_hash, model, chunk, start, text_hash, vector)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (first + number, content_hash, model, number, part.start, text_hash(part.text), vector)
                    for number, (part, vector) in enumerate(zip(parts, vectors, strict=True))
                ],
            )
            self.connection.execute(
                "INSERT OR REPLACE INTO embedded VALUES (?, ?, ?)", (content_hash, model, len(parts))
            )
            self.connection.execute("DELETE FROM failures WHERE content_hash = ? AND model = ?", (content_hash, model))

    def failed(self, content_hash: str, model: str, message: str) -> None:
        """Every failed attempt doubles the wait for the next, up to a day."""
        query = "SELECT attempts FROM failures WHERE content_hash = ? AND model = ?"
        row = self.connection.execute(query, (content_hash, model)).fetchone()
        attempts = (row[0] if row else 0) + 1
        now = _now()
        again = now.add(seconds=min(LONGEST_WAIT, 300 * 2 ** min(attempts - 1, 9)))
        with self.connection:
            self.connection.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?)",
                (content_hash, model, message[:300], attempts, now.to_iso8601_string(), again.to_iso8601_string()),
            )

    def forget_but(self, held: set[str]) -> None:
        """Words that are in no document any more."""
        known = {hash_ for (hash_,) in self.connection.execute("SELECT content_hash FROM embedded")}
        gone = [(hash_,) for hash_ in known - held]
        with self.connection:
            for table in ("vectors", "embedded", "failures"):
                self.connection.executemany(f"DELETE FROM {table} WHERE content_hash = ?", gone)


@contextmanager
def opened_vectors(path: Path) -> Iterator[Vectors | None]:
    """None: another process is embedding."""
    with open(path.with_name("vectors.lock"), "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        try:
            connection = _connected(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            for tail in ("", "-wal", "-shm"):  # damaged: made anew, at the price of embedding again
                path.with_name(path.name + tail).unlink(missing_ok=True)
            connection = _connected(path)
        try:
            drop_ahead(path.with_suffix(".packed"), connection)
            yield Vectors(connection)
        finally:
            connection.close()


def text_hash(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _now() -> pendulum.DateTime:
    return pendulum.now("UTC")
