"""Permissions flap: what answers 404 once is missing, not dead. It dies with the second answer, is looked after for three
runs, and what is back is alive with all that hangs on it with the next plain run. None of that is a failure.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.sync.output.summary import summary
from tests.in_memory import in_memory
from tests.synced import BlueskyDesk, Desk, GitHubDesk, GitLabDesk, bluesky_desk, desk, gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
PLACE, REPO, MAYA = "lantern/console", "lantern/lantern", "maya.example"
WHILE, LATER = 1000, 300
DEAD = "SELECT count(*) FROM feedback.events WHERE is_deleted"
KINDS = ["merge_requests", "issues"]


@pytest.fixture
def project() -> Project:
    world = GitLabWorld(NOW)
    made = world.add_project(PLACE)
    world.fill(made, merge_requests=3, discussions=2, notes=2, issues=3, days=5)
    world.advance(seconds=LATER)
    return made


@pytest.fixture
def gitlab(tmp_path: Path, project: Project) -> GitLabDesk:
    made = in_memory(gitlab_desk(tmp_path / "data", project.world))
    assert made.run().exit_code == 0
    return made


@pytest.fixture
def repo() -> Repo:
    return GitHubWorld(NOW).add_repo(REPO)


@pytest.fixture
def github(tmp_path: Path, repo: Repo) -> GitHubDesk:
    """An issue and an open pull request with a word of every kind, and another issue; all read."""
    issue, pull = repo.open_issue("pete-q", "Does it cache?", "Asking."), repo.open_pull("benji", "Cache", "It does.")
    repo.comment(issue, "maya", "It does not.")
    repo.comment(pull, "maya", "Thanks.")
    review = repo.review(pull, "tomasz-w", "CHANGES_REQUESTED", "One thing.")
    repo.review_comment(pull, "tomasz-w", "cache.go", "Why?", 12, review_id=review)
    repo.comment(repo.open_issue("freja", "Colours", "Too many."), "maya", "Agreed.")
    repo.world.advance(seconds=LATER)
    made = in_memory(desk(tmp_path / "data", repo.world))
    assert made.run().exit_code == 0
    return made


def asked(made: Desk, end: str) -> int:
    return sum(call.path.endswith(end) for call in made.app.log)


# GitLab


@pytest.mark.parametrize("kind", KINDS)
def test_one_404_right_after_the_list_deletes_nothing(gitlab: GitLabDesk, project: Project, kind: str) -> None:
    """It was listed with news and could not be read: kept as it was, told, no failure; the next run has it all."""
    parent = getattr(project, kind)[1]
    project.comment(parent, "maya", "News.")
    project.hide(parent, WHILE)
    project.world.advance(seconds=LATER)
    report = gitlab.run()
    assert report.exit_code == 0 and gitlab.one(DEAD) == 0
    assert gitlab.one("SELECT count(*) FROM feedback.parents") == 6
    assert len(report.sources[0].told) == 1 and "missing" in report.sources[0].told[0]
    project.world.advance(seconds=WHILE)
    report = gitlab.run()
    assert report.exit_code == 0 and "is back" in report.sources[0].told[0]
    gitlab.judge()
    assert gitlab.run().sources[0].packages == 0


@pytest.mark.parametrize("kind", KINDS)
def test_death_takes_two_runs_and_is_undone_by_the_next(
    gitlab: GitLabDesk, project: Project, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever changed while nobody saw it, and however far the lists went on meanwhile."""
    parent = getattr(project, kind)[1]
    first = parent.threads[0].notes[0]
    project.comment(parent, "maya", "News.")
    project.hide(parent, WHILE)
    project.world.advance(seconds=60)
    project.edit_note(first, "Edited behind a closed door.")
    project.world.advance(seconds=LATER)
    assert gitlab.run().exit_code == 0 and gitlab.one(DEAD) == 0
    project.comment(project.merge_requests[2], "kofi", "Elsewhere.")
    project.world.advance(seconds=LATER)
    report = gitlab.run()
    assert report.exit_code == 0 and gitlab.one(DEAD) > 0
    assert gitlab.sql("SELECT is_deleted, is_missing, cause FROM gitlab.deletions") == [(True, False, "answers 404")]
    summary(report, gitlab.home, as_json=False, demo=False)
    told = capsys.readouterr().out
    assert "is gone (answers 404)" in told and "1 marked as deleted" in told
    project.world.advance(seconds=WHILE)
    report = gitlab.run()
    assert report.exit_code == 0 and "marked as deleted" not in str(report.sources[0].told)
    gitlab.judge()
    assert gitlab.run().sources[0].packages == 0


