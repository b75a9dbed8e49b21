"""Past activity in bulk: the worlds of size tests and benchmarks, the same at every run."""

from dataclasses import dataclass
from random import Random

import pendulum

from pipelines.demo.github.around import Around
from pipelines.demo.github.repo import Repo
from pipelines.demo.server.fill_text import prose

PEOPLE = [f"person-{n:02}" for n in range(40)] + ["robot[bot]"]
PATHS = [f"src/{name}.py" for name in ("reader", "cursor", "pages", "store", "models", "search")]
LABELS = ("bug", "docs", "good first issue", "area: cache")
HUNK = "@@ -10,3 +10,4 @@ def read(self):\n     page = self.fetch()\n+    keep(page)\n     return page"


@dataclass(frozen=True)
class Amounts:
    pulls: int
    issues: int
    comments: int
    review_comments: int
    reviews: int
    burst_second: int


def fill(world: Around, repo: Repo, amounts: Amounts, days: int) -> None:
    """Spread the amounts evenly over the last `days`; `burst_second` of the comments fall into one second."""
    random = Random(f"{repo.full_name} {amounts}")
    end = world.now
    start, span = end.timestamp() - days * 86400, days * 86400 - 1
    numbers: dict[str, list[int]] = {"pull": [], "any": []}
    for moment, kind in _schedule(amounts):
        world.now = pendulum.from_timestamp(start + moment * span)
        _happen(repo, kind, random, numbers)
    world.now = end


def stir(world: Around, repo: Repo, changes: int) -> None:
    """New comments and edits, one a second."""
    random = Random(len(world.history))
    comments, review_comments = list(repo.comments.rows), list(repo.review_comments.rows)
    numbers = [issue.number for issue in repo.issues.rows.values()]
    for _ in range(changes):
        world.advance(seconds=1)
        chance = random.random()
        if comments and chance < 0.3:
            repo.edit_comment(random.choice(comments), prose(random))
        elif review_comments and chance < 0.4:
            repo.edit_review_comment(random.choice(review_comments), prose(random))
        else:
            repo.comment(random.choice(numbers), random.choice(PEOPLE), prose(random))


def _schedule(amounts: Amounts) -> list[tuple[float, str]]:
    """(share of the period, what happens), in order of time. Openers come before all that needs them."""
    burst = min(amounts.burst_second, amounts.comments)
    plan = [(0.9 * i / amounts.pulls, "pull") for i in range(amounts.pulls)]
    plan += [(0.9 * i / amounts.issues, "issue") for i in range(amounts.issues)]
    for kind, count in (
        ("comment", amounts.comments - burst),
        ("review_comment", amounts.review_comments),
        ("review", amounts.reviews),
    ):
        plan += [(0.01 + 0.99 * i / count, kind) for i in range(count)]
    plan += [(0.5, "comment")] * burst
    return sorted(plan, key=lambda beat: beat[0])


def _happen(repo: Repo, kind: str, random: Random, numbers: dict[str, list[int]]) -> None:
    who, text = random.choice(PEOPLE), prose(random)
    nth = len(numbers["any"])
    labels = LABELS[nth % 3 : nth % 5]
    if kind == "pull":
        number = repo.open_pull(who, f"Change {text[-40:]}", text, head=f"feature/{nth}", labels=labels)
        repo.assign(number, who)
        repo.request_review(number, PEOPLE[nth % len(PEOPLE)], teams=("docs",) if nth % 4 == 0 else ())
        numbers["pull"].append(number)
        numbers["any"].append(number)
    elif kind == "issue":
        number = repo.open_issue(who, f"Trouble {text[-40:]}", text, labels=labels)
        repo.assign(number, *PEOPLE[: nth % 3])
        numbers["any"].append(number)
    elif kind == "comment":
        repo.comment(random.choice(numbers["any"]), who, text)
    elif kind == "review":
        repo.review(random.choice(numbers["pull"]), who, random.choice(["APPROVED", "CHANGES_REQUESTED"]), text)
    else:
        line = random.randrange(1, 400)
        repo.review_comment(random.choice(numbers["pull"]), who, random.choice(PATHS), text, line, diff_hunk=HUNK)
