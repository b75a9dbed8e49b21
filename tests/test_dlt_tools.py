"""What a user of dlt tries first: attach, dataset, info, drop, sync. They find the warehouse, and a run takes them in."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pendulum
import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.warehouse.for_dlt.destination import locked
from tests.long import LONG
from tests.synced import Desk, desk, gitlab_desk
from tests.test_strangers import stir_github, stir_gitlab

NOW = pendulum.datetime(2026, 3, 1, 12)
DLT = "from dlt._workspace.cli._dlt import _main; _main()"  # what the command `dlt` runs


def github_at(data: Path) -> Desk:
    world = GitHubWorld(NOW)
    world.add_repo("lantern/lantern")
    stir_github(world)
    world.advance(seconds=600)
    return desk(data, world)


def gitlab_at(data: Path) -> Desk:
    world = GitLabWorld(NOW)
    world.add_project("lantern/console")
    stir_gitlab(world)
    world.advance(seconds=600)
    return gitlab_desk(data, world)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[Path], Desk], Path], Desk]:
    """Somebody who has read it once: a copy of who did so first."""
    bases: dict[Any, Path] = {}

    def copied(desk_at: Callable[[Path], Desk], data: Path) -> Desk:
        if desk_at not in bases:
            base = desk_at(tmp_path_factory.mktemp("read") / "data")
            assert base.run().exit_code == 0
            bases[desk_at] = base.home.path
        shutil.copytree(bases[desk_at], data)
        return desk_at(data)

    return copied


@pytest.fixture
def github(tmp_path: Path, read: Callable[[Callable[[Path], Desk], Path], Desk]) -> Desk:
    return read(github_at, tmp_path / "data")


@pytest.fixture
def gitlab(tmp_path: Path, read: Callable[[Callable[[Path], Desk], Path], Desk]) -> Desk:
    return read(gitlab_at, tmp_path / "data")


def dlt_says(desk: Desk, pipeline: str, *arguments: str) -> str:
    """`dlt pipeline …`, in an empty folder, which it leaves empty."""
    elsewhere = desk.home.path.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    there = {**os.environ, "RUNTIME__DLTHUB_TELEMETRY": "false", "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, "-c", DLT, "-y", "pipeline", "--pipelines-dir", str(desk.home.working), pipeline, *arguments],
        cwd=elsewhere, env=there, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert list(elsewhere.iterdir()) == []
    return ended.stdout


def attached(desk: Desk, name: str) -> Any:
    import dlt

    return dlt.attach(name, pipelines_dir=str(desk.home.working))


def words(desk: Desk) -> list[tuple[Any, ...]]:
    return desk.sql("SELECT event_key, body, is_latest, is_deleted FROM feedback.events ORDER BY event_key")


def test_a_dataset_is_what_is_published(github: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal to it, without a stray file, while a run holds the warehouse, and without keeping one from publishing."""
    monkeypatch.chdir(github.home.path.parent)
    with github.home.lock(), duckdb.connect(str(github.home.warehouse)):  # a run at work
        dataset = attached(github, "earshot_github").dataset()
        held = dataset.issue_comments.arrow().drop_columns(["_dlt_load_id"]).to_pylist()
    assert (held and held == github.rows("github.issue_comments")) or _same(held, github.rows("github.issue_comments"))
    with dataset:
        assert dataset.issues.arrow().num_rows == 2
        stir_github(github.world)
        github.world.advance(seconds=600)
        assert github.run().exit_code == 0
    assert attached(github, "earshot_github").dataset().issues.arrow().num_rows == 4
    assert {path.name for path in github.home.path.parent.iterdir()} == {"data"}


def _same(held: list[dict[str, Any]], rows: list[dict[str, Any]]) -> bool:
    return [{n: v for n, v in row.items() if not n.startswith("_dlt")} for row in held] == [
        {n: v for n, v in row.items() if not n.startswith("_dlt")} for row in rows
    ]