def test_an_ordinary_deletion_is_no_failure(gitlab: GitLabDesk, project: Project) -> None:
    """Noticed by the sweep, confirmed by the next run, looked after by three more; none of them exits 3, and the last of
    them asks for nothing."""
    project.delete(project.merge_requests[1])
    project.world.advance(seconds=LATER)
    assert gitlab.run(sweep=True).exit_code == 0 and gitlab.one(DEAD) == 0
    assert gitlab.run().exit_code == 0
    assert gitlab.sql("SELECT DISTINCT is_deleted FROM feedback.events WHERE parent_number = 1 ORDER BY 1") == [
        (False,), (True,),
    ], "the issue of the same number lives"  # fmt: skip
    looked = []
    for _ in range(5):
        report = gitlab.run()
        assert report.exit_code == 0 and report.published_bytes is None
        looked.append(asked(gitlab, "/merge_requests/1"))
    assert looked == [1, 1, 1, 0, 0]
    assert gitlab.run(sweep=True).exit_code == 0


def test_a_list_that_shows_it_brings_it_back(gitlab: GitLabDesk, project: Project) -> None:
    """Long after anybody asked for it by itself."""
    parent = project.merge_requests[1]
    project.hide(parent, 100 * WHILE, listed=False)
    gitlab.run(sweep=True)
    for _ in range(5):
        assert gitlab.run().exit_code == 0
    assert gitlab.one(DEAD) > 0
    project.world.advance(seconds=100 * WHILE)
    project.comment(parent, "maya", "Here again.")
    project.world.advance(seconds=LATER)
    assert gitlab.run().exit_code == 0
    gitlab.judge()


def test_what_is_listed_again_unchanged_is_back(gitlab: GitLabDesk, project: Project) -> None:
    """The newest of its list, hidden and shown again: nothing of it differs from what the list showed before."""
    newest = max(project.merge_requests.values(), key=lambda mr: mr.updated_at)
    project.comment(newest, "maya", "The last word.")
    project.world.advance(seconds=LATER)
    gitlab.run()
    project.hide(newest, 100 * WHILE, listed=False)
    gitlab.run(sweep=True)
    for _ in range(5):
        gitlab.run()
    assert gitlab.one(DEAD) > 0
    project.world.advance(seconds=100 * WHILE)
    assert gitlab.run().exit_code == 0
    gitlab.judge()
    assert gitlab.run().sources[0].packages == 0


def test_the_sweep_brings_back_what_moved_nothing(gitlab: GitLabDesk, project: Project) -> None:
    """Its list shows it, changed or not, however long ago that was."""
    parent = project.merge_requests[1]
    project.hide(parent, 100 * WHILE, listed=False)
    gitlab.run(sweep=True)
    project.world.advance(seconds=LATER)
    project.comment(project.merge_requests[2], "kofi", "Elsewhere.")
    for _ in range(5):
        project.world.advance(seconds=LATER)
        gitlab.run()
    project.world.advance(seconds=100 * WHILE)
    assert gitlab.run().exit_code == 0 and gitlab.one(DEAD) > 0
    assert gitlab.run(sweep=True).exit_code == 0
    gitlab.judge()


def test_a_named_one_that_flaps_is_a_failure_of_that_run_alone(gitlab: GitLabDesk, project: Project) -> None:
    """Nothing is marked by a run over what somebody named."""
    from sources.core.targets import Target

    project.hide(project.merge_requests[1], WHILE)
    assert gitlab.operate(PLACE, Target("mr", 1)).exit_code == 6
    assert gitlab.rows("gitlab.deletions") == []


# GitHub


