"""Whatever a server, a file or a setting says: one clear line, the right exit code, nothing lost, the token never shown.

Every story ends with the server repaired: the next run reaches the world's truth. (That the token is nowhere, in no
output and no file, is checked after every single run: tests/story.py.)
"""

import contextlib
import gzip
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
import stamina

from pipelines.demo.github.api.access import Secondary, Window
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import App, Bent, Dropped, Request, Response, html_page
from tests.in_memory import InMemory, opened, snapshot
from tests.long import few
from tests.story import NOW, REPO, TOKEN, Ended, Project, judge, served

DOCS = "lantern/docs"
COMMENTS = "/issues/comments"
BOUND = 2**20  # bytes of an answer, here
Fault = Callable[[Request], Response | Bent | None]


CROWD = [f"lantern/r{n:02}" for n in range(21)]  # enough to answer for each in another wrong way, in one run


def past(world: GitHubWorld, names: Iterable[str] = (REPO, DOCS)) -> None:
    for name in names:
        repo = world.add_repo(name)
        number = repo.open_pull("maya", f"Seek in {name}", "Pages shift.")
        issue = repo.open_issue("odile", "Lost an edit", "See the log.")
        world.advance(30)
        repo.comment(issue, "maya", "Which version?")
        repo.comment(number, "odile", "Looks good.")
        world.advance(30)
        repo.review_comment(number, "odile", "src/pages.py", "Why 100?", 7)
        repo.review(number, "odile", "APPROVED", "Ship it.")
    world.advance(3600)


