"""What a list shows can be typed: `console/1` in any shell, short ids of threads and posts."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from pipelines.ask.query.names import short_id, shortened
from tests.asked import Reader


def place(row: dict[str, object]) -> str:
    """As a person names a numbered thing."""
    return f"{row['scope_name']}/{row['number']}"


@pytest.mark.parametrize("name", ["9", "!9", "console/9", "console!9", "lantern/console/9", "lantern/console!9",
                                  "gitlab:console/9", "LANTERN/Console/9"])  # fmt: skip
def test_every_way_to_name_one_is_understood(demo: Reader, name: str) -> None:
    """With a slash as it is printed, with the forges' own signs, with or without the project."""
    assert demo.data("show", "mr", name)["title"] == "Draft: A theme for the night"


def test_lists_name_the_project_although_only_one_is_listed(demo: Reader) -> None:
    """More than one is configured: `1` alone would be asked about."""
    lines = demo.ask("list", "mrs", "-p", "charts", "--limit", "3").lines
    assert all(line.startswith("charts/") for line in lines[2:]) and len(lines) > 3
    title = demo.ask("show", "mr", "console/1").lines[0]
    assert title == "Merge Request console/1: Split NodeTable into a table and its rows"


def test_what_is_listed_is_shown_and_opened(demo: Reader) -> None:
    """The first word of every line of every list, typed as it stands there."""
    for noun, one in (("mrs", "mr"), ("prs", "pr"), ("issues", "issue"), ("threads", "thread"), ("posts", "post")):
        rows = demo.data("list", noun, "--limit", "60")
        lines = demo.ask("list", noun, "--limit", "60", width=80).lines[2:]
        assert len(lines) == len(rows) == len({line.split()[0] for line in lines}) or noun == "threads"
        for row, line in list(zip(rows, lines, strict=True))[::7]:
            shown = line.split()[0]
            assert row["reference"] == shown
            found = demo.data("show", one, shown)
            key = {"thread": "thread_id", "post": "event_key"}.get(one, "parent_key")
            assert found[key] == row[key], (noun, shown)


def test_what_is_found_is_shown(demo: Reader) -> None:
    """Hits of a search, of threads of posts too."""
    for words, noun in (("token", "issue"), ("light", "post")):
        for hit in demo.data("search", words, "--kind", noun, "--limit", "3"):
            shown = next(line for line in demo.ask("search", words, "--kind", noun, "--limit", "3").lines
                         if line.startswith(hit["reference"] + " "))  # fmt: skip
            found = demo.data("show", noun, shown.split()[0])
            assert hit["document_key"] == found["parent_key"]


def test_a_short_id_of_two_is_asked_about(own: Reader) -> None:
    """Both are named, longer; each of them then answers. Four digits at least are looked up."""
    thread = own.data("list", "threads", "--limit", "1")[0]["thread_id"]
    digits = short_id(thread)[:4]
    twin = next(found for n in range(1_000_000) if short_id(found := f"twin:{n}").startswith(digits))
    with duckdb.connect(str(own.home.published)) as connection:
        copied = "SELECT * REPLACE (? AS thread_id) FROM feedback.threads WHERE thread_id = ?"
        connection.execute(f"INSERT INTO feedback.threads {copied}", [twin, thread])
    told = own.ask("show", "thread", digits)
    assert told.code == 2 and f"{digits} is short for 2 threads" in told.err
    longer = [word.strip(".,;") for word in told.err.splitlines()[-1].split() if word.startswith(digits)]
    assert len(longer) == 2 and all(own.ask("show", "thread", each).code == 0 for each in longer)
    assert own.ask("show", "thread", digits[:3]).code == 1


def test_names_are_as_short_as_they_are_still_told_apart() -> None:
    """One place needs none; two of one last part have their paths; of one path, their services too."""
    one, two = ("github", "a/web"), ("github", "b/web")
    assert shortened([one]) == {one: ""}
    assert shortened([one, ("gitlab", "a/api")]) == {one: "web", ("gitlab", "a/api"): "api"}
    assert shortened([one, two, ("x", "c/api")]) == {one: "a/web", two: "b/web", ("x", "c/api"): "api"}
    same = ("gitlab", "A/Web")
    assert shortened([one, same]) == {one: "github:a/web", same: "gitlab:A/Web"}
    inner = ("gitlab", "x/a/web")
    assert shortened([one, inner]) == {one: "a/web", inner: "x/a/web"}


