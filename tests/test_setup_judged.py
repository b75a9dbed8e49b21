"""What setting up rests on, without HTTP and without files: how TOML is edited, what answers mean, what a run costs."""

import io
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pendulum
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.ask.setup.checks import bluesky, github, gitlab
from pipelines.ask.setup.checks.cost import Cost, Count, counted_by, told_time
from pipelines.ask.setup.checks.findings import note, show, wrong
from pipelines.ask.setup.checks.machine import Place, judge_pins, judge_place, judge_secrets
from pipelines.ask.setup.checks.services import SERVICES, judge_cost, judge_quota, named
from pipelines.ask.setup.config_text import Setting, edited
from pipelines.warehouse.files import _is_locked
from sources.core.config import ConfigError
from sources.core.http.client import Answer, Failure
from sources.core.http.limits import Quota

FILE = Path("config.toml")
NOW = pendulum.datetime(2026, 3, 1, 12)
DATE = {"date": "Sun, 01 Mar 2026 12:00:00 GMT"}


def answer(data: Any, **headers: str) -> Answer:
    named_so = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx.Response(200, headers={**DATE, **named_so})
    link = response.links.get("next", {}).get("url")
    return Answer(200, response.headers, b"", data, httpx.URL("https://api.test/"), link)


def refused(status: int, code: Any = "AUTH_FAILED", said: str = "") -> Failure:
    return Failure(code, f"answered {status}", status=status, said=said)


# The text of the settings


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("", '[sources.github]\nrepos = ["a/b"]\n'),
        ("# mine\n[earshot]\nteam = []  # nobody\n", '# mine\n[earshot]\nteam = []  # nobody\n\n[sources.github]\nrepos = ["a/b"]\n'),
        ("[sources.github]\nrepos = []  # none yet\n", '[sources.github]\nrepos = ["a/b"]  # none yet\n'),
        ('[sources.github]\nrepos = ["A/B"]\n', '[sources.github]\nrepos = ["A/B"]\n'),
        ('[sources.github]\r\nrepos = ["x/y"]\r\n', '[sources.github]\r\nrepos = ["x/y", "a/b"]\r\n'),
        ('[sources]\ngithub.since = "2025"\n', '[sources]\ngithub.since = "2025"\ngithub.repos = ["a/b"]\n'),
        (
            '[sources.github]\nrepos = [\n    "x/y",  # one\n    # another soon\n]\n[runtime]\n',
            '[sources.github]\nrepos = [\n    "x/y",  # one\n    # another soon\n    "a/b"\n]\n[runtime]\n',
        ),
    ],
)  # fmt: skip
def test_a_place_is_added_and_the_rest_stays(text: str, made: str) -> None:
    setting = Setting("github", "repos", ["a/b"])
    assert edited(text, [setting], FILE) == made
    assert edited(made, [setting], FILE) == made


VALUES = st.one_of(st.text(max_size=5), st.integers(-9, 9), st.booleans(), st.lists(st.text(max_size=3), max_size=3))
TABLES = st.dictionaries(st.sampled_from(["since", "repos", "token", "x y"]), VALUES, max_size=3)
SOURCES = st.dictionaries(st.sampled_from(["github", "gitlab"]), TABLES | VALUES, max_size=2)
TREES: Any = st.fixed_dictionaries(
    {}, optional={"a": VALUES, "earshot": TABLES, "sources": SOURCES | VALUES, "z": TABLES}
)


@given(TREES, st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=3, unique=True))
def test_whatever_stood_there_means_the_same(tree: dict[str, Any], places: list[str]) -> None:
    """Or it is refused, and left as it is."""
    import tomlkit

    text = tomlkit.dumps(tree)
    before = tomllib.loads(text)
    try:
        made = tomllib.loads(
            edited(text, [Setting("github", "repos", places), Setting("github", "api_url", "u")], FILE)
        )
    except ConfigError as error:
        assert "by hand" in str(error)
        return
    assert set(places) <= {each.casefold() for each in made["sources"]["github"].pop("repos")}
    assert made["sources"]["github"].pop("api_url") == "u"
    (before.setdefault("sources", {})).setdefault("github", {})
    for key in ("repos", "api_url"):
        before["sources"]["github"].pop(key, None)
    assert made == before


@pytest.mark.parametrize(
    "text", ["[sources", "sources = 1\n", "[sources]\ngithub = 1\n", '[sources.github]\nrepos = "a/b"\n']
)
def test_what_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"by hand|not valid TOML"):
        edited(text, [Setting("github", "repos", ["x/y"])], FILE)