def news(world: GitHubWorld) -> None:
    """Something new on every surface of every repository, and something edited."""
    for repo in world.repos.values():
        repo.edit_comment(min(repo.comments.rows), "Edited.")
        repo.edit_review_comment(min(repo.review_comments.rows), "Edited too.")
        repo.edit_review(min(repo.reviews.rows), "And so was this.")
        repo.edit_issue(2, body="See the new log.")
        repo.comment(1, "maya", "News.")
        repo.review(1, "maya", "CHANGES_REQUESTED", "Not yet.")
    world.advance(600)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The data of somebody who has read the past."""
    folder = tmp_path_factory.mktemp("base")
    with served(_world(), folder, repos=(REPO, DOCS), memory=InMemory()) as project:
        assert project.quick().code == 0
    return project


@pytest.fixture(scope="module")
def base_of_many(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("many")
    with served(_world(CROWD), folder, repos=CROWD, memory=InMemory()) as project:
        assert project.quick().code == 0
    return project


@pytest.fixture
def world() -> GitHubWorld:
    return _world()


def _world(names: Iterable[str] = (REPO, DOCS)) -> GitHubWorld:
    world = GitHubWorld(NOW)
    past(world, names)
    return world


@pytest.fixture
def fresh(world: GitHubWorld, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Project]:
    """Somebody who has read nothing yet."""
    stamina.set_testing(True, attempts=2, cap=True)  # one retry, without its wait
    try:
        memory = None if request.node.get_closest_marker("on_disk") else InMemory()
        with served(world, tmp_path, repos=(REPO, DOCS), memory=memory) as project:
            yield project
    finally:
        stamina.set_testing(False)


@pytest.fixture
def project(fresh: Project, world: GitHubWorld, base: Project) -> Project:
    """Somebody who has read the past, and does not know the news."""
    if fresh.memory is None:
        assert fresh.quick().code == 0
    else:
        taken_over(fresh, base)
    news(world)
    return fresh


@pytest.fixture
def crowd(tmp_path: Path, base_of_many: Project) -> Iterator[Project]:
    """Somebody who has read the past of twenty repositories, and does not know their news."""
    world = _world(CROWD)
    stamina.set_testing(True, attempts=2, cap=True)
    try:
        with served(world, tmp_path, repos=CROWD) as project:
            taken_over(project, base_of_many)
            news(world)
            yield project
    finally:
        stamina.set_testing(False)


def taken_over(project: Project, base: Project) -> None:
    """The data of who has read it, to go on from."""
    assert base.memory is not None
    shutil.copytree(base.data, project.data)
    project.memory = snapshot(base.memory)


def faulty(project: Project, path: str, outcome: Any, times: int = 10**9) -> list[Request]:
    """The server answers so for paths that end like this; what was asked then."""
    asked: list[Request] = []

    def fault(request: Request) -> Response | Bent | None:
        if not request.path.endswith(path) or len(asked) >= times:
            return None
        asked.append(request)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome(request) if callable(outcome) else outcome  # type: ignore[no-any-return]

    project.app.switches.fault = fault
    return asked


def repaired(project: Project, *options: str) -> Ended:
    project.app.switches.fault = None
    again = project.quick(*options)
    assert again.code == 0, again.said
    judge(project.published, project.app.world)
    assert project.ledger("SELECT count(*) FROM failures WHERE resolved_at IS NULL") == [(0,)]
    return again


def told_plainly(ended: Ended) -> None:
    """No traceback, no escape sequence, nothing as long as a page."""
    assert "Traceback" not in ended.said
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", ended.said)
    assert max(map(len, ended.said.splitlines())) < 500


def failures(project: Project) -> dict[tuple[str, str], tuple[str, str]]:
    rows = project.ledger("SELECT scope_name, surface, code, message FROM failures WHERE resolved_at IS NULL")
    return {(scope, surface): (code, message) for scope, surface, code, message in rows}


# Who asks, and for what


def test_unknown_repository(fresh: Project, world: GitHubWorld) -> None:
    """A repository that does not exist fails by name; the others land (exit 3). Alone, it fails the run (exit 1)."""
    fresh.repos = [REPO, "lantern/nowhere", DOCS]
    ended = fresh.quick()
    assert ended.code == 3
    told_plainly(ended)
    assert "lantern/nowhere" in ended.out and "not found" in ended.out
    assert failures(fresh)["lantern/nowhere", "repository"][0] == "NOT_FOUND"
    judge(fresh.published, world)
    fresh.repos = ["lantern/nowhere"]
    assert fresh.quick().code == 1


def test_bad_token(project: Project) -> None:
    """A refused token: exit 1, said once a repository, no retry, and nobody learns which token it was."""
    project.token = "ghp_madeUpTokenThatIsWrong"
    ended = project.quick()
    assert ended.code == 1 and len(ended.calls) == 2
    told_plainly(ended)
    assert "refuses the token (401)" in ended.out
    assert {code for code, _ in failures(project).values()} == {"AUTH_FAILED"}
    project.token = TOKEN
    repaired(project)


def test_no_token(fresh: Project) -> None:
    """Public repositories can be read without one."""
    fresh.token = ""
    repaired(fresh)


def test_one_repository_fails_and_the_other_lands(project: Project, world: GitHubWorld) -> None:
    """Exit 3; what failed is named in the output, in the ledger and in the JSON, and the next run reads it."""
    faulty(project, f"{DOCS}{COMMENTS}", Response(500, {"message": "oops"}))
    ended = project.quick("--json")
    assert ended.code == 3
    envelope = orjson.loads(ended.out)
    assert envelope["ok"] and envelope["meta"]["exit_code"] == 3
    problem, *more = envelope["data"]["sources"][0]["problems"]
    assert (problem["scope"], problem["surface"], problem["code"], more) == (DOCS, "issue_comments", "FETCH_ERROR", [])
    assert failures(project)[DOCS, "issue_comments"][0] == "FETCH_ERROR"
    repaired(project)


def test_all_fail(fresh: Project) -> None:
    """Nothing could be read: exit 1, and no warehouse pretends that nobody said anything."""
    faulty(fresh, "", Response(503, {"message": "Unavailable"}))
    ended = fresh.quick()
    assert ended.code == 1
    told_plainly(ended)
    assert "503" in ended.out
    repaired(fresh)


# Limits


def test_short_limit_is_waited_for(project: Project, world: GitHubWorld) -> None:
    """A limit that ends in a second or two: the run waits for it, says so, and reads everything."""
    started = time.monotonic()
    begun = world.now

    def tick(_: Request) -> None:
        world.now = begun.add(seconds=time.monotonic() - started)

    project.app.switches.before = tick
    project.app.access.windows["earshot"] = Window(world.second.int_timestamp + 1, used=project.app.access.quota)
    ended = project.quick()
    assert ended.code == 0, ended.said
    assert 1 <= time.monotonic() - started < 30
    assert "waited" in ended.out
    assert (
        1 <= sum(call.status == 403 for call in ended.calls) <= 2
    )  # each repository's first, if sent before the answer
    judge(project.published, world)


@pytest.mark.parametrize(("status", "request_number"), [(403, 1), (429, 6)])
def test_long_limit_stops_the_run(project: Project, world: GitHubWorld, status: int, request_number: int) -> None:
    """A limit for most of an hour: no further request is sent, it is said until when, cursors stay, the next run goes on."""
    project.repos = [REPO]
    assert project.quick().code == 0
    assert project.memory is not None
    held = repr(project.memory.states)
    for n in range(130):
        world.repos[1001].comment(1, "maya", f"news {n}")
    world.advance(600)
    access, count = project.app.access, 0
    access.exhausted_status = status

    def exhaust(_: Request) -> None:
        nonlocal count
        count += 1
        if count == request_number:
            access.windows["earshot"] = Window(world.second.int_timestamp + 1800, used=access.quota)

    project.app.switches.before = exhaust
    started = time.monotonic()
    ended = project.quick()
    assert ended.code in ((1,) if request_number == 1 else (1, 3)) and time.monotonic() - started < 30
    told_plainly(ended)
    assert f"until {world.second.add(seconds=1801).to_datetime_string()} UTC" in ended.out
    limited = [n for n, call in enumerate(ended.calls) if call.status == status]
    assert len(ended.calls) - limited[0] <= 4, "requests went on after the limit"  # what was on its way already
    until = project.ledger("SELECT code, until_at FROM failures WHERE resolved_at IS NULL")
    assert until and {code for code, _ in until} == {"RATE_LIMITED"} and all(at for _, at in until)
    if request_number == 1:
        assert repr(project.memory.states) == held, "a cursor moved"
    project.app.switches.before = None
    access.windows.clear()
    project.repos = (REPO, DOCS)
    repaired(project)


@pytest.mark.parametrize(("status", "retry_after"), [(403, 1), (403, None), (429, None)])
def test_secondary_limit(
    project: Project, world: GitHubWorld, monkeypatch: pytest.MonkeyPatch, status: int, retry_after: int | None
) -> None:
    """A secondary limit stops all workers for as long as it says, or for a minute if it says nothing."""
    import sources.core.http.limits

    assert sources.core.http.limits.UNTOLD_WAIT >= 60
    monkeypatch.setattr(sources.core.http.limits, "UNTOLD_WAIT", 1.0)
    project.app.access.secondary = Secondary(status, retry_after, times=1)
    moments: list[float] = []
    project.app.switches.before = lambda _: moments.append(time.monotonic())
    ended = project.quick()
    assert ended.code == 0, ended.said
    limited = next(n for n, call in enumerate(ended.calls) if call.status == status)
    pause = max(later - earlier for earlier, later in zip(moments[limited:], moments[limited + 1 :], strict=False))
    assert pause >= 0.8, "somebody did not wait"
    assert project.ledger("SELECT max(waited_seconds) > 0.5 FROM requests") == [(1,)]
    judge(project.published, world)


def test_a_service_that_is_down_says_for_how_long(project: Project, world: GitHubWorld) -> None:
    """A 503 with `Retry-After`: all workers wait as long as it says; a long one ends the run at once, and says until when."""
    faulty(project, f"{REPO}/issues", Response(503, {"message": "Unavailable"}, {"retry-after": "2"}), times=1)
    moments: list[float] = []
    project.app.switches.before = lambda _: moments.append(time.monotonic())
    ended = project.quick()
    assert ended.code == 0, ended.said
    assert max(later - earlier for earlier, later in pairwise(moments)) >= 1.8
    judge(project.published, world)
    asked = faulty(project, "", Response(503, {"message": "Unavailable"}, {"retry-after": "3600"}))
    ended = project.quick()
    assert ended.code == 1 and len(asked) <= 2
    told_plainly(ended)
    assert all("asks to wait until" in message for _, message in failures(project).values())
    repaired(project)


@pytest.mark.parametrize("retry_after", ["3600", "99999999999999999999", "Sun, 01 Mar 2026 20:00:00 GMT"])
def test_long_secondary_limit(project: Project, retry_after: str) -> None:
    """A secondary limit that lasts, or that is not to be believed, is not waited for."""
    asked = faulty(project, "", Response(403, {"message": "secondary rate limit"}, {"retry-after": retry_after}))
    ended = project.quick()
    assert ended.code == 1 and len(asked) <= 2
    told_plainly(ended)
    assert {code for code, _ in failures(project).values()} == {"RATE_LIMITED"}
    repaired(project)


def test_endless_limit(project: Project) -> None:
    """A server that limits every single request is not asked for ever."""
    asked = faulty(project, "", Response(429, {"message": "slow down"}, {"retry-after": "0"}))
    ended = project.quick()
    assert ended.code == 1 and len(asked) <= 10
    assert {code for code, _ in failures(project).values()} == {"RATE_LIMITED"}
    repaired(project)


NONSENSE: list[dict[str, str]] = [
    {"x-ratelimit-reset": "never", "x-ratelimit-remaining": "few", "date": "yesterday"},
    {"x-ratelimit-reset": "inf", "x-ratelimit-remaining": "inf"},
    {"x-ratelimit-reset": "nan", "x-ratelimit-limit": "-1"},
    {"x-ratelimit-reset": "99999999999999999999"},
    {"date": "Sun, 99 Xxx 2026 20:00:00 GMT", "etag": 'W/"\u00e9"'},
]


@pytest.mark.parametrize("headers", few(NONSENSE, NONSENSE[0], NONSENSE[1], NONSENSE[4]), ids=str)
def test_headers_that_make_no_sense(project: Project, headers: dict[str, str]) -> None:
    """Headers are hints: nonsense in them breaks no run, in neither the first nor the next."""

    def bent(request: Request) -> Response:
        answer = project.app.answer(request)
        return Response(answer.status, answer.body, {**answer.headers, **headers})

    for _ in range(2):
        faulty(project, "", bent)
        ended = project.quick()
        assert ended.code == 0, ended.said
    repaired(project)


# Answers that are none


def truncated(_: Request) -> Bent:
    return Bent(keep=0.6)


def shaped(body: object, **headers: str) -> Response:
    return Response(200, body, headers)


NO_ANSWERS: dict[str, Any] = {
    "HTML": html_page(),
    "HTML that calls itself JSON": Response(200, b"<html></html>", {"content-type": "application/json"}),
    "truncated": truncated,
    "empty": shaped(b""),
    "dropped": Dropped("gone"),
    "500": Response(500, {"message": "oops"}),
    "502 with HTML": html_page(502),
    "not UTF-8": shaped(b'[{"body": "\xff\xfe"}]'),
    "not gzip": shaped(b"[]", **{"content-encoding": "gzip"}),
}


@pytest.mark.parametrize("what", few(NO_ANSWERS, "truncated", "dropped"))
def test_what_passes_is_retried(project: Project, world: GitHubWorld, what: str) -> None:
    """Once HTML, half a JSON text, a broken connection: asked again, and nobody notices but the count of retries."""
    asked = faulty(project, COMMENTS, NO_ANSWERS[what], times=1)
    ended = project.quick()
    assert ended.code == 0 and len(asked) == 1, ended.said
    assert project.ledger("SELECT sum(retries) FROM requests") == [(1,)]
    judge(project.published, world)


WRONG_SHAPES: dict[str, Any] = {
    **NO_ANSWERS,
    "null": shaped(None),
    "an object": shaped({"message": "Hello"}),
    "a list of lists": shaped([[]]),
    "a list of texts": shaped(["comment"]),
    "204": Response(204),
    "418": Response(418, {"message": "\x1b[2Jteapot"}),
    "nested beyond reason": shaped(b"[" * 200_000),
    "an error nested beyond reason": Response(418, b"[" * 200_000),
    "a number beyond reason": shaped(b"[" + b"9" * 100_000 + b"]"),
    "packed twice": shaped(gzip.compress(gzip.compress(b"[]")), **{"content-encoding": "gzip, gzip"}),
    "more than can be": shaped(b"[" + b" " * BOUND + b"]"),
}


def test_what_stays_wrong_fails_its_scope(crowd: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is none never looks like an empty list: the surface fails by name, the rest lands, nothing is lost."""
    monkeypatch.setattr("sources.core.http.client.MAX_BYTES", BOUND)
    monkeypatch.setattr("sources.core.http.given_up.AFTER", 100)  # each is asked, whatever the others answered
    wrong = dict(zip(CROWD, WRONG_SHAPES, strict=False))
    assert len(wrong) == len(WRONG_SHAPES) < len(CROWD)

    def fault(request: Request) -> Any:
        if not request.path.endswith(COMMENTS):
            return None
        outcome = WRONG_SHAPES.get(wrong.get(request.path.removeprefix("/repos/").removesuffix(COMMENTS), ""))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome(request) if callable(outcome) else outcome

    crowd.app.switches.fault = fault
    ended = crowd.quick()
    assert ended.code == 3, ended.said
    told_plainly(ended)
    found = failures(crowd)
    assert {wrong.get(name, name) for name, _ in found} == set(WRONG_SHAPES)
    assert {(surface, code) for (_, surface), (code, _) in found.items()} == {("issue_comments", "FETCH_ERROR")}
    heard = {scope for scope, body in _latest(crowd) if body == "News."}
    assert set(CROWD) - wrong.keys() <= heard, "nobody fails for another"
    repaired(crowd)


