"""`earshot list`, `earshot count`: the seed's manual smoke tests over the demo world, checked by what is on the screen."""

from typing import Any

import duckdb
import pytest

from pipelines.ask.commands import listing
from tests.asked import Reader

PROJECTS = {1001: "console", 1002: "charts"}


def mrs(worlds: dict[str, Any], **facts: Any) -> list[str]:
    """The merge requests of which that is true, by project and number, as the world knows them."""
    found = [
        fact
        for fact in worlds["gitlab"].truth(reader="earshot").merge_requests.values()
        if all(
            value in fact[name] if isinstance(fact[name], list) else fact[name] == value
            for name, value in facts.items()
        )
    ]
    return sorted(f"{PROJECTS[fact['project_id']]}!{fact['iid']}" for fact in found)


def listed(reader: Reader, *words: str) -> list[str]:
    rows = reader.data("list", "mrs", "--limit", "100", *words)
    return sorted(f"{row['scope_name'].rpartition('/')[2]}!{row['number']}" for row in rows)


def test_a_table_of_ten_with_all_that_it_promises(demo: Reader) -> None:
    """Number, title, state, author, when: newest first, drafts marked, the rest counted."""
    lines = demo.ask("list", "mrs", "--limit", "10").lines
    assert lines[0] == "Merge Requests (showing 10 of 17)"
    assert lines[1].split() == ["title", "state", "author", "updated"]
    assert " ".join(lines[3].split()) == "console/15 Remove the spinner open @benji 1w"
    assert lines[4].startswith("console/9   [DRAFT] A theme for the night  ")
    assert len(lines) == 12


def test_wide_screens_tell_more_and_narrow_ones_stay_whole(demo: Reader) -> None:
    """At 160 columns nothing is cut; at 80 no line is longer than that."""
    wide = demo.ask("list", "mrs", width=160).out
    assert "Regenerate the API client for 1.0" in wide and "main <- client-1.0" in wide and "1 week ago" in wide
    assert "…" not in wide
    for words in (["mrs"], ["prs"], ["issues"], ["threads"], ["posts"]):
        assert max(map(len, demo.ask("list", *words, width=80).out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["--project", "lantern/charts"], {"project_id": 1002}),
        (["-p", "charts"], {"project_id": 1002}),
        (["--state", "merged"], {"state": "merged"}),
        (["--state", "locked"], {"state": "locked"}),
        (["--state", "opened"], {"state": "opened"}),
        (["--state", "open"], {"state": "opened"}),
        (["--state", "all"], {}),
        (["--draft"], {"is_draft": True}),
        (["--no-draft"], {"is_draft": False}),
        (["--author", "@noor"], {"author": "noor"}),
        (["--author", "NOOR"], {"author": "noor"}),
        (["--assignee", "benji"], {"assignees": "benji"}),
        (["--reviewer", "noor"], {"reviewers": "noor"}),
        (["--target-branch", "main"], {"target_branch": "main"}),
        (["--source-branch", "night"], {"source_branch": "night"}),
        (["--label", "design"], {"labels": "design"}),
        (["--label", "DESIGN", "--state", "opened"], {"labels": "design", "state": "opened"}),
    ],
)
def test_every_filter_finds_what_the_world_knows(
    demo: Reader, worlds: dict[str, Any], words: list[str], facts: dict[str, Any]
) -> None:
    """Neither more nor less, and never all or nothing by accident."""
    expected = mrs(worlds, **facts)
    assert expected and (not facts or facts == {"target_branch": "main"} or len(expected) < 17)
    assert listed(demo, *words) == expected


def test_a_team_that_is_asked_is_a_reviewer(demo: Reader) -> None:
    """By the name that its address has, as people are by theirs."""
    for name in ("edge-operators", "@Edge-Operators", "sanvi"):
        assert [row["number"] for row in demo.data("list", "prs", "--reviewer", name, "--state", "open")] == [44]


def test_every_merged_pull_request_tells_who_merged_it(demo: Reader, worlds: dict[str, Any]) -> None:
    """As the world does, and of no other."""
    truth = {(row["repo_id"], row["number"]): row for row in worlds["github"].truth().pull_requests.values()}
    told = demo.data("list", "prs", "--limit", "500")
    assert {(int(row["scope"]), row["number"]): row["merged_by"] for row in told} == {
        key: row["merged_by"] for key, row in truth.items()
    }
    for row in told:
        known = truth[int(row["scope"]), row["number"]]
        assert (row["state"] == "merged") == (known["merged_at"] is not None)
        for fact in ("assignees", "requested_teams", "milestone"):
            assert row[fact] == known[fact]


