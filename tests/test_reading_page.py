"""The reading page as its readers use it: what it lists and shows, and that others' words stay words; in a browser, too."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pytest

from pipelines.warehouse.data_dir import DataDir

pytest.importorskip("marimo", reason="the notebooks need the extra: pip install -c constraints.txt -e '.[notebooks]'")

from bench import reader_rows
from pipelines import charts
from pipelines.charts import reading
from pipelines.charts.reading import words
from tests.browsing import ROOT, Page, brightness, browsing, serving

pytestmark = pytest.mark.ci

EVIL = (
    "</div></style><script>window.hacked = 1</script><img src='http://evil.test/a.png' onerror='window.hacked = 1'>"
    " ![x](http://evil.test/b.png) [y](javascript:alert(1)) http://evil.test/c.png **bold** &lt;b&gt; `tick` $x$ \x1b[31m"
)
SEEN = EVIL.replace("\x1b", "�")
PULL, PLACE = "github:1001:44", "github:1001:44:review:1080"  # of the demo: three threads on its diff, suggestions
ISSUE = "github:1001:46"  # whose words are all hostile here
GONE = "github:1001:31"
EDITED, DELETED = "1173", "1108"  # of the pull request
# as runs leave it: an older version, a note that is gone, and words of all kinds that somebody could write
STORY = f"""
INSERT INTO feedback.events SELECT * REPLACE (
    event_key || ':before' AS event_key, false AS is_latest, updated_at - INTERVAL 1 HOUR AS updated_at,
    replace(body, '497 passed', '1 failed, 496 passed') AS body
) FROM feedback.events WHERE parent_key = '{PULL}' AND id = '{EDITED}';
UPDATE feedback.events SET is_edit = true WHERE parent_key = '{PULL}' AND id = '{EDITED}' AND is_latest;
UPDATE feedback.events SET is_deleted = true WHERE parent_key = '{PULL}' AND id = '{DELETED}';
UPDATE feedback.events SET is_deleted = true WHERE parent_key = '{GONE}';
DELETE FROM feedback.threads WHERE parent_key = '{GONE}';
UPDATE feedback.events SET body = $evil, author = $evil, url = 'javascript:alert(1)', title = $evil
    WHERE parent_key = '{ISSUE}';
UPDATE feedback.threads SET opening_words = $evil, last_words = $evil, last_author = $evil, opener = $evil,
    waiting_on = $evil WHERE parent_key = '{ISSUE}';
UPDATE feedback.parents SET title = $evil, author = $evil, labels = [$evil], url = $evil WHERE parent_key = '{ISSUE}';
UPDATE github.review_comments SET path = $evil, diff_hunk = '@@ -1,1 +1,1 @@' || chr(10) || '+' || $evil
    WHERE parent_key = 'github:1001:17';
"""


def sql(home: DataDir, query: str, **values: Any) -> Any:
    with duckdb.connect(str(home.published), read_only=True) as connection:
        return connection.execute(query, values).fetchall()


@pytest.fixture(scope="module")
def home(demo_home: DataDir, tmp_path_factory: pytest.TempPathFactory) -> DataDir:
    own = DataDir(tmp_path_factory.mktemp("read"))
    own.create()
    for file in (demo_home.published, demo_home.control, demo_home.search):
        shutil.copy(file, own.path / file.name)
    with duckdb.connect(str(own.published)) as connection:
        for statement in STORY.split(";\n"):
            connection.execute(statement, {"evil": EVIL} if "$evil" in statement else {})
    return own


def run(home: DataDir, monkeypatch: pytest.MonkeyPatch, thread: str = "", **chosen: str) -> dict[str, Any]:
    """What the cells hold at their end, with an address and filters as a reader would have them."""
    monkeypatch.setenv("EARSHOT_DATA", str(home.path))
    with monkeypatch.context() as patch:
        which = reading.which
        patch.setattr(reading, "which", lambda held, typed: which(held, thread or typed))
        patch.setattr(charts, "Chosen", lambda: _Chosen(chosen))
        found = importlib.util.spec_from_file_location("read", ROOT / "notebooks" / "read.py")
        assert found and found.loader
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        return dict(module.app.run()[1])


_Chosen = charts.Chosen


def shown(home: DataDir, monkeypatch: pytest.MonkeyPatch, thread: str) -> str:
    told = run(home, monkeypatch, thread)["told"]
    return reading.page(told)


def script(data: Path) -> str:
    environ = {**os.environ, "EARSHOT_DATA": str(data)}
    command = [sys.executable, "notebooks/read.py"]
    ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_every_discussion_is_listed_once_with_whose_turn_it_is(
    demo_home: DataDir, worlds: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the world's own titles; newest first; narrowed by each filter, and all of its turn."""
    monkeypatch.setattr(reading, "openers", lambda *_: {})
    rows = run(demo_home, monkeypatch, kind="merge_request", source="gitlab")["rows"]
    titles = [fact["title"] for fact in worlds["gitlab"].truth(reader="earshot").merge_requests.values()]
    assert sorted(row["title"] for row in rows) == sorted(titles)
    assert [row["last_at"] for row in rows] == sorted((row["last_at"] for row in rows), reverse=True)
    turns = {row["parent_key"]: row["turns"] for row in rows}
    waiting = sql(demo_home, "SELECT parent_key, waiting_on FROM feedback.threads WHERE waiting_on IS NOT NULL")
    for key, whose in turns.items():
        assert sorted(whose) == sorted({who for parent, who in waiting if parent == key}), key
    assert any(turns.values())
    longest = run(demo_home, monkeypatch, turn="team", first="waits longest")["rows"]
    since = [min(at for at, in sql(
        demo_home, "SELECT last_at FROM feedback.threads WHERE parent_key = $key AND waiting_on = 'team'",
        key=row["parent_key"])) for row in longest]  # fmt: skip
    assert since == sorted(since) and all("team" in row["turns"] for row in longest) and len(longest) > 5
    merged = run(demo_home, monkeypatch, state="merged")["rows"]
    assert {row["state"] for row in merged} == {"merged"}


