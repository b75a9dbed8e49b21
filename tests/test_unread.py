"""What cannot be read is never passed over in silence: asked for again by the very next run, exit 3 and a line of its own
for as long as it is missing, and not counted as held; until it is read, or somebody lets it be.
"""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pendulum
import pytest

from pipelines.ask.query import times
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Request, Response, conditional
from pipelines.sync.output.report import Report
from pipelines.sync.output.summary import summary
from pipelines.sync.run import Options
from pipelines.sync.verify import verify
from tests.asked import REAL_NOW, Reader, at_its_time
from tests.in_memory import in_memory
from tests.synced import BlueskyDesk, Desk, GitHubDesk, GitLabDesk, Reached, bluesky_desk, desk, gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
PLACE, REPO, MAYA = "lantern/console", "lantern/lantern", "maya.example"
LATER = 300
D = TypeVar("D", bound=Desk)


@pytest.fixture(autouse=True)
def real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are dated by this machine's clock."""
    monkeypatch.setattr(times, "local_timezone", lambda: pendulum.UTC)
    at_its_time(monkeypatch, REAL_NOW())


def read(desk: D) -> D:
    """What its first run left, for all who go on from there."""
    made = in_memory(desk)
    assert made.run().exit_code == 0
    return made


@pytest.fixture
def project() -> Project:
    return _project()


def _project() -> Project:
    world = GitLabWorld(NOW)
    made = world.add_project(PLACE)
    world.fill(made, merge_requests=9, discussions=1, notes=2, days=5)
    world.advance(seconds=LATER)
    return made


@pytest.fixture(scope="module")
def gitlab_read(tmp_path_factory: pytest.TempPathFactory) -> GitLabDesk:
    return read(gitlab_desk(tmp_path_factory.mktemp("gitlab") / "data", _project().world))


@pytest.fixture
def gitlab(tmp_path: Path, project: Project, gitlab_read: GitLabDesk) -> GitLabDesk:
    """Nine merge requests, all read."""
    return in_memory(gitlab_desk(tmp_path / "data", project.world), gitlab_read)


@pytest.fixture
def repo() -> Repo:
    return GitHubWorld(NOW).add_repo(REPO)


def _every_kind(repo: Repo) -> None:
    issue, pull = repo.open_issue("pete-q", "Does it cache?", "Asking."), repo.open_pull("benji", "Cache", "It does.")
    repo.comment(issue, "maya", "It does not.")
    review = repo.review(pull, "tomasz-w", "CHANGES_REQUESTED", "One thing.")
    repo.review_comment(pull, "tomasz-w", "cache.go", "Why?", 12, review_id=review)
    repo.world.advance(seconds=LATER)


@pytest.fixture(scope="module")
def github_read(tmp_path_factory: pytest.TempPathFactory) -> GitHubDesk:
    repo = GitHubWorld(NOW).add_repo(REPO)
    _every_kind(repo)
    return read(desk(tmp_path_factory.mktemp("github") / "data", repo.world))


@pytest.fixture
def github(tmp_path: Path, repo: Repo, github_read: GitHubDesk) -> GitHubDesk:
    """An issue and a pull request with a word of every kind, all read."""
    _every_kind(repo)
    return in_memory(desk(tmp_path / "data", repo.world), github_read)


@pytest.fixture
def bluesky(tmp_path: Path) -> BlueskyDesk:
    world = BlueskyWorld(NOW)
    world.account(MAYA)
    world.post(MAYA, "readable")
    world.advance(LATER)
    made = in_memory(bluesky_desk(tmp_path / "data", world, MAYA))
    assert made.run().exit_code == 0
    return made


def status(desk: Desk, *words: str) -> str:
    asked = Reader(desk.home).ask("status", "--check", "--interval", "1h", *words, width=160)
    assert asked.code == (0 if "All is well" in asked.out else 1), asked.out
    return asked.out