def test_labels_add_up_and_time_is_a_period_or_a_date(demo: Reader) -> None:
    """Two labels: both. `--since` by either way of telling it."""
    assert listed(demo, "--label", "design", "--label", "priority::low") == ["console!9"]
    assert listed(demo, "--since", "9d") == listed(demo, "--since", "2026-10-23") == ["charts!2", "console!15"]
    assert listed(demo, "--since", "7s") == []


def test_whose_turn_it_is(demo: Reader) -> None:
    """Of threads, and of what they hang on; nobody's are those that are closed or answered."""
    threads = demo.data("list", "threads", "--waiting-on", "noor")
    assert threads and {row["waiting_on"] for row in threads} == {"noor"}
    assert listed(demo, "--waiting-on", "noor") == sorted(
        {f"console!{row['parent_number']}" for row in threads if row["parent_kind"] == "merge_request"}
    )
    parents = {f"{row['scope_name']}{row['parent_number']}" for row in demo.data("list", "threads", "--limit", "999")}
    waiting = demo.data("list", "threads", "--waiting-on", "anyone", "--limit", "999")
    assert {f"{row['scope_name']}{row['parent_number']}" for row in waiting} < parents
    assert all(row["waiting_on"] and row["state"] in ("open", None) for row in waiting)


def test_what_is_unresolved(demo: Reader, worlds: dict[str, Any]) -> None:
    """A thread that GitLab can resolve and has not."""
    truth = worlds["gitlab"].truth(reader="earshot")
    expected = sum(
        any(n["is_resolvable"] for n in notes) and not all(n["is_resolved"] for n in notes if n["is_resolvable"])
        for notes in ([truth.notes[id_] for id_ in fact["notes"]] for fact in truth.discussions.values())
    )
    assert len(demo.data("list", "threads", "--unresolved", "--source", "gitlab", "--limit", "99")) == expected > 0
    assert "console!9" in listed(demo, "--unresolved") and "console!1" not in listed(demo, "--unresolved")


def test_all_sources_in_one_list(demo: Reader, worlds: dict[str, Any]) -> None:
    """Issues of both forges, pull requests with those who reviewed them, posts of all kinds."""
    issues = demo.data("list", "issues", "--limit", "500")
    assert {row["source"] for row in issues} == {"github", "gitlab"}
    assert {row["source"] for row in demo.data("list", "issues", "--source", "github")} == {"github"}
    pulls = demo.data("list", "prs", "--limit", "500")
    assert len(pulls) == len(worlds["github"].truth().pull_requests)
    assert any("tomasz-w" in row["reviewers"] and row["state"] == "merged" for row in pulls)
    posts = demo.data("list", "posts", "--limit", "500")
    assert {row["kind"] for row in posts} == {"post", "reply", "quote", "repost"}
    assert {row["kind"] for row in demo.data("list", "posts", "--kind", "quote")} == {"quote"}


def test_the_order_is_stable_and_newest_first(demo: Reader) -> None:
    """Asked twice, the same; limited, a prefix of the whole."""
    whole = demo.data("list", "events", "--limit", "1000")
    assert [row["updated_at"] for row in whole] == sorted((row["updated_at"] for row in whole), reverse=True)
    assert whole[:30] == demo.data("list", "events", "--limit", "30") == demo.data("list", "events", "--limit", "30")


def test_diff_notes_are_all_that_is_pinned_to_a_change(demo: Reader, worlds: dict[str, Any]) -> None:
    """On the one that is named as many as the world has, in pieces too; by file, and what is not resolved."""
    truth = worlds["gitlab"].truth(reader="earshot")
    there = [
        n
        for n in truth.notes.values()
        if n["project_id"] == 1001 and n["parent"] == ("merge_request", 1) and n["position"]
    ]
    words = ("list", "diff-notes", "--mr", "console/1")
    whole = demo.data(*words)
    assert sorted(row["body"] for row in whole) == sorted(n["body"] for n in there) and len(there) > 3
    assert [row for n in range(0, 9, 2) for row in demo.data(*words, "--limit", "2", "--offset", str(n))] == whole
    below = demo.data(*words, "--path", "src/table/")
    assert (
        below == [row for row in whole if row["path"].startswith("src/table/")]
        and demo.data(*words, "--path", "src/tab") == []
    )
    assert demo.data(*words, "--unresolved") == [row for row in whole if not row["is_resolved"]]
    shown = demo.ask(*words, "--limit", "1", width=80)
    assert max(map(len, shown.lines)) <= 80 and whole[0]["reference"] in shown.out and "console/1" in shown.out


