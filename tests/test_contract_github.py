"""The exact requests to GitHub, replayed from cassettes: no server, no world, no network. See tests/cassettes/README.md.

Every surface that is read or written; the answers are the demo world's.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import httpx
import pendulum
import pytest

from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.serve import serving
from sources.core.config import Secret
from sources.core.http.client import connect
from sources.core.reading import Batch, Reading, Unread
from sources.core.reply import Address, Look, PostedComment
from sources.core.source import read_all
from sources.core.targets import Target
from sources.core.values import json_text
from sources.github.recheck.again import retries
from sources.github.source import Github, GithubConfig
from sources.github.surfaces.review_threads import Due, read_threads
from tests.memory import Memory

LIVE = "https://api.github.com"
RECORDING = os.environ.get("EARSHOT_RECORD", "")  # "demo", or "live" with a real token, or another server's address
REPOSITORY = os.environ.get("EARSHOT_RECORD_REPO", "lantern/lantern")
KEPT = {"content-type", "date", "etag", "link", "location", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining",
        "x-ratelimit-reset"}  # fmt: skip
# What is left of a request's headers is matched: accept, x-github-api-version, if-none-match, content-type.
UNMATCHED = ["authorization", "cookie", "host", "accept-encoding", "connection", "content-length", "user-agent"]


@pytest.fixture
def api_url() -> Iterator[str]:
    """Where the tests ask: the recorded service, or while recording a real one."""
    if RECORDING != "demo":
        yield RECORDING.rstrip("/") if RECORDING.startswith("http") else LIVE
        return
    world = GitHubWorld(pendulum.datetime(2026, 3, 1, 12))
    repo = world.add_repo("lantern/lantern")
    issue = repo.open_issue("pete-q", "Does it cache POST?", "Asking for a friend.", labels=("question",))
    pull = repo.open_pull("benji", "Cache nothing that is POSTed", "Closes #1.")
    world.advance(seconds=60)
    repo.assign(issue, "maya")
    repo.set_milestone(issue, "1.0")
    repo.request_review(pull, "maya", teams=("cache-core",))
    repo.comment(1, "maya", "It does not.")
    repo.resolve(repo.review_comment(pull, "tomasz-w", "cache.go", "Why here?", 12, start_line=10), "maya")
    repo.review(pull, "tomasz-w", "APPROVED", "Fine otherwise.")
    world.advance(seconds=600)
    with serving(GitHubApp(world, public_url=LIVE)) as url:
        yield url


@pytest.fixture
def vcr_config(api_url: str) -> dict[str, Any]:
    """Which requests and answers are kept, and when a request is the recorded one."""

    def request(recorded: Any) -> Any:
        recorded.uri = recorded.uri.replace(api_url, LIVE)
        return recorded

    def response(recorded: Any) -> Any:
        headers = {name.lower(): values for name, values in recorded["headers"].items()}
        recorded["headers"] = {
            name: [value.replace(api_url, LIVE) for value in values] for name, values in headers.items() if name in KEPT
        }
        return recorded

    return {
        "filter_headers": UNMATCHED,
        "before_record_request": request,
        "before_record_response": response,
        "match_on": ["method", "scheme", "host", "path", "query", "headers", "body"],
        "decode_compressed_response": True,
    }


Take = Callable[[Batch], Awaitable[None]]
Then = Callable[[Github, Reading, Take], Awaitable[None]]


async def whole(source: Github, reading: Reading, take: Take) -> None:
    await read_all(source, reading, take)


def read(
    api_url: str, memory: Memory, does: Then = whole, name: str = REPOSITORY
) -> tuple[Reading, list[httpx.Request]]:
    """One reading, and the requests that it really sent."""
    token = Secret(os.environ.get("SOURCES__GITHUB__TOKEN", "demo-token"))
    source = Github(GithubConfig(api_url=api_url, token=token, repos=[name]))

    sent: list[httpx.Request] = []

    async def once() -> Reading:
        async def note(request: httpx.Request) -> None:
            sent.append(request)

        async def emit(batch: Batch) -> None:
            memory.land(source, [batch])

        async with connect(api_url, source.headers, max_retries=0) as api:
            api.client.event_hooks = {"request": [note]}
            reading = Reading(api, {s: dict(c) for s, c in memory.cursors.items()})
            await does(source, reading, emit)
        return reading

    return asyncio.run(once()), sent


def named(name: str, kind: str, number: int) -> Then:
    """A pull request or issue by its number, with all that hangs on it, as `earshot sync --pr` reads it."""

    async def fetched(source: Github, reading: Reading, take: Take) -> None:
        place = await source.place(reading, name, None)
        found = await source.fetch(place, Target(kind, number))
        await take(found.batch)
        for dependent in found.dependents.values():
            async for batch in dependent({}):
                await take(batch)

    return fetched


def by_themselves(name: str, records: Mapping[str, Mapping[str, object]]) -> Then:
    """Surface → a record of it that could not be read: each is asked for by its own address."""

    async def again(source: Github, reading: Reading, take: Take) -> None:
        place = await source.place(reading, name, None)
        due = [
            Unread(place.scope, surface, f"{surface}:{place.scope}:{record['id']}", "why", json_text(record), None)
            for surface, record in records.items()
        ]
        for walk in retries({place.scope: place}, due):
            async for batch in reading.walked(walk.surface, walk.scope, walk.batches):
                await take(batch)

    return again


def paths(sent: list[httpx.Request]) -> list[str]:
    return sorted({request.url.path.partition("/repos/")[2] for request in sent})


@pytest.mark.vcr
def test_a_first_read_asks_each_list_once_and_then_for_its_etag(api_url: str, vcr: Any) -> None:
    """No `since` on a first run (an epoch one returns nothing), everything else as documented; then the next question."""
    memory = Memory()
    reading, sent = read(api_url, memory)
    assert reading.problems == [] and reading.quarantined == {}
    asked = {(r.url.path, tuple(sorted(r.url.params.items()))) for r in sent}
    assert not any("if-none-match" in r.headers for r in sent)
    lists = ("direction", "asc"), ("page", "1"), ("per_page", "100"), ("sort", "updated")
    base = f"/repos/{REPOSITORY}"
    assert (base, ()) in asked
    assert (f"{base}/issues", (*lists, ("state", "all"))) in asked
    assert (f"{base}/issues/comments", lists) in asked
    assert (f"{base}/pulls/comments", lists) in asked
    assert (f"{base}/pulls", (("direction", "desc"), *lists[1:], ("state", "all"))) in asked
    assert all(
        "since" in dict(query)
        for path, query in asked
        if query not in (lists, (*lists, ("state", "all"))) and path.endswith("comments")
    )
    assert {table for table, rows in memory.tables.items() if rows} >= {
        "repositories",
        "issues",
        "openers",
        "issue_comments",
    }


@pytest.mark.vcr
def test_a_second_read_is_conditional(api_url: str, vcr: Any) -> None:
    """The very questions of the first read's end, with their ETags: five answers 304 (or as few as the service gives)."""
    memory = Memory()
    read(api_url, memory)
    reading, sent = read(api_url, memory)
    assert len(sent) == 5 and all(r.headers["if-none-match"] for r in sent)
    assert sum(tally.not_modified for tally in reading.tallies.values()) == 5


