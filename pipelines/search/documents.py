"""The docs stage: `feedback.documents` and the full-text index brought up to date with what was touched.

What is due is remembered in the warehouse (`ops.dirty_documents`) together with the rows that made it so. A run over
everything works off all of it; a surgical one its own targets' alone, and leaves the rest as due as it was. The index
is written beside: `begun` returns when all documents are made, and what it returns is finished when they can be found.
"""

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.models import build
from pipelines.search.index import Unreadable
from pipelines.search.indexing import GIVEN, Indexing
from pipelines.settings import landed_tables
from pipelines.sync.after_load import SPARING
from pipelines.warehouse.data_dir import DataDir

__all__ = ["Documented", "begun", "document", "index_all"]

log = logging.getLogger("earshot.documents")

AT_ONCE = 1_000
INSTANT = "strftime({0} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS {0}"
ROWS = f"""
SELECT {", ".join(GIVEN)} FROM (
    SELECT *, md5(concat_ws(chr(1), content_hash, source, kind, scope, scope_name, number, author, participants, url,
        created_at, updated_at)) AS row_hash
    FROM (
        SELECT document_key, content_hash, source, kind, scope, scope_name, number, title, author, body, url,
            '|' || array_to_string(participants, '|') || '|' AS participants,
            {INSTANT.format("created_at")}, {INSTANT.format("updated_at")}
        FROM feedback.documents WHERE {{which}}
    ) AS these
) AS hashed
"""
ASKED = "document_key IN (SELECT document_key FROM asked)"
# in a file, by row: the words of all documents are not read to find a hundred (100 ms against 10)
BY_ROW = f"rowid IN (SELECT rowid FROM feedback.documents WHERE {ASKED})"


@dataclass
class Documented:
    """What was regenerated: the documents that are there now, with the hashes of their words."""

    home: DataDir
    thread: ThreadPoolExecutor  # that writes the index
    touched: dict[str, str] = field(default_factory=dict)
    owed: set[str] = field(default_factory=set)  # made, no longer due, and not on the way into the index yet
    indexing: Indexing | None = None
    unopened: Exception | None = None  # why there is no index: the documents are made all the same
    indexed: int = 0
    is_complete: bool = False  # once it is finished: nothing is due any more, in the documents and in the index

    def finish(self) -> "Documented":
        """Waits until the index has what was made."""
        if self.unopened:
            raise self.unopened
        if self.indexing:
            try:
                self.indexed = self.indexing.finish()
            except Unreadable as error:
                log.warning("%s is damaged (%s); it is made anew", self.home.search, error)
                _in_little_memory(self.home, self._remake)
        return self

    def _remake(self, config: Mapping[str, Any]) -> None:
        with self.home.destination.building(self.home, config) as connection:
            self.indexed = _index_all(self.home, self.thread, connection, anew=True)


def document(
    home: DataDir, *, only: Collection[str] | None = None, compare: bool = False, anew: bool = False
) -> Documented:
    """All of it."""
    with ThreadPoolExecutor(1) as thread:
        return begun(home, thread, only=only, compare=compare, anew=anew).finish()


def begun(
    home: DataDir, thread: ThreadPoolExecutor, *, only: Collection[str] | None = None, compare: bool = False,
    anew: bool = False,
) -> Documented:  # fmt: skip
    """`compare`: the index may differ in more than what is due now. `anew`: the model is another one since."""
    done, compare = Documented(home, thread), compare or anew
    if home.shard.is_all:  # part of the words would find part of what was said; there `earshot index` makes it
        try:
            done.indexing = _opened(home, thread, compares=compare)
        except (sqlite3.Error, OSError) as error:
            done.unopened = error
    with done.indexing or nullcontext():
        _in_little_memory(home, lambda config: _make(home, config, done, only, compare, anew))
    return done


def index_all(home: DataDir) -> int:
    """The full text of all documents that are published, where no run of this machine made it; how many changed."""
    with home.lock_here(), home.destination.published(home) as connection, ThreadPoolExecutor(1) as thread:
        if connection is None:
            return 0
        try:
            return _index_all(home, thread, connection)
        except Unreadable as error:
            log.warning("%s is damaged (%s); it is made anew", home.search, error)
            return _index_all(home, thread, connection, anew=True)


