"""What a source must be able to do so that Earshot can answer on it: say something, look whether it was said, resolve.

Looking is one request, however long a thread is: it goes back to the moment when the answer was first tried and no
further, and says so when a page did not reach that far.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pendulum import DateTime

from sources.core.http.client import Api, Failure, OutcomeUnknown
from sources.core.paging import Page, Window, beginning, page_of
from sources.core.values import Json, Unreadable, instant

__all__ = ["Address", "Answering", "Look", "PostedComment", "look_back", "named", "written"]

PER_PAGE = 100


@dataclass(frozen=True)
class Address:
    """Where an answer belongs."""

    scope: str
    name: str  # of the repository or project, as it was last called
    kind: str  # issue, pull_request, merge_request
    number: int
    thread: str | None = None  # the source's own name for a thread in it; None: the conversation


@dataclass(frozen=True)
class PostedComment:
    """A comment as the service shows it."""

    id: str
    author: str | None
    body: str
    url: str | None


@dataclass(frozen=True)
class Look:
    """What was said lately. Not complete: there is more than was read."""

    said: list[PostedComment]
    is_complete: bool


class Answering(Protocol):
    name: str
    write_headers: Mapping[str, str]  # nothing in them: answering is off
    resolves: bool  # whether a thread can be resolved

    def refuses(self, body: str) -> str | None:
        """Why this service should not be sent such a body, if so."""
        ...

    async def say(self, api: Api, address: Address, body: str) -> PostedComment: ...

    async def look(self, api: Api, address: Address, since: DateTime) -> Look: ...

    async def resolve(self, api: Api, address: Address) -> None: ...

    async def who(self, api: Api) -> str | None:
        """Whose the token is; None where the service does not tell."""
        ...


async def look_back(
    api: Api,
    path: str,
    params: Mapping[str, str],
    since: DateTime,
    shape: Callable[[Json], PostedComment],
    *,
    newest_first: bool,
    filters: bool = False,
) -> Look:
    """Comments of a list since a moment, a hundred at most, or as many as one answer can hold."""

    async def ask(window: Window, _: str | None) -> Page:
        answer = await api.get(path, {**params, "per_page": window.size, "page": 1})
        return page_of(api, answer, window.size, filters=filters)

    page = await beginning(ask, None, PER_PAGE)
    reaches_back = newest_first and bool(page.items) and _created(page.items[-1]) < since
    return Look([shape(item) for item in page.items], is_complete=reaches_back or not page.more)


def written(said: object, path: str) -> Json:
    """The record that the service made of what we sent."""
    if not isinstance(said, dict) or not isinstance(said.get("id"), int):
        raise OutcomeUnknown("FETCH_ERROR", f"{path} answered something that is no comment", is_over=True)
    return said


async def named(api: Api, path: str, column: str) -> str | None:
    """The token's owner as a service names people. Tokens of apps have none."""
    try:
        answer = await api.get(path)
    except Failure as why:
        if why.status in (403, 404):
            return None
        raise
    name = answer.data.get(column) if isinstance(answer.data, dict) else None
    return name if isinstance(name, str) else None


def _created(item: Json) -> DateTime:
    try:
        return instant(item.get("created_at"))
    except Unreadable as error:
        raise Failure("FETCH_ERROR", f"a comment without a readable time: {error}") from None
