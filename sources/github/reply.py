"""Answers on GitHub: a comment in a conversation, or a reply in a review's thread."""

from collections.abc import Mapping
from dataclasses import dataclass

from pendulum import DateTime

from sources.core.http.client import Api, Failure
from sources.core.reply import Address, Look, PostedComment, look_back, named, written
from sources.core.values import Json

__all__ = ["GithubAnswers"]

MOST = 65_536  # characters of a comment
REVIEW = "review:"  # how a thread on a diff is named: with its first comment, to which all replies go


@dataclass(frozen=True)
class GithubAnswers:
    write_headers: Mapping[str, str]
    name: str = "github"
    resolves: bool = False  # GitHub's REST API cannot

    def refuses(self, body: str) -> str | None:
        return f"{len(body):,} characters; GitHub takes {MOST:,}" if len(body) > MOST else None

    async def say(self, api: Api, address: Address, body: str) -> PostedComment:
        thread = _thread(address)
        path = f"pulls/{address.number}/comments/{thread}/replies" if thread else f"issues/{address.number}/comments"
        answer = await api.send("POST", f"/repos/{address.name}/{path}", {"body": body})
        return _said(written(answer.data, path))

    async def look(self, api: Api, address: Address, since: DateTime) -> Look:
        """A conversation knows `since` and no order; the comments of a diff both."""
        asked = {"since": since.in_timezone("UTC").format("YYYY-MM-DD[T]HH:mm:ss[Z]")}
        if _thread(address):
            path, asked = f"pulls/{address.number}/comments", {**asked, "sort": "created", "direction": "desc"}
        else:
            path = f"issues/{address.number}/comments"
        root = f"/repos/{address.name}"
        return await look_back(api, f"{root}/{path}", asked, since, _said, newest_first=bool(_thread(address)))

    async def resolve(self, api: Api, address: Address) -> None:
        raise Failure("FETCH_ERROR", "GitHub's REST API resolves no threads")

    async def who(self, api: Api) -> str | None:
        return await named(api, "/user", "login")


def _thread(address: Address) -> str:
    return address.thread.removeprefix(REVIEW) if address.thread and address.thread.startswith(REVIEW) else ""


def _said(item: Json) -> PostedComment:
    user = item.get("user")
    author = user.get("login") if isinstance(user, dict) else None
    return PostedComment(
        str(item.get("id")), author, str(item.get("body") or ""), str(item.get("html_url") or "") or None
    )
