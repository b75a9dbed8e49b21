"""What is kept of GitHub: its surfaces in their order, and the landed tables that each of them fills.

Comment tables keep every version. What an issue or a pull request is given (labels, people, teams) are its children:
sets, replaced with it.
"""

from itertools import chain

from sources.core.surfaces import Fills, Surface
from sources.github.recheck.marks import DELETIONS, THREAD_CHECKS
from sources.github.surfaces import issue_comments, issues, pull_requests, review_comments, review_threads
from sources.github.surfaces.repositories import REPOSITORIES

__all__ = ["BY_DUE", "FILLS", "SURFACES", "TABLES"]

SURFACES: tuple[Surface, ...] = (
    issues.SURFACE,
    pull_requests.SURFACE,
    issue_comments.SURFACE,
    review_comments.SURFACE,
)
BY_DUE: tuple[Surface, ...] = (review_threads.SURFACE,)  # a run asks the warehouse what is due of them, not a list
FILLS: Fills = {
    "repositories": (REPOSITORIES,),
    **{surface.name: surface.fills for surface in (*SURFACES, *BY_DUE)},
    "rechecks": (DELETIONS, THREAD_CHECKS),
}
TABLES = tuple({table.name: table for table in chain.from_iterable(FILLS.values())}.values())