def test_what_an_editor_makes_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it did to the rest: nothing is written that says anything else."""
    monkeypatch.setattr("tomlkit.dumps", lambda document: '[sources.github]\nrepos = ["x/y"]\n')
    with pytest.raises(ConfigError, match="by hand"):
        edited("[earshot]\nteam = []\n", [Setting("github", "repos", ["x/y"])], FILE)


# What people type


@pytest.mark.parametrize(
    ("service", "word", "place", "server"),
    [
        (0, "owner/name", "owner/name", ""),
        (0, "https://github.com/owner/name/pull/3", "owner/name", ""),
        (0, "git@github.com:owner/name.git", "owner/name", ""),
        (0, "https://code.example/owner/name", "owner/name", "https://code.example/api/v3"),
        (1, "https://gitlab.com/a/b/c/-/merge_requests/3", "a/b/c", ""),
        (1, "http://code.example:8080/a/b.git", "a/b", "http://code.example:8080"),
        (1, "1234", "1234", ""),
        (1, "https://me:secret@code.example/a/b", "https://me:secret@code.example/a/b", ""),
        (2, "https://bsky.app/profile/Maya.Example", "maya.example", ""),
    ],
)
def test_links_are_taken_for_what_they_name(service: int, word: str, place: str, server: str) -> None:
    assert named(SERVICES[service], [word, word]) == ([place], server)


# What answers mean


def test_tokens_of_github() -> None:
    """The scopes of a classic one, the end of any, one that is an app's; a server that knows no limits."""
    user = answer({"login": "maya"})
    classic = answer({}, x_oauth_scopes="gist, repo", github_authentication_token_expiration="2026-03-04 12:00:00 UTC")
    good, soon = github.judge_token("t", {"limit": classic, "user": user})
    assert good.message == "the token of maya is good (scopes: gist, repo)"
    assert soon.message == "the token expires in 3 days" and soon.level == "note"
    later = answer({}, github_authentication_token_expiration="2026-05-04 12:00:00 +0200")
    assert [each.level for each in github.judge_token("t", {"limit": later, "user": refused(403)})] == ["well"]
    own = github.judge_token("t", {"limit": refused(404, "NOT_FOUND"), "user": refused(401)})
    assert (own[0].level, own[0].field) == ("wrong", "token")
    assert github.judge_token("", {"limit": answer({})})[0].level == "note"
    assert github.judge_token("", {"limit": Failure("TIMEOUT", "no answer")})[0].field == ""


def test_a_server_of_ones_own_has_its_own_pages() -> None:
    assert (
        SERVICES[0].make("https://api.github.com").endswith(" https://github.com/settings/personal-access-tokens/new")
    )
    assert " https://code.example/settings/" in SERVICES[0].make("https://code.example/api/v3")
    assert " https://code.example/-/user" in SERVICES[1].make("https://code.example/")


def test_repositories_of_github() -> None:
    assert github.judge_repository("a/b", answer({"full_name": "A/B"}), True, None) == []
    assert github.judge_repository("a/b", answer({"full_name": "c/d"}), True, None)[0].level == "note"
    for data in ({"full_name": "a/b\x1b[2J"}, {}, [], None):
        assert github.judge_repository("a/b", answer(data), True, None)[0].level == "wrong"
    gone = refused(404, "NOT_FOUND")
    remedies = [
        github.judge_repository("a/b", gone, *who)[0].remedy
        for who in ((False, None), (True, frozenset({"repo"})), (True, None))
    ]
    assert [
        "needs a token" in remedies[0],
        "the scope repo" in remedies[1],
        "the token's repositories" in remedies[2],
    ] == [True] * 3


def test_tokens_of_gitlab() -> None:
    base = "https://gitlab.com"
    assert gitlab.judge_token(base, None)[0].field == "token"
    narrow = gitlab.judge_token(base, answer({"scopes": ["read_user"], "expires_at": None}))
    assert narrow[0].level == "wrong" and "read_user" in narrow[0].message
    good = gitlab.judge_token(base, answer({"scopes": ["read_api"], "expires_at": "2026-03-05"}))
    assert [(each.level, each.message) for each in good] == [
        ("well", "the token is good (scopes: read_api)"), ("note", "the token expires in 4 days")
    ]  # fmt: skip
    assert gitlab.judge_token(base, answer({"username": "maya"}))[0].message == "the token of maya is good"


def test_what_is_switched_off_in_a_project_is_no_fault() -> None:
    project, config = answer({"issues_access_level": "disabled"}), gitlab.GitlabConfig()
    lists = {"merge_requests": answer([{}], x_total="40"), "issues": refused(403)}
    found, cost = gitlab.judge_lists("a/b", project, lists, config, is_first=True)
    assert [each.level for each in found] == ["well", "note"]
    assert cost.requests == 1 + 1 + 1 + 40 * 6  # discussions, three kinds of events, closed issues, diffs
    assert gitlab.judge_lists("a/b", answer({}), lists, config, is_first=True)[0][0].level == "wrong"


def test_accounts() -> None:
    assert bluesky.judge_missing("a.example", refused(400, "FETCH_ERROR", "AccountDeactivated")).level == "note"
    assert bluesky.judge_missing("a.example", refused(400, "FETCH_ERROR", "InvalidRequest")).field == "place"
    assert (
        bluesky.judge_account("did:plc:x", {"handle": "a.example", "postsCount": 1234}).message
        == "@a.example, 1,234 posts so far"
    )


