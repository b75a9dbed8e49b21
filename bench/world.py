"""A demo service as its own process, so that what it costs is not counted for the run that asks it."""

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.request import Request, urlopen

from bench.measure import ROOT, BenchError

__all__ = ["Asked", "World"]


@dataclass(frozen=True)
class Asked:
    """What the service itself counted since it was last told to forget."""

    requests: int
    not_modified: int
    at_once: int
    queries: int = 0  # of the requests, those to GraphQL


class World:
    """`python -m pipelines.demo.server.serve` with options: `World(pulls=300)`. It starts while others do."""

    def __init__(self, **options: float) -> None:
        flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pipelines.demo.server.serve", *flags], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    @cached_property
    def url(self) -> str:
        """It says where it listens once its past is made up."""
        line = self._process.stdout.readline().strip() if self._process.stdout else ""
        if not line:
            raise BenchError("the demo service did not start")
        return line

    def forget(self) -> None:
        self._tell("POST", "/_world/log")

    def asked(self) -> Asked:
        told = self._tell("GET", "/_world/log")
        return Asked(told["requests"], told["statuses"].get("304", 0), told["max_in_flight"], told["queries"])

    def touch(self, changes: int) -> None:
        self._tell("POST", f"/_world/touch?changes={changes}")

    def _tell(self, method: str, path: str) -> Any:
        with urlopen(Request(self.url + path, method=method), timeout=30) as answer:
            return json.load(answer)