def _latest(project: Project) -> set[tuple[str, str]]:
    with opened(project.published) as db:
        return set(db.execute("SELECT scope_name, body FROM feedback.events WHERE kind = 'issue_comment'").fetchall())


@pytest.mark.parametrize(
    "path", few([REPO, "/issues", "/pulls", "/pulls/comments", "/pulls/1/reviews"], REPO, "/pulls", "/pulls/1/reviews")
)
@pytest.mark.parametrize("what", few(["HTML", "an object"], "HTML"))
def test_every_surface_fails_alone(fresh: Project, world: GitHubWorld, path: str, what: str) -> None:
    """The same holds for each list of a first run."""
    answer = shaped(b"[]") if path == REPO and what == "an object" else WRONG_SHAPES[what]
    faulty(fresh, path, answer)
    ended = fresh.quick()
    assert ended.code in (1, 3) and failures(fresh), ended.said
    told_plainly(ended)
    repaired(fresh)


def test_slow_server(project: Project, world: GitHubWorld) -> None:
    """A server that does not answer in time fails its scope in that time, and holds up nobody for ever."""
    project.earshot["timeout_seconds"] = 0.4
    faulty(project, f"{DOCS}{COMMENTS}", Bent(delay=2))
    ended = project.quick()
    assert ended.code == 3
    assert "did not answer within 0.4 s" in ended.out
    assert failures(project)[DOCS, "issue_comments"][0] == "TIMEOUT"
    time.sleep(0.1)
    project.earshot["timeout_seconds"] = 30
    repaired(project)


