"""The demo GitHub keeps the facts that Earshot must survive: pages, refusals, limits, tags and faults."""

import asyncio

import httpx
import pytest

from pipelines.demo.github.api.access import Secondary
from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import Bent, Dropped, Request, Response, Switches, html_page
from tests.demo_client import BASE, NOW, ROOT, TOKEN, ask, get, ids, next_link, said, walk


@pytest.fixture
def world() -> GitHubWorld:
    return GitHubWorld(NOW)


@pytest.fixture
def repo(world: GitHubWorld) -> Repo:
    return world.add_repo("lantern/lantern")


@pytest.fixture
def app(world: GitHubWorld) -> GitHubApp:
    return GitHubApp(world)


# Pages


def test_numbered_links_are_absolute_and_end(app: GitHubApp, repo: Repo) -> None:
    """Link names prev, next, last, first by repository id; no next on the last page, no Link when all fits one."""
    made = said(repo, 25)
    path = f"{BASE}/issues/comments"
    assert "link" not in get(app, path).headers
    middle = get(app, path, per_page=10, page=2)
    stem = f"{ROOT}/repositories/{repo.id}/issues/comments?per_page=10&page="
    assert {rel: link["url"] for rel, link in middle.links.items()} == {
        "prev": f"{stem}1", "next": f"{stem}3", "last": f"{stem}3", "first": f"{stem}1"
    }  # fmt: skip
    assert set(get(app, path, per_page=10).links) == {"next", "last"}
    assert set(get(app, path, per_page=10, page=3).links) == {"prev", "first"}
    assert walk(app, path, next_link, per_page=10) == made


def test_issue_list_leads_on_by_cursor(app: GitHubApp, repo: Repo) -> None:
    """Issue lists link by `after`/`before` beside `page`, name no last page, and the cursor wins over the page."""
    numbers = [repo.open_issue("maya", str(n), "") for n in range(7)]
    first = get(app, f"{BASE}/issues", per_page=3)
    assert set(first.links) == {"next"} and "after=" in first.links["next"]["url"]
    second = get(app, first.links["next"]["url"].replace("page=2", "page=1"))
    assert [row["number"] for row in second.json()] == numbers[::-1][3:6]
    assert get(app, second.links["prev"]["url"]).json() == first.json()
    for direction in ("asc", "desc"):
        assert len(walk(app, f"{BASE}/issues", next_link, per_page=3, direction=direction, sort="updated")) == 7


def test_size_and_page_are_corrected_silently(app: GitHubApp, repo: Repo) -> None:
    """per_page above 100 is 100, 0 or less or no number is 30; page 0 is page 1; an unknown sort is ignored."""
    said(repo, 120)
    path = f"{BASE}/issues/comments"
    sizes = {asked: len(get(app, path, per_page=asked).json()) for asked in (500, 0, -5, "many", 7)}
    assert sizes == {500: 100, 0: 30, -5: 30, "many": 30, 7: 7}
    assert "per_page=100&" in get(app, path, per_page=500).headers["link"]
    assert get(app, path, page=0).json() == get(app, path).json()
    assert get(app, f"{BASE}/issues", sort="loudest").status_code == 200


def test_deep_pages_are_refused(app: GitHubApp, repo: Repo) -> None:
    """Lists end in 422 far down although `next` led there; the issue list sooner, and only by page number."""
    said(repo, 9)
    app.access.deep_items, app.access.deep_issues = 6, 6
    second = get(app, f"{BASE}/issues/comments", per_page=3, page=2)
    assert second.links["last"]["url"].endswith("page=2")
    refused = get(app, second.links["next"]["url"])
    assert refused.status_code == 422 and "pagination is limited" in refused.json()["message"]
    for n in range(9):
        repo.open_issue("maya", str(n), "")
    refused = get(app, f"{BASE}/issues", per_page=3, page=2)
    assert refused.status_code == 422 and "cursor based pagination" in refused.json()["message"]
    assert len(walk(app, f"{BASE}/issues", next_link, per_page=3)) == 10
    app.access.deep_items = None
    assert get(app, f"{BASE}/issues/comments", per_page=3, page=3).status_code == 200


