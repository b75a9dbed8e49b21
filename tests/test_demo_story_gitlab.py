"""The demo's story on GitLab: the same at every performance, rich enough to look at, with news once and then quiet."""

import re
from collections import Counter

import pendulum
import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.state import Spot
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.story.github.script import delay
from pipelines.demo.story.github.story import beats as github_beats
from pipelines.demo.story.gitlab import issues, reviews
from pipelines.demo.story.gitlab import news as story_gitlab_news
from pipelines.demo.story.gitlab.script import Patch, Topic, diff, issue, merge_request, reply, say, spots
from pipelines.demo.story.gitlab.story import (
    BOTS,
    CHARTS,
    CONSOLE,
    PEOPLE,
    READER,
    SKETCHES,
    START,
    STORY_END,
    Story,
    beats,
    demo_time,
)

TOPICS = issues.TOPICS + reviews.TOPICS + story_gitlab_news.LAST_DAY


def performed(*until: pendulum.DateTime) -> GitLabWorld:
    world = GitLabWorld(START)
    story = Story(world, beats())
    for instant in until:
        story.play(instant)
    return world


@pytest.fixture(scope="module")
def world() -> GitLabWorld:
    return performed(STORY_END)


def spoken(world: GitLabWorld) -> list[str]:
    truth = world.truth()
    opened = [row["description"] for table in (truth.merge_requests, truth.issues) for row in table.values()]
    return opened + [note["body"] for note in truth.notes.values() if not note["is_system"]]


def test_two_performances_are_equal():
    """So are their histories, and however many steps they are played in."""
    steps = [START.add(days=20), STORY_END, *(demo_time(run) for run in range(3))]
    one, other = performed(*steps), performed(demo_time(2))
    assert one.truth() == other.truth() and one.history == other.history
    assert one.now == other.now == demo_time(2)


def test_both_services_are_played_to_one_clock():
    """Two worlds, two stories, one `demo_time`: a run sees both as of the same moment."""
    hub, lab = GitHubWorld(START), GitLabWorld(START)
    for story in (Story(hub, github_beats()), Story(lab, beats())):
        story.play(demo_time(3))
    assert hub.now == lab.now == demo_time(3)


def test_beats_come_in_time_order_and_span_the_ninety_days():
    """What is written ends with the story, on its last day; news come later."""
    told = [beat.at for beat in beats()]
    assert told == sorted(told) and told[0] == START
    written = [beat.at for topic in TOPICS for beat in topic.beats()]
    assert STORY_END.subtract(days=1) < max(written) <= STORY_END
    assert min(written) < START.add(days=1)
    assert all(beat.at > STORY_END for topic in story_gitlab_news.NEWS for beat in topic.beats())


def test_the_second_run_has_news_and_all_later_ones_are_quiet():
    """Settled when they are read: more than a minute old, which GitLab needs to tell of the next note."""
    world = GitLabWorld(START)
    story = Story(world, beats())
    story.play(demo_time(0))
    told = len(world.history)
    played = [story.play(demo_time(run)) for run in range(1, 9)]
    assert played[0] >= 6 and played[1:] == [0] * 7
    news = world.history[told:]
    assert all(demo_time(1).subtract(seconds=120) < version.at < demo_time(1).subtract(seconds=70) for version in news)
    assert len({(version.kind, version.id, version.body) for version in news if version.body}) >= 4
    assert {"merged"} == {world.projects[id_].merge_requests[iid].state for id_, iid in ((1001, 13), (1001, 14))}


def test_days_that_are_named_move_with_the_story():
    """What is due, and what a nightly run says of its day."""
    world = GitLabWorld(START.add(days=100))
    Story(world, beats(), 100).play(STORY_END)
    project = next(each for each in world.projects.values() if each.path_with_namespace == CONSOLE)
    assert project.milestones["1.0"].due_date == "2027-02-10"
    assert any(body.startswith("**2026-12-20** ·") for body in spoken(world))


