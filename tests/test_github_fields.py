"""The demo world and our reader against GitHub's schemas: what the one shows, and what the other can do without."""

import copy
from collections.abc import Callable, Iterator
from typing import Any, cast

import orjson
import pytest

from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.world import GitHubWorld
from sources.core.values import Row, Unreadable, integer, json_text
from sources.github.surfaces.issue_comments import comment_row
from sources.github.surfaces.issues import issue_row, issue_version, opener_row
from sources.github.surfaces.parts import comment_version, number_told
from sources.github.surfaces.pull_request_rows import pull_request_row, pull_version
from sources.github.surfaces.repositories import repository_row
from sources.github.surfaces.review_comments import anchor_row, review_comment_row
from sources.github.surfaces.reviews import review_row
from tests.demo_client import BASE, NOW, get
from tests.github_schemas import SCHEMAS, fields, wrong
from tests.memory import Memory, settings
from tests.memory import read as tell
from tests.watched import Path, Watched

Record = dict[str, Any]
ASKED = {
    "repository": "", "issue": "/issues?state=all", "pull-in-list": "/pulls?state=all", "issue-comment": "/issues/comments",
    "review-comment": "/pulls/comments", "review": "/pulls/{pull}/reviews",
}  # fmt: skip
SINGLE = {
    "issue": "/issues/{pull}", "pull": "/pulls/{pull} /pulls/{open}", "issue-comment": "/issues/comments/1001",
    "review-comment": "/pulls/comments/1001", "review": "/pulls/{pull}/reviews/1001",
}  # fmt: skip


def speak(world: GitHubWorld) -> dict[str, int]:
    """Every shape that a record can have: people of all kinds, all that can be set, all that can happen to a place."""
    repo = world.add_repo("lantern/lantern", private=True)
    repo.members.update({"maya", "tomasz-w"})
    repo.collaborators.add("liu-yan")
    repo.contributors.add("benji")
    repo.teams["cache"] = {"tomasz-w"}
    issue = repo.open_issue("pete-q", "Is it cached?", "It seems so.", labels=("bug",), app="pocket")
    repo.assign(issue, "maya", "liu-yan")
    repo.set_milestone(issue, "1.0")
    repo.lock(issue, "too heated")
    repo.comment(issue, "liu-yan", "From my telephone.", app="pocket")
    repo.comment(issue, "ci[bot]", "green")
    pull = repo.open_pull("benji", "Cache nothing", "Closes #1.", draft=True, labels=("bug",))
    repo.assign(pull, "benji")
    repo.request_review(pull, "maya", "tomasz-w", teams=("cache", "docs"))
    first = repo.review_comment(pull, "maya", "cache.go", "Why here?", 12, start_line=10)
    repo.review_comment(pull, "benji", "cache.go", "Because.", 12, in_reply_to=first)
    repo.review_comment(pull, "old-otter", "cache.go", "Licence?", None, subject_type="file")
    repo.review_comment(pull, "old-otter", "gone.go", "Is it needed?", 3)
    repo.review(pull, "old-otter", "COMMENTED", "Bye.")
    repo.review(pull, "earshot", "PENDING", "Not said yet.")
    repo.push(pull, outdates=("gone.go",))
    repo.merge(pull, "maya")
    world.delete_user("old-otter")
    is_open = repo.open_pull("liu-yan", "Cache all", "")
    repo.archive()
    return {"issue": issue, "pull": pull, "open": is_open}


@pytest.fixture(scope="module")
def answers() -> dict[str, list[Record]]:
    """Schema → records, as lists and as their own addresses tell them."""
    world = GitHubWorld(NOW)
    numbers, app = speak(world), GitHubApp(world)
    told: dict[str, list[Record]] = {}
    for asked in (ASKED, SINGLE):
        for schema, path in [(schema, path) for schema, paths in asked.items() for path in paths.split() or [""]]:
            found = get(app, BASE + path.format(**numbers)).json()
            told.setdefault(schema, []).extend(found if isinstance(found, list) else [found])
    return told


@pytest.mark.parametrize("schema", [*ASKED, "pull"])
def test_what_the_demo_world_answers_is_what_the_schemas_allow(answers: dict[str, list[Record]], schema: str) -> None:
    """Every field that must be there is (but for addresses and figures), of its kind, and none that nobody knows."""
    assert [each for record in answers[schema] for each in wrong(record, schema)] == []


