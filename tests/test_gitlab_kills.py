"""A run over GitLab may die anywhere. Nothing is ever torn, the next run ends at the truth, and what had landed is not asked
for again.

Every kill is a real `kill -9` of a real process; `EARSHOT_LONG=1` tries every stage of the loads.
"""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest

from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.project import Project as World
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import Call, Request
from pipelines.state.ledger import Ledger
from pipelines.warehouse.data_dir import DataDir
from tests.long import LONG
from tests.story import NOW, Ended, Project
from tests.synced import GitLabDesk, gitlab_desk

pytestmark = pytest.mark.ci

SETTLED = 300
PLACE = "lantern/console"
MERGE_REQUESTS = 12

RUN = "pipelines.sync.source.pipeline:SourcePipeline._load"
TABLE_COPIED = "dlt.destinations.impl.duckdb.duck:DuckDbCopyJob.run"
TABLE_MERGED = "dlt.destinations.job_client_impl:SqlLoadJob.run"
STATEMENT = "dlt.destinations.impl.duckdb.sql_client:DuckDbSqlClient.execute_query"

STAGES = [  # a run lands two packages: lists, threads
    ("before the threads", RUN, "before", 2),
    ("first table of threads", TABLE_COPIED, "before", -11),
    ("between tables of threads", TABLE_COPIED, "before", -6),
    ("before the first merge", TABLE_MERGED, "before", -4),
    ("between merges", TABLE_MERGED, "before", -2),
    ("before the last merge", TABLE_MERGED, "before", -1),
    ("inside a merge", STATEMENT, "before", -20),
    ("after the merges", TABLE_MERGED, "after", -1),
    ("threads landed", RUN, "after", 2),
    ("before publishing", "pipelines.warehouse.data_dir:DataDir.publish", "before", 1),
]
IN_CI = {"before the threads", "between tables of threads", "between merges"}


class GitLabProject(Project):
    """A folder with its own settings and data, beside a demo GitLab on a real socket."""

    def configure(self) -> None:
        sections = {"earshot": self.earshot, "sources.gitlab": {"api_url": self.url, "projects": [PLACE]}}
        text = "".join(
            f"[{name}]\n" + "".join(f"{key} = {orjson.dumps(value).decode()}\n" for key, value in table.items())
            for name, table in sections.items()
        )
        (self.folder / ".dlt").mkdir(parents=True, exist_ok=True)
        (self.folder / ".dlt" / "config.toml").write_text(text, encoding="utf-8")

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        return super()._environment({"SOURCES__GITLAB__TOKEN": self.token, **more})

    @property
    def warehouse(self) -> Path:
        return self.data / "warehouse.duckdb"


@contextmanager
def served(world: GitLabWorld, folder: Path) -> Iterator[GitLabProject]:
    app = GitLabApp(world, public_url="https://gitlab.com")
    with serving(app) as url:
        yield GitLabProject(folder, app, url)  # type: ignore[arg-type]


def judge(project: Project, world: GitLabWorld) -> None:
    GitLabDesk(DataDir(project.data), world, project.app, lambda: None, ()).judge()


def past() -> tuple[GitLabWorld, World]:
    world = GitLabWorld(NOW)
    place = world.add_project(PLACE)
    world.fill(place, merge_requests=MERGE_REQUESTS, discussions=3, notes=2, issues=3, days=30)
    world.advance(seconds=SETTLED)
    return world, place


def news(world: GitLabWorld, place: World) -> None:
    """Everywhere a new discussion, an edited and a deleted note: old notes beside it would tell."""
    for mr in place.merge_requests.values():
        world.advance(seconds=61)
        place.start_thread(mr, "maya", f"new in !{mr.iid}")
        place.edit_note(mr.threads[0].notes[0], "said otherwise")
        place.delete_note(mr.threads[1].notes[-1])
    world.advance(seconds=SETTLED)


Told = dict[str, tuple[Any, ...]]


