"""What is kept of GitHub: the landed tables, and which of them each list fills. Their columns stand beside their rows.

Comment tables keep every version. What an issue or a pull request is given (labels, people, teams) are its children:
sets, replaced with it.
"""

from sources.core.surfaces import Fills
from sources.github.review_threads import REVIEW_THREADS
from sources.github.rows.comments import ANCHORS, ISSUE_COMMENTS, REVIEW_COMMENTS
from sources.github.rows.issues import ISSUES, OPENERS
from sources.github.rows.marks import DELETIONS, LATEST, THREAD_CHECKS
from sources.github.rows.pull_requests import PULL_REQUESTS
from sources.github.rows.repositories import REPOSITORIES
from sources.github.rows.reviews import REVIEWS

__all__ = ["FILLS", "TABLES"]

FILLS: Fills = {
    "repositories": (REPOSITORIES,),
    "issues": (ISSUES, OPENERS),
    "pull_requests": (PULL_REQUESTS, REVIEWS, LATEST),
    "issue_comments": (ISSUE_COMMENTS, LATEST),
    "review_comments": (REVIEW_COMMENTS, ANCHORS, LATEST),
    "review_threads": (REVIEW_THREADS,),
    "rechecks": (DELETIONS, THREAD_CHECKS),
}
READ = (REPOSITORIES, ISSUES, OPENERS, PULL_REQUESTS, ISSUE_COMMENTS, REVIEW_COMMENTS, ANCHORS, REVIEWS)
TABLES = (*READ, REVIEW_THREADS, DELETIONS, THREAD_CHECKS, LATEST)