def test_short_and_empty_pages_are_not_the_end(app: GitHubApp, repo: Repo) -> None:
    """Rows may be filtered after paging, and a server may give fewer than asked: only Link ends a list."""
    made = said(repo, 30)
    app.switches.hide = lambda row: row.id in made[10:25]
    app.switches.max_per_page = 10
    path = f"{BASE}/issues/comments"
    second = get(app, path, per_page=30, page=2)
    assert second.json() == [] and "next" in second.links
    assert walk(app, path, next_link, per_page=30) == made[:10] + made[25:]
    app.switches.strip_headers = {"link"}
    assert "link" not in get(app, path, page=2).headers


# Refusals


def test_malformed_values_are_refused(app: GitHubApp, repo: Repo) -> None:
    """422 in GitHub's error shape; an unencoded plus makes a bad `since`."""
    for name, value in (("state", "ajar"), ("since", "yesterday"), ("since", "2025-13-45T00:00:00Z")):
        answer = ask(app, "GET", f"{BASE}/issues", params={name: value})
        assert answer.status_code == 422
        assert answer.json()["message"] == "Validation Failed" and answer.json()["status"] == "422"
        assert answer.json()["errors"] == [{"value": value, "resource": "Issue", "field": name, "code": "invalid"}]
    assert get(app, f"{BASE}/issues?since=2025-06-01T00:00:00+00:00").status_code == 422


def test_what_the_world_does_not_model_is_refused(app: GitHubApp, repo: Repo) -> None:
    """A filter that GitHub knows is never quietly ignored here: 501."""
    assert get(app, f"{BASE}/issues", labels="bug").status_code == 501


def test_unknown_is_404_and_deleted_is_410(app: GitHubApp, repo: Repo) -> None:
    """Deleted issues say so; their comments are gone from every list."""
    number = repo.open_issue("maya", "Oops", "")
    comment = repo.comment(number, "odile", "!")
    repo.delete_issue(number)
    for path in (f"/issues/{number}", f"/issues/{number}/comments"):
        assert get(app, BASE + path).status_code == 410
    for path in ("/issues/99", "/pulls/99", "/pulls/1", "/nothing", f"/issues/comments/{comment}", "/issues/x"):
        answer = get(app, BASE + path)
        assert (answer.status_code, answer.json()["message"], answer.json()["status"]) == (404, "Not Found", "404")
    assert get(app, f"{BASE}/issues/comments").json() == get(app, f"{BASE}/issues", state="all").json() == []
    assert get(app, "/repos/lantern/other").status_code == 404
    assert repo.open_issue("maya", "Again", "") == number + 1


def test_who_may_ask(world: GitHubWorld, app: GitHubApp, repo: Repo) -> None:
    """A bad token is 401 even on public things, private repositories are 404 to strangers, no User-Agent is 403."""
    world.add_repo("lantern/secret", private=True)
    assert get(app, BASE, {"authorization": "Bearer wrong"}).json()["message"] == "Bad credentials"
    assert get(app, BASE, {"authorization": "Bearer wrong"}).status_code == 401
    assert get(app, BASE, {"authorization": "token demo-token"}).status_code == 200
    assert get(app, "/repos/lantern/secret", {}).status_code == 404
    assert get(app, "/repos/lantern/secret").status_code == 200
    assert get(app, BASE, {"user-agent": ""}).status_code == 403


def test_renamed_repositories_redirect(app: GitHubApp, repo: Repo) -> None:
    """301 to the address by id, query kept; items then speak of the new name; the id stays."""
    said(repo, 1)
    assert "/lantern/lantern/" in get(app, f"{BASE}/issues/comments").json()[0]["html_url"]
    repo.rename("lantern/beacon")
    answer = get(app, f"{BASE}/issues/comments", per_page=5)
    assert answer.status_code == 301 and answer.json()["message"] == "Moved Permanently"
    assert answer.headers["location"] == f"{ROOT}/repositories/{repo.id}/issues/comments?per_page=5"
    (row,) = get(app, answer.headers["location"]).json()
    assert "/lantern/beacon/" in row["html_url"]
    assert get(app, "/repos/lantern/beacon").json()["id"] == repo.id


# Limits and tags


