"""The sources in somebody else's pipeline: plain dlt, over a socket, judged by the world's own truth."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dlt
import duckdb
import pendulum
import pytest
from dlt.common.configuration.container import Container
from dlt.common.configuration.exceptions import ConfigurationValueError
from dlt.common.configuration.specs.pluggable_run_context import PluggableRunContext

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.names import iso
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import Request, Response
from pipelines.warehouse.data_dir import as_dicts
from sources.bluesky import bluesky
from sources.github import github
from sources.gitlab import gitlab
from tests import memory
from tests.long import LONG
from tests.synced import GitLabDesk

NOW = pendulum.datetime(2026, 3, 1, 12)
MAYA, ODILE = "maya.example", "odile.example"


@dataclass
class Stranger:
    """Somebody's folder with a pipeline of their own, and the service that it reads."""

    name: str
    folder: Path
    world: Any
    app: Any
    source: Callable[..., Any]
    url: str = ""
    given: dict[str, Any] = field(default_factory=dict)

    def pipeline(self) -> Any:
        file = str(self.folder / "theirs.duckdb")
        return dlt.pipeline(
            "theirs", pipelines_dir=str(self.folder / "dlt"), dataset_name=self.name,
            destination=dlt.destinations.duckdb(file, supports_transactions=True),
        )  # fmt: skip

    def declared(self, **more: Any) -> Any:
        return self.source(**{**self.given, "api_url": self.url, **more})

    def run(self, source: Any = None, **more: Any) -> int:
        """Packages that it took."""
        self.app.log.clear()
        return len(self.pipeline().run(source or self.declared(**more)).loads_ids)

    def rows(self, table: str) -> list[dict[str, Any]]:
        with duckdb.connect(str(self.folder / "theirs.duckdb"), read_only=True) as connection:
            return list(as_dicts(connection.execute(f"FROM {self.name}.{table}")))

    def sql(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.folder / "theirs.duckdb"), read_only=True) as connection:
            return connection.execute(query, list(values)).fetchall()

    def judge(self) -> None:
        JUDGES[self.name](self)

    def stir(self) -> None:
        """Something is said."""
        self.world.advance(seconds=600)
        STIRS[self.name](self.world)
        self.world.advance(seconds=600)


def judge_github(stranger: Stranger) -> None:
    memory.judge(stranger.world, stranger.rows)
    memory.judge_children(stranger.world, stranger.rows)


def judge_gitlab(stranger: Stranger) -> None:
    desk = GitLabDesk(None, stranger.world, stranger.app, None, ())  # type: ignore[arg-type]
    desk.rows = lambda table: stranger.rows(table.removeprefix("gitlab."))  # type: ignore[method-assign]
    desk.sql = stranger.sql  # type: ignore[method-assign]
    desk.judge_landed()
    truth = stranger.world.truth(reader="earshot")
    assert {row["id"] for row in stranger.rows("openers")} == {*truth.merge_requests, *truth.issues}
    assert {row["id"] for row in stranger.rows("note_versions")} >= {*truth.notes}
    assert len(stranger.rows("diffs")) == len(truth.merge_requests)
    assert {r["id"] for r in stranger.rows("resource_events__labels")} == {*truth.label_events}


def judge_bluesky(stranger: Stranger) -> None:
    truth = stranger.world.truth()
    held: dict[str, set[tuple[str, str]]] = {}
    for row in stranger.rows("posts"):
        is_named = row["kind"] != "repost" or "/app.bsky.feed.repost/" in row["uri"]
        uri = row["uri"] if is_named else f"{row['post_uri']} at {iso(row['indexed_at'])}"
        held.setdefault(row["did"], set()).add((uri, row["cid"]))
    assert held == {did: {*items} for did, items in truth.feeds.items() if items}


