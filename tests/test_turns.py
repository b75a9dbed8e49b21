"""Whose turn it is (`feedback.threads.waiting_on`), over rows by hand: the team's only where somebody asks it."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import duckdb
import pytest

from pipelines.models import build
from pipelines.state.mirror import prepare
from tests.test_models import NOW, TABLES, comment, issue, put
from tests.test_reader_models import gitlab, merge_request

Connection = duckdb.DuckDBPyConnection
TEAM = ["Maya", "@noor", "maya.example", "did:plc:team"]
ROLES = {"maya": "OWNER", "noor": "MEMBER", "ines": "COLLABORATOR"}
KEYS = count(1)


@pytest.fixture
def empty() -> Iterator[Connection]:
    with duckdb.connect() as connection:
        prepare(connection, [])
        build.build(connection, TABLES, anew=True)
        yield connection


def turns(connection: Connection, team: list[str] = TEAM) -> dict[int, str | None]:
    prepare(connection, [], team=team)
    build.build(connection, TABLES, anew=True)
    told = "SELECT parent_number, waiting_on FROM feedback.threads WHERE thread_id LIKE '%:conversation' ORDER BY 1"
    return dict(connection.execute(told).fetchall())


def talk(connection: Connection, number: int, *speakers: str, roles: bool = True, **more: Any) -> None:
    """An issue that the first of them opens and the others comment on, in this order."""
    opener, *others = speakers
    issue(connection, number, author=opener, **more)
    put(connection, "openers", id=number, event_key=f"o{number}", version="v", kind="issue",
        parent_key=f"github:7:{number}", scope="7", number=number, title="T", body="B", author=opener,
        author_association=ROLES.get(opener, "NONE") if roles else None, created_at=NOW, updated_at=NOW, seen_at=NOW)  # fmt: skip
    for hours, speaker in enumerate(others, 1):
        comment(connection, next(KEYS), number, f"said {hours}", author=speaker, created_at=NOW.add(hours=hours),
                author_association=ROLES.get(speaker, "NONE") if roles else None)  # fmt: skip


# who speaks in turn, and whose turn it is then; odile and pete are strangers
TALKS = [
    (("odile",), "team"),
    (("odile", "maya"), "odile"),
    (("odile", "maya", "odile"), "team"),
    (("odile", "pete"), "team"),
    (("odile", "maya", "pete"), "team"),
    (("maya",), None),
    (("maya", "noor"), "maya"),
    (("maya", "noor", "maya"), None),
    (("maya", "odile"), "team"),
    (("maya", "odile", "maya"), None),
    (("odile", "ci[bot]"), "team"),
    (("ci[bot]",), None),
    (("ci[bot]", "maya"), None),
    (("ci[bot]", "odile"), "team"),
]


@pytest.mark.parametrize("team", [TEAM, []], ids=["configured", "as GitHub tells"])
def test_it_is_the_teams_where_a_stranger_spoke_last(empty: Connection, team: list[str]) -> None:
    """By `team`, in any letters; without it by the association of who speaks, which says the same here."""
    for number, (speakers, _) in enumerate(TALKS, 1):
        talk(empty, number, *speakers)
    assert turns(empty, team) == {number: turn for number, (_, turn) in enumerate(TALKS, 1)}


def test_what_is_configured_counts_whatever_the_forge_says(empty: Connection) -> None:
    """A member who is not of the team is a stranger; who is of it is so without an association."""
    talk(empty, 1, "odile", "ines")
    talk(empty, 2, "odile", "noor", roles=False)
    assert turns(empty) == {1: "team", 2: "odile"}
    assert turns(empty, []) == {1: "odile", 2: "odile"}


def test_what_is_closed_or_gone_asks_nobody(empty: Connection) -> None:
    """Nor does who is not there any more."""
    talk(empty, 1, "odile", state="closed")
    talk(empty, 2, "odile")
    put(empty, "deletions", kind="issue", id=2, scope="7", parent_key="github:7:2", is_deleted=True, noticed_at=NOW)
    talk(empty, 3, "odile", "maya")
    comment(empty, next(KEYS), 3, "from a ghost", author="ghost", created_at=NOW.add(days=1))
    talk(empty, 4, "ghost", "maya")
    assert turns(empty) == {1: None, 3: "odile", 4: None}


def test_where_nobody_tells_who_is_of_the_team_the_asker_is_told_from_the_rest(empty: Connection) -> None:
    """GitLab tells no association: who opened it and spoke last waits for the team, and is waited for otherwise."""
    for number, author in ((1, "pete"), (2, "kofi")):
        merge_request(empty, number)
        base = {"version": "v", "scope": "9", "project": "g/p", "number": number, "parent_kind": "merge_request",
                "parent_key": f"gitlab:9:!{number}", "created_at": NOW, "updated_at": NOW, "seen_at": NOW}  # fmt: skip
        gitlab(empty, "openers", event_key=f"go{number}", id=number, title="T", body="B", author="pete", **base)
        gitlab(empty, "threads", parent_key=base["parent_key"])
        note = {
            "id": number,
            "version": "v",
            "parent_key": base["parent_key"],
            "discussion_id": "d",
            "is_system": False,
        }
        gitlab(empty, "threads__discussions__notes", **note)
        gitlab(empty, "note_versions", event_key=f"gn{number}", id=number, discussion_id="d", is_individual=True, body="B",
               is_system=False, is_internal=False, is_diff_note=False, author=author, **{**base, "created_at": NOW.add(hours=1)})  # fmt: skip
    assert turns(empty, []) == {1: "team", 2: "pete"}
    assert turns(empty, ["kofi"]) == {1: "team", 2: "pete"}
    assert turns(empty, ["noor"]) == {1: "team", 2: "team"}


def test_a_verdict_without_words_of_a_stranger_asks_nobody(empty: Connection) -> None:
    """Of the team it is an answer."""
    for number, author in ((1, "pete"), (2, "maya")):
        talk(empty, number, "odile", "maya", is_pull_request=True)
        put(empty, "reviews", id=number, version="v", event_key=f"r{number}", scope="7", number=number, body="",
            parent_key=f"github:7:{number}", state="APPROVED", author=author, author_association=ROLES.get(author, "NONE"),
            created_at=NOW.add(days=1), updated_at=NOW, seen_at=NOW)  # fmt: skip
    assert turns(empty) == {1: "odile", 2: "odile"}


def post(connection: Connection, thread: str, key: str, author: str, hours: int) -> None:
    did = "did:plc:team" if author == "maya.example" else f"did:plc:{author}"
    row = {
        "event_key": key, "scope": did, "did": did, "uri": f"at://{did}/app.bsky.feed.post/{key}", "cid": "c",
        "kind": "post" if hours == 0 else "reply", "parent_key": f"bluesky:{thread}", "handle": author, "text": "words",
        "author_did": did, "post_uri": f"at://{did}/app.bsky.feed.post/{key}", "said_at": NOW.add(hours=hours),
        "indexed_at": NOW, "seen_at": NOW, "_dlt_load_id": "1",
    }  # fmt: skip
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO bluesky.posts ({', '.join(row)}) VALUES ({marks})", list(row.values()))


THREADS_OF_POSTS = [
    (("maya.example",), None),
    (("ruth",), None),
    (("ruth", "odile"), None),
    (("maya.example", "odile"), "team"),
    (("ruth", "maya.example"), "ruth"),
    (("ruth", "maya.example", "odile"), "team"),
    (("maya.example", "odile", "maya.example"), None),
]


@pytest.mark.parametrize("team", [TEAM, ["did:plc:team"]], ids=["by handle", "by DID"])
def test_of_posts_it_is_the_teams_where_it_is_spoken_to(empty: Connection, team: list[str]) -> None:
    """A lone post asks nobody, strangers among themselves do not; an answer to the team does."""
    told = {}
    for talk, (speakers, turn) in enumerate(THREADS_OF_POSTS):
        thread = f"at://did:plc:{'team' if speakers[0] == 'maya.example' else speakers[0]}/app.bsky.feed.post/p{talk}0"
        told[f"bluesky:{thread}"] = turn
        for hours, author in enumerate(speakers):
            post(empty, thread, f"p{talk}{hours}", author, hours)
    prepare(empty, [], team=team)
    build.build(empty, TABLES, anew=True)
    assert dict(empty.execute("SELECT parent_key, waiting_on FROM feedback.threads").fetchall()) == told
