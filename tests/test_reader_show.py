"""`earshot show`: one thing in full, as a person sees it."""

import pytest

from pipelines.ask.format.suggestion import diffed, new_side
from tests.asked import Reader


def facts(reader: Reader, *words: str) -> dict[str, str]:
    """The lines `Name:  value` under the title."""
    lines = reader.ask("show", *words, width=160).lines
    head = lines[2 : lines.index("Description:")]
    return {name: value.strip() for name, _, value in (line.partition(":") for line in head)}


def test_a_merge_request_in_full(demo: Reader) -> None:
    """All that the seed's page has: state, people, branches, merge status, labels, dates, address, description."""
    lines = demo.ask("show", "mr", "1", "-p", "lantern/console", width=160).lines
    assert lines[0] == "Merge Request console/1: Split NodeTable into a table and its rows"
    assert facts(demo, "mr", "console!1") == {
        "Project": "lantern/console (gitlab)",
        "State": "merged",
        "Draft": "No",
        "Author": "@noor",
        "Reviewers": "@tomasz-w",
        "Source": "rows",
        "Target": "main",
        "Merge Status": "not_open (detailed_merge_status)",
        "Merged By": "@noor",
        "Merged At": "2026-08-08 12:45:59 (2 months ago)",
        "Created": "2026-08-08 (2 months ago)",
        "Updated": "2026-08-08 (2 months ago)",
        "Labels": "area::table",
        "URL": "https://gitlab.com/lantern/console/-/merge_requests/1",
    }
    said = "\n".join(lines)
    assert "Description:\nFirst half of #4." in said
    assert "Discussions (4):" in said and "(2 system notes are not shown)" in said


def test_a_pull_request_names_who_has_it_in_hand(demo: Reader) -> None:
    """Assigned, planned, asked: people and teams; and who merged."""
    told = facts(demo, "pr", "lantern/44")
    people = {name: told[name] for name in ("Assignees", "Reviewers", "Teams asked", "Milestone")}
    assert people == {
        "Assignees": "@haruki", "Reviewers": "@maya, @odile, @sanvi, @tomasz-w", "Teams asked": "edge-operators",
        "Milestone": "1.1",
    }  # fmt: skip
    assert "Merged By" not in told and facts(demo, "pr", "lantern/7")["Merged By"] == "@maya"
    assert facts(demo, "issue", "lantern/2")["Milestone"] == "1.0"
    assert demo.data("show", "pr", "lantern/44")["requested_teams"] == ["edge-operators"]


def test_a_change_names_what_it_closes_and_an_issue_what_closes_it(demo: Reader) -> None:
    """On either forge, by the service's own word."""
    assert facts(demo, "pr", "lantern/22")["Closes"] == "lantern/21"
    assert facts(demo, "issue", "lantern/21")["Closed by"] == "lantern/22"
    assert facts(demo, "mr", "console!3")["Closes"] == "console/2"
    assert demo.data("show", "issue", "console/2")["closed_by_changes"] == ["console/3"]


def test_discussions_show_places_resolution_and_answers(demo: Reader) -> None:
    """[file:line] and [file:a-b] on the first words of a thread, RESOLVED, answers below and further in."""
    out = demo.ask("show", "mr", "console!1", width=160).out
    place = "  @tomasz-w (2026-08-08, 2 months ago) [src/table/NodeRow.svelte:8] [RESOLVED] [OUTDATED]:"
    answer = "      @noor (2026-08-08, 2 months ago):\n        A table that wants to be a grid when it grows up."
    assert place in out and answer in out and out.index(place) < out.index(answer)
    assert "[src/table/sorting.ts:6-7] [RESOLVED]" in out
    unresolved = demo.ask("show", "mr", "console!9", width=160).out
    assert "[src/theme.css:7] [OUTDATED]:\n    Is this line why the tooltips" in unresolved


def test_a_point_on_a_picture_is_shown(demo: Reader) -> None:
    """Where it is, and of how large a picture: nobody finds it by the file's name alone."""
    out = demo.ask("show", "mr", "console!2", width=160).out
    assert "[design/purge-dialog.png 412,530 of 1280×800] [RESOLVED]" in out
    [red] = [t for t in demo.data("show", "mr", "console!2")["discussions"] if "This red is" in t["notes"][0]["body"]]
    assert [red["notes"][0][f"image_{name}"] for name in ("x", "y", "width", "height")] == [412, 530, 1280, 800]


