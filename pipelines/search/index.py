"""Full text: every document in search.sqlite, for FTS5.

The warehouse is the truth, this is made from it and can be lost. What is in it is compared by hash, so it is brought up
to date by what differs, in one transaction: a killed run leaves it as it was. Made anew it is written beside and put in
place whole. Readers look into it while it is written (WAL).
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from pipelines.search.search_query import APART, Wanted, apart

__all__ = ["CLOSE", "OPEN", "Index", "Unreadable", "is_current", "opened", "reading"]

VERSION = 2
PATIENCE = 10.0
OPEN, CLOSE = "\x02", "\x03"  # around what was found
MARKS = re.compile(f"[{APART}{OPEN}{CLOSE}]")
TOGETHER = 500  # documents of one statement
SHOWN, SHOWN_LETTERS = 24, 48  # words of a snippet; more where every letter is one
COLUMNS = [
    "document_key",
    "content_hash",
    "row_hash",
    "source",
    "kind",
    "scope",
    "scope_name",
    "number",
    "title",
    "author",
    "participants",
    "url",
    "created_at",
    "updated_at",
]
SCHEMA = f"""
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, document_key TEXT NOT NULL UNIQUE, content_hash TEXT NOT NULL, row_hash TEXT NOT NULL,
    source TEXT NOT NULL, kind TEXT NOT NULL, scope TEXT NOT NULL, scope_name TEXT, number INTEGER, title TEXT,
    author TEXT, participants TEXT NOT NULL, url TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(title, body, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(5.0, 1.0)');
INSERT INTO words (words, rank) VALUES ('hashsize', {8 * 2**20});  -- of 1 MiB, merging takes as long as indexing
PRAGMA user_version = {VERSION};
"""
LOOKED_UP = "CREATE INDEX documents_by_hash ON documents (content_hash)"  # of many at once
FOUND = """
SELECT d.*, -words.rank AS score, highlight(words, 0, '{open}', '{close}') AS shown_title,
    snippet(words, 1, '{open}', '{close}', '…', {shown}) AS snippet
FROM words INNER JOIN documents AS d ON d.id = words.rowid
WHERE words MATCH ? AND {where}
ORDER BY words.rank LIMIT ?
""".replace("{open}", OPEN).replace("{close}", CLOSE)

INSERT = f"INSERT INTO documents (id, {', '.join(COLUMNS)}) VALUES (:id, {', '.join(f':{name}' for name in COLUMNS)})"
UPDATE = f"UPDATE documents SET {', '.join(f'{name} = :{name}' for name in COLUMNS)} WHERE id = :id"

Document = Mapping[str, Any]


class Unreadable(Exception):
    """The index is damaged, or of another version."""


class Index:
    def __init__(self, connection: sqlite3.Connection, *, is_new: bool = False) -> None:
        self.connection, self.is_new = connection, is_new

    def hashes(self) -> dict[str, str]:
        return dict(self.connection.execute("SELECT document_key, row_hash FROM documents").fetchall())

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def replace(self, documents: Iterable[Document], gone: Iterable[str]) -> int:
        """These as they are now, those no longer; documents whose words were indexed."""
        written, left = 0, iter(documents)
        for key in gone:
            self._forget(key)
        while some := list(islice(left, TOGETHER)):
            written += self._put(some)
        return written

    def find(self, expression: str, where: str, values: Sequence[Any], limit: int) -> list[dict[str, Any]]:
        shown = str(SHOWN_LETTERS if APART in expression else SHOWN)
        query = FOUND.replace("{where}", where).replace("{shown}", shown)
        found = [dict(row) for row in self.connection.execute(query, [expression, *values, limit])]
        for row in found:
            for name in ("shown_title", "snippet"):
                row[name] = (row[name] or "").replace(APART, "")
        return found

    def find_all(self, wanted: Wanted, where: str, values: Sequence[Any], limit: int, few: int) -> list[dict[str, Any]]:
        """Those that have all words; where these are few, then those that have some."""
        found = [{**row, "has_all": True} for row in self.find(wanted.all_of, where, values, limit)]
        if len(found) < min(few, limit) and wanted.some_of:
            known = {row["id"] for row in found}
            more = self.find(wanted.some_of, where, values, limit)
            found += [{**row, "has_all": False} for row in more if row["id"] not in known]
        return found[:limit]

    def by_hash(self, hashes: Sequence[str], where: str, values: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
        """Documents with these words, among those that are asked for."""
        marks = ", ".join("?" * len(hashes))
        query = f"SELECT d.* FROM documents AS d WHERE d.content_hash IN ({marks}) AND {where} ORDER BY d.id"
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.connection.execute(query, [*hashes, *values]):
            found.setdefault(row["content_hash"], []).append(dict(row))
        return found

    def text(self, key: str) -> tuple[str, str] | None:
        """Title and body as they were indexed."""
        row = self.connection.execute(
            "SELECT words.title, words.body FROM documents AS d INNER JOIN words ON words.rowid = d.id"
            " WHERE d.document_key = ?",
            (key,),
        ).fetchone()
        return ((row[0] or "").replace(APART, ""), (row[1] or "").replace(APART, "")) if row else None

    def count(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    def _put(self, documents: Sequence[Document]) -> int:
        known = self._known([document["document_key"] for document in documents])
        new = [document for document in documents if document["document_key"] not in known]
        held = [(known[d["document_key"]], d) for d in documents if d["document_key"] in known]
        other = [(id_, document) for (id_, hash_), document in held if hash_ != document["content_hash"]]
        self.connection.executemany(UPDATE, [({**document, "id": id_}) for (id_, _), document in held])
        self.connection.executemany("DELETE FROM words WHERE rowid = ?", [(id_,) for id_, _ in other])
        first = self.connection.execute("SELECT coalesce(max(id), 0) + 1 FROM documents").fetchone()[0]
        numbered = list(enumerate(new, first))
        self.connection.executemany(INSERT, [{**document, "id": id_} for id_, document in numbered])
        self.connection.executemany(
            "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
            ((id_, _indexed(document["title"]), _indexed(document["body"])) for id_, document in [*other, *numbered]),
        )
        return len(other) + len(new)

    def _known(self, keys: Sequence[str]) -> dict[str, tuple[int, str]]:
        marks = ", ".join("?" * len(keys))
        held = f"SELECT document_key, id, content_hash FROM documents WHERE document_key IN ({marks})"
        return {key: (id_, hash_) for key, id_, hash_ in self.connection.execute(held, keys)}

    def _forget(self, key: str) -> None:
        row = self.connection.execute("SELECT id FROM documents WHERE document_key = ?", (key,)).fetchone()
        if row:
            self.connection.execute("DELETE FROM words WHERE rowid = ?", (row[0],))
            self.connection.execute("DELETE FROM documents WHERE id = ?", (row[0],))


@contextmanager
def opened(path: Path, *, anew: bool = False) -> Iterator[Index]:
    """For the run, which holds the lock. `anew`, or none there: it is made beside and put in place at the end.

    One thread may open it and another write it, one after the other.
    """
    if not anew and path.exists():
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            _check(connection)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = NORMAL")
            yield Index(connection)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # a full disk, a lock: not the file's fault
                raise
            raise Unreadable(str(error)) from error
        finally:
            connection.close()
        return
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    connection = sqlite3.connect(partial, isolation_level=None, check_same_thread=False)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(SCHEMA)
        yield Index(connection, is_new=True)
        connection.execute(LOOKED_UP)
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        for tail in ("-wal", "-shm"):
            path.with_name(path.name + tail).unlink(missing_ok=True)
        os.replace(partial, path)
    finally:
        connection.close()
        partial.unlink(missing_ok=True)


@contextmanager
def reading(path: Path) -> Iterator[Index]:
    """For readers; they change nothing. Where they may not even write beside it, it is read as it lies there."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        try:
            _check(connection)
        except sqlite3.OperationalError:
            connection.close()
            connection = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True, isolation_level=None)
            _check(connection)
        connection.execute("PRAGMA query_only = 1")
        connection.row_factory = sqlite3.Row
        yield Index(connection)
    except sqlite3.DatabaseError as error:
        raise Unreadable(str(error)) from error
    finally:
        connection.close()


def is_current(path: Path) -> bool:
    """Whether readers can ask it: it is there, whole at first sight, and of this version."""
    if not path.exists():
        return False
    try:
        with reading(path):
            return True
    except Unreadable:
        return False


def _indexed(text: str | None) -> str:
    if not text:
        return ""
    text = MARKS.sub("", text) if MARKS.search(text) else text
    return text if text.isascii() else apart(text)


def _check(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        raise sqlite3.DatabaseError("made by another version")
    connection.execute("SELECT id FROM documents LIMIT 1").fetchone()
