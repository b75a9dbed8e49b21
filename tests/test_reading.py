"""Jobs side by side: so many at a time, begun in turn, and nothing left hanging; and walks that end early."""

import asyncio
import gc
import warnings
from collections.abc import Coroutine, Iterator
from typing import cast

import pytest

from sources.core.http.client import Api
from sources.core.reading import Reading
from sources.core.source import side_by_side


def test_a_job_is_begun_when_it_is_its_turn() -> None:
    """A hundred thousand accounts wait as names, not as tasks."""
    begun, at_once, most = 0, 0, 0

    async def job(n: int) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        assert begun - n < 3  # of those behind it, none was even made
        await asyncio.sleep(0)
        at_once -= 1

    def jobs() -> Iterator[Coroutine[object, object, None]]:
        nonlocal begun
        for n in range(100):
            begun = n
            yield job(n)

    asyncio.run(side_by_side(jobs(), 3))
    assert (begun, at_once, most) == (99, 0, 3)


def test_one_that_breaks_stops_all_and_leaves_none_hanging() -> None:
    done = list[int]()

    async def job(n: int) -> None:
        await asyncio.sleep(0)
        if n == 3:
            raise ZeroDivisionError
        done.append(n)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            asyncio.run(side_by_side([job(n) for n in range(50)], 2))
        except* ZeroDivisionError:
            done.append(-1)
        gc.collect()
    assert done[-1] == -1 and len(done) < 6
    assert not told  # `was never awaited`


def test_jobs_that_nobody_is_left_to_do_are_no_success() -> None:
    """A task that ends as cancelled, though nobody cancelled it, says nothing to its group."""

    async def job() -> None:
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="left undone"):
        asyncio.run(side_by_side([job() for _ in range(9)], 2))


def test_a_walk_ends_only_where_it_is_known_that_it_was_not_over() -> None:
    """Time may end between two questions: one answer must do for both."""
    answers = iter([False, True])
    reading = Reading(cast(Api, None), {})
    reading.stops = lambda: next(answers)
    ends = reading.pauses("posts", "did:plc:1")
    assert (ends(), reading.paused) == (False, set())
    assert (ends(), reading.paused) == (True, {("did:plc:1", "posts")})
