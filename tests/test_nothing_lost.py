"""Promises 1 and 2 under adversity: whatever order edits, page shifts, bursts, kills and clocks come in, once the
world is quiet and a run succeeds, what is held equals a full scan of the world, each version once.
"""

import os
from dataclasses import dataclass

import pendulum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Switches
from tests.long import LONG
from tests.memory import Killed, Memory, judge, read
from tests.memory import settings as github

NOW = pendulum.datetime(2026, 3, 1, 12)

WORDS = st.sampled_from(["why?", "because", "LGTM", "please rename", "no", "ok"])
OPERATION = st.tuples(st.sampled_from(
    ["open_issue", "open_pull", "comment", "comment", "comment", "review_comment", "review_comment", "review",
     "edit_comment", "edit_comment", "edit_review_comment", "edit_review", "edit_issue", "delete", "burst", "push",
     "label", "close", "tick", "tick", "long_tick"]
), st.integers(0, 10_000), WORDS)  # fmt: skip
SEED = os.environ.get("EARSHOT_SEED")


@dataclass
class Actor:
    """Turns drawn numbers into things that can happen in the repository as it is now."""

    repo: Repo

    def do(self, operation: tuple[str, int, str]) -> None:
        what, pick, words = operation
        repo, world = self.repo, self.repo.world
        numbers = sorted(issue.number for issue in repo.issues.rows.values())
        pulls = sorted(issue.number for issue in repo.issues.rows.values() if issue.pull)
        comments, notes, reviews = (sorted(s.rows) for s in (repo.comments, repo.review_comments, repo.reviews))
        if what == "tick":
            world.advance(seconds=1)
        elif what == "long_tick":
            world.advance(seconds=37 * (1 + pick % 40))
        elif what == "open_issue":
            repo.open_issue("maya", f"Issue {pick}", words)
        elif what == "open_pull":
            repo.open_pull("kofi", f"Change {pick}", words)
        elif what == "comment" and numbers:
            repo.comment(numbers[pick % len(numbers)], "odile", f"{words} {pick}")
        elif what == "burst" and numbers:
            for n in range(2 + pick % 12):
                repo.comment(numbers[(pick + n) % len(numbers)], "haruki", f"{words} {pick} {n}")
        elif what == "review_comment" and pulls:
            repo.review_comment(pulls[pick % len(pulls)], "sanvi", "a.go", f"{words} {pick}", 1 + pick % 9)
        elif what == "review" and pulls:
            repo.review(
                pulls[pick % len(pulls)], "maya", ("APPROVED", "COMMENTED", "CHANGES_REQUESTED")[pick % 3], words
            )
        elif what == "edit_comment" and comments:
            repo.edit_comment(comments[pick % len(comments)], f"{words} {pick % 3}")
        elif what == "edit_review_comment" and notes:
            repo.edit_review_comment(notes[pick % len(notes)], f"{words} {pick % 3}")
        elif what == "edit_review" and reviews:
            repo.edit_review(reviews[pick % len(reviews)], words)
            repo.comment(repo.reviews.rows[reviews[pick % len(reviews)]].number, "maya", "edited my review")
        elif what == "edit_issue" and numbers:
            repo.edit_issue(numbers[pick % len(numbers)], title=f"{words} {pick % 3}")
        elif what == "delete" and comments:
            repo.delete_comment(comments[pick % len(comments)])
        elif what == "push" and pulls:
            repo.push(pulls[pick % len(pulls)], outdates=("a.go",))
        elif what == "label" and numbers:
            repo.label(numbers[pick % len(numbers)], words)
        elif what == "close" and numbers:
            repo.close(numbers[pick % len(numbers)])


def moving(actor: Actor, meanwhile: list[tuple[str, int, str]]) -> Switches:
    """One operation before each answer, until they are used up."""
    left = list(meanwhile)

    def before(request: object) -> None:
        if left:
            actor.do(left.pop(0))

    return Switches(before=before)


RUN = st.tuples(st.lists(OPERATION, max_size=25), st.lists(OPERATION, max_size=12), st.none() | st.integers(0, 6))


@settings(
    max_examples=2000 if LONG else 60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not LONG,
)  # fmt: skip
@given(
    runs=st.lists(RUN, min_size=1, max_size=4), cap=st.integers(1, 9), stripped=st.booleans(), chunk=st.integers(1, 4)
)
def test_any_history_read_in_any_runs_ends_equal_to_a_full_scan(runs, cap, stripped, chunk):  # type: ignore[no-untyped-def]
    """Random edits between runs, during walks and around kills; pages of any size; with and without Link headers."""
    world = GitHubWorld(NOW)
    actor = Actor(world.add_repo("lantern/lantern"))
    app, memory, config = GitHubApp(world), Memory(), github(["lantern/lantern"])
    for before, meanwhile, dies_after in runs:
        for operation in before:
            actor.do(operation)
        app.switches = moving(actor, meanwhile)
        app.switches.max_per_page = None if stripped else cap  # a server that gives less than asked says so in Link
        app.switches.strip_headers = {"link", "x-ratelimit-remaining"} if stripped else set()
        try:
            read(app, memory, config, dies_after=dies_after, chunk=chunk)
        except Killed:
            continue
    app.switches = Switches(max_per_page=cap)
    world.advance(seconds=1)
    reading = read(app, memory, config)
    assert reading.problems == []
    judge(world, memory.rows)