@pytest.mark.ci
@pytest.mark.parametrize(
    "resource",
    [
        "issues",
        "issue_comments",
        "review_threads",
        "latest_versions",
        "rechecks",
        *(["repositories", "pull_requests", "review_comments"] if LONG else []),
    ],
)
def test_what_was_dropped_comes_back_with_the_next_run(github: Desk, resource: str) -> None:
    """All that the service still shows, and readers see the same words as before."""
    from dlt.pipeline.helpers import pipeline_drop

    before = words(github)
    command = pipeline_drop(attached(github, "earshot_github"), resources=[resource])
    owned = {"rechecks": {"deletions", "thread_checks"}}.get(resource, {resource})
    assert owned <= set(command.info["tables"])
    command()
    github.world.advance(seconds=60)
    report = github.run()
    assert report.exit_code == 0 and words(github) == before
    github.judge()  # type: ignore[attr-defined]
    assert github.run().exit_code == 0 and not github.run().sources[0].packages


@pytest.mark.ci
@pytest.mark.parametrize("resource", ["openers", "threads", *(["merge_requests", "diffs"] if LONG else [])])
def test_threads_that_were_dropped_are_due(gitlab: Desk, resource: str) -> None:
    from dlt.pipeline.helpers import pipeline_drop

    before = words(gitlab)
    pipeline_drop(attached(gitlab, "earshot_gitlab"), resources=[resource])()
    gitlab.world.advance(seconds=60)
    assert gitlab.run().exit_code == 0 and words(gitlab) == before
    gitlab.judge()  # type: ignore[attr-defined]


@pytest.mark.ci
def test_the_command_line(github: Desk) -> None:
    """`info` tells the resources by the names of the lists; `drop` and `sync` lose nothing that a run cannot bring."""
    before = words(github)
    told = dlt_says(github, "earshot_github", "info")
    assert (
        "issues with 4 table(s)" in told
    )  # issues, openers, and their labels and assignees and "review_comments with 2 table(s)" in told
    assert "issue_comments" in dlt_says(github, "earshot_github", "schema")
    assert "extract" in dlt_says(github, "earshot_github", "trace").lower()
    assert "Table(s) to drop: ['issue_comments']" in dlt_says(github, "earshot_github", "drop", "issue_comments")
    assert github.run().exit_code == 0 and words(github) == before
    dlt_says(github, "earshot_github", "sync")
    quiet = github.run()
    assert quiet.exit_code == 0 and not quiet.sources[0].packages and words(github) == before


def test_what_writes_waits_for_nobody(github: Desk) -> None:
    """Another process that holds the lock is named, and nothing was dropped."""
    holds = (
        "import sys; from pathlib import Path; from pipelines.warehouse.data_dir import DataDir\n"
        f"with DataDir(Path({str(github.home.path)!r})).lock_here(): print(1, flush=True); input()"
    )
    there = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=there
    ) as holder:
        assert holder.stdin and holder.stdout
        holder.stdout.readline()
        with pytest.raises(AssertionError, match="holds"):
            dlt_says(github, "earshot_github", "drop", "issue_comments")
        holder.communicate(b"\n", timeout=20)
    assert not github.run().sources[0].packages


def test_the_lock_is_given_back_by_the_last(tmp_path: Path) -> None:
    from pipelines.warehouse.data_dir import DataDir, Locked

    home = DataDir(tmp_path)
    with locked(tmp_path):
        with locked(tmp_path):
            pass
        with pytest.raises(Locked), home.lock_here():
            pass
    with home.lock_here():
        pass


@pytest.mark.ci
def test_a_disposition_stays(github: Desk) -> None:
    """Runs do not flip what `dlt pipeline … schema` shows, nor move its version."""
    shown = set()
    for _ in range(3):
        pipeline = attached(github, "earshot_github")
        tables = pipeline.default_schema.data_tables()
        told = sorted((t["name"], t.get("write_disposition")) for t in tables if not t.get("parent"))
        shown.add((pipeline.default_schema.version, *told))
        stir_github(github.world)
        github.world.advance(seconds=600)
        assert github.run().exit_code == 0
    assert len(shown) == 1 and all(told == "merge" for each in shown for _, told in each[1:])
