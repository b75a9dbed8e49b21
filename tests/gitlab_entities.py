"""What GitLab's API says of what we read, as facts: which fields an answer has, of which kind, null or absent.

From `lib/api/entities` and `lib/gitlab/diff/formatters` of GitLab's source and its documentation, as of versions 12 to 18.
A kind may be followed by `?` (null, too) and a field by `~` (absent where it means nothing, or from older servers).
Fields that neither side looks at are left out of the demo world's answers; one that it shows is in this table.
"""

from typing import Any

import pendulum

__all__ = ["ENTITIES", "wrong"]

USER = {"id": "int", "username": "text", "name": "text", "state": "text", "avatar_url": "text?", "web_url": "text"}
PARENT = {
    "id": "int", "iid": "int", "project_id": "int", "title": "text", "description": "text?", "state": "text",
    "created_at": "instant", "updated_at": "instant", "closed_at": "instant?", "closed_by": "user?",
    "labels": "[text]", "milestone": "milestone?", "assignees": "[user]", "assignee": "user?", "author": "user",
    "user_notes_count": "int", "upvotes": "int", "downvotes": "int", "reference~": "text", "references": "references",
    "web_url": "text", "discussion_locked": "flag?",
}  # fmt: skip
MERGE_REQUEST = PARENT | {
    "merged_at": "instant?", "source_branch": "text", "target_branch": "text", "source_project_id": "int?",
    "target_project_id": "int", "reviewers": "[user]", "sha": "text?", "merge_commit_sha": "text?",
    "squash_commit_sha": "text?", "merge_when_pipeline_succeeds": "flag", "has_conflicts": "flag",
    "blocking_discussions_resolved": "flag", "should_remove_source_branch": "flag?",
    "force_remove_source_branch": "flag?", "squash": "flag", "work_in_progress": "flag", "merge_status": "text",
    "merged_by": "user?", "draft~": "flag", "detailed_merge_status~": "text", "merge_user~": "user?",
}  # fmt: skip
EVENT = {"id": "int", "user": "user?", "created_at": "instant", "resource_type": "text", "resource_id": "int"}
PLACE = {
    "base_sha": "text", "start_sha": "text", "head_sha": "text", "old_path": "text", "new_path": "text",
    "position_type": "text",
}  # fmt: skip
ENTITIES: dict[str, dict[str, str]] = {
    "user": USER,
    "milestone": {
        "id": "int", "iid": "int", "project_id~": "int", "title": "text", "description": "text?", "state": "text",
        "created_at": "instant", "updated_at": "instant", "due_date": "text?", "start_date": "text?", "expired~": "flag?",
        "web_url": "text",
    },
    "references": {"short": "text", "relative": "text", "full": "text"},
    "namespace": {"id": "int", "name": "text", "path": "text", "kind": "text", "full_path": "text"},
    "project": {
        "id": "int", "description": "text?", "name": "text", "name_with_namespace": "text", "path": "text",
        "path_with_namespace": "text", "created_at": "instant", "default_branch": "text?", "visibility": "text",
        "web_url": "text", "namespace": "namespace", "archived": "flag", "open_issues_count~": "int",
    },
    "merge_request": MERGE_REQUEST,
    "single_merge_request": MERGE_REQUEST | {
        "subscribed": "flag", "changes_count": "text?", "diff_refs": "refs", "merge_error": "text?",
        "first_contribution": "flag", "user": "rights",
    },
    "refs": {"base_sha": "text?", "start_sha": "text?", "head_sha": "text?"},
    "rights": {"can_merge": "flag"},
    "issue": PARENT | {"type": "text", "issue_type": "text", "due_date": "text?", "confidential": "flag"},
    "external_issue": {"id": "text", "title": "text?"},
    "discussion": {"id": "text", "individual_note": "flag", "notes": "[note]"},
    "note": {
        "id": "int", "type": "text?", "body": "text", "attachment": "text?", "author": "user", "created_at": "instant",
        "updated_at": "instant", "system": "flag", "noteable_id": "int", "noteable_type": "text", "project_id~": "int",
        "noteable_iid": "int?", "commands_changes~": "nothing", "resolvable": "flag", "resolved~": "flag",
        "resolved_by~": "user?", "resolved_at~": "instant?", "confidential~": "flag?", "internal~": "flag",
        "commit_id~": "text?", "position~": "position",
    },
    "nothing": {},
    "text_position": PLACE | {"old_line": "line?", "new_line": "line?", "line_range~": "range?"},
    "image_position": PLACE | {"width": "int", "height": "int", "x": "number", "y": "number"},
    "file_position": PLACE,
    "range_of_ends": {"start": "end?", "end": "end?"},
    "range_of_codes": {
        "start_line_code": "text", "start_line_type": "text?", "end_line_code": "text", "end_line_type": "text?",
    },
    "end": {"line_code": "text", "type": "text?", "old_line~": "line?", "new_line~": "line?"},
    "state_event": EVENT | {"state": "text", "source_commit": "text?", "source_merge_request_id": "int?"},
    "label_event": EVENT | {"action": "text", "label": "label?"},
    "milestone_event": EVENT | {"action": "text", "milestone": "milestone?", "state": "text"},
    "label": {"id": "int", "name": "text", "color": "text", "description": "text?", "text_color~": "text"},
    "diff": {
        "diff": "text", "old_path": "text", "new_path": "text", "a_mode": "text", "b_mode": "text", "new_file": "flag",
        "renamed_file": "flag", "deleted_file": "flag", "generated_file~": "flag?", "collapsed~": "flag",
        "too_large~": "flag",
    },
    "reviewer": {"user": "user", "state": "text", "created_at": "instant"},
}  # fmt: skip
KINDS: dict[str, Any] = {"int": int, "text": str, "flag": bool, "number": int | float, "line": int | str}


def wrong(value: Any, kind: str, where: str = "") -> list[str]:
    """What of an answer is not as GitLab has it."""
    if value is None:
        return [] if kind.endswith("?") else [f"{where} is null"]
    kind = _kind_of(value, kind.removesuffix("?"))
    if kind.startswith("["):
        return [each for n, one in enumerate(value) for each in wrong(one, kind[1:-1], f"{where}[{n}]")]
    if kind == "instant":
        return [] if isinstance(value, str) and pendulum.parse(value) else [f"{where} is {value!r:.40}"]
    if kind in KINDS:
        is_it = isinstance(value, KINDS[kind]) and (kind == "flag" or not isinstance(value, bool))
        return [] if is_it else [f"{where} is {value!r:.40}"]
    fields = {name.removesuffix("~"): inner for name, inner in ENTITIES[kind].items()}
    found = [f"{where}.{name} is missing" for name in ENTITIES[kind] if name[-1] != "~" and name not in value]
    for name, held in value.items():
        found += wrong(held, fields[name], f"{where}.{name}") if name in fields else [f"{where}.{name} is new"]
    return found


def _kind_of(value: Any, kind: str) -> str:
    """Which of several it is, by what it says of itself."""
    if kind == "position":
        return f"{value['position_type']}_position"
    if kind == "range":
        return "range_of_codes" if "start_line_code" in value else "range_of_ends"
    return "external_issue" if kind == "closed_issue" and isinstance(value["id"], str) else kind.replace("closed_", "")
