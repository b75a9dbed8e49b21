"""An extraction that ends early, amid requests: told by one error, each request let go of once."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import dlt
import pytest
from dlt.pipeline.exceptions import PipelineStepFailed

from sources.core.http.client import Api
from sources.core.reading import Batch, Walk
from sources.core.scope import Found
from sources.core.values import COUNT, Table
from sources.extraction import RECHECKS, Extraction
from sources.pipes import rest, stoppable, surface

NOTES = Table("notes", ("id",), {"id": COUNT})
PLACES = 6


@dataclass
class Waiting:
    """Requests that nobody answers, and that take a while to end."""

    begun: int = 0
    ended: int = 0
    when_all_wait: Callable[[], object] = field(default=lambda: None)

    async def request(self) -> None:
        self.begun += 1
        try:
            if self.begun == PLACES:
                self.when_all_wait()
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01 * self.begun)
            self.ended += 1

    def source(self) -> tuple[Extraction, Any]:
        api = cast(Api, SimpleNamespace(now=None))
        extraction = Extraction(lambda: nullcontext(api), {"notes": (NOTES,), RECHECKS: ()})

        @stoppable(extraction)
        async def places() -> AsyncIterator[Found]:
            await extraction.open()
            for n in range(PLACES // 2):
                place = cast(Any, SimpleNamespace(scope=str(n)))
                yield Found(str(n), place, None)

        async def walk(scope: str) -> AsyncIterator[Batch]:
            yield Batch("notes", scope, {"notes": []}, None)
            await self.request()

        made = dlt.resource(places, name="places", selected=False)
        extraction.walks = iter([Walk("", str(n), walk(str(n))) for n in range(PLACES // 2)])
        lists = surface(extraction, made, "notes", lambda found: walk(found.scope))
        return extraction, dlt.source(lambda: [made, lists, *rest(extraction)], name="talk")()

    def failure(self, source: Any, folder: Path) -> BaseException | None:
        with pytest.raises(PipelineStepFailed) as failed:
            dlt.pipeline("stopped", pipelines_dir=str(folder), destination="duckdb").extract(source)
        assert self.begun == self.ended == PLACES
        return failed.value.__cause__


def test_cancelled(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    waiting = Waiting()
    extraction, source = waiting.source()
    waiting.when_all_wait = lambda: Thread(target=extraction.steps.cancel).start()
    assert "Stopped" in repr(waiting.failure(source, tmp_path).__cause__)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text


def test_one_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is this error that is told, not what it did to the others."""

    def fails() -> None:
        raise OSError(28, "No space left on device")

    waiting = Waiting()
    _, source = waiting.source()
    waiting.when_all_wait = fails
    failed = waiting.failure(source, tmp_path)
    assert "No space left" in repr(failed), failed
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text
