"""What people and programs type wrong, what others wrote to harm, and what is not there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from pipelines.cli import main
from pipelines.warehouse.data_dir import DataDir
from tests.asked import Reader

ESCAPES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
EVIL = "\x1b]0;owned\x07\x1b[31mred\x9b2J \u202egnp.exe\u2066 [bold]x[/bold] :smile: \r\x00"
SQL = "x'; DROP TABLE feedback.events; --"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["show", "mr", "999"], 1, "there is no Merge Request 999 here"),
        (["show", "mr", "1", "-p", "nix"], 2, "there is "),
        (["show", "mr", "x"], 2, "is not a number like 847"),
        (["show", "mr", "99999999999999999999"], 2, "is not a number"),
        (["show", "post", "at://did:plc:x/app.bsky.feed.post/y"], 1, "there is no post"),
        (["show", "thread", "nix"], 1, "there is no thread nix here"),
        (["list", "mrs", "--since", "yesterday"], 2, "expected a period like 3d"),
        (["list", "mrs", "--state", "odd"], 2, "'odd' is not one of"),
        (["list", "mrs", "--limit", "0"], 2, "0 is not in the range"),
        (["list", "mrs", "--author", "@"], 2, "a name is needed"),
        (["list", "events", "--author", "@"], 2, "a name is needed"),
        (["list", "mrs", "--limit", "1" + "0" * 30], 2, "is not in the range"),
        (["list", "mrs", "--label", "\udcff"], 2, "is not UTF-8"),
        (["ack", "\udcff", "--as", "bot"], 2, "is not UTF-8"),
        (["list", "nothing"], 2, "No such command 'nothing'"),
        (["status", "--interval", "soon"], 2, "expected a period"),
        (["show", "mr", "https://gitlab.com/lantern/console"], 2, "nor its address"),
        (["lsit"], 2, "Did you mean 'list'?"),
        (["sql", "SELECT nothing"], 2, "nothing"),
        (["sql", "FROM nothing"], 2, "`earshot schema` tells what there is to ask"),
        (["sql", ""], 2, "there is no question"),
        (["sql", " ; "], 2, "there is no question"),
        (["sql", "SELECT * FROM read_text('/etc/passwd')"], 2, "disabled by configuration"),
    ],
)
def test_refusals_say_why_to_people_and_to_programs(demo: Reader, words: list[str], code: int, said: str) -> None:
    """On stderr with an exit code of their own; with --json in the envelope on stdout."""
    asked = demo.ask(*words)
    assert asked.code == code and asked.out == "" and said in asked.err
    told = demo.json(*words)
    assert told["ok"] is False and told["data"] is None and told["meta"]["exit_code"] == code
    assert said in told["error"]["message"] + told["error"].get("hint", "")


def test_what_sql_finds_is_told_in_json_whatever_it_is(demo: Reader) -> None:
    """Numbers beyond JSON's deep inside, keys that are no text, times with a zone; two columns of one name are two."""
    huge = str(2**127 - 1)
    query = f"SELECT [{huge}::HUGEINT] AS a, MAP {{1: {{'b': {huge}::HUGEINT}}}} AS a, TIMETZ '10:00:00+02' AS a_1"
    assert demo.data("sql", query) == [{"a": [huge], "a_2": {"1": {"b": huge}}, "a_1": "10:00:00+02:00"}]


@pytest.mark.parametrize(("typed", "why"), [(b"\xff\xfe", "is not UTF-8"), (b"a\0b", "there is a NUL in it")])
def test_bytes_that_are_no_text_are_refused_wherever_they_come_from(
    demo: Reader, tmp_path: Path, typed: bytes, why: str
) -> None:
    """In a file or on standard input as in an argument: with one line, and nothing done."""
    (file := tmp_path / "body.txt").write_bytes(typed)
    key = demo.data("list", "events", "--kind", "issue_comment", "--limit", "1")[0]["event_key"]
    for words in (["reply", key, "--body-file", str(file)], ["reply", key, "--body", "-"], ["ack", "-", "--as", "b"]):
        found = CliRunner().invoke(
            main, [*words, "--json"], env={"EARSHOT_DATA": str(demo.home.path)}, input=typed, prog_name="earshot"
        )
        told = json.loads(found.stdout)
        assert found.exit_code == 2 and why in told["error"]["message"]


