"""What the story tests share: a demo GitHub on a real socket, Earshot beside it as a process, and the world as judge.

A `Project` is a folder with its own settings and data. `run` starts a real process there; `quick` does the same in this
process, for tests that need no kill. Neither ever shows the token: that is checked after each of them.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pendulum
from click.testing import CliRunner

from pipelines import run as run_module
from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import Call
from pipelines.warehouse.data_dir import as_dicts
from tests.in_memory import INSTEAD_OF, InMemory, opened
from tests.memory import ever_said, exists, judge_children

NOW = pendulum.datetime(2026, 3, 1, 12)
REPO = "lantern/lantern"
TOKEN = "demo-token"
RUN = Path(run_module.__file__)
KILLED_RUN = Path(__file__).with_name("killed_run.py")
PATIENCE = 60


@dataclass
class Ended:
    """How a run ended, and what it asked the server."""

    code: int
    out: str
    err: str
    calls: list[Call]

    @property
    def said(self) -> str:
        return self.out + self.err

    def asked(self, tail: str) -> list[Call]:
        return [call for call in self.calls if call.path.endswith(tail)]


@dataclass
class Project:
    folder: Path
    app: GitHubApp
    url: str
    repos: Sequence[str] = (REPO,)
    earshot: dict[str, Any] = field(default_factory=lambda: {"max_retries": 1})
    github: dict[str, Any] = field(default_factory=dict)
    token: str = TOKEN
    memory: InMemory | None = None  # where `quick` runs land, instead of in files

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def published(self) -> Path:
        return self.data / "published.duckdb"

    @property
    def state(self) -> Path:
        return self.data / "dlt" / "earshot_github" / "state.json"

    def configure(self) -> None:
        if self.memory is not None:
            INSTEAD_OF[self.published] = self.memory
        github = {"api_url": self.url, "repos": list(self.repos), **self.github}
        text = "".join(
            f"[{name}]\n" + "".join(f"{key} = {orjson.dumps(value).decode()}\n" for key, value in table.items())
            for name, table in {"earshot": self.earshot, "sources.github": github}.items()
        )
        (self.folder / ".dlt").mkdir(parents=True, exist_ok=True)
        (self.folder / ".dlt" / "config.toml").write_text(text, encoding="utf-8")

    def start(self, *arguments: str, program: Sequence[str] = (str(RUN),), **more: str) -> "subprocess.Popen[str]":
        self.configure()
        return subprocess.Popen(
            [sys.executable, *program, *arguments], cwd=self.folder, env=self._environment(more), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str, program: Sequence[str] = (str(RUN),), **more: str) -> Ended:
        before = len(self.app.log)
        return self.ended(self.start(*arguments, program=program, **more), before)

    def killed_at(self, where: str, *arguments: str, moment: str = "before", call: int = 1, how: int = signal.SIGKILL,
                  **more: str) -> Ended:  # fmt: skip
        """A run that gets a signal at that call of a function; see killed_run.py."""
        return self.run(*arguments, program=(str(KILLED_RUN), where, moment, str(call), str(int(how))), **more)

    def ended(self, process: "subprocess.Popen[str]", calls_before: int = 0) -> Ended:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return self._checked(Ended(process.returncode, out, err, self.app.log[calls_before:]))

    def quick(self, *arguments: str) -> Ended:
        """The same command line in this process."""
        self.configure()
        before, here, mask = len(self.app.log), Path.cwd(), os.umask(0o077)
        heard: list[str] = []
        listener = logging.Handler()
        listener.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
        logging.getLogger("earshot").addHandler(listener)
        try:
            os.chdir(self.folder)
            result = CliRunner().invoke(
                run_module.main, list(arguments), env=self._environment({}), catch_exceptions=False
            )
        finally:
            os.chdir(here)
            os.umask(mask)
            logging.getLogger("earshot").removeHandler(listener)
        err = "\n".join([result.stderr, *heard])
        return self._checked(Ended(result.exit_code, result.stdout, err, self.app.log[before:]))

    def ledger(self, query: str) -> list[tuple[Any, ...]]:
        import sqlite3

        with sqlite3.connect(self.data / "control.sqlite") as connection:
            found = connection.execute(query).fetchall()
        connection.close()
        return found

    def files(self) -> dict[str, tuple[str, int]]:
        """Every file below the data directory with its content's hash and its time."""
        return {
            str(path.relative_to(self.data)): (sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in sorted(self.data.rglob("*"))
            if path.is_file()
        }

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if "TOKEN" not in k and not k.startswith(("SOURCES__", "EARSHOT"))}
        token = {"SOURCES__GITHUB__TOKEN": self.token} if self.token else {}
        return {**kept, **token, "EARSHOT_DATA": str(self.data), **more}

    @property
    def secrets(self) -> list[str]:
        return [self.token] if self.token else []

    def _checked(self, ended: Ended) -> Ended:
        """Whatever happened, no token is anywhere."""
        for secret in self.secrets:
            assert secret not in ended.said
        assert holders(self.data, self.secrets) == ""
        return ended


