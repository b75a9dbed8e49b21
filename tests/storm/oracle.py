"""Whether what readers see is what the worlds say. Nothing here asks the code what it thinks of it."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import duckdb

from pipelines.warehouse.data_dir import DataDir
from sources.core.values import text as storable
from tests.in_memory import InMemory
from tests.storm.said import Fact, Key, Mob, Words

__all__ = ["Finding", "Oracle", "Sight"]

EVENTS = """
SELECT event_key, source, kind, scope, id, parent_number, title, body, is_latest, is_deleted, parent_kind
FROM feedback.events
"""


@dataclass(frozen=True)
class Finding:
    """What is wrong: lost, stale, wrongly deleted, kept, doubled, invented, forgotten, failed."""

    what: str
    key: Key
    about: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {' '.join(self.key)} {self.about and f'(on {self.about})'} {self.detail}"


@dataclass
class Sight:
    """What readers see now."""

    live: dict[Key, Fact] = field(default_factory=dict)
    deleted: dict[Key, Fact] = field(default_factory=dict)
    states: dict[Key, Words] = field(default_factory=dict)
    held: set[Key] = field(default_factory=set)  # in any version


@dataclass
class Oracle:
    mobs: list[Mob]
    home: DataDir
    sight: Sight = field(default_factory=Sight)
    said: set[tuple[Key, Words]] = field(default_factory=set)  # ever, by anybody
    keys: set[str] = field(default_factory=set)  # of every event that readers ever saw
    stamp: tuple[int, int] = (0, 0)

    def look(self) -> list[Finding]:
        """Reads what is published, if it is another file, and tells what could never be right."""
        for mob in self.mobs:
            self.said |= {(key, storable(words)) for key, words in mob.news()}
        with self._published() as connection:
            if connection is None:
                return []
            rows = connection.execute(EVENTS).fetchall()
            self.sight = Sight()
            for mob in self.mobs:
                self.sight.states |= mob.states(_asker(connection))  # type: ignore[attr-defined]
        return self._read(rows)

    @contextmanager
    def _published(self) -> Iterator[duckdb.DuckDBPyConnection | None]:
        """None: nothing yet, or nothing since it was last looked at."""
        home = self.home
        if isinstance(home.destination, InMemory):
            with home.destination.looking(home) as connection:
                yield connection if home.destination.loads else None
            return
        try:
            stat = home.published.stat()
        except FileNotFoundError:
            yield None
            return
        stamp, self.stamp = self.stamp, (stat.st_ino, stat.st_mtime_ns)
        if stamp == self.stamp:
            yield None
            return
        with duckdb.connect(str(home.published), read_only=True, config={"threads": 1}) as connection:
            yield connection

    def _read(self, rows: list[tuple[Any, ...]]) -> list[Finding]:
        found, names, sight = [], {mob.name: mob for mob in self.mobs}, self.sight
        now: set[str] = set()
        for event_key, source, kind, scope, id_, number, title, body, is_latest, is_deleted, parent in rows:
            told = unquote(event_key.rpartition(":")[2]) if source == "bluesky" else body
            key, fact = names[source].event(kind, scope, id_, number, title, told, parent)  # type: ignore[attr-defined]
            if event_key in now:
                found.append(Finding("doubled", key, fact.about, event_key))
            now.add(event_key)
            sight.held.add(key)
            if event_key not in self.keys and (key, fact.words) not in self.said:
                found.append(Finding("invented", key, fact.about, f"{fact.words!r:.200}"))
            if is_latest:
                there = sight.deleted if is_deleted else sight.live
                if key in sight.live or key in sight.deleted:
                    found.append(Finding("doubled", key, fact.about, "two versions are the latest"))
                there[key] = fact
        found += [Finding("forgotten", ("?", "?", gone)) for gone in sorted(self.keys - now)[:5]]
        self.keys |= now
        return found

    def differences(self, mob: Mob, leave: Callable[[Key, str], bool]) -> list[Finding]:
        """Against a full scan; `leave` says which keys (and what they hang on) are no matter of this run."""
        exists, sight, found = mob.exists(), self.sight, []
        for key, fact in exists.items():
            if not leave(key, fact.about) and (finding := self._differs(key, fact)):
                found.append(finding)
        for key, fact in sight.live.items():
            if key[0] == mob.name and key not in exists and not leave(key, fact.about):
                found.append(Finding("kept", key, fact.about, f"{fact.words!r:.80} is gone"))
        return found

    def _differs(self, key: Key, fact: Fact) -> Finding | None:
        words, sight = storable(fact.words), self.sight
        if key[1] in ("state", "resolution"):
            ours = sight.states.get(key)
            return None if ours == words else Finding("stale", key, fact.about, f"{ours!r} is {words!r}")
        if key in sight.deleted:
            return Finding("wrongly deleted", key, fact.about, f"{words!r:.80} is there")
        if key not in sight.live:
            return Finding("lost", key, fact.about, f"{words!r:.80} is not held")
        ours = sight.live[key].words
        return None if ours == words else Finding("stale", key, fact.about, f"{ours!r:.60} is {words!r:.60}")

    def wrongly_deleted(self, mob: Mob, leave: Callable[[Key, str], bool]) -> list[Finding]:
        """Never right, however a run ended."""
        exists = mob.exists()
        return [
            Finding("wrongly deleted", key, fact.about, "it is there, and was all the time")
            for key, fact in self.sight.deleted.items()
            if key in exists and not leave(key, fact.about)
        ]


def _asker(connection: duckdb.DuckDBPyConnection) -> Callable[[str], list[tuple[Any, ...]]]:
    def ask(query: str) -> list[tuple[Any, ...]]:
        try:
            return connection.execute(query).fetchall()
        except duckdb.CatalogException:  # nothing of this source was ever landed
            return []

    return ask


def kinds(findings: Collection[Finding]) -> dict[str, int]:
    found: dict[str, int] = {}
    for finding in findings:
        found[finding.what] = found.get(finding.what, 0) + 1
    return found