@pytest.mark.parametrize("damage", ["garbage", "a directory"])
@pytest.mark.parametrize("words", [["status"], ["reset", "github", "--yes"], ["ack", "KEY", "--as", "b"]])
def test_a_control_plane_that_is_damaged_is_told_in_one_line(own: Reader, words: list[str], damage: str) -> None:
    """With what to do: it holds what was decided, so no run makes it anew by itself."""
    key = own.data("list", "events", "--limit", "1")[0]["event_key"]
    for file in own.home.path.glob("control.sqlite*"):
        file.unlink()
    if damage == "garbage":
        own.home.control.write_bytes(b"no database" * 1000)
    else:
        own.home.control.mkdir()
    told = own.json(*(key if word == "KEY" else word for word in words))
    assert told["meta"]["exit_code"] == 1 and "control.sqlite" in told["error"]["message"]
    if words[0] != "ack" or damage == "a directory":
        assert "backup" in told["error"]["message"] + told["error"]["hint"]


def test_what_was_typed_acts_on_no_terminal(demo: Reader) -> None:
    """A name that is none here is said again, without what it carries."""
    for option in ("-p", "--source"):
        asked = demo.ask("list", "mrs", option, EVIL)
        assert asked.code == 2 and not ESCAPES.search(asked.out + asked.err)


@pytest.mark.parametrize(
    "words",
    [
        ["--demo", "githb"],
        ["--demo", "--dry-run", "--every", "nan"],
        ["--demo", "--dry-run", "--every", ""],
        ["--demo", "--dry-run", "--every", "0"],
        ["--odd"],
    ],
)
def test_a_run_that_is_asked_wrongly_is_refused_in_json_too(tmp_path: Path, words: list[str]) -> None:
    """As `earshot sync` and as the script, which a schedule starts."""
    for command in (["-m", "pipelines.cli", "sync"], ["-m", "pipelines.run"]):
        ended = subprocess.run(
            [sys.executable, *command, "--json", *words], capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )  # fmt: skip
        told = json.loads(ended.stdout)
        assert (ended.returncode, told["ok"], told["meta"]["exit_code"]) == (2, False, 2), ended.stderr
    assert not list(tmp_path.rglob("*.sqlite"))


def test_filters_that_match_nothing_say_so(demo: Reader) -> None:
    """An empty list is no error; where a name is the reason, it is refused and the right ones are told."""
    asked = demo.ask("list", "mrs", "--label", "nix")
    assert asked.code == 0 and asked.lines == ["Merge Requests (0)", "Nothing matches these filters."]
    assert "lantern/charts, lantern/console" in demo.ask("list", "mrs", "-p", "nix").err
    assert "there is bluesky, github, gitlab" in demo.ask("list", "threads", "--source", "nix").err
    assert demo.json("list", "mrs", "--label", "nix")["meta"]["hint"] == "Nothing matches these filters."


@pytest.mark.parametrize(
    "words",
    [
        ["list", "mrs", *(part for o in ("author", "assignee", "reviewer", "label", "target-branch", "source-branch",
                                         "project", "source", "waiting-on") for part in (f"--{o}", SQL))],
        ["list", "threads", "--author", SQL, "--waiting-on", SQL],
        ["list", "events", "--kind", SQL, "--author", SQL, "--unacked-by", SQL],
        ["list", "posts", "--author", SQL, "--kind", SQL],
        ["count", "notes", "-p", SQL],
        ["show", "mr", "1", "-p", SQL], ["show", "mr", SQL], ["show", "post", SQL], ["show", "thread", SQL],
    ],
)  # fmt: skip
def test_sql_in_arguments_is_a_strange_name(demo: Reader, words: list[str]) -> None:
    """Bound, never spliced: it matches nothing, breaks nothing."""
    asked = demo.ask(*words)
    assert "Parser Error" not in asked.out + asked.err
    assert demo.data("count", "mrs")["count"] == 17


def poison(reader: Reader, text: str) -> None:
    """Somebody writes that everywhere they can."""
    with duckdb.connect(str(reader.home.published)) as connection:
        connection.execute("UPDATE feedback.parents SET title = ?, author = ?, labels = [?]", [text] * 3)
        connection.execute("UPDATE feedback.parents SET source_branch = ? WHERE source_branch IS NOT NULL", [text])
        connection.execute("UPDATE feedback.events SET body = ?, author = ?", [text] * 2)
        connection.execute("UPDATE feedback.threads SET last_words = ?, last_author = ?, waiting_on = ?", [text] * 3)


EVERYWHERE = [
    ["list", "mrs"], ["list", "issues"], ["list", "threads"], ["list", "events"], ["list", "posts"], ["show", "mr", "console/1"],
    ["show", "issue", "console/1"], ["show", "pr", "lantern/7"], ["sql", "SELECT body FROM feedback.events LIMIT 3"],
]  # fmt: skip


def test_escape_sequences_and_bidi_controls_never_reach_the_screen(own: Reader) -> None:
    """Nor is anything that looks like markup obeyed; as JSON it is all there, and still does nothing."""
    poison(own, EVIL)
    for words in EVERYWHERE:
        asked = own.ask(*words, width=160)
        assert asked.code == 0 and not ESCAPES.search(asked.out), words
        assert "[bold]" in asked.out or "exe" not in asked.out, words
        assert not ESCAPES.search(own.ask(*words, "--json").out), words
    assert own.data("show", "mr", "console!1")["title"] == EVIL


