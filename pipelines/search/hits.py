"""What a search is narrowed to, and what it finds."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["KINDS", "SNIPPET", "Hit", "NoMeaning", "Only"]

KINDS = {"mr": "merge_request", "pr": "pull_request"}
SNIPPET = 240  # characters
OF_DOCUMENT = ["document_key", "source", "kind", "scope_name", "number", "title", "author", "url", "updated_at"]


class NoMeaning(Exception):
    """Nothing can be compared by meaning: why, and what to do."""


@dataclass(frozen=True)
class Only:
    """What the search is narrowed to."""

    source: str | None = None
    scope: str | None = None
    author: str | None = None
    since: datetime | None = None
    kind: str | None = None

    @property
    def condition(self) -> tuple[str, list[Any]]:
        parts: list[tuple[str, list[Any]]] = [("true", [])]
        if self.source:
            parts.append(("d.source = ?", [self.source.lower()]))
        if self.scope:
            scope = self.scope.strip("/").lower()
            parts.append(
                ("(lower(d.scope_name) = ? OR lower(d.scope_name) LIKE ? ESCAPE '!')", [scope, f"%/{_like(scope)}"])
            )
        if self.author:
            parts.append(("instr(d.participants, ?) > 0", [f"|{self.author.lstrip('@').lower()}|"]))
        if self.since:
            parts.append(("d.updated_at >= ?", [_utc(self.since)]))
        if self.kind:
            parts.append(("d.kind = ?", [KINDS.get(self.kind, self.kind)]))
        return " AND ".join(part for part, _ in parts), [value for _, values in parts for value in values]


@dataclass
class Hit:
    """A document, and why it was found. `highlights` are from and to of what was found in the snippet."""

    document_key: str
    source: str
    kind: str
    scope_name: str
    number: int | None
    title: str | None
    author: str | None
    url: str | None
    updated_at: str
    score: float
    snippet: str
    highlights: list[tuple[int, int]] = field(default_factory=list)
    title_highlights: list[tuple[int, int]] = field(default_factory=list)
    has_all_words: bool = True

    @classmethod
    def of(cls, row: dict[str, Any], score: float, snippet: str, **more: Any) -> "Hit":
        """A row of the index's documents; `more` fields, also in place of the row's."""
        return cls(
            **{**{name: row[name] for name in OF_DOCUMENT}, "score": round(score, 3), "snippet": snippet, **more}
        )


def _like(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _utc(moment: datetime) -> str:
    from datetime import UTC

    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