def _make(
    home: DataDir, config: Mapping[str, Any], done: Documented, only: Collection[str] | None, compare: bool, anew: bool
) -> None:
    wanted = None if only is None else set(only)
    with home.destination.building(home, config) as connection:

        def take(batch: list[str]) -> None:
            done.owed |= {key for key in batch if wanted is None or key in wanted}
            done.touched |= _put(home, connection, done.indexing, sorted(done.owed))
            done.owed.clear()

        if done.owed:
            take([])
        build.regenerate(
            connection, landed_tables(), None if anew else only, take, is_shared=home.destination.is_shared
        )
        if done.indexing:
            compare = compare or done.indexing.is_new
            left = wanted if wanted is not None else _differing(connection, done.indexing) if compare else set()
            _put_all(home, connection, done.indexing, left - done.touched.keys())
        is_due = connection.execute("SELECT 1 FROM ops.dirty_documents LIMIT 1").fetchone()
        done.is_complete = only is None or not (compare or is_due)


def _in_little_memory(home: DataDir, job: Callable[[Mapping[str, Any]], None]) -> None:
    """And with all there is, where something cannot be spilled."""
    try:
        job(SPARING)
    except duckdb.OutOfMemoryException:
        with home.destination.unbounded(home, SPARING) as config:
            job(config)


def _opened(home: DataDir, thread: ThreadPoolExecutor, *, compares: bool) -> Indexing:
    try:
        return Indexing(thread, home.search, compares=compares)
    except Unreadable as error:
        log.warning("%s is damaged (%s); it is made anew", home.search, error)
        return Indexing(thread, home.search, compares=compares, anew=True)


def _index_all(
    home: DataDir, thread: ThreadPoolExecutor, connection: duckdb.DuckDBPyConnection, *, anew: bool = False
) -> int:
    with Indexing(thread, home.search, compares=True, anew=anew) as indexing:
        _put_all(home, connection, indexing, _differing(connection, indexing))
    return indexing.finish()


def _differing(connection: duckdb.DuckDBPyConnection, indexing: Indexing) -> set[str]:
    """Documents that are not in the index as they are, and what is in it of others."""
    if not indexing.held:
        return {key for (key,) in connection.execute("SELECT document_key FROM feedback.documents").fetchall()}
    ours = dict(
        connection.execute(f"SELECT document_key, row_hash FROM ({ROWS.format(which='true')}) AS held").fetchall()
    )
    theirs = indexing.held
    return {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}


def _put_all(home: DataDir, connection: duckdb.DuckDBPyConnection, indexing: Indexing, keys: Collection[str]) -> None:
    """A few at a time: all words at once would be the warehouse in memory."""
    left = iter(sorted(keys))
    while some := list(islice(left, AT_ONCE)):
        _put(home, connection, indexing, some)


def _put(
    home: DataDir, connection: duckdb.DuckDBPyConnection, indexing: Indexing | None, keys: Sequence[str]
) -> dict[str, str]:
    """These as they are now, into the index; the hash of each one's words."""
    these = ASKED if home.destination.is_shared else BY_ROW
    with _asked(connection, keys):
        if indexing is None:
            held = f"SELECT document_key, content_hash FROM feedback.documents WHERE {these}"
            return dict(connection.execute(held).fetchall())
        rows = connection.execute(ROWS.format(which=these)).fetchall()
    hashes = {row[0]: row[1] for row in rows}
    indexing.put(rows, [key for key in keys if key not in hashes])
    return hashes


@contextmanager
def _asked(connection: duckdb.DuckDBPyConnection, keys: Collection[str]) -> Iterator[None]:
    """As a table: a hundred thousand bound one by one take six seconds."""
    connection.register("asked", pa.table({"document_key": pa.array(list(keys), pa.string())}))
    try:
        yield
    finally:
        connection.unregister("asked")
