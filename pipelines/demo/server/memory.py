"""What a demo remembers between two commands, in the file `demo-run` of its directory: the story's last day, how often
it ran, and what was said to its world (by `earshot reply`), which lives no longer than a process.

A run is counted before it looks: what is said while it reads comes after it, so that the world, played again from its
beginning, gives every word the number that it had. One process at a time has the memory open.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import orjson
from pendulum import Date, DateTime

from pipelines.demo.server.web import Request
from pipelines.demo.story.clock import days_later
from pipelines.warehouse.files import DEMO_RUN
from sources.core.config import ConfigError

__all__ = ["Memory", "Remembering", "Sent", "remembered"]

HEADERS = ("authorization", "private-token", "user-agent")


@dataclass(frozen=True)
class Sent:
    """Something that was said to one of the services after so many runs; each a second after what was before it."""

    source: str
    runs: int
    method: str
    path: str  # as it was sent
    headers: dict[str, str]
    body: str

    @staticmethod
    def at(now: DateTime) -> DateTime:
        return now.add(seconds=1)

    def request(self) -> Request:
        path = unquote(self.path)
        return Request(self.method, path, {}, self.headers, self.body.encode(), "https://localhost", self.path)


@dataclass
class Memory:
    path: Path
    last_day: Date
    runs: int = 0
    sent: list[Sent] = field(default_factory=list)

    @property
    def later(self) -> int:
        return days_later(self.last_day)

    def keep(self) -> None:
        told = {"last_day": self.last_day.isoformat(), "runs": self.runs, "sent": [asdict(each) for each in self.sent]}
        partial = self.path.with_suffix(".partial")
        partial.write_bytes(orjson.dumps(told))
        os.replace(partial, self.path)


@contextmanager
def remembered(folder: Path, last_day: Date) -> Iterator[Memory]:
    """The memory, as nobody else changes it meanwhile; a new demo's story ends on `last_day`."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(folder / f"{DEMO_RUN}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = folder / DEMO_RUN
        yield _parsed(path) if path.exists() else Memory(path, last_day)


class Remembering(httpx.ASGITransport):
    """The way to a world: what changes it is kept before its answer is heard."""

    def __init__(self, app: Any, memory: Memory, source: str) -> None:
        super().__init__(app=app)
        self.world, self.memory, self.source = app.world, memory, source

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return await super().handle_async_request(request)
        self.world.now = Sent.at(self.world.now)
        body = (await request.aread()).decode()
        response = await super().handle_async_request(request)
        if response.is_success:
            headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
            path = request.url.raw_path.decode()
            self.memory.sent.append(Sent(self.source, self.memory.runs, request.method, path, headers, body))
            self.memory.keep()
        return response


def _parsed(path: Path) -> Memory:
    try:
        told: Any = orjson.loads(path.read_bytes())
        sent = [Sent(**each) for each in told["sent"]]
        return Memory(path, Date.fromisoformat(told["last_day"]), int(told["runs"]), sent)
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(
            f"{path} is not what a demo has left ({error}): remove {path.parent} and begin anew"
        ) from None
