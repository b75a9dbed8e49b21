"""A run may die anywhere. The next one ends where an undisturbed one would have: the same events, equal to the world.

Every kill is a real `kill -9` of a real process. `EARSHOT_LONG=1` also kills at every single statement of the loads.
"""

import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Request
from tests.in_memory import opened
from tests.long import LONG
from tests.story import KILLED_RUN, REPO, Ended, Project, judge, news, served, small_world, told

pytestmark = pytest.mark.ci


PIPELINE = "dlt.pipeline.pipeline:Pipeline"
TABLE_COPIED = "dlt.destinations.impl.duckdb.duck:DuckDbCopyJob.run"
TABLE_MERGED = "dlt.destinations.job_client_impl:SqlLoadJob.run"
COMMITTED = "dlt.destinations.impl.duckdb.sql_client:DuckDbSqlClient.commit_transaction"
STATEMENT = "dlt.destinations.impl.duckdb.sql_client:DuckDbSqlClient.execute_query"

STAGES = [  # in the order of a run
    ("fetch", "sources.core.reading:Batch.__init__", "before", 3),
    ("extract", f"{PIPELINE}.extract", "before", 1),
    ("extracting", "sources.extraction:Extraction.land", "after", 3),
    ("extracted", f"{PIPELINE}.extract", "after", 1),
    ("landing", "pipelines.sync.source.pipeline:SourcePipeline.load", "before", 1),
    ("normalize", f"{PIPELINE}.normalize", "before", 1),
    ("load", f"{PIPELINE}.load", "before", 1),
    ("first table", TABLE_COPIED, "before", 1),
    ("between tables", TABLE_COPIED, "after", 4),
    ("between merges", TABLE_MERGED, "before", 3),
    ("inside a merge", COMMITTED, "before", 5),
    ("after a merge", COMMITTED, "after", 6),
    ("loaded, not said so", "dlt.load.load:Load.complete_package", "before", 1),
    ("loaded", f"{PIPELINE}.load", "after", 1),
    ("before settling", "pipelines.sync.source.reader:suspects", "before", 1),
    ("threads", "sources.github.surfaces.review_threads:Due.row", "before", 2),
    ("ledger of reading", "pipelines.state.ledger:Ledger.record_requests", "before", 1),
    ("models", "pipelines.models.build:build", "before", 1),
    ("between models", "pipelines.models.build:_build_one", "before", 7),
    ("models built", "pipelines.models.build:build", "after", 1),
    ("mirror", "pipelines.state.mirror:mirror", "after", 1),
    ("copy", "pipelines.warehouse.files:shutil.copyfile", "after", 1),
    ("fsync", "pipelines.warehouse.files:os.fsync", "before", 1),
    ("replace", "pipelines.warehouse.files:os.replace", "before", 1),
    ("replaced", "pipelines.warehouse.files:os.replace", "after", 1),
    ("published", "pipelines.warehouse.data_dir:DataDir.publish", "after", 1),
    ("finish", "pipelines.state.ledger:Ledger.finish", "before", 1),
    ("finished", "pipelines.state.ledger:Ledger.finish", "after", 1),
]
IN_CI = {
    "first": {"extracting", "between tables", "threads"},
    "incremental": {"between tables", "after a merge", "loaded, not said so", "between models", "fsync", "finish"},
}
NEVER = {
    "first": {"between merges", "inside a merge", "after a merge"},
    "incremental": set[str](),
}  # empty tables are filled
KILLS = [
    (story, *stage)
    for story, in_ci in IN_CI.items()
    for stage in STAGES
    if stage[0] in in_ci or (LONG and stage[0] not in NEVER[story])
]