def test_a_whole_path_is_that_project_and_no_other(own: Reader) -> None:
    """Also where another's path ends like it."""
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute(
            "UPDATE feedback.parents SET scope_name = 'x/lantern/console' WHERE scope_name LIKE '%/charts'"
        )
    assert own.data("show", "mr", "lantern/console/1")["scope_name"] == "lantern/console"
    assert own.data("show", "mr", "x/lantern/console/1")["scope_name"] == "x/lantern/console"


def test_the_address_that_a_browser_shows_is_a_reference(demo: Reader) -> None:
    """Of any page of it, also where the service told another host's; of another kind it is nothing."""
    for noun in ("mr", "pr", "issue"):
        for row in demo.data("list", f"{noun}s", "--limit", "3"):
            for tail in ("", "#note_5", "/diffs", "?tab=1"):
                assert demo.data("show", noun, row["url"] + tail)["parent_key"] == row["parent_key"], row["url"]
    assert demo.ask("show", "mr", row["url"]).code == 1


@pytest.mark.parametrize("words", [["show", "mr", "console/1"], ["show", "issue", "console/1"], ["list", "mrs"]])
def test_an_interactive_shell_takes_them_as_they_are(demo: Reader, tmp_path: Path, words: list[str]) -> None:
    """No history expansion, no comment: what stands there arrives. `console!1` would not."""
    folder = Path(__file__).parent.parent
    command = f"{sys.executable} -m pipelines.cli {' '.join(words)}"
    environ = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "EARSHOT_DATA": str(demo.home.path),
        "HOME": str(tmp_path),
        "PS1": "",
    }
    found = subprocess.run(
        ["bash", "--norc", "-i"], input=f"set -o history -o histexpand\n{command}\necho code $?\necho x!9z\n", env=environ,
        capture_output=True, text=True, timeout=60, cwd=folder,
    )  # fmt: skip
    assert "code 0" in found.stdout, found
    assert "event not found" in found.stderr, "the shell that is tried does expand its history"
    for listed in found.stdout.splitlines() if words[0] == "list" else ():
        assert not {"!", "#", "$", "`"} & set(listed.split()[0] if listed.strip() else "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["count", "issues", "-p", "consle"], "no project consle here; did you mean console?"),
        (["count", "notes", "-p", "lantern/consle"], "did you mean lantern/console?"),
        (["count", "posts", "--source", "blusky"], "did you mean bluesky?"),
        (["list", "threads", "--source", "githb"], "no source githb here; did you mean github?"),
        (["list", "mrs", "-p", "chart"], "did you mean charts?"),
        (["list", "events", "-p", "nix"], "there is "),
        (["list", "events", "--kind", "reviw"], "no kind reviw here; did you mean review?"),
        (["list", "posts", "--kind", "qoute"], "did you mean quote?"),
        (["list", "commands", "--source", "gitlub"], "did you mean git"),
        (["show", "mr", "1", "-p", "consle"], "did you mean console?"),
        (["show", "mr", "consle/1"], "did you mean console?"),
        (["search", "token", "-p", "consle"], "did you mean console?"),
        (["search", "token", "--source", "githb"], "did you mean github?"),
        (["list", "threads", "-p", "maya.lantern.exampel"], "did you mean maya.lantern.example?"),
    ],
)
def test_a_name_that_nobody_has_is_refused_with_the_nearest(demo: Reader, words: list[str], said: str) -> None:
    """Neither 0 nor an empty list: to people with exit code 2, to programs in the envelope."""
    asked = demo.ask(*words)
    assert (asked.code, asked.out) == (2, "") and said in asked.err
    assert demo.json(*words)["error"]["code"] == "UNKNOWN_NAME"


def test_what_is_configured_and_silent_is_no_typo(own: Reader) -> None:
    """A project without an issue, one that cannot be read yet, a source of which nothing came: empty, and known."""
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute(
            "INSERT INTO ops.cursors BY NAME SELECT * REPLACE ('x/quiet' AS scope_name, '9' AS scope)"
            " FROM ops.cursors WHERE source = 'gitlab' LIMIT 1"
        )
        connection.execute("INSERT INTO ops.failures (source, scope, scope_name) VALUES ('gitlab', 'x/shut', 'x/shut')")
        connection.execute("DELETE FROM feedback.events WHERE source = 'bluesky'")
        connection.execute("DELETE FROM feedback.threads WHERE source = 'bluesky'")
    for words in (["-p", "quiet"], ["-p", "x/shut"], ["--source", "bluesky"], ["-p", "console", "--source", "github"]):
        asked = own.ask("list", "threads", *words)
        assert asked.code == 0 and "Nothing matches these filters." in asked.out, words
        assert own.data("count", "notes", *words)["count"] == 0
