"""The index, written by a thread of its own: while some documents are indexed others are made, and the readers' file.

What is put inside the `with` is one transaction: all of it is in the index when `finish` returns, or nothing. Whoever
puts waits while what was put before is not begun yet, so that a few batches are in memory at most. The thread is told
the end of it in any case, and whoever holds the run's lock waits for the thread: else the next run would write too.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Any

from pipelines.search.index import COLUMNS, Document, opened

__all__ = ["GIVEN", "Indexing"]

GIVEN = (*COLUMNS, "body")
Rows = Sequence[tuple[Any, ...]]  # of GIVEN


class Abandoned(Exception):
    """Not all was put."""


class Indexing:
    """`held`, if asked for: the documents that are in it, with the hash of what is said of each."""

    def __init__(self, thread: ThreadPoolExecutor, path: Path, *, compares: bool, anew: bool = False) -> None:
        with ExitStack() as stack:
            self._index = stack.enter_context(opened(path, anew=anew))
            self.is_new = self._index.is_new
            self.held = self._index.hashes() if compares and not self.is_new else {}
            self._open = stack.pop_all()
        self._put: Queue[tuple[Rows, Sequence[str]] | Abandoned | None] = Queue(maxsize=1)
        self._is_over = False
        self._written = thread.submit(self._write)

    def put(self, documents: Rows, gone: Sequence[str]) -> None:
        """These as they are now, those no longer."""
        self._put.put((documents, gone))

    def finish(self) -> int:
        """How many documents' words were indexed; raises what went wrong, `Unreadable` if the index is damaged."""
        return self._written.result()

    def __enter__(self) -> "Indexing":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        self._put.put(Abandoned() if error else None)

    def _write(self) -> int:
        try:
            with self._open, self._index.writing():
                return sum(self._index.replace(map(_document, rows), gone) for rows, gone in self._taken())
        except BaseException:
            for _ in self._taken():
                """Whoever puts is not left waiting."""
            raise

    def _taken(self) -> Iterator[tuple[Rows, Sequence[str]]]:
        while not self._is_over:
            some = self._put.get()
            self._is_over = not isinstance(some, tuple)
            if isinstance(some, Abandoned):
                raise some
            if some is not None:
                yield some


def _document(row: tuple[Any, ...]) -> Document:
    return dict(zip(GIVEN, row, strict=True))
