"""How GitLab lists: which parameters mean what, and the headers that lead from page to page.

Every page is cut from the order as it is at that moment. So a row edited in mid-walk moves, and page numbers lose the
neighbour that took its place. Keyset pagination is not offered for any of these lists.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode

import pendulum
from pendulum import DateTime

from pipelines.demo.gitlab.api.access import Access, Refused, invalid
from pipelines.demo.gitlab.state import Issuable
from pipelines.demo.server.web import Request, Response, Switches, page_size

R = TypeVar("R")
I = TypeVar("I", bound=Issuable)  # noqa: E741  (the rows of one list)

PER_PAGE, MOST_PER_PAGE = 20, 100
INSTANT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True)
class Cut(Generic[R]):
    """One page of `total` rows."""

    rows: Sequence[R]
    total: int
    page: int
    size: int
    asked: int

    @property
    def last(self) -> int:
        return max(1, -(-self.total // self.size))


def choice(request: Request, name: str, allowed: set[str], default: str, modelled: set[str] | None = None) -> str:
    """GitLab refuses what it does not know; the world refuses, with 501, what GitLab knows and it does not."""
    value = request.query.get(name, default)
    if value not in allowed:
        raise invalid(f"{name} does not have a valid value")
    if modelled is not None and value not in modelled:
        raise Refused(Response(501, {"message": f"the demo world does not model {name}={value}"}))
    return value


def instant_of(request: Request, name: str) -> DateTime | None:
    text = request.query.get(name)
    if text is None or text == "":
        return None
    try:
        instant = pendulum.parse(text) if INSTANT.fullmatch(text) else None
    except ValueError:
        instant = None
    if not isinstance(instant, DateTime):
        raise invalid(f"{name} is invalid")
    return instant


def iids_of(request: Request) -> set[int] | None:
    """`iids[]=1&iids[]=2`; numbers that do not exist find nothing and are no mistake."""
    texts = [value for name, value in request.pairs if name in {"iids[]", "iids"}]
    if not texts:
        return None
    if not all(text.isdecimal() for text in texts):
        raise invalid("iids is invalid")
    return {int(text) for text in texts}


def filtered(rows: Sequence[I], request: Request) -> list[I]:
    """By time (both ends inclusive), iid and labels."""
    kept = list(rows)
    for field in ("updated", "created"):
        if (after := instant_of(request, f"{field}_after")) is not None:
            kept = [row for row in kept if getattr(row, f"{field}_at") >= after]
        if (before := instant_of(request, f"{field}_before")) is not None:
            kept = [row for row in kept if getattr(row, f"{field}_at") <= before]
    if (iids := iids_of(request)) is not None:
        kept = [row for row in kept if row.iid in iids]
    if labels := request.query.get("labels"):
        kept = [row for row in kept if _wears(row, labels)]
    return kept


def cut(rows: Sequence[R], request: Request, access: Access, switches: Switches) -> Cut[R]:
    if request.query.get("pagination") == "keyset":
        raise invalid("Keyset pagination is not yet available for this type of request", 405)
    page, asked = _number(request, "page", 1), _number(request, "per_page", PER_PAGE)
    if access.deepest_offset is not None and page * asked > access.deepest_offset:
        raise invalid(
            f"Offset pagination has a maximum allowed offset of {access.deepest_offset} for requests that return "
            "objects of this type. Remaining records can be retrieved using keyset pagination.",
            405,
        )
    size = page_size(min(asked, MOST_PER_PAGE), switches)
    return Cut(rows[(page - 1) * size : page * size], len(rows), page, size, asked)


def page_headers(request: Request, cut: Cut[R], counted: int, declared: dict[str, str], root: str) -> dict[str, str]:
    """`declared`: what the endpoint knows about itself and its defaults; GitLab repeats it in every link."""
    is_known = cut.total <= counted
    is_past_end = cut.page > cut.last
    following = str(cut.page + 1) if cut.page < cut.last else ""
    previous = str(cut.page - 1) if cut.page > 1 and not is_past_end else ""
    relations = {"prev": previous, "next": following, "first": "1", "last": str(cut.last) if is_known else ""}
    given = [(name, value) for name, value in request.pairs if name not in {"page", "per_page", "private_token"}]
    given += [(name, value) for name, value in declared.items() if name not in request.query]
    links = []
    for relation, page in relations.items():
        if page:
            query = urlencode(sorted([*given, ("page", page), ("per_page", str(cut.asked))]))
            links.append(f'<{root}{request.raw_path}?{query}>; rel="{relation}"')
    headers = {
        "link": ", ".join(links),
        "x-next-page": following,
        "x-page": str(cut.page),
        "x-per-page": str(cut.size),
        "x-prev-page": previous,
    }
    if is_known:
        headers |= {"x-total": str(cut.total), "x-total-pages": str(cut.last)}
    return headers


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise invalid(f"{name} is invalid")
    if int(text) < 1:
        raise invalid(f"{name} does not have a valid value")
    return int(text)


def _wears(row: Issuable, labels: str) -> bool:
    """All of a comma-separated list; None and Any are words of their own."""
    worn = {label.name for label in row.labels}
    if labels.lower() in {"none", "any"}:
        return bool(worn) is (labels.lower() == "any")
    return {name.strip() for name in labels.split(",")} <= worn
