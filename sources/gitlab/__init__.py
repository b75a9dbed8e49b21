"""GitLab: projects, merge requests and issues, and what hangs on each of them."""

from sources.gitlab.source import Gitlab, GitlabConfig

__all__ = ["Gitlab", "GitlabConfig"]
