"""An answer is said exactly once: whatever is lost, killed, doubled or forged, the world shows one comment, and we know it.

The world is the judge: it takes what is posted, and can lose its own answer, before or after that took effect.
"""

import asyncio
import contextlib
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from pipelines.demo.github.api.access import Secondary
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Bent, Dropped, Request, Response, html_page
from pipelines.replies import reply_seen
from tests.speaker import TIMEOUT, WRITE_TOKEN, WRITER, Speaker, answers, speaking, spoken_world
from tests.story import NOW, REPO

T = TypeVar("T")
COMMENT = "github:issue_comment"
CLI = ("-m", "pipelines.cli")


def in_processes(test: T) -> T:
    """Said, or heard, by others than this one: killed, or at once."""
    return pytest.mark.ci(pytest.mark.on_disk(test))


def posts(speaker: Speaker) -> int:
    return sum(call.method == "POST" for call in speaker.app.log)


def key_of(speaker: Speaker, body: str) -> str:
    ((key,),) = speaker.sql("SELECT event_key FROM feedback.events WHERE body LIKE ? AND is_latest", f"{body}%")
    return str(key)


def once(fault: Callable[[Request], Response | Bent | None]) -> Callable[[Request], Response | Bent | None]:
    """The first POST suffers it."""
    suffered = list[Request]()

    def maybe(request: Request) -> Response | Bent | None:
        if request.method != "POST" or suffered:
            return None
        suffered.append(request)
        return fault(request)

    return maybe


# In the good case


def test_a_reply_is_one_request(speaker: Speaker) -> None:
    """POST and nothing else; the world shows the words, the marker invisible in them; the outbox knows where."""
    told = speaker.told("reply", "--pr", "2", "--body", "Thank you!", "--token", "thanks-1")
    assert told["ok"] and told["data"]["is_new"] and told["data"]["status"] == "posted"
    assert [(call.method, call.path) for call in speaker.app.log] == [("POST", f"/repos/{REPO}/issues/2/comments")]
    said = speaker.app.world.names[REPO].comments.of(2)[-1]
    assert said.body == "Thank you!\n\n<!-- earshot:thanks-1 -->" and said.author.login == WRITER
    (row,) = speaker.outbox()
    assert (row["remote_id"], row["author"], row["attempts"]) == (str(said.id), WRITER, 1)
    assert told["data"]["url"] == row["url"] and str(said.id) in row["url"]


def test_an_event_is_answered_in_its_thread(speaker: Speaker) -> None:
    """A remark on a diff is answered as a reply to the thread's first; a comment, in its conversation."""
    remark, comment = key_of(speaker, "Why twice?"), key_of(speaker, "Any news?")
    assert speaker.say("reply", remark, "--body", "Once is not enough.").code == 0
    assert speaker.say("reply", comment, "--body", "Soon.").code == 0
    repo = speaker.app.world.names[REPO]
    (first, reply) = repo.review_comments.of(2)
    assert reply.in_reply_to_id == first.id and reply.body.startswith("Once is not enough.")
    assert repo.comments.of(1)[-1].body.startswith("Soon.")
    assert posts(speaker) == len(speaker.app.log) == 2


def test_the_same_answer_is_said_once(speaker: Speaker) -> None:
    """The same words to the same place, or the same token: told of the first answer, without a request."""
    first = speaker.told("reply", "--issue", "1", "--body", "On it.")["data"]
    again = speaker.told("reply", "--issue", "1", "--body", "On it.\n")["data"]
    assert again == {**first, "is_new": False}
    named = speaker.told("reply", "--issue", "1", "--body", "On it.", "--token", "t2")["data"]
    assert named["is_new"] and speaker.told("reply", "--issue", "1", "--body", "On it.", "--token", "t2")["ok"]
    assert len(speaker.app.log) == posts(speaker) == 2 and len(answers(speaker)) == 2
    assert "already said" in speaker.say("reply", "--issue", "1", "--body", "On it.").out