def test_sizes(world: GitLabWorld):
    """Small enough to read, large enough to count."""
    truth = world.truth()
    people = [note for note in truth.notes.values() if not note["is_system"]]
    assert {project.path_with_namespace for project in world.projects.values()} == {CONSOLE, CHARTS, SKETCHES}
    assert 14 <= len(truth.merge_requests) <= 20 and 11 <= len(truth.issues) <= 16
    assert 140 <= len(people) <= 200 and len({note["author"] for note in people}) >= 12


def test_merge_requests_have_every_shape(world: GitLabWorld):
    """All states, drafts, labels and milestones that changed, renames and diffs that are cut."""
    truth = world.truth()
    states = Counter(row["state"] for row in truth.merge_requests.values())
    assert set(states) == {"opened", "closed", "merged", "locked"} and states["locked"] == 1
    assert any(row["is_draft"] for row in truth.merge_requests.values())
    flags = Counter(
        name for diffs in truth.diffs.values() for row in diffs for name, value in row.items() if value is True
    )
    assert min(flags[f"is_{name}"] for name in ("new", "renamed", "deleted", "collapsed", "too_large")) >= 1
    assert sum(map(bool, truth.closes.values())) >= 6
    assert len(truth.label_events) >= 20 and len(truth.milestone_events) >= 6
    closed_by_merge = [row for row in truth.state_events.values() if row["source_merge_request_id"]]
    assert len(closed_by_merge) >= 6
    assert any(row["is_confidential"] for row in truth.issues.values())


def test_threads_have_every_shape(world: GitLabWorld):
    """On lines, ranges, images and files; resolved, unresolved, opened again; waiting for an answer."""
    notes = list(world.truth().notes.values())
    places = [note["position"] for note in notes if note["position"]]
    assert Counter(place["position_type"] for place in places).keys() == {"text", "image", "file"}
    assert sum(place["range"] is not None for place in places) >= 12
    assert any(place["old_path"] != place["new_path"] for place in places)
    assert any(place["new_line"] is None and place["old_line"] for place in places)
    assert any(place["old_line"] and place["new_line"] for place in places), "a line on both sides"
    resolvable = [note for note in notes if note["is_resolvable"]]
    assert sum(note["is_resolved"] for note in resolvable) >= 30
    assert sum(not note["is_resolved"] for note in resolvable) >= 15
    ways = {
        note.position.range_as
        for project in world.projects.values()
        for mr in project.merge_requests.values()
        for note in mr.notes
        if note.position and note.position.start
    }
    assert ways == {"numbers", "strings", "missing", "codes"}
    assert any(note["is_internal"] for note in notes) and any(note["is_system"] for note in notes)
    last_words = [
        project.issues[iid].notes[-1]
        for project in world.projects.values()
        for iid in project.issues
        if project.issues[iid].notes
    ]
    assert sum(note.body.endswith("?") for note in last_words) >= 2


def test_what_moved_and_what_did_not(world: GitLabWorld):
    """Edited and deleted notes, notes within a minute of each other, a resolved thread that nothing tells of."""
    notes = [version for version in world.history if version.kind == "note"]
    texts = Counter((version.id, version.body) for version in notes)
    edited = {note_id for note_id, n in Counter(note_id for note_id, _ in texts).items() if n > 1}
    assert len(edited) >= 3 and sum(version.is_deleted for version in notes) >= 2
    parents = [mr for project in world.projects.values() for mr in project.merge_requests.values()]
    resolved = [note for mr in parents for note in mr.notes if note.resolved_at]
    assert all(note.updated_at < note.resolved_at for note in resolved)
    close = [
        (one, two)
        for mr in parents
        for one, two in zip(mr.notes, mr.notes[1:], strict=False)
        if not one.is_system and not two.is_system and (two.created_at - one.created_at).total_seconds() < 60
    ]
    assert close
    untouched = [two for _, two in close if (two.parent, two.created_at) not in touches(world)]
    assert untouched, "a second note within a minute that moved nothing"


