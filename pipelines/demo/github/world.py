"""A GitHub in memory: its repositories and people, its clock, and everything that anybody ever said.

Ids count up per kind, so the same number names an issue comment and a review comment, as on the real service.
"""

from pendulum import DateTime

from pipelines.demo.github import fill as github_fill
from pipelines.demo.github.around import Around
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.state import Truth, author_name, issue_fact, row_fact


class GitHubWorld(Around):
    def __init__(self, now: DateTime) -> None:
        super().__init__(now)
        self.repos: dict[int, Repo] = {}
        self.names: dict[str, Repo] = {}
        self.former_names: dict[str, Repo] = {}
        self.transfers: dict[tuple[int, int], tuple[int, int]] = {}  # (repository, number) → where it is now

    def add_repo(self, full_name: str, private: bool = False) -> Repo:
        repo = Repo(self, self.next_id("repo"), full_name, private)
        self.repos[repo.id] = repo
        self.names[full_name.lower()] = repo
        return repo

    def transfer(self, repo: Repo, number: int, to: Repo) -> int:
        """An issue into another repository: another id and number there; the old address answers 301."""
        issue, comments = repo.numbered(number), repo.comments.of(number)
        assert issue is not None
        there = to.open_issue(issue.author.login, issue.title, issue.body)
        for comment in comments:  # whether they keep their ids is not documented
            to.comment(there, comment.author.login, comment.body)
        repo.delete_issue(number)
        repo.deleted_numbers.discard(number)
        self.transfers[repo.id, number] = (to.id, there)
        return there

    def delete_user(self, login: str) -> None:
        """Their words stay, with `user: null`; no `updated_at` moves."""
        user = self.users.pop(login)
        user.is_deleted = True
        for repo in self.repos.values():
            for shelf in (repo.issues, repo.comments, repo.review_comments, repo.reviews):
                for row in shelf.rows.values():
                    row.revision += row.author is user

    def truth(self) -> Truth:
        truth = Truth()
        for repo in self.repos.values():
            told = repo.is_told
            for issue in filter(told, repo.issues.rows.values()):
                table = truth.pull_requests if issue.pull else truth.issues
                fact = issue_fact(repo.id, issue, repo.comments.count(issue.number))
                table[fact["id"]] = fact
            truth.issue_comments.update(
                {row.id: row_fact(repo.id, row) for row in filter(told, repo.comments.rows.values())}
            )
            truth.review_comments.update(
                {row.id: row_fact(repo.id, row) for row in filter(told, repo.review_comments.rows.values())}
            )
            for issue in (i for i in repo.issues.rows.values() if i.pull and told(i)):
                for thread in repo.threads(issue.number):
                    by = thread.resolved_by
                    truth.review_threads[thread.id] = {
                        "repo_id": repo.id, "number": issue.number, "first_comment_id": thread.comments[0],
                        "is_resolved": thread.is_resolved, "is_outdated": thread.is_outdated,
                        "resolved_by": by and author_name(by),
                    }  # fmt: skip
                truth.closes.update(
                    (repo.id, issue.number, there.id, i.number) for there, i in repo.closes(issue.number)
                )
            truth.reviews.update({row.id: row_fact(repo.id, row) for row in filter(told, repo.reviews.rows.values())})
        return truth

    def fill(
        self,
        repo: Repo,
        pulls: int = 300,
        comments: int = 6000,
        review_comments: int = 3000,
        issues: int = 0,
        reviews: int = 0,
        days: int = 90,
        burst_second: int = 0,
    ) -> None:
        """Past activity in bulk; see `github_fill`."""
        amounts = github_fill.Amounts(pulls, issues, comments, review_comments, reviews, burst_second)
        github_fill.fill(self, repo, amounts, days)
