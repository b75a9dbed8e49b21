"""The demo GitLab keeps the facts that Earshot must survive: pages, refusals, limits, tags and faults."""

import asyncio
from itertools import pairwise

import httpx
import pytest

from pipelines.demo.gitlab.api.access import Throttled
from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.api.endpoints import API
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import Bent, Dropped, Request, Response, Switches, html_page
from tests.demo_client import ROOT, TOKEN, ask, get, ids, next_link, walk
from tests.demo_gitlab_client import MRS, NOW, PROJECT

PRIVATE = {"private-token": "demo-token"}


@pytest.fixture
def world() -> GitLabWorld:
    return GitLabWorld(NOW)


@pytest.fixture
def project(world: GitLabWorld) -> Project:
    return world.add_project("lantern/console")


@pytest.fixture
def app(world: GitLabWorld) -> GitLabApp:
    return GitLabApp(world)


def opened(project: Project, count: int) -> list[int]:
    """Issues, one a second, oldest first."""
    made = []
    for n in range(count):
        project.world.advance(seconds=1)
        made.append(project.open_issue("maya", f"Trouble {n}").id)
    return made


# Pages


def test_headers_lead_from_page_to_page(app: GitLabApp, project: Project) -> None:
    """Link and x-* headers say the same; every link repeats the endpoint's own defaults and the project."""
    opened(project, 25)
    middle = get(app, f"{PROJECT}/issues", per_page=10, page=2)
    told = {name: middle.headers[f"x-{name}"] for name in ("page", "per-page", "next-page", "prev-page", "total")}
    assert told == {"page": "2", "per-page": "10", "next-page": "3", "prev-page": "1", "total": "25"}
    assert middle.headers["x-total-pages"] == "3"
    assert {rel: link["url"].partition("page=")[2][0] for rel, link in middle.links.items()} == {
        "prev": "1", "next": "3", "first": "1", "last": "3",
    }  # fmt: skip
    assert middle.links["next"]["url"] == (
        f"{ROOT}{PROJECT}/issues?id=lantern%2Fconsole&order_by=created_at&page=3&per_page=10&sort=desc&state=all"
        "&with_labels_details=false"
    )
    last = get(app, f"{PROJECT}/issues", per_page=10, page=3)
    assert last.headers["x-next-page"] == "" and set(last.links) == {"prev", "first", "last"}
    assert set(get(app, f"{PROJECT}/issues", per_page=100).links) == {"first", "last"}


def test_a_page_past_the_end_is_empty(app: GitLabApp, project: Project) -> None:
    """And leads nowhere; an empty list has one page."""
    opened(project, 3)
    beyond = get(app, f"{PROJECT}/issues", page=9)
    assert beyond.json() == [] and set(beyond.links) == {"first", "last"} and beyond.headers["x-next-page"] == ""
    empty = get(app, MRS)
    assert (empty.json(), empty.headers["x-total"], empty.headers["x-total-pages"]) == ([], "0", "1")


def test_long_lists_tell_no_totals(app: GitLabApp, project: Project) -> None:
    """Above 10,000 rows x-total, x-total-pages and rel=last are gone; next stays."""
    made = opened(project, 9)
    assert app.access.counted_rows == 10_000
    app.access.counted_rows = 9
    assert "x-total" in get(app, f"{PROJECT}/issues").headers
    app.access.counted_rows = 8
    first = get(app, f"{PROJECT}/issues", per_page=4)
    assert not {"x-total", "x-total-pages"} & set(first.headers) and set(first.links) == {"next", "first"}
    assert walk(app, f"{PROJECT}/issues", next_link, per_page=4, sort="asc") == made


def test_deep_offsets_are_refused(app: GitLabApp, project: Project) -> None:
    """`page * per_page` beyond 50,000 is 405 although `next` led there; keyset pagination is not offered."""
    opened(project, 3)
    answer = get(app, f"{PROJECT}/issues", page=501, per_page=100)
    assert answer.status_code == 405 and "maximum allowed offset of 50000" in answer.json()["error"]
    assert get(app, f"{PROJECT}/issues", page=500, per_page=100).status_code == 200
    app.access.deepest_offset = 2
    second = get(app, f"{PROJECT}/issues", page=2, per_page=1)
    assert get(app, second.links["next"]["url"]).status_code == 405
    for path in (MRS, f"{PROJECT}/issues"):
        answer = get(app, path, pagination="keyset")
        assert answer.status_code == 405 and answer.json()["error"].startswith("Keyset pagination is not yet")


