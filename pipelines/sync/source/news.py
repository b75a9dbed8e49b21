"""Whether a source has anything new: its lists are asked as a run asks them, without dlt, up to the first news.

Where there is none the run is over, and nothing was written. Where there is, what was answered until then is handed to
the extraction, which asks everything again: nothing is asked of the service twice. What differs from what the last run
met is news, too: a failure, somebody who is away, a record that cannot be read. What does not differ is told then.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from pendulum import DateTime

from sources.core.cursor import differs
from sources.core.http.client import Failure, RequestCounts
from sources.core.reading import Batch, Quarantined, Reading
from sources.core.source import Enough, Source, read_all

__all__ = ["Looked", "has_news", "spent"]


class News(Enough):
    """There is some; what comes after it is not looked at. Others are not disturbed: they have been asked, too."""


@dataclass
class Looked(Reading):
    """A reading that ends where it would say something that the last one did not say."""

    has_news: bool = False
    is_over: bool = False  # there is none: it goes on as any other
    _held_back: list[Callable[[], None]] = field(default_factory=list)

    def ends(self) -> None:
        self.is_over = True
        for say in self._held_back:
            say()

    def fail(self, scope: str, surface: str, failure: Failure) -> None:
        self.tells((scope, surface) not in self.open_failures)
        if self.is_over:
            super().fail(scope, surface, failure)
        else:
            self._held_back.append(lambda: self.fail(scope, surface, failure))

    def skip(self, name: str, why: str) -> None:
        self.tells(self.skipped_before.get(name) != why)
        super().skip(name, why)

    def keep(self, record: Quarantined) -> None:
        self.tells()
        super().keep(record)

    def tell(self, text: str) -> None:
        self.tells()
        super().tell(text)

    def backfills(self, surface: str, scope: str, until: DateTime) -> None:
        self.tells()
        super().backfills(surface, scope, until)

    def tells(self, differs: bool = True) -> None:
        if differs and not self.is_over:
            self.has_news = True
            raise News


async def has_news(source: Source, reading: Looked) -> bool:
    """False: all that this run reads was read to its end."""

    async def take(batch: Batch) -> None:
        known = reading.saved.get(batch.surface, {}).get(batch.scope)
        reading.tells(any(batch.rows.values()) or (batch.cursor is not None and differs(batch.cursor, known)))

    await read_all(source, reading, take)
    if not reading.has_news:
        reading.ends()
    return reading.has_news


def spent(reading: Reading) -> dict[tuple[str, str], RequestCounts]:
    """What was asked for; what came of it is counted where it is read."""
    return {
        key: RequestCounts(t.requests, 0, t.not_modified, t.retries, t.bytes, t.waited)
        for key, t in reading.tallies.items()
    }