def stir_github(world: GitHubWorld) -> None:
    repo = next(iter(world.repos.values()))
    for earlier in [issue.number for issue in repo.issues.rows.values()]:
        repo.unlabel(earlier, "bug")
        repo.unassign(earlier, "maya")
    issue = repo.open_issue("pete-q", "Does it cache POST?", "Asking for a friend.", labels=("question", "bug"))
    pull = repo.open_pull("benji", "Cache nothing that is POSTed", "Closes it.", labels=("bug",))
    for number in (issue, pull):
        repo.assign(number, "maya")
    repo.request_review(pull, "tomasz-w", "maya", teams=("cache",))
    world.advance(seconds=60)
    comment = repo.comment(issue, "maya", "It does not.")
    review = repo.review(pull, "tomasz-w", "CHANGES_REQUESTED", "One thing.")
    repo.review_comment(pull, "tomasz-w", "cache.go", "Why?", 12, review_id=review)
    world.advance(seconds=60)
    repo.edit_comment(comment, "It never did.")


def stir_gitlab(world: GitLabWorld) -> None:
    project = next(iter(world.projects.values()))
    mr = project.open_merge_request("benji", "Cache nothing that is POSTed", "Closes #1.", labels=("bug",))
    issue = project.open_issue("pete-q", "Does it cache POST?", "Asking for a friend.")
    world.advance(seconds=60)
    thread = project.start_thread(mr, "tomasz-w", "Why?")
    world.advance(seconds=20)
    project.reply(thread, "benji", "Said within a minute.")
    project.comment(issue, "maya", "It does not.")
    project.label(issue, "maya", add=["question"])
    world.advance(seconds=90)
    project.resolve(thread, "tomasz-w")
    project.label(mr, "maya", add=["reviewed"])


def stir_bluesky(world: BlueskyWorld) -> None:
    first = world.post(MAYA, "Read https://docs.lantern.example/purge with @odile.example #caching")
    world.advance(seconds=60)
    world.repost(ODILE, world.reply(ODILE, first, "why?"))


JUDGES: dict[str, Callable[[Stranger], None]] = {
    "github": judge_github,
    "gitlab": judge_gitlab,
    "bluesky": judge_bluesky,
}
STIRS: dict[str, Callable[[Any], None]] = {"github": stir_github, "gitlab": stir_gitlab, "bluesky": stir_bluesky}


def made(name: str, folder: Path) -> Stranger:
    folder.mkdir(exist_ok=True)
    world: Any
    if name == "github":
        world = GitHubWorld(NOW)
        world.add_repo("lantern/lantern")
        given: dict[str, Any] = {"repos": ["lantern/lantern"], "token": "demo-token"}
        return Stranger(name, folder, world, GitHubApp(world, public_url="http://api.test"), github, given=given)
    if name == "gitlab":
        world = GitLabWorld(NOW)
        world.add_project("lantern/console")
        given = {"projects": ["lantern/console"], "token": "demo-token"}
        return Stranger(name, folder, world, GitLabApp(world, public_url="http://api.test"), gitlab, given=given)
    world = BlueskyWorld(NOW)
    world.account(MAYA, "Maya")
    world.account(ODILE, "Odile")
    given = {"actors": [MAYA, ODILE], "initial_lookback_hours": 24.0 * 365}
    return Stranger(name, folder, world, BlueskyApp(world), bluesky, given=given)


@pytest.fixture(params=["github", "gitlab", "bluesky"])
def stranger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stranger]:
    found = made(request.param, tmp_path / "theirs")
    found.stir()
    with serving(found.app) as found.url:
        yield found


def test_all_of_it_then_only_the_news(stranger: Stranger) -> None:
    """Complete; run again: conditional questions, no package; after news: the news."""
    assert stranger.run() == 1
    stranger.judge()
    stranger.world.advance(seconds=600)
    stranger.run()  # what had not settled
    assert stranger.run() == 0
    asked = [entry for entry in stranger.app.log if entry.status == 304]
    assert asked and len(stranger.app.log) <= 6, [str(entry) for entry in stranger.app.log]
    stranger.stir()
    assert stranger.run() == 1
    stranger.judge()


