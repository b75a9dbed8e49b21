"""What the lists of one run cost, as rows of the ledger. Thousands of accounts without news are one row."""

from collections.abc import Iterable
from typing import Any

__all__ = ["by_scope", "gathered"]

MANY = 50  # scopes of one surface, above which those without news share one row
COUNTS = ("requests", "pages", "fetched", "new", "replayed", "not_modified", "retries", "bytes", "waited")
Told = dict[str, Any]


def gathered(told: list[Told]) -> list[Told]:
    """Of a surface with many scopes (thousands of accounts), one row for all those in which nothing happened."""
    kept, quiet = list[Told](), dict[str, list[Told]]()
    for row in told:
        is_quiet = not row["new"] and not row["retries"] and not row["waited"]
        (quiet.setdefault(row["surface"], []) if is_quiet else kept).append(row)
    for surface, rows in quiet.items():
        if sum(row["surface"] == surface for row in told) <= MANY:
            kept += rows
            continue
        total = {name: sum(row[name] for row in rows) for name in COUNTS}
        kept.append(
            {**rows[0], **total, "scope": "*", "scope_name": f"{len(rows):,} without news", "lag_seconds": None}
        )
    return kept


def by_scope(told: list[Told]) -> Iterable[Told]:
    found: dict[str, Told] = {}
    for row in told:
        if row["requests"] or row["is_spared"]:
            known = found.setdefault(row["scope"], {**row, "new": 0})
            known["new"] += row["new"]
    return found.values()