def test_trickling_server(project: Project) -> None:
    """A server that sends a byte now and then is given no more time than one that sends none."""
    project.earshot["timeout_seconds"] = 0.5
    url = project.url
    with trickling() as project.url:
        started = time.monotonic()
        ended = project.quick()
        assert time.monotonic() - started < 25
    assert ended.code == 1 and "did not answer within 0.5 s" in ended.out
    told_plainly(ended)
    project.url, project.earshot["timeout_seconds"] = url, 30
    repaired(project)


@contextmanager
def trickling() -> Iterator[str]:
    """Ten bytes of an answer a second."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 60\r\n\r\n")
            while not over.wait(0.1):
                connection.sendall(b" ")

    def listen() -> None:
        with contextlib.suppress(OSError):
            while not over.is_set():
                threading.Thread(target=drip, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listen, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()


def test_nobody_listens(fresh: Project) -> None:
    """No server at all: exit 1, a line that says which host."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url, fresh.url = fresh.url, f"http://127.0.0.1:{port}"
    ended = fresh.quick()
    assert ended.code == 1 and "127.0.0.1" in ended.out
    told_plainly(ended)
    fresh.url = url
    repaired(fresh)


# Other hosts


@contextmanager
def other_host(world: GitHubWorld) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A second server that would gladly answer; the headers that arrive there."""
    heard: list[dict[str, str]] = []

    def answer(request: Request) -> Response:
        heard.append(request.headers)
        return Response(200, [])

    with serving(App(answer, lambda: world.now)) as url:
        yield url, heard


PLACES = ["{other}/next", "//other.example/next", "https://127.0.0.1/x", "http://[::bad/", "http://127.0.0.1:99999999/x",
          "ftp://127.0.0.1/x", "javascript:alert(1)", "http://user:pass@{host}/x", "http://a b/"]  # fmt: skip


@pytest.mark.parametrize("place", few(PLACES, PLACES[0], PLACES[3]))
def test_link_to_another_host(project: Project, world: GitHubWorld, place: str) -> None:
    """A next page on another host is not fetched: the token would go there. What is read on our own host is complete."""
    with other_host(world) as (other, heard):
        target = place.format(other=other, host=project.url.removeprefix("http://"))

        def linking(request: Request) -> Response:
            answer = project.app.answer(request)
            return Response(answer.status, answer.body, {**answer.headers, "link": f'<{target}>; rel="next"'})

        faulty(project, f"{REPO}{COMMENTS}", linking, times=3)
        ended = project.quick()
        assert heard == []
        assert ended.code in (0, 3), ended.said
        told_plainly(ended)
        if place.startswith("{other}"):
            assert failures(project)[REPO, "issue_comments"][0] == "FETCH_ERROR"
            assert "points to another host" in ended.out
        repaired(project)


@pytest.mark.parametrize("place", few(PLACES, PLACES[0], PLACES[6]))
def test_redirect_to_another_host(project: Project, world: GitHubWorld, place: str) -> None:
    """The same for a redirect, on a list and on the repository itself."""
    with other_host(world) as (other, heard):
        target = place.format(other=other, host=project.url.removeprefix("http://"))
        for path in (f"{REPO}{COMMENTS}", f"/repos/{REPO}"):
            faulty(project, path, Response(302, b"", {"location": target}))
            ended = project.quick()
            assert heard == []
            assert ended.code == 3, ended.said
            told_plainly(ended)
        repaired(project)


def test_list_without_end(project: Project) -> None:
    """A server that always names a next page, and has nothing more to say, is not followed for ever."""
    enough = 120

    def endless(request: Request) -> Response:
        answer = project.app.answer(request)
        link = {"link": f'<{project.url}{request.path}?page=2>; rel="next"'} if len(asked) < enough else {}
        return Response(answer.status, answer.body, {**answer.headers, **link})

    asked = faulty(project, f"{REPO}{COMMENTS}", endless)
    ended = project.quick()
    assert len(asked) < enough, "it would have gone on for ever"
    assert ended.code == 3 and failures(project)[REPO, "issue_comments"][0] == "FETCH_ERROR"
    repaired(project)


def test_redirects_in_circles(project: Project) -> None:
    faulty(project, f"{REPO}{COMMENTS}", lambda request: Response(302, b"", {"location": request.path}))
    ended = project.quick()
    assert ended.code == 3 and "circles" in ended.out
    repaired(project)


# Records that cannot be read


def changed_rows(project: Project, path: str, change: Callable[[dict[str, Any]], object]) -> None:
    """The server spoils the first record that it tells under this path, in lists and alone."""
    all_changed_rows(project, {path: change})


def all_changed_rows(project: Project, changes: dict[str, Callable[[dict[str, Any]], object]]) -> None:
    def spoil(request: Request) -> Response | None:
        change = next((change for path, change in changes.items() if re.search(path, request.path)), None)
        if change is None:
            return None
        answer = project.app.answer(Request(request.method, request.path, request.query,
                                            {**request.headers, "if-none-match": ""}, request.body, request.root))  # fmt: skip
        found = orjson.loads(answer.encoded())
        rows = found if isinstance(found, list) else [found]
        if not rows or answer.status != 200:
            return answer
        change(min(rows, key=lambda row: str(row["id"])))
        return Response(200, found, {k: v for k, v in answer.headers.items() if k != "etag"})

    project.app.switches.fault = spoil


def quarantine(project: Project) -> list[tuple[str, int]]:
    return project.ledger("SELECT surface, attempts FROM quarantine WHERE resolved_at IS NULL")


SPOILS: list[tuple[str, str, dict[str, Any]]] = [
    ("issue_comments", r"/issues/comments", {"updated_at": "yesterday"}),
    ("issue_comments", r"/issues/comments", {"updated_at": "2026-03-01T12:00:00"}),
    ("issue_comments", r"/issues/comments", {"created_at": "2026-02-30T12:00:00Z"}),
    ("issue_comments", r"/issues/comments", {"created_at": None}),
    ("issue_comments", r"/issues/comments", {"id": "1001"}),
    ("issue_comments", r"/issues/comments", {"body": 5}),
    ("issue_comments", r"/issues/comments", {"user": "maya"}),
    ("issue_comments", r"/issues/comments", {"issue_url": f"/issues/{'9' * 25}"}),
    ("review_comments", r"/pulls/comments", {"updated_at": 1772366400}),
    ("review_comments", r"/pulls/comments", {"line": "seven"}),
    ("review_comments", r"/pulls/comments", {"path": None}),
    ("issues", r"/issues(/\d+)?$", {"updated_at": ""}),
    ("issues", r"/issues(/\d+)?$", {"comments": "many"}),
    ("issues", r"/issues(/\d+)?$", {"title": None}),
    ("pull_requests", r"/pulls(/\d+)?$", {"updated_at": "soon"}),
    ("pull_requests", r"/pulls(/\d+)?$", {"head": []}),
    ("reviews", r"/pulls/1/reviews", {"submitted_at": "never"}),
    ("reviews", r"/pulls/1/reviews", {"state": 1}),
]


def test_unreadable_record(crowd: Project) -> None:
    """Kept raw with its reason, exit 3, the others land; asked for again by the next run, healed when the server is."""
    spoils = dict(zip(CROWD, SPOILS, strict=False))
    assert len(spoils) == len(SPOILS) < len(CROWD)
    all_changed_rows(
        crowd, {f"^/repos/{name}{path}": partial(_update, change) for name, (_, path, change) in spoils.items()}
    )
    ended = crowd.quick()
    assert ended.code == 3 and "quarantine" in ended.out, ended.said
    told_plainly(ended)
    assert sorted(quarantine(crowd)) == sorted((surface, 1) for surface, _, _ in SPOILS)
    for scope, surface, raw in crowd.ledger("SELECT scope, surface, raw FROM quarantine"):
        expected, _, change = spoils[crowd.app.world.repos[int(scope)].full_name]
        assert surface == expected and {key: orjson.loads(raw)[key] for key in change} == change
    assert crowd.quick().code == 3, "they still cannot be read"
    assert sorted(quarantine(crowd)) == sorted((surface, 2) for surface, _, _ in SPOILS), "tried twice, and still there"
    crowd.app.switches.fault = None
    repaired(crowd)
    assert quarantine(crowd) == []


def _update(change: dict[str, Any], row: dict[str, Any]) -> None:
    row.update(change)


def test_unreadable_from_the_beginning(fresh: Project) -> None:
    """A first run keeps what it cannot read, and lands all the rest."""
    changed_rows(
        fresh, rf"{REPO}/(issues/comments|pulls/1/reviews)", lambda row: row.update(created_at="x", submitted_at="x")
    )
    ended = fresh.quick()
    assert ended.code == 3, ended.said
    assert sorted(kind for kind, _ in quarantine(fresh)) == ["issue_comments", "reviews"]
    repaired(fresh)
    assert quarantine(fresh) == []


@pytest.mark.ci
@pytest.mark.on_disk
def test_quarantine_counts_runs_not_landings(fresh: Project, world: GitHubWorld) -> None:
    """The wait for the next try doubles with every run that tried, however many chunks that run landed."""
    world.fill(world.repos[1001], pulls=10, comments=200, review_comments=50)
    changed_rows(fresh, REPO + SPOILS[0][1], lambda row: row.update(SPOILS[0][2]))
    ended = fresh.killed_at("pipelines.state.ledger:Ledger.finish", moment="after", CHUNK_ROWS="40")
    assert "quarantined" in ended.err
    attempts = {n for _, n in quarantine(fresh)}
    assert attempts == {1}


NASTY = "NUL \x00 and other \x01\x07\x1b[2J control\x7f characters\x9b"
ODD = "\u202e right-to-left \u2066, quotes ' \" ` $$ ; -- /* \\ %s {} \r\n\t \ufeff\u200b\U0001f9d1\u200d\U0001f4bb e\u0301"


@pytest.mark.parametrize("body", [NASTY, ODD, "", "x" * 3_000_000], ids=["control", "odd", "empty", "huge"])
def test_any_text_is_kept(project: Project, world: GitHubWorld, body: str) -> None:
    """Whatever people write is kept to the letter, but for NUL bytes, which no database keeps; it never reaches the terminal."""
    repo = world.repos[1001]
    repo.open_issue("maya", f"Title {body[:60]}", body)
    repo.comment(1, "maya", body)
    repo.review(1, "odile", "COMMENTED", body)
    repo.review_comment(1, "odile", "src/a.py", body, 1)
    world.advance(600)
    ended = project.quick("-v")
    assert ended.code == 0, ended.said
    told_plainly(ended)
    if "\x00" in body:  # the judge knows the world's words; tell it which of them can be kept
        for row in [*repo.issues.rows.values(), *repo.comments.rows.values(), *repo.reviews.rows.values(),
                    *repo.review_comments.rows.values()]:  # fmt: skip
            row.body = row.body.replace("\x00", "")
            if hasattr(row, "title"):
                row.title = row.title.replace("\x00", "")
        world.history[:] = [_without_nul(v) for v in world.history]
    judge(project.published, world)


def _without_nul(version: Any) -> Any:
    from dataclasses import replace

    return replace(
        version, body=version.body.replace("\x00", ""), title=version.title and version.title.replace("\x00", "")
    )


def test_lone_surrogates(project: Project, world: GitHubWorld) -> None:
    """Half a character, as JSON can write it, becomes a replacement character and costs nobody else's words."""
    repo = world.repos[1001]
    comment = repo.comment(1, "maya", "half a SURROGATE character")
    world.advance(600)

    def halve(request: Request) -> Response:
        answer = project.app.answer(request)
        return Response(answer.status, answer.encoded().replace(b"SURROGATE", b"\\ud83d"), answer.headers)

    faulty(project, COMMENTS, halve)
    ended = project.quick()
    assert ended.code == 0, ended.said
    repo.comments.rows[comment].body = "half a \ufffd character"
    world.history[:] = [v for v in world.history if not (v.kind == "issue_comment" and v.id == comment)]
    said = repo.comments.rows[comment]
    repo._say("issue_comment", said)
    judge(project.published, world)