def threads(warehouse: Path) -> Told:
    """What each merge request and issue holds: watermark, discussions, notes in their words."""
    with duckdb.connect(str(warehouse), read_only=True) as db:
        return {key: rest for key, *rest in db.execute("""
            SELECT t.parent_key, t.synced_for_updated_at, t.user_notes_count,
                (SELECT list(d.id ORDER BY d.id) FROM gitlab.threads__discussions AS d WHERE d.parent_key = t.parent_key),
                (SELECT list((n.discussion_id, n.id, n.body) ORDER BY n.id)
                 FROM gitlab.threads__discussions__notes AS n WHERE n.parent_key = t.parent_key)
            FROM gitlab.threads AS t
        """).fetchall()}  # fmt: skip


@dataclass
class Story:
    """Old threads in a warehouse, an hour of news on the server, and what an undisturbed run makes of it."""

    project: GitLabProject
    world: GitLabWorld
    base: Path
    old: Told
    new: Told
    calls: dict[str, int]  # how often each function is called in an undisturbed run

    def begin(self, folder: Path) -> GitLabProject:
        project = GitLabProject(folder, self.project.app, self.project.url)
        shutil.copytree(self.base, project.data)
        return project


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    world, place = past()
    folder = tmp_path_factory.mktemp("undisturbed")
    with served(world, folder / "project") as project:
        first = project.quick()
        assert first.code == 0, first.said
        base = shutil.copytree(project.data, folder / "base")
        old = threads(project.warehouse)
        news(world, place)
        with pytest.MonkeyPatch.context() as patched:
            calls = {where: counted(patched, where) for where in (TABLE_COPIED, TABLE_MERGED, STATEMENT)}
            second = project.quick()
        assert second.code == 0, second.said
        judge(project, world)
        new = threads(project.warehouse)
        changed = [key for key in new if old[key] != new[key]]
        assert len(changed) == MERGE_REQUESTS
        yield Story(project, world, base, old, new, {where: sum(found) for where, found in calls.items()})


def counted(patched: pytest.MonkeyPatch, where: str) -> list[int]:
    import importlib

    module, _, path = where.partition(":")
    owner, name = path.split(".")
    class_ = getattr(importlib.import_module(module), owner)
    original, calls = getattr(class_, name), list[int]()

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return original(*args, **kwargs)

    patched.setattr(class_, name, counting)
    return calls


def ends_well(story: Story, project: GitLabProject) -> Ended:
    """Nothing is torn; the next run ends at the truth; then there is nothing left to do."""
    judge_whole(story, threads(project.warehouse))
    again = project.quick()
    assert again.code == 0, again.said
    judge(project, story.world)
    assert threads(project.warehouse) == story.new
    assert not list(project.data.glob("*.partial"))
    published = project.published.stat()
    quiet = project.quick()
    assert quiet.code == 0 and {call.status for call in quiet.calls} == {304}
    assert project.published.stat() == published
    return again


def judge_whole(story: Story, held: Told) -> None:
    """Watermark, discussions and notes of a merge request are all old or all new."""
    assert held.keys() == story.new.keys()
    torn = [key for key, told in held.items() if told not in (story.old[key], story.new[key])]
    assert not torn, f"{torn[0]}: {held[torn[0]]}"


@pytest.mark.parametrize(
    ("stage", "where", "moment", "call"),
    [s for s in STAGES if LONG or s[0] in IN_CI],
    ids=lambda value: str(value)[:26],
)
def test_killed_anywhere(story: Story, tmp_path: Path, stage: str, where: str, moment: str, call: int) -> None:
    """kill -9 around and within the landing of threads. A negative call counts from the last."""
    project = story.begin(tmp_path)
    before = threads(project.warehouse)
    killed = project.killed_at(where, moment=moment, call=call if call > 0 else story.calls[where] + 1 + call)
    assert killed.code == -signal.SIGKILL, f"{stage} was never reached: {killed.said}"
    landed = {key for key, told in threads(project.warehouse).items() if told != before[key]}
    again = ends_well(story, project)
    assert not landed & asked_for(again, "discussions"), "read again although it had landed"


