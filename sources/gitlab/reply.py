"""Answers on GitLab: a note on a merge request or issue, or in a discussion there, which can also be resolved."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pendulum import DateTime

from sources.core.http.client import Api, Failure
from sources.core.reply import Address, Look, PostedComment, look_back, named, written
from sources.core.values import Json

__all__ = ["GitlabAnswers"]

MOST = 1_000_000  # characters of a note
SURFACES = {"merge_request": "merge_requests", "issue": "issues"}
QUICK_ACTION = re.compile(r"^/[a-z_]+\b", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class GitlabAnswers:
    write_headers: Mapping[str, str]
    name: str = "gitlab"
    resolves: bool = True

    def refuses(self, body: str) -> str | None:
        """A line that begins like `/close` would be carried out with our rights, whoever wrote it first."""
        if action := QUICK_ACTION.search(body):
            return f"a line begins with {action[0]!r}, which GitLab would carry out; put a space before it"
        return f"{len(body):,} characters; GitLab takes {MOST:,}" if len(body) > MOST else None

    async def say(self, api: Api, address: Address, body: str) -> PostedComment:
        path = f"{_root(address)}/discussions/{address.thread}/notes" if address.thread else f"{_root(address)}/notes"
        answer = await api.send("POST", path, {"body": body})
        return _said(written(answer.data, path))

    async def look(self, api: Api, address: Address, since: DateTime) -> Look:
        """Notes know no `since`, and come newest first."""
        asked = {"order_by": "created_at", "sort": "desc"}
        path = f"{_root(address)}/notes"
        return await look_back(api, path, asked, since, _said, newest_first=True, filters=True)

    async def resolve(self, api: Api, address: Address) -> None:
        if not address.thread:
            raise Failure("FETCH_ERROR", "a plain note has no thread to resolve")
        await api.send("PUT", f"{_root(address)}/discussions/{address.thread}", {"resolved": True})

    async def who(self, api: Api) -> str | None:
        return await named(api, "/api/v4/user", "username")


def _root(address: Address) -> str:
    return f"/api/v4/projects/{address.scope}/{SURFACES[address.kind]}/{address.number}"


def _said(item: Json) -> PostedComment:
    user = item.get("author")
    author = user.get("username") if isinstance(user, dict) else None
    return PostedComment(str(item.get("id")), author, str(item.get("body") or ""), None)