@pytest.mark.ci
def test_in_pieces(stranger: Stranger) -> None:
    """`max_rows`, run until nothing comes any more: each piece is bounded, and together they are everything."""
    for _ in range(5):
        stranger.stir()
    stranger.given |= {"posts_per_page": 2} if stranger.name == "bluesky" else {}
    pieces = 0
    while stranger.run(max_rows=3):
        pieces += 1
        assert pieces < 60
    assert pieces > 1
    stranger.judge()


@pytest.mark.ci
def test_a_sample_loses_nothing_for_later(stranger: Stranger) -> None:
    """`add_limit(1)` bounds what feeds the surfaces; whatever it left out comes with the next run."""
    stranger.run(stranger.declared().add_limit(1))
    stranger.run()
    stranger.world.advance(seconds=600)
    stranger.run()
    stranger.judge()


@pytest.mark.ci
def test_what_was_dropped_comes_back(stranger: Stranger) -> None:
    """`dlt pipeline theirs drop RESOURCE`, then a run: all that the service still shows. Each table has one owner."""
    stranger.run()
    stranger.world.advance(seconds=600)
    stranger.run()
    pipeline = stranger.pipeline()
    owners = {t["resource"] for t in pipeline.default_schema.data_tables() if not t.get("parent")}
    for owner in sorted(owners - {"quarantine"})[:: 1 if LONG else 3]:
        dropped(stranger, owner)
        assert stranger.run() == 1, owner
        stranger.judge()


def dropped(stranger: Stranger, resource: str) -> None:
    """As the command does it."""
    from dlt.pipeline.helpers import pipeline_drop

    command = pipeline_drop(stranger.pipeline(), resources=[resource])
    assert not command.is_empty
    command()


@pytest.mark.ci
def test_what_others_leave_out_moves_nothing(tmp_path: Path) -> None:
    """One resource alone, then all of them; what is mapped is landed as it was mapped."""
    stranger = made("github", tmp_path / "theirs")
    stranger.stir()
    with serving(stranger.app) as stranger.url:
        one = stranger.declared().with_resources("review_comments")
        one.review_comments.add_map(lambda row: {**row, "author": "somebody", "length": len(row["body"])})
        stranger.run(one)
        assert [(row["author"], row["length"]) for row in stranger.rows("review_comments")] == [("somebody", 4)]
        assert not any("issues" in str(entry.path) for entry in stranger.app.log)
        stranger.run()
        stranger.judge()


