"""Vectors: nothing is embedded twice, models are never mixed, and no embedder's failure is a run's. The remote ones are
asked over a real socket, in the shapes that their documentation tells.
"""

import asyncio
import json
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pipelines.search.chunks import LONGEST, MOST, chunks
from pipelines.search.embed import Embedded, embed
from pipelines.search.embedders import EmbedError, Ollama, OpenAi, configured_embedder
from pipelines.search.index import opened
from pipelines.search.vectors import opened_vectors
from pipelines.settings import EmbedConfig
from pipelines.warehouse.data_dir import DataDir
from sources.core.config import ConfigError, Secret
from tests.synced import GitLabDesk
from tests.test_documents import gitlab, project, world
from tests.test_search import row

__all__ = ["gitlab", "project", "world"]


class Fake:
    """Words as their first letters; `bad` words are answered with something else."""

    def __init__(self, model: str = "fake", size: int = 2, bad: str = "\x00") -> None:
        self.model, self.size, self.bad, self.texts = model, size, bad, list[str]()

    async def embed(self, texts: Any) -> list[bytes]:
        self.texts += texts
        if any(self.bad in text for text in texts):
            raise EmbedError("BAD_ANSWER", "a vector is not a list of numbers")
        return [array("f", [1.0] + [0.0] * (self.size - 1)).tobytes() for _ in texts]


@pytest.fixture
def home(tmp_path: Path) -> DataDir:
    put(DataDir(tmp_path), {"acme/api#1": "first words", "acme/api#2": "second words"})
    return DataDir(tmp_path)


def put(home: DataDir, bodies: dict[str, str]) -> None:
    with opened(home.search) as index, index.writing():
        index.replace([row(key, None, body, content_hash=body, row_hash=body) for key, body in bodies.items()], [])


def run(home: DataDir, embedder: Any, only: dict[str, str] | None = None, **more: Any) -> Embedded:
    return asyncio.run(embed(home, embedder, only, **more))


def held(home: DataDir) -> list[tuple[Any, ...]]:
    with sqlite3.connect(home.vectors) as connection:
        return connection.execute("SELECT content_hash, model, chunk FROM vectors ORDER BY 1, 2, 3").fetchall()


def test_nothing_is_embedded_twice(home: DataDir) -> None:
    """Not by a second run, nor when one document of several changes, nor the parts that stayed in one that did."""
    fake = Fake()
    long = "\n\n".join(f"paragraph {n} " + "x" * 500 for n in range(4))
    put(home, {"acme/api#3": long})
    assert run(home, fake).documents == 3 and run(home, fake).documents == 0
    assert len(fake.texts) == len(set(fake.texts)) == 6
    put(home, {"acme/api#3": f"{long}\n\nand a new one {'y' * 400}"})
    assert run(home, fake).documents == 1
    assert fake.texts[6:] == [f"and a new one {'y' * 400}"]


def test_not_after_a_full_run_either(gitlab: GitLabDesk) -> None:
    fake = Fake()
    first = gitlab.run(embedder=fake)
    assert first.embedded == 7 and first.exit_code == 0
    count = len(fake.texts)
    assert gitlab.run(full=True, embedder=fake).embedded == 0 and len(fake.texts) == count
    assert "embed" not in gitlab.run(embedder=fake).timings_ms


def test_words_of_no_document_any_more_are_forgotten(home: DataDir) -> None:
    run(home, Fake())
    put(home, {"acme/api#1": "other words"})
    run(home, Fake())
    assert [hash_ for hash_, _, _ in held(home)] == ["other words", "second words"]


def test_models_are_never_mixed(home: DataDir) -> None:
    """A switch half way: each has its own; a model that changes its length is not believed."""
    run(home, Fake("one", 2), {"acme/api#1": "first words"})
    assert run(home, Fake("two", 3), {"acme/api#2": "second words"}).documents == 1
    assert held(home) == [("first words", "one", 0), ("second words", "two", 0)]
    assert run(home, Fake("two", 3)).is_complete and len(held(home)) == 3
    put(home, {"acme/api#4": "fourth"})
    changed = run(home, Fake("two", 5))
    assert "two gives 5 numbers, its other vectors have 3" in changed.problem and changed.code == "BAD_ANSWER"