def test_deleted_accounts(project: Project, world: GitHubWorld) -> None:
    """`user: null` everywhere: the words stay, said by ghost."""
    world.delete_user("odile")
    world.delete_user("maya")
    repaired(project)


STRANGE = ["lantern/\x1b[2Jcls", "lantern/../../etc", "lantern/a b", "x" * 100, "", None, 7, "lantern/la\nntern"]


@pytest.mark.parametrize("name", few(STRANGE, STRANGE[0], STRANGE[5]), ids=lambda value: repr(value)[:20])
def test_repository_with_a_strange_name(project: Project, world: GitHubWorld, name: object) -> None:
    """What a server calls its repository never reaches the terminal or a request raw; at worst that repository fails."""
    changed_rows(project, rf"^/repos/{REPO}$", lambda row: row.update(full_name=name))
    ended = project.quick("-v")
    assert ended.code in (0, 3), ended.said
    told_plainly(ended)
    assert all(".." not in call.path for call in ended.calls)
    repaired(project)


# Cursors


def corrupt(project: Project, surface: str, change: Callable[[Any], object]) -> None:
    """Changes what is saved for the first repository."""
    assert project.memory is not None
    scopes = project.memory.states["github"][surface]["scopes"]
    scope = REPO if surface == "repositories" else "1001"
    scopes[scope] = change(scopes[scope])