def test_wide_characters_and_emoji_fit_narrow_terminals(own: Reader) -> None:
    """Measured in cells: no line gets wider than the terminal."""
    poison(own, "漢字かな交じり文 👩‍👩‍👧 🏮 ✅ e\u0301 " * 6)
    for words in EVERYWHERE[:8]:
        for width in (40, 80):
            lines = own.ask(*words, width=width).out.splitlines()
            keys = [line for line in lines if "://" in line or line.startswith(("github:", "gitlab:", "bluesky:"))]
            assert max(cell_len(line) for line in lines if line not in keys) <= width, words


def test_without_a_warehouse_the_way_to_one_is_told(tmp_path: Path) -> None:
    """Nothing at all; and a control plane whose first run has not published yet."""
    empty = Reader(DataDir(tmp_path / "none"))
    for words in (
        ["list", "mrs"],
        ["show", "mr", "1"],
        ["count", "mrs"],
        ["sql", "SELECT 1"],
        ["ack", "x", "--as", "y"],
    ):
        asked = empty.ask(*words)
        assert asked.code == 1 and "no warehouse in" in asked.err and "earshot sync" in asked.err
        assert f"`export EARSHOT_DATA={tmp_path}/none/demo`" in asked.err, "where the demo goes from here"
    assert "no run has been here" in empty.ask("status").err
    assert empty.json("list", "mrs")["error"]["code"] == "NOTHING_YET"
    assert not empty.home.path.exists()
    (tmp_path / "begun").mkdir()
    begun = Reader(DataDir(tmp_path / "begun"))
    begun.home.control.write_bytes(b"")
    assert "no run has published anything" in begun.ask("list", "mrs").err


@pytest.mark.parametrize("keep", [0, 100, 5_000, 0.5])
def test_a_half_written_file_is_named(own: Reader, keep: float) -> None:
    """Whatever is left of it: one line that names the file and the way out, never a traceback."""
    whole = own.home.published.read_bytes()
    own.home.warehouse.write_bytes(whole)  # that it can be made of
    own.home.published.write_bytes(whole[: int(keep if keep != 0.5 else len(whole) * keep)])
    for words in (["list", "events"], ["count", "mrs"]):
        asked = own.ask(*words)
        assert asked.code == 1 and "published.duckdb cannot be read" in asked.err, asked
        assert "made again" in asked.err and asked.err.count("\n") == 2
        assert own.json(*words)["error"]["code"] == "UNREADABLE"


def test_a_file_of_an_older_version_is_named(own: Reader) -> None:
    """A model that it does not have is no mystery."""
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute("DROP TABLE feedback.parents CASCADE")
    assert own.json("list", "mrs")["error"]["code"] == "OUTDATED"


def process(home: Path, *words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    folder = Path(__file__).parent.parent
    told = {**os.environ, "PYTHONPATH": str(folder), "EARSHOT_DATA": str(home), "PYTHONUTF8": "1", **environ}
    return subprocess.run([sys.executable, *words], env=told, capture_output=True, text=True, timeout=60, cwd=folder)


def test_without_a_terminal_it_is_plain(demo: Reader) -> None:
    """No colour in a pipe; none with NO_COLOR even where colour is forced; a closed pipe is no error of ours."""
    for environ in ({}, {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm"}):
        found = process(demo.home.path, "-m", "pipelines.cli", "list", "mrs", **environ)
        assert found.returncode == 0 and "\x1b[3" not in found.stdout and " open " in found.stdout
    shell = f"{sys.executable} -m pipelines.cli list events --limit 900 | head -1"
    found = process(demo.home.path, "-c", f"import subprocess; subprocess.run({shell!r}, shell=True, check=True)")
    assert "Traceback" not in found.stderr and found.stdout.startswith("Events (")


def test_questions_load_neither_dlt_nor_arrow(demo: Reader) -> None:
    """What a blink allows: no loader, no HTTP client, no Arrow, no table of a terminal for a program's answer."""
    code = (
        "import sys, json\nfrom pipelines.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print(json.dumps([m for m in ('dlt', 'pyarrow', 'httpx', 'sqlglot', 'pandas', 'pipelines.demo') if m in sys.modules]))"
    )
    for words in (["list", "mrs"], ["list", "events", "--unacked-by", "x"], ["show", "mr", "console!1"], ["count", "notes"],
                  ["status"], ["status", "--prometheus"], ["sql", "SELECT 1"], ["list", "threads", "--json"]):  # fmt: skip
        found = process(demo.home.path, "-c", code, *words)
        assert json.loads(found.stdout.splitlines()[-1]) == [], (words, found.stderr)