@dataclass
class Story:
    """What is to be read, from which data directory on, and what an undisturbed run makes of it."""

    project: Project
    world: GitHubWorld
    base: Path | None
    options: tuple[str, ...]
    undisturbed: set[tuple[str, bool, bool]]
    requests: int

    def begin(self, folder: Path) -> Project:
        """A project at its beginning, in a folder of its own."""
        project = Project(folder, self.project.app, self.project.url)
        if self.base:
            shutil.copytree(self.base, project.data)
        return project

    def ends_well(self, project: Project) -> Ended:
        """The next run reaches the truth and what an undisturbed run reaches; then there is nothing left to do."""
        again = project.quick(*self.options)
        assert again.code == 0, again.said
        judge(project.published, self.world)
        assert threads(project.published) == {
            (id_, fact["is_resolved"]) for id_, fact in self.world.truth().review_threads.items()
        }
        assert events(project.published) == self.undisturbed
        assert not list(project.data.glob("*.partial"))
        published = project.published.stat()
        quiet = project.quick()
        assert quiet.code == 0 and len(quiet.calls) <= 5, quiet.calls
        assert project.published.stat() == published
        return again


def events(published: Path) -> set[tuple[str, bool, bool]]:
    return {(key, is_latest, is_deleted) for key, _, is_latest, is_deleted in told(published)}


def threads(published: Path) -> set[tuple[str, bool]]:
    with opened(published) as db:
        return set(db.execute("SELECT id, is_resolved FROM github.review_threads__threads").fetchall())


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Story]]:
    """A first run, and a run with a sweep over an hour of news."""
    world, _ = small_world()
    changed, repo = small_world()
    folder = tmp_path_factory.mktemp("undisturbed")
    with served(world, folder / "first") as first, served(changed, folder / "incremental") as later:
        reading = first.quick()
        assert reading.code == 0, reading.said
        shutil.copytree(first.data, later.data)
        base = shutil.copytree(first.data, folder / "base")
        news(changed, repo)
        sweeping = later.quick("--sweep")
        assert sweeping.code == 0, sweeping.said
        judge(later.published, changed)
        yield {
            "first": Story(first, world, None, (), events(first.published), len(reading.calls)),
            "incremental": Story(later, changed, base, ("--sweep",), events(later.published), len(sweeping.calls)),
        }


@pytest.mark.parametrize(("story", "stage", "where", "moment", "call"), KILLS, ids=lambda value: str(value)[:24])
def test_killed_anywhere(
    stories: dict[str, Story], tmp_path: Path, story: str, stage: str, where: str, moment: str, call: int
) -> None:
    """kill -9 at any stage, then one run: the same events as if nothing had happened, and they are the truth."""
    project = stories[story].begin(tmp_path)
    killed = project.killed_at(where, *stories[story].options, moment=moment, call=call)
    assert killed.code == -signal.SIGKILL, f"{stage} was never reached: {killed.said}"
    stories[story].ends_well(project)


@pytest.mark.parametrize("story", ["first", "incremental"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.95] if LONG else [0.6])
def test_killed_while_fetching(stories: dict[str, Story], tmp_path: Path, story: str, share: float) -> None:
    """kill -9 while the server works out its Nth answer: nothing of the half-read lists is believed."""
    told_story = stories[story]
    project = told_story.begin(tmp_path)
    killed = signalled_at(project, int(told_story.requests * share) + 1, signal.SIGKILL, *told_story.options)
    assert killed.code == -signal.SIGKILL
    told_story.ends_well(project)


@pytest.mark.skipif(not LONG, reason="EARSHOT_LONG=1: a process for every statement")
@pytest.mark.parametrize("story", ["first", "incremental"])
def test_killed_at_every_statement(stories: dict[str, Story], tmp_path: Path, story: str) -> None:
    """kill -9 before each single statement that a load sends to the warehouse."""
    call = 0
    while True:
        call += 1
        project = stories[story].begin(tmp_path / str(call))
        ended = project.killed_at(STATEMENT, *stories[story].options, call=call)
        if ended.code == 0:
            break
        stories[story].ends_well(project)
        shutil.rmtree(project.folder)
    assert call > 30


def test_killed_again_and_again(stories: dict[str, Story], tmp_path: Path) -> None:
    """Each run dies at a later stage of the other's repair; the first that lives ends it."""
    story = stories["incremental"]
    project = story.begin(tmp_path)
    for where, moment, call in [(TABLE_COPIED, "after", 4), (COMMITTED, "before", 3), (f"{PIPELINE}.load", "before", 1),
                                ("pipelines.models.build:_build_one", "before", 7)]:  # fmt: skip
        assert project.killed_at(where, *story.options, moment=moment, call=call).code == -signal.SIGKILL
    story.ends_well(project)
    statuses = [status for (status,) in project.ledger("SELECT status FROM runs ORDER BY run_id")]
    assert statuses[-6:] == ["killed"] * 4 + ["done"] * 2


