"""Documents by their meaning: the likeness of what is asked to every part of every document, in numbers.

All vectors of the one configured model are looked at, exactly: 100,000 are a product of some hundredths of a second.
"""

import asyncio
import sqlite3
from typing import TYPE_CHECKING, Any

from pipelines.search.hits import SNIPPET, Hit, NoMeaning, Only
from pipelines.search.index import Index
from pipelines.search.packed import Packed, mapped, numbering
from pipelines.warehouse.data_dir import DataDir

if TYPE_CHECKING:
    from pipelines.search.embedders import Embedder

__all__ = ["by_meaning"]

AT_ONCE = 200
STRIDE = 8  # vectors more than hits looked at: documents have several parts, and some are filtered out


def by_meaning(
    index: Index, home: DataDir, embedder: "Embedder | None", text: str, only: Only, limit: int
) -> list[Hit]:
    from pipelines.search.embedders import INSTALL, EmbedError

    if embedder is None:
        raise NoMeaning(INSTALL)
    if not home.vectors.exists():
        raise NoMeaning("nothing is embedded yet: `earshot sync` does it, unless told --no-embed")
    connection = sqlite3.connect(f"{home.vectors.as_uri()}?mode=rw", uri=True, timeout=10, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only = 1")
        packed = mapped(home.packed)  # before the database: what it knows is in there, too
        connection.execute("BEGIN")
        parts = _parts(connection, packed, embedder.model)
        [asked] = asyncio.run(embedder.embed([text[:2000]])) if text.strip() else [b""]
        return _nearest(index, connection, *_scored(parts, asked), only, limit) if asked else []
    except EmbedError as error:
        raise NoMeaning(str(error)) from None
    except sqlite3.DatabaseError as error:
        raise NoMeaning(f"{home.vectors} cannot be read: {error}") from None
    finally:
        connection.close()


def _parts(connection: sqlite3.Connection, packed: Packed | None, model: str) -> list[tuple[Any, Any]]:
    """All vectors of the model, one a row: those that are packed, and what came later."""
    row = connection.execute("SELECT dimension FROM models WHERE model = ?", (model,)).fetchone()
    if row is None or not connection.execute("SELECT 1 FROM vectors WHERE model = ? LIMIT 1", (model,)).fetchone():
        others = [name for (name,) in connection.execute("SELECT model FROM models ORDER BY model")]
        but = f", only with {', '.join(others)}" if others else ""
        raise NoMeaning(f"nothing is embedded with {model} yet{but}; the next run does it")
    born, last = numbering(connection)
    if packed and ((told := packed.head).born, told.model, told.dimension) != (born, model, row[0]):
        packed = None
    if packed and packed.head.last > last:  # of a later state than this database, which was restored from a copy
        packed = None
    since = packed.head.last if packed else 0
    return [*([(packed.ids, packed.vectors)] if packed else []), _fetched(connection, model, row[0], since)]


def _fetched(connection: sqlite3.Connection, model: str, dimension: int, since: int) -> tuple[Any, Any]:
    import numpy as np

    query = connection.execute("SELECT id, vector FROM vectors WHERE model = ? AND id > ? ORDER BY id", (model, since))
    ids, parts = list[int](), list[Any]()
    while rows := query.fetchmany(4096):
        ids += [id_ for id_, _ in rows]
        parts.append(np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f4").reshape(-1, dimension))
    return np.array(ids, dtype=np.int64), np.concatenate(parts or [np.empty((0, dimension), "<f4")])


def _scored(parts: list[tuple[Any, Any]], asked: bytes) -> tuple[Any, Any]:
    """Every row's number and its likeness to what is asked."""
    import numpy as np

    vector, dimension = np.frombuffer(asked, dtype="<f4"), parts[0][1].shape[1]
    if len(vector) != dimension:
        raise NoMeaning(f"the model gives {len(vector)} numbers now, what is embedded has {dimension}")
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([matrix @ vector for _, matrix in parts])


def _nearest(index: Index, connection: sqlite3.Connection, ids: Any, scores: Any, only: Only, limit: int) -> list[Hit]:
    import numpy as np

    found: dict[str, Hit] = {}
    count, looked = limit * STRIDE, 0
    while len(found) < limit and looked < len(scores):
        count = min(max(count, AT_ONCE), len(scores))
        best = np.argpartition(-scores, count - 1)[:count] if count < len(scores) else np.arange(len(scores))
        best = best[np.argsort(-scores[best], kind="stable")]
        for start in range(looked, count, AT_ONCE):
            part = best[start : start + AT_ONCE]
            _add(found, index, connection, {int(ids[i]): float(scores[i]) for i in part}, only)
            if len(found) >= limit:
                break
        looked, count = count, count * 4
    return sorted(found.values(), key=lambda hit: -hit.score)[:limit]


def _add(
    found: dict[str, Hit], index: Index, connection: sqlite3.Connection, scores: dict[int, float], only: Only
) -> None:
    marks = ", ".join("?" * len(scores))
    rows = connection.execute(
        f"SELECT id, content_hash, start FROM vectors WHERE id IN ({marks})", list(scores)
    ).fetchall()
    documents = index.by_hash([hash_ for _, hash_, _ in rows], *only.condition)
    for id_, hash_, start in sorted(rows, key=lambda row: -scores[row[0]]):
        for row in documents.get(hash_, ()):
            if row["document_key"] not in found:
                body = (index.text(row["document_key"]) or ("", ""))[1]
                found[row["document_key"]] = Hit.of(row, scores[id_], body[start : start + SNIPPET].strip())