CORRUPTIONS: dict[str, Callable[[Any], object]] = {
    "text": lambda cursor: "2026",
    "list": lambda cursor: [1],
    "number": lambda cursor: 5,
    "empty": lambda cursor: {},
    "all wrong": lambda cursor: dict.fromkeys(cursor, 5),
    "all null": lambda cursor: dict.fromkeys(cursor),
    "all text": lambda cursor: dict.fromkeys(cursor, "\n\u00e9"),
    "no zone": lambda cursor: {**cursor, "since": "2026-03-01T11:00:00", "newest": "2026-03-01T11:00:00"},
    "window": lambda cursor: {**cursor, "window": {"1": 1}},
    "future": lambda cursor: {k: "2031-01-01T00:00:00Z" if k in ("since", "newest") else v for k, v in cursor.items()},
}


SURFACES = ("issues", "pull_requests", "issue_comments", "review_comments", "repositories")
HALVES = [list(CORRUPTIONS)[:5], list(CORRUPTIONS)[5:]]


@pytest.mark.parametrize("shift", few(range(len(SURFACES)), 0))
@pytest.mark.parametrize("some", HALVES, ids=["misshapen", "untrue"])
def test_corrupted_cursors(project: Project, world: GitHubWorld, some: list[str], shift: int) -> None:
    """A cursor that cannot be believed is logged as cursor_invalid and set back, and a sweep is due, once; nothing is lost
    and nothing doubled. Each surface's in another way."""
    for n, corruption in enumerate(some):
        corrupt(project, SURFACES[(n + shift) % len(SURFACES)], CORRUPTIONS[corruption])
    ended = project.quick()
    assert ended.code == 0, ended.said
    told_plainly(ended)
    for surface in SURFACES[:-1]:
        assert re.search(rf"{surface}.*cursor_invalid|cursor_invalid.*{surface}", ended.err), ended.err
    judge(project.published, world)
    project.quick()
    quiet = project.quick()
    assert quiet.code == 0 and len(quiet.calls) == 10 and {call.status for call in quiet.calls} == {304}


