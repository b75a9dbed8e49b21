"""The exact requests to GitLab, one cassette a surface: no server, no world, no network. See tests/cassettes/README.md."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pendulum
import pytest
import yaml

from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.state import ExternalIssue, FileDiff, Position, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from sources.core.config import Secret
from sources.core.reading import Batch
from sources.core.reply import Address
from sources.core.scope import Scope, look_up
from sources.core.targets import Fetched, Target
from sources.gitlab.lists import GitlabConfig, listed
from sources.gitlab.source import PROJECT as PROJECTS
from sources.gitlab.source import Gitlab
from sources.gitlab.threads import due_of, reviewers
from tests.gitlab_entities import wrong
from tests.recorded import RECORDING, Conversation, asked_at, configured, converse

LIVE = "https://gitlab.com"
PROJECT = os.environ.get("EARSHOT_RECORD_PROJECT", "lantern/console")
MR, ISSUE = (int(os.environ.get(f"EARSHOT_RECORD_{kind}", "1")) for kind in ("MR", "ISSUE"))
TOKEN = Secret(os.environ.get("SOURCES__GITLAB__TOKEN", "demo-token"))
NOW = pendulum.datetime(2026, 3, 1, 12)
PAGE = {"per_page": "100", "page": "1"}
LIST = {"scope": "all", "state": "all", "order_by": "updated_at", "sort": "asc", **PAGE}


def world() -> GitLabWorld:
    """Small, and with a bit of all that is read."""
    made = GitLabWorld(NOW)
    project = made.add_project("lantern/console")
    project.team.add("earshot")
    project.tracker["LAMP-12"] = ExternalIssue("LAMP-12", "Too bright at night")
    issue = project.open_issue(
        "pete-q", "Is there a dark mode?", "For my bedroom.", ["ui"], ["maya", "noor"], type="incident"
    )
    diff = "@@ -1,2 +1,3 @@\n a\n+b\n+c\n"
    files = [FileDiff("theme.css", "theme.css", diff), FileDiff("a.png", "a.png", "Binary files differ\n")]
    mr = project.open_merge_request(
        "benji", "Dark mode", "Closes #1 and LAMP-12", reviewers=["maya"], assignees=["benji"], labels=["ui"], diffs=files,
        squash=True,
    )  # fmt: skip
    made.advance(seconds=60)
    for parent in (issue, mr):
        project.set_milestone(parent, "maya", "1.0")
        made.advance(seconds=90)
        project.reply(project.start_thread(parent, "maya", "At night only?"), "noor", "By the clock.")
        project.comment(parent, "pete-q", "Thank you.")
    made.advance(seconds=90)
    first = project.start_thread(
        mr, "maya", "Both?", Position("theme.css", "theme.css", mr.refs, Spot(2, 3, "new"), Spot(2, 2, "new"))
    )
    project.resolve(first, "benji")
    project.start_thread(mr, "noor", "Too dark here.", Position("a.png", "a.png", mr.refs, image=(640, 480, 12, 30.5)))
    project.label(issue, "summer-intern", add=["night"])
    made.delete_user("summer-intern")
    project.delete_label("night")
    project.close(issue, "maya")
    project.reopen(issue, "maya")
    made.advance(seconds=600)
    return made


@pytest.fixture
def url() -> Iterator[str]:
    with asked_at(LIVE, lambda: GitLabApp(world(), public_url=LIVE)) as where:
        yield where


@pytest.fixture
def vcr_config(url: str) -> dict[str, Any]:
    return configured(url, LIVE)


class Talk:
    """The source as a run uses it, at one project."""

    def __init__(self, held: Conversation, source: Gitlab, place: Scope) -> None:
        self.held, self.source, self.place = held, source, place

    async def keep(self, batches: AsyncIterator[Batch]) -> None:
        self.held.batches += [batch async for batch in batches]

    async def one(self, kind: str) -> Fetched:
        fetched = await self.source.fetch(self.place, Target(kind, MR if kind == "mr" else ISSUE))
        self.held.batches.append(fetched.batch)
        return fetched

    async def hanging(self, kind: str, name: str) -> None:
        await self.keep((await self.one(kind)).dependents[name]({}))

    async def reviewers(self) -> None:
        [row] = (await self.one("mr")).batch.rows["merge_requests"]
        config = replace(self.source.config, verify_reviewers=True)
        due = due_of(self.place, {**row, "kind": "merge_request"}, config)
        self.held.batches.append(await reviewers(due))

    async def said(self, kind: str) -> None:
        number = MR if kind == "merge_request" else ISSUE
        address, since = Address(self.place.scope, PROJECT, kind, number), pendulum.datetime(2000, 1, 1)
        look = await self.source.answers.look(self.held.api, address, since)
        assert RECORDING or (look.said and all(each.author for each in look.said))

    async def who(self) -> None:
        assert await self.source.answers.who(self.held.api)


def of(what: str) -> Callable[[Talk], Awaitable[None]]:
    return lambda talk: talk.keep(listed(talk.place, what, talk.source.config))


def hanging(kind: str, name: str) -> Callable[[Talk], Awaitable[None]]:
    return lambda talk: talk.hanging(kind, name)


async def nothing(talk: Talk) -> None:
    """The project alone."""


OPENED, ASKED = f"/merge_requests/{MR}", f"/issues/{ISSUE}"
EVENTS = [f"/resource_{name}_events" for name in ("state", "label", "milestone")]
Requests = list[tuple[str, dict[str, str]]]
# surface: how it is read, the requests after that for the project, tables that get rows
SURFACES: dict[str, tuple[Callable[[Talk], Awaitable[None]], Requests, set[str]]] = {
    "project": (nothing, [], {"projects"}),
    "merge requests": (of("merge_requests"), [("/merge_requests", LIST)], {"merge_requests", "openers"}),
    "issues": (of("issues"), [("/issues", LIST)], {"issues", "openers"}),
    "one merge request": (lambda talk: _done(talk.one("mr")), [(OPENED, {})], {"merge_requests", "openers"}),
    "one issue": (lambda talk: _done(talk.one("issue")), [(ASKED, {})], {"issues", "openers"}),
    "discussions of a merge request": (
        hanging("mr", "threads"), [(OPENED, {}), (f"{OPENED}/discussions", PAGE)], {"threads", "note_versions"},
    ),
    "discussions of an issue": (
        hanging("issue", "threads"), [(ASKED, {}), (f"{ASKED}/discussions", PAGE)], {"threads", "note_versions"},
    ),
    "events of a merge request": (
        hanging("mr", "events"), [(OPENED, {}), *((f"{OPENED}{e}", PAGE) for e in EVENTS)], {"resource_events"},
    ),
    "events of an issue": (
        hanging("issue", "events"), [(ASKED, {}), *((f"{ASKED}{e}", PAGE) for e in EVENTS)], {"resource_events"},
    ),
    "closed issues": (hanging("mr", "closes"), [(OPENED, {}), (f"{OPENED}/closes_issues", PAGE)], {"closes_issues"}),
    "diffs": (hanging("mr", "diffs"), [(OPENED, {}), (f"{OPENED}/diffs", PAGE)], {"diffs"}),
    "reviewers": (lambda talk: talk.reviewers(), [(OPENED, {}), (f"{OPENED}/reviewers", PAGE), (OPENED, {})], set()),
    "notes of a merge request": (
        lambda talk: talk.said("merge_request"),
        [(f"{OPENED}/notes", {"order_by": "created_at", "sort": "desc", **PAGE})], set(),
    ),
    "notes of an issue": (
        lambda talk: talk.said("issue"),
        [(f"{ASKED}/notes", {"order_by": "created_at", "sort": "desc", **PAGE})], set(),
    ),
    "user": (lambda talk: talk.who(), [("/api/v4/user", {})], set()),
}  # fmt: skip


async def _done(reading: Awaitable[Fetched]) -> None:
    await reading


def read(
    url: str, talk: Callable[[Talk], Awaitable[None]], saved: dict[str, dict[str, object]] | None = None
) -> Conversation:
    source = Gitlab(GitlabConfig(api_url=url, token=TOKEN, write_token=TOKEN, projects=[PROJECT]))

    async def whole(held: Conversation) -> None:
        place, news = await look_up(held.reading, PROJECTS, PROJECT, PROJECT)
        held.batches += [news] if news else []
        await talk(Talk(held, source, place))

    return converse(url, source.headers, whole, saved)


@pytest.mark.vcr
@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_is_asked_for_so(url: str, vcr: Any, surface: str) -> None:
    """Path, parameters and headers, to the letter, and rows of all that is answered; nothing is in quarantine."""
    talk, requests, tables = SURFACES[surface]
    held = read(url, talk)
    [project] = held.rows("projects")
    root = f"/api/v4/projects/{project['id']}"
    asked = [(path if path.startswith("/api") else root + path, params) for path, params in requests]
    first = [(f"/api/v4/projects/{PROJECT.replace('/', '%2F')}", {}), *asked]
    said = [(path, params) for _, path, params in held.asked()]
    if not RECORDING:  # a busy project's lists go on, page after page
        assert said[: len(first)] == first
        assert all((path, "updated_after" in params) == (first[-1][0], True) for path, params in said[len(first) :])
    assert {method for method, _, _ in held.asked()} == {"GET"}
    headers = {name: value for name, value in held.sent[-1].headers.items() if name in ("accept", "if-none-match")}
    assert headers == {"accept": "application/json"} and held.sent[-1].headers["private-token"]
    assert held.reading.quarantined == {} and held.reading.problems == []
    assert {table for table in tables if held.rows(table)} == tables


@pytest.mark.vcr
@pytest.mark.parametrize("surface", ["merge_requests", "issues"])
def test_a_second_read_is_conditional(url: str, vcr: Any, surface: str) -> None:
    """The last question of the first read with its ETag, and the project's: both answer 304."""
    before = read(url, of(surface))
    for batch in before.batches:
        assert batch.rows
    held = read(url, of(surface), before.cursors)
    assert [request.headers.get("if-none-match", "")[:2] for request in held.sent] == ["W/", "W/"]
    assert sum(tally.not_modified for tally in held.reading.tallies.values()) == 2
    assert {"updated_after", "page", "per_page"} < held.asked()[1][2].keys()


