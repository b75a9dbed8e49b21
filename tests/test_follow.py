"""Watched, blocked, closed, merged; and which change answers an issue: decided here, kept through every rebuild, seen in SQL."""

from collections.abc import Iterator

import pytest

from pipelines.models import slash_commands
from tests.speaker import Speaker
from tests.story import REPO

ACTIONABLE = """
SELECT body FROM feedback.events WHERE is_actionable AND parent_number = 2 AND kind <> 'pull_request'
ORDER BY created_at, kind, id
"""


def actionable(speaker: Speaker) -> list[str]:
    return [str(body) for (body,) in speaker.sql(ACTIONABLE)]


def sync(speaker: Speaker) -> None:
    ended = speaker.quick()
    assert ended.code == 0, ended.said


def states(speaker: Speaker) -> list[str]:
    return [str(state) for (state,) in speaker.sql("SELECT state FROM ops.lifecycle")]


def test_what_nobody_watches_counts_while_it_is_open(speaker: Speaker) -> None:
    """Closed: nothing counts; reopened: all of it again."""
    repo = speaker.app.world.names[REPO]
    assert actionable(speaker) == ["Looks good.", "Why twice?"]
    for deed, left in ((repo.close, 0), (repo.reopen, 2)):
        speaker.app.world.advance(60)
        deed(2)
        sync(speaker)
        assert len(actionable(speaker)) == left


def test_closing_what_is_watched_is_the_signal_to_stop(speaker: Speaker) -> None:
    """Reopened upstream, it stays closed here until somebody resumes it; what was said long before does not count then."""
    repo, world = speaker.app.world.names[REPO], speaker.app.world
    assert "is watched" in speaker.say("watch", "pr", "2").out
    sync(speaker)
    assert actionable(speaker) == ["Looks good.", "Why twice?"] and states(speaker) == ["watched"]
    world.advance(60)
    repo.close(2)
    sync(speaker)
    world.advance(3 * 86400)
    repo.reopen(2)
    repo.comment(2, "noor", "Still there?")
    sync(speaker)
    assert actionable(speaker) == [] and states(speaker) == ["closed"]
    world.advance(60)
    repo.comment(2, "noor", "Hello?")  # not heard yet: resuming reads it
    resumed = speaker.say("resume", "pr", "2")
    assert resumed.code == 0 and "is watched again" in resumed.out, resumed.said
    assert actionable(speaker) == ["Still there?", "Hello?"], "older than safe_backfill_hours does not come back"
    assert all(call.path.endswith(("/2", "/comments", "/reviews", "/graphql", REPO)) for call in resumed.calls)
    assert len(resumed.calls) <= 6, "bounded: this pull request alone"


def test_blocked_keeps_commands_only(speaker: Speaker) -> None:
    repo = speaker.app.world.names[REPO]
    assert speaker.say("unwatch", "pr", "2").code == 0
    speaker.app.world.advance(60)
    repo.comment(2, "noor", "/earshot retry")
    repo.comment(2, "noor", "Hm.")
    sync(speaker)
    assert actionable(speaker) == ["/earshot retry"]
    assert speaker.say("resume", "pr", "2").code == 0
    assert actionable(speaker) == ["Looks good.", "Why twice?", "/earshot retry", "Hm."]


@pytest.mark.on_disk
def test_forgetting_makes_it_as_it_was(speaker: Speaker) -> None:
    """A decision alone is published by the next run, also where nothing new was said."""
    assert speaker.say("unwatch", "pr", "2").code == 0
    sync(speaker)
    assert actionable(speaker) == []
    assert "forgotten" in speaker.say("unwatch", "pr", "2", "--forget").out
    before = speaker.published.stat().st_mtime_ns
    sync(speaker)
    assert actionable(speaker) == ["Looks good.", "Why twice?"] and states(speaker) == []
    published = speaker.published.stat().st_mtime_ns
    assert published > before
    sync(speaker)
    assert speaker.published.stat().st_mtime_ns == published, "and by that one only"


def test_what_is_forgotten_and_decided_again_is_another_decision(speaker: Speaker) -> None:
    assert speaker.say("watch", "pr", "2").code == 0
    sync(speaker)
    assert speaker.say("unwatch", "pr", "2", "--forget").code == speaker.say("unwatch", "pr", "2").code == 0
    sync(speaker)
    assert states(speaker) == ["blocked"] and actionable(speaker) == []


