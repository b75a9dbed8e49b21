"""What columns mean, as the database itself tells it (`earshot schema`): those that mean the same wherever they stand,
and the tables that no SELECT makes. A model says beside a column what is its own.
"""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["SHARED", "TABLES", "Meaning"]


class Meaning(NamedTuple):
    """A table in a sentence, what its rows are known by, and those of its columns that mean something of their own."""

    table: str
    key: str
    columns: Mapping[str, str]

    def of(self, column: str) -> str | None:
        """Its own word for it, else the one that holds wherever the column stands."""
        return self.columns.get(column) or SHARED.get(column)


SHARED = {
    "answered_by": "event_key of our own last answer to it",
    "attempts": "how often it was tried",
    "author": "login or handle of who said it; ghost: the account is gone",
    "author_role": "what the service says the author is there, e.g. MEMBER; null where it tells nothing",
    "body": "the words, as Markdown or plain text",
    "change_key": "parent_key of the pull or merge request that answers the issue",
    "code": "the failure in a word, e.g. AUTH_FAILED",
    "command_key": "the command: its utterance, its place in it and its words",
    "consumer": "who acknowledges, as `earshot ack --as` names it",
    "created_at": "when it was said or opened",
    "error": "what went wrong, in the service's or our own words",
    "event_key": "source:kind:scope:id:version, the same for ever",
    "first_at": "when it was first met",
    "handle": "what the account is called today",
    "id": "the service's own id, shared by all versions",
    "is_actionable": "somebody may have to act on it: the latest version, of a person, in what is open and unresolved",
    "in_reply_to": "id of what it answers, where the service tells",
    "is_bot": "said by a program",
    "is_complete": "false: a part of it is still to be read",
    "is_deleted": "gone from the service, or its place is",
    "is_edit": "a later version of something said before",
    "is_latest": "the version that stands",
    "is_own": "said by ourselves: it carries a marker of our answers",
    "is_resolved": "settled, as the service tells it; null where it does not (GitHub without a token)",
    "is_system": "written by the service, not by a person",
    "is_team": "said by somebody of the team: by `team`, else by the service's word; null: nobody tells",
    "is_unlisted": "the author asks not to be shown to the public",
    "issue_key": "parent_key of the issue",
    "kind": "what it is: issue, pull_request, issue_comment, review_comment, review, note, diff_note, post …",
    "last_at": "when it was last met",
    "linked_at": "when `earshot link` said so",
    "login": "login, handle or DID, in small letters",
    "new": "records that were new",
    "not_modified": "requests answered 304: they cost no quota",
    "number": "the number that people use, within its project",
    "observed_at": "when a run read our words there",
    "parent_key": "source:scope:number (or a thread's first post): the issue, change or post that it hangs on",
    "parent_kind": "issue, pull_request, merge_request or post",
    "parent_number": "the number that people use, within its project; null of posts",
    "planned_at": "when it was written down here, before it was sent",
    "position": "1 is the utterance's first",
    "posted_at": "when the service took it",
    "replayed": "records that were read again in the overlap",
    "requests": "requests made, retries among them",
    "resolved_at": "when it was over; null: it is open",
    "resolved_by": "who settled it, as the service tells",
    "seen_resolved_at": "when a run saw that it had been settled; when it was nobody tells",
    "run_id": "the run, counted from 1 by each runner; 0: what is folded of quiet runs long ago",
    "said_key": "an utterance in these words, whatever its time",
    "scope": "numeric id of the repository or project, or an account's DID: survives renames",
    "scope_name": "what people call the scope today: owner/name, group/name, a handle",
    "seen_at": "when a run first saw this version",
    "shard": "whose ledger tells it: K/N; 1/1 where one runner reads everything",
    "source": "github, gitlab or bluesky",
    "surface": "the list that it was read from, e.g. issue_comments",
    "thread_id": "the conversation, or the replies to one place in a diff; of posts parent_key",
    "title": "of an issue or change; of a review its verdict",
    "token": "what makes our answer this one and no other",
    "updated_at": "when the service says it last changed",
    "url": "where to see it in a browser",
    "watermark": "when the last complete walk with news began",
}

