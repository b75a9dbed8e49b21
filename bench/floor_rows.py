"""The floor's rows: the same tables, columns and keys as sources/github/rows, by the shortest way that works.

Written again on purpose: with our own row functions the floor would carry the cost of reading strictly, which is one of
the things that it is there to show. `bench.same` holds both sides' rows against each other.
"""

from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

import orjson
import pyarrow as pa

__all__ = ["KEYS", "SCHEMAS", "Json", "Origin", "Tables"]

Json = dict[str, Any]
Tables = dict[str, list[Json]]

TEXT, COUNT, FLAG, INSTANT = pa.string(), pa.int64(), pa.bool_(), pa.timestamp("us", "UTC")


def _schema(text: str = "", count: str = "", flag: str = "", instant: str = "") -> pa.Schema:
    kinds = ((text, TEXT), (count, COUNT), (flag, FLAG), (instant, INSTANT))
    return pa.schema([(name, kind) for names, kind in kinds for name in names.split()])


_SAID = "event_key version scope repo parent_key body author author_type author_association"
_WHEN = "created_at updated_at seen_at"

SCHEMAS = {
    "repositories": _schema("scope repo url", "id", "is_private is_archived", "created_at seen_at"),
    "issues": _schema(
        "scope repo parent_key state state_reason title author author_type author_association app"
        " milestone opener_version url closed_by", "id number author_id comment_count", "is_pull_request is_locked",
        f"closed_at {_WHEN}",
    ),
    "openers": _schema(f"{_SAID} app kind title url", "id number author_id", "", _WHEN),
    "pull_requests": _schema(
        "scope repo parent_key state title author head_ref head_sha base_ref base_sha merge_commit_sha"
        " url merged_by", "id number", "is_draft",
        f"reviews_read_for closed_at merged_at {_WHEN}",
    ),
    "issue_comments": _schema(f"{_SAID} app url", "id number author_id", "", _WHEN),
    "review_comments": _schema(
        f"{_SAID} app path subject_type side start_side original_commit_id diff_hunk url",
        "id number author_id thread_id in_reply_to_id review_id original_line original_start_line", "", _WHEN,
    ),
    "review_comment_anchors": _schema(
        "scope parent_key path commit_id", "id line start_line position", "is_outdated", "seen_at"
    ),
    "reviews": _schema(f"{_SAID} app state commit_id url", "id number author_id", "", _WHEN),
    "latest_versions": _schema("kind version parent_key", "id"),
    "review_threads__threads": _schema("id parent_key resolved_by", "first_comment_id", "is_resolved is_outdated"),
    **dict.fromkeys(("issues__labels", "pull_requests__labels"), _schema("name parent_key")),
    **dict.fromkeys(
        ("issues__assignees", "pull_requests__assignees", "pull_requests__requested_reviewers"),
        _schema("login parent_key", "user_id"),
    ),
    "pull_requests__requested_teams": _schema("slug parent_key"),
}  # fmt: skip
_VERSIONS = ("id", "version")
KEYS: dict[str, tuple[str, ...]] = dict.fromkeys(SCHEMAS, ("id",)) | {
    "openers": _VERSIONS, "issue_comments": _VERSIONS, "review_comments": _VERSIONS, "reviews": _VERSIONS,
    "latest_versions": ("kind", "id"),
    **dict.fromkeys([name for name in SCHEMAS if "__" in name], ("parent_key",)),
}  # fmt: skip


@dataclass(frozen=True)
class Origin:
    scope: str
    repo: str
    seen_at: datetime


def repository(tables: Tables, origin: Origin, repo: Json) -> None:
    tables["repositories"].append({
        "id": repo["id"], "scope": origin.scope, "repo": origin.repo, "url": repo["html_url"],
        "is_private": repo["private"], "is_archived": repo.get("archived", False),
        "created_at": _instant(repo["created_at"]), "seen_at": origin.seen_at,
    })  # fmt: skip


def issue(tables: Tables, origin: Origin, issue: Json) -> None:
    pull, milestone = issue.get("pull_request"), issue.get("milestone") or {}
    version = _fingerprint(issue["title"], issue["body"] or "")
    kind = "pull_request" if pull else "issue"
    who, when, said = _who(issue), _when(issue, origin), _said(kind, issue, origin, issue["number"], version)
    tables["issues"].append({
        "id": issue["id"], "scope": origin.scope, "repo": origin.repo, "number": issue["number"],
        "parent_key": said["parent_key"], "is_pull_request": pull is not None,
        "state": "merged" if pull and pull["merged_at"] else issue["state"], "state_reason": issue["state_reason"],
        "title": issue["title"], "milestone": milestone.get("title"),
        "is_locked": issue["locked"], "comment_count": issue["comments"], "opener_version": version,
        "url": issue["html_url"], "closed_at": _instant(issue["closed_at"]),
        "closed_by": (issue.get("closed_by") or {}).get("login"), **who, **when,
    })  # fmt: skip
    _given(tables, "issues", said["parent_key"], issue)
    tables["openers"].append({**said, "kind": kind, "title": issue["title"], "url": issue["html_url"], **who, **when})


