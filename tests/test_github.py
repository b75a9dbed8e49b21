"""GitHub end to end: the demo world → a real warehouse → models, judged by the world's own truth."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pendulum
import pytest

from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Request, Response
from pipelines.warehouse.embedded.destination import EMBEDDED
from tests.in_memory import in_memory
from tests.synced import GitHubDesk as Desk
from tests.synced import desk

NOW = pendulum.datetime(2026, 3, 1, 12)


@pytest.fixture
def world() -> GitHubWorld:
    return GitHubWorld(NOW)


@pytest.fixture
def repo(world: GitHubWorld) -> Repo:
    return world.add_repo("lantern/lantern")


def fill(world: GitHubWorld, repo: Repo) -> None:
    """One issue and one pull request, with a word of every kind."""
    issue = repo.open_issue("pete-q", "Does it cache POST?", "Asking for a friend.")
    pull = repo.open_pull("benji", "Cache nothing that is POSTed", "Closes #1.")
    world.advance(seconds=60)
    repo.comment(issue, "maya", "It does not.")
    review = repo.review(pull, "tomasz-w", "CHANGES_REQUESTED", "One thing.")
    note = repo.review_comment(
        pull, "tomasz-w", "cache.go", "```suggestion\nreturn nil\n```", 12, start_line=10, review_id=review
    )
    repo.review_comment(pull, "benji", "cache.go", "Done.", 12, in_reply_to=note)
    world.advance(seconds=600)


@pytest.fixture
def small(tmp_path: Path, world: GitHubWorld, repo: Repo, placed: Callable[..., Desk]) -> Desk:
    """A small repository of which nothing was read yet."""
    fill(world, repo)
    return placed(desk(tmp_path / "data", world))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Somebody who has read it."""
    world = GitHubWorld(NOW)
    fill(world, world.add_repo("lantern/lantern"))
    read = in_memory(desk(tmp_path_factory.mktemp("base") / "data", world))
    assert read.run().exit_code == 0
    return read


@pytest.fixture
def read(small: Desk, base: Desk) -> Desk:
    """The same after its first run."""
    if small.home.destination is not EMBEDDED:
        return in_memory(small, base)
    assert small.run().exit_code == 0
    return small


def test_every_kind_of_word_arrives_once(small: Desk) -> None:
    """Issue, pull request, comment, review, review comment: each one event, in one warehouse."""
    report = small.run()
    assert report.exit_code == 0
    small.judge()
    assert small.sql("SELECT kind, count(*) FROM feedback.events WHERE NOT is_system GROUP BY kind ORDER BY kind") == [
        ("issue", 1), ("issue_comment", 1), ("pull_request", 1), ("review", 1), ("review_comment", 2),
    ]  # fmt: skip


@pytest.mark.on_disk
def test_an_unchanged_run_costs_five_conditional_requests_and_writes_nothing(read: Desk) -> None:
    """No load package, the files byte-identical, whatever the history."""
    before = {p: hashlib.sha256(p.read_bytes()).digest() for p in (read.home.warehouse, read.home.published)}
    report = read.run()
    assert [(call.status, call.conditional) for call in read.app.log] == [(304, True)] * 5
    assert report.sources[0].packages == 0 and report.published_bytes is None
    assert before == {p: hashlib.sha256(p.read_bytes()).digest() for p in before}


