"""All vectors of one model in one file, `vectors.packed`: a reader maps it instead of fetching them row by row.

It is made from vectors.sqlite and can be lost. A row's number there is given once and never again, so what was packed
stays true: later rows are fetched beside it, and of rows that are gone nothing is found. `born` names the very
database, `model` the space: a file of another one is not looked at. It is written beside and put in place whole, and
anew only when it differs by much, so that what a run pays for it does not grow with history.

A head of 4096 bytes (JSON), then for every row its number (int64) and its vector (float32), padded to whole int64.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["Packed", "drop_ahead", "mapped", "numbering", "pack"]

FORMAT = 1
HEAD = 4096
FEW = 1_000  # rows that are fetched beside it in a few milliseconds
SHARE = 10  # or a tenth of it


@dataclass(frozen=True)
class Head:
    born: str
    model: str
    dimension: int
    count: int
    last: int  # the highest number there was
    format: int = FORMAT

    @property
    def step(self) -> int:
        """Bytes of a row."""
        return 8 + -(-self.dimension * 4 // 8) * 8


def numbering(connection: sqlite3.Connection) -> tuple[str, int]:
    """Which database this is, and the last number it gave."""
    born, last = connection.execute("SELECT born, last FROM numbering").fetchone()
    return str(born), int(last)


@dataclass(frozen=True)
class Packed:
    head: Head
    ids: Any
    vectors: Any


def mapped(path: Path) -> Packed | None:
    """Numbers and vectors as they lie in the file; no byte is read before it is looked at. None: there is no such file,
    or it is not whole.
    """
    import numpy as np

    try:
        with open(path, "rb") as file:
            head = _head(file)
            if head is None:
                return None
            fields = ["id", "vector"]
            formats = ["<i8", ("<f4", (head.dimension,))]
            row = np.dtype({"names": fields, "formats": formats, "offsets": [0, 8], "itemsize": head.step})
            rows: Any = np.memmap(file, row, "r", HEAD, (head.count,)) if head.count else np.empty(0, row)
            return Packed(head, rows["id"], rows["vector"])
    except OSError:
        return None


def pack(path: Path, connection: sqlite3.Connection, model: str) -> None:
    """The file brought up to date, if that is worth it."""
    born, last = numbering(connection)
    row = connection.execute("SELECT dimension FROM models WHERE model = ?", (model,)).fetchone()
    known, dimension = _held(path), row[0] if row else 0
    if known and (known.born, known.model, known.dimension) == (born, model, dimension):
        total, later = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE id > ?) FROM vectors WHERE model = ?", (known.last, model)
        ).fetchone()
        gone = known.count - (total - later)
        if later + gone <= max(FEW, known.count // SHARE):
            return
    partial = path.with_name(f"{path.name}.partial")
    try:
        _write(partial, connection, Head(born, model, dimension, 0, last))
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def drop_ahead(path: Path, connection: sqlite3.Connection) -> None:
    """Away with a file that knows numbers which its database has not given yet: that one was restored from a copy, and
    would give them to other words."""
    known, (born, last) = _held(path), numbering(connection)
    if known and known.born == born and known.last > last:
        path.unlink(missing_ok=True)


def _held(path: Path) -> Head | None:
    try:
        with open(path, "rb") as file:
            return _head(file)
    except FileNotFoundError:
        return None


def _head(file: BinaryIO) -> Head | None:
    try:
        found = Head(**json.loads(file.read(HEAD)))
        is_whole = os.fstat(file.fileno()).st_size == HEAD + found.count * found.step
    except (ValueError, TypeError):
        return None
    return found if is_whole and found.format == FORMAT else None


def _write(partial: Path, connection: sqlite3.Connection, told: Head) -> None:
    with contextlib.suppress(FileNotFoundError):
        partial.unlink()
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=2**20) as file:
        file.write(bytes(HEAD))
        file.writelines(_rows(connection, told))
        count = (file.tell() - HEAD) // told.step
        file.seek(0)
        file.write(json.dumps({**asdict(told), "count": count}).encode().ljust(HEAD))
        file.flush()
        os.fsync(file.fileno())


def _rows(connection: sqlite3.Connection, told: Head) -> Iterator[bytes]:
    padding = bytes(told.step - 8 - told.dimension * 4)
    query = "SELECT id, vector FROM vectors WHERE model = ? AND id <= ? ORDER BY id"
    for id_, vector in connection.execute(query, (told.model, told.last)):
        yield id_.to_bytes(8, "little") + vector + padding
