"""Records that could not be read, as the ledger keeps them: raw, with the reason, until they are read or let be.

A cursor passes such a record, so no list brings it again: it is asked for by itself, by each of the next three runs and
then after pauses that grow to a day. For as long as one is open the runs over its scope exit 3. `let be` ends that: the
record stays known under its key, so that meeting it again opens nothing; if it can be read after all, it is.

Attempts count runs, not landings: a run that meets a record in a list, asks for it and lands ten times has tried once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pendulum

from pipelines.state.ledger import Ledger
from sources.core.reading import Quarantined, Unread
from sources.core.values import json_bytes

__all__ = ["Quarantine", "open_keys"]

AT_ONCE = 3  # runs that ask again without a pause
FIRST_PAUSE, LONGEST_PAUSE = 300, 86_400  # seconds

KEEP = f"""
INSERT INTO quarantine (source, key, scope, surface, reason, raw, first_at, last_at, attempts, retry_at, parent_key)
VALUES (:source, :key, :scope, :surface, :reason, :raw, :now, :now, 1, :now, :parent_key)
ON CONFLICT (source, key) DO UPDATE SET
    reason = excluded.reason, raw = excluded.raw, last_at = excluded.last_at, resolved_at = NULL,
    parent_key = excluded.parent_key,
    let_be_at = iif(resolved_at IS NULL, let_be_at, NULL),
    attempts = iif(resolved_at IS NULL, attempts, 0) + 1,
    retry_at = iif(resolved_at IS NOT NULL OR attempts < {AT_ONCE}, excluded.last_at, strftime(
        '%Y-%m-%dT%H:%M:%SZ', excluded.last_at,
        min({LONGEST_PAUSE}, {FIRST_PAUSE} * (1 << min(attempts - {AT_ONCE}, 9))) || ' seconds'
    ))
"""
OPEN = "source = :source AND resolved_at IS NULL"


@dataclass(frozen=True)
class Quarantine:
    """Of one source."""

    ledger: Ledger
    source: str

    def unread(self) -> dict[str, Unread]:
        """Every record that could not be read yet, by its key; those that were let be, too."""
        now = _now()
        query = f"SELECT * FROM quarantine WHERE {OPEN} ORDER BY first_at, key"
        return {
            row["key"]: Unread(
                row["scope"],
                row["surface"],
                row["key"],
                row["reason"],
                row["raw"],
                row["parent_key"],
                is_let_be=row["let_be_at"] is not None,
                is_due=row["let_be_at"] is None and (row["retry_at"] <= now or row["last_at"] > now),  # a wrong clock's
            )
            for row in self.ledger.connection.execute(query, {"source": self.source})
        }

    def keep(self, records: Iterable[Quarantined]) -> None:
        """Before any cursor passes them."""
        now = _now()
        for each in records:
            kept = {**vars(each), "raw": json_bytes(each.raw).decode(), "source": self.source, "now": now}
            self.ledger.connection.execute(KEEP, kept)

    def heal(self, keys: Iterable[str]) -> None:
        healed = "UPDATE quarantine SET resolved_at = ? WHERE source = ? AND key = ?"
        self.ledger.connection.executemany(healed, [(_now(), self.source, key) for key in keys])

    def let_be(self, keys: Iterable[str]) -> None:
        self._change("let_be_at = :now", keys)

    def ask_again(self, keys: Iterable[str]) -> None:
        """By the next run, also what was let be, whatever the clock says then: due when it was met, as at first."""
        self._change("let_be_at = NULL, attempts = 0, retry_at = last_at", keys)

    def _change(self, change: str, keys: Iterable[str]) -> None:
        """What readers are shown of it changes, and what does not add up may be something else: the next run looks."""
        query, now = f"UPDATE quarantine SET {change} WHERE {OPEN} AND key = :key", _now()
        with self.ledger.transaction():
            for key in keys:
                self.ledger.connection.execute(query, {"now": now, "source": self.source, "key": key})
            self.ledger.state.is_unpublished = True
            self.ledger.source_state(self.source).nothing_due_by = None


def open_keys(unread: Mapping[str, Unread]) -> set[str]:
    return {key for key, each in unread.items() if not each.is_let_be}


def _now() -> str:
    return pendulum.now("UTC").to_iso8601_string()