def test_unreadable_notes_leave_short_and_empty_pages(app: GitLabApp, project: Project) -> None:
    """Filtered after the page was cut: an empty page may have a next one, and totals count what nobody sees."""
    issue = project.open_issue("maya", "Trouble")
    made = [project.comment(issue, "maya", str(n), internal=4 <= n < 11).id for n in range(12)]
    path = f"{PROJECT}/issues/1"
    for ending, by_id in (
        ("notes?sort=asc", lambda row: row["id"]),
        ("discussions?", lambda row: row["notes"][0]["id"]),
    ):
        pages = [get(app, f"{path}/{ending}&per_page=3&page={n}") for n in (1, 2, 3, 4)]
        assert [len(page.json()) for page in pages] == [3, 1, 0, 1]
        assert pages[2].headers["x-next-page"] == "4" and pages[2].headers["x-total"] == "12"
        found = [by_id(row) for page in pages for row in page.json()]
        assert found == made[:4] + made[11:]


def test_a_test_may_hide_any_note_or_row(app: GitLabApp, project: Project) -> None:
    """`switches.hide` works like an unreadable note; a server may also give fewer than asked, and lose headers."""
    made = opened(project, 12)
    app.switches.hide = lambda row: row.id in made[3:9]
    app.switches.max_per_page = 3
    path = f"{PROJECT}/issues"
    assert get(app, path, sort="asc", page=2).json() == []
    assert walk(app, path, next_link, sort="asc", per_page=100) == made[:3] + made[9:]
    app.switches.strip_headers = {"link", "x-next-page"}
    assert not {"link", "x-next-page"} & set(get(app, path).headers)


def test_sizes(app: GitLabApp, project: Project) -> None:
    """per_page: 20 unless said, never more than 100; nothing below 1, and no words."""
    opened(project, 120)
    path = f"{PROJECT}/issues"
    assert {size: len(get(app, path, per_page=size).json()) for size in (7, 100, 500)} == {7: 7, 100: 100, 500: 100}
    assert len(get(app, path).json()) == 20
    assert get(app, path, per_page=500).headers["x-per-page"] == "100"
    for name, value in (("per_page", 0), ("page", -1), ("per_page", "many")):
        assert get(app, path, **{name: value}).status_code == 400


def test_lists_come_newest_first_unless_told_otherwise(app: GitLabApp, project: Project) -> None:
    """Merge requests, issues and notes descend by creation; discussions and events ascend."""
    made = opened(project, 3)
    issue = project.issues[1]
    notes = [project.start_thread(issue, "maya", str(n)).id for n in range(3)]
    project.world.advance(seconds=1)
    project.label(issue, "maya", add=["a", "b"])
    assert ids(get(app, f"{PROJECT}/issues")) == made[::-1]
    assert ids(get(app, f"{PROJECT}/issues", order_by="updated_at", sort="asc")) == [*made[1:], made[0]]
    assert ids(get(app, f"{PROJECT}/issues/1/notes")) == notes[::-1]
    threads = get(app, f"{PROJECT}/issues/1/discussions", updated_after="2030-01-01T00:00:00Z").json()
    assert [thread["notes"][0]["id"] for thread in threads] == notes
    events = get(app, f"{PROJECT}/issues/1/resource_label_events").json()
    assert all(one["id"] < two["id"] for one, two in pairwise(events))