def test_findings_fit_80_columns() -> None:
    """But for an address, which stands alone on its line, whole."""
    from rich.console import Console

    console = Console(width=80, markup=False, highlight=False, emoji=False, record=True, file=io.StringIO())
    address = f"https://gitlab.com/-/user_settings/{'personal_access_tokens' * 3}"
    show(console, [
        wrong("x" * 90, f"postgresql://x@host/db cannot be read: {'many words ' * 20}", f"make one: {address}"),
        note("a\x1b[31m", "words " * 40, "remedy " * 30),
    ])  # fmt: skip
    lines = console.export_text().splitlines()
    assert [line.strip() for line in lines if len(line) > 80] == [address]
    assert "\x1b" not in "".join(lines)


# What it costs


def test_lists_are_counted_by_their_headers() -> None:
    """Of one row that was asked for: the last page's number, or the total; where nothing tells, as many as can be."""
    next_, last = ('<https://api.test/x?page=2>; rel="next"', '<https://api.test/x?per_page=1&page=300>; rel="last"')
    assert counted_by(answer([{}], link=f"{next_}, {last}"), 30_000) == Count(300)
    assert counted_by(answer([{}], link=f"{next_}, {last.replace('300', '30000')}"), 30_000) == Count(30_000, True)
    assert counted_by(answer([{}], x_total="41"), 10_000) == Count(41)
    assert counted_by(answer([{}], link=next_), 10_000) == Count(10_000, True)
    assert (counted_by(answer([{}]), 9), counted_by(answer([]), 9)) == (Count(1), Count(0))
    assert counted_by(refused(403), 9) is None and counted_by(answer({"message": "?"}), 9) is None


def test_time_goes_by_the_network_the_pace_and_the_rows() -> None:
    assert Cost(400, 60, 10).seconds(0.02) == pytest.approx(3 + 0.02 * (60 + 34))
    assert Cost(4500, 60, 10).seconds(0.02, a_minute=900) == pytest.approx(3 + 240)
    assert Cost(10, 1, 10, rows=300_000).seconds(0.02) == pytest.approx(103, abs=0.1)
    assert [told_time(each) for each in (5, 70, 600, 9000)] == [
        "less than a minute", "about a minute", "about 10 minutes", "about 2 hours"
    ]  # fmt: skip


def test_more_than_is_left_is_told_and_a_short_limit_sets_the_pace() -> None:
    hour, minute = (Quota(60, 50, NOW.add(minutes=each)) for each in (40, 1))
    (told,) = judge_cost(SERVICES[0], Cost(405, 60, 10), 0.02, hour, NOW)
    assert told.level == "note" and "50 are left until 12:40 UTC" in told.message
    (told,) = judge_cost(SERVICES[1], Cost(405, 1, 10), 0.02, minute, NOW)
    assert told.level == "well" and "about 6 minutes" in told.message


def test_little_of_an_hours_quota_is_told() -> None:
    """One that is given back within a minute is no matter."""
    found = [judge_quota(SERVICES[0], Quota(5000, left, NOW.add(minutes=30)), NOW)[0] for left in (4999, 400)]
    assert [each.level for each in found] == ["well", "note"] and "400 of 5,000" in found[1].message
    assert judge_quota(SERVICES[0], Quota(5000, 0, NOW.add(seconds=50)), NOW) == []
    assert github.judge_token("t", {"limit": Failure("RATE_LIMITED", "wait until")})[0].remedy.startswith("wait")


# This machine


def test_the_data_directory_and_its_disk() -> None:
    """What cannot be written to is wrong; what others can look into, or the next run makes, is not."""
    well = Place("/data", True, True, True, True, 10 * 2**30, 2**30)
    assert [each.level for each in judge_place(well)] == ["well", "well"]
    bad = [Place("/data", True, False, True, True, 1, 1), Place("/data", False, True, False, True, 1, 1)]
    assert [judge_place(each)[0].level for each in bad] == ["wrong", "wrong"]
    full = judge_place(Place("/data", True, True, True, False, 2**30, 2**30))
    assert [(each.level, each.about) for each in full] == [("note", "data directory"), ("wrong", "disk")]
    assert judge_secrets(0o100600, FILE) == [] and judge_secrets(0o100640, FILE)[0].remedy.startswith("chmod 600")


def test_versions_are_those_that_were_tried() -> None:
    assert judge_pins({"dlt": "1.31.0"}, {"dlt": "1.31.0"})[0].level == "well"
    assert "duckdb 1.4 (wants 1.5.5)" in judge_pins({"duckdb": "1.5.5"}, {"duckdb": "1.4"})[0].message
    assert judge_pins({"dlt": "1"}, {})[0].level == "wrong"


def test_a_lock_is_known_by_its_device_and_inode(tmp_path: Path) -> None:
    import os

    found = tmp_path.stat()
    where = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    assert _is_locked(found, f"1: FLOCK  ADVISORY  WRITE 4711 {where}:{found.st_ino} 0 EOF\n")
    assert not _is_locked(found, f"1: POSIX  ADVISORY  WRITE 4711 {where}:{found.st_ino} 0 EOF\n")
    assert not _is_locked(found, f"1: FLOCK  ADVISORY  WRITE 4711 {where}:{found.st_ino}1 0 EOF\n")
