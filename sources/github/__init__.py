"""GitHub: issues, pull requests, and the three kinds of comment on them."""

from sources.github.source import Github, GithubConfig

__all__ = ["Github", "GithubConfig"]
