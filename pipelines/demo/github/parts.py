"""What GitHub's rows have inside, in JSON: people, labels, milestones, teams; and where a repository is seen."""

from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from zlib import crc32

from pendulum import DateTime

from pipelines.demo.github.shelves import Shelves
from pipelines.demo.github.state import User

WEB = "https://github.com"
Json = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A repository as seen at an API address."""

    root: str
    repo: Shelves

    @property
    def api(self) -> str:
        return f"{self.root}/repos/{self.repo.full_name}"

    @property
    def web(self) -> str:
        return f"{WEB}/{self.repo.full_name}"

    def thread(self, number: int) -> str:
        issue = self.repo.numbered(number)
        return f"{self.web}/{'pull' if issue and issue.pull else 'issues'}/{number}"

    def association(self, user: User) -> str:
        repo = self.repo
        if user.is_deleted:
            return "NONE"
        if user.login == repo.full_name.split("/")[0]:
            return "OWNER"
        if user.login in repo.members:
            return "MEMBER"
        if user.login in repo.collaborators:
            return "COLLABORATOR"
        return "CONTRIBUTOR" if user.login in repo.contributors else "NONE"


def stamp(instant: DateTime | None) -> str | None:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ") if instant else None


def user_json(root: str, user: User | None) -> Json | None:
    if user is None or user.is_deleted:
        return None
    return {
        "login": user.login,
        "id": user.id,
        "node_id": f"U_{user.id}",
        "url": f"{root}/users/{user.login}",
        "html_url": f"{WEB}/{user.login}",
        "type": "Bot" if user.is_bot else "User",
        "site_admin": False,
    }


def people_json(place: Place, users: list[User]) -> list[Json]:
    return [user_json(place.root, user) or {} for user in users if not user.is_deleted]


def label_json(place: Place, name: str) -> Json:
    id_ = crc32(name.encode())
    return {
        "id": id_, "node_id": f"LA_{id_}", "url": f"{place.api}/labels/{quote(name)}", "name": name,
        "description": None, "color": "ededed", "default": False, "archived_by": None,
    }  # fmt: skip


def milestone_json(place: Place, title: str | None) -> Json | None:
    if title is None:
        return None
    made, issues = place.repo.milestones[title], place.repo.issues.rows.values()
    states = Counter(issue.state for issue in issues if issue.milestone == title)
    at = stamp(made.created_at)
    return {
        "url": f"{place.api}/milestones/{made.number}", "html_url": f"{place.web}/milestone/{made.number}",
        "id": made.id, "node_id": f"MI_{made.id}", "number": made.number, "title": title, "description": None,
        "state": "open", "creator": user_json(place.root, made.creator), "open_issues": states["open"],
        "closed_issues": states["closed"], "created_at": at, "updated_at": at, "closed_at": None, "due_on": None,
    }  # fmt: skip


def team_json(place: Place, slug: str) -> Json:
    organisation, id_ = place.repo.full_name.split("/")[0], crc32(slug.encode())
    return {
        "id": id_, "node_id": f"T_{id_}", "name": slug.title(), "slug": slug, "description": None, "privacy": "closed",
        "permission": "push", "url": f"{place.root}/teams/{id_}", "type": "organization", "parent": None,
        "html_url": f"{WEB}/orgs/{organisation}/teams/{slug}",
    }  # fmt: skip


def app_json(place: Place, slug: str) -> Json:
    """The program that somebody wrote with; it is theirs all the same."""
    made = stamp(place.repo.created_at)
    return {
        "id": sum(slug.encode()), "slug": slug, "node_id": f"A_{slug}", "owner": user_json(place.root, User(1, slug)),
        "name": slug.title(), "description": None, "external_url": f"https://{slug}.example",
        "html_url": f"{WEB}/apps/{slug}", "created_at": made, "updated_at": made, "permissions": {}, "events": [],
    }  # fmt: skip


def reactions_json(url: str) -> Json:
    kinds = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    return {"url": f"{url}/reactions", "total_count": 0, **dict.fromkeys(kinds, 0)}
