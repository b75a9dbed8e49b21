"""What is noted of records beside their own words: the latest version, who is gone, which count was checked."""

from pendulum import DateTime

from sources.core.values import COUNT, FLAG, INSTANT, TEXT, Row, Table
from sources.github.rows.parts import parent_key

__all__ = ["DELETIONS", "LATEST", "THREAD_CHECKS", "deletion_row", "latest_row"]

LATEST = Table("latest_versions", ("kind", "id"), {"kind": TEXT, "id": COUNT, "version": TEXT, "parent_key": TEXT})

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


def latest_row(kind: str, row: Row) -> Row:
    """Says which version is the latest where their times cannot."""
    return {"kind": kind, "id": row["id"], "version": row["version"], "parent_key": row["parent_key"]}


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
