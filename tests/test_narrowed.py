"""A run of some places or some types reads these and says nothing of the others; a dry run reads nothing at all."""

from pathlib import Path

import orjson
import pytest

from pipelines.demo.server.web import Request, Response
from tests.in_memory import InMemory
from tests.story import REPO, Project, judge, news, served, small_world

OTHER = "lantern/other"


def lists(project: Project, *arguments: str) -> set[str]:
    ended = project.quick(*arguments)
    assert ended.code == 0, ended.said
    return {call.path.partition(REPO)[2] for call in ended.calls}


@pytest.mark.ci
def test_only_some_types(tmp_path: Path) -> None:
    """Each type asks for its own lists; what was left out is read by the next run as if nothing had happened."""
    world, repo = small_world()
    with served(world, tmp_path, memory=InMemory()) as project:
        assert lists(project, "--type", "issues") == {"", "/issues"}
        assert lists(project, "--type", "comments") == {"", "/issues/comments", "/pulls/comments"}
        asked = lists(project, "--type", "prs")
        assert {"", "/pulls"} <= asked and not asked & {"/issues", "/issues/comments", "/pulls/comments"}
        news(world, repo)
        lists(project, "--type", "Issues, prs")
        project.quick("--sweep")
        judge(project.published, world)


@pytest.mark.parametrize("words", [("--type", "posts"), ("--type", ","), ("--type", "issues", "--issue", "1")])
def test_types_that_make_no_sense(tmp_path: Path, words: tuple[str, ...]) -> None:
    with served(small_world()[0], tmp_path) as project:
        ended = project.quick(*words)
        assert ended.code == 2 and "--type" in ended.err and ended.calls == []


@pytest.mark.ci
def test_what_was_not_read_is_not_well(tmp_path: Path) -> None:
    """A failure elsewhere stays open, an overdue sweep stays due, and the run is not taken for one that read all."""
    world, _ = small_world()
    world.add_repo(OTHER)

    def broken(request: Request) -> Response | None:
        return Response(404, {"message": "Not Found"}) if OTHER in request.path else None

    with served(world, tmp_path, repos=(REPO, OTHER), memory=InMemory()) as project:
        project.app.switches.fault = broken
        assert project.quick().code == 3
        swept = "SELECT value FROM run_state WHERE field = 'swept_at'"
        before = project.ledger(swept)
        assert project.quick("-p", REPO, "--sweep").code == 0
        assert project.quick("-p", REPO, "--full").code == 0
        open_failures = "SELECT count(*) FROM failures WHERE resolved_at IS NULL"
        assert project.ledger(open_failures) == [(1,)] and project.ledger(swept) == before
        assert project.ledger("SELECT mode FROM runs ORDER BY run_id") == [
            ("bulk",), ("narrow sweep",), ("narrow full",)
        ]  # fmt: skip
        project.app.switches.fault = None
        assert project.quick("-p", OTHER).code == 0
        assert project.ledger(open_failures) == [(0,)]


@pytest.mark.ci
def test_what_is_configured_no_more_is_not_suspected_for_ever(tmp_path: Path) -> None:
    """A thread that could not be read again, and then nobody wants: it is not looked for in every run, and is when
    its repository is read again. A run over another part alone does not forget it."""
    world, repo = small_world()
    world.add_repo(OTHER)

    def broken(request: Request) -> Response | None:
        is_thread = request.path.endswith("/comments") and "/issues/" in request.path and REPO in request.path
        return Response(500, {}) if is_thread else None

    def is_suspected(project: Project) -> bool:
        return project.ledger("SELECT value FROM run_state WHERE field = 'nothing_due_by'") == [("null",)]

    with served(world, tmp_path, repos=(REPO, OTHER), memory=InMemory()) as project:
        assert project.quick().code == 0
        repo.delete_comment(next(iter(repo.comments.rows)))
        project.app.switches.fault = broken
        assert project.quick("--sweep").code == 3 and is_suspected(project)
        assert project.quick("-p", OTHER).code == 0 and is_suspected(project)
        project.repos = (OTHER,)
        assert project.quick().code == 0 and not is_suspected(project)
        project.app.switches.fault, project.repos = None, (REPO, OTHER)
        assert project.quick().code == 0 and not is_suspected(project)
        judge(project.published, world)


def test_a_dry_run_tells_and_does_nothing(tmp_path: Path) -> None:
    """Before anything was read, and after: from the ledger alone, not a byte of the data directory different."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        ended = project.quick("--dry-run")
        assert ended.code == 0 and "for the first time" in ended.out and ended.calls == []
        assert not project.data.exists()
        for _ in range(2):
            assert project.quick().code == 0
        before = project.files()
        ended = project.quick("--dry-run", "--json")
        (planned,) = orjson.loads(ended.out)["data"]["plan"]
        assert planned["requests"] == len(project.quick().calls), "as many as an unchanged run then asks"
        assert planned["unread"] == [] and planned["quota"]["remaining"]
        assert ended.calls == []
        after = project.quick("--dry-run", "--sweep", "--type", "issues")
        assert "sweep: asked for" in after.out and "issue_comments" not in after.out
        assert before.keys() <= project.files().keys()


@pytest.mark.ci
def test_a_dry_run_minds_runs_over_everything(tmp_path: Path) -> None:
    """However often somebody read one repository alone in between."""
    world, _ = small_world()
    world.add_repo(OTHER)
    with served(world, tmp_path, repos=(REPO, OTHER), memory=InMemory()) as project:
        assert project.quick().code == project.quick().code == 0
        for _ in range(6):
            assert project.quick("-p", REPO).code == 0
        (planned,) = orjson.loads(project.quick("--dry-run", "--json").out)["data"]["plan"]
        assert planned["requests"] == len(project.quick().calls) == 10


def test_a_dry_run_leaves_every_byte(tmp_path: Path) -> None:
    with served(small_world()[0], tmp_path) as project:
        assert project.quick().code == 0
        before = project.files()
        assert project.quick("--dry-run").code == 0
        assert project.files() == before
