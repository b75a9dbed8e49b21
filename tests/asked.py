"""What the reader's tests share: the demo world in a warehouse, once a session, and questions asked of it as a person
or a program would: by what they type, and by what they then see.
"""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pendulum
import pytest
from click.testing import CliRunner

from pipelines.ask.query import health, times
from pipelines.cli import main
from pipelines.demo import TEAM, demo_sources
from pipelines.sync.run import Options, sync
from pipelines.warehouse.data_dir import DataDir
from tests.once import once

NOW = pendulum.datetime(2026, 11, 1, 12)  # of the story, when the demo's first run reads it
REAL_NOW = times.now


@dataclass
class Asked:
    """An answer: what is on the screen, beside it, and how it ended."""

    out: str
    err: str
    code: int

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.out.splitlines() if line.strip()]


@dataclass
class Reader:
    home: DataDir
    width: int = 100

    def ask(self, *words: str, width: int | None = None, stdin: str | None = None, **environ: str) -> Asked:
        told = {"EARSHOT_DATA": str(self.home.path), "COLUMNS": str(width or self.width), **environ}
        found = CliRunner().invoke(main, list(words), env=told, input=stdin, prog_name="earshot")
        if found.exception and not isinstance(found.exception, SystemExit):
            raise found.exception
        return Asked(found.stdout, found.stderr, found.exit_code)

    def json(self, *words: str, **more: Any) -> dict[str, Any]:
        told: dict[str, Any] = orjson.loads(self.ask(*words, "--json", **more).out)
        return told

    def data(self, *words: str) -> Any:
        told = self.json(*words)
        assert told["ok"], told
        return told["data"]


@pytest.fixture(scope="session")
def worlds() -> dict[str, Any]:
    return {each.source.name: each.app.world for each in demo_sources(0)}


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> DataDir:
    def make(folder: Path) -> None:
        asyncio.run(sync(DataDir(folder), demo_sources(0), Options(keep_payloads=False, team=TEAM)))

    return DataDir(once(tmp_path_factory, "demo", make))


@pytest.fixture
def demo(demo_home: DataDir, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Everybody's: only to be looked at."""
    monkeypatch.setattr(times, "now", lambda: NOW)
    monkeypatch.setattr(times, "local_timezone", lambda: pendulum.UTC)
    return Reader(demo_home)


@pytest.fixture
def own(demo_home: DataDir, tmp_path: Path, demo: Reader) -> Reader:
    """A copy that a test may write to."""
    home = DataDir(tmp_path / "own")
    home.create()
    for file in (demo_home.published, demo_home.control):
        shutil.copy(file, home.path / file.name)
    return Reader(home)


def at_its_time(monkeypatch: pytest.MonkeyPatch, moment: pendulum.DateTime) -> None:
    for module in (times, health):
        monkeypatch.setattr(module, "now", lambda: moment)