@pytest.mark.ci
@pytest.mark.parametrize("moment", range(6) if LONG else (3,))
def test_killed_in_between(stranger: Stranger, moment: int) -> None:
    """kill -9 at some time of the first run, then another run: everything, once."""
    for _ in range(3):
        stranger.stir()
    script = f"""
import os, signal, dlt
from dlt.pipeline.pipeline import Pipeline
from sources.{stranger.name} import {stranger.name}
moment, calls = {moment}, 0
def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if moment == 0: Pipeline.normalize = dies
if moment == 1: Pipeline.load = dies
if moment > 1:
    import duckdb, dlt.destinations.impl.duckdb.sql_client as client
    execute = client.DuckDbSqlClient.execute_query
    def counted(self, *args, **kwargs):
        global calls
        calls += 1
        if calls == 8 * moment: dies()
        return execute(self, *args, **kwargs)
    client.DuckDbSqlClient.execute_query = counted
pipeline = dlt.pipeline("theirs", pipelines_dir={str(stranger.folder / "dlt")!r}, dataset_name={stranger.name!r},
    destination=dlt.destinations.duckdb({str(stranger.folder / "theirs.duckdb")!r}, supports_transactions=True))
pipeline.run({stranger.name}(api_url={stranger.url!r}, **{stranger.given!r}))
"""
    there = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    ended = subprocess.run([sys.executable, "-c", script], env=there, capture_output=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    if (pipeline := stranger.pipeline()).has_pending_data:  # as docs/sources.md says
        pipeline.drop()
        pipeline.sync_destination()
    stranger.run()
    stranger.world.advance(seconds=600)
    stranger.run()
    stranger.judge()


def test_a_scope_that_fails_takes_nobody_with_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and told in the trace; the others' rows land, and it is read when it answers again."""
    stranger = made("github", tmp_path / "theirs")
    other = stranger.world.add_repo("lantern/plugins")
    stranger.stir()
    other.open_issue("maya", "Here, too", "Words.")
    stranger.world.advance(seconds=60)

    def broken(request: Request) -> Response | None:
        is_there = request.path == "/repos/lantern/lantern/issues/comments"
        return Response(404, {"message": "Not Found"}) if is_there else None

    with serving(stranger.app) as stranger.url:
        stranger.app.switches.fault = broken
        stranger.given["repos"] = ["lantern/lantern", "lantern/nowhere", "lantern/plugins"]
        pipeline = stranger.pipeline()
        pipeline.run(stranger.declared())
        (steps,) = pipeline.last_trace.last_extract_info.metrics.values()
        told = [metrics.custom_metrics for metrics in steps[0]["resource_metrics"].values()]
        failures = {failure.partition(":")[0] for each in told for failure in each.get("failures", [])}
        assert failures >= {"lantern/nowhere repository", "lantern/lantern issue_comments"}, told
        assert "lantern/nowhere" in caplog.text
        assert len(stranger.rows("issues")) == 3 and stranger.rows("issue_comments") == []
        stranger.app.switches.fault = None
        stranger.run()
        stranger.judge()


def test_what_cannot_be_read_lies_in_quarantine(tmp_path: Path) -> None:
    """It commits with the cursor that passes it, in a table of its own; the rest lands."""
    stranger = made("github", tmp_path / "theirs")
    stranger.stir()

    def sick(request: Request) -> Response | None:
        if "issues/comments" not in request.path:
            return None
        return Response(200, [{"id": 77, "body": 5, "updated_at": "now"}])

    with serving(stranger.app) as stranger.url:
        stranger.app.switches.fault = sick
        stranger.run()
        assert [row["key"].rpartition(":")[2] for row in stranger.rows("quarantine")] == ["77"]
        assert len(stranger.rows("review_comments")) == 1


@pytest.mark.ci
def test_a_thread_that_fails_is_owed(tmp_path: Path) -> None:
    """GitLab: the list's cursor passes a merge request whose discussions fail; they are read by the next run all the
    same, and a note within the minute after a touch, which moves nothing, is not lost."""
    stranger = made("gitlab", tmp_path / "theirs")
    stranger.stir()
    project = next(iter(stranger.world.projects.values()))
    mr = project.merge_requests[1]

    def broken(request: Request) -> Response | None:
        return Response(500, {}) if "merge_requests/1/discussions" in request.path else None

    with serving(stranger.app) as stranger.url:
        stranger.app.switches.fault = broken
        stranger.run()
        stranger.app.switches.fault = None
        assert stranger.run() == 1
        stranger.judge()
        project.comment(mr, "maya", "First.")
        stranger.world.advance(seconds=20)
        stranger.run()
        project.comment(mr, "maya", "Second, within a minute.")
        stranger.world.advance(seconds=600)
        stranger.run()
        stranger.judge()


@pytest.mark.ci
def test_review_threads_by_themselves_and_who_is_owed(tmp_path: Path) -> None:
    """Along the list of pull requests, with a cursor of its own; who could not be told is asked for again by itself."""
    world = GitHubWorld(NOW)
    repo = world.add_repo("lantern/lantern")
    for number in range(3):
        pull = repo.open_pull("benji", f"Change {number}", "")
        repo.review_comment(pull, "maya", "cache.go", "Why here?", 12)
    world.advance(seconds=600)
    app = GitHubApp(world)
    given = {"repos": ["lantern/lantern"], "token": "demo-token"}
    with serving(app) as url:
        stranger = Stranger("github", tmp_path, world, app, github, url, given)

        def read() -> tuple[int, int, set[tuple[int, bool]]]:
            packages = stranger.run(stranger.declared().with_resources("review_threads"))
            asked = sum(call.path == "/graphql" for call in app.log)
            held = stranger.sql("SELECT r.number, t.is_resolved FROM github.review_threads AS r"
                                " JOIN github.review_threads__threads AS t USING (parent_key)")  # fmt: skip
            return packages, asked, set(held)

        first = {(1, False), (2, False), (3, False)}
        assert read() == (1, 1, first) and read() == (0, 0, first)
        for number in (1, 2):
            repo.resolve(repo.threads(number)[0].comments[0], "maya")
            repo.comment(number, "kofi", "Done.")
        repo.hide(2, 700)
        world.advance(seconds=600)
        assert read() == (1, 1, {(1, True), (2, False), (3, False)})
        world.advance(seconds=600)
        assert read() == (1, 1, {(1, True), (2, True), (3, False)}) and read()[:2] == (0, 0)


@pytest.mark.ci
def test_three_at_once(tmp_path: Path) -> None:
    """Three sources extract side by side in one process."""
    strangers = [made(name, tmp_path / name) for name in JUDGES]
    for each in strangers:
        each.stir()
    with serving(strangers[0].app) as one, serving(strangers[1].app) as two, serving(strangers[2].app) as three:
        for each, url in zip(strangers, (one, two, three), strict=True):
            each.url = url
        pipelines = [each.pipeline() for each in strangers]
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda one, each: one.extract(each.declared()), pipelines, strangers))
        for pipeline, each in zip(pipelines, strangers, strict=True):
            pipeline.normalize()
            pipeline.load()
            each.judge()


