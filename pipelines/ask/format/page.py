"""One thing in full: what is known of it, its own words, and what was said about it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pipelines.ask.format.discussion import Discussion
from pipelines.ask.format.shown import at, hang, line, styled
from pipelines.ask.format.suggestion import diffed
from pipelines.ask.query.published import Row
from pipelines.ask.query.times import ago, day, instant
from pipelines.sync.output.summary import safe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["answers", "facts", "note", "parent_facts", "place", "said", "title", "verdict"]

DIFF_STYLES = {"removed": "red", "added": "green"}
DIFF_SIGNS = {"removed": "- ", "added": "+ ", "said": ""}


def title(console: "Console", text: str) -> None:
    from rich.text import Text

    console.print(Text(line(text), style="bold"))
    console.print("=" * min(80, console.width))


def facts(console: "Console", known: Iterable[tuple[str, object]]) -> None:
    """Those that are known; the rest says nothing."""
    from rich.text import Text

    told = [
        (f"{name}:", value if isinstance(value, Text) else Text(line(str(value)))) for name, value in known if value
    ]
    width = max((len(name) for name, _ in told), default=0) + 2
    for name, value in told:
        hang(console, Text(name.ljust(width), style="dim"), value)


def parent_facts(row: Row) -> list[tuple[str, object]]:
    changes = row["source_branch"] is not None
    merged_at = row["merged_at"]
    return [
        ("Project", f"{row['scope_name']} ({row['source']})"),
        ("State", styled(row["state"])),
        ("Draft", ("Yes" if row["is_draft"] else "No") if changes else ""),
        ("Author", at(row["author"])),
        ("Assignees", ", ".join(map(at, row["assignees"]))),
        ("Reviewers", ", ".join(map(at, row["reviewers"]))),
        ("Teams asked", ", ".join(row.get("requested_teams") or ())),
        ("Source", row["source_branch"]),
        ("Target", row["target_branch"]),
        ("Merge Status", f"{row['merge_status']} (detailed_merge_status)" if row["merge_status"] else ""),
        ("Merged By", at(row["merged_by"])),
        ("Merged At", f"{instant(merged_at)} ({ago(merged_at)})" if merged_at else ""),
        ("Created", f"{day(row['created_at'])} ({ago(row['created_at'])})"),
        ("Updated", f"{day(row['updated_at'])} ({ago(row['updated_at'])})"),
        ("Milestone", row["milestone"]),
        ("Labels", ", ".join(row["labels"])),
        ("Closes", ", ".join(row.get("closes") or ())),
        ("Closed by", ", ".join(row.get("closed_by_changes") or ())),
        ("URL", row["url"]),
    ]


def said(console: "Console", talk: list[Discussion]) -> None:
    console.print(f"\nDiscussions ({len(talk)}):")
    for discussion in talk:
        answers(console, discussion)


def answers(console: "Console", discussion: Discussion) -> None:
    for number, row in enumerate(discussion.notes):
        note(console, row, tags=() if number else _tags(row, discussion), indent=6 if number else 2)


def note(console: "Console", row: Row, *, tags: Iterable[str] = (), indent: int = 2, mark: bool = False) -> None:
    from rich.text import Text

    when = f" ({day(row['created_at'])}, {ago(row['created_at'])}{', edited' if row['is_edit'] else ''})"
    head = Text.assemble((("> " if mark else "") + at(row["author"]), "bold"), (when, "dim"))
    for tag in (*tags, *verdict(row)):
        head.append(f" [{line(tag)}]", style="green" if tag == "RESOLVED" else "cyan")
    words = Text() if row["kind"] == "repost" else _words(row)  # somebody else's words, said before
    for each in row.get("media") or () if words.plain else ():
        words.append(f"\n[{each['kind']}: {line(each['alt']) or 'nobody described it'}]", style="dim")
    head.append(":" if words.plain else "")
    console.print()
    hang(console, " " * indent, head)
    if words.plain:
        hang(console, " " * (indent + 2), words)


def _tags(row: Row, discussion: Discussion) -> list[str]:
    """Of the whole discussion: they stand on its first words, replies share them."""
    marks = {place(row): True, "RESOLVED": discussion.is_resolved, "OUTDATED": row["is_outdated"]}
    return [tag for tag, holds in marks.items() if tag and holds]


def verdict(row: Row) -> list[str]:
    """Of a review what it came to; of posts what is no post of one's own."""
    if row["kind"] == "review":
        return [row["title"].upper()] if row["title"] else []
    return [row["kind"].upper()] if row["kind"] in ("quote", "repost") else []


def place(row: Row) -> str:
    """`file:line`, `file:a-b`, a point on a picture (`file 412,530 of 1280×800`), or the whole file."""
    if not row.get("path"):
        return ""
    if row.get("image_x") is not None and row.get("image_y") is not None:
        whole = (
            f" of {row['image_width']:g}×{row['image_height']:g}" if row["image_width"] and row["image_height"] else ""
        )
        return f"{row['path']} {row['image_x']:g},{row['image_y']:g}{whole}"
    if row["line"] is None:
        return str(row["path"])
    start = row["start_line"]
    return (
        f"{row['path']}:{start}-{row['line']}" if start not in (None, row["line"]) else f"{row['path']}:{row['line']}"
    )


def _words(row: Row) -> "Text":
    from rich.text import Text

    parts = diffed(row["body"], row.get("diff_hunk"), row.get("start_line"), row.get("line"))
    lines = [
        Text(DIFF_SIGNS[kind] + safe(text).expandtabs(4), style=DIFF_STYLES.get(kind, ""))
        for kind, text in parts
        if text or kind != "said"
    ]
    return Text("\n").join(lines)
