"""One reply a command: whatever is edited around it, however often and in whatever words it is answered."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.demo.github.repo import Repo
from pipelines.models import slash_commands
from tests.speaker import Speaker, answers
from tests.story import REPO

CLI = ("-m", "pipelines.cli")
EVENT = "github:issue_comment:1:7:20260101T000000Z-0123456789"


def keys(body: str, event_key: str = EVENT) -> dict[str, str]:
    """Of each command its key, by its line and how often it was there."""
    found: dict[str, str] = {}
    for row in slash_commands.rows(event_key, "github:1:#1", body, "/earshot"):
        one = dict(zip([column.split()[0] for column in slash_commands.COLUMNS.split(", ")], row, strict=True))
        if one["kind"] == "command":
            lines = [name for name in found if name.startswith(f"{one['line']} ")]
            found[f"{one['line']} {len(lines) + 1}"] = str(one["command_key"])
    return found


def sync(speaker: Speaker) -> None:
    speaker.app.world.advance(60)
    assert speaker.quick().code == 0


def edit(speaker: Speaker, body: str) -> Repo:
    repo = speaker.app.world.names[REPO]
    speaker.app.world.advance(60)
    repo.edit_comment(min(row.id for row in repo.comments.of(1)), body)
    sync(speaker)
    return repo


def known(speaker: Speaker) -> dict[str, tuple[str, str]]:
    """Of the commands that stand: name → key, status."""
    rows = speaker.sql("SELECT name, command_key, status FROM feedback.commands WHERE is_latest")
    return {name: (key, status) for name, key, status in rows}


# The rule


def test_edits_around_a_command_leave_its_key() -> None:
    """A typo mended above or below, another command added before it or taken away, spaces in it: it is the same one."""
    (key,) = keys("Pleese\n/earshot retry job=7").values()
    later = EVENT.replace("20260101", "20260102").replace("0123456789", "abcdef0123")
    for body in (
        "Please\n/earshot retry job=7", "/earshot retry job=7\n\nThanks!", "/earshot help\n/earshot retry job=7",
        "/earshot retry   job=7", "> quoted\n\n/earshot retry job=7 <!-- soon -->",
    ):  # fmt: skip
        assert key in keys(body, later).values(), body
    assert key not in keys("/earshot retry job=7", EVENT.replace(":7:", ":8:")).values(), "another comment's"


@pytest.mark.parametrize(
    "body", ["/earshot retry job=8", "/earshot retry", "/earshot help job=7", "/earshot retry job=7 '"]
)
def test_another_command_has_another_key(body: str) -> None:
    (key,) = keys("/earshot retry job=7").values()
    assert key not in keys(body).values()


def test_two_equal_commands_stay_two() -> None:
    """They are told apart by their order; of what is added later only that is new."""
    first, second = keys("/earshot retry\n/earshot retry").values()
    assert first != second
    assert list(keys("/earshot help\n/earshot retry\nand\n/earshot retry\n/earshot retry").values())[1:3] == [
        first,
        second,
    ]
    assert list(keys("/earshot retry").values()) == [first], (
        "which of them went nobody can tell: what is left was asked"
    )


@given(st.lists(st.sampled_from(["/earshot a", "/earshot b x=1", "/earshot a", "words", ""]), max_size=8), st.randoms())
def test_keys_are_unique_and_follow_what_is_asked(lines: list[str], random: object) -> None:
    """In whatever order the lines stand, the same commands have the same keys."""
    shuffled = list(lines)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (keys("\n\n".join(some)) for some in (lines, shuffled))
    assert first == second and len(set(first.values())) == len(first)


# In the warehouse


def test_a_mended_typo_asks_nothing_again(speaker: Speaker) -> None:
    """Answered, and then the words around it were edited: it is answered, and its key takes no second reply."""
    key, _ = known(speaker)["retry"]
    assert speaker.say("reply", key, "--body", "Running.").code == 0
    sync(speaker)
    edit(speaker, "Any news at all?\n\n/earshot retry job=7 fast\n/earshot help")
    assert known(speaker)["retry"] == (key, "answered") and known(speaker)["help"][1] == "seen"
    speaker.earshot["authors"] = ["liu"]
    sync(speaker)
    assert [row["name"] for row in speaker.told("list", "commands", "--unanswered")["data"]] == ["help"]
    data = speaker.told("status")["data"]
    assert (data["commands"], data["commands_answered"]) == (2, 1), "one edited around is counted once"


def test_what_answers_all_of_a_comment_answers_what_stood_in_it(speaker: Speaker) -> None:
    """Not what is added to it later."""
    ((event,),) = speaker.sql("SELECT DISTINCT event_key FROM feedback.commands")
    assert speaker.say("reply", event, "--body", "Both done.").code == 0
    sync(speaker)
    edit(speaker, "Any news?\n\n/earshot bench\n/earshot retry job=7 fast\n/earshot help")
    assert {name: status for name, (_, status) in known(speaker).items()} == {
        "retry": "answered", "help": "answered", "bench": "seen",
    }  # fmt: skip


def test_a_command_is_answered_once_in_whatever_words(speaker: Speaker) -> None:
    key, _ = known(speaker)["retry"]
    assert speaker.say("reply", key, "--body", "Running.").code == 0
    for more in ((), ("--token", "other"), ("--dry-run",)):
        told = speaker.told("reply", key, "--body", "Started.", *more)
        assert told["error"]["code"] == "ANSWERED" and "--again" in told["error"]["hint"]
    assert not speaker.told("reply", key, "--body", "Running.")["data"]["is_new"]
    assert len(answers(speaker)) == 1
    assert speaker.say("reply", known(speaker)["help"][0], "--body", "Started.").code == 0, "another command"
    assert speaker.told("reply", key, "--body", "Started.", "--again")["data"]["is_new"]
    assert not speaker.told("reply", key, "--body", "Started.", "--again")["data"]["is_new"]
    assert len(answers(speaker)) == 3


def test_what_answered_the_whole_comment_answered_its_commands(speaker: Speaker) -> None:
    ((event,),) = speaker.sql("SELECT DISTINCT event_key FROM feedback.commands")
    assert speaker.say("reply", event, "--body", "Both done.").code == 0
    assert speaker.told("reply", known(speaker)["retry"][0], "--body", "Done.")["error"]["code"] == "ANSWERED"
    assert speaker.say("reply", event, "--body", "And thanks!").code == 0, "a conversation goes on"
    assert len(answers(speaker)) == 2


def test_again_is_for_commands(speaker: Speaker) -> None:
    """No option without effect."""
    ended = speaker.say("reply", "--issue", "1", "--body", "Hi.", "--again")
    assert ended.code == 2 and "--again" in ended.said and answers(speaker) == []


def test_what_was_refused_is_no_answer(speaker: Speaker) -> None:
    """The service said no: other words may be tried."""
    key, _ = known(speaker)["retry"]
    speaker.app.access.tokens.pop("may-write-token")
    assert speaker.say("reply", key, "--body", "Running.").code == 1
    speaker.app.access.tokens["may-write-token"] = "earshot-bot"
    assert speaker.say("reply", key, "--body", "Started.").code == 0
    assert len(answers(speaker)) == 1


@pytest.mark.ci
@pytest.mark.on_disk
def test_five_at_once_in_five_wordings(speaker: Speaker) -> None:
    """One of them speaks, the others are told."""
    key, _ = known(speaker)["retry"]
    speaker.app.switches.latency = 0.2
    with ThreadPoolExecutor(5) as pool:
        ended = list(pool.map(lambda n: speaker.run("reply", key, "--body", f"Run {n}.", program=CLI), range(5)))
    assert sorted(each.code for each in ended) == [0, 1, 1, 1, 1], [each.said for each in ended]
    assert len(answers(speaker)) == 1
