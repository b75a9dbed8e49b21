"""What contract tests share: whom they ask, what of a conversation is recorded, and when a request is the recorded one.

A request is matched with the headers that the answer hangs on: what is accepted, which version is known, whether a token
is sent. Of the token only that is kept; nothing that identifies anybody else gets into a cassette.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import App
from sources.core.http.client import Api, connect
from sources.core.reading import Batch, Reading

__all__ = ["RECORDING", "Conversation", "asked_at", "configured", "converse", "same_headers"]

RECORDING = os.environ.get("EARSHOT_RECORD", "")  # "demo", "live", or the address of a server that answers like it
SCRUBBED = "scrubbed"
TOKENS = ("authorization", "private-token")
MATCHED = ("accept", "content-type", "if-none-match", *TOKENS)
KEPT = {
    "content-type", "date", "etag", "link", "location", "retry-after", "x-next-page", "x-page", "x-per-page", "x-total",
    "x-total-pages",
}  # fmt: skip


@contextmanager
def asked_at(live: str, app: Callable[[], App]) -> Iterator[str]:
    """Where the tests ask: the recorded service, or while recording a real one."""
    if RECORDING == "demo":
        with serving(app()) as url:
            yield url
    else:
        yield RECORDING.rstrip("/") if RECORDING.startswith("http") else live


def configured(url: str, live: str, *others: tuple[str, str]) -> dict[str, Any]:
    """`others`: what stands in the place of other hosts while one answers for all of them, as patterns."""
    homes = [*others, (re.escape(url), live)]

    def homed(text: str) -> str:
        for here, there in homes:
            text = re.sub(here, there, text)
        return text

    def request(recorded: Any) -> Any:
        recorded.uri = homed(recorded.uri)
        return recorded

    def response(recorded: Any) -> Any:
        headers = {name.lower(): values for name, values in recorded["headers"].items()}
        recorded["headers"] = {name: [homed(v) for v in values] for name, values in headers.items() if name in KEPT}
        body = recorded["body"]["string"]
        if body:
            said = body.decode() if isinstance(body, bytes) else body
            recorded["body"]["string"] = homed(said).encode() if isinstance(body, bytes) else homed(said)
        return recorded

    return {
        "filter_headers": ["cookie", "host", *((name, SCRUBBED) for name in TOKENS)],
        "before_record_request": request,
        "before_record_response": response,
        "match_on": ["method", "scheme", "host", "path", "query", "body", "same headers"],
        "decode_compressed_response": True,
    }


def same_headers(asked: Any, recorded: Any) -> None:
    """A matcher: raises where they differ."""
    for name in MATCHED:
        assert asked.headers.get(name) == recorded.headers.get(name), name


@dataclass
class Conversation:
    """What was asked and what became of the answers."""

    reading: Reading
    batches: list[Batch] = field(default_factory=list)
    sent: list[httpx.Request] = field(default_factory=list)

    @property
    def api(self) -> Api:
        return self.reading.api

    @property
    def cursors(self) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = {}
        for batch in self.batches:
            if batch.cursor is not None:
                found.setdefault(batch.surface, {})[batch.scope] = batch.cursor
        return found

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch.rows.get(table, ())]

    def asked(self) -> list[tuple[str, str, dict[str, str]]]:
        """Method, path and parameters, in their order; the path as it was sent."""
        return [(r.method, r.url.raw_path.decode().partition("?")[0], dict(r.url.params)) for r in self.sent]


def converse(
    url: str, headers: dict[str, str], talk: Callable[[Conversation], Awaitable[None]],
    saved: dict[str, dict[str, object]] | None = None,
) -> Conversation:  # fmt: skip
    async def once() -> Conversation:
        async def note(request: httpx.Request) -> None:
            held.sent.append(request)

        async with connect(url, headers, max_retries=0) as api:
            api.client.event_hooks = {"request": [note]}
            held = Conversation(Reading(api, saved or {}))
            await talk(held)
        return held

    return asyncio.run(once())
