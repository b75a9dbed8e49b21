"""Answers on GitLab: notes, replies in a discussion, resolving it; said once whatever is lost."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Bent, Request
from pipelines.models.slash_commands import said_key, tokens
from pipelines.replies.delivery import Sent, deliver
from pipelines.replies.outbox import Refused, Reply
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.postgres.destination import Postgres
from sources.core.config import Secret
from sources.core.http.client import connect
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.source import Gitlab
from tests.elsewhere import place
from tests.servers import Cluster
from tests.story import NOW
from tests.synced import GitLabDesk, gitlab_desk

TIMEOUT = 0.3


@dataclass
class Writable:
    """A GitLab in this process that may be written to."""

    source: Any
    app: Any

    def connect_to_write(self) -> AbstractAsyncContextManager[Any]:
        headers, transport = (
            self.source.answers.write_headers,
            httpx.ASGITransport(self.app, raise_app_exceptions=False),
        )
        return connect("http://gitlab.test", headers, transport=transport, max_retries=0, timeout=TIMEOUT)


@dataclass
class Table:
    desk: GitLabDesk
    project: Project
    thread: str

    def say(self, body: str, thread: str | None = None, kind: str = "merge_request", **more: Any) -> Sent:
        return asyncio.run(self.delivered(self.desk.home, body, thread, kind, **more))

    async def delivered(
        self, home: DataDir, body: str, thread: str | None = None, kind: str = "merge_request", **more: Any
    ) -> Sent:
        config = GitlabConfig(
            api_url="http://gitlab.test", write_token=Secret("bot-token"), projects=["lantern/console"]
        )
        letter = Reply(
            more.pop("token", "t"), "gitlab", str(self.project.id), "lantern/console",
            f"gitlab:{self.project.id}:{'!' if kind == 'merge_request' else '#'}1", kind, 1, body, thread, **more,
        )  # fmt: skip
        return await deliver(home, Writable(Gitlab(config), self.desk.app), letter, timeout=TIMEOUT)

    @property
    def notes(self) -> list[Any]:
        return self.project.merge_requests[1].notes


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    world = GitLabWorld(NOW)
    project = world.add_project("lantern/console")
    mr = project.open_merge_request("maya", "Faster start", "Twice.")
    issue = project.open_issue("liu", "Slow", "")
    note = project.start_thread(mr, "noor", "Why twice?\n\n/earshot explain")
    project.comment(mr, "noor", "Looks good")
    project.comment(issue, "liu", "Any news?")
    world.advance(300)
    desk = gitlab_desk(tmp_path, world)
    desk.app.access.tokens["bot-token"] = "earshot-bot"
    yield Table(desk, project, note.discussion.id)


def test_a_note_and_a_reply_in_a_discussion(table: Table) -> None:
    """One POST each, where they belong; an issue's conversation too."""
    assert table.say("Good.", token="a").is_new
    assert table.say("Once is not enough.", table.thread, token="b").is_new
    assert table.say("Soon.", kind="issue", token="c").is_new
    assert [call.method for call in table.desk.app.log] == ["POST"] * 3
    mr, issue = table.project.merge_requests[1], table.project.issues[1]
    assert [tokens(note.body) for note in mr.discussions[table.thread].notes] == [[], ["b"]]
    assert tokens(issue.notes[-1].body) == ["c"] and table.notes[-1].author.username == "earshot-bot"


def test_a_thread_is_resolved_with_its_answer(table: Table) -> None:
    """Two requests; once both are done, none. Said before but not resolved: only that is made up for."""
    assert not table.say("Done.", table.thread).row["resolved_at"]
    assert table.say("Done.", table.thread, resolves=True).row["resolved_at"]
    assert table.project.merge_requests[1].discussions[table.thread].is_resolved
    assert [call.method for call in table.desk.app.log] == ["POST", "PUT"]
    assert not table.say("Done.", table.thread, resolves=True).is_new and len(table.desk.app.log) == 2


def test_resolving_fails_after_the_words_were_said(table: Table) -> None:
    """Said so, and made up for by the same command; the words are not said again."""

    def refuse(request: Request) -> Bent | None:
        return Bent(status=500) if request.method == "PUT" else None

    table.desk.app.switches.fault = refuse
    with pytest.raises(Refused, match="said, but the thread is not resolved"):
        table.say("Done.", table.thread, resolves=True)
    table.desk.app.switches.fault = None
    assert table.say("Done.", table.thread, resolves=True).row["resolved_at"]
    assert len([note for note in table.notes if tokens(note.body)]) == 1