def shown(report: Report, desk: Desk, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    summary(report, desk.home, as_json=False, demo=False)
    return capsys.readouterr().out


def open_keys(desk: Desk) -> list[str]:
    found = Reader(desk.home).data("quarantine", "list")
    return [each["key"] for each in found["records"] if not each["let_be_at"]]


def edit_five(project: Project) -> list[int]:
    for mr in list(project.merge_requests.values())[:5]:
        project.edit(mr, "maya", title=f"Changed {mr.iid}")
    project.world.advance(seconds=LATER)
    return [mr.iid for mr in list(project.merge_requests.values())[:5]]


def wrong_project(rows: list[dict[str, Any]], numbers: list[int]) -> None:
    for row in rows:
        if row["iid"] in numbers:
            row["project_id"] = 4711


def test_what_one_run_could_not_read_the_next_run_asks_for(gitlab: GitLabDesk, project: Project) -> None:
    """The cursor has passed them: no list will bring them again."""
    numbers = edit_five(project)

    def rewrite(request: Request, data: Any) -> Any:
        if request.path.endswith("/merge_requests"):
            wrong_project(data, numbers)
        return data

    gitlab.app.rewrite = rewrite
    assert gitlab.run().exit_code == 3
    assert len(open_keys(gitlab)) == 5
    gitlab.app.rewrite = None
    assert gitlab.run().exit_code == 0
    gitlab.judge()
    assert open_keys(gitlab) == []


def spoil_five(gitlab: GitLabDesk, project: Project) -> None:
    """Wherever they are told, five merge requests name a project that is not theirs."""
    numbers = edit_five(project)

    def rewrite(request: Request, data: Any) -> Any:
        if "/merge_requests" in request.path and "/merge_requests/" not in request.path:
            wrong_project(data, numbers)
        elif request.path.rpartition("/")[0].endswith("/merge_requests"):
            wrong_project([data], numbers)
        return data

    gitlab.app.rewrite = rewrite


def test_a_run_over_what_is_missing_never_looks_clean(
    gitlab: GitLabDesk, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3 in every run, in words too, also where nothing was asked or is new; `status` and the count say the same."""
    spoil_five(gitlab, project)
    assert "Complete:    9 of 9" in status(gitlab)
    for _ in range(6):
        report = gitlab.run()
        told = shown(report, gitlab, capsys)
        assert report.exit_code == 3 and "5 records cannot be read" in told, told
        assert "nothing new" not in told and "Nothing changed" not in told, told
        assert "earshot quarantine list" in told
    told = status(gitlab)
    assert "Complete:    4 of 9" in told and "9 of 9" not in told
    assert "5 records of gitlab cannot be read" in told and "earshot quarantine" in told
    assert gitlab.one("SELECT count(*) FROM ops.completeness WHERE NOT is_complete AND unread_count = 1") == 5
    assert gitlab.sql("SELECT status, exit_code FROM ops.runs ORDER BY run_id DESC LIMIT 1") == [("partial", 3)]


def asked_singly(gitlab: GitLabDesk) -> int:
    return sum(call.path.rpartition("/")[0].endswith("/merge_requests") for call in gitlab.app.log)


def test_after_three_runs_in_vain_it_waits(gitlab: GitLabDesk, project: Project) -> None:
    """Each of the next three asks; then pauses grow; in them a run says that something is missing without asking."""
    spoil_five(gitlab, project)
    assert [(gitlab.run().exit_code, asked_singly(gitlab)) for _ in range(6)] == [
        (3, 0), (3, 5), (3, 5), (3, 5), (3, 0), (3, 0),
    ]  # fmt: skip
    with sqlite3.connect(gitlab.home.control) as ledger:
        ledger.execute("UPDATE quarantine SET retry_at = '2000-01-01T00:00:00Z'")
    ledger.close()
    gitlab.app.rewrite = None
    assert gitlab.run().exit_code == 0
    gitlab.judge()


def test_a_record_in_quarantine_copies_no_file(gitlab: GitLabDesk, project: Project) -> None:
    """The runs that find it as it was have nothing to publish."""
    spoil_five(gitlab, project)
    gitlab.run()
    for _ in range(6):
        report = gitlab.run()
        assert report.exit_code == 3
        assert report.published_bytes is None and report.sources[0].packages == 0


def test_what_nobody_will_ever_read_can_be_let_be(gitlab: GitLabDesk, project: Project) -> None:
    """By its key, as `status` and `quarantine list` say it: the next run is clean, and so is the check. Asked for again
    on demand, and read if it can be."""
    spoil_five(gitlab, project)
    gitlab.run()
    keys, reader = open_keys(gitlab), Reader(gitlab.home)
    assert len(keys) == 5 and all(key in reader.ask("quarantine", "list").out for key in keys)
    assert reader.ask("quarantine", "drop", keys[0]).code == 0
    assert gitlab.run().exit_code == 3 and len(open_keys(gitlab)) == 4
    assert reader.json("quarantine", "drop", *keys[1:])["data"]["keys"] == keys[1:]
    report = gitlab.run()
    assert report.exit_code == 0 and report.sources[0].quarantined == 0
    assert "All is well" in status(gitlab) and "9 of 9" in status(gitlab)
    gitlab.app.rewrite = None
    assert gitlab.run(full=True).exit_code == 0
    gitlab.judge()
    assert reader.data("quarantine", "list")["records"] == []


def test_a_let_be_record_is_asked_for_again_on_demand(gitlab: GitLabDesk, project: Project) -> None:
    """`quarantine retry`: open again, and read by the next run."""
    spoil_five(gitlab, project)
    gitlab.run()
    reader, keys = Reader(gitlab.home), open_keys(gitlab)
    reader.ask("quarantine", "drop", *keys)
    gitlab.app.rewrite = None
    assert gitlab.run().exit_code == 0
    assert gitlab.one("SELECT count(*) FROM gitlab.merge_requests WHERE title LIKE 'Changed%'") == 0
    assert reader.ask("quarantine", "retry", *keys).code == 0
    assert gitlab.run().exit_code == 0
    gitlab.judge()


def test_a_key_that_is_none_is_refused(gitlab: GitLabDesk, project: Project) -> None:
    """By name, and none of the others is let be."""
    spoil_five(gitlab, project)
    gitlab.run()
    asked = Reader(gitlab.home).ask("quarantine", "drop", open_keys(gitlab)[0], "merge_requests:1:nonsense")
    assert asked.code == 1 and "merge_requests:1:nonsense" in asked.err
    assert len(open_keys(gitlab)) == 5


def test_a_run_elsewhere_is_clean(gitlab: GitLabDesk, project: Project) -> None:
    """Only a run that covers the scope of what is missing tells of it; `status` always does."""
    spoil_five(gitlab, project)
    other = project.world.add_project("lantern/charts")
    project.world.comment = other.comment(other.open_issue("maya", "Axis"), "kofi", "Log?")  # type: ignore[attr-defined]
    project.world.advance(seconds=LATER)
    gitlab.names = (PLACE, "lantern/charts")
    assert gitlab.run().exit_code == 3
    gitlab.names = ("lantern/charts",)
    assert gitlab.run(is_narrowed=True).exit_code == 0
    assert "5 records of gitlab" in status(gitlab)


def test_what_is_gone_meanwhile_is_forgotten_after_two_answers(gitlab: GitLabDesk, project: Project) -> None:
    """One 404 may be a permission that flaps; the second run that gets it believes it."""
    spoil_five(gitlab, project)
    gitlab.run()
    for mr in list(project.merge_requests.values())[:5]:
        project.delete(mr)
    assert gitlab.run().exit_code == 3 and len(open_keys(gitlab)) == 5
    gitlab.run()
    assert open_keys(gitlab) == []


def test_verify_takes_nothing_for_gone_that_it_cannot_read(gitlab: GitLabDesk, project: Project) -> None:
    """The shadow reads no better than we do: that is told, and what we hold of it is not called deleted."""
    spoil_five(gitlab, project)
    gitlab.run()
    sources = [Reached(gitlab.source(gitlab.names), gitlab.app)]
    verdict = verify(gitlab.home, sources, Options())
    assert verdict.exit_code == 3 and len(verdict.problems) == 5 and verdict.differences == []
    Reader(gitlab.home).ask("quarantine", "drop", *open_keys(gitlab))
    assert verify(gitlab.home, sources, Options()).exit_code == 0


# GitHub


SINGLE = {
    "issues": "/issues/1", "pull_requests": "/pulls/2", "issue_comments": "/issues/comments/1001",
    "review_comments": "/pulls/comments/1001", "reviews": "/pulls/2/reviews/1001",
}  # fmt: skip
SPOILS: dict[str, tuple[str, dict[str, Any]]] = {  # surface → end of the paths that tell it, what is wrong
    "issues": (r"/issues", {"title": None}),
    "pull_requests": (r"/pulls", {"head": []}),
    "issue_comments": (r"/issues/comments", {"created_at": "yesterday"}),
    "review_comments": (r"/pulls/comments", {"path": None}),
    "reviews": (r"/pulls/2/reviews", {"submitted_at": "never"}),
}


def spoil(github: GitHubDesk, surface: str) -> None:
    """The record of this surface, wherever it is told."""
    path, change = SPOILS[surface]
    number = {"issues": 1, "pull_requests": 2}.get(surface)

    def fault(request: Request) -> Response | None:
        rest = request.path.removeprefix(f"/repos/{REPO}")
        head, _, tail = rest.rpartition("/")
        if rest != path and not (head == path and tail.isdigit()):
            return None
        github.app.switches.fault = None
        answer = github.app.answer(replace(request, headers={**request.headers, "if-none-match": ""}))
        github.app.switches.fault = fault
        if answer.status != 200:
            return answer
        found = orjson.loads(answer.encoded())
        for row in found if isinstance(found, list) else [found]:
            if number is None or row["number"] == number:
                row.update(change)
        headers = {k: v for k, v in answer.headers.items() if k != "etag"}
        return conditional(request, Response(200, found, headers))

    github.app.switches.fault = fault


def change(repo: Repo) -> None:
    """A new version of everything that is told there."""
    repo.edit_issue(1, title="Does it cache, really?")
    repo.edit_comment(1001, "It does not, really.")
    repo.edit_review(1001, "Two things.")
    repo.edit_review_comment(1001, "Why, really?")
    repo.push(2)
    repo.world.advance(seconds=LATER)


@pytest.mark.parametrize("surface", SPOILS)
def test_github_asks_again_says_so_and_copies_nothing(
    github: GitHubDesk, repo: Repo, surface: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One record of any kind that cannot be read: the others of its list land; then every run exits 3, none of them
    publishes what was there before, and the one that can read it has it."""
    change(repo)
    spoil(github, surface)
    report = github.run()
    assert report.exit_code == 3 and [each.partition(":")[0] for each in open_keys(github)] == [surface]
    for n in range(5):
        report = github.run()
        assert report.exit_code == 3
        assert report.published_bytes is None and report.sources[0].packages == 0, f"run {n}: {report.sources[0].rows}"
        assert "1 record cannot be read" in shown(report, github, capsys)
        asked = sum(call.path.endswith(SINGLE[surface]) for call in github.app.log)
        assert asked == (1 if n < 3 else 0), f"run {n}"
    assert "Complete:    2 of 2" not in status(github)
    with sqlite3.connect(github.home.control) as ledger:
        ledger.execute("UPDATE quarantine SET retry_at = '2000-01-01T00:00:00Z'")
    ledger.close()
    github.app.switches.fault = None
    assert github.run().exit_code == 0
    github.judge()
    assert "Complete:    2 of 2" in status(github)


@pytest.mark.parametrize("surface", SPOILS)
def test_github_lets_be_what_is_dropped(github: GitHubDesk, repo: Repo, surface: str) -> None:
    """And does not look for it in every run for ever, nor call its thread incomplete."""
    change(repo)
    repo.comment(1, "odile", "One more.")
    spoil(github, surface)
    github.run()
    assert Reader(github.home).ask("quarantine", "drop", *open_keys(github)).code == 0
    report = github.run()
    assert report.exit_code == 0, report.sources[0].problems
    assert "All is well" in status(github)
    report = github.run()
    assert report.exit_code == 0 and report.published_bytes is None
    assert len(github.app.log) == 5, [call.path for call in github.app.log]


@pytest.mark.parametrize("change", [{"title": None}, {"comments": "many"}], ids=["no title", "no count"])
def test_an_issue_in_quarantine_is_still_a_place(tmp_path: Path, repo: Repo, change: dict[str, Any]) -> None:
    """First seen so: its comments are there, and so is what they hang on, as far as it is known."""
    number = repo.open_issue("pete-q", "Does it cache?", "Asking.")
    repo.comment(number, "maya", "It does not.")
    repo.world.advance(seconds=LATER)
    made = in_memory(desk(tmp_path / "data", repo.world))
    SPOILS["issue"] = ("/issues", change)
    try:
        spoil(made, "issue")
    finally:
        del SPOILS["issue"]
    assert made.run().exit_code == 3
    assert made.sql("SELECT parent_key, kind, number, state FROM feedback.parents") == [
        (f"github:{repo.id}:{number}", "issue", number, "open")
    ]
    assert "It does not." in {body for (body,) in made.sql("SELECT body FROM feedback.comments")}
    assert made.sql("SELECT parent_number, is_complete FROM ops.completeness") == [(number, False)]
    report = made.run()
    assert report.exit_code == 3 and report.published_bytes is None
    made.app.switches.fault = None
    assert made.run().exit_code == 0
    made.judge()


def test_what_hung_on_an_issue_that_was_never_read_goes_with_it(tmp_path: Path, repo: Repo) -> None:
    """Its comment counted as known for as long as it lay in quarantine; the run that forgets it looks for the comment."""
    number = repo.open_issue("pete-q", "Does it cache?", "Asking.")
    repo.comment(number, "maya", "It does not.")
    repo.world.advance(seconds=LATER)
    made = in_memory(desk(tmp_path / "data", repo.world))
    spoil(made, "issues")
    assert made.run().exit_code == 3
    repo.delete_issue(number)
    repo.world.advance(seconds=LATER)
    made.app.switches.fault = None
    codes = [made.run().exit_code for _ in range(4)]
    assert codes[-1] == 0 and sorted(codes, reverse=True) == codes, codes
    assert made.sql("SELECT body FROM feedback.comments") == []


# Bluesky


def test_bluesky_asks_for_a_post_again(bluesky: BlueskyDesk, capsys: pytest.CaptureFixture[str]) -> None:
    """By its uri, in the very next run, whatever the feed shows; every run until then exits 3 and copies nothing."""
    world = bluesky.world
    bad = world.post(MAYA, "unreadable")
    world.advance(LATER)

    def break_it(request: Any, body: Any) -> Any:
        for post in [*(item["post"] for item in body.get("feed", ())), *body.get("posts", ())]:
            if post["uri"] == bad.uri:
                post["indexedAt"] = "yesterday"
        return body

    bluesky.app.rewrite = break_it
    assert bluesky.run().exit_code == 3
    for n in range(5):
        world.advance(LATER)
        report = bluesky.run()
        assert report.exit_code == 3 and "1 record cannot be read" in shown(report, bluesky, capsys)
        assert report.published_bytes is None
        assert sum(call.path.endswith("getPosts") for call in bluesky.app.log) == (1 if n < 3 else 0)
    with sqlite3.connect(bluesky.home.control) as ledger:
        ledger.execute("UPDATE quarantine SET retry_at = '2000-01-01T00:00:00Z'")
    ledger.close()
    bluesky.app.rewrite = None
    assert bluesky.run().exit_code == 0
    bluesky.judge()


def test_bluesky_forgets_what_its_author_deleted(bluesky: BlueskyDesk) -> None:
    """Not shown twice, while its author is there."""
    world = bluesky.world
    bad = world.post(MAYA, "unreadable")
    bluesky.app.rewrite = lambda request, body: {
        **body, **({"feed": [{**item, "post": {**item["post"], "indexedAt": 5}} for item in body["feed"]]}
                   if "feed" in body else {}),
    }  # fmt: skip
    assert bluesky.run().exit_code == 3
    bluesky.app.rewrite = None
    world.delete(bad)
    bluesky.run()
    bluesky.run()
    assert bluesky.run().exit_code == 0


def test_an_answer_that_is_no_record_at_all_is_a_failed_read(tmp_path: Path, repo: Repo) -> None:
    """One record was asked for, and something without an id came: nothing of it could ever be asked for again."""
    pull = repo.open_pull("benji", "Cache", "It does.")
    named = {"pulls": {REPO: [pull]}}
    repo.review(pull, "tomasz-w", "APPROVED", "Good.")
    repo.world.advance(seconds=LATER)
    read = in_memory(desk(tmp_path / "data", repo.world))
    read.app.switches.fault = lambda request: (
        Response(200, {"message": "?"}) if request.path.endswith(f"/pulls/{pull}") else None
    )
    failed = read.run(named)
    assert failed.exit_code in (1, 3) and read.rows("ops.quarantine") == []
    assert any("not a record" in problem.message for problem in failed.sources[0].problems)
    read.app.switches.fault = None
    assert read.run(named).exit_code == 0
    assert {row["kind"] for row in read.rows("feedback.events")} >= {"pull_request", "review"}