def test_filters(app: GitLabApp, project: Project) -> None:
    """state, iids[], labels and scope; an unknown iid finds nothing and is no mistake."""
    for n, name in enumerate(("earshot", "maya", "maya")):
        project.open_merge_request(name, str(n), labels=["bug", "ui"][: n + 1], reviewers=["earshot"] if n else [])
    mrs = project.merge_requests
    project.close(mrs[2], "maya")
    project.lock(mrs[3])

    def found(query: str) -> list[int]:
        return [row["iid"] for row in get(app, f"{MRS}?sort=asc&{query}").json()]

    assert found("state=all") == [1, 2, 3] and found("state=closed") == [2] and found("state=opened") == [1]
    assert found("iids[]=1&iids[]=3&iids[]=99") == [1, 3] and found("iids%5B%5D=2") == [2]
    assert found("labels=bug") == [1, 2, 3] and found("labels=bug,ui") == [2, 3] and found("labels=None") == []
    assert found("scope=created_by_me") == [1] and found("scope=all") == [1, 2, 3]
    assert found("scope=reviews_for_me") == [2, 3] and found("scope=assigned_to_me") == []
    assert get(app, f"{MRS}?scope=created_by_me", {}).status_code == 401


def test_whether_locked_can_be_asked_for_depends(world: GitLabWorld, app: GitLabApp, project: Project) -> None:
    """`state=locked` is accepted everywhere, but an old server then answers with everything."""
    project.open_merge_request("maya", "One")
    project.lock(project.open_merge_request("maya", "Two"))
    assert [row["state"] for row in get(app, MRS, state="locked").json()] == ["locked"]
    world.field_names = "old"
    assert len(get(app, MRS, state="locked").json()) == 2
    assert get(app, f"{PROJECT}/issues", state="locked").status_code == 400


# Refusals


def test_malformed_values_are_refused(app: GitLabApp, project: Project) -> None:
    """400 with `error`; an unencoded plus makes a bad instant."""
    for query in ("state=ajar", "order_by=mood", "sort=up", "scope=mine"):
        answer = get(app, f"{MRS}?{query}")
        assert (answer.status_code, answer.json()) == (
            400, {"error": f"{query.partition('=')[0]} does not have a valid value"},
        )  # fmt: skip
    for value in ("yesterday", "2025-13-45T00:00:00Z", "2026-01-02T03:04:05+00:00"):
        answer = get(app, f"{MRS}?updated_after={value}")
        assert (answer.status_code, answer.json()) == (400, {"error": "updated_after is invalid"})


def test_what_the_world_does_not_model_is_refused(app: GitLabApp, project: Project) -> None:
    """A filter that GitLab knows is never quietly ignored here: 501. What nobody knows is ignored, as there."""
    for query in ("author_username=maya", "not[labels]=bug", "order_by=title", "view=simple"):
        assert get(app, f"{MRS}?{query}").status_code == 501
    assert get(app, f"{MRS}?colour=red").status_code == 200


def test_unknown_is_404_in_several_words(app: GitLabApp, project: Project) -> None:
    """A project, a row and an address each have their own; an unencoded slash makes another address."""
    project.delete(project.open_merge_request("maya", "Oops"))
    messages = {
        "/api/v4/projects/9": {"message": "404 Project Not Found"},
        "/api/v4/projects/lantern%2Fother/issues": {"message": "404 Project Not Found"},
        f"{MRS}/1": {"message": "404 Not found"},
        f"{MRS}/1/discussions": {"message": "404 Not found"},
        f"{PROJECT}/nothing": {"error": "404 Not Found"},
        "/api/v4/projects/lantern/console": {"error": "404 Not Found"},
    }
    for path, body in messages.items():
        answer = get(app, path)
        assert (answer.status_code, answer.json()) == (404, body), path
    assert project.open_merge_request("maya", "Again").iid == 2


def test_who_may_ask(world: GitLabWorld, app: GitLabApp, project: Project) -> None:
    """Two ways to show a token; a wrong one is 401 even in public; what is said needs one even there."""
    project.open_issue("maya", "Trouble")
    for headers in (TOKEN, PRIVATE, {}):
        assert get(app, PROJECT, headers).status_code == get(app, f"{PROJECT}/issues/1", headers).status_code == 200
    for path in ("issues/1/discussions", "issues/1/notes", "issues/1/resource_label_events"):
        assert get(app, f"{PROJECT}/{path}", {}).json() == {"message": "401 Unauthorized"}
        assert get(app, f"{PROJECT}/{path}", PRIVATE).status_code == 200
    for headers in ({"private-token": "wrong"}, {"authorization": "Bearer wrong"}):
        answer = get(app, PROJECT, headers)
        assert (answer.status_code, answer.json()) == (401, {"message": "401 Unauthorized"})
    app.access.revoked.add("demo-token")
    assert get(app, PROJECT).json()["error"] == "invalid_token"
    assert get(app, "/api/v4/user", {}).status_code == get(app, "/api/v4/version", {}).status_code == 401


