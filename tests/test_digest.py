"""`earshot digest`: what is new, whose turn it is, what waits longest, what was settled; and nothing in it acts."""

import re
from datetime import datetime
from typing import Any

import duckdb
import pendulum
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from pipelines.ask.format.digest import EMPTY, LONGEST, markdown, plain, text
from pipelines.ask.query import times
from pipelines.ask.query.digest import Digest, Section
from pipelines.sync.output.summary import safe
from tests.asked import NOW, Reader, at_its_time

SINCE = NOW.subtract(days=1)
NASTY = [
    "@maya",
    "@everyone",
    "<!channel>",
    "<@U024BE7LH>",
    "<@&1234>",
    "[click](https://evil.example)",
    "![x](https://evil.example/p.png)",
    "<img src=x onerror=alert(1)>",
    "https://evil.example/a",
    "www.evil.example",
    "`code`",
    "```",
    "**bold**",
    "__b__",
    "~~s~~",
    "# head",
    "> quote",
    "- [ ] task",
    "| a | b |",
    "\n\n",
    "\n# head\n",
    "&lt;",
    "&commat;maya",
    "\\",
    "\x1b[31m",
    "\u202e",
    "#12",
    "lantern/lantern#12",
    "$x$",
    "<https://evil.example>",
    "1. one",
    "***",
    "検索",
    "]",
    ")",
    "[x]: https://evil.example",
    "word",
]


def thread(words: str = "Any news?", **more: Any) -> dict[str, Any]:
    return {
        "reference": "64b9a3c",
        "place": "charts/2",
        "thread_id": "k",
        "url": "https://gitlab.example/charts/2",
        "last_author": "haruki",
        "last_words": words,
        "last_at": SINCE,
        "waiting_on": "team",
        "new": 2,
        "how": "merged",
        "total": 1,
        **more,
    }


def digest(new: list[Any] = [], waiting: list[Any] = [], settled: list[Any] = [], **more: Any) -> Digest:  # noqa: B006
    counts = [{"source": "gitlab", "new": 3, "edited": 1, "people": ["haruki", "odile"]}] if new else []
    turns = [{"who": "team", "threads": 2}, {"who": "odile", "threads": 1}] if waiting else []
    parts = (Section(rows, more.pop("total", len(rows))) for rows in (new, waiting, settled))
    made = Digest(SINCE, NOW, counts, next(parts), turns, next(parts), next(parts))
    return Digest(**{**vars(made), **more})


@pytest.fixture(autouse=True)
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    at_its_time(monkeypatch, NOW)
    monkeypatch.setattr(times, "local_timezone", lambda: pendulum.UTC)


def links(said: str) -> list[str]:
    """The addresses of whatever can be clicked or loaded; there is no HTML, and nothing else that somebody wrote."""
    found = []
    for token in MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(said):
        assert token.type not in ("html_block", "heading_open", "blockquote_open", "fence", "code_block", "table_open")
        for inline in token.children or ():
            assert inline.type not in ("html_inline", "image", "s_open", "em_open"), (inline, said)
            assert inline.type != "code_inline" or inline.content == "earshot status", (inline, said)
            found += [str(inline.attrs["href"])] if inline.type == "link_open" else []
    return found