def touches(world: GitLabWorld) -> set[tuple[object, pendulum.DateTime]]:
    parents = {mr.id: mr for project in world.projects.values() for mr in project.merge_requests.values()}
    return {(parents[version.id], version.updated_at) for version in world.history if version.kind == "merge_request"}


def test_words_that_are_hard_to_carry(world: GitLabWorld):
    """Other scripts, tables, fences, suggestions with offsets, commands, HTML."""
    text = "\n".join(spoken(world))
    for hard in (
        "节点",
        "一度見た",
        "🏮",
        "|---|",
        "```suggestion:-0+0",
        "```suggestion:-1+0",
        "<img onerror",
        "`<table>`",
    ):
        assert hard in text
    assert text.count("/earshot ") >= 3 and re.search(r"^/earshot .*\n/earshot ", text, re.MULTILINE)


def test_nothing_unfinished_is_visible():
    """No unresolved name, no leftover of the source's indentation, nobody who was not introduced."""
    later = performed(demo_time(1))
    for body in spoken(later):
        assert "#{" not in body and "{}" not in body
        assert body == body.strip() and body
    assert set(later.users) == {*PEOPLE, *BOTS, READER, "ghost"}
    for project in later.projects.values():
        for parent in [*project.merge_requests.values(), *project.issues.values()]:
            assert "\n" not in parent.title and "{" not in parent.title
            for kind, number in re.findall(r"(?<![\w/])([#!])(\d+)\b", "\n".join(note.body for note in parent.notes)):
                assert int(number) in (project.issues if kind == "#" else project.merge_requests)


def test_notes_hang_on_lines_of_their_files_diff(world: GitLabWorld):
    """Each position is a line that the merge request's diff had when the note was written."""
    for project in world.projects.values():
        for mr in project.merge_requests.values():
            known = {diff.new_path: spots(diff.diff) for diff in mr.diffs if not diff.diff.startswith("Binary")}
            for note in mr.notes:
                if note.position and note.position.line:
                    assert note.position.line in known[note.position.new_path]


def test_spots_run_both_counters():
    """An added line has the old number that would come next, as in GitLab's line codes."""
    told = spots("@@ -10,3 +20,4 @@\n kept\n-old\n+new\n+newer\n kept")
    assert told == [Spot(10, 20), Spot(11, 21, "old"), Spot(12, 21, "new"), Spot(12, 22, "new"), Spot(12, 23)]
    assert Spot(12, 22, "new").code("a.ts").endswith("_12_22")


def test_a_topic_finds_what_it_named_to_the_second():
    """Seconds are exact, references know their kind, and a range starts as many lines above."""
    patch = Patch("a.ts", "@@ -1,2 +1,3 @@\n a\n+b\n+c")
    topics = [
        Topic(
            "i",
            "08-04 10:00",
            issue(CONSOLE, "maya", "T", "why"),
            say("1h", "maya", "one", "x"),
            say("20s", "maya", "two", "y"),
        ),
        Topic(
            "m",
            "08-04 12:00",
            merge_request(CONSOLE, "maya", "b", "M", "Closes #{i}", patches=(patch,)),
            diff("1h", "noor", patch, "both?", "d", lines=2),
            reply("5m", "maya", "d", "see #{i} and #{m}"),
        ),
    ]
    made = sorted((beat for topic in topics for beat in topic.beats()), key=lambda beat: beat.at)
    world = GitLabWorld(START)
    project = world.add_project(CONSOLE)
    story = Story(world, made)
    story.names["repo " + CONSOLE] = project
    story.play(STORY_END)
    one, two = project.issues[1].notes
    assert (two.created_at - one.created_at).total_seconds() == 20 and delay("20s").total_seconds() == 20
    first, second = project.merge_requests[1].notes
    assert second.body == "see #1 and !1"
    assert first.position and (first.position.start, first.position.line) == (Spot(2, 2, "new"), Spot(2, 3, "new"))
