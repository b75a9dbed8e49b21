"""What a person means by `847`, `console/847` or a post's address: one thing, or a refusal that says why not."""

import re
from typing import Any

from pipelines.ask.format.answer import USAGE, Refusal
from pipelines.ask.format.shown import NOUNS
from pipelines.ask.query.filters import places
from pipelines.ask.query.known import refuse_unknown
from pipelines.ask.query.names import names, reference, with_short_id
from pipelines.ask.query.published import Published, Row, Where

__all__ = ["parent", "post", "referred", "thread"]

THREADS = "feedback.threads"

# with a slash as it is printed, or with the sign that the forges write
REFERENCE = re.compile(r"(?:(?:(?P<source>[a-z]+):)?(?P<project>[^!#:\s]+?)?[/!#])?(?P<number>\d{1,18})")
ADDRESS = re.compile(
    r"https?://[^/\s]+/(?P<project>[^\s?#]+?)/(?:-/)?(?:issues|work_items|merge_requests|pull)/(?P<number>\d{1,18})"
    r"(?:[/?#]\S*)?"
)
POST = re.compile(r"(?:at://|https?://[^/]+/profile/)(?P<actor>[^/?#]+)/[^/?#]+/(?P<key>[^/?#]+)")


def referred(typed: str) -> tuple[dict[str, str | None], int]:
    """The project (and its source), where they are named too, and the number."""
    if address := ADDRESS.fullmatch(typed.strip()):  # in a browser
        return {"project": address["project"], "source": None}, int(address["number"])
    found = REFERENCE.fullmatch(typed.strip())
    if not found or "://" in typed:
        raise Refusal("USAGE", f"{typed!r} is not a number like 847 or console/847, nor its address", exit_code=USAGE)
    return {"project": found["project"], "source": found["source"]}, int(found["number"])


def parent(warehouse: Published, noun: str, typed: str, asked: dict[str, Any]) -> Row:
    kind, one, _ = NOUNS[noun]
    told, number = referred(typed)
    where = places(Where.all().given(kind, "kind = ?").given(number, "number = ?"), asked)
    where = places(where, told)  # `console/847 -p charts` is neither: an answer would go astray
    asked = {name: asked.get(name) or told[name] for name in told}
    rows = warehouse.rows(
        f"SELECT * FROM feedback.parents WHERE {where.sql} ORDER BY source, scope_name, scope", where.values
    )
    exact = [row for row in rows if row["scope_name"].lower() == (asked["project"] or "").strip("/").lower()]
    rows = exact or rows  # `lantern/web` is not the `x/lantern/web` that ends like it
    name = f"{one} {number}"
    if not rows:
        refuse_unknown(warehouse, asked)
        raise Refusal("NOT_FOUND", f"there is no {name} here", f"`earshot list {noun}s` shows what there is.")
    if len(rows) > 1:
        known = names(warehouse)
        candidates = " or ".join(dict.fromkeys(reference({**row, "parent_number": number}, known) for row in rows))
        raise Refusal("AMBIGUOUS", f"{name} is in {len(rows)} projects", f"say which: {candidates}", USAGE)
    return rows[0]


def post(warehouse: Published, uri: str) -> Row:
    """By its short id, its at:// address, the address in a browser, or its event key; by a thread's id its first."""
    said = "(SELECT id FROM feedback.comments WHERE parent_kind = 'post')"
    named = with_short_id(warehouse, said, "id", uri.strip())
    thread = None if named else with_short_id(warehouse, THREADS, "thread_id", uri.strip())
    named = named or thread or uri.strip()
    address = POST.fullmatch(named)
    where = Where.all().given(named, "id = ? OR url = ? OR event_key = ? OR thread_id = ?", times=4)
    if address:
        ours = "(scope = ? OR lower(scope_name) = lower(?)) AND (id = ? OR ends_with(id, '/' || ?))"
        where.conditions[-1] += f" OR {ours}"
        where.values += [address["actor"], address["actor"], address["key"], address["key"]]
    where.flag(True, "parent_kind = 'post'")
    rows = warehouse.rows(
        f"SELECT * FROM feedback.comments WHERE {where.sql} ORDER BY created_at LIMIT 1", where.values
    )
    if not rows:
        raise Refusal("NOT_FOUND", f"there is no post {uri} here", "`earshot list posts` shows what there is.")
    return rows[0]


def thread(warehouse: Published, id_: str) -> Row:
    """A thread by its short or whole id, or by the event key of anything said in it."""
    named = with_short_id(warehouse, THREADS, "thread_id", id_.strip()) or id_.strip()
    rows = warehouse.rows(
        "SELECT * FROM feedback.threads WHERE thread_id = $id OR thread_id IN"
        " (SELECT thread_id FROM feedback.comments WHERE event_key = $id) LIMIT 1",
        {"id": named},
    )
    if not rows:
        raise Refusal("NOT_FOUND", f"there is no thread {id_} here", "`earshot list threads` tells their ids.")
    return rows[0]
