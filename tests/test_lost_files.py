"""A file of the data directory is lost, its copy is not: what only the copy knew (edits, deletions, what was decided)
comes back, and nothing that is left is overwritten by what knows less.
"""

import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pendulum
import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.settings import landed_fills, landed_tables
from pipelines.state import decisions
from pipelines.state.ledger import Ledger
from pipelines.sync.source.pipeline import SourcePipeline
from pipelines.warehouse.data_dir import DataDir, LandingError
from tests.landed import opened
from tests.speaker import Speaker, answers
from tests.story import news, served, small_world, told
from tests.synced import GitHubDesk, desk

pytestmark = pytest.mark.on_disk  # files are what it is about
HEADERS, BLOCK = 3 * 4096, 2**18  # of a DuckDB file
SAID = "SELECT event_key, body, is_deleted FROM feedback.events"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GitHubWorld]:
    """A month, then an hour with edits and deletions that no service shows any more. `older`: the month alone."""
    folder = tmp_path_factory.mktemp("lost")
    world, repo = small_world()
    reader = desk(folder / "data", world)
    reader.run()
    shutil.copy(reader.home.published, folder / "older")
    news(world, repo)
    reader.run(sweep=True)
    return folder, world


@pytest.fixture
def reader(base: tuple[Path, GitHubWorld], tmp_path: Path) -> GitHubDesk:
    """Its own data directory; the world is everybody's, and only to be asked."""
    folder, world = base
    shutil.copytree(folder / "data", tmp_path / "data")
    return desk(tmp_path / "data", world)


def said(reader: GitHubDesk) -> set[tuple[Any, ...]]:
    return set(reader.sql(SAID))


def history(found: set[tuple[Any, ...]]) -> int:
    """What a service shows no more."""
    return sum(bool(is_deleted) for *_, is_deleted in found)


