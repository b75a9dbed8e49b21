"""The packed vectors: what is found with them is what is found without, whatever became of the file."""

import asyncio
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest

from pipelines.search import packed
from pipelines.search.chunks import Chunk
from pipelines.search.embed import embed
from pipelines.search.index import opened, reading
from pipelines.search.query import Only, search_index
from pipelines.search.vectors import opened_vectors
from pipelines.warehouse.data_dir import DataDir
from tests.test_search import row


class Letters:
    """Words by how often the first letters of the alphabet are in them."""

    def __init__(self, model: str = "letters", alphabet: str = "abcde") -> None:
        self.model, self.alphabet = model, alphabet

    async def embed(self, texts: Any) -> list[bytes]:
        counts = [[float(text.count(letter)) for letter in self.alphabet] for text in texts]
        lengths = [sum(n * n for n in numbers) ** 0.5 or 1.0 for numbers in counts]
        return [array("f", [n / length for n in ns]).tobytes() for ns, length in zip(counts, lengths, strict=True)]


WORDS = {f"acme/api#{n}": "abcde"[n % 5] * (n + 1) + "abcde"[n % 3] * 3 for n in range(1, 9)}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataDir:
    """Every change is worth packing, so that few documents show it."""
    monkeypatch.setattr(packed, "FEW", 0)
    monkeypatch.setattr(packed, "SHARE", 10**9)
    put(DataDir(tmp_path), WORDS)
    run(DataDir(tmp_path))
    return DataDir(tmp_path)


def put(home: DataDir, bodies: dict[str, str], gone: tuple[str, ...] = ()) -> None:
    with opened(home.search) as index, index.writing():
        index.replace([row(key, None, body, content_hash=body, row_hash=body) for key, body in bodies.items()], gone)


def run(home: DataDir, embedder: Any = None, only: dict[str, str] | None = None) -> None:
    done = asyncio.run(embed(home, embedder or Letters(), only))
    assert not done.problem


def ids(home: DataDir) -> tuple[list[int], list[int]]:
    """Those that are packed, those that are."""
    held = packed._held(home.packed)
    assert held
    data = home.packed.read_bytes()[packed.HEAD :]
    rows = [data[n * held.step : (n + 1) * held.step] for n in range(held.count)]
    with sqlite3.connect(home.vectors) as connection:
        truth = dict(connection.execute("SELECT id, vector FROM vectors WHERE model = ?", (held.model,)).fetchall())
    found = [int.from_bytes(each[:8], "little") for each in rows]
    for id_, each in zip(found, rows, strict=True):
        assert id_ not in truth or each[8 : 8 + held.dimension * 4] == truth[id_]
    return found, sorted(truth)


def near(home: DataDir, text: str, embedder: Any = None) -> list[tuple[str, float]]:
    pytest.importorskip("numpy", reason="the extra [semantic] is not installed")
    with reading(home.search) as index:
        hits = search_index(index, home, text, Only(), "semantic", 20, embedder or Letters())
    return [(hit.document_key, hit.score) for hit in hits]


def unpacked(home: DataDir, text: str, folder: Path, embedder: Any = None) -> list[tuple[str, float]]:
    """What is found where there is no such file."""
    bare = DataDir(folder)
    shutil.copytree(home.path, folder)
    bare.packed.unlink(missing_ok=True)
    return near(bare, text, embedder)


def test_all_vectors_are_packed_for_the_user_alone(home: DataDir) -> None:
    found, held = ids(home)
    assert found == held and len(found) == 8
    assert stat.S_IMODE(home.packed.stat().st_mode) == 0o600