def test_a_bad_answer_spoils_only_its_document_and_is_tried_again_later(home: DataDir) -> None:
    """It leaves a record with its reason; others are embedded; it rests before the next attempt."""
    bad = Fake(bad="second")
    done = run(home, bad)
    assert (done.documents, done.code, done.is_complete) == (1, "BAD_ANSWER", False)
    with sqlite3.connect(home.vectors) as connection:
        assert connection.execute("SELECT content_hash, attempts FROM failures").fetchall() == [("second words", 1)]
    good = Fake()
    assert run(home, good).documents == 0 and good.texts == [], "not at once"
    with sqlite3.connect(home.vectors) as connection:
        connection.execute("UPDATE failures SET retry_at = '2020-01-01T00:00:00Z'")
    assert run(home, good).documents == 1 and run(home, good).is_complete


def test_a_model_whose_vectors_have_another_length_now_is_not_mixed_with_what_it_was(home: DataDir) -> None:
    """Not within a document either, of which a part was embedded before."""
    head, tail = "a" * LONGEST, "b" * LONGEST
    put(home, {"acme/api#1": head})
    assert run(home, Fake(size=2)).is_complete
    put(home, {"acme/api#1": f"{head}\n\n{tail}"})
    done = run(home, Fake(size=3))
    assert done.code == "BAD_ANSWER" and "3 numbers" in done.problem
    with sqlite3.connect(home.vectors) as connection:
        assert connection.execute("SELECT DISTINCT length(vector) FROM vectors").fetchall() == [(8,)]


def test_only_what_still_says_the_same_is_embedded(home: DataDir) -> None:
    fake = Fake()
    assert run(home, fake, {"acme/api#1": "words of before", "acme/api#2": "second words"}).documents == 1
    assert fake.texts == ["second words"]


def test_one_process_embeds_at_a_time(home: DataDir) -> None:
    with opened_vectors(home.vectors):
        assert run(home, Fake()).code == "BUSY"
    assert run(home, Fake()).documents == 2


def test_a_damaged_file_is_made_anew(home: DataDir) -> None:
    home.vectors.write_bytes(b"nothing of the kind" * 100)
    assert run(home, Fake()).documents == 2


def test_a_run_ends_when_its_time_is_up_and_the_next_goes_on(home: DataDir) -> None:
    assert not run(home, Fake(), seconds=-1).is_complete and held(home) == []
    assert run(home, Fake()).is_complete


def test_a_failing_embedder_fails_no_run(gitlab: GitLabDesk) -> None:
    class Broken(Fake):
        async def embed(self, texts: Any) -> list[bytes]:
            raise RuntimeError("no model today")

    report = gitlab.run(embedder=Broken())
    assert report.exit_code == 0 and report.embedded == 0
    from pipelines.state.ledger import Ledger

    with Ledger.open(gitlab.home.control) as ledger:
        assert [row["message"] for row in ledger.open_failures("embed")] == ["RuntimeError: no model today"]
    assert gitlab.run(embedder=Fake("fake")).embedded == 7, "although nothing is new"
    with Ledger.open(gitlab.home.control) as ledger:
        assert ledger.open_failures("embed") == []


def test_parts_end_at_paragraphs_and_are_all_of_the_text() -> None:
    body = "\n\n".join([f"{n} " + "word " * 60 for n in range(9)] + ["long" * 500, "tail"])
    parts = chunks("Title", body)
    assert all(part.text.startswith("Title\n\n") and len(part.text) <= LONGEST + 10 for part in parts)
    assert all(body[part.start :].startswith(part.text.removeprefix("Title\n\n")[:20]) for part in parts)
    squeezed = "".join("".join(part.text.removeprefix("Title\n\n") for part in parts).split())
    assert squeezed == "".join(body.split())
    assert len(chunks("", "word " * 1_000_000)) == MOST and [part.text for part in chunks("T", "")] == ["T"]


Answer = Callable[[dict[str, Any]], tuple[int, Any]]


