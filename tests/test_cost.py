"""What must not be paid for: looked at as what is called or loaded, not by the clock."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.search.index import Index
from sources.bluesky import rows
from sources.bluesky.accounts import Account
from tests.test_documents import gitlab, project, world

__all__ = ["gitlab", "project", "world"]


def test_reading_looks_for_no_library_in_vain() -> None:
    """httpcore asks for sniffio with every lock it makes: it is installed with us."""
    code = (
        "import asyncio, sys, sources.core.http.client, httpcore._synchronization as s\n"
        "async def main():\n"
        "    looked, _ = [], s.current_async_library()\n"
        "    find = staticmethod(lambda name, *_: looked.append(name))\n"
        "    sys.meta_path.insert(0, type('Finder', (), {'find_spec': find}))\n"
        "    assert s.current_async_library() == 'asyncio'\n"
        "    print(looked)\n"
        "asyncio.run(main())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=60
    )
    assert told.stdout == "[]\n", told.stdout + told.stderr


def test_an_author_is_looked_at_once_a_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And again when they call themselves something else."""
    seen = list[Any]()
    real = rows.identity
    monkeypatch.setattr("sources.bluesky.accounts.identity", lambda author: seen.append(author) or real(author))
    account = Account("did:a", "a.example")
    for handle in ("a.example", "a.example", "b.example", "b.example"):
        account.meet({"did": "did:a", "handle": handle})
        account.meet({"did": "did:else", "handle": "x.example"})
    assert [author["handle"] for author in seen] == ["a.example", "b.example"] and account.handle == "b.example"


def test_a_new_index_is_compared_with_nothing(gitlab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gitlab.home.search.unlink()
    monkeypatch.setattr(Index, "hashes", lambda _: 1 / 0)
    assert gitlab.run().exit_code == 0 and gitlab.home.search.exists()