def test_the_demo_world_shows_what_the_schemas_have(answers: dict[str, list[Record]]) -> None:
    """People of every standing, machines and people behind an app, whom and what a thing is given to."""
    issue, pull = (next(r for r in answers["issue"] if r["title"].startswith(t)) for t in ("Is it", "Cache nothing"))
    assert [each["login"] for each in issue["assignees"]] == ["maya", "liu-yan"] and issue["assignee"][
        "login"
    ] == "maya"
    assert issue["milestone"]["title"] == "1.0" and issue["locked"] and issue["active_lock_reason"] == "too heated"
    listed, single = answers["pull-in-list"][1], answers["pull"][0]
    for each in (listed, single):
        assert [one["login"] for one in each["requested_reviewers"]] == ["tomasz-w"], "maya has answered"
        assert [team["slug"] for team in each["requested_teams"]] == ["cache", "docs"]
    assert "merged_by" not in listed and single["merged_by"]["login"] == pull["closed_by"]["login"] == "maya"
    by_person, by_bot = answers["issue-comment"][:2]
    assert by_person["user"]["type"] == "User" and by_person["performed_via_github_app"]["slug"] == "pocket"
    assert by_bot["user"]["type"] == "Bot" and by_bot["performed_via_github_app"] is None
    assert answers["repository"][0]["private"] is answers["repository"][0]["archived"] is True
    standing = {
        each["user"]["login"]: each["author_association"]
        for kind in ("issue", "issue-comment", "review-comment", "review")
        for each in answers[kind] if each["user"]
    }  # fmt: skip
    told = {"maya": "MEMBER", "liu-yan": "COLLABORATOR", "benji": "CONTRIBUTOR", "pete-q": "NONE"}
    assert told.items() <= standing.items()


def test_a_team_is_not_asked_any_more_when_one_of_it_has_answered() -> None:
    """And whoever owns a repository of their own is its owner."""
    world = GitHubWorld(NOW)
    repo = world.add_repo("maya/bench")
    repo.teams["cache"] = {"tomasz-w"}
    pull = repo.open_pull("maya", "One", "")
    repo.request_review(pull, "tomasz-w", teams=("cache", "docs"))
    repo.review(pull, "tomasz-w", "APPROVED")
    (told,) = get(GitHubApp(world), "/repos/maya/bench/pulls").json()
    assert told["requested_reviewers"] == [] and [team["slug"] for team in told["requested_teams"]] == ["docs"]
    assert told["author_association"] == "OWNER"


def read(schema: str, record: Record) -> list[Row]:
    """All that a run makes of a record: its rows, its version, its number."""
    place = ("7", "lantern/lantern")
    version: Callable[[Record], str]
    match schema:
        case "repository":
            return [repository_row(record, NOW)]
        case "issue":
            made, version = [row(record, *place, NOW) for row in (issue_row, opener_row)], issue_version
        case "pull" | "pull-in-list":
            made, version = [pull_request_row(record, *place, NOW, True)], pull_version
        case "issue-comment":
            made, version = [comment_row(record, *place, NOW)], comment_version
        case "review-comment":
            shapes = review_comment_row, anchor_row
            made, version = [row(record, *place, NOW) for row in shapes], comment_version
        case _:
            return [review_row(record, *place, integer(number_told(record)), NOW)]
    return [*made, {"seen_as": version(record), "number_told": number_told(record)}]


# Every field that is read. Without those of the first table there is no row, and the record is kept raw: the schemas say
# that they are always there. All others may be absent or null, whether the schemas allow it or not.
NEEDED = {
    "repository": "id full_name",
    "issue": "id number title state comments created_at updated_at",
    "pull-in-list": "id number title state created_at updated_at",
    "pull": "id number title state created_at updated_at",
    "issue-comment": "id issue_url created_at updated_at",
    "review-comment": "id pull_request_url path created_at updated_at",
    "review": "id state pull_request_url",
}
WHO = "user user.login user.id user.type author_association"
APP = "performed_via_github_app performed_via_github_app.slug"
GIVEN = "labels labels.name assignees assignees.login assignees.id assignee assignee.login assignee.id"
PULL = f"""{GIVEN} {WHO} html_url draft head head.ref head.sha base base.ref base.sha merge_commit_sha
    requested_reviewers requested_reviewers.login requested_reviewers.id requested_teams requested_teams.slug closed_at
    merged_at"""
SPARED = {
    "repository": "html_url private archived created_at",
    "issue": f"""{GIVEN} {WHO} {APP} body html_url state_reason milestone milestone.title locked pull_request
        pull_request.merged_at closed_at closed_by closed_by.login""",
    "pull-in-list": PULL,
    "pull": f"{PULL} merged_by merged_by.login",
    "issue-comment": f"{WHO} {APP} body html_url",
    "review-comment": f"""{WHO} body html_url in_reply_to_id pull_request_review_id subject_type side start_side
        original_line original_start_line original_commit_id diff_hunk line start_line position commit_id""",
    "review": f"{WHO} body html_url commit_id submitted_at",
}


