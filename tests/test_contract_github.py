"""The exact requests to GitHub, replayed from cassettes: no server, no world, no network. See tests/cassettes/README.md."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pendulum
import pytest

from pipelines.demo.github_api import GitHubApp
from pipelines.demo.github_world import GitHubWorld
from pipelines.demo.serve import serving
from sources.answering import Address, Look, Said
from sources.config import Secret
from sources.github import Github, GithubConfig
from sources.http import connect
from sources.reading import Batch, Reading
from tests.memory import Memory

LIVE = "https://api.github.com"
RECORDING = os.environ.get("EARSHOT_RECORD", "")  # "demo", or "live" with a real token
REPOSITORY = os.environ.get("EARSHOT_RECORD_REPO", "lantern/lantern")
KEPT = {"content-type", "date", "etag", "link", "location", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining",
        "x-ratelimit-reset"}  # fmt: skip


@pytest.fixture
def api_url() -> Iterator[str]:
    """Where the tests ask: the recorded service, or while recording a real one."""
    if RECORDING != "demo":
        yield LIVE
        return
    world = GitHubWorld(pendulum.datetime(2026, 3, 1, 12))
    repo = world.add_repo("lantern/lantern")
    repo.open_issue("pete-q", "Does it cache POST?", "Asking for a friend.")
    pull = repo.open_pull("benji", "Cache nothing that is POSTed", "Closes #1.")
    world.advance(seconds=60)
    repo.comment(1, "maya", "It does not.")
    repo.review_comment(pull, "tomasz-w", "cache.go", "Why here?", 12, start_line=10)
    repo.review(pull, "tomasz-w", "APPROVED", "Fine otherwise.")
    world.advance(seconds=600)
    with serving(GitHubApp(world, public_url=LIVE)) as url:
        yield url


@pytest.fixture
def vcr_config(api_url: str) -> dict[str, Any]:
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
        "filter_headers": ["authorization", "cookie", "host"],
        "before_record_request": request,
        "before_record_response": response,
        "match_on": ["method", "scheme", "host", "path", "query"],
        "decode_compressed_response": True,
    }


def read(api_url: str, memory: Memory) -> tuple[Reading, list[httpx.Request]]:
    """One reading, and the requests that it really sent."""
    token = Secret(os.environ.get("SOURCES__GITHUB__TOKEN", "demo-token"))
    source = Github(GithubConfig(api_url=api_url, token=token, repos=[REPOSITORY]))

    sent: list[httpx.Request] = []

    async def once() -> Reading:
        async def note(request: httpx.Request) -> None:
            sent.append(request)

        async def emit(batch: Batch) -> None:
            memory.land(source, [batch])

        async with connect(api_url, source.headers, max_retries=0) as api:
            api.client.event_hooks = {"request": [note]}
            reading = Reading(api, emit, {s: dict(c) for s, c in memory.cursors.items()})
            await source.read(reading)
        return reading

    return asyncio.run(once()), sent


@pytest.mark.vcr
def test_a_first_read_asks_each_list_once_and_then_for_its_etag(api_url: str, vcr: Any) -> None:
    """No `since` on a first run (an epoch one returns nothing), everything else as documented; then the next question."""
    memory = Memory()
    reading, sent = read(api_url, memory)
    assert reading.problems == []
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

    async def once() -> tuple[Said, Said, Look]:
        async def note(request: httpx.Request) -> None:
            sent.append(request)

        async with connect(api_url, answers.write_headers, max_retries=0) as api:
            api.client.event_hooks = {"request": [note]}
            said = await answers.say(api, issue, "Thank you.")
            (comment,) = (await api.get(f"/repos/{REPOSITORY}/pulls/comments")).data  # type: ignore[misc]
            thread = Address("1001", REPOSITORY, "pull_request", 2, f"review:{comment['id']}")
            return said, await answers.say(api, thread, "Because."), await answers.look(api, issue, since)

    said, replied, look = asyncio.run(once())
    base = f"/repos/{REPOSITORY}"
    assert [(r.method, r.url.path) for r in sent if r.method == "POST"] == [
        ("POST", f"{base}/issues/1/comments"),
        ("POST", f"{base}/pulls/2/comments/{thread_of(sent)}/replies"),
    ]
    assert sent[0].content == b'{"body":"Thank you."}' and sent[0].headers["content-type"] == "application/json"
    assert dict(sent[-1].url.params) == {"since": "2026-03-01T12:00:00Z", "per_page": "100", "page": "1"}
    assert look.is_complete and said.id in {each.id for each in look.said} and replied.author == said.author
    assert "authorization" not in {name.lower() for request in vcr.requests for name in request.headers}


def thread_of(sent: list[httpx.Request]) -> str:
    return next(r.url.path.split("/")[-2] for r in sent if r.url.path.endswith("/replies"))