def test_an_edit_is_a_second_event_and_a_deletion_is_marked(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """The same id twice; the deleted one stays, marked, and is no longer actionable."""
    edited, deleted = repo.comment(1, "odile", "It does!"), repo.comment(1, "odile", "Never mind.")
    read.run()
    world.advance(seconds=60)
    repo.edit_comment(edited, "It does, with Vary.")
    repo.delete_comment(deleted)
    repo.comment(1, "maya", "Let me look.")
    read.run()
    read.judge()
    assert read.sql(
        "SELECT body, is_edit, is_latest, is_deleted, is_actionable FROM feedback.events WHERE author = 'odile' ORDER BY id, is_edit"
    ) == [
        ("It does!", False, False, False, False),
        ("It does, with Vary.", True, True, False, True),
        ("Never mind.", False, True, True, False),
    ]  # fmt: skip


def test_a_deletion_without_any_other_change_is_found_by_the_sweep(small: Desk, repo: Repo, world: GitHubWorld) -> None:
    """Deleting moves no time; the sweep reads all counts and all ids of review comments."""
    comment, note = repo.comment(1, "odile", "Oops."), repo.review_comment(2, "odile", "x.go", "Oops.", 3)
    world.advance(seconds=9000)
    repo.open_issue("odile", "Something else", "Later.")
    small.run()
    repo.delete_comment(comment)
    repo.delete_review_comment(note)
    small.run()
    assert small.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0
    report = small.run(sweep=True)
    assert report.sources[0].swept
    small.judge()
    assert small.one("SELECT count(*) FROM feedback.events WHERE is_deleted AND body = 'Oops.'") == 2


def test_the_sweep_runs_by_itself_when_its_time_has_come(read: Desk, repo: Repo) -> None:
    """`sweep_hours` after the last one; the first read is one."""
    assert not read.run().sources[0].swept
    assert read.run(sweep_hours=0).sources[0].swept
    assert not read.run().sources[0].swept


def test_a_deleted_issue_takes_its_comments_with_it(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """Absent from the complete list, and 404 or 410 by itself: gone, with everything said in it."""
    repo.delete_issue(1)
    world.advance(seconds=60)
    read.run(sweep=True)
    read.judge()
    assert read.sql("SELECT kind, cause FROM github.deletions") == [("issue", "answers 410")]


def test_a_comment_that_comes_back_is_no_longer_deleted(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """A hidden user's words vanish and return; a deletion is an observation, not an erasure."""
    lost = repo.comments.rows[min(repo.comments.rows)]
    repo.delete_comment(lost.id)
    world.advance(seconds=60)
    read.run(sweep=True)
    assert read.one("SELECT is_deleted FROM feedback.events WHERE kind = 'issue_comment'")
    repo.comments.put(lost)
    for issue in repo.issues.rows.values():
        issue.revision += 1  # its count of comments shows again
    world.advance(seconds=60)
    read.run(sweep=True)
    assert not read.one("SELECT is_deleted FROM feedback.events WHERE kind = 'issue_comment'")
    read.judge()


def test_a_title_changed_and_changed_back_shows_the_last_words(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """Openers are versioned by their hash, so going back meets an old version, which is the latest again."""
    for title in ("Renamed", "Does it cache POST?"):
        world.advance(seconds=60)
        repo.edit_issue(1, title=title)
        read.run()
    read.judge()
    assert read.one("SELECT count(*) FROM feedback.events WHERE kind = 'issue'") == 2


def test_three_versions_within_one_second_end_with_the_last(small: Desk, repo: Repo) -> None:
    """Their times cannot order them; the order in which they were seen does, also when the first words return."""
    comment = repo.comment(1, "odile", "A")
    small.run()
    for words in ("B", "A"):
        repo.edit_comment(comment, words)
        small.run()
    small.judge()
    assert small.sql("SELECT body, is_latest FROM feedback.events WHERE author = 'odile' ORDER BY body") == [
        ("A", True), ("B", False),
    ]  # fmt: skip


def test_a_dismissed_review_is_a_new_version(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """Reviews have no updated_at; their state is part of what was said."""
    world.advance(seconds=60)
    repo.dismiss_review(min(repo.reviews.rows))
    repo.comment(2, "maya", "Dismissed, see above.")
    read.run()
    read.judge()
    assert read.sql("SELECT title, is_latest FROM feedback.events WHERE kind = 'review' AND NOT is_system ORDER BY is_latest") == [
        ("changes_requested", False), ("dismissed", True),
    ]  # fmt: skip


def test_a_rename_keeps_every_key_and_shows_the_new_name(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """The scope is the numeric id; the old name redirects on the same host."""
    keys = read.sql("SELECT event_key FROM feedback.events ORDER BY 1")
    repo.rename("lantern/glow")
    world.advance(seconds=60)
    read.run()
    assert read.sql("SELECT event_key FROM feedback.events ORDER BY 1") == keys
    assert read.sql("SELECT DISTINCT scope_name FROM feedback.events") == [("lantern/glow",)]


def test_a_repository_added_later_gets_its_own_history(read: Desk, world: GitHubWorld) -> None:
    """Without disturbing the others: those are answered 304."""
    other = world.add_repo("lantern/lantern-docs")
    for n in range(120):
        other.comment(other.open_issue("freja", f"Page {n}", "…") if n % 10 == 0 else 1, "ines-r", f"note {n}")
    world.advance(seconds=5)
    read.names = ("lantern/lantern", "lantern/lantern-docs")
    report = read.run()
    assert report.exit_code == 0
    read.judge()
    first = [
        call
        for call in read.app.log
        if call.path.startswith("/repos/lantern/lantern/") or call.path.endswith("/lantern")
    ]
    assert {call.status for call in first} == {304}


def test_named_pull_requests_are_read_alone(small: Desk, repo: Repo, world: GitHubWorld) -> None:
    """`pulls` follows a few pull requests of a giant: nothing else of it is asked for or kept."""
    repo.comment(1, "odile", "Not asked for.")
    report = small.run({"pulls": {"lantern/lantern": [2]}})
    assert report.exit_code == 0
    assert small.sql("SELECT DISTINCT parent_number FROM feedback.events") == [(2,)]
    held = small.one("SELECT count(*) FROM feedback.events WHERE kind IN ('review', 'review_comment')")
    assert held == len(repo.reviews.rows) + len(repo.review_comments.rows)
    assert not any(call.path.endswith("/issues/comments") for call in small.app.log)
    report = small.run({"pulls": {"lantern/lantern": [2]}})
    assert {call.status for call in small.app.log} == {304} and report.sources[0].packages == 0
    world.advance(seconds=60)
    repo.comment(2, "odile", "And now?")
    small.run({"pulls": {"lantern/lantern": [2]}})
    assert small.one("SELECT count(*) FROM feedback.events WHERE body = 'And now?'") == 1


def test_the_configured_start_bounds_history(small: Desk, repo: Repo, world: GitHubWorld) -> None:
    """What is older is neither read nor missed: counts are compared only for parents held from their beginning."""
    world.now = NOW.add(days=30)
    repo.comment(1, "odile", "Much later.")
    report = small.run({"since": "2026-03-20"})
    assert report.exit_code == 0
    assert small.sql("SELECT body FROM feedback.events WHERE kind = 'issue_comment'") == [("Much later.",)]
    assert small.one("SELECT count(*) FROM github.thread_checks") == 0
    before = small.sql("SELECT event_key, is_deleted FROM feedback.events ORDER BY 1")
    small.run({"since": "2026-03-20"}, sweep=True)
    assert small.sql("SELECT event_key, is_deleted FROM feedback.events ORDER BY 1") == before


def test_a_first_read_survives_edits_during_it(small: Desk, repo: Repo, world: GitHubWorld) -> None:
    """People do not stop talking while we read: one more run, and all is as it is."""
    number, notes = 2, [repo.comment(1, "haruki", f"Soak {n}") for n in range(250)]

    def meanwhile(_request: object) -> None:
        world.advance(seconds=1)
        repo.edit_comment(notes[len(small.app.log) * 7 % 250], f"Edited at {world.now}")
        repo.review_comment(number, "haruki", "soak.go", f"At {world.now}", 5)

    small.app.switches.before = meanwhile
    small.run()
    small.app.switches.before = None
    world.advance(seconds=1)
    small.run()
    small.judge()


def test_authors_limit_what_is_actionable_and_a_change_of_them_is_published(read: Desk) -> None:
    """Nothing is dropped: it is a flag, made anew when the setting changes, even if nothing new was said."""
    assert read.one("SELECT count(*) FROM feedback.events WHERE is_actionable") > 1
    report = read.run(authors=["maya"])
    assert report.published_bytes
    assert read.sql("SELECT DISTINCT author FROM feedback.events WHERE is_actionable") == [("maya",)]


def test_a_change_of_the_team_is_published(read: Desk) -> None:
    """Although nothing new was said; and once, not every time."""
    turns = "SELECT count(*) FROM feedback.threads WHERE waiting_on = 'team'"
    before = read.one(turns)
    report = read.run(team=["maya", "tomasz-w", "odile", "benji", "haruki", "ines-r", "kofi", "liu"])
    assert report.published_bytes and read.one(turns) < before
    assert not read.run(team=["kofi", "liu", "maya", "tomasz-w", "odile", "benji", "haruki", "ines-r"]).published_bytes


def test_diff_notes_show_the_place_as_said_and_as_it_is_now(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """After a push the line is gone from the diff; what the reviewer saw is kept."""
    place = "SELECT path, start_line, line, side, current_line, is_outdated, suggestion FROM feedback.diff_notes ORDER BY created_at, event_key LIMIT 1"
    assert read.sql(place) == [("cache.go", 10, 12, "RIGHT", 12, False, "return nil\n")]
    repo.push(2, outdates=("cache.go",))
    world.advance(seconds=60)
    read.run(sweep=True)
    assert read.sql(place) == [("cache.go", 10, 12, "RIGHT", None, True, "return nil\n")]


def test_closing_a_pull_request_keeps_its_words_and_ends_their_actionability(
    read: Desk, repo: Repo, world: GitHubWorld
) -> None:
    """Closed and merged are terminal for actionability, not for memory."""
    world.advance(seconds=60)
    repo.merge(2, "maya")
    read.run()
    read.judge()
    assert read.one("SELECT count(*) FROM feedback.events WHERE parent_number = 2 AND is_actionable") == 0
    assert read.one("SELECT state FROM github.pull_requests") == "merged"


@pytest.mark.parametrize("how", ["in memory", pytest.param("on disk", marks=[pytest.mark.on_disk, pytest.mark.ci])])
def test_what_is_taken_away_is_gone(read: Desk, repo: Repo, world: GitHubWorld, how: str) -> None:
    """Labels, people and teams are what the last answer says: fewer, or none at all. Read again they stay what they are."""
    for number in (1, 2):
        repo.label(number, "bug", "cache")
        repo.assign(number, "maya", "odile")
    repo.request_review(2, "maya", "odile", teams=("docs",))
    read.run()
    read.judge()
    world.advance(seconds=60)
    for number in (1, 2):
        repo.unlabel(number, "bug")
        repo.unassign(number, "maya")
    repo.review(2, "maya", "APPROVED", "Good.")
    read.run()
    read.judge()
    assert read.sql("SELECT labels, assignees, reviewers, requested_teams FROM feedback.parents ORDER BY number") == [
        (["cache"], ["odile"], [], []), (["cache"], ["odile"], ["maya", "odile", "tomasz-w"], ["docs"]),
    ]  # fmt: skip
    world.advance(seconds=60)
    repo.unlabel(1, "cache")
    repo.unassign(1, "odile")
    for _ in range(2):
        read.run(full=True)
        read.judge()
    assert read.one("SELECT count(*) FROM github.issues__labels WHERE parent_key LIKE '%:1'") == 0
    assert read.sql("SELECT labels, assignees FROM feedback.parents WHERE number = 1") == [([], [])]


def test_full_reads_everything_again_and_changes_nothing(read: Desk) -> None:
    """Tables are merged; what was seen first stays seen first."""
    before = read.sql("SELECT * FROM feedback.events ORDER BY event_key")
    report = read.run(full=True)
    assert not any(call.conditional for call in read.app.log)
    assert report.sources[0].packages == 2, "its lists, and the review threads of all"
    assert read.sql("SELECT * FROM feedback.events ORDER BY event_key") == before


def test_completeness_names_a_thread_whose_count_never_agrees(small: Desk, repo: Repo, world: GitHubWorld) -> None:
    """GitHub counts what it hides; the thread is read whole once per disagreement, and said to be all that is listed."""
    small.app.switches.hide = lambda row: getattr(row, "body", "") == "shadow"
    repo.comment(1, "odile", "shadow")
    world.advance(seconds=10)
    small.run()
    assert small.sql(
        "SELECT remote_count, held_count, is_complete, is_all_that_is_listed FROM ops.completeness WHERE parent_number = 1"
    ) == [(2, 1, False, True)]
    world.advance(seconds=60)
    repo.comment(2, "odile", "elsewhere")
    small.run()
    assert not any("/issues/1/comments" in call.path for call in small.app.log)


def test_cursors_in_sql_are_dlts(read: Desk) -> None:
    """`ops.cursors` shows what `dlt pipeline earshot_github info` shows."""
    shown = {
        surface: (complete, state)
        for surface, complete, state in read.sql("SELECT surface, is_complete, state FROM ops.cursors")
    }
    assert set(shown) == {"repositories", "issues", "pull_requests", "issue_comments", "review_comments"}
    assert all(complete for complete, _ in shown.values())


def test_requests_are_counted_by_surface(read: Desk) -> None:
    """Metrics of every run: what was asked, what was free, what was new and what was read again."""
    read.run(sweep_hours=0)
    counted = read.sql("SELECT sum(requests) FROM ops.requests WHERE run_id = 2")
    assert counted == [(len(read.app.log),)]
    assert read.one("SELECT sum(replayed) FROM ops.requests WHERE run_id = 2") > 0


def test_half_a_package_is_not_for_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A landing that breaks off between its tables: readers keep what they had, whole, until a run has repaired it."""
    from dlt.destinations.impl.duckdb.duck import DuckDbCopyJob

    world = GitHubWorld(NOW)
    repo = world.add_repo("lantern/lantern")
    number = repo.open_issue("liu", "Slow start", "")
    here = desk(tmp_path, world)
    assert here.run().exit_code == 0
    copy = DuckDbCopyJob.run

    def fails_on_comments(job: DuckDbCopyJob) -> None:
        if "issue_comments" in job._file_path:
            raise OSError("no room")
        copy(job)

    for said, broken in (("Any news?", True), ("Hello?", False)):
        world.advance(60)
        repo.edit_issue(number, title=f"Slow start: {said}")
        repo.comment(number, "liu", said)
        with monkeypatch.context() as patch:
            if broken:
                patch.setattr(DuckDbCopyJob, "run", fails_on_comments)
            report = here.run()
        assert report.exit_code == (1 if broken else 0)
        titles = here.sql("SELECT title FROM feedback.parents")
        assert titles == [("Slow start",)] if broken else [("Slow start: Hello?",)]
    assert "readers keep" in str(here.sql("SELECT message FROM ops.failures"))
    here.judge()


@pytest.mark.parametrize("is_gone", [True, False])
@pytest.mark.parametrize("torn", [("issues",), ("issues", "openers")], ids=["opener landed", "comments alone"])
def test_words_whose_issue_never_landed_are_settled(
    read: Desk, world: GitHubWorld, repo: Repo, torn: tuple[str, ...], is_gone: bool
) -> None:
    """A load broke off between its tables, or the issue was opened between the reading of two lists. If it is deleted
    before the next run, no list and no count ever speaks of it again.
    """
    number = repo.open_issue("pete-q", "And PUT?", "Asking for another friend.")
    world.advance(seconds=60)
    for words in ("Neither.", "Nor DELETE."):
        repo.comment(number, "maya", words)
    world.advance(seconds=600)
    read.run()
    with read.home.destination.building(read.home, {}) as connection:
        for table in torn:
            connection.execute(f"DELETE FROM github.{table} WHERE number = ?", [number])
    if is_gone:
        repo.delete_issue(number)
    assert read.run(sweep=True).exit_code == 0
    read.judge()
    assert len([call for call in read.app.log if call.path.endswith(f"/issues/{number}")]) == is_gone
    assert read.run(sweep=True).exit_code == 0
    assert not [call for call in read.app.log if call.path.endswith(f"/issues/{number}")]


def put_back(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """A server that was ten hours fast while something was said and read; then it says more, dated before that."""
    here = world.now
    world.now = here.add(hours=10)
    repo.comment(1, "odile", "From tomorrow.")
    repo.review_comment(2, "odile", "cache.go", "This, too.", 3)
    read.run()
    world.now = here.add(minutes=5)
    repo.comment(1, "odile", "And back.")
    repo.review_comment(2, "odile", "cache.go", "And this.", 3)
    world.advance(seconds=60)


def test_a_clock_put_back_loses_nothing(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    put_back(read, repo, world)
    read.run()
    read.judge()


def test_what_changes_in_a_long_run_of_many_packages_is_not_taken_for_the_future(
    read: Desk, repo: Repo, world: GitHubWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """Its later packages judge cursors by the service's clock now, not by that of its beginning: else what was said an
    hour into the run would make the cursor incredible, and the list would begin again with each package, for ever.
    """
    pulls = [repo.open_pull("maya", f"Cache {number}", "It does.") for number in range(3)]

    def every_one_is_reviewed(times: int) -> None:
        for pull in pulls * times:
            repo.review(pull, "odile", "COMMENTED", "And this?")

    every_one_is_reviewed(3)
    world.advance(seconds=60)
    begun = world.now

    def an_hour_later(request: Request) -> Response | None:
        if request.path.endswith("/reviews") and world.now == begun:
            world.advance(seconds=3600)
            every_one_is_reviewed(1)
            repo.comment(1, "odile", "Meanwhile.")
        return Response(500) if len(read.app.log) > 400 else None

    read.app.switches.fault = an_hour_later
    assert read.run(chunk_rows=3).exit_code == 0
    assert not [said for said in caplog.messages if "cursor_invalid" in said]
    read.app.switches.fault = None
    assert read.run().exit_code == 0
    read.judge()


def test_a_pull_request_of_the_future_and_a_small_budget_come_to_an_end(
    read: Desk, repo: Repo, world: GitHubWorld
) -> None:
    """It is read in every package until its time has come: that the clock goes on meanwhile is no news."""
    here = world.now
    world.now = here.add(hours=10)
    repo.review(2, "odile", "COMMENTED", "From tomorrow.")
    repo.comment(1, "maya", "From tomorrow, too.")
    read.run()
    world.now = here.add(minutes=5)
    repo.comment(1, "odile", "And back.")

    def goes_on(_: Request) -> Response | None:
        world.advance(seconds=1)
        return Response(500) if len(read.app.log) > 400 else None

    read.app.switches.fault = goes_on
    for _ in range(2):  # the cursor is not believed, and then it is
        assert read.run(chunk_rows=1).exit_code == 0
    read.judge()


def test_a_clock_put_back_and_a_small_budget_come_to_an_end(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """A cursor of the future is not believed: a list that stopped for its budget would begin again, and so for ever."""
    put_back(read, repo, world)

    def enough(_: Request) -> Response | None:
        return Response(500) if len(read.app.log) > 400 else None

    read.app.switches.fault = enough
    assert read.run(chunk_rows=1).exit_code == 0
    read.judge()
