"""The demo's story: the same at every performance, rich enough to look at, with news once and then quiet."""

import re
from collections import Counter

import pendulum
import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.story.clock import STEP, days_later
from pipelines.demo.story.github import docs, lantern, small, tasks
from pipelines.demo.story.github import news as story_news
from pipelines.demo.story.github.script import Hunk, Thread, edit, issue, prose, say
from pipelines.demo.story.github.story import (
    BENCH,
    BOTS,
    DOCS,
    LANTERN,
    PEOPLE,
    START,
    STORY_END,
    Beat,
    Story,
    beats,
    demo_time,
)

THREADS = lantern.THREADS + docs.THREADS + small.THREADS + tasks.THREADS + story_news.LAST_DAY


def performed(*until: pendulum.DateTime) -> GitHubWorld:
    world = GitHubWorld(START)
    story = Story(world, beats())
    for instant in until:
        story.play(instant)
    return world


@pytest.fixture(scope="module")
def world() -> GitHubWorld:
    return performed(STORY_END)


def spoken(world: GitHubWorld) -> list[str]:
    truth = world.truth()
    tables = (truth.issues, truth.pull_requests, truth.issue_comments, truth.review_comments, truth.reviews)
    return [row["body"] for table in tables for row in table.values()]


def test_two_performances_are_equal():
    one, other = performed(demo_time(1)), performed(demo_time(1))
    assert one.truth() == other.truth()
    assert one.history == other.history


def test_playing_in_steps_equals_playing_at_once():
    steps = [START.add(days=20), START.add(days=20), STORY_END, *(demo_time(run) for run in range(3))]
    in_steps, at_once = performed(*steps), performed(demo_time(2))
    assert in_steps.history == at_once.history
    assert in_steps.now == at_once.now == demo_time(2)


def test_a_beat_at_the_very_instant_is_played():
    world = GitHubWorld(START)
    assert Story(world, beats()).play(START) == 1
    assert {repo.full_name for repo in world.repos.values()} == {LANTERN, DOCS, BENCH}


def test_beats_come_in_time_order_and_span_the_ninety_days():
    told = [beat.at for beat in beats()]
    assert told == sorted(told)
    assert told[0] == START
    assert STORY_END.diff(START).in_days() == 90


def test_written_threads_end_with_the_story():
    """Only what is written as news may happen after the first demo run; the last day is one on which things happen."""
    for thread in THREADS:
        assert all(beat.at <= STORY_END for beat in thread.beats()), thread.name
    for thread in story_news.LAST_DAY:
        assert all(STORY_END.subtract(hours=36) < beat.at for beat in thread.beats()), thread.name


def test_the_second_run_has_news_and_all_later_ones_are_quiet():
    """Late enough to be settled on every service when they are read, early enough for a promise of 150 seconds."""
    later = performed(STORY_END)
    known = len(later.history)
    story = Story(GitHubWorld(START), beats())
    played = [story.play(demo_time(run)) for run in range(9)]
    assert played[1] >= 6 and played[2:] == [0] * 7
    news = story.world.history[known:]
    assert all(demo_time(1).subtract(seconds=120) < version.at < demo_time(1).subtract(seconds=70) for version in news)
    assert sum(bool(version.body) for version in news) >= 6
    assert {row["state"] for row in story.world.truth().reviews.values()} >= {"APPROVED"}
    versions = Counter((version.kind, version.id) for version in news if version.kind.endswith("comment"))
    assert max(versions.values()) > 1, "an edit"