def test_merged_is_over(speaker: Speaker) -> None:
    """Neither watched nor resumed: not where it is known, nor where only the service knows it yet."""
    assert speaker.say("unwatch", "pr", "2").code == 0
    speaker.app.world.advance(60)
    speaker.app.world.names[REPO].merge(2, "maya")
    first = speaker.told("resume", "pr", "2")
    assert first["error"]["code"] == "MERGED" and actionable(speaker) == []
    speaker.app.log.clear()
    assert speaker.told("resume", "pr", "2")["error"]["code"] == "MERGED" and speaker.app.log == []
    assert speaker.told("watch", "pr", "2")["error"]["code"] == "NOT_OPEN"


def test_resuming_what_is_still_closed(speaker: Speaker) -> None:
    speaker.app.world.advance(60)
    speaker.app.world.names[REPO].close(2)
    told = speaker.told("resume", "pr", "2")
    assert told["error"]["code"] == "CLOSED" and "reopen" in told["error"]["hint"]
    sync(speaker)
    assert states(speaker) == ["closed"] and actionable(speaker) == []


def test_resuming_fails_as_a_whole(speaker: Speaker) -> None:
    """The service cannot be read, or a run holds the lock: nothing is different then."""
    from pipelines.demo.server.web import Response
    from pipelines.warehouse.data_dir import DataDir

    assert speaker.say("unwatch", "pr", "2").code == 0
    sync(speaker)
    speaker.app.switches.fault = lambda _: Response(404, {"message": "Not Found"})
    told = speaker.told("resume", "pr", "2")
    assert not told["ok"] and "nothing was changed" in told["error"]["hint"]
    speaker.app.switches.fault = None
    with DataDir(speaker.data).lock():
        held = speaker.told("resume", "pr", "2")
    assert not held["ok"] and "holds" in held["error"]["message"]
    assert speaker.say("watch", "pr", "2").code == 1, "still blocked"


@pytest.mark.on_disk
def test_decisions_outlive_the_warehouse(speaker: Speaker) -> None:
    assert speaker.say("unwatch", "pr", "2").code == 0
    for name in ("warehouse.duckdb", "published.duckdb"):
        (speaker.data / name).unlink()
    sync(speaker)
    assert actionable(speaker) == [] and states(speaker) == ["blocked"]


def routes(speaker: Speaker) -> list[tuple[str, str]]:
    return [
        (str(route), str(body).split("\n")[0])
        for route, body in speaker.sql(
            "SELECT r.route, e.body FROM feedback.routes AS r JOIN feedback.events AS e USING (event_key)"
            " WHERE r.is_latest ORDER BY r.comment_id"
        )
    ]


LEFT = """
SELECT e.body FROM feedback.routes AS r JOIN feedback.events AS e USING (event_key)
LEFT JOIN feedback.consumed AS c ON c.consumer = ? AND c.issue_key = r.issue_key AND c.route = r.route
WHERE r.is_latest AND r.route = ? AND r.comment_id > coalesce(c.last_comment_id, 0) ORDER BY r.comment_id
"""


def test_before_and_after_the_change_that_answers_an_issue(speaker: Speaker) -> None:
    """Told apart by when the change was opened, and for each consumer by how far it came; without a request."""
    repo, world = speaker.app.world.names[REPO], speaker.app.world
    repo.comment(1, "liu", "It is the cache.")
    world.advance(60)
    change = repo.open_pull("maya", "Warm the cache", "Fixes #1.")
    world.advance(60)
    repo.comment(1, "liu", "Is it done?")
    sync(speaker)
    assert routes(speaker) == []
    asked = len(speaker.app.log)
    assert f"is answered by {REPO}/{change}" in speaker.say("link", "1", str(change)).out
    assert len(speaker.app.log) == asked
    sync(speaker)
    assert routes(speaker) == [("before", "Any news?"), ("before", "It is the cache."), ("after", "Is it done?")]
    keys = dict(speaker.sql("SELECT body, event_key FROM feedback.events WHERE kind = 'issue_comment'"))
    assert speaker.say("ack", keys["It is the cache."], "--as", "planner").code == 0
    world.advance(60)
    first = min(row.id for row in repo.comments.of(1))
    repo.edit_comment(first, "Any news at all?")
    repo.comment(1, "noor", "Me too.")
    sync(speaker)
    left = {(who, route): [body for (body,) in speaker.sql(LEFT, who, route)] for who in ("planner", "other") for route in ("before", "after")}  # fmt: skip
    assert left == {
        ("planner", "before"): [], ("planner", "after"): ["Is it done?", "Me too."],
        ("other", "before"): ["Any news at all?", "It is the cache."], ("other", "after"): ["Is it done?", "Me too."],
    }  # fmt: skip
    assert speaker.say("unlink", "1").code == 0
    sync(speaker)
    assert routes(speaker) == []


