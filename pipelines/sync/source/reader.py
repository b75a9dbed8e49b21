"""One source of one run: read, kept raw where it could not be parsed, loaded; and what does not add up, read again.

An extraction ends politely after some thousand rows, is loaded, and the next goes on where it was. Everything that must
not be lost with a kill is written before a package is loaded: records as they were sent, what could not be parsed, and
that readers are owed a publish.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from pipelines.state.payloads import Payloads
from pipelines.state.quarantine import Quarantine
from pipelines.sync.shared import Shared
from pipelines.sync.source.committed import Committed, committed
from pipelines.sync.source.news import Looked, has_news, spent
from pipelines.sync.source.recheck import readings_owed, rule, suspects
from sources.core.http.client import Answers, Api
from sources.core.reading import Payload, Reading, Walk
from sources.core.source import Source

if TYPE_CHECKING:
    from pipelines.sync.source.pipeline import SourcePipeline
    from sources.extraction import Extraction

__all__ = ["SourceReader"]

Cursors = Mapping[str, Mapping[str, object]]  # surface → scope → cursor


@dataclass
class SourceReader:
    shared: Shared
    source: Source
    connect: Callable[[], AbstractAsyncContextManager[Api]]
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the reading
    left: Committed | None = None  # by the run before
    _reading: Reading | None = None
    _pipeline: "SourcePipeline | None" = None
    _extraction: "Extraction | None" = None
    _declared: Any = None
    _looked: Looked | None = None  # the look for news, where there was some
    _answers: Answers = field(default_factory=dict)  # that the look for news has got
    _payloads: Payloads | None = None
    _kept: set[str] = field(default_factory=set)

    @property
    def reading(self) -> Reading:
        assert self._reading is not None, "nothing was read yet"
        return self._reading

    @property
    def rows(self) -> dict[str, int]:
        """By table, those that are new."""
        return self._extraction.new if self._extraction else {}

    @property
    def packages(self) -> int:
        return self._pipeline.packages if self._pipeline else 0

    @property
    def cursors(self) -> Cursors | None:
        """As they stand now; None where they are kept beside the rows."""
        left = self.left
        if left is None or left.is_beside:
            return None
        return self._pipeline.cursors if self._pipeline else left.cursors

    async def begin(self) -> Committed:
        """How far the source was read."""
        home, source, options = self.shared.home, self.source, self.shared.options
        self._payloads = Payloads(home.payloads) if options.keep_payloads else None
        self.left = await self.shared.work(committed, home, source.name, source.tables, source.fills)
        if self.left is None:
            await self._open()
            assert self._pipeline is not None
            self.left = self._pipeline.committed
        if self.left.was_dropped:  # what was made of the tables that somebody dropped is made anew, too
            self.shared.ledger.state.made_with = None
        return self.left

    async def read(self) -> None:
        """All that is new in its lists, and what is read beside them."""
        if not await self._is_quiet():
            from sources.extraction import RECHECKS

            await self._go_on(*self.source.resources, RECHECKS)  # which makes tables that are not there
            beside = self.source.beside(self.reading)
        else:
            beside = ()
        due = [each for key, each in self.reading.unread.items() if each.is_due and key not in self.reading.healed]
        await self.read_by_itself(chain(beside, self.source.retries(self.reading, due)))

    async def recheck(self) -> None:
        """Reads again what does not add up. It is not looked for where the last look found nothing, and nothing has
        landed or failed since, and it would be asked for by the same rule."""
        ledger, source, reading = self.shared.ledger, self.source, self.reading
        state = ledger.source_state(source.name)
        is_suspected = reading.sweep or reading.full or bool(ledger.open_failures(source.name))
        is_suspected = is_suspected or bool(reading.sightings) or any(u.is_due for u in reading.unread.values())
        if not is_suspected and state.nothing_due_by == rule(source, reading):
            return
        found = await self.shared.ask(suspects, source, reading, is_wide=True)
        if found:
            self.shared.watch.settles(source.name, sum(map(readings_owed, found)))
            await self.read_by_itself(source.rechecks(reading, found))
            reading.sightings.clear()  # what the sweep or --full made suspect was looked at
            reading.full = False
            found = await self.shared.ask(suspects, source, reading, is_wide=True)
        if found or not self.shared.options.is_narrowed:
            state.nothing_due_by = None if found else rule(source, reading)

    async def read_by_itself(self, walks: Iterable[Walk]) -> None:
        left = iter(walks)
        first = next(left, None)
        if first is None:
            return
        if self._extraction is None:
            await self._open()
        from sources.extraction import RECHECKS

        assert self._extraction is not None
        self._extraction.walks = chain([first], left)
        await self._go_on(RECHECKS)

    async def land(self, reading: Reading, walks: Iterable[Walk]) -> None:
        """What somebody else has read, whatever lists say."""
        self._reading = reading
        await self.read_by_itself(walks)

    async def _is_quiet(self) -> bool:
        """Whether there is no news; then all is read."""
        options, left = self.shared.options, self.left
        if left is None or self._pipeline is not None or not left.is_shaped or options.full or self.settings["sweep"]:
            return False
        async with self.connect() as api:
            api.heard = self._answers
            reading = Looked(api, left.cursors, **self.settings)
            self._show(reading)
            if not await has_news(self.source, reading):
                return True
        self._reading, self._looked = None, reading
        return False

    def _show(self, reading: Reading) -> None:
        self._reading = self.shared.watch.readings[self.source.name] = reading

    async def _open(self) -> None:
        """dlt, whose import takes 0.3 s."""
        self._pipeline = await self.shared.work(self._opened)
        from sources.extraction import Extraction

        options = self.shared.options
        self._extraction = Extraction(
            self.connect,
            self.source.fills,
            max_rows=options.chunk_rows,
            max_seconds=options.chunk_seconds,
            begun=self._begun,
            saved=self._pipeline.kept,
            keep=self._keep,
            at_once=self.source.at_once,
            is_runs=True,
        )
        declared = import_module(f"sources.{self.source.name}.pipes").declared
        self._declared = declared(self.source, self._extraction)

    def _opened(self) -> "SourcePipeline":
        from pipelines.sync.source.pipeline import SourcePipeline

        home, source, quick = self.shared.home, self.source, self.shared.options.quick
        is_sound = self.left is not None and not self.left.is_beside  # when this run began; nobody else may write
        return SourcePipeline.open(home, source.name, source.tables, source.fills, quick=quick, is_sound=is_sound)

    def _begun(self, api: Api, saved: Cursors, is_new: bool) -> Reading:
        """The reading of this run, as each of its extractions begins; in dlt's own thread."""
        before = self._reading
        if before is not None:
            before.go_on(api, saved)
            return before
        self._show(Reading(api, saved, **self.settings))
        if self._looked:
            self.reading.tallies |= spent(self._looked)
            api.after(self._looked.api)
            api.known, self._answers = self._answers, {}
        return self.reading

    async def _go_on(self, *resources: str) -> None:
        if self._extraction is None:
            await self._open()
        extraction = self._extraction
        assert extraction is not None
        while True:
            before = extraction.handed
            await self._extract(self._declared.with_resources(*resources))
            await self._load(has_rows=extraction.handed > before)
            if not extraction.is_spent:
                return

    async def _extract(self, declared: Any) -> None:
        """In a thread of its own, which whoever cancels the run waits for."""
        assert self._pipeline is not None and self._extraction is not None
        running = asyncio.get_running_loop().run_in_executor(None, self._pipeline.extract, declared)
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            self._extraction.steps.cancel()
            await asyncio.wait([running])
            running.exception()
            raise

    async def _load(self, *, has_rows: bool) -> None:
        assert self._pipeline is not None and self._extraction is not None
        ledger, name = self.shared.ledger, self.source.name
        if self._payloads:
            await asyncio.to_thread(self._payloads.write, name)
        self.keep_raw()
        if has_rows:  # cursors alone show readers nothing new
            ledger.state.is_unpublished = True
            self.shared.watch.at("landing", name)
        if has_rows or self._pipeline.is_pending:
            ledger.source_state(name).nothing_due_by = None  # until the suspects were looked at
        cursors, self._extraction.moved = self._extraction.moved, {}
        await self.shared.work(self._pipeline.load, cursors, dict(self.reading.names))
        self.shared.watch.has_landed(name, sum(self.rows.values()))

    def keep_raw(self) -> None:
        """What could not be parsed, before any cursor passes it; once a run, however many packages it has."""
        news = {key: record for key, record in self.reading.quarantined.items() if key not in self._kept}
        Quarantine(self.shared.ledger, self.source.name).keep(news.values())
        if news.keys() - self.reading.unread.keys():
            self.shared.ledger.state.is_unpublished = True
        self._kept |= news.keys()

    async def _keep(self, payloads: list[Payload]) -> None:
        """Raw records, in dlt's own loop."""
        if self._payloads:
            await asyncio.to_thread(self._payloads.keep, self.source.name, payloads)