@pytest.mark.parametrize("number", [1, 2], ids=["issue", "pull request"])
def test_github_death_takes_two_runs_and_is_undone_by_the_next(github: GitHubDesk, repo: Repo, number: int) -> None:
    """An account is hidden, with all that it opened; what is said there meanwhile is read when it is back."""
    repo.hide(number, WHILE, listed=False)
    report = github.run(sweep=True)
    assert report.exit_code == 0 and github.one(DEAD) == 0, report.sources[0].problems
    assert "missing" in report.sources[0].told[0]
    first = min(row.id for row in repo.comments.of(number))
    repo.world.advance(seconds=60)
    repo.edit_comment(first, "Edited behind a closed door.")
    if number == 2:
        repo.edit_review_comment(1001, "Why, really?")
        repo.edit_review(1001, "Two things.")
    repo.world.advance(seconds=LATER)
    repo.comment(3, "kofi", "Elsewhere.")
    repo.world.advance(seconds=LATER)
    assert github.run().exit_code == 0 and github.one(DEAD) > 0
    assert github.sql("SELECT is_deleted, is_missing, cause FROM github.deletions") == [(True, False, "answers 404")]
    assert github.run(sweep=True).exit_code == 0, "an open pull request that is gone fails no sweep"
    repo.world.advance(seconds=WHILE)
    report = github.run()
    assert report.exit_code == 0 and "is back" in report.sources[0].told[0]
    github.judge()
    assert github.one(DEAD) == 0
    assert github.run().sources[0].packages == 0


@pytest.mark.parametrize("number", [1, 2], ids=["issue", "pull request"])
def test_github_one_404_right_after_the_list_deletes_nothing(github: GitHubDesk, repo: Repo, number: int) -> None:
    """Listed with news, and what hangs on it could not be read."""
    repo.delete_comment(min(row.id for row in repo.comments.of(number)))
    repo.label(number, "answered")
    if number == 2:
        repo.review(number, "odile", "APPROVED", "Ship it.")
    repo.hide(number, WHILE)
    repo.world.advance(seconds=LATER)
    github.run()
    assert github.one(DEAD) == 0 and github.one("SELECT count(*) FROM feedback.parents") == 3
    repo.world.advance(seconds=WHILE)
    assert github.run().exit_code == 0
    github.judge()


def test_github_looks_after_a_tombstone_for_three_runs(github: GitHubDesk, repo: Repo) -> None:
    """Then its lists tell: a change of it, or the sweep."""
    repo.hide(1, 100 * WHILE, listed=False)
    github.run(sweep=True)
    github.run()
    looked = []
    for _ in range(5):
        report = github.run()
        assert report.exit_code == 0 and report.published_bytes is None
        looked.append(asked(github, "/issues/1"))
    assert looked == [1, 1, 1, 0, 0]
    repo.world.advance(seconds=100 * WHILE)
    assert github.run().exit_code == 0
    assert github.run(sweep=True).exit_code == 0
    github.judge()


def test_a_pull_request_that_is_followed_by_itself_and_gone_is_no_failure(github: GitHubDesk, repo: Repo) -> None:
    """Told twice, then quiet; and alive with the run in which it answers again, however long that takes."""
    alone = {"pulls": {REPO: [2]}}
    assert github.run(alone).exit_code == 0
    repo.hide(2, 100 * WHILE)
    repo.world.advance(seconds=LATER)
    report = github.run(alone)
    assert report.exit_code == 0 and "missing" in report.sources[0].told[0] and github.one(DEAD) == 0
    report = github.run(alone)
    assert report.exit_code == 0 and "is gone" in report.sources[0].told[0] and github.one(DEAD) > 0
    for _ in range(5):
        report = github.run(alone)
        assert report.exit_code == 0 and report.published_bytes is None and not report.sources[0].told
    assert github.run(alone, sweep=True).exit_code == 0
    repo.world.advance(seconds=100 * WHILE)
    assert github.run(alone).exit_code == 0 and github.one(DEAD) == 0