def test_a_change_is_named_as_everything_is(speaker: Speaker) -> None:
    """What `link` and the lists print can be typed: `lantern/2`, `lantern/lantern/2`; with the forge's sign, too."""
    for name in ("2", "#2", f"{REPO.rpartition('/')[2]}/2", f"{REPO}/2", f"{REPO}#2"):
        assert f"is answered by {REPO}/2" in speaker.say("link", "1", name).out


@pytest.mark.parametrize(
    "words",
    [("link", "1", "99"), ("link", "99", "2"), ("link", "1", "charts#2"), ("link", "1", "x"), ("watch", "pr", "99"),
     ("resume", "pr", "x")],
)  # fmt: skip
def test_what_is_not_there(speaker: Speaker, words: tuple[str, ...]) -> None:
    told = speaker.told(*words)
    assert not told["ok"] and told["error"]["code"] in ("NOT_FOUND", "USAGE")


def test_who_may_command_is_a_flag(speaker: Speaker) -> None:
    """By association where no `authors` are named, else by these; nobody's command is dropped."""
    allowed = "SELECT DISTINCT author, is_author_allowed FROM feedback.commands ORDER BY author"
    assert speaker.sql(allowed) == [("liu", False)]
    speaker.earshot["authors"] = ["Liu"]
    sync(speaker)
    assert speaker.sql(allowed) == [("liu", True)]
    speaker.earshot["command_prefix"] = "/bot"
    sync(speaker)
    assert speaker.sql(allowed) == []


def test_commands_are_listed_for_who_answers_them(speaker: Speaker) -> None:
    """What stands unanswered and may be asked, oldest first; its key is what `reply` takes."""
    assert speaker.told("list", "commands")["meta"]["total"] == 2
    assert speaker.told("list", "commands", "--unanswered")["data"] == []
    speaker.earshot["authors"] = ["liu"]
    sync(speaker)
    left = speaker.told("list", "commands", "--unanswered")["data"]
    assert [row["name"] for row in left] == ["retry", "help"]
    assert speaker.say("reply", left[0]["command_key"], "--body", "Done.").code == 0
    assert [row["name"] for row in speaker.told("list", "commands", "--unanswered")["data"]] == ["help"], "at once"
    sync(speaker)
    assert [row["name"] for row in speaker.told("list", "commands", "--unanswered")["data"]] == ["help"]
    assert "retry" in speaker.say("list", "commands", "--name", "retry").out
    speaker.app.world.advance(60)
    speaker.app.world.names[REPO].close(1)
    sync(speaker)
    assert speaker.told("list", "commands", "--unanswered")["data"] == []


def test_only_what_is_new_is_read_for_commands(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed's fifth: a run looks through the texts of what was touched, not through history; one reply a command."""
    looked, rows = list[str](), slash_commands.rows

    def counted(event_key: str, *more: str) -> Iterator[tuple[object, ...]]:
        looked.append(event_key)
        return rows(event_key, *more)

    monkeypatch.setattr(slash_commands, "rows", counted)
    repo = speaker.app.world.names[REPO]
    speaker.app.world.advance(60)
    repo.comment(2, "noor", "/earshot bench")
    speaker.app.world.advance(60)
    sync(speaker)
    assert len(looked) == 1
    sync(speaker)
    assert len(looked) == 1
    key = speaker.told("list", "commands", "--name", "bench")["data"][0]["command_key"]
    for _ in range(2):
        assert speaker.say("reply", key, "--body", "Running.").code == 0
        sync(speaker)
    assert len([row for row in repo.comments.of(2) if "Running." in row.body]) == 1


def test_an_edited_command_is_a_new_one(speaker: Speaker) -> None:
    repo = speaker.app.world.names[REPO]
    speaker.app.world.advance(60)
    repo.edit_comment(min(row.id for row in repo.comments.of(1)), "/earshot retry job=8")
    sync(speaker)
    found = speaker.sql("SELECT name, options, is_latest FROM feedback.commands ORDER BY is_latest, position")
    assert found == [("retry", '{"job":"7"}', False), ("help", "{}", False), ("retry", '{"job":"8"}', True)]
    ((keys,),) = speaker.sql("SELECT count(DISTINCT command_key) FROM feedback.commands")
    assert keys == 3