def test_a_token_stands_for_one_answer(speaker: Speaker) -> None:
    """With other words, or elsewhere, it is refused: else one of two answers would be lost without a word."""
    assert speaker.say("reply", "--issue", "1", "--body", "On it.", "--token", "t").code == 0
    for more in (("--issue", "1", "--body", "Done."), ("--pr", "2", "--body", "On it.")):
        told = speaker.told("reply", *more, "--token", "t")
        assert not told["ok"] and told["error"]["code"] == "TOKEN_TAKEN"
    assert answers(speaker) == ["t"]


def test_dry_run_shows_what_would_be_sent(speaker: Speaker) -> None:
    before = speaker.files()
    shown = speaker.say("reply", "--issue", "1", "--body", "On \x1b[31mit.", "--dry-run")
    assert shown.code == 0 and "<!-- earshot:" in shown.out and "\x1b" not in shown.out
    assert speaker.app.log == [] and speaker.files() == before


def test_the_marker_is_never_code(speaker: Speaker) -> None:
    """A body that ends inside a code block carries its marker in front: else nobody would know the words as ours."""
    assert speaker.say("reply", "--issue", "1", "--body", "Try:\n```\nearshot sync", "--token", "fence").code == 0
    assert answers(speaker) == ["fence"]


# When something breaks

LOST = {
    "connection": lambda _: Bent(drops=True),
    "half an answer": lambda _: Bent(keep=0.5),
    "internal error": lambda _: Bent(status=500),
    "gateway": lambda _: Bent(status=502),
    "too late": lambda _: Bent(delay=2 * TIMEOUT),
}


