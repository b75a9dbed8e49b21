"""Steps of generators that dlt runs side by side in one event loop: the first that fails ends all, and alone says why.

dlt closes its loop with the first task that fails: generators of others, amid a request, would be closed twice. So the
first ends the others, and fails when all have come to rest; they are cancelled, and one must fail, for dlt waits for
ever where all are cancelled.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["Steps", "Stopped"]

T = TypeVar("T")


class Stopped(Exception):
    """Somebody has cancelled the run."""


class Steps:
    """Of one extraction after another; each has an event loop of its own."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._taken = set[asyncio.Task[Any]]()  # that are being taken
        self._is_cancelled = False
        self._is_ended = False  # this extraction
        self._is_told = False  # why

    def cancel(self) -> None:
        """From another thread: whatever is waited for ends now, and nothing begins."""
        self._is_cancelled = True
        if self._loop and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._end)

    def begun(self, task: asyncio.Task[T]) -> asyncio.Task[T]:
        """A task of a step's own, that others wait for, too."""
        self._taken.add(task)
        task.add_done_callback(self._taken.discard)
        return task

    async def take(self, coming: Awaitable[T]) -> T:
        if (loop := asyncio.get_running_loop()) is not self._loop:
            self._loop, self._taken, self._is_told = loop, set(), False
            self._is_ended = self._is_cancelled
        task = asyncio.current_task()
        assert task is not None
        self._taken.add(task)
        try:
            if self._is_ended:
                raise Stopped
            return await coming
        except StopAsyncIteration:
            raise
        except BaseException as error:
            is_first, self._is_told = not self._is_told, True
            self._taken.discard(task)
            self._end()
            while self._taken:
                with suppress(asyncio.CancelledError):  # it was: whoever is waited for ends all the same
                    await asyncio.sleep(0.001)
            if not is_first:
                raise asyncio.CancelledError from None
            if isinstance(error, asyncio.CancelledError):
                raise Stopped from None
            raise
        finally:
            self._taken.discard(task)

    def _end(self) -> None:
        for task in () if self._is_ended else self._taken:
            task.cancel()
        self._is_ended = True