def test_the_world_goes_on_after_a_kill(tmp_path: Path) -> None:
    """What was half landed may be old by the next run: edited, deleted or outdated meanwhile. The truth wins."""
    world, repo = small_world()
    with served(world, tmp_path) as project:
        assert project.killed_at(TABLE_COPIED, moment="after", call=5).code == -signal.SIGKILL
        news(world, repo)
        assert project.killed_at(COMMITTED, "--sweep", moment="before", call=4).code == -signal.SIGKILL
        repo.edit_comment(max(repo.comments.rows), "and changed again")
        world.advance(30)
        assert project.quick().code == 0
        assert project.quick("--sweep").code == 0
        judge(project.published, world)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_fetching(stories: dict[str, Story], tmp_path: Path, how: signal.Signals) -> None:
    """Ctrl-C and SIGTERM: exit 130 at once, the ledger says cancelled, and the next run does all of it."""
    story = stories["first"]
    project = story.begin(tmp_path)
    stopped = signalled_at(project, 7, how)
    assert stopped.code == 130 and "Traceback" not in stopped.said, stopped.said
    assert project.ledger("SELECT status, exit_code FROM runs") == [("cancelled", 130)]
    story.ends_well(project)


@pytest.mark.parametrize("where", [TABLE_COPIED, "pipelines.warehouse.files:os.fsync"])
def test_stopped_while_writing(stories: dict[str, Story], tmp_path: Path, where: str) -> None:
    """SIGTERM in the middle of a load, of the models, of publishing: the same."""
    story = stories["incremental"]
    project = story.begin(tmp_path)
    stopped = project.killed_at(where, *story.options, how=signal.SIGTERM)
    assert stopped.code == 130 and "Traceback" not in stopped.said, stopped.said
    assert project.ledger("SELECT status, exit_code FROM runs")[-1] == ("cancelled", 130)
    story.ends_well(project)


def test_a_killed_first_read_goes_on(tmp_path: Path) -> None:
    """A first read commits in chunks: killed after some of them, the next run asks only for what is missing."""
    world = GitHubWorld(small_world()[0].now)
    repo = world.add_repo(REPO)
    world.fill(repo, pulls=310, issues=10, comments=450, review_comments=120)
    with served(world, tmp_path / "whole") as whole:
        undisturbed = whole.quick()
    with served(world, tmp_path / "killed") as project:
        killed = signalled_at(
            project, 6, signal.SIGKILL, of="/pulls", chunk_rows=10
        )  # so three pages are in, two asked twice
        assert killed.code == -signal.SIGKILL
        resumed = project.quick()
        assert resumed.code == 0, resumed.said
        judge(project.published, world)
        assert events(project.published) == events(whole.published)
    lists = ("/issues", "/issues/comments", "/pulls/comments")
    assert all("since" in call.query for tail in lists for call in resumed.asked(tail)), "a list was begun again"
    page, rest, overlap = 100, 10, 20  # the last page landed, what was never read, and what may have changed lately
    assert len(undisturbed.asked("/reviews")) == 310
    assert len(resumed.asked("/reviews")) <= page + rest + overlap
    assert len(killed.calls) + len(resumed.calls) < 1.5 * len(undisturbed.calls)