def table(listed: dict[str, str]) -> list[tuple[str, str]]:
    return [(schema, path) for schema, paths in listed.items() for path in paths.split()]


def inner(schema: str, name: str) -> str | None:
    """The schema of what a field holds, if it is one of ours."""
    kinds = "|".join(fields(schema)[name].kinds).strip("[]").split("|")
    return next((kind for kind in kinds if kind in SCHEMAS), None)


def is_known(schema: str | None, path: Path) -> bool:
    """What the schema does not have was looked for in vain."""
    if schema is None or path[0] not in fields(schema):
        return False
    return len(path) == 1 or is_known(inner(schema, path[0]), path[1:])


@pytest.mark.parametrize("schema", list(NEEDED))
def test_every_field_that_is_read_has_its_row(answers: dict[str, list[Record]], schema: str) -> None:
    """Who reads another one says in the tables above whether a record can do without it."""
    seen: set[Path] = set()
    for record in answers[schema]:
        read(schema, Watched(record, seen))
        read(schema, Watched({**record, "assignees": None}, seen))
    named = {tuple(path.split(".")) for listed in (NEEDED, SPARED) for path in listed[schema].split()}
    assert {path for path in seen if is_known(schema, path)} == {path for path in named if is_known(schema, path)}


@pytest.mark.parametrize(("schema", "name"), table(NEEDED))
def test_what_is_needed_is_always_there(answers: dict[str, list[Record]], schema: str, name: str) -> None:
    """So say the schemas; what lacks it all the same is kept raw, by its reason."""
    fact = fields(schema)[name]
    assert fact.must and "null" not in fact.kinds
    record = next(each for each in answers[schema] if '"merged_at":"' not in json_text(each))
    for without in ({key: value for key, value in record.items() if key != name}, {**record, name: None}):
        with pytest.raises(Unreadable):
            read(schema, without)


def holders(value: Any, path: Path) -> Iterator[Record]:
    """Every object in a record that has the last field of a path."""
    if isinstance(value, list):
        for each in value:
            yield from holders(each, path)
    elif isinstance(value, dict) and path[0] in value:
        if len(path) == 1:
            yield value
        else:
            yield from holders(value[path[0]], path[1:])


@pytest.mark.parametrize("becomes", ["absent", "null"])
@pytest.mark.parametrize(("schema", "path"), table(SPARED))
def test_what_may_be_missing_keeps_no_record_from_landing(
    answers: dict[str, list[Record]], schema: str, path: str, becomes: str
) -> None:
    """Neither absent nor null, wherever it stands. It is the same record in the same words, but where they are missing."""
    met = 0
    for record in copy.deepcopy(answers[schema]):
        whole = read(schema, copy.deepcopy(record))
        found = list(holders(record, tuple(path.split("."))))
        met += len(found)
        for holder in found:
            if becomes == "absent":
                del holder[path.split(".")[-1]]
            else:
                holder[path.split(".")[-1]] = None
        for row, was in zip(read(schema, record), whole, strict=True):
            assert row.get("id") == was.get("id") and row.get("parent_key") == was.get("parent_key")
            assert row.get("body") == was.get("body") or path == "body"
            assert row.get("author") in (was.get("author"), "ghost")
            assert row.get("created_at") == was.get("created_at") or path in ("created_at", "submitted_at")
    assert met, "the world shows no such field"


# What becomes of what is missing, where it is not simply null


@pytest.mark.parametrize(("labels", "names"), [
    ([{"name": "bug"}, "wip"], ["bug", "wip"]), ([{"name": None}, {}, {"name": "bug"}], ["bug"]), (None, []),
    ([{"name": "bug"}, "bug"], ["bug"]),
])  # fmt: skip
def test_labels_may_be_bare_words_or_nameless(answers: dict[str, list[Record]], labels: Any, names: list[str]) -> None:
    """A label without a name costs neither its issue nor the other labels."""
    for schema in ("issue", "pull"):
        row = read(schema, {**answers[schema][0], "labels": labels})[0]
        assert row["labels"] == [{"name": name, "parent_key": row["parent_key"]} for name in names]


def logins(row: Row) -> list[str]:
    return [person["login"] for person in cast(list[Row], row["assignees"])]