TABLES = {
    "ops.runs": Meaning("What every run did, as of the last publish: one row per run of a runner.", "shard, run_id", {
        "started_at": "when it began",
        "finished_at": "when it ended; null: it goes on, or was killed",
        "status": "running, done, partial, failed, cancelled or killed",
        "exit_code": "as the process ended: 0, 1, 3, 4, 6 or 130",
        "mode": "bulk, full, sweep or surgical",
        "sources": "JSON: the sources it was to read",
        "phase": "what it was at",
        "rows_new": "rows that landed and were new",
        "rows_replayed": "rows that were read again in the overlap",
        "packages": "load packages of dlt",
        "published_bytes": "bytes copied for readers; null: nothing changed",
        "seconds": "how long it took",
        "pid": "its process on its machine",
        "heartbeat_at": "when it last said that it is alive",
        "detail": "JSON: what a surgical run was asked, and what became of it",
    }),
    "ops.requests": Meaning(
        "What each list cost and gave in a run: one row per run and list.", "shard, run_id, source, scope, surface", {
            "pages": "pages that were read",
            "fetched": "records on them",
            "retries": "requests that were made again",
            "bytes": "bytes of answers, unpacked",
            "waited_seconds": "how long limits were waited for",
            "lag_seconds": "how old the newest record was when it was read",
        },
    ),
    "ops.failures": Meaning(
        "Lists that could not be read: one row per failure, from its first run to its last.",
        "shard, source, scope, surface, first_run_id", {
            "message": "what went wrong, in a sentence",
            "first_run_id": "the run that met it first",
            "last_run_id": "the run that met it last",
            "until_at": "when its limit ends, where it is one",
        },
    ),
    "ops.quarantine": Meaning("Records that could not be read, kept raw: one row per record.", "shard, source, key", {
        "key": "which record it is",
        "reason": "why it could not be read",
        "raw": "JSON: the record as it came",
        "retry_at": "when it is asked for again",
        "parent_key": "the issue or change that it belongs to, where that is known",
        "let_be_at": "when somebody let it be; it counts as missing no more",
    }),
    "ops.scopes": Meaning("When each scope was read: one row per scope of a runner.", "shard, source, scope", {
        "last_read_at": "when it was last read to its end",
        "last_new_at": "when it last had news",
        "reads": "how often it was read",
    }),
    "ops.cursors": Meaning("How far each list was read: one row per list of a scope.", "source, surface, scope", {
        "since": "what the next run asks from",
        "newest": "the newest record that was read",
        "state": "JSON: the cursor itself",
    }),
    "ops.lifecycle": Meaning(
        "What `earshot watch`, `unwatch` and `resume` decided: one row per pull or merge request.", "parent_key", {
            "state": "watched, blocked, closed or merged",
            "since_at": "when it became so",
            "actionable_from": "words before this do not count any more",
            "revision": "how often it was decided",
        },
    ),
    "ops.links": Meaning("Which change answers which issue (`earshot link`): one row per issue.", "issue_key", {}),
    "ops.answers": Meaning("Answers of ours: one row per answer.", "token", {
        "thread": "the service's id of the thread that it answers in; null: the conversation",
        "event_key": "what it answers; null: the issue or change itself",
        "said_key": "what it answers, in the words that stood there",
        "command_key": "the command it answers, where it answers one",
        "resolves": "it resolves its thread, too",
        "status": "planned, posted, observed or failed",
        "is_unsure": "it was sent and nobody knows whether it arrived: it is looked for before it is sent again",
        "unsure_from": "since when",
        "is_over": "given up: it is not sent again",
        "attempted_at": "when it was last sent",
        "resolved_at": "when its thread was resolved by it",
        "remote_id": "the service's id of it",
        "author": "as whom it was said",
        "observed_key": "event_key under which it was read again",
    }),
    "ops.acknowledgements": Meaning(
        "What consumers have dealt with (`earshot ack`): one row per consumer and event.", "consumer, event_key",
        {"processed_at": "when"},
    ),
    "ops.restorations": Meaning(
        "When control.sqlite was made again of what was published: one row per time.", "restored_at",
        {"restored_at": "when that was", "as_of": "of when the copy was: what was decided later is lost"},
    ),
    "ops.authors": Meaning("Whose words are actionable (`[earshot] authors`): one row per person.", "login", {}),
    "ops.team": Meaning("Who answers (`[earshot] team`): one row per person.", "login", {}),
    "ops.settings": Meaning(
        "Settings of the models: one row.",
        "",
        {"command_prefix": "how a slash command begins", "version": "of the tables; Earshot of another refuses them"},
    ),
    "ops.dirty_documents": Meaning("Documents that are due to be made again: one row per parent.", "parent_key", {}),
    "ops.taken_loads": Meaning(
        "Load packages that the models have taken: one row per package.", "load_id", {"load_id": "dlt's name of it"}
    ),
    "ops.taken_scopes": Meaning("What the models showed of scopes and decisions: one row per thing.", "name, scope", {
        "name": "the table that told it",
        "scope": "what it is about",
        "shown": "what was shown of it",
    }),
    "ops.narrowed": Meaning(
        "Models rewritten for a few parents, kept for the next run: one row per model and the sources left out of it.",
        "name", {
            "name": "the model, and without which sources", "made_of": "of what it was rewritten",
            "sql": "the rewritten SELECT",
        },
    ),
}  # fmt: skip
