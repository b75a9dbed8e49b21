"""What is kept of GitLab: the landed tables.

`threads`, `resource_events`, `closes_issues` and `diffs` hold one row per merge request or issue, whole: the row says
for which `updated_at` it was read, and its children are replaced with it. `note_versions` keeps every version of
every note. In `threads`, `synced_for_updated_at` passes no note that could not be read, `read_for_updated_at` does;
`shown` is the fingerprint of all that the row and its children say. In `deletions` who is missing answered 404 once.
"""

from sources.core.surfaces import Fills
from sources.core.values import COUNT, FLAG, INSTANT, NUMBER, TEXT, Table

__all__ = ["FILLS", "NOTE", "TABLES"]

_NAMES = {"name": TEXT, "parent_key": TEXT}
_PEOPLE = {"username": TEXT, "user_id": COUNT, "parent_key": TEXT}
_PARENT = {"parent_key": TEXT, "scope": TEXT, "project": TEXT, "parent_kind": TEXT, "number": COUNT}
_READ = {**_PARENT, "synced_for_updated_at": INSTANT, "is_settled": FLAG, "read_at": INSTANT}
_SAID = {"event_key": TEXT, "id": COUNT, "version": TEXT, "scope": TEXT, "project": TEXT, "parent_kind": TEXT}
_SHARED = {
    "id": COUNT, "scope": TEXT, "project": TEXT, "number": COUNT, "parent_key": TEXT, "state": TEXT, "title": TEXT,
    "author": TEXT, "author_id": COUNT, "milestone": TEXT, "references_short": TEXT, "references_full": TEXT,
    "user_notes_count": COUNT, "opener_version": TEXT, "url": TEXT, "created_at": INSTANT, "updated_at": INSTANT,
    "closed_at": INSTANT, "seen_at": INSTANT,
}  # fmt: skip

