"""Everybody on GitHub: what they do in two repositories, and what of it only a sweep can see."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pendulum import DateTime

from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.state import Issue
from pipelines.demo.github.world import GitHubWorld
from sources.github.source import Github
from tests import memory
from tests.storm.github_places import everything, is_in, issues_of, pulls_of, state_of
from tests.storm.said import Fact, Key, Operation, Unseen, Words, nth, words_of

__all__ = ["GitHubMob"]

REPOS = ("lantern/lantern", "lantern/docs")
PEOPLE = ("maya", "kofi", "odile", "haruki", "sanvi", "ci[bot]")
PATHS = ("a.go", "b.go", "docs/c.md")
GIVEN = ("labels", "assignees", "requested_reviewers", "requested_teams")
STATES = ("APPROVED", "COMMENTED", "CHANGES_REQUESTED")
MOST = {"issues": 14, "pulls": 9, "comments": 60, "notes": 40, "reviews": 50}  # a repository
SAID = ({"updated_at": "yesterday"}, {"body": 7}, {"created_at": 3}, {"updated_at": None})
BAD: dict[str, tuple[dict[str, Any], ...]] = {
    "issue": (*SAID, {"title": 7}, {"state": None}), "pull_request": (*SAID[:1], {"title": 7}, {"state": None}),
    "review": ({"body": 7}, {"state": 3}, {"submitted_at": "soon"}), "issue_comment": SAID, "review_comment": SAID,
}  # fmt: skip


@dataclass
class GitHubMob:
    now: DateTime
    settings: dict[str, Any] = field(default_factory=dict)
    name: str = "github"
    unseen: Unseen = field(default_factory=Unseen)
    touched: set[str] = field(default_factory=set)
    operations: dict[str, int] = field(default_factory=lambda: {name: weight for name, weight, _ in OPERATIONS})
    _told: int = 0

    def __post_init__(self) -> None:
        self.world = GitHubWorld(self.now)
        self.repos = [self.world.add_repo(name) for name in REPOS]
        self.app = GitHubApp(self.world, public_url="http://api.test")
        self.app.access.quota = 10**9

    def source(self) -> Github:
        return Github(memory.settings(REPOS, **self.settings))

    def do(self, operation: Operation) -> int:
        what, pick = operation
        repo = nth(self.repos, pick // 3)
        before = len(self.world.history)
        DEEDS[what](self, repo, pick)
        for said in self.world.history[before:]:
            self.touched.add(f"{said.repo_id}#{said.number}")
        return len(self.world.history) > before

    # What is true

    def exists(self) -> dict[Key, Fact]:
        found = {}
        truth = self.world.truth()
        for kind, facts in (("issue", truth.issues), ("pull_request", truth.pull_requests)):
            for fact in facts.values():
                about = f"{fact['repo_id']}#{fact['number']}"
                found["github", kind, about] = Fact(f"{fact['title']}\n{fact['body']}", about)
                state = "merged" if fact.get("merged_at") else fact["state"]
                given = [fact.get(name, []) for name in GIVEN]
                found["github", "state", about] = Fact(
                    state_of(state, fact.get("head_sha"), fact["milestone"], given), about
                )
        for id_, fact in truth.review_threads.items():
            words = resolved_or_not(fact["is_resolved"], fact["resolved_by"])
            found["github", "resolution", id_] = Fact(words, f"{fact['repo_id']}#{fact['number']}")
        tables = {
            "issue_comment": truth.issue_comments, "review_comment": truth.review_comments, "review": truth.reviews,
        }  # fmt: skip
        for kind, facts in tables.items():
            for id_, fact in facts.items():
                if fact.get("state") != "PENDING":
                    words = f"{fact['state']}\n{fact['body']}" if kind == "review" else fact["body"]
                    found["github", kind, str(id_)] = Fact(words, f"{fact['repo_id']}#{fact['number']}")
        return found

    def news(self) -> list[tuple[Key, Words]]:
        said = self.world.history[self._told :]
        self._told = len(self.world.history)
        return [(self._key(v.kind, v.repo_id, v.id, v.number), self._words(v.kind, v.state or "", v.title, v.body))
                for v in said]  # fmt: skip

    def event(self, kind: str, scope: str, id_: str, number: int, title: str, body: str, _: str) -> tuple[Key, Fact]:
        """What an event of the warehouse says, in the same words."""
        words = self._words(kind, (title or "").upper(), title, body)
        return self._key(kind, scope, id_, number), Fact(words, f"{scope}#{number}")

    def states(self, sql: Callable[[str], list[tuple[Any, ...]]]) -> dict[Key, Words]:
        rows = sql(
            "SELECT i.parent_key, i.scope, i.number, i.state, p.state, p.head_sha, i.milestone FROM github.issues AS i"
            " LEFT JOIN github.pull_requests AS p USING (parent_key)"
        )
        given: dict[tuple[str, str], dict[str, list[str]]] = {}
        for table, column in memory.CHILDREN.items():
            for key, name in sql(f"SELECT parent_key, {column} FROM github.{table} ORDER BY _dlt_list_idx"):
                kind, _, what = table.partition("__")
                given.setdefault((kind, key), {}).setdefault(what, []).append(name)
        found: dict[Key, Words] = {}
        for key, scope, n, state, pull_state, sha, milestone in rows:
            listed, named = given.get(("issues", key), {}), given.get(("pull_requests", key), {})
            shown = (state, *(listed.get(name, []) for name in GIVEN[:2]))
            by_pull = (pull_state, *(named.get(name, []) for name in GIVEN[:2]))
            told = state_of(state, sha, milestone, [{**listed, **named}.get(name, []) for name in GIVEN])
            found["github", "state", f"{scope}#{n}"] = (
                told if pull_state is None or shown == by_pull else f"{shown} but {by_pull}"
            )
        for id_, is_resolved, by in sql("SELECT id, is_resolved, resolved_by FROM github.review_threads__threads"):
            found["github", "resolution", id_] = resolved_or_not(is_resolved, by)
        return found

    def is_dead(self, key: Key) -> bool:
        return key[1] in ("issue", "pull_request", "state")

    def _key(self, kind: str, repo: object, id_: object, number: int) -> Key:
        return "github", kind, f"{repo}#{number}" if kind in ("issue", "pull_request") else str(id_)

    def _words(self, kind: str, state: str, title: str | None, body: str) -> Words:
        return f"{state}\n{body}" if kind == "review" else body if kind.endswith("comment") else f"{title}\n{body}"

    # What may be shut for a while

    def paths(self, pick: int) -> tuple[str, list[Key]]:
        """An issue that answers 404 though it is listed, or a whole repository."""
        repo = nth(self.repos, pick)
        if pick % 4 == 0 or not repo.issues.rows:
            return f"/repos/{repo.full_name}", [key for key, fact in self.exists().items() if is_in(repo, fact)]
        issue = nth(list(repo.issues.rows.values()), pick // 5)
        kind, about = ("pulls" if issue.pull and pick % 3 else "issues"), f"{repo.id}#{issue.number}"
        return (
            f"/repos/{repo.full_name}/{kind}/{issue.number}",
            [key for key, fact in self.exists().items() if fact.about == about],
        )

    def spoil(self, key: Key, how: int, path: str, data: Any) -> bool:
        """Makes the record unreadable wherever an answer shows it."""
        _, kind, id_ = key
        found = [item for item in (data if isinstance(data, list) else [data]) if isinstance(item, dict)]
        bad = nth(BAD[kind], how)
        if kind in ("issue", "pull_request"):
            repo, _, number = id_.partition("#")
            here = path.startswith(f"/repos/{self.world.repos[int(repo)].full_name}/")
            hit = [item for item in found if here and "title" in item and item.get("number") == int(number)]
        else:
            sign = {"issue_comment": "issue_url", "review_comment": "pull_request_review_id", "review": "submitted_at"}
            hit = [item for item in found if item.get("id") == int(id_) and sign[kind] in item]
        for item in hit:
            item |= bad
        return bool(hit)

    # What they do

    def open_issue(self, repo: Repo, pick: int) -> None:
        if len(issues_of(repo)) >= MOST["issues"]:
            return self.delete_issue(repo, pick)
        repo.open_issue(nth(PEOPLE, pick), f"Issue {pick % 40}", words_of(pick))

    def open_pull(self, repo: Repo, pick: int) -> None:
        if len(pulls_of(repo)) >= MOST["pulls"]:
            return self.edit_issue(repo, pick)
        repo.open_pull(nth(PEOPLE, pick), f"Change {pick % 40}", words_of(pick))

    def comment(self, repo: Repo, pick: int) -> None:
        if len(repo.comments.rows) >= MOST["comments"]:
            return self.delete_comment(repo, pick)
        if repo.issues.rows:
            repo.comment(nth(everything(repo), pick // 11).number, nth(PEOPLE, pick), words_of(pick))

    def review_comment(self, repo: Repo, pick: int) -> None:
        if len(repo.review_comments.rows) >= MOST["notes"]:
            return self.delete_review_comment(repo, pick)
        pulls, notes = pulls_of(repo), list(repo.review_comments.rows.values())
        if not pulls:
            return
        pull = nth(pulls, pick // 11)
        asked = nth(notes, pick // 13) if notes and pick % 3 == 0 else None
        number = asked.number if asked else pull.number
        mine = [r.id for r in repo.reviews.of(number) if r.state != "PENDING"]
        review = nth(mine, pick // 17) if mine and (pick % 4 or len(repo.reviews.rows) >= MOST["reviews"]) else None
        repo.review_comment(
            number, nth(PEOPLE, pick), nth(PATHS, pick), words_of(pick), 1 + pick % 9,
            in_reply_to=asked.id if asked else None, review_id=review,
        )  # fmt: skip

    def review(self, repo: Repo, pick: int) -> None:
        """Some are drafts with a comment of their own, which nobody sees before they are submitted."""
        pulls = pulls_of(repo)
        if not pulls or len(repo.reviews.rows) >= MOST["reviews"]:
            return self.edit_review(repo, pick)
        number, who = nth(pulls, pick // 11).number, nth(PEOPLE, pick)
        if pick % 3:
            repo.review(number, who, nth(STATES, pick), words_of(pick))
        else:
            draft = repo.review(number, who, "PENDING", words_of(pick))
            repo.review_comment(number, who, nth(PATHS, pick), words_of(pick), 3, review_id=draft)

    def submit_review(self, repo: Repo, pick: int) -> None:
        drafts = [review for review in repo.reviews.rows.values() if review.state == "PENDING"]
        if drafts:
            repo.submit_review(nth(drafts, pick).id, nth(STATES, pick))

    def edit_comment(self, repo: Repo, pick: int) -> None:
        if repo.comments.rows:
            repo.edit_comment(nth(list(repo.comments.rows), pick // 11), words_of(pick))

    def edit_review_comment(self, repo: Repo, pick: int) -> None:
        if repo.review_comments.rows:
            repo.edit_review_comment(nth(list(repo.review_comments.rows), pick // 11), words_of(pick))

    def edit_review(self, repo: Repo, pick: int) -> None:
        if repo.reviews.rows:
            repo.edit_review(nth(list(repo.reviews.rows), pick // 11), words_of(pick))

    def dismiss_review(self, repo: Repo, pick: int) -> None:
        said = [review for review in repo.reviews.rows.values() if review.state not in ("PENDING", "DISMISSED")]
        if said:
            repo.dismiss_review(nth(said, pick).id)

    def edit_issue(self, repo: Repo, pick: int) -> None:
        if repo.issues.rows:
            number = nth(everything(repo), pick // 11).number
            repo.edit_issue(number, f"Title {pick % 9}" if pick % 2 else None, words_of(pick) if pick % 3 else None)

    def label(self, repo: Repo, pick: int) -> None:
        if repo.issues.rows:
            issue, name = nth(everything(repo), pick // 11), f"label {pick % 6}"
            repo.unlabel(issue.number, name) if name in issue.labels else repo.label(issue.number, name)

    def plan(self, repo: Repo, pick: int) -> None:
        """Given to somebody or taken away, planned for a release, or somebody and a team asked for a review of it."""
        if repo.issues.rows:
            issue, who = nth(everything(repo), pick // 11), nth(PEOPLE, pick)
            if issue.pull and pick % 3 == 0:
                repo.request_review(issue.number, who, teams=(f"team-{pick % 4}",))
            elif pick % 3 == 1:
                is_theirs = who in {user.login for user in issue.assignees}
                repo.unassign(issue.number, who) if is_theirs else repo.assign(issue.number, who)
            else:
                repo.set_milestone(issue.number, f"{pick % 5}.0")

    def resolve(self, repo: Repo, pick: int) -> None:
        """Or open again. Nothing moves: the sweep asks for all that is open."""
        opened = [issue for issue in pulls_of(repo) if issue.state == "open"]
        if threads := [thread for issue in opened for thread in repo.threads(issue.number)]:
            thread = nth(threads, pick // 11)
            first = thread.comments[0]
            repo.unresolve(first) if thread.is_resolved else repo.resolve(first, nth(PEOPLE, pick))
            self.unseen.add(("github", "resolution", thread.id))

    def close(self, repo: Repo, pick: int) -> None:
        opened = [issue for issue in everything(repo) if issue.state == "open"]
        if not opened:
            return
        issue = nth(opened, pick // 11)
        repo.merge(issue.number, "maya") if issue.pull and pick % 9 == 0 else repo.close(issue.number)

    def reopen(self, repo: Repo, pick: int) -> None:
        closed = [i for i in everything(repo) if i.state == "closed" and not (i.pull and i.pull.merged_at)]
        if closed:
            repo.reopen(nth(closed, pick // 11).number)

    def push(self, repo: Repo, pick: int) -> None:
        if pulls := pulls_of(repo):
            repo.push(nth(pulls, pick // 11).number, outdates=(nth(PATHS, pick),))

    def delete_comment(self, repo: Repo, pick: int) -> None:
        """Nothing moves: a count drops, which the sweep compares."""
        if repo.comments.rows:
            id_ = nth(list(repo.comments.rows), pick // 11)
            repo.delete_comment(id_)
            self.unseen.add(("github", "issue_comment", str(id_)))

    def delete_review_comment(self, repo: Repo, pick: int) -> None:
        """Nothing moves, and nothing counts them: the sweep compares ids."""
        if repo.review_comments.rows:
            id_ = nth(list(repo.review_comments.rows), pick // 11)
            repo.delete_review_comment(id_)
            self.unseen.add(("github", "review_comment", str(id_)))

    def delete_issue(self, repo: Repo, pick: int) -> None:
        """It is on no list any more, nor is what hung on it."""
        if issues := issues_of(repo):
            issue = nth(issues, pick // 11)
            self._gone(repo, issue)
            repo.delete_issue(issue.number)

    def transfer(self, repo: Repo, pick: int) -> None:
        """Away from here without a word; there it is another one."""
        if issues := issues_of(repo):
            issue = nth(issues, pick // 11)
            self._gone(repo, issue)
            other = next(each for each in self.repos if each is not repo)
            self.world.transfer(repo, issue.number, other)

    def tick(self, repo: Repo, pick: int) -> None:
        self.world.advance(seconds=pick % 4)

    def long_tick(self, repo: Repo, pick: int) -> None:
        self.world.advance(seconds=pick % 900)

    def _gone(self, repo: Repo, issue: Issue) -> None:
        self.unseen.add(("github", "issue", f"{repo.id}#{issue.number}"))
        for comment in repo.comments.of(issue.number):
            self.unseen.add(("github", "issue_comment", str(comment.id)))


def resolved_or_not(is_resolved: bool, by: str | None) -> Words:
    return f"resolved by {by}" if is_resolved else "open"


M = GitHubMob
OPERATIONS: list[tuple[str, int, Callable[[GitHubMob, Repo, int], None]]] = [
    ("open_issue", 4, M.open_issue), ("open_pull", 3, M.open_pull), ("comment", 22, M.comment),
    ("review_comment", 12, M.review_comment), ("review", 5, M.review), ("submit_review", 3, M.submit_review),
    ("edit_comment", 12, M.edit_comment), ("edit_review_comment", 7, M.edit_review_comment),
    ("edit_review", 3, M.edit_review), ("dismiss_review", 1, M.dismiss_review), ("edit_issue", 6, M.edit_issue),
    ("label", 3, M.label), ("resolve", 6, M.resolve), ("plan", 4, M.plan), ("close", 3, M.close), ("reopen", 2, M.reopen), ("push", 3, M.push),
    ("delete_comment", 8, M.delete_comment), ("delete_review_comment", 5, M.delete_review_comment),
    ("delete_issue", 1, M.delete_issue), ("transfer", 1, M.transfer), ("tick", 14, M.tick), ("long_tick", 2, M.long_tick),
]  # fmt: skip
DEEDS = {name: deed for name, _, deed in OPERATIONS}