def holders(folder: Path, secrets: Sequence[str]) -> str:
    """Files that one stands in. Looked for in another process: who closes a file loses all its locks on it."""
    asked = [word for secret in secrets for word in ("-e", secret)]
    if not asked:
        return ""
    return subprocess.run(["grep", "-rlaF", *asked, folder], capture_output=True, text=True, check=False).stdout


@contextmanager
def served(world: GitHubWorld, folder: Path, **options: Any) -> Iterator[Project]:
    """A project beside a server that tells this world. Rows name public addresses, so that all ports say the same."""
    app = GitHubApp(world, public_url="https://api.github.com")
    with serving(app) as url:
        project = Project(folder, app, url, **options)
        yield project
    INSTEAD_OF.pop(project.published, None)


def small_world() -> tuple[GitHubWorld, Repo]:
    """A month in a repository, the same at every call."""
    world = GitHubWorld(NOW)
    repo = world.add_repo(REPO)
    world.fill(repo, pulls=6, issues=3, comments=30, review_comments=12, reviews=5, days=30, burst_second=8)
    return world, repo


def news(world: GitHubWorld, repo: Repo) -> None:
    """An hour of everything: new words, edits (two in one second), a push, a merge, deletions of every kind."""
    world.advance(3600)
    numbers = sorted(issue.number for issue in repo.issues.rows.values())
    pulls = sorted(issue.number for issue in repo.issues.rows.values() if issue.pull)
    issues = [number for number in numbers if number not in pulls]
    comments, remarks = sorted(repo.comments.rows), sorted(repo.review_comments.rows)
    repo.comment(pulls[0], "maya", "One more thing.")
    repo.edit_comment(comments[0], "On second thought.")
    repo.edit_comment(comments[0], "On third thought, in the same second.")
    world.advance(5)
    repo.edit_review_comment(remarks[0], "Rename it, please.")
    repo.resolve(remarks[1], "maya")
    repo.review(pulls[1], "odile", "APPROVED", "Ship it.")
    repo.review_comment(pulls[1], "odile", "src/pages.py", "This line.", 12)
    repo.edit_issue(pulls[2], title="A better title")
    for number in (issues[0], pulls[3]):
        there = repo.issues.rows[next(id_ for id_, issue in repo.issues.rows.items() if issue.number == number)]
        repo.unlabel(number, *there.labels[:1])
        repo.unassign(number, *(user.login for user in there.assignees))
        repo.label(number, "answered")
    world.advance(5)
    repo.push(pulls[3])
    repo.merge(pulls[4], "maya")
    repo.close(issues[0])
    repo.open_pull("maya", "News", "And its text.")
    repo.delete_comment(comments[-1])
    repo.comment(repo.comments.rows[comments[1]].number, "odile", "beside a deletion")
    repo.delete_comment(comments[1])
    repo.delete_review_comment(remarks[1])
    repo.delete_issue(issues[1])
    world.advance(600)


def judge(published: Path, world: GitHubWorld) -> None:
    """What readers see is what a full scan of the world finds now; nothing twice, nothing that was never said."""
    events = told(published)
    keys = [key for key, *_ in events]
    assert len(keys) == len(set(keys)), "an event_key comes twice"
    live = [said for _, said, is_latest, is_deleted in events if is_latest and not is_deleted]
    assert len(live) == len(set(live)), "something is said twice"
    _none("lost", exists(world) - set(live))
    _none("deleted or outdated and counts as live", set(live) - exists(world))
    _none("told that was never said", {said for _, said, _, _ in events} - ever_said(world))
    with opened(published) as db:
        states = set(db.execute("SELECT scope, number, state, head_sha FROM github.issues LEFT JOIN github.pull_requests"
                                " USING (scope, number, state)").fetchall())  # fmt: skip
        judge_children(world, lambda table: list(as_dicts(db.execute(f"FROM github.{table}"))))
    truth = world.truth()
    for fact in [*truth.issues.values(), *truth.pull_requests.values()]:
        state = "merged" if fact.get("merged_at") else fact["state"]
        assert (str(fact["repo_id"]), fact["number"], state, fact.get("head_sha")) in states


def _none(what: str, found: set[tuple[str, str, Any, str]]) -> None:
    few = sorted((kind, id_, body[:40]) for kind, id_, _, body in found)[:5]
    assert not found, f"{len(found)} {what}: {few}"


Told = tuple[str, tuple[str, str, Any, str], bool, bool]


def told(published: Path) -> list[Told]:
    """Every event that readers see: key, what was said (in the judge's terms), is it the latest, is it deleted."""
    with opened(published) as db:
        rows = db.execute(
            "SELECT event_key, kind, scope, id, parent_number, epoch(updated_at), title, body, is_latest, is_deleted"
            " FROM feedback.events"
        ).fetchall()
    return [(row[0], _said(*row[1:8]), row[8], row[9]) for row in rows]


def _said(kind: str, scope: str, id_: str, number: int, at: float, title: str, body: str) -> tuple[str, str, Any, str]:
    if kind in ("issue", "pull_request"):
        return "opener", f"{scope}#{number}", None, f"{title}\n{body}"
    if kind == "review":
        return kind, id_, None, f"{title.upper()}\n{body}"
    return kind, id_, pendulum.from_timestamp(at), body
