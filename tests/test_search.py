"""Asking: what can be typed, what it finds, how it is narrowed, and that other people's words do nothing on the way."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.cli import main
from pipelines.search.index import opened, reading
from pipelines.search.query import search
from pipelines.search.search_query import wanted

AT = "2026-03-01T12:00:00Z"
TEXTS = {
    "acme/api!1": ("Rotate tokens", "The token rotation job runs at night."),
    "acme/api#2": ("Cold cache", "A rotating disk is slow. Nothing about tokens in the title but token in here."),
    "acme/web#3": ("Café login", "Naïve \x1b[31mred\x1b[0m <b>bold</b> \u202eright to left [link](http://x) token"),
    "blue": (None, "A post about gizmos 🎉 and a phrase: never gonna"),
    "acme/web#4": (
        "検索インデックスの更新",
        "東京都でトークンの更新に失敗しました。GitHubアクションの設定を確認してください。",
    ),
    "acme/web#5": (None, "토큰을 갱신하는 동안 오류가 발생했습니다. 京都 is elsewhere."),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    with opened(folder / "search.sqlite") as index, index.writing():
        index.replace([row(key, *words) for key, words in TEXTS.items()], [])
    return folder


def row(key: str, title: str | None, body: str, **more: Any) -> dict[str, Any]:
    scope = key[:8] if "/" in key else "anna.example"
    kind = {"!": "merge_request", "#": "issue"}.get(key[8:9], "post")
    return {
        "document_key": key, "content_hash": f"h{key}", "row_hash": "r", "scope": "1", "scope_name": scope, "kind": kind,
        "number": int(key[9:]) if "/" in key else None, "title": title, "body": body, "author": "maya", "participants": "|maya|noor|",
        "source": "gitlab" if kind == "merge_request" else "bluesky" if kind == "post" else "github", "url": f"https://x.test/{key}",
        "created_at": AT, "updated_at": AT, **more,
    }  # fmt: skip


def keys(data: Path, text: str, **more: Any) -> list[str]:
    return [hit.document_key for hit in search(text, data=data, **more) if hit.has_all_words]


@pytest.mark.parametrize(("text", "expected"), [
    ("token", {"acme/api#2", "acme/web#3", "acme/api!1"}), ('"token rotation"', {"acme/api!1"}), ('"rotation token"', set()),
    ("gizm*", {"blue"}), ("gizm", set()), ("token -rotation -cafe", {"acme/api#2"}), ("token -rotatio* -caf*", {"acme/api#2"}), ("CAFE", {"acme/web#3"}), ("café", {"acme/web#3"}),
    ("where is the token rotation?", {"acme/api!1"}), ("the", {"acme/api!1", "acme/api#2"}),
])  # fmt: skip
def test_words_phrases_beginnings_and_what_is_not_wanted(data: Path, text: str, expected: set[str]) -> None:
    assert set(keys(data, text)) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("更新", {"acme/web#4"}), ("トークン", {"acme/web#4"}), ("京都", {"acme/web#4", "acme/web#5"}), ("東京都", {"acme/web#4"}), ("都京", set()),
    ("토큰", {"acme/web#5"}), ("갱신 오류", {"acme/web#5"}), ("github", {"acme/web#4"}), ("アクション GitHub", {"acme/web#4"}), ('"更新に失敗"', {"acme/web#4"}),
    ("京都 -東京", {"acme/web#5"}), ("失敗し*", {"acme/web#4"}), ("京", {"acme/web#4", "acme/web#5"}), ("GitHubアクション", {"acme/web#4"}),
])  # fmt: skip
def test_words_inside_a_run_of_letters_without_spaces_are_found(data: Path, text: str, expected: set[str]) -> None:
    """Chinese, Japanese and Korean: any piece of the text, and nothing whose letters stand apart."""
    assert set(keys(data, text)) == expected


def test_a_sentence_without_spaces_finds_what_shares_some_of_it(data: Path) -> None:
    [hit] = search("トークンを更新する方法", data=data, limit=1)
    assert hit.document_key == "acme/web#4" and not hit.has_all_words


def test_what_is_shown_of_it_is_the_text_itself(data: Path) -> None:
    """Snippets, marks and titles are as they were written, and the text that is embedded is, too."""
    [hit] = search("トークンの更新", data=data)
    assert hit.title == TEXTS["acme/web#4"][0] and hit.snippet.strip("…") in TEXTS["acme/web#4"][1]
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["トークンの更新"]
    [hit] = search("インデックス", data=data)
    assert [hit.title[start:end] for start, end in hit.title_highlights] == ["インデックス"]
    with reading(data / "search.sqlite") as index:
        assert index.text("acme/web#4") == TEXTS["acme/web#4"]


def test_the_title_weighs_more_and_few_hits_are_filled_up(data: Path) -> None:
    """Other endings count where all of the words are in few documents."""
    assert search("tokens", data=data)[0].document_key == "acme/api!1"
    hits = search("rotation disk", data=data)
    assert [hit.document_key for hit in hits] == ["acme/api#2", "acme/api!1"] and not any(h.has_all_words for h in hits)


@pytest.mark.parametrize(("only", "expected"), [
    ({"source": "GitLab"}, {"acme/api!1"}), ({"scope": "api"}, {"acme/api!1", "acme/api#2"}), ({"scope": "acme/web"}, {"acme/web#3"}),
    ({"scope": "a_i"}, set()), ({"author": "@Noor"}, {"acme/api!1", "acme/api#2", "acme/web#3"}), ({"author": "nobody"}, set()),
    ({"kind": "mr"}, {"acme/api!1"}), ({"kind": "issue"}, {"acme/api#2", "acme/web#3"}),
    ({"since": datetime(2026, 3, 2, tzinfo=UTC)}, set()), ({"since": datetime(2026, 3, 1, tzinfo=UTC)}, {"acme/api!1", "acme/api#2", "acme/web#3"}),
])  # fmt: skip
def test_it_can_be_narrowed(data: Path, only: dict[str, Any], expected: set[str]) -> None:
    assert set(keys(data, "token", **only)) == expected


ODD = ['"', '""', '"""', "*", "**", "NEAR(", "NEAR(a b, 2)", "AND", "a AND", "NOT", "OR OR", "(", ")", "title:x", "{a b}:c", "^a", "-", "--", "-x",
       "🙂", "🎉 token", "x" * 10_000, "word " * 2_000, '"a ' * 3_000, "a* " * 500, "'; DROP TABLE documents; --", "\x00", "a\x00b",
       "SELECT * FROM words", "\u202e", "%", "_", "\\", "a+b", "café*", "日本語", "ﷺ"]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_nothing_that_is_typed_is_an_error(data: Path, text: str) -> None:
    """Neither here nor on the command line."""
    search(text, data=data)
    if "\x00" not in text:
        ended = CliRunner().invoke(main, ["search", "--json", "--", text], env={"EARSHOT_DATA": str(data)})
        assert ended.exit_code == 0 and '"ok":true' in ended.stdout, ended.output
    assert search("gizmos", data=data), "all is still there"


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=80))
def test_any_text_makes_an_expression_that_can_be_asked(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(title, body)")
    asked = wanted(text)
    for expression in filter(None, (asked.all_of, asked.some_of)):
        connection.execute("SELECT * FROM t WHERE t MATCH ?", (expression,)).fetchall()


def test_the_hits_say_what_was_found_where(data: Path) -> None:
    [hit] = search('"token rotation"', data=data)
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["token rotation"]
    assert (hit.scope_name, hit.number, hit.url) == ("acme/api", 1, "https://x.test/acme/api!1")


def test_a_long_piece_stays_below_its_title(data: Path) -> None:
    out = CliRunner().invoke(main, ["search", "disk"], env={"EARSHOT_DATA": str(data), "COLUMNS": "40"}).stdout
    head, *rest = out.rstrip().splitlines()
    assert "Cold cache" in head and len(rest) > 2 and all(line.startswith("    ") for line in rest), out


def test_what_was_found_is_seen_though_much_stands_before_it(tmp_path: Path) -> None:
    with opened(tmp_path / "search.sqlite") as index, index.writing():
        index.replace([row("acme/web#9", "At night", f"{'considerably ' * 40}灯亮着 and so on")], [])
    out = CliRunner().invoke(main, ["search", "灯亮着"], env={"EARSHOT_DATA": str(tmp_path), "COLUMNS": "80"}).stdout
    assert "灯亮着" in out and max(map(len, out.splitlines())) <= 80, out


def test_other_peoples_words_do_nothing_on_the_screen(data: Path) -> None:
    """Escape and bidi sequences are shown as what they are, markup is text."""
    for mode in ([], ["--json"]):
        out = CliRunner().invoke(main, ["search", "naive", *mode], env={"EARSHOT_DATA": str(data)}).stdout
        assert "bold" in out and "\x1b" not in out and "\u202e" not in out


@pytest.mark.parametrize(("words", "said"), [
    (["nothinglikeit"], "Nothing matches"), (["🙂"], "letters and digits"),
])  # fmt: skip
def test_an_empty_answer_says_why(data: Path, words: list[str], said: str) -> None:
    out = CliRunner().invoke(main, ["search", *words], env={"EARSHOT_DATA": str(data), "COLUMNS": "200"})
    assert out.exit_code == 0 and said in out.stdout


@pytest.mark.parametrize(("words", "said"), [
    (["token", "--source", "gitea"], "bluesky, github, gitlab"), (["token", "-p", "nowhere"], "acme/api"),
])  # fmt: skip
def test_a_name_that_nobody_has_is_refused(data: Path, words: list[str], said: str) -> None:
    """With those that there are, also where there is no warehouse beside the index."""
    out = CliRunner().invoke(main, ["search", *words], env={"EARSHOT_DATA": str(data), "COLUMNS": "200"})
    assert out.exit_code == 2 and said in out.stderr


def test_without_the_extra_meaning_is_refused_with_what_to_install(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ended = CliRunner().invoke(main, ["search", "token", "--semantic"], env={"EARSHOT_DATA": str(data)})
    assert ended.exit_code == 2 and "pip install -c constraints.txt -e '.[semantic]'" in ended.stderr


def test_asking_loads_neither_dlt_nor_duckdb(data: Path) -> None:
    import os
    import subprocess
    import sys

    code = "import sys; from pipelines.cli import main\ntry: main(['search', 'token'])\nexcept SystemExit: pass\nprint([m for m in ('dlt', 'duckdb', 'numpy') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], env={**os.environ, "EARSHOT_DATA": str(data)}, capture_output=True, text=True, timeout=60)  # fmt: skip
    assert told.stdout.splitlines()[-1] == "[]", told.stderr