def test_github_comments_of_an_issue_that_never_landed_are_looked_after_too(github: GitHubDesk, repo: Repo) -> None:
    """Between two lists its permission was taken away, and it comes back when no list will speak of it again."""
    number = repo.open_issue("pete-q", "And PUT?", "Asking for another friend.")
    repo.world.advance(seconds=60)
    repo.comment(number, "maya", "Neither.")

    def before(request: Any) -> None:
        if request.path.endswith("/issues"):
            repo.hide(number, WHILE, listed=False)
        elif request.path.endswith("/issues/comments"):
            repo._numbers[number].is_listed = True

    github.app.switches.before = before
    repo.world.advance(seconds=60)
    assert github.run().exit_code == 0
    github.app.switches.before = None
    held = "SELECT count(*) FROM github.{} WHERE number = ?"
    assert [github.one(held.format(table), number) for table in ("issues", "issue_comments")] == [0, 1]
    for _ in range(2):
        repo.comment(3, "kofi", "Elsewhere.")
        repo.world.advance(seconds=LATER)
        assert github.run().exit_code == 0
    repo.world.advance(seconds=WHILE)
    assert github.run().exit_code == 0
    github.judge()


# Bluesky


def test_an_account_that_vanishes_is_missing_first(tmp_path: Path) -> None:
    """Not found may be the AppView's mistake; only twice in a row it is believed. Nothing of it is deleted, and it is back
    with the first poll that shows it."""
    world = BlueskyWorld(NOW)
    world.account(MAYA)
    world.account("kofi.example")
    world.post(MAYA, "Before.")
    world.advance(LATER)
    made: BlueskyDesk = in_memory(bluesky_desk(tmp_path / "data", world, MAYA, "kofi.example"))
    assert made.run().exit_code == 0
    state = "SELECT status FROM ops.accounts WHERE handle = 'maya.example'"
    world.hide(MAYA)
    seen = []
    for _ in range(3):
        world.advance(LATER)
        report = made.run(sweep=True)
        assert report.exit_code == 0
        seen.append((made.one(state), len(report.sources[0].told)))
    assert seen == [("missing", 1), ("not found", 1), ("not found", 0)]
    assert made.one(DEAD) == 0
    world.reactivate(MAYA)
    world.post(MAYA, "Back.")
    world.advance(LATER)
    report = made.run()
    assert report.exit_code == 0 and made.one(state) == "active" and "is back" in report.sources[0].told[0]
    made.judge()


def test_a_service_whose_clock_was_put_back_deletes_all_the_same(gitlab: GitLabDesk, project: Project) -> None:
    """A mark counts where it is not older than its row; a row of an hour ahead is as old as anything that comes after."""
    gone = project.merge_requests[1]
    gitlab.app.switches.date_skew = timedelta(hours=1)
    project.comment(gone, "maya", "News.")
    project.world.advance(seconds=LATER)
    assert gitlab.run().exit_code == 0
    gitlab.app.switches.date_skew = timedelta(0)
    project.delete(gone)
    project.world.advance(seconds=LATER)
    assert gitlab.run(sweep=True).exit_code == 0
    project.world.advance(seconds=LATER)
    assert gitlab.run().exit_code == 0
    dead = gitlab.sql(
        "SELECT parent_key, bool_and(is_deleted) FROM feedback.events GROUP BY parent_key HAVING bool_or(is_deleted)"
    )
    assert dead == [(f"gitlab:{project.id}:!{gone.iid}", True)]


def test_githubs_clock_put_back_neither_revives_nor_loses_what_is_gone(github: GitHubDesk, repo: Repo) -> None:
    """A comment on a diff that was seen by a clock an hour ahead, and deleted since: sweep after sweep it stays gone."""
    pull = next(issue.number for issue in repo.issues.rows.values() if issue.pull)
    github.app.switches.date_skew = timedelta(hours=1)
    gone = repo.review_comment(pull, "maya", "cache.go", "Also here.", 14)
    repo.world.advance(seconds=LATER)
    assert github.run().exit_code == 0
    github.app.switches.date_skew = timedelta(0)
    repo.delete_review_comment(gone)
    for _ in range(3):
        repo.world.advance(seconds=LATER)
        assert github.run(sweep=True).exit_code == 0
        assert github.sql("SELECT id FROM feedback.events WHERE is_deleted") == [(str(gone),)]
    repo.world.advance(seconds=LATER)
    assert github.run().sources[0].requests == 5, "nothing is asked for again that is known to be gone"