def test_a_watermark_of_a_package_that_was_never_finished_vouches_for_nothing(tmp_path: Path) -> None:
    """Its threads were merged, what else it held was not: they are read again, also if their merge came first."""
    world, _ = past()
    desk = gitlab_desk(tmp_path, world, PLACE)
    desk.run()
    desk.run()
    assert not any(call.path.endswith("/discussions") for call in desk.app.log)
    with duckdb.connect(str(desk.home.warehouse)) as db:
        db.execute("DELETE FROM gitlab._dlt_loads WHERE load_id IN (SELECT _dlt_load_id FROM gitlab.threads)")
    with Ledger.open(desk.home.control) as ledger:
        ledger.source_state("gitlab").nothing_due_by = None  # as every landing says before it begins
    desk.run()
    assert sum(call.path.endswith("/discussions") for call in desk.app.log) == MERGE_REQUESTS + 3
    desk.judge()


def test_killed_during_discussions(story: Story, tmp_path: Path) -> None:
    """Some were read and none had landed: the merge requests' rows are there, every thread is as it was."""
    project = story.begin(tmp_path)
    killed = killed_at_discussions(project, 6)
    assert killed.code == -signal.SIGKILL, killed.said
    assert threads(project.warehouse) == story.old
    ends_well(story, project)


@pytest.mark.parametrize("landing", [3])
def test_what_had_landed_is_not_asked_for_again(tmp_path: Path, landing: int) -> None:
    """A first read killed after some landings: the next run asks only for what is missing, of every kind."""
    world, _ = past()
    with served(world, tmp_path / "killed") as project:
        killed = project.killed_at("pipelines.sync.source.pipeline:SourcePipeline.load", call=landing, CHUNK_ROWS="40")
        assert killed.code == -signal.SIGKILL, killed.said
        held = {tail: landed_parents(project.warehouse, table) for tail, table in DEPENDENTS.items()}
        assert held["discussions"], "nothing had landed: this proves nothing"
        lists = [call.query for call in killed.calls if call.path.endswith(("/merge_requests", "/issues"))]
        again = project.quick()
        assert again.code == 0, again.said
        judge(project, world)
        for tail, landed in held.items():
            assert not landed & asked_for(again, tail), f"{tail}: read again although they had landed"
        whole = [
            call
            for call in again.calls
            if call.query in lists and call.status == 200 and "updated_after" not in call.query
        ]
        assert not whole, "a list was begun again"


DEPENDENTS = {
    "discussions": "threads", "resource_label_events": "resource_events", "closes_issues": "closes_issues",
    "diffs": "diffs",
}  # fmt: skip


def landed_parents(warehouse: Path, table: str) -> set[str]:
    with duckdb.connect(str(warehouse), read_only=True) as db:
        return {key for (key,) in db.execute(f"SELECT parent_key FROM gitlab.{table}").fetchall()}


def asked_for(ended: Ended, tail: str) -> set[str]:
    """Keys of the parents whose `tail` was asked for."""
    return {_key(call) for call in ended.calls if call.path.endswith(f"/{tail}")}


def _key(call: Call) -> str:
    scope, kind, number = call.path.split("/")[4:7]
    return f"gitlab:{scope}:{'!' if kind == 'merge_requests' else '#'}{number}"


def killed_at_discussions(project: GitLabProject, nth: int) -> Ended:
    """A run that gets kill -9 while the server is busy with its Nth discussions."""
    running, count, before = list["subprocess.Popen[str]"](), 0, len(project.app.log)

    def strike(request: Request) -> None:
        nonlocal count
        count += request.path.endswith("/discussions")
        if count == nth:
            running[0].kill()

    project.app.switches.before = strike
    try:
        running.append(project.start())
        return project.ended(running[0], before)
    finally:
        project.app.switches.before = None
