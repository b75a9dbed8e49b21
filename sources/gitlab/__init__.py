"""GitLab: merge requests and issues with all their discussions, events and diffs.

    pipeline.run(gitlab(projects=["group/name"]))      complete, incremental, resumable; run it again: only the news

`gitlab` is imported with dlt when it is asked for, so that the rest of this folder does without.
"""

from typing import TYPE_CHECKING, Any

from sources.gitlab.lists import GitlabConfig
from sources.gitlab.source import Gitlab

if TYPE_CHECKING:
    from sources.gitlab.pipes import gitlab

__all__ = ["Gitlab", "GitlabConfig", "gitlab"]


def __getattr__(name: str) -> Any:
    if name != "gitlab":
        raise AttributeError(name)
    from sources.gitlab.pipes import gitlab

    return gitlab