# Settings


@pytest.mark.parametrize(("table", "key", "value", "said"), [
    ("github", "repo", [REPO], r"\[sources.github\].*'repo'.*did you mean 'repos'"),
    ("github", "overlap_second", 5, r"'overlap_second'.*did you mean 'overlap_seconds'"),
    ("github", "repos", 5, r"\[sources.github\] repos: expected list.*got int"),
    ("github", "repos", [5], r"repos\[0\]: expected str, got int"),
    ("github", "repos", ["lantern"], r"'lantern' is not of the form owner/name"),
    ("github", "repos", [], r"nothing to read"),
    ("github", "since", "last week", r"since: 'last week' is not a date"),
    ("github", "overlap_seconds", "soon", r"overlap_seconds: expected int, got str"),
    ("github", "overlap_seconds", 0, r"overlap_seconds"),
    ("github", "pulls", [3], r"pulls: expected dict"),
    ("github", "token", 5, r"token: expected"),
    ("github", "api_url", "api.github.com", r"api_url"),
    ("github", "api_url", "http://[oops", r"api_url"),
    ("github", "api_url", "", r"api_url"),
    ("earshot", "max_retrys", 5, r"\[earshot\].*'max_retrys'.*did you mean 'max_retries'"),
    ("earshot", "max_retries", "many", r"max_retries: expected int, got str"),
    ("earshot", "max_retries", True, r"max_retries: expected int, got bool"),
    ("earshot", "max_retries", -1, r"max_retries"),
    ("earshot", "timeout_seconds", 0, r"timeout_seconds"),
    ("earshot", "sweep_hours", -1, r"sweep_hours"),
    ("earshot", "authors", "maya", None),
    ("earshot", "team", "maya", None),
    ("earshot", "teem", ["maya"], r"did you mean 'team'"),
])  # fmt: skip
def test_setting_that_cannot_be(fresh: Project, table: str, key: str, value: object, said: str | None) -> None:
    """Unknown names and wrong types are refused before anything is asked or written: exit 2, the key, the nearest right one."""
    (fresh.github if table == "github" else fresh.earshot)[key] = value
    fresh.token = "" if key == "token" else TOKEN  # the environment's would win
    ended = fresh.quick()
    if said is None:
        assert ended.code == 0
        return
    assert ended.code == 2 and ended.calls == [], ended.said
    assert re.search(said, ended.err), ended.err
    assert len(ended.err.splitlines()) == 1 and "Traceback" not in ended.err
    assert not fresh.data.exists(), "something was written"