@pytest.mark.parametrize("how", [Bent(status=500), Bent(status=502), Bent(drops=True), Bent(keep=0.5), Bent(delay=1.0)])
@pytest.mark.parametrize("in_thread", [True, False])
def test_the_answer_is_lost(table: Table, how: Bent, in_thread: bool) -> None:
    """Notes know no `since`: the newest are looked through. One note in the end."""
    lost = list[str]()

    def lose(request: Request) -> Bent | None:
        if request.method == "POST" and not lost:
            lost.append(request.path)
            return how
        return None

    table.desk.app.switches.fault = lose
    table.say("Good.", table.thread if in_thread else None)
    said = [note for note in table.notes if tokens(note.body)]
    assert len(said) == 1 and len(table.desk.app.log) <= 3


def test_what_gitlab_would_carry_out_is_not_sent(table: Table) -> None:
    """A line like `/close` is an order with our rights, also in words that we only repeat."""
    with pytest.raises(Refused, match="/close"):
        table.say("You said:\n/close")
    with pytest.raises(Refused, match="/Merge"):
        table.say("/Merge")
    with pytest.raises(Refused, match="--resolve"):
        table.say("Fine.", resolves=True)
    assert table.desk.app.log == []


def test_an_answer_and_what_it_answers_in_the_models(table: Table) -> None:
    """Read back: observed, our own, the thread answered; resolved as GitLab says."""
    assert table.desk.run().exit_code == 0
    asked = table.desk.one("SELECT event_key FROM feedback.commands WHERE name = 'explain'")
    assert table.desk.one("SELECT status FROM feedback.commands") == "seen"
    table.say("It warms the cache.", table.thread, event_key=asked, said_key=said_key(asked), resolves=True)
    table.desk.world.advance(300)
    assert table.desk.run().exit_code == 0
    own = table.desk.one("SELECT event_key FROM feedback.events WHERE is_own")
    threads = f"SELECT answered_by, is_resolved FROM feedback.threads WHERE thread_id LIKE '%{table.thread}'"
    assert table.desk.sql(threads) == [(own, True)]
    assert table.desk.sql("SELECT status, answered_by FROM feedback.commands") == [("answered", own)]
    assert table.desk.one("SELECT status FROM ops.answers") == "observed"
    assert table.desk.one("SELECT count(*) FROM feedback.events WHERE is_own AND is_actionable") == 0


def test_a_note_that_becomes_a_thread_says_nothing_new(table: Table) -> None:
    """Somebody replies to it, and GitLab moves its time: its command is the same one, and answered."""
    table.project.comment(table.project.merge_requests[1], "noor", "/earshot deploy")
    table.desk.world.advance(300)
    table.desk.run()
    ours = "SELECT event_key, command_key, status FROM feedback.commands WHERE name = 'deploy'"
    ((asked, key, _),) = table.desk.sql(ours)
    table.say("Deployed.", event_key=asked, said_key=said_key(asked))
    note = next(each for each in table.notes if "deploy" in each.body)
    table.project.reply(note, "liu", "Thanks")
    table.desk.world.advance(300)
    table.desk.run()
    ((later, same, status),) = table.desk.sql(ours)
    assert later != asked and (same, status) == (key, "answered")
    thread = note.discussion.id
    assert not table.say("Deployed.", thread, event_key=later, said_key=said_key(later)).is_new


def test_two_machines_with_one_outbox(table: Table, server: Cluster, tmp_path: Path) -> None:
    """Each its own directory, one server: at the same moment the same token is said once, and both know of it."""
    first = place("postgres", server, tmp_path / "one")
    second = DataDir(tmp_path / "two", Postgres(first.destination.address))  # type: ignore[attr-defined]
    table.desk.app.switches.latency = 0.1

    async def both() -> list[Sent]:
        return await asyncio.gather(*(table.delivered(home, "Good.") for home in (first, second)))

    found = asyncio.run(both())
    assert sorted(sent.is_new for sent in found) == [False, True]
    assert len({sent.row["remote_id"] for sent in found}) == 1
    assert len([note for note in table.notes if tokens(note.body)]) == 1