@pytest.mark.vcr
@pytest.mark.skipif(RECORDING not in ("", "demo"), reason="it would say something there")
def test_an_answer_in_a_thread_that_it_resolves(url: str, vcr: Any) -> None:
    """What is sent to say something beside a discussion and in it, and to resolve it."""

    async def say(talk: Talk) -> None:
        fetched = await talk.one("mr")
        await talk.keep(fetched.dependents["threads"]({}))
        [threads] = talk.held.rows("threads")
        [thread] = [d["id"] for d in threads["discussions"] if d["is_resolvable"] and not d["is_resolved"]][:1]
        answers, root = talk.source.answers, Address(talk.place.scope, PROJECT, "merge_request", MR)
        note = await answers.say(talk.held.api, root, "Thank you.")
        reply = await answers.say(talk.held.api, Address(root.scope, PROJECT, root.kind, MR, thread), "At night.")
        await answers.resolve(talk.held.api, Address(root.scope, PROJECT, root.kind, MR, thread))
        assert note.author == reply.author == "earshot" and int(reply.id) > int(note.id)

    held = read(url, say)
    root = f"/api/v4/projects/{held.rows('projects')[0]['id']}{OPENED}"
    written = [(r.method, r.url.path, r.content) for r in held.sent if r.method != "GET"]
    thread = written[2][1].rpartition("/")[2]
    assert written == [
        ("POST", f"{root}/notes", b'{"body":"Thank you."}'),
        ("POST", f"{root}/discussions/{thread}/notes", b'{"body":"At night."}'),
        ("PUT", f"{root}/discussions/{thread}", b'{"resolved":true}'),
    ]
    assert all(r.headers["content-type"] == "application/json" for r in held.sent if r.method != "GET")