def shown(said: str) -> str:
    """What somebody reads of it."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(said)
    return "\n".join("".join(each.content for each in token.children or ()) for token in tokens if token.children)


def test_a_digest_as_text() -> None:
    found = digest(
        [thread(), thread("Twice?", place="64b9a3c")], [thread()], [thread(reference="console/1", place="console/1")]
    )
    assert text(found).splitlines() == [
        "2026-10-31 12:00 to 2026-11-01 12:00: 3 new, 1 edited, by 2 people (gitlab 4)",
        "",
        "New, in 2 threads",
        "  64b9a3c  charts/2  2 new, haruki, 1d, team's turn",
        "    Any news?",
        "  64b9a3c  2 new, haruki, 1d, team's turn",
        "    Twice?",
        "",
        "Waiting longest, of 1 thread",
        "  64b9a3c  charts/2  haruki, 1d, team's turn",
        "    Any news?",
        "  whose turn: team 2, odile 1",
        "",
        "Settled, 1",
        "  console/1  merged, haruki, 1d",
        "    Any news?",
    ]


def test_a_digest_as_markdown() -> None:
    assert markdown(digest([thread()], troubles=2)).splitlines() == [
        "**2026-10-31 12:00 to 2026-11-01 12:00: 3 new, 1 edited, by 2 people (gitlab 4)**",
        "",
        "**New, in 1 thread**",
        "",
        "- [charts/2](https://gitlab.example/charts/2) 2 new, haruki, 1d, team's turn: Any news?",
        "",
        "Not all may be here: 2 things to look at, `earshot status` names them",
    ]


def test_nothing_says_so() -> None:
    for write in (text, markdown):
        assert "nothing new was said" in write(digest()) and "New" not in write(digest())


@given(st.lists(st.sampled_from(NASTY) | st.text(max_size=5), max_size=8).map(" ".join))
def test_others_words_are_only_words(words: str) -> None:
    """No link, picture, code, HTML or list of theirs; nobody is called; and what one reads is what was written."""
    row = thread(words, place=words[:20] or "x", last_author=words[:15], waiting_on=words[:15])
    said = markdown(digest([row], [row], [row]))
    assert set(links(said)) <= {"https://gitlab.example/charts/2"}
    assert not re.search(r"@\w|<|://(?!gitlab\.example/charts/2\))|www\.", said, re.IGNORECASE)
    assert not {"\x1b", "\u202e"} & {*said}
    read = shown(f"by: {plain(words)}").removeprefix("by:").strip()
    assert read.replace(EMPTY, "") == safe(" ".join(words.split())) or len(words) > 100


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("javascript:alert(1)", []),
        ("https://x.example/a)b](https://evil.example", ["https://x.example/a%29b%5D%28https://evil.example"]),
        ("https://x.example/<@U1> \n- a", ["https://x.example/%3C%40U1%3E%20%0A-%20a"]),
        (None, []),
        ("https://x.example/" + "a" * 400, []),
    ],
)
def test_an_address_is_one_or_none(url: str | None, expected: list[str]) -> None:
    assert links(markdown(digest([thread(url=url)]))) == expected


@pytest.mark.ci
@pytest.mark.parametrize("write", [text, markdown])
def test_however_much_there_is_it_is_one_message(write: Any) -> None:
    rows = [thread("検索 " * 500, place="検" * 90, last_author="w" * 300, waiting_on="@" * 300)] * 50
    who = [{"who": "w" * 40, "threads": 1}] * 200
    said = write(digest(rows, rows, rows, turns=who, total=12_345))
    assert len(said) <= LONGEST and said.count("more") == 3 and "12,3" in said and "192 others" in said


def test_text_is_eighty_columns_wide() -> None:
    """Also where signs are two columns wide."""
    rows = [thread("検索 " * 50, place="検" * 50, last_author="w" * 90)] * 3
    assert (
        max(
            map(
                cell_len,
                text(digest(rows, rows, rows, turns=[{"who": f"名 {n}", "threads": n} for n in range(9)])).splitlines(),
            )
        )
        <= 80
    )


def people(author: str, app: str | None = None) -> bool:
    return not author.endswith("[bot]") and app is None


def test_the_demo_worlds_week(demo: Reader, worlds: dict[str, Any]) -> None:
    """As many words, threads that were settled and turns as the world itself knows of."""
    since = pendulum.datetime(2026, 10, 25)
    told, truth = demo.data("digest", "--since", "2026-10-25", "--source", "github"), worlds["github"].truth()
    comments = [*truth.issue_comments.values(), *truth.review_comments.values()]
    said = [row["author"] for row in comments if row["updated_at"] >= since and people(row["author"], row.get("app"))]
    reviews = [
        row for row in truth.reviews.values() if row["submitted_at"] and (row["body"] or row["state"] != "COMMENTED")
    ]
    said += [row["author"] for row in reviews if row["submitted_at"] >= since and people(row["author"])]
    openers = [*truth.issues.values(), *truth.pull_requests.values()]
    said += [row["author"] for row in openers if row["created_at"] >= since and people(row["author"])]
    (counts,) = told["counts"]
    assert len(said) > 10 and counts["new"] + counts["edited"] == len(said) and set(counts["people"]) == set(said)
    done = [row for row in openers if row["closed_at"] and row["closed_at"] >= since]
    assert told["settled"]["total"] == len(done) > 0
    waiting = demo.data("list", "threads", "--source", "github", "--waiting-on", "anyone", "--oldest", "--limit", "5")
    assert [row["reference"] for row in told["waiting"]["rows"]] == [row["reference"] for row in waiting]
    assert sum(row["threads"] for row in told["turns"]) == told["waiting"]["total"]


def test_reposts_are_no_words(demo: Reader) -> None:
    """Nor are machines and services; all else that was said on Bluesky this week is counted."""
    events = demo.data("list", "events", "--source", "bluesky", "--since", "2026-10-25", "--limit", "1000")
    said = [row for row in events if row["kind"] != "repost" and row["is_latest"] and not row["is_bot"]]
    (counts,) = demo.data("digest", "--since", "2026-10-25", "--source", "bluesky")["counts"]
    assert counts["new"] + counts["edited"] == len(said) < len(events)


def test_what_was_resolved(demo: Reader, worlds: dict[str, Any]) -> None:
    """Discussions of which all is resolved, and what was closed or merged, since then."""
    since, truth = pendulum.datetime(2026, 9, 1), worlds["gitlab"].truth(reader="earshot")
    last: dict[tuple[int, str], list[datetime | None]] = {}
    for note in truth.notes.values():
        if note["is_resolvable"]:
            last.setdefault((note["project_id"], note["discussion_id"]), []).append(note["resolved_at"])
    resolved = [1 for at in last.values() if all(at) and max(each for each in at if each) >= since]
    told = demo.data("digest", "--since", "2026-09-01", "--source", "gitlab", "--limit", "50")["settled"]
    assert sum(row["how"] == "resolved" for row in told["rows"]) == len(resolved) > 1
    ended = [
        row["closed_at"] or row.get("merged_at")
        for row in (*truth.issues.values(), *truth.merge_requests.values())
        if row["state"] in ("closed", "merged")
    ]
    assert (
        sum(row["how"] != "resolved" for row in told["rows"]) == sum(at is not None and at >= since for at in ended) > 0
    )


def test_what_was_seen_to_be_resolved(own: Reader) -> None:
    """GitHub tells not when: when a run saw it, unless that was the one with which we came."""
    ask = ("digest", "--since", "2026-11-01", "--source", "github", "--limit", "50")
    before = own.data(*ask)["settled"]["total"]
    with duckdb.connect(str(own.home.published)) as connection:
        (key,) = connection.execute(
            "SELECT min(thread_id) FROM feedback.threads WHERE source = 'github' AND is_resolved IS NOT TRUE"
        ).fetchone()
        seen = "UPDATE feedback.threads SET is_resolved = true, resolved_by = 'odile', seen_resolved_at = ? WHERE thread_id = ?"
        connection.execute(seen, [NOW.add(minutes=30), key])
    assert own.data(*ask)["settled"]["total"] == before
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute(seen, [NOW.add(hours=20), key])
    found = own.data(*ask)["settled"]["rows"]
    assert [(row["thread_id"], row["last_author"]) for row in found if row["how"] == "resolved"] == [(key, "odile")]


def test_late_words_are_told_once_and_history_never(own: Reader) -> None:
    """Said last week and read today: new today, if we were listening; what was there when we came is history."""
    since = ("digest", "--since", "2026-11-01T12:30:00+00:00", "--source", "bluesky")
    assert own.data(*since)["counts"] == []
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute(
            "UPDATE feedback.events SET seen_at = '2026-11-01 13:00:00+00', updated_at = '2026-11-01 12:10:00+00' WHERE event_key ="
            " (SELECT min(event_key) FROM feedback.events WHERE kind = 'reply' AND NOT is_own AND NOT is_bot)"
        )
        connection.execute(
            "UPDATE feedback.events SET seen_at = '2026-11-01 13:00:00+00', updated_at = '2026-10-01 12:10:00+00' WHERE"
            " event_key = (SELECT max(event_key) FROM feedback.events WHERE kind = 'reply' AND scope <> (SELECT min(scope) FROM"
            " feedback.events))"
        )
    assert [row["new"] + row["edited"] for row in own.data(*since)["counts"]] == [1]


def test_people_and_programs_are_told_alike(demo: Reader) -> None:
    """80 columns whatever the terminal, JSON by either name; a name nobody has is refused, and quiet is said."""
    shown = demo.ask("digest", "--since", "1w", "-p", "console", width=200)
    assert shown.code == 0 and max(map(cell_len, shown.out.splitlines())) <= 80 and "Waiting longest" in shown.out
    by_format, by_flag = demo.ask("digest", "--since", "1w", "--format", "json"), demo.json("digest", "--since", "1w")
    assert '"ok":true' in by_format.out and by_flag["meta"]["is_quiet"] is False
    assert links(demo.ask("digest", "--since", "1w", "--format", "markdown").out)
    assert (
        demo.ask("digest", "-p", "consol").code == 2
        and "did you mean console?" in demo.ask("digest", "-p", "consol").err
    )
    quiet = demo.ask("digest", "--since", "1m", "--source", "github")
    assert quiet.code == 0 and "nothing new was said" in quiet.out