def lose(reader: GitHubDesk, *names: str) -> None:
    for name in names:
        for file in reader.home.path.glob(f"{name}*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()


# The warehouse


CI = pytest.mark.ci
ALSO = [(), pytest.param(("dlt", "search.sqlite"), marks=CI), pytest.param(("control.sqlite",), marks=CI)]


@pytest.mark.parametrize("also", ALSO)
def test_a_lost_warehouse_comes_back_from_what_was_published(reader: GitHubDesk, also: tuple[str, ...]) -> None:
    """Old versions and tombstones with it; the run asks for the news alone, and a sweep makes up for what was seen in
    between."""
    before = said(reader)
    assert history(before) > 2
    lose(reader, "warehouse.duckdb", *also)
    report = reader.run()
    assert report.exit_code == 0 and report.sources[0].swept
    assert said(reader) == before
    reader.judge()
    assert all("since" in call.query for call in reader.app.log if call.path.endswith("/issues/comments"))
    assert not reader.run().sources[0].swept
    assert said(reader) == before


def test_a_file_without_anything_in_it_is_lost_too(reader: GitHubDesk) -> None:
    """Cut to nothing by a power cut, or made by a tool that was only to look."""
    before = said(reader)
    for damage in (lambda: reader.home.warehouse.write_bytes(b""), lambda: duckdb.connect(str(reader.home.warehouse))):
        lose(reader, "warehouse.duckdb")
        damage()
        assert reader.run().exit_code == 0
        assert said(reader) == before


@pytest.mark.ci
def test_what_was_landed_and_not_published_is_read_again(base: tuple[Path, GitHubWorld], reader: GitHubDesk) -> None:
    """dlt's file is ahead of the copy then, also one that came from the warehouse itself."""
    shutil.rmtree(reader.home.working)
    opened(
        reader.home, landed_tables()["github"], landed_fills()["github"], "github"
    )  # the state of the newer warehouse
    lose(reader, "warehouse.duckdb")
    shutil.copy(base[0] / "older", reader.home.published)
    assert reader.run().exit_code == 0
    reader.judge()


@pytest.mark.ci
def test_a_log_of_the_lost_file_is_not_replayed_into_the_copy(reader: GitHubDesk) -> None:
    before = said(reader)
    lose(reader, "warehouse.duckdb")
    reader.home.path.joinpath("warehouse.duckdb.wal").write_bytes(b"what was lost with its file")
    assert reader.run().exit_code == 0 and said(reader) == before


@pytest.mark.ci
@pytest.mark.parametrize(
    "where", ["pipelines.warehouse.embedded.restore:os.replace", "pipelines.warehouse.files:os.replace"]
)
def test_killed_in_the_middle_of_it(base: tuple[Path, GitHubWorld], tmp_path: Path, where: str) -> None:
    """The next run begins it again."""
    with served(base[1], tmp_path) as project:
        shutil.copytree(base[0] / "data", project.data)
        before = set(told(project.published))
        (project.data / "warehouse.duckdb").unlink()
        (project.data / "control.sqlite").unlink()
        assert project.killed_at(where).code == -signal.SIGKILL
        assert set(told(project.published)) == before
        assert project.quick().code == 0
        assert set(told(project.published)) == before


@pytest.mark.ci
@pytest.mark.parametrize("damage", ["garbage", "nothing", "another file"])
def test_where_it_cannot_come_back_nothing_is_overwritten(reader: GitHubDesk, damage: str) -> None:
    """It is refused with what to do; once that is done, the next run reads anew."""
    lose(reader, "warehouse.duckdb", "published.duckdb")
    if damage == "another file":
        with duckdb.connect(str(reader.home.published)) as connection:
            connection.execute("CREATE TABLE mine (a INTEGER)")
    else:
        reader.home.published.write_bytes(b"no database" * 1000 if damage == "garbage" else b"")
    held = reader.home.published.read_bytes()
    with pytest.raises(LandingError, match=r"warehouse\.duckdb is missing.*move published.duckdb away"):
        reader.run()
    assert reader.home.published.read_bytes() == held and not reader.home.warehouse.exists()
    reader.home.published.unlink()
    assert reader.run().exit_code == 0
    reader.judge()


def test_both_lost_is_read_anew(reader: GitHubDesk) -> None:
    lose(reader, "warehouse.duckdb", "published.duckdb")
    assert reader.run().exit_code == 0
    reader.judge()


@pytest.mark.ci
def test_a_disk_that_is_full_leaves_what_is_there(reader: GitHubDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    before = said(reader)
    lose(reader, "warehouse.duckdb")
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(shutil, "copyfile", full)
        with pytest.raises(LandingError, match="No space left"):
            reader.run()
    assert said(reader) == before and not reader.home.warehouse.exists()
    assert reader.run().exit_code == 0 and said(reader) == before


@pytest.mark.ci
def test_what_dlt_dropped_is_not_put_back(reader: GitHubDesk) -> None:
    """`dlt pipeline … drop` is somebody's wish: what the service still shows comes back, and nothing else."""
    with duckdb.connect(str(reader.home.warehouse)) as connection:
        connection.execute("DELETE FROM github.issue_comments")
    with reader.home.lock():
        pass
    with duckdb.connect(str(reader.home.warehouse), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM github.issue_comments").fetchone() == (0,)


@pytest.mark.ci
@pytest.mark.parametrize("how", ["taken away during a run", "an older one put there"])
def test_readers_keep_what_the_warehouse_lacks(
    base: tuple[Path, GitHubWorld], reader: GitHubDesk, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A copy of what knows less is refused, with what to do; that ends well."""
    before = said(reader)
    if how == "an older one put there":
        shutil.copy(base[0] / "older", reader.home.warehouse)
        lost = reader.run()
    else:
        load = SourcePipeline.load

        def gone(pipeline: SourcePipeline, *args: Any) -> None:
            pipeline.home.warehouse.unlink(missing_ok=True)
            load(pipeline, *args)

        with monkeypatch.context() as patch:
            patch.setattr(SourcePipeline, "load", gone)
            lost = reader.run(full=True)
    assert lost.exit_code == 1 and "published.duckdb holds what warehouse.duckdb lacks" in str(lost.error)
    assert said(reader) == before
    lose(reader, "warehouse.duckdb")
    assert reader.run().exit_code == 0 and said(reader) == before
    reader.judge()


# What was decided


def decide(home: DataDir, *rows: tuple[str, ...]) -> None:
    with decisions.writing(home) as decided:
        for consumer, key in rows:
            decided.rows("INSERT INTO acknowledgements VALUES (?, ?, ?)", [consumer, key, decisions.now()])


@pytest.mark.ci
@pytest.mark.parametrize("left", ["both", "published", "warehouse"])
def test_a_lost_ledger_comes_back_with_what_was_decided(reader: GitHubDesk, left: str) -> None:
    """As of the last publish: acknowledgements to the microsecond, what is watched, links, runs and their numbers."""
    home = reader.home
    decide(home, ("bot", "a"), ("bot", "b"))
    with decisions.writing(home) as decided:
        decided.rows("INSERT INTO lifecycle VALUES ('github:1:1', 'watched', ?, NULL, 7)", [decisions.now()])
        decided.rows("INSERT INTO links VALUES ('github:1:1', 'github:1:2', ?)", [decisions.now()])
    with Ledger.open(home.control) as ledger:
        ledger.state.is_unpublished = True
    reader.run()
    with decisions.writing(home) as decided:
        held = {table: decisions.dicts(decided, table) for table in decisions.TABLES}
    runs = "SELECT run_id, mode, status, started_at, requests FROM runs ORDER BY run_id"
    with Ledger.open(home.control) as ledger:
        told = [tuple(row) for row in ledger.connection.execute(runs)]
        requests = ledger.connection.execute("SELECT sum(requests) FROM requests").fetchone()[0]
    lose(reader, "control.sqlite", *{"both": (), "published": ("warehouse",), "warehouse": ("published",)}[left])
    home.path.joinpath("control.sqlite-wal").write_bytes(b"what was lost with its file")
    report = reader.run()
    assert report.exit_code == 0 and report.run_id == len(told) + 1 and report.sources[0].swept
    with decisions.writing(home) as decided:
        for table, rows in held.items():
            assert table == "restorations" or decisions.dicts(decided, table) == rows
    with Ledger.open(home.control) as ledger:
        again = [tuple(row) for row in ledger.connection.execute(runs)][:-1]
        assert [row[:3] for row in again] == [row[:3] for row in told] and again[:-1] == told[:-1]
        before = "SELECT sum(requests) FROM requests WHERE run_id < ?"
        assert ledger.connection.execute(before, (report.run_id,)).fetchone()[0] == requests
        assert not ledger.connection.execute("SELECT 1 FROM runs WHERE finished_at IS NULL").fetchall()
    assert sorted(reader.sql("SELECT consumer, event_key FROM ops.acknowledgements")) == [("bot", "a"), ("bot", "b")]


def test_who_decides_next_restores_it_too(reader: GitHubDesk) -> None:
    """Not only a run; and a reader is told as of the last publish, without writing anything."""
    decide(reader.home, ("bot", "a"))
    with Ledger.open(reader.home.control) as ledger:
        ledger.state.is_unpublished = True
    reader.run()
    lose(reader, "control.sqlite")
    with reader.home.destination.control(reader.home, writes=False) as told:
        assert told is not None and told.rows("SELECT event_key FROM acknowledgements") == [("a",)]
    assert not reader.home.control.exists()
    decide(reader.home, ("bot", "b"))
    with decisions.writing(reader.home) as decided:
        assert decided.rows("SELECT event_key FROM acknowledgements ORDER BY 1") == [("a",), ("b",)]


def test_two_that_restore_it_at_once_make_one(reader: GitHubDesk) -> None:
    """The later finds what the earlier made, with what was decided since."""
    lose(reader, "control.sqlite")
    with ThreadPoolExecutor(8) as many:
        list(many.map(lambda n: decide(reader.home, ("bot", str(n))), range(8)))
    with decisions.writing(reader.home) as decided:
        assert len(decided.rows("SELECT event_key FROM acknowledgements")) == 8
        assert len(decided.rows("SELECT * FROM restorations")) == 1


def test_where_neither_can_be_read_nothing_is_decided_anew(reader: GitHubDesk) -> None:
    from pipelines.warehouse.errors import Unavailable

    lose(reader, "control.sqlite")
    for file in (reader.home.published, reader.home.warehouse):
        file.write_bytes(b"no database" * 1000)
    with pytest.raises(Unavailable, match=r"control\.sqlite is missing.*move"):
        decide(reader.home, ("bot", "b"))
    assert not reader.home.control.exists()


# Answers


def forget(speaker: Speaker) -> None:
    for file in speaker.data.glob("control.sqlite*"):
        file.unlink()


def test_an_answer_of_before_the_publish_is_known(speaker: Speaker) -> None:
    assert speaker.say("reply", "--pr", "2", "--body", "Thank you!", "--token", "thanks-1").code == 0
    assert speaker.quick().code == 0
    forget(speaker)
    speaker.app.log.clear()
    told = speaker.told("reply", "--pr", "2", "--body", "Thank you!", "--token", "thanks-1")
    assert told["ok"] and not told["data"]["is_new"] and told["data"]["status"] == "observed"
    assert answers(speaker) == ["thanks-1"] and not speaker.app.log


@pytest.mark.ci
@pytest.mark.parametrize("deed", ["planned and refused before", "unknown"])
def test_an_answer_of_after_the_publish_is_not_said_twice(speaker: Speaker, deed: str) -> None:
    """Nobody here knows of it any more: the first that asks for it looks before it speaks."""
    reply = ("reply", "--pr", "2", "--body", "Thank you!", "--token", "thanks-1")
    if deed != "unknown":
        from pipelines.demo.server.web import Response

        speaker.app.switches.fault = lambda r: Response(403, {"message": "no"}) if r.method == "POST" else None
        assert speaker.say(*reply).code == 1
        speaker.app.switches.fault = None
        speaker.app.world.names["lantern/lantern"].comment(2, "noor", "A word.")
        speaker.app.world.advance(60)
        assert speaker.quick().code == 0
    assert speaker.say(*reply).code == 0
    forget(speaker)
    told = speaker.told(*reply)
    assert told["ok"] and answers(speaker) == ["thanks-1"], told
    speaker.app.log.clear()
    assert speaker.say(*reply).code == 0 and not speaker.app.log, "it is known now"
    assert speaker.quick().code == 0
    assert [row["status"] for row in speaker.outbox()] == ["observed"]


@pytest.mark.ci
def test_another_answer_is_said_after_one_look(speaker: Speaker) -> None:
    forget(speaker)
    with decisions.writing(DataDir(speaker.data)) as decided:
        long_ago = pendulum.now("UTC").subtract(hours=1).to_iso8601_string()  # nothing is on its way any more
        decided.rows("UPDATE restorations SET restored_at = ?", [long_ago])
    with Ledger.open(speaker.data / "control.sqlite") as ledger:
        ahead = (pendulum.now("UTC") - speaker.app.world.now).total_seconds()
        ledger.source_state("github").clock_ahead = ahead
    told = speaker.told("reply", "--pr", "2", "--body", "Thank you!", "--token", "thanks-2")
    assert told["ok"] and told["data"]["is_new"] and answers(speaker) == ["thanks-2"]
    assert [call.method for call in speaker.app.log if call.path.endswith("/comments")] == ["GET", "POST"]


@pytest.mark.ci
def test_what_one_page_does_not_decide_a_run_does(speaker: Speaker) -> None:
    """So much was said since that the look is in vain: a run over all rules it out, and it can be said."""
    repo = speaker.app.world.names["lantern/lantern"]
    for n in range(101):
        repo.comment(2, "noor", f"Word {n}.")
    speaker.app.world.advance(60)
    forget(speaker)
    reply = ("reply", "--pr", "2", "--body", "Thank you!", "--token", "thanks-3")
    with decisions.writing(DataDir(speaker.data)) as decided:
        decided.rows("UPDATE restorations SET as_of = '2026-01-01T00:00:00Z', restored_at = '2026-01-01T00:00:00Z'")
    assert speaker.told(*reply)["error"]["code"] == "UNDECIDED"
    assert speaker.quick().code == 0
    assert speaker.told(*reply)["ok"] and answers(speaker) == ["thanks-3"]


@pytest.mark.ci
def test_status_tells_what_is_left_until_it_is_back(speaker: Speaker) -> None:
    """The runs as of the last publish, and that the file is missing; asking writes nothing."""
    forget(speaker)
    told = speaker.told("status")["data"]
    assert [run["run_id"] for run in told["runs"]] == [1] and "LOST" in {each["code"] for each in told["troubles"]}
    assert not (speaker.data / "control.sqlite").exists()
    assert speaker.quick().code == 0
    assert "LOST" not in {each["code"] for each in speaker.told("status")["data"]["troubles"]}


@pytest.mark.ci
@pytest.mark.parametrize("damage", ["garbage", "cut"])
def test_a_damaged_warehouse_is_named_with_what_mends_it(reader: GitHubDesk, damage: str) -> None:
    """No run repairs it by itself: what is done by hand is told, and then the next run goes on from what is published."""
    before, file = said(reader), reader.home.warehouse
    whole = file.read_bytes()
    file.write_bytes(b"no database" * 100_000 if damage == "garbage" else whole[: len(whole) // 2])
    report = reader.run(full=True)
    problems = " ".join(problem.message for problem in report.sources[0].problems)
    assert report.exit_code == 1 and "move it away: the next run makes it of published.duckdb" in problems, problems
    assert "repaired" not in problems and said(reader) == before
    file.rename(file.with_suffix(".away"))
    assert reader.run().exit_code == 0 and said(reader) == before


def test_a_warehouse_that_was_torn_by_a_kill_is_as_good_as_missing(
    reader: GitHubDesk, caplog: pytest.LogCaptureFixture
) -> None:
    """A block is half written, and the log says that nobody has closed it: kept aside, made of what was published."""
    before, file = said(reader), reader.home.warehouse
    whole = bytearray(file.read_bytes())
    for block in range(HEADERS, len(whole), BLOCK):
        whole[block + BLOCK // 2 : block + BLOCK] = bytes(BLOCK // 2)
    file.write_bytes(whole)
    file.with_name(f"{file.name}.wal").touch()
    assert reader.run(full=True).exit_code == 0 and said(reader) == before
    assert [len(kept.read_bytes()) for kept in reader.home.path.glob("warehouse.duckdb.aside-*")] == [len(whole)]
    assert "was torn as a run was killed" in caplog.text
    assert not file.with_name(f"{file.name}.wal").exists()
