"""The thin part of every check: questions asked side by side, and what was answered, be it a failure."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from sources.core.http.client import Answer, Api, Failure, Params

__all__ = ["Heard", "Line"]

AT_ONCE = 8
Heard = Answer | Failure


@dataclass
class Line:
    """A service on the line. It remembers how long it took to answer."""

    api: Api
    took: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def ask(self, path: str, params: Params | None = None) -> Heard:
        async with self._turns:
            begun = time.monotonic()
            try:
                answer = await self.api.get(path, params)
            except Failure as failure:
                return failure
            self.took.append(time.monotonic() - begun)
            return answer

    async def ask_all(self, questions: Mapping[str, tuple[str, Params | None]]) -> dict[str, Heard]:
        heard = await asyncio.gather(*(self.ask(*question) for question in questions.values()))
        return dict(zip(questions, heard, strict=True))

    @property
    def latency(self) -> float:
        """Of an answer, in the middle; the first one also had to connect."""
        return sorted(self.took)[len(self.took) // 2] if self.took else 0.1
