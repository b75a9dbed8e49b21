"""What is told whole in `make long`, and of which CI tells one of a kind."""

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
LONG = os.environ.get("EARSHOT_LONG") == "1"


def few(cases: Iterable[T], *chosen: T) -> list[T]:
    """All cases with EARSHOT_LONG=1, else one of each kind."""
    return list(cases) if LONG else list(chosen)