# Damaged and missing files


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def fill_with_zeros(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


@pytest.mark.parametrize(("file", "damage"), [
    (file, damage)
    for file in ("state.json", "schemas/github.schema.json")
    for damage in (cut, empty, fill_with_zeros, Path.unlink)
    if LONG or damage in ((cut, Path.unlink) if file == "state.json" else (empty, fill_with_zeros))
])  # fmt: skip
def test_torn_working_directory(
    stories: dict[str, Story], tmp_path: Path, file: str, damage: Callable[[Path], None]
) -> None:
    """A power cut tears dlt's files: they are set aside, the cursors come back from the warehouse, nothing is read twice."""
    story = stories["incremental"]
    project = story.begin(tmp_path)
    damage(project.data / "dlt" / "earshot_github" / file)
    again = story.ends_well(project)
    assert all("since" in call.query for call in again.asked("/issues/comments")), "everything was read again"


def test_torn_in_mid_load(stories: dict[str, Story], tmp_path: Path) -> None:
    """The power cut that kills the run tears its files too."""
    story = stories["incremental"]
    project = story.begin(tmp_path)
    assert project.killed_at(TABLE_COPIED, *story.options, moment="after", call=4).code == -signal.SIGKILL
    for path in (project.data / "dlt").rglob("*.json"):
        cut(path)
    story.ends_well(project)


def test_working_directory_deleted(stories: dict[str, Story], tmp_path: Path) -> None:
    """The warehouse holds the cursors of its rows: without dlt's directory the next run still reads only the news."""
    story = stories["incremental"]
    project = story.begin(tmp_path)
    shutil.rmtree(project.data / "dlt")
    again = story.ends_well(project)
    assert all("since" in call.query for call in again.asked("/issues/comments"))


def test_warehouse_and_its_copy_deleted(stories: dict[str, Story], tmp_path: Path) -> None:
    """Cursors without rows are worth nothing: everything is read again."""
    story = stories["first"]
    project = story.begin(tmp_path)
    shutil.copytree(story.project.data, project.data)
    for name in ("warehouse.duckdb", "published.duckdb"):
        project.data.joinpath(name).unlink()
    again = story.ends_well(project)
    assert any("since" not in call.query for call in again.asked("/issues/comments"))


def test_ledger_deleted(stories: dict[str, Story], tmp_path: Path) -> None:
    """Without the ledger we know less of the past runs, and nothing less of what was said."""
    story = stories["incremental"]
    project = story.begin(tmp_path)
    for path in project.data.glob("control.sqlite*"):
        path.unlink()
    assert project.quick().code == 0
    story.ends_well(project)


def test_published_file_deleted(stories: dict[str, Story], tmp_path: Path) -> None:
    """Readers' file gone: the next run publishes again, without reading anything."""
    story = stories["first"]
    project = story.begin(tmp_path)
    shutil.copytree(story.project.data, project.data)
    project.published.unlink()
    again = story.ends_well(project)
    assert {call.status for call in again.calls} == {304}


@pytest.mark.parametrize("where", ["pipelines.state.mirror:mirror", "pipelines.warehouse.files:os.fsync"])
def test_killed_publish_is_made_up(stories: dict[str, Story], tmp_path: Path, where: str) -> None:
    """Landed and not published: the next run publishes although the server has nothing new to say."""
    story = stories["incremental"]
    project = story.begin(tmp_path)
    before = events(project.published)
    assert project.killed_at(where, *story.options).code == -signal.SIGKILL
    assert events(project.published) == before, "readers saw a run that never ended"
    quiet = project.quick()
    assert quiet.code == 0 and {call.status for call in quiet.calls} == {304}
    assert events(project.published) == story.undisturbed


def signalled_at(project: Project, request: int, how: signal.Signals, *options: str, of: str = "",
                 chunk_rows: int = 1000) -> Ended:  # fmt: skip
    """A run that gets a signal while the server is busy with its Nth request (for a path that ends so)."""
    program = (
        str(KILLED_RUN),
        "pipelines.warehouse.files:os.replace",
        "before",
        "0",
        "9",
    )  # its own signal never comes
    started, running, count, before = threading.Event(), list["subprocess.Popen[str]"](), 0, len(project.app.log)

    def strike(asked: Request) -> None:
        nonlocal count
        count += asked.path.endswith(of)
        if count == request:
            started.wait()
            running[0].send_signal(how)

    project.app.switches.before = strike
    try:
        running.append(project.start(*options, program=program, CHUNK_ROWS=str(chunk_rows)))
        started.set()
        return project.ended(running[0], before)
    finally:
        project.app.switches.before = None