@pytest.mark.parametrize(
    "last_day", [pendulum.date(2026, 11, 18), pendulum.date(2031, 2, 28), pendulum.date(2024, 2, 29)]
)
def test_the_story_ends_on_the_day_that_it_is_told(last_day: pendulum.Date):
    """Every instant and every day that is named are as many days later or earlier; no word is otherwise."""
    days = days_later(last_day)
    moved = GitHubWorld(START.add(days=days))
    Story(moved, beats(), days).play(demo_time(1))
    written = performed(demo_time(1))
    assert moved.now.date() == last_day
    assert [(v.kind, v.id, v.at) for v in moved.history] == [
        (v.kind, v.id, v.at.add(days=days)) for v in written.history
    ]
    soak = f"Soak {STORY_END.subtract(days=2).add(days=days).to_date_string()} ·"
    assert any(body.startswith(soak) for body in spoken(moved))


def test_the_clock_never_goes_back():
    """What was said to the world between two runs may have brought it past a beat."""
    world = GitHubWorld(START)
    story = Story(world, beats())
    story.play(STORY_END)
    world.now = STORY_END.add(seconds=30)
    story.play(demo_time(1))
    assert world.now == STORY_END + STEP
    assert min(version.at for version in world.history[-8:]) >= STORY_END.add(seconds=30)


def test_sizes(world):
    truth = world.truth()
    said = [row for table in (truth.issue_comments, truth.review_comments, truth.reviews) for row in table.values()]
    assert {repo.full_name for repo in world.repos.values()} == {LANTERN, DOCS, BENCH}
    assert 22 <= len(truth.issues) <= 30
    assert 32 <= len(truth.pull_requests) <= 40
    assert 250 <= sum(bool(row["body"]) for row in said) <= 350
    assert len({row["author"] for row in said}) >= 12


def test_conversations_have_every_shape(world):
    truth = world.truth()
    numbered = {(row["repo_id"], row["number"]): row for row in [*truth.issues.values(), *truth.pull_requests.values()]}
    after_closing = [
        row
        for row in truth.issue_comments.values()
        if (closed := numbered[row["repo_id"], row["number"]]["closed_at"]) and row["created_at"] > closed
    ]
    comments = [version for version in world.history if version.kind == "issue_comment"]
    versions = Counter(version.id for version in comments if not version.is_deleted)
    assert len(after_closing) >= 6
    assert sum(n > 1 for n in versions.values()) >= 3, "edits"
    assert any(version.is_deleted for version in comments)
    assert any(version.is_deleted and version.kind == "issue" for version in world.history)
    assert {row["author"] for row in truth.issue_comments.values()} >= {None, *BOTS[1:]}, "a ghost and the CI app"
    assert {row["author"] for row in truth.pull_requests.values()} >= {"dependabot[bot]", None}
    assert any(row["app"] for row in truth.issue_comments.values())
    assert {row["state"] for row in numbered.values()} == {"open", "closed"}
    assert any(row["draft"] and not row["merged_at"] for row in truth.pull_requests.values())


def test_reviews_have_every_shape(world):
    truth = world.truth()
    notes = list(truth.review_comments.values())
    states = Counter(row["state"] for row in truth.reviews.values())
    assert set(states) == {"APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED", "PENDING"}
    assert sum(bool(row["body"]) for row in truth.reviews.values() if row["state"] == "APPROVED") >= 20
    assert sum(row["in_reply_to_id"] is not None for row in notes) >= 25
    assert sum(row["original_start_line"] is not None for row in notes) >= 15
    assert sum(row["side"] == "LEFT" for row in notes) >= 4
    assert any(row["subject_type"] == "file" for row in notes)
    assert sum(row["line"] is None and row["original_line"] is not None for row in notes) >= 10, "outdated"
    assert sum("```suggestion" in row["body"] for row in notes) >= 6
    assert any(version.is_deleted for version in world.history if version.kind == "review_comment")


