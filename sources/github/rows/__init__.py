"""What GitHub's records become: a table's columns, the function that fills them, and what makes a version of a record.

All of it is pure. `parts` is what several of them have in common.
"""

from sources.github.rows.comments import anchor_row, comment_row, comment_version, review_comment_row
from sources.github.rows.issues import issue_row, issue_version, opener_row
from sources.github.rows.marks import deletion_row, latest_row
from sources.github.rows.parts import number_told, parent_key
from sources.github.rows.pull_requests import pull_request_row, pull_version
from sources.github.rows.repositories import repository_row
from sources.github.rows.reviews import review_row

__all__ = [
    "anchor_row",
    "comment_row",
    "comment_version",
    "deletion_row",
    "issue_row",
    "issue_version",
    "latest_row",
    "number_told",
    "opener_row",
    "parent_key",
    "pull_request_row",
    "pull_version",
    "repository_row",
    "review_comment_row",
    "review_row",
]