PROJECTS = Table("projects", ("id",), {
    "id": COUNT, "scope": TEXT, "project": TEXT, "name": TEXT, "url": TEXT, "default_branch": TEXT, "visibility": TEXT,
    "created_at": INSTANT, "seen_at": INSTANT,
}, shown=("project",))  # fmt: skip
MERGE_REQUESTS = Table("merge_requests", ("id",), {
    **_SHARED, "is_draft": FLAG, "source_branch": TEXT, "target_branch": TEXT, "head_sha": TEXT,
    "detailed_merge_status": TEXT, "merge_user": TEXT, "merged_at": INSTANT,
}, children={
    "labels": Table("labels", (), _NAMES), "assignees": Table("assignees", (), _PEOPLE),
    "reviewers": Table("reviewers", (), _PEOPLE),
})  # fmt: skip
ISSUES = Table("issues", ("id",), {**_SHARED, "is_confidential": FLAG, "issue_type": TEXT}, children={
    "labels": Table("labels", (), _NAMES), "assignees": Table("assignees", (), _PEOPLE),
})  # fmt: skip
OPENERS = Table("openers", ("event_key",), {
    **_SAID, "number": COUNT, "parent_key": TEXT, "title": TEXT, "body": TEXT, "author": TEXT, "author_id": COUNT,
    "url": TEXT, "created_at": INSTANT, "updated_at": INSTANT, "seen_at": INSTANT,
}, keeps="versions")  # fmt: skip
NOTE_VERSIONS = Table("note_versions", ("id", "version"), {
    **_SAID, "number": COUNT, "parent_key": TEXT, "discussion_id": TEXT, "is_individual": FLAG, "is_system": FLAG,
    "is_internal": FLAG, "is_diff_note": FLAG, "in_reply_to": COUNT, "body": TEXT, "author": TEXT, "author_id": COUNT,
    "created_at": INSTANT, "updated_at": INSTANT, "seen_at": INSTANT,
}, keeps="versions")  # fmt: skip
NOTE = {
    "id": COUNT, "version": TEXT, "parent_key": TEXT, "discussion_id": TEXT, "index_in_discussion": COUNT,
    "note_type": TEXT, "is_system": FLAG, "is_internal": FLAG, "author": TEXT, "body": TEXT, "is_resolvable": FLAG,
    "is_resolved": FLAG, "resolved_by": TEXT, "resolved_at": INSTANT, "position_type": TEXT, "position_old_path": TEXT,
    "position_new_path": TEXT, "position_old_line": COUNT, "position_new_line": COUNT,
    "position_line_range_start": COUNT, "position_line_range_end": COUNT, "position_base_sha": TEXT,
    "position_start_sha": TEXT, "position_head_sha": TEXT, "position_x": NUMBER, "position_y": NUMBER,
    "position_width": NUMBER, "position_height": NUMBER, "created_at": INSTANT, "updated_at": INSTANT,
}  # fmt: skip
THREADS = Table("threads", ("parent_key",), {
    **_READ, "user_notes_count": COUNT, "head_sha": TEXT, "read_for_updated_at": INSTANT, "shown": TEXT,
}, children={
    "discussions": Table("discussions", (), {
        "id": TEXT, "parent_key": TEXT, "noteable_type": TEXT, "is_individual": FLAG, "is_resolvable": FLAG,
        "is_resolved": FLAG, "first_note_at": INSTANT, "last_note_at": INSTANT,
    }, children={"notes": Table("notes", (), NOTE)}),
})  # fmt: skip
_EVENT = {"id": COUNT, "parent_key": TEXT, "author": TEXT, "action": TEXT, "created_at": INSTANT}
RESOURCE_EVENTS = Table("resource_events", ("parent_key",), _READ, children={
    "states": Table("states", (), {
        "id": COUNT, "parent_key": TEXT, "author": TEXT, "state": TEXT, "created_at": INSTANT,
    }),
    "labels": Table("labels", (), {**_EVENT, "label": TEXT}),
    "milestones": Table("milestones", (), {**_EVENT, "milestone": TEXT}),
})  # fmt: skip
CLOSES_ISSUES = Table("closes_issues", ("parent_key",), _READ, children={
    "issues": Table("issues", (), {
        "parent_key": TEXT, "issue_id": COUNT, "issue_number": COUNT, "issue_scope": TEXT, "issue_key": TEXT,
        "external_id": TEXT, "title": TEXT,
    }),
})  # fmt: skip
DIFFS = Table("diffs", ("parent_key",), {**_READ, "head_sha": TEXT}, children={
    "files": Table("files", (), {
        "parent_key": TEXT, "old_path": TEXT, "new_path": TEXT, "is_new": FLAG, "is_deleted": FLAG, "is_renamed": FLAG,
        "is_collapsed": FLAG, "is_too_large": FLAG, "is_generated": FLAG, "diff": TEXT,
    }),
})  # fmt: skip
DELETIONS = Table("deletions", ("parent_key",), {
    "parent_key": TEXT, "scope": TEXT, "is_deleted": FLAG, "is_missing": FLAG, "cause": TEXT, "noticed_at": INSTANT,
    "noticed_in_run": COUNT,
})  # fmt: skip
TABLES = (
    PROJECTS, MERGE_REQUESTS, ISSUES, OPENERS, NOTE_VERSIONS, THREADS, RESOURCE_EVENTS, CLOSES_ISSUES, DIFFS, DELETIONS,
)  # fmt: skip
FILLS: Fills = {
    "projects": (PROJECTS,),
    "merge_requests": (MERGE_REQUESTS, OPENERS),
    "issues": (ISSUES, OPENERS),
    "threads": (THREADS, NOTE_VERSIONS),
    "resource_events": (RESOURCE_EVENTS,),
    "closes_issues": (CLOSES_ISSUES,),
    "diffs": (DIFFS,),
    "rechecks": (DELETIONS,),
}
