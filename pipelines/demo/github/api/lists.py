"""How GitHub lists: what `sort`, `since` and `page` mean, and the `Link` header that leads on.

Every page is cut from the order as it is at that moment. So a row edited in mid-walk moves, and page numbers
lose the neighbour that took its place.
"""

import base64
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

import orjson
import pendulum
from pendulum import DateTime

from pipelines.demo.github.api.access import Refused, invalid, refusal
from pipelines.demo.github.state import Comment, Issue, ReviewComment, Row
from pipelines.demo.server.web import Request, Switches, page_size

R = TypeVar("R")
T = TypeVar("T", Issue, Comment, ReviewComment)
Links = dict[str, dict[str, str]]  # rel → what changes in the query

INSTANT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
EPOCH = pendulum.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Order(Generic[R]):
    """Rows ascending by `key`, to be read from either end."""

    rows: Sequence[R]
    key: Callable[[R], tuple[Any, int]]
    descending: bool = False

    def presented(self) -> Sequence[R]:
        return self.rows[::-1] if self.descending else self.rows

    def beside(self, cursor: str, forward: bool) -> Sequence[R]:
        """The rows after a cursor, or before it, as presented."""
        spot = _cursor_key(cursor)
        if forward is not self.descending:
            rows = self.rows[bisect_right(self.rows, spot, key=self._text_key) :]
        else:
            rows = self.rows[: bisect_left(self.rows, spot, key=self._text_key)]
        return rows[::-1] if self.descending else rows

    def cursor(self, row: R) -> str:
        return base64.b64encode(b"cursor:v2:" + orjson.dumps(self._text_key(row))).decode()

    def _text_key(self, row: R) -> list[Any]:
        value, row_id = self.key(row)
        return [value.int_timestamp if isinstance(value, DateTime) else value, row_id]


@dataclass(frozen=True)
class Cut(Generic[R]):
    rows: Sequence[R]
    links: Links
    size: int


def by_id(row: Row) -> tuple[int, int]:
    return 0, row.id


def by_created(row: Issue | Comment | ReviewComment) -> tuple[DateTime, int]:
    return row.created_at, row.id


def by_updated(row: Issue | Comment | ReviewComment) -> tuple[DateTime, int]:
    return row.updated_at, row.id


def since_of(request: Request, resource: str) -> DateTime | None:
    text = request.query.get("since")
    if not text:
        return None
    try:
        instant = pendulum.parse(text) if INSTANT.fullmatch(text) else None
    except ValueError:
        instant = None
    if not isinstance(instant, DateTime):
        raise invalid(resource, "since", text)
    return instant.replace(microsecond=0)


def updated_since(rows: list[T], since: DateTime | None, is_by_updated: bool) -> list[T]:
    """Inclusive, in whole seconds. Asked for everything since the epoch, GitHub answers with nothing."""
    if since is None:
        return rows
    if since <= EPOCH:
        return []
    if is_by_updated:
        return rows[bisect_left(rows, since, key=lambda row: row.updated_at) :]
    return [row for row in rows if row.updated_at >= since]


def numbered_cut(order: Order[R], request: Request, switches: Switches, deepest: int | None) -> Cut[R]:
    """Pages by number, with next, prev, first and last."""
    asked, page = page_of(request)
    if deepest is not None and page * asked > deepest:
        message = (
            "In order to keep the API fast for everyone, pagination is limited for this resource. "
            "Check the rel=last link relation in the Link response header to see how far back you can traverse."
        )
        raise Refused(refusal(422, message, "v3/#pagination"))
    size, rows = page_size(asked, switches), order.presented()
    last = max(1, -(-len(rows) // size))
    pages: dict[str, int] = {}
    if page > 1:
        pages["prev"] = min(page - 1, last)
    if page < last:  # next leads on into the refusal, as readers of long lists report; only last is capped
        pages |= {"next": page + 1, "last": min(last, deepest // asked) if deepest else last}
    if page > 1:
        pages["first"] = 1
    return Cut(rows[(page - 1) * size : page * size], {rel: {"page": str(n)} for rel, n in pages.items()}, asked)


def cursor_cut(order: Order[R], request: Request, switches: Switches, deepest: int | None) -> Cut[R]:
    """The issue list: page numbers work only so deep; its links carry cursors, which win over `page`."""
    asked, page = page_of(request)
    size = page_size(asked, switches)
    after, before = request.query.get("after"), request.query.get("before")
    if after:
        rows = order.beside(after, forward=True)
        cut = rows[:size]
    elif before:
        rows = order.beside(before, forward=False)
        cut = rows[-size:]
    else:
        if deepest is not None and page * asked >= deepest:
            message = (
                "Pagination with the page parameter is not supported for large datasets, "
                "please use cursor based pagination (after/before)"
            )
            raise Refused(refusal(422, message, "rest/issues/issues#list-repository-issues"))
        cut = order.presented()[(page - 1) * size : page * size]
    links: Links = {}
    if cut and order.beside(order.cursor(cut[-1]), forward=True):
        links["next"] = {"after": order.cursor(cut[-1]), "per_page": str(asked), "page": str(page + 1)}
    if cut and order.beside(order.cursor(cut[0]), forward=False):
        links["prev"] = {"before": order.cursor(cut[0]), "per_page": str(asked), "page": str(max(1, page - 1))}
    return Cut(cut, links, asked)


def link_header(request: Request, repo_id: int, rest: str, cut: Cut[Any]) -> dict[str, str]:
    """Absolute, by the repository's id whatever name was asked; a size out of range is corrected in it."""
    query = {name: value for name, value in request.query.items() if name not in {"after", "before", "page"}}
    if "per_page" in query:
        query["per_page"] = str(cut.size)
    base = f"{request.root}/repositories/{repo_id}{rest}"
    links = (f'<{base}?{urlencode(query | change)}>; rel="{rel}"' for rel, change in cut.links.items())
    return {"link": ", ".join(links)} if cut.links else {}


def page_of(request: Request) -> tuple[int, int]:
    """(per_page, page): GitHub silently corrects what is out of range or no number at all."""
    asked, page = _integer(request, "per_page"), _integer(request, "page")
    return min(asked, 100) if asked > 0 else 30, max(page, 1)


def _integer(request: Request, name: str) -> int:
    text = request.query.get(name, "")
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else 0


def _cursor_key(cursor: str) -> list[Any]:
    try:
        return list(orjson.loads(base64.b64decode(cursor, validate=True).removeprefix(b"cursor:v2:")))
    except ValueError as error:
        raise invalid("Issue", "after", cursor) from error