@pytest.mark.vcr
@pytest.mark.skipif(RECORDING == "live", reason="it names numbers of the demo world")
def test_a_pull_request_by_its_number(api_url: str, vcr: Any) -> None:
    """As both lists tell it, with who was asked and, if it was, who merged; its conversation, its diff, its reviews."""
    memory = Memory()
    reading, sent = read(api_url, memory, named(REPOSITORY, "pr", 2))
    base = f"{REPOSITORY}/issues/2", f"{REPOSITORY}/pulls/2"
    assert paths(sent) == sorted(
        [REPOSITORY, *base, f"{base[0]}/comments", f"{base[1]}/comments", f"{base[1]}/reviews"]
    )
    assert reading.problems == [] and reading.quarantined == {}
    assert all(r.headers["accept"] and r.headers["x-github-api-version"] == "2022-11-28" for r in sent)
    (pull,) = memory.rows("pull_requests")
    assert [person["login"] for person in pull["requested_reviewers"]] == ["maya"]
    assert [team["slug"] for team in pull["requested_teams"]] == ["cache-core"]
    assert memory.rows("review_comments") and memory.rows("reviews")


@pytest.mark.vcr
@pytest.mark.skipif(RECORDING == "live", reason="it names numbers of the demo world")
def test_what_could_not_be_read_is_asked_for_by_itself(api_url: str, vcr: Any) -> None:
    """Each record at its own address."""
    memory, base = Memory(), f"https://api.github.com/repos/{REPOSITORY}"
    records: dict[str, dict[str, object]] = {
        "issues": {"id": 1001, "number": 1}, "pull_requests": {"id": 1001, "number": 2}, "issue_comments": {"id": 1001},
        "review_comments": {"id": 1001}, "reviews": {"id": 1002, "pull_request_url": f"{base}/pulls/2"},
    }  # fmt: skip
    reading, sent = read(api_url, memory, by_themselves(REPOSITORY, records))
    own = (
        "issues/1",
        "issues/comments/1001",
        "pulls/2",
        "pulls/2/reviews",
        "pulls/2/reviews/1002",
        "pulls/comments/1001",
    )
    assert paths(sent) == [REPOSITORY, *(f"{REPOSITORY}/{path}" for path in own)]
    assert reading.problems == [] and all(memory.rows(table) for table in records)