@pytest.fixture
def nobodys_files(tmp_path: Path) -> Iterator[None]:
    """dlt keeps to the folder in which it was first asked, whosever that was."""
    context = Container()[PluggableRunContext]
    first = context.context.run_dir
    context.reload(str(tmp_path))
    yield
    context.reload(first)


@pytest.mark.usefixtures("nobodys_files")
def test_only_its_own_settings_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sources.<name>.*` of dlt's configuration and arguments; never bare names, which are somebody else's."""
    stranger = made("github", tmp_path / "theirs")
    stranger.stir()
    with serving(stranger.app) as stranger.url:
        for name, value in {"TOKEN": "wrong", "API_URL": "http://127.0.0.1:9", "SINCE": "2030-01-01", "REPOS": '["a/b"]',
                            "SOURCES__TOKEN": "wrong", "GITHUB__TOKEN": "wrong", "MAX_ROWS": "1"}.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        with pytest.raises(ConfigurationValueError, match="repos is missing"):
            github(token="demo-token", api_url=stranger.url)
        monkeypatch.setenv("SOURCES__GITHUB__REPOS", '["lantern/lantern"]')
        monkeypatch.setenv("SOURCES__GITHUB__TOKEN", "demo-token")
        monkeypatch.setenv("SOURCES__GITHUB__API_URL", stranger.url)
        stranger.run(github())
        stranger.judge()
        with dlt.config.values({"sources.github.since": "soon"}), pytest.raises(ConfigurationValueError, match="since"):
            github()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"repos": "lantern"}, "repos"), ({"repos": ["a/b"], "overlap_seconds": 0}, "overlap_seconds"),
     ({"repos": ["a/b"], "since": "soon"}, "since"), ({"repos": ["a/b"], "api_url": "api"}, "api_url"),
     ({"repos": ["nameless"]}, "nameless")],
)  # fmt: skip
def test_a_wrong_argument_is_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationValueError, match=named):
        github(**wrong)