def test_etags_save_budget(app: GitHubApp, repo: Repo) -> None:
    """304 with the same tag, no body and no cost to the authorized; the tag changes with rows and with the token."""
    said(repo, 2)
    app.access.tokens["other"] = "earshot"
    path = f"{BASE}/issues/comments"
    first = get(app, path)
    held = {"if-none-match": first.headers["etag"]}
    again = get(app, path, TOKEN | held)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert again.headers["x-ratelimit-used"] == first.headers["x-ratelimit-used"] == "1"
    assert get(app, path, {"authorization": "Bearer other"} | held).status_code == 200
    anonymous = get(app, path, {}).headers["etag"]
    costs = [get(app, path, {"if-none-match": anonymous}).headers["x-ratelimit-used"] for _ in range(2)]
    assert costs == ["2", "3"]
    repo.comment(1, "odile", "more")
    assert get(app, path, TOKEN | held).status_code == 200
    assert [call.conditional for call in app.log][:2] == [False, True]


def test_a_full_page_stays_304_while_a_next_page_appears(app: GitHubApp, repo: Repo) -> None:
    """The tag covers the body, not Link: an unchanged page may have got a next one, and the 304 is silent about it."""
    said(repo, 3)
    path = f"{BASE}/issues/comments"
    full = get(app, path, per_page=3)
    repo.world.advance(seconds=1)
    repo.comment(1, "odile", "one more")
    answer = get(app, path, TOKEN | {"if-none-match": full.headers["etag"]}, per_page=3)
    assert answer.status_code == 304 and not full.links and not answer.links


def test_the_primary_limit_ends_and_returns(world: GitHubWorld, app: GitHubApp, repo: Repo) -> None:
    """Used up: 403, remaining 0, until `reset`; /rate_limit stays free. Anonymous callers have their own."""
    app.access.quota, app.access.anonymous_quota = 2, 60
    assert [get(app, BASE).headers["x-ratelimit-remaining"] for _ in range(2)] == ["1", "0"]
    answer = get(app, BASE)
    assert answer.status_code == 403 and answer.headers["x-ratelimit-remaining"] == "0"
    assert answer.json()["message"].startswith("API rate limit exceeded")
    assert int(answer.headers["x-ratelimit-reset"]) == world.second.int_timestamp + 3600
    assert get(app, "/rate_limit").json()["rate"]["remaining"] == 0
    assert get(app, BASE, {}).headers["x-ratelimit-limit"] == "60"
    world.advance(seconds=3600)
    assert get(app, BASE).status_code == 200


@pytest.mark.parametrize(("status", "retry_after"), [(403, 60), (429, None)])
def test_secondary_limits_come_with_or_without_advice(
    app: GitHubApp, repo: Repo, status: int, retry_after: int | None
) -> None:
    """403 or 429 while budget is left, with or without `retry-after`."""
    app.access.secondary = Secondary(status, retry_after, times=1)
    answer = get(app, BASE)
    assert answer.status_code == status and "secondary rate limit" in answer.json()["message"]
    assert answer.headers.get("retry-after") == (str(retry_after) if retry_after else None)
    assert int(answer.headers["x-ratelimit-remaining"]) > 0
    assert get(app, BASE).status_code == 200


# Writing


def test_comments_can_be_posted(app: GitHubApp, repo: Repo) -> None:
    """A post needs a token and a body, and is then like anybody's comment."""
    number = repo.open_issue("maya", "Help", "")
    path = f"{BASE}/issues/{number}/comments"
    assert ask(app, "POST", path, {}, json={"body": "hi"}).status_code == 401
    assert ask(app, "POST", path, json={"body": " "}).status_code == 422
    assert ask(app, "POST", path, json={}).status_code == 422
    made = ask(app, "POST", path, json={"body": "hi"})
    assert made.status_code == 201 and made.json()["user"]["login"] == "earshot"
    assert get(app, path).json() == [made.json()]


# Faults


