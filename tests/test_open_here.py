"""`earshot open … --here`: one thing on the reading page, where that runs."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from pipelines.ask.commands import listing
from tests.asked import Reader

NOBODY = "http://127.0.0.1:9"


class Page(BaseHTTPRequestHandler):
    """What `marimo run` answers, as far as its title."""

    title = "Earshot: read"

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"<head>{' ' * 6000}<title>{type(self).title}</title>".encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def page() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(listing.webbrowser, "open", found.append)
    return found


def test_what_is_named_is_opened_and_printed(demo: Reader, page: str, opened: list[str]) -> None:
    """Whole names, which no other thread shares; with its signs as an address takes them."""
    thread = demo.data("list", "threads", "--source", "gitlab", "--limit", "1")[0]
    post = demo.data("list", "posts", "--limit", "1")[0]
    asked = {
        ("mr", "console!1"): demo.data("show", "mr", "console!1")["parent_key"],
        ("thread", thread["reference"]): thread["thread_id"],
        ("post", post["reference"]): post["parent_key"],
    }
    for words, name in asked.items():
        told = demo.ask("open", *words, "--here", EARSHOT__PAGE=page)
        assert (told.code, told.out.strip()) == (0, opened[-1]), told.err
        assert opened[-1].startswith(f"{page}/?") and parse_qs(urlsplit(opened[-1]).query) == {"thread": [name]}
    assert len(opened) == 3
    assert demo.data("open", "mr", "console!1", "--page", f"{page}/")["url"] == opened[0]
    assert demo.ask("open", "mr", "console!1").out.startswith("https://gitlab.com/")


def test_without_a_page_it_says_how_to_start_one(
    demo: Reader, page: str, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody there, another page there, an address that is none: nothing is opened."""
    told = demo.ask("open", "mr", "console!1", "--here", "--page", NOBODY)
    assert told.code == 1 and "marimo run notebooks/read.py" in told.err and NOBODY in told.err
    monkeypatch.setattr(Page, "title", "Earshot: feedback")
    told = demo.ask("open", "mr", "console!1", "--here", EARSHOT__PAGE=page)
    assert told.code == 1 and "another page" in told.err and "marimo run notebooks/read.py" in told.err
    assert demo.json("open", "mr", "console!1", "--page", NOBODY)["error"]["code"] == "NOT_RUNNING"
    assert demo.ask("open", "mr", "console!1", "--page", "nowhere").code == 2
    assert demo.ask("open", "mr", "console!1", "--here", EARSHOT__PAGE="nowhere").code == 2
    assert opened == []
