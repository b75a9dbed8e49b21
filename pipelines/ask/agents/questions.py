"""The tools, by name: the questions of `earshot …`, answered by the same code."""

from collections.abc import Callable, Mapping

import click

from pipelines.ask.agents.answers import told
from pipelines.ask.agents.tools import COUNT, MOST, TEXT, Given, Tool
from pipelines.ask.format.answer import USAGE, Refusal, answer_of

__all__ = ["TOOLS"]

Run = Callable[[click.Command, Given], str]
Schemas = Mapping[str, Given]

TOOLS: dict[str, Tool] = {}
FIRST, PATIENCE = 20, 120  # rows; seconds
PIECE: Schemas = {
    "limit": {**COUNT, "minimum": 1, "maximum": MOST, "default": FIRST, "description": "`offset` goes on after these."},
    "offset": {**COUNT, "default": 0, "description": "Leaves out the first; `meta.more` says how many."},
}
WORDS: Schemas = {
    "words": {**TEXT, "description": 'All of these; "a phrase", tok*, -not.'},
    "mode": {**TEXT, "enum": ["keyword", "semantic", "hybrid"], "default": "keyword"},
}
SHOWN: Schemas = {
    "what": {**TEXT, "enum": ["mr", "issue", "pr", "thread", "post"]},
    "id": {**TEXT, "description": "847 or console/847; of threads and posts the `reference`, or an event_key."},
    "project": TEXT,
    "source": TEXT,
}
NUMBERS = {"type": "array", "items": {**COUNT, "minimum": 1}, "maxItems": MOST, "description": "By number."}
TARGETS: Schemas = {
    **{"mr": NUMBERS, "pr": NUMBERS, "issue": NUMBERS, "project": TEXT},
    "seconds": {**COUNT, "minimum": 5, "maximum": 600, "default": PATIENCE, "description": "Then it is ended."},
}
PLACE, ON = ("source", "project", "author"), ("mr", "pr", "issue")
SAID = ("body", "again", "resolve", "dry_run")


def tool(
    command: str, *options: str, besides: Schemas = PIECE, needs: tuple[str, ...] = (), reads_only: bool = True
) -> Callable[[Run], Run]:
    """Makes a tool of a function, under its name; `besides` the command's options there are others."""

    def made(run: Run) -> Run:
        TOOLS[run.__name__] = Tool(command, options, besides, needs, reads_only, run)
        return run

    return made


@tool("search:search", "source", "scope", "author", "since", "kind", besides={**WORDS, **PIECE}, needs=("words",))
def search(command: click.Command, given: Given) -> str:
    """Where something was said: threads, issues, changes and posts by their words or, by mode, their meaning."""
    words, mode, offset = given.pop("words"), given.pop("mode", "keyword"), given.pop("offset", 0)
    upto = offset + given.pop("limit", FIRST)
    found = answer_of(command, f"--{mode}", "--", words, limit=min(upto + 1, 1000), **given)  # one more: is there any?
    counts = "total_at_least" if len(found.data) > upto else "total"
    return told(found.data[offset:upto], offset, len(found.data), counts=counts, hint=found.meta.get("hint"))


@tool("listing:listing threads", *PLACE, "state", *ON, "waiting_on", "unresolved", "since", "oldest")
def list_threads(command: click.Command, given: Given) -> str:
    """Discussions: whose turn it is, what was said last."""
    found = answer_of(command, **given)
    return told(found.data, given.get("offset", 0), found.meta["total"], hint=found.meta.get("hint"))


@tool("show:show", besides={**SHOWN, **PIECE}, needs=("what", "id"))
def show(command: click.Command, given: Given) -> str:
    """One issue, change, thread or post in full, with what was said about it, in pieces."""
    what, id_, offset = given.pop("what"), given.pop("id"), given.pop("offset", 0)
    upto = offset + given.pop("limit", FIRST)
    assert isinstance(command, click.Group)
    data = answer_of(command.commands[what], "--", id_, **given).data
    talk = data.pop("discussions", None) or [{"notes": data.pop("notes", None) or data.pop("thread", [])}]
    said = [{**note, "waiting_on": each.get("waiting_on")} for each in talk for note in each["notes"]]
    return told(said[offset:upto], offset, len(said), "said", **{what: data})


