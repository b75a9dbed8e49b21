"""What a person means by `847`, `console!847` or a post's address: one thing, or a refusal that says why not."""

import re
from typing import Any

from pipelines.ask.answer import USAGE, Refusal
from pipelines.ask.filters import none_match, places
from pipelines.ask.published import Published, Row, Where
from pipelines.ask.shown import NOUNS, SIGNS

__all__ = ["parent", "post", "referred", "thread_of"]

REFERENCE = re.compile(r"(?:(?P<project>[^!#\s]+?)?[!#])?(?P<number>\d{1,18})")
POST = re.compile(r"(?:at://|https?://[^/]+/profile/)(?P<actor>[^/?#]+)/[^/?#]+/(?P<key>[^/?#]+)")


def referred(reference: str) -> tuple[str | None, int]:
    """The project, where it is named too, and the number."""
    found = REFERENCE.fullmatch(reference.strip())
    if not found:
        raise Refusal("USAGE", f"{reference!r} is not a number like 847 or console!847", exit_code=USAGE)
    return found["project"], int(found["number"])


def parent(warehouse: Published, noun: str, reference: str, asked: dict[str, Any]) -> Row:
    kind, one, _ = NOUNS[noun]
    project, number = referred(reference)
    where = places(Where.all().given(kind, "kind = ?").given(number, "number = ?"), asked)
    where = places(where, {"project": project})  # `console!847 -p charts` is neither: an answer would go astray
    asked = {**asked, "project": asked.get("project") or project}
    rows = warehouse.rows(
        f"SELECT * FROM feedback.parents WHERE {where.sql} ORDER BY source, scope_name, scope", where.values
    )
    name = f"{one} {SIGNS[kind]}{number}"
    if not rows:
        there = none_match(warehouse, asked) if any(asked.values()) else f"`earshot list {noun}s` shows what there is."
        raise Refusal("NOT_FOUND", f"there is no {name} here", there)
    if len(rows) > 1:
        candidates = [f"-p {row['scope_name']} --source {row['source']}" for row in rows]
        raise Refusal(
            "AMBIGUOUS", f"{name} is in {len(rows)} projects", f"say which: {'; or '.join(candidates)}", USAGE
        )
    return rows[0]


def post(warehouse: Published, uri: str) -> Row:
    """By its at:// address, the address in a browser, or its event key."""
    address = POST.fullmatch(uri.strip())
    where = Where.all().given(uri.strip(), "id = ? OR url = ? OR event_key = ?", times=3)
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


def thread_of(warehouse: Published, id_: str) -> str:
    """A thread by its id, or by the event key of anything said in it."""
    rows = warehouse.rows(
        "SELECT thread_id FROM feedback.comments WHERE thread_id = ? OR event_key = ? LIMIT 1", [id_.strip()] * 2
    )
    if not rows:
        raise Refusal("NOT_FOUND", f"there is no thread {id_} here", "`earshot list threads --json` tells their ids.")
    return str(rows[0]["thread_id"])