@pytest.mark.vcr
@pytest.mark.skipif(RECORDING == "live", reason="it names numbers of the demo world")
def test_the_threads_of_a_pull_request(api_url: str, vcr: Any) -> None:
    """One query, with the token, to GraphQL; what it may cost and whether it is this repository are asked with it."""

    async def asked(source: Github, reading: Reading, take: Take) -> None:
        place = await source.place(reading, REPOSITORY, None)
        rows, failures = await read_threads(place, [Due(2, pendulum.datetime(2026, 3, 1, 12)), Due(99, place.now)])
        assert failures.keys() == {99} and failures[99].code == "NOT_FOUND"
        await take(Batch("rechecks", place.scope, {"review_threads": rows}))

    memory = Memory()
    _, sent = read(api_url, memory, asked)
    query = sent[-1]
    assert (query.method, query.url.path, query.headers["content-type"]) == ("POST", "/graphql", "application/json")
    assert b"rateLimit { cost remaining resetAt }" in query.content and b"databaseId pr2: pullRequest" in query.content
    assert query.headers["authorization"].startswith("Bearer ")
    (held,) = memory.rows("review_threads")
    (thread,) = held["threads"]
    assert (thread["is_resolved"], thread["resolved_by"], thread["first_comment_id"]) == (True, "maya", 1001)
    assert [each["issue_key"] for each in held["closes"]] == [f"github:{held['scope']}:1"]


@pytest.mark.vcr
@pytest.mark.skipif(RECORDING == "live", reason="it is nobody's business")
def test_whose_a_token_is(api_url: str, vcr: Any) -> None:
    """Asked once before the first answer."""
    answers = Github(GithubConfig(api_url=api_url, write_token=Secret("demo-token"), repos=[REPOSITORY])).answers

    async def asked() -> str | None:
        async with connect(api_url, answers.write_headers, max_retries=0) as api:
            return await answers.who(api)

    assert asyncio.run(asked())


@pytest.mark.vcr
def test_no_secret_is_in_a_cassette(api_url: str, vcr: Any) -> None:
    """What is committed carries no token and no cookie."""
    _, sent = read(api_url, Memory())
    assert all(r.headers["authorization"].startswith("Bearer ") for r in sent)
    for request in vcr.requests:
        assert not {"authorization", "cookie"} & {name.lower() for name in request.headers}


@pytest.mark.vcr
@pytest.mark.skipif(RECORDING == "live", reason="it would say something there")
def test_an_answer_and_the_look_for_it(api_url: str, vcr: Any) -> None:
    """What is sent to say something, in a conversation and in a thread on a diff; and how it is looked for afterwards."""
    answers = Github(GithubConfig(api_url=api_url, write_token=Secret("demo-token"), repos=[REPOSITORY])).answers
    issue = Address("1001", REPOSITORY, "issue", 1)
    since, sent = pendulum.datetime(2026, 3, 1, 12), list[httpx.Request]()

    async def once() -> tuple[PostedComment, PostedComment, Look]:
        async def note(request: httpx.Request) -> None:
            sent.append(request)

        async with connect(api_url, answers.write_headers, max_retries=0) as api:
            api.client.event_hooks = {"request": [note]}
            said = await answers.say(api, issue, "Thank you.")
            (comment,) = (await api.get(f"/repos/{REPOSITORY}/pulls/comments")).data  # type: ignore[misc]
            thread = Address("1001", REPOSITORY, "pull_request", 2, f"review:{comment['id']}")
            replied = await answers.say(api, thread, "Because.")
            assert replied.id in {each.id for each in (await answers.look(api, thread, since)).said}
            return said, replied, await answers.look(api, issue, since)

    said, replied, look = asyncio.run(once())
    base = f"/repos/{REPOSITORY}"
    assert [(r.method, r.url.path) for r in sent if r.method == "POST"] == [
        ("POST", f"{base}/issues/1/comments"),
        ("POST", f"{base}/pulls/2/comments/{thread_of(sent)}/replies"),
    ]
    assert sent[0].content == b'{"body":"Thank you."}' and sent[0].headers["content-type"] == "application/json"
    asked = {"since": "2026-03-01T12:00:00Z", "per_page": "100", "page": "1"}
    assert dict(sent[-1].url.params) == asked
    assert dict(sent[-2].url.params) == {**asked, "sort": "created", "direction": "desc"}
    assert look.is_complete and said.id in {each.id for each in look.said} and replied.author == said.author
    assert "authorization" not in {name.lower() for request in vcr.requests for name in request.headers}


def thread_of(sent: list[httpx.Request]) -> str:
    return next(r.url.path.split("/")[-2] for r in sent if r.url.path.endswith("/replies"))