def test_private_projects_are_not_there_for_strangers(world: GitLabWorld, app: GitLabApp, project: Project) -> None:
    """404, not 403; also when a public project becomes private, or its token's owner is no member any more."""
    project.open_issue("maya", "Trouble")
    project.private = True
    for path in (PROJECT, f"{PROJECT}/issues", f"{PROJECT}/issues/1"):
        assert get(app, path, {}).json() == {"message": "404 Project Not Found"}
        assert get(app, path).status_code == 200
    assert world.truth("earshot").issues
    project.members = {"maya"}
    assert get(app, PROJECT).status_code == 404 and not world.truth("earshot").issues


def test_moved_projects_redirect_reads(app: GitLabApp, project: Project) -> None:
    """301 to the address by id, query kept, plain text; writes to the old path are 405; the id stays."""
    opened(project, 1)
    project.rename("lantern/tower")
    answer = get(app, f"{PROJECT}/issues", per_page=5)
    assert answer.status_code == 301 and answer.text.startswith("This resource has been moved permanently to http")
    assert answer.headers["location"] == f"{ROOT}/api/v4/projects/{project.id}/issues?per_page=5"
    (row,) = get(app, answer.headers["location"]).json()
    assert row["references"]["full"] == "lantern/tower#1" and "/lantern/tower/-/issues/1" in row["web_url"]
    assert get(app, "/api/v4/projects/lantern%2Ftower").json()["id"] == project.id
    assert get(app, PROJECT).headers["location"] == f"{ROOT}/api/v4/projects/{project.id}"
    assert ask(app, "POST", f"{PROJECT}/issues/1/notes", json={"body": "hi"}).status_code == 405


def test_about_the_visitor_and_the_server(world: GitLabWorld, app: GitLabApp) -> None:
    """/user and /version; asking creates no account."""
    assert get(app, "/api/v4/user").json()["username"] == "earshot" and not world.users
    assert get(app, "/api/v4/version").json()["version"].startswith("18.")


# Limits and tags


def test_tags_depend_on_the_body_only(app: GitLabApp, project: Project) -> None:
    """304 without a body to who holds it, whatever the token; not when a row changed."""
    opened(project, 2)
    path = f"{PROJECT}/issues"
    first = get(app, path)
    held = {"if-none-match": first.headers["etag"]}
    assert first.headers["etag"].startswith('W/"')
    again = get(app, path, PRIVATE | held)
    assert (again.status_code, again.content) == (304, b"") and again.headers["x-total"] == "2"
    assert get(app, path, held).status_code == 304
    project.label(project.issues[1], "maya", add=["bug"])
    assert get(app, path, TOKEN | held).status_code == 200


def test_the_throttle_counts_everything_by_the_minute(world: GitLabWorld, app: GitLabApp, project: Project) -> None:
    """429 in plain text with Retry-After until the full minute; a 304 costs as much as any answer."""
    world.now = NOW.replace(second=40)
    app.access.per_minute = 2
    first = get(app, PROJECT)
    assert (first.headers["ratelimit-limit"], first.headers["ratelimit-remaining"]) == ("2", "1")
    assert get(app, PROJECT, TOKEN | {"if-none-match": first.headers["etag"]}).status_code == 304
    answer = get(app, PROJECT)
    assert (answer.status_code, answer.text) == (429, "Retry later\n")
    assert answer.headers["content-type"] == "text/plain" and answer.headers["retry-after"] == "20"
    assert answer.headers["ratelimit-observed"] == "3" and answer.headers["ratelimit-name"].endswith("_api")
    assert get(app, PROJECT, {}).status_code == 200
    world.advance(seconds=20)
    assert get(app, PROJECT).status_code == 200
    app.access.tells_budget = False
    assert "ratelimit-limit" not in get(app, PROJECT).headers


