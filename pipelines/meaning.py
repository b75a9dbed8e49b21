"""Documents by their meaning: the likeness of what is asked to every part of every document, in numbers.

All vectors of the one configured model are looked at, exactly: 100,000 are a product of a tenth of a second.
"""

import asyncio
import sqlite3
from typing import TYPE_CHECKING, Any

from pipelines.index import Index
from pipelines.search import SNIPPET, Hit, NoMeaning, Only
from pipelines.warehouse import Home

if TYPE_CHECKING:
    from pipelines.embedders import Embedder

__all__ = ["by_meaning"]

AT_ONCE = 200
STRIDE = 8  # vectors more than hits looked at: documents have several parts, and some are filtered out
_held: dict[tuple[str, str], tuple[tuple[Any, ...], Any, Any]] = {}


def by_meaning(index: Index, home: Home, embedder: "Embedder | None", text: str, only: Only, limit: int) -> list[Hit]:
    from pipelines.embedders import INSTALL, EmbedError

    if embedder is None:
        raise NoMeaning(INSTALL)
    if not home.vectors.exists():
        raise NoMeaning("nothing is embedded yet: `earshot sync` does it, unless told --no-embed")
    connection = sqlite3.connect(f"{home.vectors.as_uri()}?mode=rw", uri=True, timeout=10, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only = 1")
        ids, matrix = _matrix(connection, home, embedder.model)
        [asked] = asyncio.run(embedder.embed([text[:2000]])) if text.strip() else [b""]
        return _nearest(index, connection, ids, matrix, asked, only, limit) if asked else []
    except EmbedError as error:
        raise NoMeaning(str(error)) from None
    except sqlite3.DatabaseError as error:
        raise NoMeaning(f"{home.vectors} cannot be read: {error}") from None
    finally:
        connection.close()


def _matrix(connection: sqlite3.Connection, home: Home, model: str) -> tuple[Any, Any]:
    """All vectors of the model, one a row; kept for the next question in this process until any is added."""
    import numpy as np

    stamp = (
        *connection.execute("SELECT count(*), max(id), total(id) FROM vectors WHERE model = ?", (model,)).fetchone(),
        home.vectors.stat().st_ino,
    )
    key = (str(home.vectors), model)
    if key not in _held or _held[key][0] != stamp:
        row = connection.execute("SELECT dimension FROM models WHERE model = ?", (model,)).fetchone()
        if row is None or not stamp[0]:
            others = [name for (name,) in connection.execute("SELECT model FROM models ORDER BY model")]
            but = f", only with {', '.join(others)}" if others else ""
            raise NoMeaning(f"nothing is embedded with {model} yet{but}; the next run does it")
        ids = np.empty(stamp[0], dtype=np.int64)
        matrix = np.empty((stamp[0], row[0]), dtype="<f4")
        query = connection.execute("SELECT id, vector FROM vectors WHERE model = ? ORDER BY id", (model,))
        start = 0
        while rows := query.fetchmany(4096):
            part = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f4")
            ids[start : start + len(rows)] = [id_ for id_, _ in rows]
            matrix[start : start + len(rows)] = part.reshape(len(rows), row[0])
            start += len(rows)
        _held.clear()
        _held[key] = (stamp, ids[:start], matrix[:start])
    return _held[key][1], _held[key][2]


def _nearest(
    index: Index, connection: sqlite3.Connection, ids: Any, matrix: Any, asked: bytes, only: Only, limit: int
) -> list[Hit]:
    import numpy as np

    vector = np.frombuffer(asked, dtype="<f4")
    if len(vector) != matrix.shape[1]:
        raise NoMeaning(f"the model gives {len(vector)} numbers now, what is embedded has {matrix.shape[1]}")
    scores = matrix @ vector
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
                found[row["document_key"]] = Hit(
                    row["document_key"], row["source"], row["kind"], row["scope_name"], row["number"], row["title"],
                    row["author"], row["url"], row["updated_at"], round(scores[id_], 3),
                    body[start : start + SNIPPET].strip(),
                )  # fmt: skip
