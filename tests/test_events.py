"""The structured events that a run leaves in its log, as the requirement names them."""

import asyncio
import logging
import time
from pathlib import Path

import httpx
import pendulum
import pytest

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.settings import EarshotConfig, HttpSource
from pipelines.state import decisions
from pipelines.sync.output.summary import Beside
from sources.bluesky.source import Bluesky, BlueskyConfig
from sources.core.config import ConfigError
from sources.core.http.client import Failure, connect
from tests.memory import Memory
from tests.speaker import Speaker
from tests.story import REPO
from tests.test_bluesky_feed import poll, settings

NOW = pendulum.datetime(2026, 3, 1, 12)
Said = pytest.LogCaptureFixture


@pytest.fixture
def world() -> BlueskyWorld:
    made = BlueskyWorld(NOW)
    for n in range(40):
        made.advance(seconds=1)
        made.post(made.account("writer.example"), f"remark {n}")
    return made


def events(said: Said, name: str) -> list[str]:
    found = [r.getMessage() for r in said.records if r.levelno >= logging.INFO]
    said.clear()
    return [line for line in found if line.startswith(name)]


def test_a_scan_tells_that_it_begins_and_what_it_did(world: BlueskyWorld, caplog: Said) -> None:
    caplog.set_level(logging.INFO, "earshot")
    poll(BlueskyApp(world), Memory(), settings(["writer.example"]))
    assert [line.split(" requests=")[0] for line in events(caplog, "incremental_scan")] == [
        "incremental_scan_started surface=posts scope=writer.example",
        "incremental_scan_completed surface=posts scope=writer.example",
    ]


def test_reading_back_what_was_left_or_lost_is_a_backfill(world: BlueskyWorld, caplog: Said) -> None:
    """A capped walk that is gone on with; a cursor that cannot be believed and was reset a safe way back."""
    caplog.set_level(logging.INFO, "earshot")
    app, memory = BlueskyApp(world), Memory()
    writer = world.handles["writer.example"]
    poll(app, memory, settings(["writer.example"], posts_per_page=10, max_pages_per_actor=2))
    assert events(caplog, "incremental_scan_backfill") == []
    poll(app, memory, settings(["writer.example"], posts_per_page=10))
    assert [line.split(" until=")[0] for line in events(caplog, "incremental_scan_backfill")] == [
        "incremental_scan_backfill surface=posts scope=writer.example"
    ]
    memory.cursors["posts"][writer.did] = "no cursor"
    poll(app, memory, settings(["writer.example"]))
    assert events(caplog, "incremental_scan_backfill") == [
        f"incremental_scan_backfill surface=posts scope=writer.example until={world.now.subtract(days=1)}"
    ]


def test_how_long_a_retry_waits_at_first_is_a_setting() -> None:
    """`retry_backoff_ms`: two retries of a service that is down take 3 × as long as it says, and half as much more."""
    seconds = {ms: _asked_in_vain(ms) for ms in (1, 400)}
    assert seconds[1] < 0.3 < 0.8 < seconds[400]


def _asked_in_vain(backoff_ms: float) -> float:
    async def ask() -> None:
        down = httpx.MockTransport(lambda request: httpx.Response(500))
        async with connect("http://api.test", {}, max_retries=2, retry_backoff_ms=backoff_ms, transport=down) as api:
            with pytest.raises(Failure):
                await api.get("/anything")

    started = time.monotonic()
    asyncio.run(ask())
    return time.monotonic() - started


def test_the_setting_reaches_the_client(tmp_path: Path) -> None:
    async def waits() -> float:
        config = EarshotConfig(retry_backoff_ms=250)
        async with HttpSource(Bluesky(BlueskyConfig(actors=["a.example"])), config).connect() as api:
            return float(api.retry_backoff_ms)

    assert asyncio.run(waits()) == 250
    with pytest.raises(ConfigError, match="retry_backoff_ms"):
        EarshotConfig(retry_backoff_ms=0)


def test_an_answer_that_no_run_hears_in_time_is_told(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch, caplog: Said
) -> None:
    """By every run over everything, as long as it is so; one that was heard is not."""
    caplog.set_level(logging.INFO, "earshot")
    assert speaker.say("reply", "--issue", "1", "--body", "On it.", "--token", "t").code == 0
    repo = speaker.app.world.names[REPO]
    repo.comments.take(int(speaker.outbox()[0]["remote_id"]))
    assert speaker.quick().code == 0 and events(caplog, "token_reconcile_timeout") == []
    monkeypatch.setattr(decisions, "UNHEARD", -1)
    for _ in range(2):
        assert speaker.quick().code == 0
        (told,) = events(caplog, "token_reconcile_timeout")
        assert told.startswith("token_reconcile_timeout token=t status=posted age_seconds=")


def test_a_log_line_is_safe_to_print(capsys: pytest.CaptureFixture[str]) -> None:
    """Names in it are other people's."""
    Beside().write("[POLL] \x1b[2Jmaya\u202e.example: 1 post\n")
    assert capsys.readouterr().err == "[POLL] \ufffd[2Jmaya\ufffd.example: 1 post\n"