def pull_request(tables: Tables, origin: Origin, pull: Json) -> None:
    head, base = pull["head"], pull["base"]
    tables["pull_requests"].append({
        "id": pull["id"], "scope": origin.scope, "repo": origin.repo, "number": pull["number"],
        "parent_key": f"github:{origin.scope}:{pull['number']}",
        "state": "merged" if pull["merged_at"] else pull["state"],
        "is_draft": pull["draft"], "title": pull["title"], "author": _who(pull)["author"],
        "head_ref": head["ref"], "head_sha": head["sha"], "base_ref": base["ref"], "base_sha": base["sha"],
        "merge_commit_sha": pull.get("merge_commit_sha"),
        "url": pull["html_url"],
        "reviews_read_for": _instant(pull["updated_at"]), "closed_at": _instant(pull["closed_at"]),
        "merged_at": _instant(pull["merged_at"]), "merged_by": None, **_when(pull, origin),  # no list tells who
    })  # fmt: skip
    key = f"github:{origin.scope}:{pull['number']}"
    _given(tables, "pull_requests", key, pull)
    tables["pull_requests__requested_reviewers"] += _people(pull["requested_reviewers"], key)
    tables["pull_requests__requested_teams"] += [
        {"slug": team["slug"], "parent_key": key} for team in pull["requested_teams"]
    ]


def issue_comment(tables: Tables, origin: Origin, comment: Json) -> None:
    number = int(comment["issue_url"].rpartition("/")[2])
    said = _said("issue_comment", comment, origin, number, _version(comment["updated_at"], comment["body"] or ""))
    tables["issue_comments"].append({**said, "url": comment["html_url"], **_who(comment), **_when(comment, origin)})


def review_comment(tables: Tables, origin: Origin, comment: Json) -> None:
    number = int(comment["pull_request_url"].rpartition("/")[2])
    said = _said("review_comment", comment, origin, number, _version(comment["updated_at"], comment["body"] or ""))
    reply_to, when = comment.get("in_reply_to_id"), _when(comment, origin)
    tables["review_comments"].append({
        **said, "thread_id": reply_to or comment["id"], "in_reply_to_id": reply_to,
        "review_id": comment["pull_request_review_id"], "path": comment["path"],
        "subject_type": comment["subject_type"],
        "side": comment["side"], "start_side": comment["start_side"], "original_line": comment["original_line"],
        "original_start_line": comment["original_start_line"], "original_commit_id": comment["original_commit_id"],
        "diff_hunk": comment["diff_hunk"], "url": comment["html_url"], **_who(comment), **when,
    })  # fmt: skip
    tables["review_comment_anchors"].append({
        "id": comment["id"], "scope": origin.scope, "parent_key": said["parent_key"], "path": comment["path"],
        "line": comment["line"], "start_line": comment["start_line"], "position": comment["position"],
        "commit_id": comment["commit_id"], "seen_at": origin.seen_at,
        "is_outdated": comment["line"] is None and comment["subject_type"] != "file",
    })  # fmt: skip


def review(tables: Tables, origin: Origin, review: Json, number: int) -> None:
    submitted, body = review["submitted_at"], review["body"] or ""
    said = _said("review", review, origin, number, _version(submitted, review["state"], body))
    when = _when({"created_at": submitted, "updated_at": submitted}, origin)
    tables["reviews"].append({
        **said, "state": review["state"], "commit_id": review["commit_id"], "url": review["html_url"],
        **_who(review), **when,
    })  # fmt: skip
    tables["latest_versions"].append({
        "kind": "review", "id": review["id"], "version": said["version"], "parent_key": said["parent_key"],
    })  # fmt: skip


def thread(tables: Tables, origin: Origin, thread: Json, number: int) -> None:
    by, (first, *_) = thread["resolvedBy"], thread["comments"]["nodes"]
    tables["review_threads__threads"].append({
        "id": thread["id"], "parent_key": f"github:{origin.scope}:{number}", "resolved_by": by and by["login"],
        "first_comment_id": int(first["fullDatabaseId"]), "is_resolved": thread["isResolved"],
        "is_outdated": thread["isOutdated"],
    })  # fmt: skip


def _said(kind: str, record: Json, origin: Origin, number: int, version: str) -> Json:
    return {
        "event_key": f"github:{kind}:{origin.scope}:{record['id']}:{version}", "id": record["id"], "version": version,
        "scope": origin.scope, "repo": origin.repo, "number": number, "parent_key": f"github:{origin.scope}:{number}",
        "body": record["body"] or "",
    }  # fmt: skip


def _who(record: Json) -> Json:
    user, app = record["user"] or {}, record.get("performed_via_github_app") or {}
    return {
        "author": user.get("login") or "ghost", "author_id": user.get("id"), "author_type": user.get("type"),
        "author_association": record["author_association"], "app": app.get("slug"),
    }  # fmt: skip


def _when(record: Json, origin: Origin) -> Json:
    created, updated = _instant(record["created_at"]), _instant(record["updated_at"])
    return {"created_at": created, "updated_at": updated, "seen_at": origin.seen_at}


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _version(updated_at: str, *said: str) -> str:
    return f"{updated_at.replace('-', '').replace(':', '')}-{_fingerprint(*said)}"


def _fingerprint(*said: str) -> str:
    return blake2b(orjson.dumps(said), digest_size=5).hexdigest()


def _given(tables: Tables, parent: str, key: str, record: Json) -> None:
    tables[f"{parent}__labels"] += [{"name": label["name"], "parent_key": key} for label in record["labels"]]
    tables[f"{parent}__assignees"] += _people(record["assignees"], key)


def _people(people: list[Json], key: str) -> list[Json]:
    return [{"login": person["login"], "user_id": person["id"], "parent_key": key} for person in people]
