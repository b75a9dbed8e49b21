"""What GitHub's schemas say of its answers, as facts: schema, kind, the fields that are of it (`?`: it may be absent).

From the OpenAPI description of version 2022-11-28, as it was in autumn 2026. Kinds are types, other schemas, [lists];
`object` is anything inside which nothing is read. Where recorded answers show null and the schema does not
(a single pull request's `user`, `line` and `position` of a comment that is outdated), they are believed.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["SCHEMAS", "Fact", "fields", "wrong"]

SCHEMAS: dict[str, dict[str, str]] = {
    "repository": {
        "int": """id forks_count stargazers_count watchers_count size open_issues_count subscribers_count
            network_count forks open_issues watchers""",
        "str": """node_id name full_name html_url url archive_url assignees_url blobs_url branches_url
            collaborators_url comments_url commits_url compare_url contents_url contributors_url deployments_url
            downloads_url events_url forks_url git_commits_url git_refs_url git_tags_url git_url
            issue_comment_url issue_events_url issues_url keys_url labels_url languages_url merges_url
            milestones_url notifications_url pulls_url releases_url ssh_url stargazers_url statuses_url
            subscribers_url subscription_url tags_url teams_url trees_url clone_url hooks_url svn_url
            default_branch pull_request_creation_policy? visibility? squash_merge_commit_title?
            squash_merge_commit_message? merge_commit_title? merge_commit_message? master_branch?""",
        "user": "owner",
        "bool": """private fork is_template? has_issues has_projects has_wiki has_pages has_downloads? has_discussions
            has_pull_requests? archived disabled allow_rebase_merge? allow_squash_merge? allow_auto_merge?
            delete_branch_on_merge? allow_merge_commit? allow_update_branch? use_squash_pr_title_as_default?
            allow_forking? web_commit_signoff_required? anonymous_access_enabled?""",
        "str|null": "description mirror_url homepage language temp_clone_token?",
        "[str]": "topics?",
        "instant": "pushed_at created_at updated_at",
        "object": "permissions? parent? source? code_of_conduct? custom_properties?",
        "object|null": "template_repository? license security_and_analysis?",
        "user|null": "organization?",
    },
    "issue": {
        "int": "id number comments",
        "str": """node_id url repository_url labels_url comments_url events_url html_url state title timeline_url?
            author_association?""",
        "str|null": "state_reason? body? active_lock_reason? body_html? body_text? parent_issue_url?",
        "user|null": "user assignee closed_by?",
        "[str|issue-label]": "labels",
        "[user]": "assignees?",
        "milestone|null": "milestone",
        "bool": "locked draft?",
        "issue-pull": "pull_request?",
        "instant|null": "closed_at",
        "instant": "created_at updated_at",
        "object|null": "type?",
        "object": "repository? sub_issues_summary? issue_dependencies_summary?",
        "null|app": "performed_via_github_app?",
        "reactions": "reactions?",
        "issue-comment|null": "pinned_comment?",
        "[object]": "issue_field_values?",
    },
    "issue-label": {
        "int": "id?",
        "str": "node_id? url? name?",
        "str|null": "description? color?",
        "bool": "default?",
        "null": "archived_by?",
    },
    "issue-pull": {
        "instant|null": "merged_at?",
        "str|null": "diff_url html_url patch_url url",
    },
    "pull-in-list": {
        "str": """url node_id html_url diff_url patch_url issue_url commits_url review_comments_url review_comment_url
            comments_url statuses_url state title author_association""",
        "int": "id number",
        "bool": "locked draft?",
        "user|null": "user assignee",
        "str|null": "body active_lock_reason? merge_commit_sha",
        "[pull-label]": "labels",
        "milestone|null": "milestone",
        "instant": "created_at updated_at",
        "instant|null": "closed_at merged_at",
        "[user]": "assignees? requested_reviewers?",
        "[team]": "requested_teams?",
        "branch": "head base",
        "object": "_links",
        "object|null": "auto_merge stack?",
    },
    "pull": {
        "str": """url node_id html_url diff_url patch_url issue_url commits_url review_comments_url review_comment_url
            comments_url statuses_url state title author_association mergeable_state""",
        "int": "id number comments review_comments commits additions deletions changed_files",
        "bool": "locked draft? merged maintainer_can_modify",
        "str|null": "body active_lock_reason? merge_commit_sha",
        "[pull-label]": "labels",
        "milestone|null": "milestone",
        "instant": "created_at updated_at",
        "instant|null": "closed_at merged_at",
        "user|null": "user assignee merged_by",
        "[user]": "assignees? requested_reviewers?",
        "[team]": "requested_teams?",
        "branch": "head base",
        "object": "_links",
        "object|null": "auto_merge stack?",
        "bool|null": "mergeable rebaseable?",
    },
    "pull-label": {
        "int": "id",
        "str": "node_id url name color",
        "str|null": "description",
        "bool": "default",
        "null": "archived_by",
    },
    "branch": {
        "str|null": "label",
        "str": "ref sha",
        "object|null": "repo",
        "user|null": "user",
    },
    "issue-comment": {
        "int": "id",
        "str": "node_id url body? body_text? body_html? html_url issue_url author_association?",
        "user|null": "user",
        "instant": "created_at updated_at",
        "null|app": "performed_via_github_app?",
        "reactions": "reactions?",
        "object|null": "pin? minimized?",
    },
    "review-comment": {
        "str": """url node_id diff_hunk path commit_id original_commit_id body html_url pull_request_url
            author_association side? subject_type? body_html? body_text?""",
        "int": "id original_position? in_reply_to_id?",
        "int|null": "pull_request_review_id start_line? original_start_line? position? line? original_line?",
        "user|null": "user",
        "instant": "created_at updated_at",
        "object": "_links",
        "str|null": "start_side?",
        "reactions": "reactions?",
    },
    "review": {
        "int": "id",
        "str": "node_id body state html_url pull_request_url body_html? body_text? author_association",
        "user|null": "user",
        "object": "_links",
        "instant": "submitted_at?",
        "str|null": "commit_id",
    },
    "user": {
        "str|null": "name? email? gravatar_id",
        "str": """login node_id avatar_url url html_url followers_url following_url gists_url starred_url
            subscriptions_url organizations_url repos_url events_url received_events_url type starred_at?
            user_view_type?""",
        "int": "id",
        "bool": "site_admin",
    },
    "milestone": {
        "str": "url html_url labels_url node_id state title",
        "int": "id number open_issues closed_issues",
        "str|null": "description",
        "user|null": "creator",
        "instant": "created_at updated_at",
        "instant|null": "closed_at due_on",
    },
    "team": {
        "int": "id organization_id? enterprise_id?",
        "str": """node_id name slug privacy? notification_setting? permission url html_url members_url
            repositories_url type access_source?""",
        "str|null": "description",
        "object": "permissions?",
        "team|null": "parent",
    },
    "app": {
        "int": "id installations_count?",
        "str": "slug? node_id client_id? name external_url html_url",
        "user|object": "owner",
        "str|null": "description",
        "instant": "created_at updated_at",
        "object": "permissions",
        "[str]": "events",
    },
    "reactions": {
        "str": "url",
        "int": "total_count +1 -1 laugh confused heart hooray eyes rocket",
    },
}  # fmt: skip
# What the demo world does not show: addresses that nobody follows, and figures.
ADDRESSES = re.compile(r"\w+_url|_links|node_id")
FIGURES = {
    "repository": """forks_count stargazers_count watchers_count size subscribers_count network_count forks open_issues
        watchers description fork disabled has_projects has_wiki has_pages has_discussions homepage language license
        permissions pushed_at updated_at""",
    "pull": "mergeable mergeable_state maintainer_can_modify additions deletions changed_files",
    "user": "gravatar_id",
}
TYPES = {"int": int, "str": str, "bool": bool, "object": object, "null": type(None)}


@dataclass(frozen=True)
class Fact:
    must: bool
    kinds: tuple[str, ...]


@cache
def fields(schema: str) -> dict[str, Fact]:
    """What a record of this schema may have."""
    told = {name: kind for kind, names in SCHEMAS[schema].items() for name in names.split()}
    return {name.rstrip("?"): Fact(not name.endswith("?"), _kinds(kind)) for name, kind in told.items()}


def wrong(value: Any, schema: str, where: str = "") -> list[str]:
    """What of a record is not as the schema has it."""
    if not isinstance(value, dict):
        return [f"{where} is {value!r:.40}"]
    known, left_out = fields(schema), FIGURES.get(schema, "").split()
    found = [
        f"{where}.{name} is missing"
        for name, fact in known.items()
        if fact.must and name not in value and name not in left_out and not ADDRESSES.fullmatch(name)
    ]
    for name, held in value.items():
        found += _wrong(held, known[name].kinds, f"{where}.{name}") if name in known else [f"{where}.{name} is new"]
    return found


def _wrong(value: Any, kinds: tuple[str, ...], where: str) -> list[str]:
    """Of what fits none of its kinds, what keeps it from the last of them."""
    found: list[str] = []
    for kind in kinds:
        found = _misfits(value, kind, where)
        if not found:
            break
    return found


def _misfits(value: Any, kind: str, where: str) -> list[str]:
    if kind.startswith("["):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [each for n, one in enumerate(value) for each in _wrong(one, _kinds(kind[1:-1]), f"{where}[{n}]")]
    if kind in SCHEMAS:
        return wrong(value, kind, where)
    if kind == "instant":
        is_told = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value)
    else:
        is_told = isinstance(value, TYPES[kind]) and not (kind == "int" and isinstance(value, bool))
    return [] if is_told else [f"{where} is {value!r:.40}, no {kind}"]


def _kinds(told: str) -> tuple[str, ...]:
    return (told,) if told.startswith("[") else tuple(told.split("|"))