@pytest.fixture
def server() -> Iterator[Any]:
    """Answers as `answer` says and keeps what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.asked.append((self.path, self.headers.get("Authorization"), asked))
            status, told = made.answer(asked)
            body = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.answer = [], lambda asked: (200, {})
    made.url = f"http://127.0.0.1:{made.server_port}"
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def test_ollama_as_documented(server: Any, home: DataDir) -> None:
    server.answer = lambda asked: (200, {"model": "m", "embeddings": [[3.0, 4.0] for _ in asked["input"]]})
    done = run(home, Ollama(EmbedConfig("ollama", "m", server.url)))
    assert done.documents == 2 and done.is_complete
    [(path, authorization, asked)] = server.asked
    assert (path, authorization) == ("/api/embed", None)
    assert asked == {"model": "m", "input": ["first words", "second words"], "truncate": False}
    with sqlite3.connect(home.vectors) as connection:
        vector = array("f", connection.execute("SELECT vector FROM vectors").fetchone()[0])
    assert list(vector) == pytest.approx([0.6, 0.8]), "of length one"


def test_openai_as_documented(server: Any) -> None:
    """Sorted by index, whatever order they come in; the key is sent."""
    server.answer = lambda asked: (200, {"data": [{"index": n, "embedding": [float(n), 1.0]} for n in (1, 0)]})
    embedder = OpenAi(EmbedConfig("openai", "m", server.url, Secret("sesame")))
    first, second = asyncio.run(embedder.embed(["a", "b"]))
    assert array("f", first)[0] == 0.0 and array("f", second)[0] > 0.7
    assert server.asked == [("/v1/embeddings", "Bearer sesame", {"model": "m", "input": ["a", "b"]})]


@pytest.mark.parametrize(("told", "code"), [
    ((200, {"embeddings": [[1.0, 0.0]] * 3}), "BAD_ANSWER"), ((200, {"embeddings": [[1.0], [1.0, 2.0]]}), "BAD_ANSWER"),
    ((200, {"embeddings": [[], []]}), "BAD_ANSWER"), ((200, {"embeddings": ["x", "y"]}), "BAD_ANSWER"), ((200, {"embeddings": [[0.0], [0.0]]}), "BAD_ANSWER"),
    ((200, b"<html>"), "BAD_ANSWER"), ((200, []), "BAD_ANSWER"), ((200, {"embeddings": None}), "BAD_ANSWER"), ((400, {"error": "too long"}), "BAD_ANSWER"),
    ((404, {"error": "model 'm' not found"}), "UNREACHABLE"), ((500, b""), "UNREACHABLE"), ((401, b"no"), "UNREACHABLE"),
], ids=range(12))  # fmt: skip
def test_a_wrong_answer_is_recorded_and_nothing_of_it_kept(server: Any, home: DataDir, told: Any, code: str) -> None:
    """Wrong count, wrong dimension, no numbers, no JSON, no such model."""
    server.answer = lambda asked: told
    done = run(home, Ollama(EmbedConfig("ollama", "m", server.url)))
    assert (done.documents, done.code, done.is_complete) == (0, code, False) and held(home) == []


def test_a_server_that_is_absent_or_slow_is_not_waited_for(server: Any, home: DataDir) -> None:
    import time

    absent = run(home, Ollama(EmbedConfig("ollama", "m", "http://127.0.0.1:9")))
    assert absent.code == "UNREACHABLE"
    server.answer = lambda asked: (time.sleep(4), (200, {}))[1]
    started = time.monotonic()
    slow = run(home, Ollama(EmbedConfig("ollama", "m", server.url, timeout_seconds=0.2)))
    assert slow.code == "UNREACHABLE" and "no answer in time" in slow.problem and time.monotonic() - started < 3
    assert len(server.asked) == 1, "it is not asked for the rest"


@pytest.mark.parametrize(("settings", "word"), [
    ({"provider": "olama"}, "ollama"), ({"provider": "ollama"}, "model"), ({"provider": "openai", "model": "m"}, "url"),
    ({"provider": "openai", "model": "m", "url": "nowhere"}, "url"), ({"budget_seconds": 0.0}, "budget_seconds"),
])  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        EmbedConfig(**settings)


def test_settings_are_read_and_checked_like_all_others(tmp_path: Path) -> None:
    from pipelines.settings import load

    (tmp_path / ".dlt").mkdir()
    (tmp_path / ".dlt" / "config.toml").write_text('[earshot.embed]\nprovider = "ollama"\nmodel = "m"\n')
    assert load(tmp_path, {"EARSHOT__EMBED__API_KEY": "k"})[1].embed == EmbedConfig("ollama", "m", api_key=Secret("k"))
    (tmp_path / ".dlt" / "config.toml").write_text('[earshot.embed]\nmodle = "m"\n')
    with pytest.raises(ConfigError, match="did you mean 'model'"):
        load(tmp_path, {})
    assert configured_embedder(EmbedConfig("off")) is None