def test_other_limits_come_with_or_without_advice(app: GitLabApp, project: Project) -> None:
    """429 without any RateLimit header, now and then without Retry-After too."""
    app.access.throttled = Throttled(retry_after=None)
    answer = get(app, PROJECT)
    assert answer.status_code == 429 and not {"retry-after", "ratelimit-limit"} & set(answer.headers)
    app.access.throttled = Throttled(retry_after=7)
    assert get(app, PROJECT).headers["retry-after"] == "7"
    assert get(app, PROJECT).status_code == 200


# Writing


def test_notes_can_be_posted(app: GitLabApp, project: Project) -> None:
    """Alone or into a thread; needs a token and a body."""
    issue = project.open_issue("maya", "Trouble")
    path = f"{PROJECT}/issues/1/notes"
    assert ask(app, "POST", path, {}, json={"body": "hi"}).status_code == 401
    assert ask(app, "POST", path, json={}).json() == {"error": "body is missing"}
    made = ask(app, "POST", path, json={"body": "hi"})
    assert made.status_code == 201 and made.json()["author"]["username"] == "earshot"
    thread = f"{PROJECT}/issues/1/discussions/{issue.threads[0].id}/notes"
    assert ask(app, "POST", thread, json={"body": "and more"}).json()["type"] == "DiscussionNote"
    assert ask(app, "POST", f"{PROJECT}/issues/1/discussions/abc/notes", json={"body": "?"}).status_code == 404
    assert len(get(app, path).json()) == 2 and issue.user_notes_count == 2


# Faults


def test_who_may_not_say_anything(app: GitLabApp, project: Project) -> None:
    """In a locked discussion only members may, in an archived project nobody; both can still be read."""
    mr = project.open_merge_request("maya", "Dark mode")
    project.lock_discussion(mr, "maya")
    notes = f"{MRS}/{mr.iid}/notes"

    def post() -> int:
        return ask(app, "POST", notes, json={"body": "hello"}).status_code

    assert post() == 403
    project.team.add("earshot")
    assert post() == 201
    project.archive()
    assert post() == 403 and get(app, PROJECT, TOKEN).json()["archived"] is True
    assert len(get(app, notes, TOKEN).json()) == 2


