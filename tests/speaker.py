"""A project that may answer: the demo GitHub on a real socket, what was said there in a warehouse, and a token to write."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from pipelines.cli import main
from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.serve import serving
from pipelines.models.slash_commands import tokens
from tests.in_memory import InMemory, opened, snapshot
from tests.once import once
from tests.story import KILLED_RUN, NOW, REPO, Ended, Project

WRITE_TOKEN = "may-write-token"
WRITER = "earshot-bot"
TIMEOUT = 1.0


@dataclass
class Speaker(Project):
    """`say` is `earshot …` in this process, `say_at` one that is killed at some call."""

    def __post_init__(self) -> None:
        self.earshot = {"max_retries": 1, "timeout_seconds": TIMEOUT}
        self.app.access.tokens[WRITE_TOKEN] = WRITER

    def say(self, *words: str, **more: str) -> Ended:
        self.configure()
        before, here = len(self.app.log), Path.cwd()
        try:
            os.chdir(self.folder)
            found = CliRunner().invoke(main, list(words), env=self._environment(more), prog_name="earshot")
        finally:
            os.chdir(here)
        if found.exception and not isinstance(found.exception, SystemExit):
            raise found.exception
        return self._checked(Ended(found.exit_code, found.stdout, found.stderr, self.app.log[before:]))

    def told(self, *words: str, **more: str) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.say(*words, "--json", **more).out)
        return found

    def killed_saying(self, where: str, *words: str, moment: str = "before", call: int = 1) -> Ended:
        """`earshot …` in a process that gets kill -9 at that call of a function."""
        program = (str(KILLED_RUN), where, moment, str(call), "9")
        return self.run(*words, program=program, MAIN="pipelines.cli:main")

    def outbox(self) -> list[dict[str, Any]]:
        connection = sqlite3.connect(self.data / "control.sqlite")
        connection.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in connection.execute("SELECT * FROM answers ORDER BY planned_at")]
        finally:
            connection.close()

    def sql(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with opened(self.published) as connection:
            return connection.execute(query, list(values)).fetchall()

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        return super()._environment({"SOURCES__GITHUB__WRITE_TOKEN": WRITE_TOKEN, **more})

    @property
    def secrets(self) -> list[str]:
        return [*super().secrets, WRITE_TOKEN]


def spoken_world() -> tuple[GitHubWorld, Repo]:
    """One issue (1) with commands, one pull request (2) with a review's thread: the same at every call."""
    world = GitHubWorld(NOW)
    repo = world.add_repo(REPO)
    repo.open_issue("liu", "Slow start", "It takes a minute.")
    repo.open_pull("maya", "Faster start", "Fixes #1.")
    world.advance(60)
    repo.comment(1, "liu", "Any news?\n\n/earshot retry job=7 fast\n/earshot help")
    repo.comment(2, "noor", "Looks good.")
    repo.review_comment(2, "noor", "src/start.py", "Why twice?", 10)
    world.advance(600)
    return world, repo


@contextmanager
def speaking(
    folder: Path, base: Path | None = None, world: GitHubWorld | None = None, memory: InMemory | None = None
) -> Iterator[Speaker]:
    """A speaker that has heard all there is: by reading it, or as a copy of a data directory that read the same."""
    app = GitHubApp(world or spoken_world()[0], public_url="https://api.github.com")
    with serving(app) as url:
        speaker = Speaker(folder, app, url, memory=memory)
        if base:
            shutil.copytree(base, speaker.data)
            speaker.configure()
        else:
            ended = speaker.quick()
            assert ended.code == 0, ended.said
        app.log.clear()
        yield speaker


@pytest.fixture(scope="session")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of who has read the spoken world."""

    def make(folder: Path) -> None:
        with speaking(folder):
            pass

    return once(tmp_path_factory, "heard", make) / "data"


@pytest.fixture(scope="session")
def heard_in_memory(tmp_path_factory: pytest.TempPathFactory) -> Speaker:
    """Who has read it into memory."""
    with speaking(tmp_path_factory.mktemp("heard"), memory=InMemory()) as speaker:
        return speaker


@pytest.fixture
def speaker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Speaker]:
    """In memory, but for tests that are marked `on_disk`: those that speak, or read, in processes of their own."""
    if request.node.get_closest_marker("on_disk"):
        with speaking(tmp_path, request.getfixturevalue("heard")) as speaker:
            yield speaker
        return
    base = request.getfixturevalue("heard_in_memory")
    with speaking(tmp_path, base.data, memory=snapshot(base.memory)) as speaker:
        yield speaker


def answers(speaker: Speaker) -> list[str]:
    """The tokens of all that the world shows as said by us, each as often as it is there."""
    repo = speaker.app.world.names[REPO]
    said = [*repo.comments.rows.values(), *repo.review_comments.rows.values()]
    return [token for row in said for token in tokens(row.body) if row.author.login == WRITER]
