"""Records as the services sent them, compressed, by source, kind, id and version.

What was not thought worth a column today can still be read tomorrow. Written before the rows are landed: a kill in
between keeps a payload too many, never one too few. `[earshot] keep_payloads = false` switches it off.
"""

import sqlite3
import threading
import zlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from sources.core.reading import Payload
from sources.core.values import json_bytes, json_record

__all__ = ["Payloads"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS payloads (
    source TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, version TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (source, kind, id, version)
) WITHOUT ROWID
"""
MANY = 16 * 2**20  # bytes that wait to be written
Packed = tuple[str, str, str, bytes]  # kind, id, version, record


@dataclass
class Payloads:
    """Packed at once, into a small part of their room, and written a chunk at a time: a transaction is milliseconds of
    the disk.
    """

    path: Path
    _waiting: list[Packed] = field(default_factory=list)
    _size: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock)  # runs extract in one thread and load in another

    def keep(self, source: str, payloads: Sequence[Payload]) -> None:
        some = [(p.kind, p.id, p.version, _packed(p.raw)) for p in payloads]
        with self._turn:
            self._waiting += some
            self._size += sum(len(body) for *_, body in some)
            if self._size >= MANY:
                self._write(source)

    def write(self, source: str) -> None:
        with self._turn:
            self._write(source)

    def _write(self, source: str) -> None:
        rows, self._waiting, self._size = [(source, *packed) for packed in self._waiting], [], 0
        if not rows:
            return
        with closing(sqlite3.connect(self.path, timeout=10)) as connection, connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(SCHEMA)
            connection.executemany("INSERT OR IGNORE INTO payloads VALUES (?, ?, ?, ?, ?)", rows)

    def read(self, source: str, kind: str, id_: str) -> list[dict[str, object]]:
        """All versions kept of one record."""
        if not self.path.exists():
            return []
        with closing(sqlite3.connect(self.path, timeout=10)) as connection:
            found = connection.execute(
                "SELECT body FROM payloads WHERE source = ? AND kind = ? AND id = ? ORDER BY version",
                (source, kind, id_),
            )
            return [json_record(zlib.decompress(body)) for (body,) in found]


def _packed(raw: object) -> bytes:
    return zlib.compress(json_bytes(raw), 6)
