"""Commands and markers are read as people see the text: code, quotes and comments say nothing."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.models.slash_commands import BEYOND, LONGEST, TOKEN, Command, commands, marker, tokens
from pipelines.replies.delivery import worded
from pipelines.replies.outbox import Reply

SAID = [
    ("/earshot retry", [Command("/earshot retry", "retry")]),
    ("  /earshot retry  ", [Command("/earshot retry", "retry")]),
    ("/Earshot Retry", [Command("/Earshot Retry", "retry")]),
    ("Hi\r\n/earshot retry\r\nbye", [Command("/earshot retry", "retry")]),
    ("- done\n\n  /earshot retry", [Command("/earshot retry", "retry")]),
    ("> said\n/earshot retry", [Command("/earshot retry", "retry")]),  # ours, though shown with the quote above
    ("/earshot a b=c d", [Command("/earshot a b=c d", "a", ["d"], {"b": "c"})]),
    ("/earshot a 'b c' x='y z'", [Command("/earshot a 'b c' x='y z'", "a", ["b c"], {"x": "y z"})]),
    ("/earshot run C:\\tmp\\x #1", [Command("/earshot run C:\\tmp\\x #1", "run", ["C:\\tmp\\x", "#1"])]),
    ("/earshot say *it* _now_", [Command("/earshot say *it* _now_", "say", ["*it*", "_now_"])]),
    ("Use `<!--`\n/earshot retry", [Command("/earshot retry", "retry")]),
    ("a <!-- b\n/earshot retry", [Command("/earshot retry", "retry")]),
    ("/earshot retry <!-- don't ask --> now", [Command("/earshot retry  now", "retry", ["now"])]),
    ("/earshot a x==1 =y", [Command("/earshot a x==1 =y", "a", ["=y"], {"x": "=1"})]),
]


@pytest.mark.parametrize(("body", "found"), SAID)
def test_commands(body: str, found: list[Command]) -> None:
    assert commands(body, "/earshot") == found


UNSAID = [
    "please /earshot retry", "/earshotx retry", "/ear retry", "> /earshot retry", "> > /earshot retry",
    "```\n/earshot retry\n```", "~~~~\n~~~\n/earshot retry\n~~~~", "```\n/earshot retry", "    /earshot retry",
    "`/earshot retry`", "see `a\n/earshot retry\n` there", "<!--\n/earshot retry\n-->", "see <!-- a\n/earshot retry -->",
    "<pre>\n/earshot retry\n</pre>", "- ```\n  /earshot retry\n  ```", "", "\0", "/",
]  # fmt: skip


@pytest.mark.parametrize("body", UNSAID)
def test_what_is_no_command(body: str) -> None:
    assert commands(body, "/earshot") == []


def test_a_command_ends_with_its_line() -> None:
    """A newline is no space between a command and its arguments: what follows is prose."""
    (found,) = commands("/earshot\nretry everything", "/earshot")
    assert found == Command("/earshot", None, problem="names no command")
    (found,) = commands("/earshot retry\njob=7", "/earshot")
    assert (found.name, found.options) == ("retry", {})


def test_broken_commands_are_kept_with_what_is_wrong() -> None:
    """A row with a problem, never a dropped one."""
    assert commands("/earshot note don't", "/earshot")[0].problem == "a quote is not closed"
    assert commands("/earshot note don't", "/earshot")[0].arguments == ["don't"]
    assert commands("/earshot !!", "/earshot")[0].name is None
    assert len(commands("/earshot a\n" * 100, "/earshot")) == 100


def test_the_prefix_is_a_setting() -> None:
    assert [found.name for found in commands("@bot retry\n/earshot no", "@bot")] == ["retry"]
    assert [found.name for found in commands("/retry now\n/ no", "/")] == ["retry", "no"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("Done.\n\n<!-- earshot:a-1 -->", ["a-1"]),
        ("<!-- earshot:a -->\n\nDone.", ["a"]),
        ("Done <!-- earshot:a --> and <!-- earshot:b:c.d_e -->", ["a", "b:c.d_e"]),
        ("<!-- earshot:a --><!-- earshot:a -->", ["a"]),
        ("> Done\n> <!-- earshot:a -->\n\nNot yet.", []),
        ("```\n<!-- earshot:a -->\n```", []),
        ("`<!-- earshot:a -->`", []),
        ("<!-- earshot: a -->", []),
        ("<!-- earshot:a--b -->", []),
        ("<!-- Earshot:a -->", []),
    ],
)
def test_markers(body: str, found: list[str]) -> None:
    assert tokens(body) == found


@given(st.text(), st.from_regex(TOKEN, fullmatch=True))
def test_what_we_say_is_known_as_ours(body: str, token: str) -> None:
    """Whatever the words, fences and comments left open among them: their marker is found, and no other."""
    if "<!-- earshot:" in body:
        return
    assert tokens(worded(Reply(token, "github", "1", "a/b", "github:1:1", "issue", 1, body))) == [token]


@given(st.text(alphabet="`~<!->/ earshot\n\t x'\""))
def test_any_text_is_read(body: str) -> None:
    for found in commands(body, "/earshot"):
        assert found.line.lower().startswith("/earshot") and "\n" not in found.line
    tokens(body + marker("t"))


@pytest.mark.parametrize(
    "body",
    [
        "/earshot a\n" * 90_000,
        "".join("`" * (n % 1400 + 1) + "a" for n in range(1400)) + "\n/earshot",
        "<!--" * 200_000 + "\n/earshot",
        "a " + "<!--" * 200_000 + "\n/earshot",
        ">" * 500_000 + "\n/earshot",
        "`a` " * 200_000 + "\n/earshot",
        "/earshot a\n" + "> - " * 10 + "a\n" * 450_000,
        "/earshot a\n" + ("> - " * 10 + "a\n") * 22_500,
        "/earshot a\n" + "#\n" * 450_000,
        "/earshot a\n" + "- a\n" * 225_000,
    ],
)
def test_long_and_hostile_texts_are_read_in_moments(body: str) -> None:
    """Markdown of 0.9 MB, nested as somebody pleases, took six to thirteen seconds and 190 MB, in every run."""
    started = time.process_time()
    found = commands(body, "/earshot")
    tokens(body + marker("t"))
    assert found and time.process_time() - started < 3


def test_what_stands_far_beyond_what_others_take_is_not_read_and_says_so() -> None:
    """65,536 characters are read, to the end of a line; a command behind them is a row with what to do."""
    filling = "a line\n" * (LONGEST // 7)
    assert LONGEST - len(filling) < 7
    first = "/earshot retry\n"
    assert commands(first + filling, "/earshot") == [Command("/earshot retry", "retry")]
    assert commands(filling[:-21] + first.rstrip(), "/earshot") == [Command("/earshot retry", "retry")]
    last = commands(f"{first}{filling}/earshotx\n  /Earshot now\n/earshot again", "/earshot")
    assert [(each.line, each.name, each.problem) for each in last] == [
        ("/earshot retry", "retry", None), ("/Earshot now", None, BEYOND),
    ]  # fmt: skip
    assert commands("/earshot " + "x" * LONGEST + "/earshot", "/earshot")[0].name == "x" * (LONGEST - 9)
    assert commands("x" * LONGEST + "/earshot b\n/usr/bin", "/")[0].line == "/usr/bin"
    assert tokens(filling + marker("t")) == []
