"""The docs stage: `feedback.documents` and the full-text index brought up to date with what was touched.

What is due is remembered in the warehouse (`ops.dirty_documents`) together with the rows that made it so. A run over
everything works off all of it; a surgical one its own targets' alone, and leaves the rest as due as it was.
"""

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from pipelines import models
from pipelines.index import Index, Unreadable, opened
from pipelines.making import SPARING
from pipelines.settings import landed_tables
from pipelines.warehouse import Home, as_dicts

__all__ = ["Documented", "document", "index_all"]

log = logging.getLogger("earshot.documents")

AT_ONCE = 500
INSTANT = "strftime({0} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS {0}"
ROWS = f"""
SELECT *, md5(concat_ws(chr(1), content_hash, source, kind, scope, scope_name, number, author, participants, url,
    created_at, updated_at)) AS row_hash
FROM (
    SELECT document_key, content_hash, source, kind, scope, scope_name, number, title, author, body, url,
        '|' || array_to_string(participants, '|') || '|' AS participants,
        {INSTANT.format("created_at")}, {INSTANT.format("updated_at")}
    FROM feedback.documents WHERE {{which}}
) AS these
"""
ASKED = "document_key IN (SELECT document_key FROM asked)"
# in a file, by row: the words of all documents are not read to find a hundred (100 ms against 10)
BY_ROW = f"rowid IN (SELECT rowid FROM feedback.documents WHERE {ASKED})"


@dataclass
class Documented:
    """Keys of the documents that were regenerated, with the hashes of their words as they are now."""

    touched: dict[str, str] = field(default_factory=dict)
    indexed: int = 0
    is_complete: bool = False  # nothing is due any more, in the documents and in the index


def document(
    home: Home, *, only: Collection[str] | None = None, compare: bool = False, anew: bool = False
) -> Documented:
    """`compare`: the index may differ in more than what is due now. `anew`: the model is another one since."""
    try:
        return _document(home, SPARING, only, compare, anew)
    except duckdb.OutOfMemoryException:
        with home.destination.unbounded(home, SPARING) as config:
            return _document(home, config, only, compare, anew)


def _document(
    home: Home, config: Mapping[str, Any], only: Collection[str] | None, compare: bool, anew: bool
) -> Documented:
    is_shared = home.destination.is_shared
    with home.destination.building(home, config) as connection:
        due = models.regenerate(connection, landed_tables(), None if anew else only, is_shared=is_shared)
        done = Documented(_hashes(connection, due if only is None else [key for key in due if key in set(only)]))
        if home.shard.is_all:
            _indexed(home, connection, done, due, only, compare or anew)
        else:  # a part of the words would find a part of what was said: `earshot index`, where people search
            done.is_complete = only is None
    return done


def index_all(home: Home) -> int:
    """The full text of all documents that are published, where no run of this machine made it; how many changed."""
    done = Documented()
    home.create()
    with home.destination.published(home) as connection:
        if connection is not None:
            _indexed(home, connection, done, [], None, compare=True)
    return done.indexed


def _indexed(
    home: Home, connection: duckdb.DuckDBPyConnection, done: Documented, due: list[str],
    only: Collection[str] | None, compare: bool,
) -> None:  # fmt: skip
    try:
        _index(home, connection, done, due, only, compare)
    except Unreadable as error:
        log.warning("%s is damaged (%s); it is made anew", home.search, error)
        _index(home, connection, done, due, only, compare, anew=True)


def _index(
    home: Home, connection: duckdb.DuckDBPyConnection, done: Documented, due: list[str],
    only: Collection[str] | None, compare: bool, *, anew: bool = False,
) -> None:  # fmt: skip
    with opened(home.search, anew=anew) as index:
        compare = compare or index.is_new
        if index.is_new and only is None:  # nothing in it differs from anything
            done.indexed = index.replace(as_dicts(connection.execute(ROWS.format(which="true")), AT_ONCE), ())
            done.is_complete = True
            return
        keys = list(only) if only is not None else _differing(connection, index) if compare else due
        gone = set(keys) - _hashes(connection, keys).keys()
        these = ASKED if home.destination.is_shared else BY_ROW
        done.indexed = index.replace(_documents(connection, keys, these), gone)
        left = connection.execute("SELECT 1 FROM ops.dirty_documents LIMIT 1").fetchone()
        done.is_complete = only is None or not (compare or left)


def _differing(connection: duckdb.DuckDBPyConnection, index: Index) -> list[str]:
    ours = dict(
        connection.execute(f"SELECT document_key, row_hash FROM ({ROWS.format(which='true')}) AS held").fetchall()
    )
    theirs = index.hashes()
    return [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]


def _hashes(connection: duckdb.DuckDBPyConnection, keys: Collection[str]) -> dict[str, str]:
    with _asked(connection, keys):
        held = f"SELECT document_key, content_hash FROM feedback.documents WHERE {ASKED}"
        return dict(connection.execute(held).fetchall())


def _documents(connection: duckdb.DuckDBPyConnection, keys: Collection[str], these: str) -> Iterator[dict[str, Any]]:
    """A few at a time: all words at once would be the warehouse in memory."""
    with _asked(connection, keys):
        yield from as_dicts(connection.execute(ROWS.format(which=these)), AT_ONCE)


@contextmanager
def _asked(connection: duckdb.DuckDBPyConnection, keys: Collection[str]) -> Iterator[None]:
    """As a table: a hundred thousand bound one by one take six seconds."""
    connection.register("asked", pa.table({"document_key": pa.array(list(keys), pa.string())}))
    try:
        yield
    finally:
        connection.unregister("asked")