@pytest.mark.vcr
@pytest.mark.default_cassette("test_a_surface_is_asked_for_so[user].yaml")
@pytest.mark.skipif(bool(RECORDING), reason="it is about what is recorded")
def test_a_request_with_other_headers_is_not_the_recorded_one(url: str, vcr: Any) -> None:
    """Without a token, the cassette has no answer; and the token that was sent is not in it."""
    source = Gitlab(GitlabConfig(api_url=url, projects=[PROJECT]))

    async def look(held: Conversation) -> None:
        await source.place(held.reading, PROJECT, None)

    with pytest.raises(Exception, match="private-token"):
        converse(url, source.headers, look)
    assert {value for r in vcr.requests for name, value in r.headers.items() if name == "private-token"} <= {"scrubbed"}


def test_what_is_recorded_of_the_demo_world_is_what_gitlab_documents() -> None:
    """The answers in the cassettes are of its fields and kinds; recorded live ones have more of them."""
    shapes = {"discussions": "discussion", "closes_issues": "closed_issue", "diffs": "diff", "notes": "note"}
    shapes |= {f"resource_{name}_events": f"{name}_event" for name in ("state", "label", "milestone")}
    seen = set()
    for cassette in Path(__file__).with_name("cassettes").glob("test_contract_gitlab/*so*.yaml"):
        for each in yaml.safe_load(cassette.read_text())["interactions"]:
            last = each["request"]["uri"].partition("?")[0].rpartition("/")[2]
            if (kind := shapes.get(last)) and each["request"]["method"] == "GET":
                seen.add(kind)
                for row in json.loads(each["response"]["body"]["string"]):
                    assert not [w for w in wrong(row, kind, kind) if not w.endswith("is new")]
    assert seen == set(shapes.values())