def test_threads_of_one_thing_and_who_waits_longest(demo: Reader) -> None:
    """As `show` has them; the oldest first is the newest last, in pieces too."""
    shown = {each["thread_id"] for each in demo.data("show", "mr", "console/9")["discussions"]}
    mine = {row["thread_id"] for row in demo.data("list", "threads", "--mr", "console/9")}
    assert shown - mine == set() and all(":!9:" in thread_id for thread_id in mine) and len(mine) > 1
    words = ("list", "threads", "--waiting-on", "team", "--limit", "500")
    oldest = [row["last_at"] for row in demo.data(*words, "--oldest")]
    assert oldest == sorted(row["last_at"] for row in demo.data(*words)) and len(oldest) > 20
    rest = demo.json("list", "threads", "--waiting-on", "team", "--oldest", "--limit", "5", "--offset", "5")
    assert [row["last_at"] for row in rest["data"]] == oldest[5:10] and rest["meta"]["total"] == len(oldest)
    beyond = demo.json(*words, "--offset", "9999")
    assert beyond["data"] == [] and beyond["meta"]["total"] == len(oldest)
    assert f"nothing after them: these are {len(oldest)}." in demo.ask(*words, "--offset", "9999").out
    assert demo.ask("list", "threads", "--mr", "console/999").code == 1


def test_open_shows_pages_in_the_browser(demo: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is listed, as tabs; a flood of them is refused before the first."""
    opened: list[str] = []
    monkeypatch.setattr(listing.webbrowser, "open", opened.append)
    assert demo.ask("list", "mrs", "--draft", "--open").code == 0
    assert demo.ask("open", "mr", "console!9").code == 0
    assert opened == ["https://gitlab.com/lantern/console/-/merge_requests/9"] * 2
    assert demo.ask("list", "mrs", "--open").code == 2 and len(opened) == 2


def test_counts_are_the_worlds_own(demo: Reader, worlds: dict[str, Any]) -> None:
    """By state; what the service wrote itself is told apart; notes on diffs are counted among the rest."""
    truth = worlds["gitlab"].truth(reader="earshot")
    states = [fact["state"] for fact in truth.merge_requests.values()]
    assert demo.ask("count", "mrs").lines == [
        f"Merge Requests: {len(states)}",
        *(
            f"{name}: {states.count(state)}"
            for name, state in {"open": "opened", "merged": "merged", "closed": "closed", "locked": "locked"}.items()
        ),
    ]
    notes = [note for note in truth.notes.values() if note["parent"][0] == "merge_request"]
    system, pinned = sum(n["is_system"] for n in notes), sum(bool(n["position"]) for n in notes)
    assert demo.ask("count", "notes", "--type", "mr").lines == [
        f"MR Notes: {len(notes) - system} (excluding {system} system)",
        f"DiffNotes: {pinned} (with file position metadata)",
    ]
    said = [
        fact for fact in truth.discussions.values()
        if fact["parent"][0] == "merge_request" and not all(truth.notes[id_]["is_system"] for id_ in fact["notes"])
    ]  # fmt: skip
    can_be = [[n for id_ in f["notes"] if (n := truth.notes[id_])["is_resolvable"]] for f in said]
    resolved = [all(note["is_resolved"] for note in notes) for notes in can_be if notes]
    assert demo.ask("count", "discussions", "--type=mr").lines == [
        f"MR Discussions: {len(said)}",
        f"resolved: {sum(resolved)}",
        f"unresolved: {len(resolved) - sum(resolved)}",
    ]
    threads = worlds["github"].truth().review_threads.values()
    resolved = [fact["is_resolved"] for fact in threads]
    assert demo.ask("count", "discussions", "--type=pr").lines[1:] == [
        f"resolved: {sum(resolved)}",
        f"unresolved: {len(resolved) - sum(resolved)}",
    ]
    assert system and pinned and said


def test_counts_take_the_lists_filters(demo: Reader, worlds: dict[str, Any]) -> None:
    """What is counted is what would be listed."""
    assert (
        demo.ask("count", "mrs", "--reviewer", "noor").lines[0]
        == f"Merge Requests: {len(mrs(worlds, reviewers='noor'))}"
    )
    assert demo.data("count", "issues", "-p", "charts")["count"] == len(demo.data("list", "issues", "-p", "charts"))
    posts = demo.data("count", "posts")
    with duckdb.connect(str(demo.home.published), read_only=True) as connection:
        kinds = connection.execute(
            "SELECT kind, count(*) FROM feedback.comments WHERE parent_kind = 'post' GROUP BY 1"
        ).fetchall()
    assert posts == {"count": sum(n for _, n in kinds), "by": dict(kinds)}
    assert demo.ask("count", "posts").lines[0] == f"Posts: {posts['count']}"
