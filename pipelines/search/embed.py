"""The embed stage: documents that have no vectors yet get them. It needs no run's lock, holds up nobody, and whatever
goes wrong in it is recorded and tried again by a later run.
"""

import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.search.chunks import Chunk, chunks
from pipelines.search.embedders import BATCH, Embedder, EmbedError
from pipelines.search.index import Index, Unreadable, reading
from pipelines.search.packed import pack
from pipelines.search.vectors import Vectors, WrongDimension, opened_vectors
from pipelines.warehouse.data_dir import DataDir

__all__ = ["Embedded", "embed"]

log = logging.getLogger("earshot.embed")

HELD = "SELECT document_key, content_hash FROM documents"
TOGETHER = 4  # documents whose parts share requests


@dataclass
class Embedded:
    documents: int = 0
    is_complete: bool = False
    code: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Text:
    content_hash: str
    parts: list[Chunk]


async def embed(
    home: DataDir, embedder: Embedder, only: Mapping[str, str] | None = None, *, seconds: float = 300.0
) -> Embedded:
    """All that is missing, or exactly these documents (key → hash of its words), as far as they still say the same."""
    done = Embedded()
    try:
        with opened_vectors(home.vectors) as vectors, reading(home.search) as index:
            if vectors is None:
                done.code, done.problem = "BUSY", "another process is embedding"
                return done
            wanted = _missing(index, vectors, embedder.model, only)
            is_quiet = await _embed(vectors, index, embedder, wanted, time.monotonic() + seconds, done)
            if only is None and is_quiet:
                vectors.forget_but(
                    {hash_ for (hash_,) in index.connection.execute("SELECT content_hash FROM documents")}
                )
                done.is_complete = not (wanted.keys() - vectors.embedded(embedder.model)) and not done.problem
            pack(home.packed, vectors.connection, embedder.model)
    except (sqlite3.Error, OSError, Unreadable) as error:
        done.code, done.problem = "FAILED", f"vectors could not be kept: {error}"
    except Exception as error:  # an embedder is other people's code: no run may fail for it
        log.exception("embedding failed")
        done.code, done.problem = "FAILED", f"{type(error).__name__}: {error}"[:300]
    return done


def _missing(index: Index, vectors: Vectors, model: str, only: Mapping[str, str] | None) -> dict[str, str]:
    """hash → key of a document with these words."""
    held: dict[str, str] = dict(map(tuple, index.connection.execute(HELD).fetchall()))
    wanted = held if only is None else {key: hash_ for key, hash_ in only.items() if held.get(key) == hash_}
    without = vectors.embedded(model)
    return {hash_: key for key, hash_ in wanted.items() if hash_ not in without}


async def _embed(
    vectors: Vectors, index: Index, embedder: Embedder, wanted: Mapping[str, str], until: float, done: Embedded
) -> bool:
    """False: it ended before all were tried."""
    resting = vectors.waiting(embedder.model)
    if resting & wanted.keys():
        done.code, done.problem = "BAD_ANSWER", f"{len(resting & wanted.keys())} documents failed and rest for a while"
    due = [(hash_, key) for hash_, key in wanted.items() if hash_ not in resting]
    for start in range(0, len(due), TOGETHER):
        if time.monotonic() > until:
            return False
        texts = list(_texts(index, due[start : start + TOGETHER]))
        try:
            await _together(vectors, embedder, texts, done)
        except EmbedError as error:
            done.code, done.problem = error.code, str(error)
            if error.code == "UNREACHABLE":
                return False
    return True


def _texts(index: Index, due: Sequence[tuple[str, str]]) -> Iterator[Text]:
    for hash_, key in due:
        if found := index.text(key):
            yield Text(hash_, chunks(*found))


async def _together(vectors: Vectors, embedder: Embedder, texts: list[Text], done: Embedded) -> None:
    """What one answer spoils is asked for once more by itself, so that the others do not suffer for it."""
    try:
        await _kept(vectors, embedder, texts, done)
    except (EmbedError, WrongDimension) as error:
        if isinstance(error, EmbedError) and error.code == "UNREACHABLE":
            raise
        if len(texts) == 1:
            vectors.failed(texts[0].content_hash, embedder.model, str(error))
            raise EmbedError("BAD_ANSWER", str(error)) from None
        last = None
        for text in texts:
            try:
                await _together(vectors, embedder, [text], done)
            except EmbedError as failure:
                if failure.code == "UNREACHABLE":
                    raise
                last = failure
        if last:
            raise last from None


async def _kept(vectors: Vectors, embedder: Embedder, texts: list[Text], done: Embedded) -> None:
    known: dict[str, bytes] = {}
    for part in (part for text in texts for part in text.parts):
        if part.text not in known and (vector := vectors.known(embedder.model, part.text)):
            known[part.text] = vector
    new = list({part.text: None for text in texts for part in text.parts if part.text not in known})
    for start in range(0, len(new), BATCH):
        asked = new[start : start + BATCH]
        known.update(zip(asked, await embedder.embed(asked), strict=True))
    for text in texts:
        vectors.keep(text.content_hash, embedder.model, text.parts, [known[part.text] for part in text.parts])
        done.documents += 1