@tool("listing:listing diff-notes", *PLACE, *ON, "path", "unresolved", "since")
def diff_notes(command: click.Command, given: Given) -> str:
    """Comments on places in diffs: file, line, hunk, suggestion, is it outdated or resolved."""
    return list_threads(command, given)


@tool("listing:listing threads", *PLACE, *ON, "since", "waiting_on")
def unanswered(command: click.Command, given: Given) -> str:
    """What waits for the team, or for whom `waiting_on` names, longest first; and slash commands without an answer."""
    threads, commands = answer_of(command, **{"waiting_on": "team", **given, "oldest": True}), []
    if not given.keys() & {*ON, "waiting_on", "offset"}:
        from pipelines.ask.commands.listing import listing

        commands = answer_of(listing.commands["commands"], **{**given, "unanswered": True}).data
    return told(threads.data, given.get("offset", 0), threads.meta["total"], "threads", commands=commands)


@tool("status:status")
def status(command: click.Command, given: Given) -> str:
    """What is wrong and what to do about it, the last runs, how far each list was read."""
    data, offset = answer_of(command).data, given.get("offset", 0)
    lists = data["cursors"][offset : offset + given.get("limit", FIRST)]
    beside = {name: data[name] for name in ("last_finished", "quotas", "events", "parents", "answers", "slo_seconds")}
    beside |= {"trouble_count": len(data["troubles"]), "troubles": data["troubles"][:MOST], "runs": data["runs"][:3]}
    return told(lists, offset, len(data["cursors"]), "lists", **beside)


@tool("status:status", besides=TARGETS, reads_only=False)
def refresh(_: click.Command, given: Given) -> str:
    """Reads the named merge requests, pull requests or issues of one project anew, within `seconds`; all or nothing.

    Exit codes as of `earshot sync`: 0 fresh, 3 some of it failed, 4 another run is at it, 6 a target cannot be read
    and nothing was written, 130 out of time.
    """
    from pipelines.ask.commands.commands import EXIT_CODES
    from pipelines.ask.query.published import home
    from pipelines.sync.targets.process import refreshed

    targets, seconds = {name: given[name] for name in ON if given.get(name)}, given.get("seconds", PATIENCE)
    if not targets:
        raise Refusal("USAGE", "nothing is named", "say which: mr=[847]; also pr, issue", USAGE)
    ended = refreshed(home(), targets, given.get("project"), seconds)
    code, data = ended.exit_code, ended.told["data"] or {}
    how = f"exit code {code}: {EXIT_CODES.get(str(code), 'killed')}"
    if not ended.told["ok"]:
        each = "".join(f"; {one['kind']} {one['number']}: {one['message']}" for one in data.get("entity_failures", ()))
        why, late = ended.told["error"], f"; it had {seconds} s" if code == 130 or code < 0 else ""
        again = "; ".join(data.get("recovery_actions", ())) or "`status` tells what is wrong"
        raise Refusal(why["code"], f"{why['message']} ({how}{late}){each}", again, code)
    outcomes = data.pop("entity_outcomes")
    return told(outcomes, 0, len(outcomes), "targets", ended=how, **data)


@tool("decide.reply:reply", "event_key", *ON, "project", "source", *SAID, besides={}, needs=("body",), reads_only=False)
def reply(command: click.Command, given: Given) -> str:
    """Says something in public, once: the same words to the same place again tell of the first answer.

    `event_key` takes an event's or command's key, and answers in its thread.
    """
    key = given.pop("event_key", None)
    return told([answer_of(command, *(["--", key] if key else []), **given).data], 0, 1, "answers")
