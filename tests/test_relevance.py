"""Twenty questions over the demo story (tests/relevance.py): the right document is among the first five, mostly."""

import asyncio
import importlib.util
import shutil
from pathlib import Path

import pytest

from pipelines.search.embed import embed
from pipelines.search.embedders import CARRIERS, Local
from pipelines.search.query import search
from pipelines.warehouse.data_dir import DataDir
from tests.asked import demo_home
from tests.relevance import QUESTIONS, recall

pytestmark = pytest.mark.ci

__all__ = ["demo_home"]

installed = all(importlib.util.find_spec(name) for name in CARRIERS)


def found(home: DataDir, text: str, mode: str) -> list[str]:
    return [hit.document_key for hit in search(text, mode=mode, data=home.path)]


def test_by_words_most_of_the_questions_are_answered(demo_home: DataDir) -> None:
    assert len(QUESTIONS) == 20
    assert recall(lambda text: found(demo_home, text, "keyword")) >= 0.7


@pytest.mark.skipif(not installed, reason="the extra [semantic] is not installed")
def test_by_meaning_more_of_them(demo_home: DataDir, tmp_path: Path) -> None:
    """With the embedded model, offline; and by both no worse than by words."""
    home = DataDir(tmp_path)
    shutil.copy(demo_home.search, home.search)
    done = asyncio.run(embed(home, Local()))
    assert done.is_complete and done.documents > 100, done
    assert recall(lambda text: found(home, text, "semantic")) >= 0.85
    assert recall(lambda text: found(home, text, "hybrid")) >= 0.75
