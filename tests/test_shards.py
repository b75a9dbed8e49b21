"""Several runners on one destination at once: nothing lost, nothing doubled, nobody in another's way."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from bench.world import World
from pipelines.sync.shards import Shard
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.ducklake import instance
from pipelines.warehouse.errors import Locked
from pipelines.warehouse.postgres.server import Address
from sources.core.config import ConfigError
from tests.elsewhere import ENGINES, IN_CI, differences, place, same_place
from tests.servers import Cluster

pytestmark = pytest.mark.ci

RUN = Path(__file__).parent.parent / "pipelines" / "run.py"
PLACES = tuple(f"lantern/part-{n:02}" for n in range(8))
SHARED = ("feedback.events", "feedback.comments", "feedback.threads", "feedback.diff_notes", "feedback.documents",
          "ops.completeness")  # fmt: skip


@dataclass
class Team:
    """Runners over one world, each a process of its own with a directory of its own."""

    folder: Path
    server: Cluster
    engine: str
    database: str

    def start(self, shard: str = "", *more: str) -> "subprocess.Popen[bytes]":
        options = ["--shard", shard] if shard else []
        url = self.server.url(self.database)
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("EARSHOT", "SOURCES"))},
            "EARSHOT_DATA": str(self.folder / "data"), "DESTINATION__POSTGRES__CREDENTIALS": url,
            "DESTINATION__DUCKLAKE__CREDENTIALS__CATALOG": url,
            "DESTINATION__DUCKLAKE__CREDENTIALS__STORAGE": str(self.folder / "lake"),
        }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, str(RUN), "gitlab", "--json", "--destination", self.engine, *options, *more],
            cwd=self.folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def together(self, of: int) -> list[dict[str, Any]]:
        return [ended(process) for process in [self.start(f"{k}/{of}") for k in range(1, of + 1)]]

    @property
    def home(self) -> DataDir:
        return place(self.engine, self.server, self.folder, self.database)


def ended(process: "subprocess.Popen[bytes]", code: int = 0) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, (process.returncode, out[-2000:], err[-2000:])
    return json.loads(out)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    places = ",".join(PLACES)
    options: dict[str, Any] = {"project": places, "merge_requests": 5, "discussions": 2, "notes": 2, "latency": 0.005}
    with World(service="gitlab", **options) as running:
        yield running


@pytest.fixture(scope="module")
def teams(world: World, server: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Any:
    def team(engine: str) -> Team:
        folder = tmp_path_factory.mktemp(engine)
        (folder / ".dlt").mkdir(parents=True)
        config = f'[sources.gitlab]\napi_url = "{world.url}"\ntoken = "demo-token"\nprojects = {json.dumps(PLACES)}\n'
        (folder / ".dlt" / "config.toml").write_text(config, encoding="utf-8")
        return Team(folder, server, engine, server.database())

    return team


@pytest.fixture(scope="module")
def alone(teams: Any) -> DataDir:
    """What one runner leaves in a file of its own."""
    one = teams("duckdb")
    ended(one.start())
    return DataDir(one.folder / "data")


@pytest.mark.parametrize("engine", IN_CI)
def test_four_at_once_leave_what_one_leaves(engine: str, teams: Any, alone: DataDir) -> None:
    """First reads side by side into tables that nobody has made yet; then three runners take the scopes over: they go
    on where the four were, by cursors in the destination, and are told that nothing has changed.
    """
    four = teams(engine)
    told = four.together(4)
    assert sum(len(each["data"]["sources"]) for each in told) == 4, "every shard has something here"
    assert differences(alone, four.home, SHARED) == {}
    again = [source for each in four.together(3) for source in each["data"]["sources"]]
    assert sum(source["scopes"] for source in again) == len(PLACES)
    assert all(source["requests"] == source["not_modified"] and not source["rows"] for source in again)
    assert differences(alone, four.home, SHARED) == {}


def test_runners_that_meet_before_there_is_a_lake_make_one(server: Cluster, tmp_path: Path) -> None:
    """All find that its catalog is missing; of those that then make it all but one were told that it is there."""
    for _ in range(3):
        catalog, door = server.address(server.database()), Barrier(6)

        def opened(catalog: Address = catalog, door: Barrier = door) -> list[tuple[Any, ...]]:
            door.wait()
            with instance.opened(catalog, f"{tmp_path / catalog.database}/") as lake:
                return lake.execute(f"SELECT count(*) FROM ducklake_snapshots('{instance.NAME}')").fetchall()

        with ThreadPoolExecutor(6) as runners:
            assert [each.result() for each in [runners.submit(opened) for _ in range(6)]] == [[(1,)]] * 6


@pytest.mark.parametrize("engine", ENGINES)
def test_runners_of_one_machine_spill_apart(engine: str, server: Cluster, tmp_path: Path) -> None:
    """DuckDB calls its files the same everywhere: of two that spilled into one directory at once, one was told rows of
    the other, or both crashed.
    """
    used = set()
    for _ in range(2):
        home = place(engine, server, tmp_path)
        with home.destination.looking(home) as connection:
            connection.execute("SET memory_limit = '32MiB'")
            connection.execute("CREATE TEMP TABLE much AS SELECT range AS n, repeat('x', 300) FROM range(200_000)")
            held = connection.execute("SELECT path FROM duckdb_temporary_files()").fetchall()
            assert held
            used |= {Path(path).parent for (path,) in held}
        instance._close()
        instance._INSTANCES.clear()
    assert len(used) == 2 and not any(folder.exists() for folder in used)


def test_a_second_runner_of_a_shard_is_refused_and_so_is_another_number_of_shards(
    server: Cluster, tmp_path: Path
) -> None:
    """Also from another machine. Both read the same lists, and the slower one would put back an older cursor; with
    another N some scopes have two owners at once. When the runner is gone its place is free, however it went.
    """
    home = place("postgres", server, tmp_path, shard=Shard(2, 4))
    with ExitStack() as held:
        held.enter_context(home.destination.single_flight(home))
        elsewhere = same_place(home, Shard(2, 4))
        with pytest.raises(Locked, match=r"another run holds shard 2/4 .*process \d+"):
            with elsewhere.destination.single_flight(elsewhere):
                pass
        for of in (1, 3):
            other = same_place(home, Shard(1, of))
            with pytest.raises(Locked, match=f"while shards of 4 are at work there can be none of {of}"):
                with other.destination.single_flight(other):
                    pass
        neighbour = same_place(home, Shard(3, 4))
        with neighbour.destination.single_flight(neighbour):
            pass
    other = same_place(home, Shard(1, 3))
    with other.destination.single_flight(other):
        pass


@pytest.mark.parametrize("name", ["statement_timeout", "lock_timeout", "idle_session_timeout"])
def test_who_waits_its_turn_is_not_cut_off_for_being_idle(name: str, server: Cluster, tmp_path: Path) -> None:
    """Servers are told to end what idles or takes long. A lock is to idle, and a turn may take long: with it a runner
    lost its place, or was told that its connection is gone.
    """
    database = server.database()
    server.ask(database, f"ALTER DATABASE {database} SET {name} = '400ms'")
    homes = [place("postgres", server, tmp_path, database, Shard(number, 2)) for number in (1, 2)]
    with ExitStack() as held, ThreadPoolExecutor(1) as other:
        for home in homes:
            held.enter_context(home.destination.single_flight(home))
        first, second = (home.destination.server for home in homes)  # type: ignore[attr-defined]

        def waits() -> bool:
            with second.step(alone=True):
                return True

        with first.step(alone=True):
            waiting = other.submit(waits)
            time.sleep(1)
        assert waiting.result()
        with first.step(alone=True):
            """Its lock was its own all the time, and its place is."""


def test_a_machine_that_is_gone_without_a_word_is_missed_within_a_minute(server: Cluster) -> None:
    """Its locks go with its connections; the server's own measure is two hours, for which all other runners wait."""
    connection = server.address(server.database()).connect()
    with connection.cursor() as cursor:
        told = []
        for name in ("idle", "interval", "count"):
            cursor.execute(f"SHOW tcp_keepalives_{name}")
            told.append(int(cursor.fetchone()[0]))
    connection.close()
    assert told[0] + told[1] * told[2] <= 60