def test_things_are_given_to_people_and_places_have_doors(world):
    """Assigned, planned, asked for a review; locked; private, archived; written by a machine and by a person's program."""
    truth = world.truth()
    numbered = [*truth.issues.values(), *truth.pull_requests.values()]
    assert sum(bool(row["assignees"]) for row in numbered) >= 8
    assert any(len(row["assignees"]) > 1 for row in numbered)
    assert {row["milestone"] for row in numbered} == {"1.0", "1.1", None}
    asked = [row for row in truth.pull_requests.values() if row["requested_teams"]]
    assert [(row["state"], row["requested_reviewers"], row["requested_teams"]) for row in asked] == [
        ("open", ["sanvi"], ["edge-operators"])
    ], "those who have answered are asked no more"
    assert sum(row["is_locked"] for row in numbered) == 1
    assert {row["merged_by"] for row in truth.pull_requests.values()} >= {"maya", "tomasz-w", "odile"}
    bench = world.names[BENCH]
    assert bench.private and bench.archived and any(row["repo_id"] == bench.id for row in truth.issue_comments.values())
    apps = {(row["author"], row["app"]) for row in truth.issue_comments.values() if row["app"]}
    assert apps == {("kofi", "chat-bridge"), ("benji", "chat-bridge")}, "of machines none is told"


def test_words_that_are_hard_to_carry(world):
    text = "\n".join(spoken(world))
    for hard in ("\x1b[2J", "\x07", "\u202e", "<script>", "提灯", "缓存", "🏮", "|---|", "> /earshot label"):
        assert hard in text
    assert len(set(re.findall(r"https://[^\s)]+", text))) >= 15
    assert text.count("/earshot label priority=high") >= 4
    assert re.search(r"^/earshot .*\n/earshot ", text, re.MULTILINE), "several in one comment"
    assert re.search(r"```\n/earshot", text), "one in a fence, which must not count"


def test_nothing_unfinished_is_visible(world):
    """No unresolved name, no leftover of the source's indentation, nobody who was not introduced."""
    later = performed(demo_time(1))
    for body in spoken(later):
        assert "#{" not in body and "{}" not in body
        assert body == body.strip()
    assert set(later.users) | {"old-otter"} == {*PEOPLE, *BOTS}
    for pull in later.truth().pull_requests.values():
        assert "\n" not in pull["title"]


def test_notes_hang_on_a_line_that_their_hunk_ends_with():
    """A RIGHT note ends on an added or kept line, a LEFT one on a removed or kept one, so the line number is true."""
    later = performed(demo_time(1))
    for row in later.truth().review_comments.values():
        if row["subject_type"] == "file":
            continue
        last = row["diff_hunk"].split("\n")[-1]
        assert last[0] in (" -" if row["side"] == "LEFT" else " +"), row
        assert 1 <= (row["original_start_line"] or row["original_line"]) <= row["original_line"]


def test_hunk_counts_lines_per_side():
    hunk = Hunk("a.py", "@@ -10,3 +20,4 @@\n kept\n-old\n-old\n+new")
    assert hunk.line("RIGHT") == 21
    assert hunk.line("LEFT") == 12
    assert hunk.line("LEFT", before=1) == 11


def test_prose_joins_wrapped_paragraphs_only():
    text = """
        One paragraph
        in two lines.

        - an item
          goes on
        - another
        > quoted
        /earshot label a=b

        ```
        code
        stays
        ```
        """
    joined = "One paragraph in two lines.\n\n- an item goes on\n- another\n> quoted\n/earshot label a=b\n\n"
    assert prose(text) == joined + "```\ncode\nstays\n```"


def test_a_thread_finds_what_it_named():
    told = Thread(
        "t",
        "08-04 10:00",
        issue(LANTERN, "maya", "T", "why"),
        say("1h", "maya", "frist", "x"),
        edit("5m", "x", "first, in #{t}"),
    )
    world = GitHubWorld(START)
    repo = world.add_repo(LANTERN)
    story = Story(world, [Beat(START, lambda _, names: names.update({"repo " + LANTERN: repo})), *told.beats()])
    assert story.play(STORY_END) == 4
    assert [row["body"] for row in world.truth().issue_comments.values()] == ["first, in #1"]