def test_search_asks_the_index_within_the_filters(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best first; a word that nobody said finds nothing and says so."""
    found = run(home, monkeypatch, find="token rotat*")
    assert found["rows"][0]["title"].startswith("Rotate upstream tokens")
    assert {row["parent_key"] for row in found["rows"]} == {hit.document_key for hit in found["hits"]}
    only = run(home, monkeypatch, find="token", source="gitlab")["rows"]
    assert only and {row["source"] for row in only} == {"gitlab"}
    none = run(home, monkeypatch, find="qzxv")
    assert (none["rows"], none["otherwise"]) == ([], "Nobody said that.")


def test_a_discussion_is_whole(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word that stands, each once: under its file and line what was said there, with the lines and suggestions."""
    told = shown(home, monkeypatch, PULL)
    said = sql(home, f"SELECT url FROM feedback.events WHERE parent_key = '{PULL}' AND is_latest AND NOT is_system")
    for (url,) in said:
        assert told.count(f'href="{url}"') == (2 if url.endswith("/44") else 1), url
    places = sql(home, f"SELECT DISTINCT path, line FROM feedback.diff_notes WHERE parent_key = '{PULL}'")
    for path, line in places:
        under = told[told.index(f'class="file">{path}<') :]
        assert re.search(rf"<b>lines? (\d+ to )?{line}</b>", under), (path, line)
    assert '<div class="new"><i>6</i><b>+</b>' in told, "the line that was commented on"
    assert '<div class="gone"><i></i><b>-</b>    return now.Add(time.Duration(gap) * time.Second)' in told
    assert '<div class="new"><i></i><b>+</b>    return now.Add(time.Duration(gap * float64(time.Second)))' in told
    assert "```" not in told


def test_edits_and_deletions_are_told(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed between versions, in place; what is gone is marked, its words are folded away."""
    told = shown(home, monkeypatch, PULL)
    assert told.count('data-earshot="edits"') == 1 and "1 edit: show what changed" in told
    edits = told[told.index('data-earshot="edits"') :].partition("</details>")[0]
    assert "<del>1 failed, 496 </del>" in edits and "<ins>497 </ins>" in edits
    gone = told[told.index('class="said deleted"') :]
    assert gone.index('<span class="tag">deleted</span>') < gone.index("<details") < gone.index("First pass.")
    assert told.count('class="said deleted"') == 1
    words = sql(home, f"SELECT left(body, 30) FROM feedback.events WHERE parent_key = '{GONE}' AND NOT is_system")
    told = shown(home, monkeypatch, GONE)
    assert told.count('class="said deleted"') == len(words) > 1, "also where all of it is gone"


def test_others_words_are_text_wherever_they_stand(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """In titles, names, words, labels, paths, diffs and addresses, and in the list, where Markdown is made of labels."""
    from pipelines.charts.reading import rows

    for told in (shown(home, monkeypatch, ISSUE), shown(home, monkeypatch, "github:1001:17")):
        assert "evil.test" in told and "&lt;script&gt;" in told
        assert not re.search(r"<(script|img|style)|href=\"(?!https://)|\x1b", told)
    row = next(row for row in run(home, monkeypatch)["rows"] if row["parent_key"] == ISSUE)
    label = rows.label({**row, "hit": None}, {}).replace(" ".join(rows.STYLE.split()), "")
    assert not re.search(r"<(?!/?(div|span)\b)|evil\.test|\*\*|`|javascript:", label)
    assert words.inert("a_b *c* <d> ü") == "a&#95;b &#42;c&#42; &#60;d&#62; ü"


@pytest.mark.parametrize(
    ("said", "html"),
    [
        ("a `b` <c>", '<div class="words">a <code>b</code> &lt;c&gt;</div>'),
        ("x\n```go\nif a < b {\n```\ny", '<div class="words">x</div><div class="code">if a &lt; b {</div><div class="words">y</div>'),
        ("```\nno end", '<div class="code">no end</div>'),
        ("Done.\n<!-- earshot:1 -->", '<div class="words">Done.</div>'),
        ("`<!-- kept -->` in code", '<div class="words"><code>&lt;!-- kept --&gt;</code> in code</div>'),
        ("a <!-- `b` --> c <!-- no end", '<div class="words">a  c &lt;!-- no end</div>'),
        ("a\n<!-- a block without end\nb", '<div class="words">a</div>'),
        ("an unbalanced ` one", '<div class="words">an unbalanced ` one</div>'),
        ("", ""),
    ],
)  # fmt: skip
def test_words_are_shown_as_they_were_typed(said: str, html: str) -> None:
    assert words.words({"body": said}) == html


def test_an_address_means_one_discussion(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a thread, an issue or change, an event, a short id; of one thread of several that one; else it says why not."""
    monkeypatch.setenv("EARSHOT_DATA", str(home.path))
    event = sql(home, f"SELECT event_key FROM feedback.events WHERE thread_id = '{PLACE}' LIMIT 1")[0][0]
    short = sql(home, f"SELECT left(md5('{PLACE}'), 7)")[0][0]
    with charts.asking() as held:
        for typed in (PLACE, event, short):
            assert reading.which(held, typed) == reading.Found(PULL, PLACE), typed
        for typed in (PULL, f"{PULL}:conversation"):
            assert reading.which(held, typed) == reading.Found(PULL, ""), typed
        for typed in (None, "", "nowhere", "0000000", "' OR 1=1 --", EVIL, "\0", "\ud800", "x" * 100_000):
            why = reading.which(held, typed)
            assert isinstance(why, charts.Nothing) and why.hint, typed
            assert len(why.message) < 500 and not set(why.message) & {"\x1b", "\0", "\ud800"}, typed
    assert 'class="about here"' in shown(home, monkeypatch, PLACE)
    assert "about here" not in shown(home, monkeypatch, PULL)


def test_a_warehouse_without_anything_to_read_says_what_to_do(demo_home: DataDir, tmp_path: Path) -> None:
    """Missing, empty, and made by another version."""
    assert "no warehouse" in script(tmp_path / "none") and "earshot sync" in script(tmp_path / "none")
    reader_rows.main(tmp_path / "empty", 0)
    assert "nothing has been said yet" in script(tmp_path / "empty")
    old = DataDir(tmp_path / "old")
    old.create()
    shutil.copy(demo_home.published, old.published)
    with duckdb.connect(str(old.published)) as connection:
        connection.execute("DROP VIEW feedback.diff_notes")
    assert "made by another version" in script(old.path)
    assert "console/1 · Console 1.0: what it must do · noor" in script(demo_home.path)


def test_of_very_much_a_page_asks_for_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100,000 events, and of a thread with 6,000: forty lines and a hundred utterances, in a moment."""
    reader_rows.main(tmp_path, 100_000)
    home = DataDir(tmp_path)
    with duckdb.connect(str(home.published)) as connection:
        long = "event_key || ':long' AS event_key, 'bench:7' AS parent_key, 'bench:7:conversation' AS thread_id, repeat(body, 200) AS body"
        connection.execute(f"INSERT INTO feedback.events SELECT * REPLACE ({long}) FROM feedback.events"
                           " WHERE kind = 'note' AND NOT is_system LIMIT 6000")  # fmt: skip
    for thread in ("bench:7", "bench:3333"):
        took = []
        for _ in range(2):
            began = time.process_time()
            found = run(home, monkeypatch, thread)
            took.append(time.process_time() - began)
        assert min(took) < 1.5, thread  # the process's time, of the list and the thread together
        assert len(found["rows"]) == 40 and found["has_more"]
        assert len(found["told"].notes) <= 100
        assert found["told"].opener, "how it began is always there"
        told = reading.page(found["told"])
        is_long = thread == "bench:7"
        assert ("100 of 6,00" in told) == ("the rest stands at its service" in told) == is_long


# --- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def served(home: DataDir) -> Iterator[str]:
    with serving("read", home.path) as url:
        yield url


class Reader(Page):
    def __init__(self, browser: Any, url: str, thread: str = "", theme: str = "light", width: int = 1280) -> None:
        super().__init__(browser, url, theme, width, f"/?thread={quote(thread, safe='')}" if thread else "")
        self.page.locator('[data-earshot="reader"]').wait_for(timeout=60_000)

    def title(self, words: str) -> Any:
        found = self.page.locator('[data-earshot="thread"] .title', has_text=words)
        found.wait_for(timeout=20_000)
        return found


def test_a_reader_searches_and_reads(served: str, browser: Any) -> None:
    """From words to the discussion, its address, what changed in it; the next begins at its top; nothing is loaded from
    elsewhere and the console is silent.
    """
    read = Reader(browser, served)
    page = read.page
    assert page.locator("[data-thread]").count() == 40
    page.get_by_text("Show more").click()
    page.locator("[data-thread]").nth(60).wait_for(timeout=20_000)
    page.get_by_label("Find", exact=True).fill("early refresh probability")
    page.get_by_label("Find", exact=True).press("Enter")
    page.locator("[data-thread] .r:has(mark)", has_text="Refresh hot entries early").first.click()
    read.title("Refresh hot entries early, with growing probability")
    assert page.url.endswith(f"/?thread={quote(PULL, safe='')}")
    edits = page.locator('[data-earshot="edits"]')
    assert not edits.locator("ins").is_visible()
    edits.locator("summary").click()
    assert edits.locator("ins").inner_text().strip() == "497"
    page.locator("article").evaluate("place => place.scrollTo(0, 9999)")
    assert page.locator("article").evaluate("place => place.scrollTop") > 100
    read.keep("read-edits")
    page.locator("[data-thread]").nth(1).click()
    page.locator(".title", has_text="Refresh hot entries").wait_for(state="hidden", timeout=20_000)
    tall, top = page.locator("article").evaluate("place => [place.scrollHeight - place.clientHeight, place.scrollTop]")
    assert tall > 100 and top == 0, "the next one begins at its top"
    page.get_by_label("Find", exact=True).fill("qzxv")
    page.get_by_label("Find", exact=True).press("Enter")
    page.get_by_text("Nobody said that.").wait_for(timeout=20_000)
    assert (read.complaints, read.outside) == ([], [])


def test_hostile_words_are_seen_and_do_nothing(served: str, browser: Any) -> None:
    """In the list and in the thread: as they were typed, with nothing run, loaded or linked."""
    read = Reader(browser, served, ISSUE)
    body = read.page.locator('[data-earshot="thread"] .words').first
    body.wait_for(timeout=20_000)
    assert body.inner_text().startswith(
        "</div></style><script>window.hacked = 1</script><img src='http://evil.test/a.png'"
    )
    row = read.page.locator("[data-thread] .r", has_text="window.hacked").first
    assert "<script>window.hacked = 1</script>" in row.inner_text()
    read.page.wait_for_timeout(500)
    read.keep("read-hostile")
    assert read.page.evaluate("window.hacked") is None
    assert read.page.locator("[src*='evil.test'], a[href*='evil'], a[href^='javascript']").count() == 0
    assert (read.complaints, read.outside) == ([], [])


# What stands beyond its place: of the page, of the reader's two sides, of whatever in them does not scroll by itself
BEYOND = """
() => {
    const page = document.documentElement, beyond = []
    if (page.scrollWidth > page.clientWidth) beyond.push(`page ${page.scrollWidth} > ${page.clientWidth}`)
    const right = document.querySelector('[data-earshot="reader"]').getBoundingClientRect().right + 1
    for (const each of document.querySelectorAll('.er nav, .er main, .er article, .er .said, .er .about, .er .head, .er .row')) {
        const box = each.getBoundingClientRect()
        if (box.right > right) beyond.push(`${each.className || each.tagName}: ${box.right} > ${right}`)
        if (each.scrollWidth > each.clientWidth + 1) beyond.push(`${each.className || each.tagName} scrolls`)
    }
    return beyond
}
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_on_every_screen(served: str, browser: Any, theme: str) -> None:
    """A deep link into a diff: the place that was meant is in view, and nothing stands beyond the page."""
    for width in (700, 1280, 1920):
        read = Reader(browser, served, PLACE, theme, width)
        read.title("Refresh hot entries early")
        read.page.wait_for_timeout(700)
        read.keep(f"read-{theme}-{width}")
        assert read.page.evaluate(BEYOND) == [], width
        top = read.page.locator(".about.here").bounding_box()["y"]
        assert 0 <= top < 1000, width
        ink, paper = (brightness(read.page.locator(part).first.evaluate(f"each => getComputedStyle(each).{of}"))
                      for part, of in ((".er .words", "color"), ("body", "backgroundColor")))  # fmt: skip
        assert (ink > 0.6 and paper < 0.2) if theme == "dark" else (ink < 0.3 and paper > 0.9), width
        label = read.page.locator("[data-thread] .t").first.evaluate("each => getComputedStyle(each).color")
        assert abs(brightness(label) - ink) < 0.2, "the list is as legible as the words"
        assert (read.complaints, read.outside) == ([], [])