def test_a_shard_killed_in_its_landing_is_made_up_for_by_the_next_owner(teams: Any, alone: DataDir) -> None:
    """Its scopes go to a runner of another N, which knows nothing of the killed one's directory."""
    team = teams("postgres")
    killed = team.start("1/2")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        landed = "SELECT 1 FROM pg_tables WHERE schemaname = 'gitlab_staging_1_of_2'"
        if team.server.ask(team.database, landed):
            break
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    team.together(3)
    assert differences(alone, team.home, SHARED) == {}


def test_every_scope_has_one_owner_whatever_its_spelling() -> None:
    """On every machine, in every process: no seed, no order, no case."""
    for of in (1, 2, 3, 7):
        for name in (*PLACES, "Maya.Lantern.Example", "did:plc:abc"):
            owners = [k for k in range(1, of + 1) if Shard(k, of).owns(name)]
            assert len(owners) == 1 and Shard(owners[0], of).owns(f"@{name.upper()}")
    assert [k for name in PLACES for k in range(1, 5) if Shard(k, 4).owns(name)] == OWNERS


@pytest.mark.parametrize("text", ["0/4", "5/4", "2", "a/b", "1/0", "-1/4", "1/1000", "²/4"])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected K/N"):
        Shard.parse(text)


OWNERS = [2, 2, 4, 3, 1, 2, 3, 1]  # for ever: another rule would give every scope a new owner
