"""The docs stage: `feedback.documents` and the full-text index brought up to date with what was touched.

What is due is remembered in the warehouse (`ops.dirty_documents`) together with the rows that made it so. A run over
everything works off all of it; a surgical one its own targets' alone, and leaves the rest as due as it was. Documents
are made first, whatever becomes of the index: a run that is killed in between, or finds its disk full, leaves a note
in its ledger, and the next one compares.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from pipelines.models import build
from pipelines.search.index import COLUMNS, Document, Index, Unreadable, opened
from pipelines.settings import landed_tables
from pipelines.warehouse.data_dir import SPARING, DataDir

__all__ = ["Documented", "document", "index_all"]

log = logging.getLogger("earshot.documents")

AT_ONCE = 1_000
GIVEN = (*COLUMNS, "body")
T = TypeVar("T")
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

    touched: dict[str, str]
    indexed: int = 0  # documents' words
    is_new: bool = False  # the index
    is_complete: bool = False  # nothing is due any more, in the documents and in the index


def document(
    home: DataDir, *, only: Collection[str] | None = None, compare: bool = False, anew: bool = False
) -> Documented:
    """`compare`: the index may differ in more than what is due now. `anew`: the model is another one since."""
    compare, made = compare or anew, set[str]()
    is_due = _in_little_memory(home, lambda config: _make(home, config, None if anew else only, made))
    done = _in_little_memory(home, lambda config: _made_known(home, config, made, only, compare))
    done.is_complete = only is None or not (compare or is_due or done.is_new)
    return done


def index_all(home: DataDir) -> int:
    """The full text of all documents that are published, where no run of this machine made it; how many changed."""
    with home.lock_here(), home.destination.published(home) as connection:
        return _index(home, connection, (), compare=True)[0] if connection else 0


def _make(home: DataDir, config: Mapping[str, Any], only: Collection[str] | None, made: set[str]) -> bool:
    """Those that are due, or of these the ones in `only`; whether any are due still."""
    with home.destination.building(home, config) as connection:
        build.regenerate(connection, landed_tables(), only, made.update, is_shared=home.destination.is_shared)
        return bool(connection.execute("SELECT 1 FROM ops.dirty_documents LIMIT 1").fetchone())


def _made_known(
    home: DataDir, config: Mapping[str, Any], made: set[str], only: Collection[str] | None, compare: bool
) -> Documented:
    """To the index; and to whoever embeds them."""
    with home.destination.building(home, config) as connection:
        done = Documented(_hashes(home, connection, made if only is None else made.intersection(only)))
        if home.shard.is_all:  # part of the words would find part of what was said; there `earshot index` makes it
            is_whole, keys = only is None, made if only is None else only
            done.indexed, done.is_new = _index(home, connection, keys, compare=compare, is_whole=is_whole)
        return done


def _in_little_memory(home: DataDir, job: Callable[[Mapping[str, Any]], T]) -> T:
    """And with all there is, where something cannot be spilled."""
    try:
        return job(SPARING)
    except duckdb.OutOfMemoryException:
        with home.destination.unbounded(home, SPARING) as config:
            return job(config)


def _index(
    home: DataDir,
    connection: duckdb.DuckDBPyConnection,
    keys: Collection[str],
    *,
    compare: bool,
    is_whole: bool = True,
    anew: bool = False,
) -> tuple[int, bool]:
    """These documents as they are now, in one transaction; where it `is_whole`, and is new or to be compared, all that
    differ. How many documents' words were indexed, and whether the index is new.
    """
    try:
        with opened(home.search, anew=anew) as index, index.writing():
            if is_whole and (compare or index.is_new):
                keys = {*keys, *_differing(connection, index)}
            written = sum(index.replace(rows, gone) for rows, gone in _rows(home, connection, keys))
            return written, index.is_new
    except Unreadable as error:
        log.warning("%s is damaged (%s); it is made anew", home.search, error)
        return _index(home, connection, keys, compare=compare, is_whole=is_whole, anew=True)


def _differing(connection: duckdb.DuckDBPyConnection, index: Index) -> set[str]:
    """Documents that are not in the index as they are, and what is in it of others."""
    if index.is_new:
        return {key for (key,) in connection.execute("SELECT document_key FROM feedback.documents").fetchall()}
    held = f"SELECT document_key, row_hash FROM ({ROWS.format(which='true')}) AS held"
    ours, theirs = dict(connection.execute(held).fetchall()), index.hashes()
    return {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}


def _rows(
    home: DataDir, connection: duckdb.DuckDBPyConnection, keys: Collection[str]
) -> Iterator[tuple[Sequence[Document], Sequence[str]]]:
    """As they are now, and which are gone; a few at a time: all words at once would be the warehouse in memory."""
    left = iter(sorted(keys))
    while some := list(islice(left, AT_ONCE)):
        with _asked(connection, some):
            found = connection.execute(ROWS.format(which=_these(home))).fetchall()
        rows = [dict(zip(GIVEN, row, strict=True)) for row in found]
        yield rows, sorted(set(some) - {row["document_key"] for row in rows})


def _hashes(home: DataDir, connection: duckdb.DuckDBPyConnection, keys: Collection[str]) -> dict[str, str]:
    held = f"SELECT document_key, content_hash FROM feedback.documents WHERE {_these(home)}"
    with _asked(connection, keys):
        return dict(connection.execute(held).fetchall())


def _these(home: DataDir) -> str:
    return ASKED if home.destination.is_shared else BY_ROW


@contextmanager
def _asked(connection: duckdb.DuckDBPyConnection, keys: Collection[str]) -> Iterator[None]:
    """As a table: a hundred thousand bound one by one take six seconds."""
    connection.register("asked", pa.table({"document_key": pa.array(list(keys), pa.string())}))
    try:
        yield
    finally:
        connection.unregister("asked")
