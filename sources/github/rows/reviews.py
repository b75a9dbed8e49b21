"""Reviews of pull requests, every version."""

from pendulum import DateTime

from sources.core.values import TEXT, Json, Row, Table, instant, maybe, need, text, version
from sources.github.rows.parts import UTTERANCE, WHEN, WHO, as_told, body_of, utterance, who

__all__ = ["REVIEWS", "review_row"]

AS_TOLD = {"commit_id": TEXT}
REVIEW = {**UTTERANCE, "state": TEXT, "body": TEXT, **WHO, **AS_TOLD, "url": TEXT, **WHEN}
REVIEWS = Table("reviews", ("id", "version"), REVIEW, keeps="versions")


def review_row(review: Json, scope: str, repo: str, number: int, seen_at: DateTime) -> Row:
    """Reviews have no `updated_at`; a dismissal changes the state and is a version too. One that tells no time was said
    when this version was first seen: a version lands once.
    """
    state, body, submitted_at = text(need(review, "state")), body_of(review), maybe(instant, review.get("submitted_at"))
    return {
        **utterance("review", review, scope, repo, number, version(submitted_at, state, body)),
        "state": state,
        "body": body,
        **who(review),
        **as_told(review, AS_TOLD),
        "url": maybe(text, review.get("html_url")),
        "created_at": submitted_at or seen_at,
        "updated_at": submitted_at or seen_at,
        "seen_at": seen_at,
    }