def test_faults_replace_bend_or_break_the_answer(app: GitLabApp, project: Project) -> None:
    """HTML with 200, truncated JSON, error statuses and broken connections can all be had."""
    opened(project, 3)
    path = f"{PROJECT}/issues"
    whole = get(app, path).content
    app.switches.fault = lambda request: Response(500, {"message": "500"}) if "page" in request.query else None
    assert get(app, path, page=2).status_code == 500 and get(app, path).content == whole
    app.switches.fault = lambda _: html_page()
    assert get(app, path).text.startswith("<!DOCTYPE html>")
    app.switches.fault = lambda _: Bent(keep=0.5)
    assert get(app, path).content == whole[: len(whole) // 2]

    def drop(_: Request) -> Response | None:
        raise Dropped

    app.switches.fault = drop
    with pytest.raises(Dropped):
        get(app, path)
    assert app.log[-1].status == 0


def test_answers_can_be_rewritten(app: GitLabApp, project: Project) -> None:
    """A broken row among good ones: bad instants, a wrong project_id, a reviewer without a name. Tags follow."""
    opened(project, 2)
    path = f"{PROJECT}/issues"
    good = get(app, path)

    def spoil(_: Request, body: list[dict[str, object]]) -> list[dict[str, object]]:
        body[1]["updated_at"] = "soon"
        return body

    app.rewrite = spoil
    bad = get(app, path, TOKEN | {"if-none-match": good.headers["etag"]})
    assert bad.status_code == 200 and [row["updated_at"] == "soon" for row in bad.json()] == [False, True]
    app.rewrite = None
    assert get(app, path, TOKEN | {"if-none-match": bad.headers["etag"]}).json() == good.json()


def test_addresses_can_be_fixed(world: GitLabWorld, project: Project) -> None:
    """Rows name `public_url` on any port; links go to where the server believes to be, which may be wrong."""
    opened(project, 3)
    app = GitLabApp(world, public_url="https://gitlab.com", link_root="http://gitlab.internal:8080")
    answer = get(app, f"{PROJECT}/issues", per_page=2)
    assert answer.json()[0]["web_url"] == "https://gitlab.com/lantern/console/-/issues/3"
    assert answer.links["next"]["url"].startswith("http://gitlab.internal:8080/api/v4/")


def test_over_a_real_socket(world: GitLabWorld, project: Project) -> None:
    """The same over TCP: encoded paths arrive encoded, links lead back here, overlap is counted."""
    world.fill(project, merge_requests=25, discussions=2, notes=2, days=30)
    app = GitLabApp(world, Switches(latency=0.02))
    with serving(app) as root, httpx.Client(base_url=root, headers=TOKEN) as client:
        found, url = [], f"{MRS}?per_page=10&order_by=updated_at&sort=asc"
        while url:
            answer = client.get(url)
            found += ids(answer)
            url = next_link(answer) or ""
            assert not url or url.startswith(root)
        assert sorted(found) == sorted(world.truth().merge_requests)
        assert answer.headers["date"] == "Fri, 02 Jan 2026 03:04:05 GMT"

        async def at_once() -> None:
            async with httpx.AsyncClient(base_url=root, headers=TOKEN) as crowd:
                await asyncio.gather(*(crowd.get(f"{MRS}/{iid}/discussions") for iid in range(1, 6)))

        asyncio.run(at_once())
        assert 1 < app.max_in_flight <= 5 and app.in_flight == 0
        assert [call.path for call in app.log][-1].endswith("/discussions")


def test_threads_can_be_resolved(app: GitLabApp, project: Project) -> None:
    """By who may write; a plain note has nothing to resolve; resolving again changes nothing."""
    mr = project.open_merge_request("maya", "Faster")
    thread = project.start_thread(mr, "noor", "Why?").discussion
    plain = project.comment(mr, "noor", "Good").discussion
    path = f"{MRS}/{mr.iid}/discussions/{thread.id}"
    assert ask(app, "PUT", path, {}, json={"resolved": True}).status_code == 401
    assert ask(app, "PUT", path, json={}).json() == {"error": "resolved is missing"}
    assert ask(app, "PUT", f"{MRS}/{mr.iid}/discussions/{plain.id}", json={"resolved": True}).status_code == 403
    assert ask(app, "PUT", f"{MRS}/{mr.iid}/discussions/abc", json={"resolved": True}).status_code == 404
    for _ in range(2):
        done = ask(app, "PUT", path, json={"resolved": True})
        assert done.status_code == 200 and done.json()["notes"][0]["resolved"] and thread.is_resolved
    assert ask(app, "PUT", path, params={"resolved": "false"}).status_code == 200 and not thread.is_resolved


def test_a_token_with_read_api_alone(app: GitLabApp, project: Project) -> None:
    mr = project.open_merge_request("maya", "Faster")
    app.access.readers.add("demo-token")
    refused = ask(app, "POST", f"{MRS}/{mr.iid}/notes", json={"body": "hi"})
    assert refused.status_code == 403 and refused.json()["error"] == "insufficient_scope" and not mr.notes


def test_a_token_looks_at_itself(app: GitLabApp, project: Project) -> None:
    """Whatever its scopes; all else needs api or read_api, also where nobody needs a token. An old server knows no such
    address."""
    itself = f"{API}/personal_access_tokens/self"
    assert get(app, itself).json()["scopes"] == ["api"] and get(app, itself, {}).status_code == 401
    app.access.scopes["demo-token"], app.access.expire["demo-token"] = ["read_user"], "2026-12-01"
    told = get(app, itself).json()
    assert (told["scopes"], told["expires_at"], told["active"]) == (["read_user"], "2026-12-01", True)
    assert get(app, f"{API}/user").status_code == 200 and get(app, MRS, {}).status_code == 200
    refused = get(app, MRS)
    assert refused.status_code == 403 and refused.json()["error"] == "insufficient_scope"
    app.world.field_names = "old"
    assert get(app, itself).status_code == 404


def test_an_expired_token(app: GitLabApp, project: Project) -> None:
    app.access.expired.add("demo-token")
    refused = get(app, MRS)
    assert refused.status_code == 401 and "expired" in refused.json()["error_description"]
