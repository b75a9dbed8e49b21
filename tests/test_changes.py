"""What changed between two versions, and the lines a comment is about."""

import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.ask.format.changes import changed, hunk

TEXT = st.text(alphabet="ab \n.", max_size=60)
DIFF = "\n".join(
    ["@@ -10,4 +20,5 @@ def f():", " ten", "-eleven", "+twenty-one", "+twenty-two", " twelve", " thirteen"]
)


@given(TEXT, TEXT)
def test_before_and_after_can_be_read_from_the_change(before: str, after: str) -> None:
    """What stayed and what went is the old text, what stayed and what came the new one."""
    parts = changed(before, after)
    assert "".join(text for kind, text in parts if kind in ("same", "removed")) == before
    assert "".join(text for kind, text in parts if kind in ("same", "added")) == after


def test_only_the_words_that_changed_are_told() -> None:
    """And of what stayed no more than stands around them."""
    long = " ".join(f"word{number}" for number in range(200))
    parts = changed(f"{long} no {long}", f"{long} yes {long}")
    kinds = [kind for kind, _ in parts]
    assert kinds == ["left out", "same", "removed", "added", "same", "left out"]
    assert [text for kind, text in parts if kind in ("removed", "added")] == ["no ", "yes "]
    assert sum(len(text) for _, text in parts) < 200
    assert changed("the same", "the same") == [("same", "the same")]


def test_very_long_texts_take_no_long_time() -> None:
    """Whatever repeats in them."""
    chance = random.Random(7)
    for words in (2, 90, 300, 20_000):
        before, after = (" ".join(str(chance.randrange(words)) for _ in range(20_000)) for _ in range(2))
        began = time.process_time()
        assert changed(before, after) and changed(before.replace(" ", "\n"), after.replace(" ", "\n"))
        assert time.process_time() - began < 2, words


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (("RIGHT", 21, 22), [(" ", 20, "ten"), ("-", 11, "eleven"), ("+", 21, "twenty-one"), ("+", 22, "twenty-two")]),
        (("LEFT", None, 11), [(" ", 20, "ten"), ("-", 11, "eleven")]),
        (("RIGHT", None, 20), [(" ", 20, "ten")]),
        (
            (None, 24, 24),
            [("+", 21, "twenty-one"), ("+", 22, "twenty-two"), (" ", 23, "twelve"), (" ", 24, "thirteen")],
        ),
    ],
)
def test_the_lines_a_comment_is_about(place: tuple[Any, Any, Any], shown: list[Any]) -> None:
    """On its side of the diff, with three before them, each by its number there."""
    assert hunk(DIFF, *place) == shown


def test_a_place_that_is_not_in_the_diff_shows_its_end() -> None:
    """The service cuts diffs there; a long range is cut, too, and no diff is nothing."""
    assert hunk(DIFF, "RIGHT", 900, 901)[-1] == (" ", 24, "thirteen")
    whole = "@@ -0,0 +1,500 @@\n" + "\n".join(f"+{number}" for number in range(1, 501))
    shown = hunk(whole, "RIGHT", 1, 500)
    assert len(shown) == 24 and shown[-1] == ("+", 500, "500")
    assert hunk("", "RIGHT", 1, 2) == [] and hunk("no diff at all", None, None, None) == []
