"""One repository of GitHub: who it is, and how its lists are asked.

The numeric id is the scope in every key, so that a rename re-keys nothing. A name that now belongs to another id is
another repository: it gets its own history, the old one's stays.
"""

import re

from pendulum import DateTime

from sources.core.http.client import Answer, Failure
from sources.core.reading import Reading
from sources.core.scope import Scope, ScopeType
from sources.core.values import Json, Row, Unreadable
from sources.github.surfaces.parts import number_told, parent_key
from sources.github.surfaces.repositories import repository_row

__all__ = ["REPOSITORY", "place_of"]


def place_of(scope: str, name: str, now: DateTime, reading: Reading) -> Scope:
    def parent_of(surface: str, item: Json) -> str | None:
        number = number_told(item)
        return parent_key(scope, number) if number is not None else None

    def is_own(path: str, asked: str) -> bool:
        """A transferred issue redirects into another repository, and one that came back to its new number here: neither
        must be taken for the one that was asked for."""
        led = re.search(r"/repositories/(\d+)/(.*)", path)
        return led is None or led.groups() == (scope, asked)

    return Scope(
        scope,
        name,
        f"/repos/{name}",
        now,
        reading,
        lambda at: {"since": at.format("YYYY-MM-DD[T]HH:mm:ss[Z]")},
        is_own=is_own,
        parent_of=parent_of,
    )


def _identity(name: str, answer: Answer) -> Row:
    try:
        if not isinstance(answer.data, dict):
            raise Unreadable("not an object")
        row = repository_row(answer.data, answer.date)
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(row["repo"]), re.ASCII):
            raise Unreadable("full_name is not of the form owner/name")
        return row
    except Unreadable as error:
        raise Failure("FETCH_ERROR", f"/repos/{name} answered something that is not a repository: {error}") from None


REPOSITORY = ScopeType(
    "repository", "repositories", "repo", ("repo", "is_private", "is_archived"), "/repos/{}".format, _identity, place_of
)