def test_an_old_answer_tells_one_assignee(answers: dict[str, list[Record]]) -> None:
    """`assignee` counts where there are no `assignees`; an empty list is an answer."""
    for schema in ("issue", "pull"):
        record = {**answers[schema][0], "assignee": {"login": "maya"}}
        told = {key: value for key, value in record.items() if key != "assignees"}
        assert logins(read(schema, told)[0]) == ["maya"]
        assert logins(read(schema, {**told, "assignees": []})[0]) == []
        assert logins(read(schema, {**told, "assignee": None})[0]) == []


def test_a_team_that_only_tells_its_number_is_left_out(answers: dict[str, list[Record]]) -> None:
    """As one was recorded."""
    record = answers["pull"][0] | {"requested_teams": [{"id": 123}, {"slug": "docs"}]}
    row = read("pull", record)[0]
    assert row["requested_teams"] == [{"slug": "docs", "parent_key": row["parent_key"]}]


@pytest.mark.parametrize(("place", "is_outdated"), [
    ({"line": 3, "position": 1}, False), ({"line": None, "position": None}, True), ({"line": None, "position": 5}, True),
    ({"position": 5}, False), ({"position": None}, True), ({}, False),
    ({"line": None, "position": 1, "subject_type": "file"}, False),
])  # fmt: skip
def test_outdated_is_who_has_no_place_any_more(
    answers: dict[str, list[Record]], place: Record, is_outdated: bool
) -> None:
    """An old server tells a position and no line; what tells neither says nothing of it."""
    record = {k: v for k, v in answers["review-comment"][0].items() if k not in ("line", "position")}
    assert read("review-comment", {**record, **place})[1]["is_outdated"] is is_outdated


def test_a_review_that_tells_no_time_was_said_when_it_was_first_seen(answers: dict[str, list[Record]]) -> None:
    """One version, whenever it is read again."""
    record = {k: v for k, v in answers["review"][0].items() if k != "submitted_at"}
    (row,) = read("review", record)
    assert row["created_at"] == row["updated_at"] == NOW and row["version"] == read("review", record)[0]["version"]


@pytest.mark.parametrize("change", [
    {"assignees": [{"login": "odile"}]}, {"milestone": {"title": "2.0"}}, {"state_reason": "not_planned"},
])  # fmt: skip
def test_what_is_shown_of_an_issue_makes_a_version_of_it(answers: dict[str, list[Record]], change: Record) -> None:
    """Also within the second in which it was read."""
    record = answers["issue"][0]
    assert issue_version(record) != issue_version({**record, **change})


@pytest.mark.parametrize("change", [
    {"assignees": [{"login": "odile"}]}, {"requested_teams": []}, {"labels": []}, {"base": {"ref": "next"}},
])  # fmt: skip
def test_what_is_shown_of_a_pull_request_makes_a_version_of_it(
    answers: dict[str, list[Record]], change: Record
) -> None:
    """Also within the second in which it was read."""
    record = answers["pull-in-list"][1]
    assert pull_version(record) != pull_version({**record, **change})


class Odd(GitHubApp):
    """Answers that leave out whatever they may."""

    def encoded(self, shape: Any, place: Any, row: Any) -> bytes:
        record = orjson.loads(super().encoded(shape, place, row))
        if "labels" in record:
            record |= {"labels": [{"id": 1, "name": None}, "wip"], "assignee": {"login": "maya"}}
        for name in ("assignees", "submitted_at", "author_association", "line", "subject_type", "closed_by"):
            record.pop(name, None)
        return orjson.dumps({**record, "user": None, "milestone": None, "body": None})


def test_a_repository_that_tells_as_little_as_it_may_is_read_whole() -> None:
    """Nothing of it is in quarantine; a second reading, an hour later, makes no second version of anything."""
    world, memory = GitHubWorld(NOW), Memory()
    speak(world)
    world.advance(seconds=600)
    assert tell(Odd(world), memory, settings(["lantern/lantern"])).quarantined == {}
    repo = world.names["lantern/lantern"]
    held = {"issues": repo.issues, "openers": repo.issues, "issue_comments": repo.comments,
            "review_comments": repo.review_comments}  # fmt: skip
    assert {table: len(memory.rows(table)) for table in held} == {t: len(shelf.rows) for t, shelf in held.items()}
    assert len(memory.rows("pull_requests")) == 2
    assert {tuple(logins(row)) for row in memory.rows("issues")} == {("maya",)}
    said = copy.deepcopy(memory.rows("reviews"))
    assert len(said) == len(repo.reviews.rows) - 1, "all but the one that is not given yet"
    world.advance(seconds=3600)
    tell(Odd(world), memory, settings(["lantern/lantern"]), full=True)
    assert memory.rows("reviews") == said