def test_a_draft_says_so(demo: Reader) -> None:
    """In its own line, as nothing else does."""
    assert facts(demo, "mr", "console!9")["Draft"] == "Yes"
    assert facts(demo, "mr", "console!9")["Milestone"] == "1.1"


def test_suggestions_are_diffs(demo: Reader) -> None:
    """What stands there with a minus, where the diff is known; what is proposed with a plus; the fence is gone."""
    out = demo.ask("show", "pr", "lantern#7", width=160).out
    assert "    - " in out and "<-f.done" in out and "    +     g.mu.Unlock()" in out.replace("+         ", "+     ")
    assert "```suggestion" not in out


def test_a_suggestion_says_which_lines_it_replaces() -> None:
    """GitHub: those commented on. GitLab: so many above and below. Unknown lines are not made up."""
    diff = "@@ -1,2 +1,3 @@ fn\n a\n-old\n+b\n+c\n@@ -9 +10,2 @@\n x\n+y"
    assert new_side(diff) == {1: "a", 2: "b", 3: "c", 10: "x", 11: "y"}
    body = "See:\n```suggestion\nB\n```\nok?"
    assert list(diffed(body, diff, 2, 3)) == [
        ("said", "See:"), ("removed", "b"), ("removed", "c"), ("added", "B"), ("said", "ok?"),
    ]  # fmt: skip
    typed = body.replace("\n", "\r\n")  # as browsers send it
    assert [part for part in diffed(typed, diff, 2, 3) if part[0] != "said"] == [
        ("removed", "b"), ("removed", "c"), ("added", "B"),
    ]  # fmt: skip
    above = "```suggestion:-1+0\nB\n```"
    assert [part for part in diffed(above, diff, 2, 2) if part[1]] == [
        ("removed", "a"),
        ("removed", "b"),
        ("added", "B"),
    ]
    assert [part for part in diffed(above, None, 2, 2) if part[1]] == [("added", "B")]
    assert [part for part in diffed(body, diff, 3, 4) if part[0] != "said"] == [("added", "B")]
    assert list(diffed("no fence", diff, 1, 1)) == [("said", "no fence")]


def test_an_ambiguous_number_asks_which(demo: Reader) -> None:
    """Naming the candidates as they can be typed; each of them then answers."""
    asked = demo.ask("show", "mr", "1")
    assert (asked.code, asked.out) == (2, "")
    assert "Merge Request 1 is in 2 projects" in asked.err
    assert "say which: charts/1 or console/1" in asked.err
    assert all(demo.ask("show", "mr", each).code == 0 for each in ("charts/1", "console/1"))
    for project in ("lantern/charts", "lantern/console", "charts"):
        assert demo.ask("show", "mr", "1", "-p", project, "--source", "gitlab").code == 0


def test_two_projects_are_none(demo: Reader) -> None:
    """What is named as console's is not shown of charts: an answer to it would be said there."""
    told = demo.json("show", "mr", "console!1", "-p", "charts")
    assert told["error"]["code"] == "NOT_FOUND"
    assert demo.data("show", "mr", "console!1", "-p", "lantern/console")["number"] == 1


def test_what_is_pasted_from_a_list_is_understood(demo: Reader) -> None:
    """`9` is one only, `!9`, `console!9`, `lantern/console!9`."""
    pages = [demo.ask("show", "mr", reference).out for reference in ("9", "!9", "console!9", "lantern/console!9")]
    assert len(set(pages)) == 1 and "A theme for the night" in pages[0]


def test_issues_and_pull_requests(demo: Reader) -> None:
    """An issue has no branches; a review shows its verdict; the same number on two services is asked about."""
    assert "Draft" not in facts(demo, "issue", "console#1")
    assert "[CHANGES_REQUESTED]:" in demo.ask("show", "pr", "lantern#7", width=160).out
    assert (
        "lantern/1 or lantern-docs/1 or lantern-bench/1 or charts/1 or console/1" in demo.ask("show", "issue", "1").err
    )


