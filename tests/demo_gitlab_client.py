"""What the tests of the demo GitLab ask most."""

from typing import Any

import pendulum

from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.state import Issuable, kind_of
from tests.demo_client import get

NOW = pendulum.datetime(2026, 1, 2, 3, 4, 5, 678_900)
PROJECT = "/api/v4/projects/lantern%2Fconsole"
MRS = f"{PROJECT}/merge_requests"


def one(app: GitLabApp, parent: Issuable) -> dict[str, Any]:
    return get(app, f"{PROJECT}/{kind_of(parent)}s/{parent.iid}").json()


def discussions(app: GitLabApp, parent: Issuable) -> list[dict[str, Any]]:
    return get(app, f"{PROJECT}/{kind_of(parent)}s/{parent.iid}/discussions", per_page=100).json()