@pytest.mark.parametrize("how", LOST)
def test_the_answer_is_lost_after_the_post(speaker: Speaker, how: str) -> None:
    """It took effect and nothing said so: looking finds it. One POST, one look, one comment."""
    speaker.app.switches.fault = once(LOST[how])
    ended = speaker.say("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert ended.code == 0, ended.said
    assert answers(speaker) == ["t"] and posts(speaker) == 1
    assert len(speaker.app.log) <= 3, "a look takes two requests at most"
    assert speaker.outbox()[0]["status"] == "posted" and speaker.outbox()[0]["author"] == WRITER


def dropped(_: Request) -> Response:
    raise Dropped("before it took effect")


REFUSED = {"connection": dropped, "internal error": lambda _: Response(500), "gateway": lambda _: Response(502),
           "a page": lambda _: html_page(503)}  # fmt: skip


@pytest.mark.parametrize("how", REFUSED)
def test_the_post_had_no_effect(speaker: Speaker, how: str) -> None:
    """Nothing said that it did not: looking shows it, and it is said again."""
    speaker.app.switches.fault = once(REFUSED[how])
    ended = speaker.say("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert ended.code == 0, ended.said
    assert answers(speaker) == ["t"] and posts(speaker) == 2 and speaker.outbox()[0]["attempts"] == 2


def test_a_post_that_takes_effect_late(speaker: Speaker) -> None:
    """The service is still at it when we have given up and look: it is not said again before it can no longer come."""
    speaker.app.switches.latency = 1.6 * TIMEOUT
    only_the_first(speaker)
    ended = speaker.say("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert ended.code == 0, ended.said
    assert "waiting" in ended.err and answers(speaker) == ["t"] and posts(speaker) == 1


def only_the_first(speaker: Speaker) -> None:
    """The request that comes next is as slow as was said, all others are quick."""

    def watch() -> None:
        while speaker.app.in_flight == 0:
            time.sleep(0.01)
        time.sleep(TIMEOUT / 2)  # it has begun to wait, and nobody has looked yet
        speaker.app.switches.latency = 0.0

    threading.Thread(target=watch, daemon=True).start()


STEPS = [  # of one answer, in their order
    ("pipelines.replies.outbox:planned", "before"),
    ("pipelines.replies.outbox:planned", "after"),
    ("sources.core.http.client:Api.send", "before"),
    ("sources.github.reply:written", "before"),
    ("pipelines.replies.delivery:_proof", "before"),
    ("pipelines.replies.outbox:row_of", "before"),
]


@in_processes
@pytest.mark.parametrize(("where", "moment"), STEPS)
def test_killed_at_any_step(speaker: Speaker, where: str, moment: str) -> None:
    """kill -9, then the same command again: one comment, and one more that is only told of it."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.killed_saying(where, *words, moment=moment).code == -signal.SIGKILL
    for _ in range(2):
        ended = speaker.say(*words)
        assert ended.code == 0, ended.said
        assert answers(speaker) == ["t"]
    assert speaker.outbox()[0]["status"] == "posted"


@in_processes
def test_killed_while_the_service_is_at_it(speaker: Speaker) -> None:
    """The process dies, what it sent goes on and takes effect after the next one has looked: still one comment."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    speaker.earshot["timeout_seconds"] = 3 * TIMEOUT
    speaker.app.switches.latency = 4 * TIMEOUT  # long enough for the next one to look before, on a busy machine
    running = speaker.start(*words, program=CLI)
    while speaker.app.in_flight == 0:
        assert running.poll() is None
        time.sleep(0.01)
    speaker.app.switches.latency = 0.0
    running.kill()
    speaker.ended(running)
    ended = speaker.say(*words)
    assert ended.code == 0, ended.said
    assert "waiting" in ended.err and answers(speaker) == ["t"] and posts(speaker) == 1


@in_processes
def test_two_processes_with_one_token(speaker: Speaker) -> None:
    """At once, five of them: one posts, the others are told of it."""
    speaker.app.switches.latency = 0.2
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t", "--json")
    with ThreadPoolExecutor(5) as pool:
        ended = list(pool.map(lambda _: speaker.run(*words, program=CLI), range(5)))
    assert [each.code for each in ended] == [0] * 5, [each.said for each in ended]
    assert answers(speaker) == ["t"] and posts(speaker) == 1
    assert sum('"is_new":true' in each.out for each in ended) == 1


@in_processes
def test_looking_is_bounded_however_long_the_thread(tmp_path: Path) -> None:
    """10,000 comments of before cost nothing: POST, and one look that finds it."""
    world = GitHubWorld(NOW)
    repo = world.add_repo(REPO)
    number = repo.open_issue("liu", "Slow start", "")
    for n in range(10_000):
        repo.comment(number, "liu", f"{n}")
    world.advance(3600)
    with speaking(tmp_path, world=world) as speaker:
        speaker.app.switches.fault = once(LOST["internal error"])
        assert speaker.say("reply", "--issue", str(number), "--body", "On it.", "--token", "t").code == 0
        assert answers(speaker) == ["t"] and len(speaker.app.log) <= 3


@in_processes
def test_a_crowd_between(speaker: Speaker) -> None:
    """More was said since than a page holds: it is not said again, and the next run, which reads all, decides."""
    repo = speaker.app.world.names[REPO]
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.say("reply", "--pr", "2", "--body", "First.", "--token", "t0").code == 0  # so that we are known
    assert speaker.killed_saying("pipelines.replies.delivery:_proof", *words).code == -signal.SIGKILL
    for n in range(250):
        repo.edit_comment(min(repo.comments.rows), f"edited {n}")
        repo.comment(1, "liu", f"{n}")
    ours = next(row for row in repo.comments.rows.values() if "earshot:t " in row.body)
    repo.comments.take(ours.id)
    moved = repo.comment(1, WRITER, ours.body)
    told = speaker.told(*words)
    assert told["error"]["code"] == "UNDECIDED" and "earshot sync" in told["error"]["hint"]
    assert speaker.quick().code == 0
    row = speaker.outbox()[1]
    assert (row["status"], row["remote_id"]) == ("observed", str(moved))
    assert speaker.told(*words)["data"]["is_new"] is False and sorted(answers(speaker)) == ["t", "t0"]


@in_processes
def test_a_crowd_and_no_answer_among_it(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before a byte was sent, and then a crowd: a run that read all, long after, rules it out; then it is said."""
    repo = speaker.app.world.names[REPO]
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.killed_saying("sources.core.http.client:Api.send", *words).code == -signal.SIGKILL
    for n in range(250):
        repo.comment(1, "liu", f"{n}")
    assert speaker.quick().code == 0
    assert speaker.told(*words)["error"]["code"] == "UNDECIDED", "it might still be on its way when that run read"
    monkeypatch.setattr(reply_seen, "LONG", 0)
    assert speaker.quick("-p", REPO).code == 0
    assert speaker.told(*words)["error"]["code"] == "UNDECIDED", "only a run over everything rules it out"
    assert speaker.quick().code == 0
    assert speaker.told(*words)["ok"] and answers(speaker) == ["t"]


@in_processes
@pytest.mark.parametrize("late", [3, 9])
def test_a_run_hears_the_answer_while_its_post_is_open(speaker: Speaker, late: int) -> None:
    """It took effect and the connection hangs, for a while or for good; a run reads it meanwhile. What the run knows
    stands: nothing more is said.
    """
    assert speaker.say("reply", "--pr", "2", "--body", "First.", "--token", "t0").code == 0  # so that we are known
    speaker.earshot["timeout_seconds"] = 5 * TIMEOUT
    speaker.app.switches.fault = once(lambda _: Bent(delay=late * TIMEOUT))
    with ThreadPoolExecutor(1) as pool:
        saying = pool.submit(speaker.run, "reply", "--issue", "1", "--body", "On it.", "--token", "t", program=CLI)
        while answers(speaker).count("t") == 0:
            assert not saying.done(), saying.result().said
            time.sleep(0.05)
        assert speaker.run().code == 0
        assert {row["status"] for row in speaker.outbox()} == {"observed"}
        ended = saying.result()
    assert ended.code == 0, ended.said
    assert sorted(answers(speaker)) == ["t", "t0"]
    assert {row["status"] for row in speaker.outbox()} == {"observed"}


@in_processes
def test_a_run_hears_the_answer_while_it_is_looked_for(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service shows a run what it does not yet show to us: what the run knows stands, also after we have looked."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.say("reply", "--pr", "2", "--body", "First.", "--token", "t0").code == 0  # so that we are known
    assert speaker.killed_saying("pipelines.replies.delivery:_proof", *words).code == -signal.SIGKILL

    async def in_vain(*_: object, **__: object) -> None:
        assert await asyncio.to_thread(speaker.run) and speaker.outbox()[1]["status"] == "observed"

    monkeypatch.setattr("pipelines.replies.delivery._Delivery._said_already", in_vain)
    assert speaker.told(*words)["data"]["status"] == "observed"
    assert sorted(answers(speaker)) == ["t", "t0"]


@in_processes
@pytest.mark.parametrize("years", [0, 2])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_clock_that_is_wrong(heard: Path, tmp_path: Path, years: int, is_known: bool) -> None:
    """The service's clock may differ from ours (the world's is months behind, or a year ahead), as the last run found or
    otherwise: the service says it with every answer, and it is looked again.
    """
    world, _ = spoken_world()
    with speaking(tmp_path, heard, world) as speaker:
        world.advance(years * 365 * 86400)
        words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
        assert speaker.killed_saying("pipelines.replies.delivery:_proof", *words).code == -signal.SIGKILL
        with contextlib.closing(sqlite3.connect(speaker.data / "control.sqlite")) as control, control:
            if not is_known:
                control.execute("DELETE FROM run_state WHERE field = 'clock_ahead'")
            control.execute("UPDATE answers SET attempted_at = '2026-01-01T00:00:00Z'")  # no longer on its way
        assert speaker.say(*words).code == 0
        assert answers(speaker) == ["t"] and posts(speaker) == 1


# What is refused

BODIES = {
    "blank": (" \n ", "words"),
    "too long": ("x" * 65_600, "65,536"),
    "with a marker of ours": ("Done <!-- earshot:t9 -->", "marker"),
}


@pytest.mark.parametrize("what", BODIES)
def test_bodies_that_are_not_sent(speaker: Speaker, what: str) -> None:
    body, why = BODIES[what]
    ended = speaker.say("reply", "--issue", "1", "--body", body)
    assert ended.code == 2 and why in ended.err and speaker.app.log == []


def test_without_a_token_that_may_write_nothing_is_sent(speaker: Speaker) -> None:
    """Reading's token is not enough, also if it could write: answering is off until it is asked for by its own key."""
    told = speaker.told("reply", "--issue", "1", "--body", "On it.", SOURCES__GITHUB__WRITE_TOKEN="")
    assert told["error"]["code"] == "READ_ONLY" and "write_token" in told["error"]["hint"]
    assert speaker.app.log == []


@pytest.mark.parametrize("status", [401, 403, 404, 422])
def test_the_service_refuses(speaker: Speaker, status: int) -> None:
    """Said so, recorded as failed, not tried again by itself; once the cause is gone the same command says it."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    if status == 401:
        del speaker.app.access.tokens[WRITE_TOKEN]
    elif status == 403:
        speaker.app.access.readers.add(WRITE_TOKEN)
    else:
        speaker.app.switches.fault = lambda _: Response(status, {"message": "\x1b[31mNo"})
    ended = speaker.say(*words)
    assert ended.code == 1 and ended.err.startswith("earshot: not sent") and str(status) in ended.err
    assert "\x1b" not in ended.err
    assert [row["status"] for row in speaker.outbox()] == ["failed"] and len(speaker.app.log) == 1
    speaker.app.switches.fault = None
    speaker.app.access.tokens[WRITE_TOKEN] = WRITER
    speaker.app.access.readers.clear()
    assert speaker.say(*words).code == 0 and answers(speaker) == ["t"]
    assert len(speaker.app.log) == 2, "a refusal leaves nothing to look for"


def test_a_limit(speaker: Speaker) -> None:
    """A short one is waited for, a long one ends the command with the time it ends; nothing is said twice."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    speaker.app.access.secondary = Secondary(retry_after=3600)
    ended = speaker.say(*words)
    assert ended.code == 1 and "limit" in ended.err and answers(speaker) == []
    speaker.app.access.secondary = Secondary(retry_after=1)
    assert speaker.say(*words).code == 0 and answers(speaker) == ["t"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--issue", "99"), "NOT_FOUND"),
        (("github:issue_comment:1:2:3",), "NOT_FOUND"),
        (("--issue", "1", "--resolve"), "USAGE"),
        (("--issue", "1", "--token", "no--token"), "USAGE"),
        (("--issue", "1", "--pr", "2"), "USAGE"),
        ((), "USAGE"),
    ],
)
def test_what_cannot_be_answered(speaker: Speaker, words: tuple[str, ...], code: str) -> None:
    told = speaker.told("reply", *words, "--body", "On it.")
    assert not told["ok"] and told["error"]["code"] == code
    assert speaker.app.log == []


def test_what_was_deleted_is_not_answered(speaker: Speaker) -> None:
    repo, key = speaker.app.world.names[REPO], key_of(speaker, "Looks good.")
    repo.delete_comment(int(key.split(":")[3]))
    assert speaker.quick("--sweep").code == 0
    assert speaker.told("reply", key, "--body", "On it.")["error"]["code"] == "GONE"


# What the next run knows of it


def test_the_next_run_hears_our_answer(speaker: Speaker) -> None:
    """Observed; known as our own and never actionable; linked with what it answers, in threads and commands."""
    asked = key_of(speaker, "Any news?")
    assert speaker.say("reply", asked, "--body", "Soon.", "--token", "t").code == 0
    assert speaker.quick().code == 0
    (row,) = speaker.outbox()
    assert row["status"] == "observed" and row["observed_key"].startswith(COMMENT)
    own = "SELECT event_key FROM feedback.events WHERE is_own AND NOT is_actionable"
    assert speaker.sql(own) == [(row["observed_key"],)]
    assert speaker.sql("SELECT answered_by FROM feedback.threads WHERE thread_id LIKE '%:1:conversation'") == [
        (row["observed_key"],)
    ]
    assert speaker.sql("SELECT token, answers_event_key, answer_status, is_own FROM feedback.tokens") == [
        ("t", asked, "observed", True)
    ]
    commands = speaker.sql("SELECT name, status, answered_by FROM feedback.commands ORDER BY position")
    assert commands == [("retry", "answered", row["observed_key"]), ("help", "answered", row["observed_key"])]
    before = len(speaker.app.log)
    assert speaker.say("reply", asked, "--body", "Soon.", "--token", "t").code == 0 and len(speaker.app.log) == before


def test_one_command_of_several_is_answered(speaker: Speaker) -> None:
    (key,) = [row["command_key"] for row in speaker.told("list", "commands", "--name", "help")["data"]]
    assert speaker.say("reply", key, "--body", "Read on.").code == 0
    assert speaker.quick().code == 0
    assert speaker.sql("SELECT name, status FROM feedback.commands ORDER BY position") == [
        ("retry", "seen"), ("help", "answered")
    ]  # fmt: skip


@in_processes
def test_a_lost_answer_is_found_by_the_next_run(speaker: Speaker) -> None:
    """Killed between the POST and its answer, and nobody asks again: the run that reads it settles it."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.say("reply", "--pr", "2", "--body", "First.", "--token", "t0").code == 0  # so that we are known
    assert speaker.killed_saying("pipelines.replies.delivery:_proof", *words).code == -signal.SIGKILL
    assert speaker.outbox()[1]["status"] == "planned"
    assert speaker.quick().code == 0
    assert speaker.outbox()[1]["status"] == "observed"


@in_processes
def test_before_we_are_known_no_run_takes_a_marker_for_ours(speaker: Speaker) -> None:
    """Not even in the right place: whoever guessed the token could keep us silent. `reply` asks whose token it is."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.killed_saying("sources.core.http.client:Api.send", *words).code == -signal.SIGKILL
    for number in (1, 2):
        speaker.app.world.names[REPO].comment(number, "mallory", "<!-- earshot:t -->")
    speaker.app.world.advance(60)
    assert speaker.quick().code == 0
    assert speaker.outbox()[0]["status"] == "planned"
    assert speaker.say(*words).code == 0 and answers(speaker) == ["t"]
    assert speaker.quick().code == 0
    assert speaker.outbox()[0]["status"] == "observed"
    by_mallory = "SELECT is_own, is_actionable FROM feedback.events WHERE author = 'mallory'"
    assert speaker.sql(by_mallory) == [(False, True)] * 2, "who we are became known after it was read"


@in_processes
@pytest.mark.parametrize("is_known", [False, True], ids=["first ever", "token changed hands"])
def test_what_a_run_has_read_is_not_ruled_out(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """The answer to our very first answer is lost, or the first of a new account's: a run reads the words and cannot
    know them as ours. They are there, so it does not say that they are not: they are not said again.
    """
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    if is_known:
        assert speaker.say("reply", "--pr", "2", "--body", "First.", "--token", "t0").code == 0
        speaker.app.access.tokens[WRITE_TOKEN] = "another-bot"
    assert speaker.killed_saying("pipelines.replies.delivery:_proof", *words).code == -signal.SIGKILL
    monkeypatch.setattr(reply_seen, "LONG", 0)
    for _ in range(2):  # the second has nothing new to read
        assert speaker.quick().code == 0
    assert speaker.outbox()[-1]["status"] == "planned"
    assert speaker.say(*words).code == 0
    said = speaker.app.world.names[REPO].comments.of(1)
    assert sum("earshot:t " in row.body for row in said) == 1
    assert speaker.outbox()[-1]["status"] == "posted"


@in_processes
def test_what_no_run_reads_is_not_ruled_out(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a repository in `pulls` a few pull requests are read: a run over everything hears nothing of its issues."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.say("reply", "--pr", "2", "--body", "First.", "--token", "t0").code == 0  # so that we are known
    assert speaker.killed_saying("pipelines.replies.delivery:_proof", *words).code == -signal.SIGKILL
    monkeypatch.setattr(reply_seen, "LONG", 0)
    speaker.github = {f'pulls."{REPO}"': [2]}
    assert speaker.quick().code == 0 and {row["status"] for row in speaker.outbox()} == {"observed", "planned"}
    assert speaker.say(*words).code == 0 and sorted(answers(speaker)) == ["t", "t0"]


def test_an_answer_that_was_deleted_before_it_was_heard(speaker: Speaker) -> None:
    """Nobody will ever hear it: it can be given up, and then said again."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.say(*words).code == 0
    repo = speaker.app.world.names[REPO]
    repo.comments.take(int(speaker.outbox()[0]["remote_id"]))
    assert speaker.say("reply", "--forget", "t", "--dry-run").code == 2 and len(speaker.outbox()) == 1, (
        "nothing ignored"
    )
    assert speaker.say("reply", "--forget", "t").code == 0 and speaker.outbox() == []
    assert speaker.told("reply", "--forget", "t")["error"]["code"] == "NOT_FOUND"
    assert speaker.say(*words).code == 0 and answers(speaker) == ["t"]


@in_processes
def test_an_answer_is_not_given_up_while_it_is_being_said(speaker: Speaker) -> None:
    """Forgotten in the midst of its POST it would be said once more by the next call: refused until that has ended."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    speaker.earshot["timeout_seconds"] = 5 * TIMEOUT
    speaker.app.switches.fault = once(lambda _: Bent(delay=3 * TIMEOUT))
    with ThreadPoolExecutor(1) as pool:
        saying = pool.submit(speaker.run, *words, program=CLI)
        while posts(speaker) == 0:
            time.sleep(0.05)
        assert speaker.told("reply", "--forget", "t")["error"]["code"] == "LOCKED"
        ended = saying.result()
    assert ended.code == 0, ended.said
    assert speaker.say(*words).code == 0 and answers(speaker) == ["t"]


@in_processes
def test_anothers_copy_of_our_marker_is_anothers_words(speaker: Speaker) -> None:
    """A stranger who pastes it is still heard; our answer is not taken for said because of it."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.say("reply", "--pr", "2", "--body", "First.", "--token", "t0").code == 0  # so that we are known
    assert speaker.killed_saying("sources.core.http.client:Api.send", *words).code == -signal.SIGKILL
    repo = speaker.app.world.names[REPO]
    repo.comment(1, "mallory", "Me too <!-- earshot:t -->")
    repo.comment(1, "mallory", "And this <!-- earshot:t0 -->")
    assert speaker.quick().code == 0
    by_mallory = speaker.sql("SELECT is_own, is_actionable FROM feedback.events WHERE author = 'mallory' ORDER BY id")
    assert by_mallory[1] == (False, True)
    repo.comment(2, WRITER, "By hand, and elsewhere: <!-- earshot:t -->")
    assert speaker.quick().code == 0
    assert {row["token"]: row["status"] for row in speaker.outbox()} == {"t0": "observed", "t": "planned"}
    assert speaker.say(*words).code == 0
    assert sorted(answers(speaker)) == ["t", "t", "t0"]  # one of them by hand


@in_processes
def test_status_tells_what_nobody_has_heard(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planned and posted ones beyond a while, and failed ones, by token; in Prometheus' numbers too."""
    words = ("reply", "--issue", "1", "--body", "On it.", "--token", "t")
    assert speaker.killed_saying("sources.core.http.client:Api.send", *words).code == -signal.SIGKILL
    speaker.app.switches.fault = lambda _: Response(422, {"message": "No"})
    assert speaker.say("reply", "--pr", "2", "--body", "No.", "--token", "u").code == 1
    assert "t on" not in speaker.say("status").out
    with sqlite3.connect(speaker.data / "control.sqlite") as connection:
        connection.execute("UPDATE answers SET planned_at = '2026-01-01T00:00:00Z'")
    connection.close()
    shown = " ".join(speaker.say("status", "--check").out.split())
    assert "answer t on lantern/lantern/1 is planned and was not heard" in shown
    assert "answer u on lantern/lantern/2 was not sent" in shown
    metrics = speaker.say("status", "--prometheus").out
    assert 'action_tokens_total{source="github",status="planned"} 1' in metrics
    assert "action_token_unobserved_age_seconds" in metrics and "operator_commands_seen_total 2" in metrics
