"""`python -m bench.search_rows make|ask FOLDER DOCUMENTS`: made-up words, as unevenly frequent as in a language; then
how long their documents and index take, and what asking costs inside one process, as JSON. Two processes: what it takes
to make them up is not counted as memory of the other.
"""

import json
import random
import resource
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path

import duckdb

from bench.reader_rows import EVENTS, PARENTS
from pipelines.models import build
from pipelines.search.chunks import Chunk
from pipelines.search.documents import document
from pipelines.search.index import reading
from pipelines.search.packed import pack
from pipelines.search.query import Only, search_index
from pipelines.search.vectors import opened_vectors
from pipelines.settings import landed_tables
from pipelines.state import mirror
from pipelines.warehouse.data_dir import DataDir

__all__: list[str] = []

EACH = 10  # utterances of a document
CHANGED = 100
ASKED = 100
SIZE = 384
WORDS = """
UPDATE feedback.events SET body = list_aggregate(list_transform(range(30), lambda i:
    'w' || CAST(floor(power((hash(CAST(id AS BIGINT) * 31 + i) % 100000) / 100000.0, 3) * 20000) AS INTEGER)),
    'string_agg', ' ')
"""
CHANGE = "UPDATE feedback.events SET body = body || ' quokka' WHERE parent_number < ?"
DUE = "INSERT INTO ops.dirty_documents SELECT DISTINCT parent_key FROM feedback.events WHERE parent_number < ?"


class Random:
    """Vectors as far apart as chance has it: what a model takes to make them is not what is measured."""

    model = "bench"

    def __init__(self) -> None:
        self.chance = random.Random(7)

    def vector(self) -> bytes:
        return array("f", (self.chance.gauss(0, 0.05) for _ in range(SIZE))).tobytes()

    async def embed(self, texts: object) -> list[bytes]:
        return [self.vector()]


def make(home: DataDir, documents: int) -> None:
    home.create()
    with duckdb.connect(str(home.warehouse)) as connection:
        mirror.prepare(connection, [])
        build.build(connection, landed_tables(), anew=True)
        connection.execute(EVENTS, {"events": documents * EACH})
        for statement in (PARENTS, WORDS):
            connection.execute(statement)
        connection.execute(DUE, [documents])


def ask(home: DataDir, documents: int) -> None:
    found = dict[str, float]()
    found["build"] = _timed(lambda: document(home))
    with duckdb.connect(str(home.warehouse)) as connection:
        connection.execute(CHANGE, [CHANGED])
        connection.execute(DUE, [CHANGED])
        connection.execute("CHECKPOINT")
    found["change"] = _timed(lambda: document(home))
    found["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["compare"] = _timed(lambda: document(home, compare=True))
    found["megabytes"] = home.search.stat().st_size / 2**20
    chance = random.Random(11)
    with reading(home.search) as index:
        assert len(search_index(index, home, "quokka", Only(), limit=1000)) == CHANGED
        asked = [" ".join(f"w{int(chance.random() ** 3 * 20000)}" for _ in range(1 + n % 3)) for n in range(ASKED)]
        times = sorted(_timed(lambda: search_index(index, home, each, Only())) for each in asked)  # noqa: B023
        found |= {"p50": times[len(times) // 2], "p95": times[len(times) * 95 // 100]}
        found["worst"] = _timed(lambda: search_index(index, home, "w0 w1 w2", Only()))
        found |= _meaning(home, index, documents)
    print(json.dumps(found))


def _meaning(home: DataDir, index: object, count: int) -> dict[str, float]:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return {}
    from pipelines.search.index import Index

    assert isinstance(index, Index)
    embedder = Random()
    hashes = [hash_ for (hash_,) in index.connection.execute("SELECT content_hash FROM documents LIMIT ?", (count,))]
    few = [embedder.vector() for _ in range(997)]
    with opened_vectors(home.vectors) as vectors:
        assert vectors is not None
        for n, hash_ in enumerate(hashes):
            vectors.keep(hash_, embedder.model, [Chunk(0, hash_)], [few[n % 997]])
        pack(home.packed, vectors.connection, embedder.model)  # as every embed stage ends
    first = _timed(lambda: search_index(index, home, "w5", Only(), "semantic", 20, embedder))
    again = min(_timed(lambda: search_index(index, home, "w5", Only(), "semantic", 20, embedder)) for _ in range(5))
    return {"semantic": first, "semantic_again": again}


def _timed(job: Callable[[], object]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


if __name__ == "__main__":
    {"make": make, "ask": ask}[sys.argv[1]](DataDir(Path(sys.argv[2])), int(sys.argv[3]))