def test_faults_replace_bend_or_break_the_answer(app: GitHubApp, repo: Repo) -> None:
    """HTML with 200, truncated JSON, late answers, error statuses and broken connections can all be had."""
    said(repo, 3)
    path = f"{BASE}/issues/comments"
    whole = get(app, path).content
    app.switches.fault = lambda _: html_page()
    assert get(app, path).text.startswith("<!DOCTYPE html>")
    app.switches.fault = lambda _: Bent(keep=0.5)
    assert get(app, path).content == whole[: len(whole) // 2]
    app.switches.fault = lambda _: Response(502, {"message": "Server Error"})
    assert get(app, path).status_code == 502

    def drop(_: Request) -> Response | None:
        raise Dropped

    app.switches.fault = drop
    with pytest.raises(Dropped):
        get(app, path)
    assert app.log[-1].status == 0


def test_over_a_real_socket(world: GitHubWorld, repo: Repo) -> None:
    """The same over TCP: links lead back here, a dropped connection is a transport error, overlap is counted."""
    world.fill(repo, pulls=5, comments=250, review_comments=20)
    app = GitHubApp(world, Switches(latency=0.02))
    with serving(app) as root, httpx.Client(base_url=root, headers=TOKEN) as client:
        found, url = [], f"{BASE}/issues/comments?per_page=100"
        while url:
            answer = client.get(url)
            found += ids(answer)
            url = next_link(answer) or ""
            assert not url or url.startswith(root)
        assert sorted(found) == sorted(world.truth().issue_comments)
        assert client.get(BASE).headers.get_list("date") == ["Mon, 02 Jun 2025 09:30:15 GMT"]
        assert client.get(BASE).json()["url"] == f"{root}{BASE}"

        async def at_once() -> None:
            async with httpx.AsyncClient(base_url=root) as crowd:
                await asyncio.gather(*(crowd.get(BASE) for _ in range(5)))

        asyncio.run(at_once())
        assert 1 < app.max_in_flight <= 5 and app.in_flight == 0

        def drop(_: Request) -> Response | None:
            raise Dropped

        app.switches.fault = drop
        with pytest.raises(httpx.TransportError):
            client.get(BASE)
        app.switches.fault = lambda _: Bent(delay=0.3)
        with pytest.raises(httpx.ReadTimeout):
            client.get(BASE, timeout=0.1)


def test_items_can_name_one_fixed_address(world: GitHubWorld, repo: Repo) -> None:
    """With `public_url` bodies (and so ETags) are the same on every port, while links still lead here."""
    said(repo, 3)
    app = GitHubApp(world, public_url="https://api.github.com")
    answer = get(app, f"{BASE}/issues/comments", per_page=2)
    assert answer.json()[0]["url"].startswith("https://api.github.com/repos/lantern/")
    assert answer.links["next"]["url"].startswith(ROOT)


def test_replies_in_a_review_thread(app: GitHubApp, repo: Repo) -> None:
    """To a thread's first comment; a reply to a reply, another pull request's comment or a long body are refused."""
    number = repo.open_pull("maya", "Faster", "")
    first = repo.review_comment(number, "noor", "a.py", "Why?", 3)
    path = f"{BASE}/pulls/{number}/comments/{first}/replies"
    made = ask(app, "POST", path, json={"body": "So."})
    assert made.status_code == 201 and made.json()["in_reply_to_id"] == first
    assert made.json()["user"]["login"] == "earshot" and made.json()["path"] == "a.py"
    reply = f"{BASE}/pulls/{number}/comments/{made.json()['id']}/replies"
    assert ask(app, "POST", reply, json={"body": "And?"}).status_code == 422
    assert ask(app, "POST", path.replace(str(first), "99"), json={"body": "?"}).status_code == 404
    assert ask(app, "POST", path, json={"body": "x" * 65_537}).status_code == 422
    assert len(repo.review_comments.of(number)) == 2


def test_a_token_that_may_only_read(app: GitHubApp, repo: Repo) -> None:
    number = repo.open_issue("maya", "Slow", "")
    app.access.readers.add("demo-token")
    assert get(app, f"{BASE}/issues/{number}").status_code == 200
    refused = ask(app, "POST", f"{BASE}/issues/{number}/comments", json={"body": "hi"})
    assert refused.status_code == 403 and "not accessible" in refused.json()["message"]
    assert repo.comments.of(number) == []


def test_whose_token_it_is(app: GitHubApp) -> None:
    assert get(app, "/user").json()["login"] == "earshot"
    assert get(app, "/user", {}).status_code == 401


def test_a_token_tells_its_scopes_and_its_end(app: GitHubApp, repo: Repo) -> None:
    """A classic token tells its scopes with each answer, also where nothing is counted; a fine-grained one tells none."""
    assert "x-oauth-scopes" not in get(app, "/rate_limit").headers
    app.access.scopes["demo-token"], app.access.expire["demo-token"] = "repo, gist", "2026-12-01 00:00:00 UTC"
    for path in ("/rate_limit", "/user", BASE):
        told = get(app, path).headers
        assert told["x-oauth-scopes"] == "repo, gist"
        assert told["github-authentication-token-expiration"] == "2026-12-01 00:00:00 UTC"
    assert "x-oauth-scopes" not in get(app, BASE, {}).headers


def test_a_narrow_token_and_a_private_repository(app: GitHubApp, world: GitHubWorld) -> None:
    """Without the scope it is not there; without a permission it is there and its lists are not. Public ones stay open."""
    world.add_repo("lantern/lantern")
    world.add_repo("lantern/secret", private=True)
    app.access.scopes["demo-token"] = "gist"
    assert get(app, "/repos/lantern/secret").status_code == 404 and get(app, BASE).status_code == 200
    app.access.scopes.clear()
    app.access.permissions["demo-token"] = {"issues"}
    answers = {path: get(app, f"/repos/lantern/secret{path}") for path in ("", "/issues", "/issues/comments", "/pulls")}
    assert {path: answer.status_code for path, answer in answers.items()} == {
        "": 200, "/issues": 200, "/issues/comments": 200, "/pulls": 403
    }  # fmt: skip
    assert answers["/pulls"].headers["x-accepted-github-permissions"] == "pull_requests=read"
    assert get(app, f"{BASE}/pulls").status_code == 200


def test_a_token_of_an_app_is_nobodys(app: GitHubApp, repo: Repo) -> None:
    app.access.installations.add("demo-token")
    assert get(app, "/user").status_code == 403 and get(app, BASE).status_code == 200


# GraphQL


QUERY = "query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { databaseId %s } }"
THREADS = (
    "pullRequest(number: %d) { reviewThreads(first: %s) { nodes { id comments(first: %s) { nodes { databaseId } } } } }"
)
NAMED = {"owner": "Lantern", "name": "lantern"}


def query(app: GitHubApp, inner: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return ask(app, "POST", "/graphql", headers, json={"query": QUERY % inner, "variables": NAMED})


@pytest.mark.parametrize(("inner", "kind", "message"), [
    ("pullRequest(number: 1) { isResolved }", None, "Field 'isResolved' doesn't exist on type 'PullRequest'"),
    ("pullRequest(number: 1) { reviewThreads { nodes { id } } }", "MISSING_PAGINATION_BOUNDARIES", "`first` or `last`"),
    (THREADS % (1, "101", "1"), "EXCESSIVE_PAGINATION", "exceeds the `first` limit of 100 records"),
    (" ".join(f"p{n}: {THREADS % (n, '100', '100')}" for n in range(50)), "MAX_NODE_LIMIT_EXCEEDED", "505,000 possible"),
    ("pullRequest(number: 1)", None, "must have selections"),
])  # fmt: skip
def test_graphql_refuses_with_200_and_answers_nothing(
    app: GitHubApp, repo: Repo, inner: str, kind: str | None, message: str
) -> None:
    repo.open_pull("maya", "One", "")
    told = query(app, inner)
    (error,) = told.json()["errors"]
    assert told.status_code == 200 and "data" not in told.json() and error.get("type") == kind
    assert message in error["message"]


def test_graphql_wants_a_token_and_spends_points_of_its_own(app: GitHubApp, repo: Repo) -> None:
    """401 without one; a hundred threads are a point, and what REST has left stays as it is."""
    pull = repo.open_pull("maya", "One", "")
    assert query(app, THREADS % (pull, "100", "1"), {}).status_code == 401
    told = query(app, THREADS % (pull, "100", "1"))
    assert (told.headers["x-ratelimit-resource"], told.headers["x-ratelimit-used"]) == ("graphql", "1")
    assert get(app, BASE).headers["x-ratelimit-used"] == "1"
    app.access.points = 1
    spent = query(app, THREADS % (pull, "100", "1"))
    assert spent.status_code == 200 and [e["type"] for e in spent.json()["errors"]] == ["RATE_LIMITED"]
    assert get(app, BASE).status_code == 200


def test_graphql_answers_what_is_there_and_names_what_is_not(app: GitHubApp, repo: Repo) -> None:
    """Data and errors together; an id beyond 32 bits is told as text alone."""
    pull = repo.open_pull("maya", "One", "")
    first = repo.review_comment(pull, "odile", "a.go", "Why?", 3)
    told = query(app, f"here: {THREADS % (pull, '1', '1')} gone: {THREADS % (77, '1', '1')}").json()
    (thread,) = told["data"]["repository"]["here"]["reviewThreads"]["nodes"]
    assert thread["comments"]["nodes"] == [{"databaseId": first}]
    assert told["data"]["repository"]["gone"] is None
    (error,) = told["errors"]
    assert (error["type"], error["path"]) == ("NOT_FOUND", ["repository", "gone"])
