"""When a host may be asked: what its limits mean for all who ask it.

A limit stops all of them at once. A short one is waited for; a long one ends the reading with the instant it ends, so
that cursors stay and the next run goes on. After a pause one of those that waited asks alone, and the others follow
once it was answered: ten that go on together are refused together, and each refusal may be held against us.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import ceil

import pendulum
from pendulum import DateTime

from sources.core.http.counts import RequestCounts
from sources.core.http.response import Failure

__all__ = ["MAX_LIMITS", "Pauses"]

log = logging.getLogger("earshot.http")

MAX_PAUSE = 90.0  # a limit that ends sooner is waited for
MAX_LIMITS = 3  # limits in a row, for one request or for all


@dataclass
class Pauses:
    host: str
    waits: dict[str, DateTime] = field(default_factory=dict)  # host → until when, by our clock; for a screen
    _until: float = 0.0
    _blocked: Failure | None = None
    _count: int = 0
    _limits: int = 0  # limits in a row
    _is_careful: bool = False  # nothing was answered since the last pause
    _probe: asyncio.Lock = field(default_factory=asyncio.Lock)

    def again(self) -> "Pauses":
        """The same for another event loop; whoever asked alone there is over."""
        return replace(self, _probe=asyncio.Lock())

    @asynccontextmanager
    async def turn(self, tally: RequestCounts, sleep: Callable[[float], Awaitable[None]]) -> AsyncIterator[int]:
        """Waits for the end of a pause; then one asks alone until it was answered. Gives what `answered` must know."""
        await self._rested(tally, sleep)
        if self._is_careful:
            async with self._probe:
                await self._rested(tally, sleep)  # who asked before may have been turned away again
                if self._is_careful:
                    yield self._count
                    return
        yield self._count

    def answered(self, turn: int, limit: float | None, now: DateTime) -> None:
        """A request was answered, or turned away by a limit of so many seconds. What was under way when another was
        turned away says nothing of what comes after.
        """
        if turn == self._count:
            self._limits = 0 if limit is None else self._limits + 1
            self._is_careful = False
        if self._limits > MAX_LIMITS:
            raise self.block(f"{self.host} keeps limiting requests; later runs go on from here")
        if limit is not None:
            self.pause(limit, now)

    def pause(self, wait: float, now: DateTime) -> None:
        """Stops all who ask this host: for a while, or (a long limit) until a later run."""
        if wait > MAX_PAUSE:
            until = now.add(seconds=int(wait + 0.999))
            told = f"asks to wait until {until.to_datetime_string()} UTC; the next run goes on here"
            raise self.block(f"{self.host} {told}", until)
        begun, ours = asyncio.get_running_loop().time(), pendulum.now("UTC").add(seconds=ceil(wait))
        if self._until <= begun:  # others may have been refused together with this one
            clock = ours.in_timezone("local").format("HH:mm:ss")
            log.warning("%s asks to wait: all requests to it wait %.0f s, until %s", self.host, wait, clock)
        self._until = max(self._until, begun + wait)
        self.waits[self.host] = max(ours, self.waits.get(self.host, ours))
        self._count, self._is_careful = self._count + 1, True

    def block(self, message: str, until: DateTime | None = None) -> Failure:
        self._blocked = Failure("RATE_LIMITED", message, until=until)
        return self._blocked

    async def _rested(self, tally: RequestCounts, sleep: Callable[[float], Awaitable[None]]) -> None:
        slept_for = 0.0
        while not self._blocked and self._until > slept_for:  # another may have prolonged it meanwhile
            slept_for = self._until
            if (wait := slept_for - asyncio.get_running_loop().time()) > 0:
                tally.waited += wait
                await sleep(wait)
        if self._blocked:
            raise self._blocked
