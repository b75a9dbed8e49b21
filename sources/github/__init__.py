"""GitHub: issues, pull requests, and the three kinds of comment on them.

    pipeline.run(github(repos=["owner/name"]))      complete, incremental, resumable; run it again: only the news

`github` is imported with dlt when it is asked for, so that the rest of this folder does without.
"""

from typing import TYPE_CHECKING, Any

from sources.github.source import Github, GithubConfig

if TYPE_CHECKING:
    from sources.github.pipes import github

__all__ = ["Github", "GithubConfig", "github"]


def __getattr__(name: str) -> Any:
    if name != "github":
        raise AttributeError(name)
    from sources.github.pipes import github

    return github