def test_what_is_new_or_gone_since_is_known(home: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file stays as it is while little differs; what was embedded since is found, what is gone is not."""
    monkeypatch.setattr(packed, "FEW", 100)
    before = home.packed.read_bytes()
    put(home, {"acme/api#1": "e" * 9, "acme/api#50": "d" * 3 + "e"}, ("acme/api#2",))
    run(home)
    assert home.packed.read_bytes() == before and ids(home)[0] != ids(home)[1]
    found = near(home, "dddde")
    assert found == unpacked(home, "dddde", tmp_path / "bare")
    assert dict(found)["acme/api#50"] == pytest.approx(0.99, abs=0.01) and "acme/api#2" not in dict(found)


def test_it_is_made_anew_when_much_differs(home: DataDir) -> None:
    put(home, {"acme/api#50": "bad"}, ("acme/api#1", "acme/api#2"))
    run(home)
    found, held = ids(home)
    assert found == held and len(found) == 7


def test_a_number_is_never_given_twice(home: DataDir) -> None:
    """Else a packed vector would speak for other words: here the last row goes and a new one comes."""
    known = ids(home)[1]
    put(home, {}, ("acme/api#8",))
    run(home)
    put(home, {"acme/api#9": "new words"})
    run(home)
    assert max(ids(home)[1]) > max(known)


@pytest.mark.parametrize("harm", ["gone", "cut off", "empty", "noise", "another database", "another model"])
def test_without_it_or_with_a_wrong_one_the_same_is_found(home: DataDir, tmp_path: Path, harm: str) -> None:
    """And the next embed stage puts it right."""
    truth = unpacked(home, "abba", tmp_path / "bare")
    if harm == "gone":
        home.packed.unlink()
    elif harm == "cut off":
        home.packed.write_bytes(home.packed.read_bytes()[:-7])
    elif harm == "empty":
        home.packed.write_bytes(b"")
    elif harm == "noise":
        home.packed.write_bytes(b"\xff" * 9000)
    elif harm == "another database":
        other = DataDir(tmp_path / "other")
        other.path.mkdir()
        put(other, {key: words[::-1] + "ccc" for key, words in WORDS.items()})
        run(other)
        home.packed.write_bytes(other.packed.read_bytes())
    else:
        with opened_vectors(home.vectors) as vectors:
            assert vectors
            vectors.keep("x", "other", [Chunk(0, "x")], [bytes(20)])
            packed.pack(home.packed, vectors.connection, "other")
    assert near(home, "abba") == truth
    run(home)
    assert ids(home)[0] == ids(home)[1] and near(home, "abba") == truth


def test_models_are_never_mixed_in_it(home: DataDir, tmp_path: Path) -> None:
    """Of two models with as many numbers each finds its own, whichever is packed."""
    other, before = Letters("other", "edcba"), near(home, "aae")
    run(home, other)
    held = packed._held(home.packed)
    assert held and held.model == "other" and ids(home)[0] == ids(home)[1]
    assert near(home, "aae") == before
    assert near(home, "aae", other) == unpacked(home, "aae", tmp_path / "bare", other)


def test_a_database_restored_from_a_copy_is_not_answered_from_a_later_file(home: DataDir, tmp_path: Path) -> None:
    """It would give numbers to new words that the file knows for others."""
    copy = home.vectors.read_bytes()
    put(home, {"acme/api#50": "eeee"})
    run(home)
    for tail in ("-wal", "-shm"):
        home.vectors.with_name(home.vectors.name + tail).unlink(missing_ok=True)
    home.vectors.write_bytes(copy)
    put(home, {"acme/api#60": "aaaa"}, ("acme/api#50",))
    run(home)
    assert ids(home)[0] == ids(home)[1]
    assert dict(near(home, "aaaa"))["acme/api#60"] == pytest.approx(1.0)


def test_killed_while_it_is_made_it_is_made_by_the_next(home: DataDir) -> None:
    """The one before is still there, whole; what the killed one left does not disturb the next."""
    before = home.packed.read_bytes()
    put(home, {"acme/api#50": "eeee"})
    code = (
        "import asyncio, os, signal, sys\nfrom pathlib import Path\nfrom pipelines.search import packed\n"
        "from pipelines.warehouse.data_dir import DataDir\nfrom tests.test_packed import run\n"
        "packed.FEW, packed.SHARE = 0, 10**9\n"
        "packed.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nrun(DataDir(Path(sys.argv[1])))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(home.path)], cwd=Path(__file__).parents[1], timeout=60)
    assert ended.returncode == -signal.SIGKILL and home.packed.read_bytes() == before
    put(home, {"acme/api#51": "dddd"})
    run(home)
    assert ids(home)[0] == ids(home)[1] and len(ids(home)[0]) == 10
    assert not list(home.path.glob("*.partial"))


def test_a_full_disk_leaves_the_one_before(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    before = home.packed.read_bytes()
    put(home, {"acme/api#50": "eeee"})

    def full(_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packed.os, "fsync", full)
    done = asyncio.run(embed(home, Letters()))
    assert done.code == "FAILED" and "No space" in done.problem
    assert home.packed.read_bytes() == before and not list(home.path.glob("*.partial"))
