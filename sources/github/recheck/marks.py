"""What is noted of records beside their own words: who is gone, which count was checked."""

from pendulum import DateTime

from sources.core.values import COUNT, FLAG, INSTANT, TEXT, Row, Table
from sources.github.surfaces.parts import parent_key

__all__ = ["DELETIONS", "THREAD_CHECKS", "deletion_row"]

DELETION = {
    "kind": TEXT,
    "id": COUNT,
    "scope": TEXT,
    "parent_key": TEXT,
    "is_deleted": FLAG,
    "is_missing": FLAG,
    "cause": TEXT,
    "noticed_at": INSTANT,
    "noticed_in_run": COUNT,
}
DELETIONS = Table("deletions", ("kind", "id"), DELETION)

THREAD_CHECK = {
    "parent_key": TEXT,
    "scope": TEXT,
    "number": COUNT,
    "remote_count": COUNT,
    "listed_count": COUNT,
    "updated_at": INSTANT,
    "checked_at": INSTANT,
}
THREAD_CHECKS = Table("thread_checks", ("parent_key",), THREAD_CHECK)


def deletion_row(
    kind: str,
    id_: int,
    scope: str,
    number: int,
    seen_at: DateTime,
    cause: str,
    *,
    gone: bool = True,
    is_missing: bool = False,
    run: int | None = None,
) -> Row:
    """`run`: in which it was noticed, where the next ones are to look again."""
    return {
        "kind": kind,
        "id": id_,
        "scope": scope,
        "parent_key": parent_key(scope, number),
        "is_deleted": gone,
        "is_missing": is_missing,
        "cause": cause,
        "noticed_at": seen_at,
        "noticed_in_run": run,
    }