def test_a_post_in_its_thread(demo: Reader) -> None:
    """By either address; the post is marked among the others, reposts do not repeat the words."""
    reply = next(
        row for row in demo.data("list", "posts", "--kind", "reply", "--limit", "99") if "?" not in row["body"]
    )
    pages = {
        demo.ask("show", "post", address, width=160).out for address in (reply["url"], reply["id"], reply["event_key"])
    }
    page = pages.pop()
    assert not pages
    assert f"  > @{reply['author']} (" in page and page.count("  > @") == 1
    by_handle = f"https://bsky.app/profile/{reply['author']}/post/{reply['id'].rpartition('/')[2]}"
    assert demo.ask("show", "post", by_handle, width=160).out == page
    assert len(demo.data("show", "post", reply["url"])["thread"]) > 1


def test_a_thread_by_its_id_or_by_a_word_in_it(demo: Reader) -> None:
    """With the place, whose turn it is, and everything that was said."""
    thread = demo.data("list", "threads", "--waiting-on", "noor", "--source", "gitlab")[-1]
    told = demo.data("show", "thread", thread["thread_id"])
    assert [note["author"] for note in told["notes"]][-1] == thread["last_author"]
    assert demo.data("show", "thread", told["notes"][0]["event_key"]) == told
    out = demo.ask("show", "thread", thread["thread_id"], width=160).out
    assert "Waiting on:  noor" in out and "Resolved:    No" in out
    pinned = next(each for each in demo.data("show", "mr", "console!1")["discussions"] if each["is_resolved"])
    assert "[src/table/NodeRow.svelte:8] [RESOLVED]" in demo.ask("show", "thread", pinned["thread_id"], width=160).out


@pytest.mark.parametrize("words", [("show", "mr", "console!1"), ("list", "threads"), ("count", "mrs"), ("status",)])
def test_programs_get_one_envelope(demo: Reader, words: tuple[str, ...]) -> None:
    """ok, data, meta on one line of stdout, nothing beside it."""
    asked = demo.ask(*words, "--json")
    assert asked.err == "" and asked.out.count("\n") == 1
    told = demo.json(*words)
    assert told["ok"] is True and told["data"] and told["meta"]["exit_code"] == 0


def test_json_holds_all_that_the_page_has(demo: Reader) -> None:
    """Discussions with notes in their order, what is not shown counted."""
    told = demo.data("show", "mr", "console!1")
    assert told["reviewers"] == ["tomasz-w"] and told["system_notes"] == 2 and told["body"].startswith("First half")
    resolved = [each for each in told["discussions"] if each["is_resolved"]]
    assert len(resolved) == 3 and resolved[0]["notes"][0]["path"] == "src/table/NodeRow.svelte"


def test_reading_leaves_the_files_alone(own: Reader) -> None:
    """Read-only is read-only, also where a question needs a table of its own."""
    before = {path.name: path.read_bytes() for path in own.home.path.iterdir() if path.suffix == ".duckdb"}
    for words in (["list", "events", "--unacked-by", "x"], ["show", "mr", "console!1"], ["count", "notes"]):
        assert own.ask(*words).code == 0
    assert before == {path.name: path.read_bytes() for path in own.home.path.iterdir() if path.suffix == ".duckdb"}


def test_pictures_are_told_as_their_authors_describe_them(demo: Reader) -> None:
    """Of a gallery all, in their order; --json has them with their words."""
    gallery = "SELECT post_uri FROM bluesky.posts WHERE embed_type = 'app.bsky.embed.gallery' AND kind = 'post'"
    uri = demo.data("sql", gallery)[0]["post_uri"]
    shown, told = demo.ask("show", "post", uri, width=80), demo.data("show", "post", uri)
    (media,) = [note["media"] for note in told["thread"] if note["event_key"] == told["event_key"]]
    assert len(media) == 6 and media[3] == {"kind": "image", "alt": "The Lantern table at the fair, with soup."}
    assert [line for line in shown.lines if line.startswith("[image: ")] == [f"[image: {one['alt']}]" for one in media]


def test_addresses_are_never_broken(demo: Reader) -> None:
    """However narrow it is: what is copied from the screen is the whole of it."""
    uri = demo.data("list", "posts", "--limit", "1")[0]["id"]
    url = demo.data("show", "post", uri)["url"]
    for words in (("post", uri), ("mr", "console/1")):
        out = demo.ask("show", *words, width=40).out
        address = url if words[0] == "post" else demo.data("show", *words)["url"]
        assert f"{address}\n" in out, out