def test_unknown_source_and_section(project: Project) -> None:
    """A service that is not known is refused by name, on the command line and in the settings."""
    ended = project.quick("githb")
    assert ended.code == 2 and "githb" in ended.err and "github" in ended.err
    project.configure()
    config = project.folder / ".dlt" / "config.toml"
    config.write_text(config.read_text().replace("[sources.github]", "[sources.gihub]"))
    project.configure = lambda: None  # type: ignore[method-assign]
    ended = project.quick()
    assert ended.code == 2 and "'gihub'" in ended.err and "did you mean 'github'" in ended.err
    config.write_text("[earshot\nmax_retries = ghp_secret")
    ended = project.quick()
    assert ended.code == 2 and "config.toml" in ended.err and "ghp_secret" not in ended.err
    assert len(ended.err.splitlines()) == 1
    config.write_bytes(b"\xff\xfe")
    assert project.quick().code == 2


@pytest.mark.on_disk
def test_environment_is_checked_too(project: Project) -> None:
    """SOURCES__GITHUB__TOKN is as wrong as a misspelt key in the file, and its value is not shown."""
    ended = project.run(SOURCES__GITHUB__TOKN="ghp_secret")
    assert ended.code == 2 and "'tokn'" in ended.err and "'token'" in ended.err and "ghp_secret" not in ended.said
    assert len(ended.err.splitlines()) == 1


@pytest.mark.ci
@pytest.mark.on_disk
def test_real_process_tells_it_the_same(project: Project, world: GitHubWorld) -> None:
    """What these tests see in this process is what a shell sees: exit codes, one-line errors, no traceback."""
    faulty(project, f"{DOCS}{COMMENTS}", html_page())
    ended = project.run()
    assert ended.code == 3 and "Traceback" not in ended.said and "instead of JSON" in ended.out
    faulty(project, "", html_page())
    assert project.run().code == 1
    repaired(project)
