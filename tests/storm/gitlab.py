"""Everybody on GitLab: what they do in two projects, and what of it only a sweep, or a full read, can see."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pendulum import DateTime

from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import Discussion, Issuable, Issue, MergeRequest, Note, Position, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from sources.core.config import Secret
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.source import Gitlab
from tests.storm.said import FULL, SWEEP, Fact, Key, Operation, Unseen, Words, nth, words_of

__all__ = ["GitLabMob"]

PROJECTS = ("lantern/console", "lantern/charts")
PEOPLE = ("maya", "kofi", "odile", "benji", "freja", "project_7_bot_x")
READER = "earshot"
MOST = {"merge_requests": 9, "issues": 6, "notes": 9}  # a project; of notes, on each of these
BAD: dict[str, tuple[dict[str, Any], ...]] = {
    "parent": ({"updated_at": 5}, {"title": 7}, {"project_id": 1}, {"user_notes_count": "many"}, {"state": None}),
    "note": ({"updated_at": "yesterday"}, {"body": 7}, {"created_at": "never"}),
}


@dataclass
class GitLabMob:
    now: DateTime
    settings: dict[str, Any] = field(default_factory=dict)
    name: str = "gitlab"
    unseen: Unseen = field(default_factory=Unseen)
    touched: set[str] = field(default_factory=set)
    operations: dict[str, int] = field(default_factory=lambda: {name: weight for name, weight, _ in OPERATIONS})
    _told: int = 0
    _vanished: dict[str, Key] = field(default_factory=dict)  # place → the merge request or issue that is gone from it

    def __post_init__(self) -> None:
        self.world = GitLabWorld(self.now)
        self.projects = [self.world.add_project(path) for path in PROJECTS]
        self.app = GitLabApp(self.world, public_url="http://gitlab.test")

    def source(self) -> Gitlab:
        told = GitlabConfig(
            api_url="http://gitlab.test", token=Secret("demo-token"), projects=list(PROJECTS), **self.settings
        )
        return Gitlab(told)

    def do(self, operation: Operation) -> int:
        what, pick = operation
        project = nth(self.projects, pick // 3)
        before = len(self.world.history)
        DEEDS[what](self, project, pick)
        for said in self.world.history[before:]:
            self.touched.add(_about(said.project_id, *said.parent))
        return len(self.world.history) > before

    # What is true

    def exists(self) -> dict[Key, Fact]:
        truth = self.world.truth(reader=READER)
        found = {}
        for kind, facts in (("merge_request", truth.merge_requests), ("issue", truth.issues)):
            for id_, fact in facts.items():
                about = _about(fact["project_id"], kind, fact["iid"])
                found["gitlab", kind, str(id_)] = Fact(f"{fact['title']}\n{fact['description'] or ''}", about)
                state = _state(fact["state"], fact["updated_at"], fact["labels"], fact.get("sha"))
                found["gitlab", "state", f"{kind} {id_}"] = Fact(state, about)
        for id_, fact in truth.notes.items():
            about = _about(fact["project_id"], *fact["parent"])
            found["gitlab", "note", str(id_)] = Fact(fact["body"], about)
            line = (fact["position"] or {}).get("new_line")
            resolution = f"{fact['is_resolved']} {fact['resolved_by']} {line}"
            found["gitlab", "resolution", str(id_)] = Fact(resolution, about)
        return found

    def news(self) -> list[tuple[Key, Words]]:
        said = self.world.history[self._told :]
        self._told = len(self.world.history)
        return [(("gitlab", v.kind, str(v.id)), v.body if v.kind == "note" else f"{v.title}\n{v.body}") for v in said]

    def event(
        self, kind: str, scope: str, id_: str, number: int, title: str, body: str, parent: str
    ) -> tuple[Key, Fact]:
        """What an event of the warehouse says, in the same words."""
        if kind == "diff_note":
            kind = "note"
        return ("gitlab", kind, id_), Fact(
            body if kind == "note" else f"{title}\n{body}", _about(scope, parent, number)
        )

    def states(self, sql: Callable[[str], list[tuple[Any, ...]]]) -> dict[Key, Words]:
        found = {}
        for kind, sha in (("merge_request", "p.head_sha"), ("issue", "NULL")):
            for id_, state, at, labels, head in sql(
                f"SELECT p.id, p.state, p.updated_at, list(l.name ORDER BY l.name) FILTER (WHERE l.name IS NOT NULL), {sha}"
                f" FROM gitlab.{kind}s AS p LEFT JOIN gitlab.{kind}s__labels AS l USING (parent_key) GROUP BY ALL"
            ):
                found["gitlab", "state", f"{kind} {id_}"] = _state(state, at, labels or [], head)
        for id_, resolved, by, line in sql(
            "SELECT id, is_resolved, resolved_by, position_new_line FROM gitlab.threads__discussions__notes"
        ):
            found["gitlab", "resolution", str(id_)] = f"{resolved} {by} {line}"
        return found

    def is_dead(self, key: Key) -> bool:
        return key[1] != "resolution"

    def is_doubtful(self, key: Key, about: str, touched: set[str]) -> bool:
        """It hangs on what has vanished and is only missing yet; also what was deleted before, while nobody could see."""
        return about in self._vanished and self._vanished[about] in self.unseen

    # What may be shut for a while

    def paths(self, pick: int) -> tuple[list[str], list[Key]]:
        """A merge request or issue that answers 404 though it is listed, or a whole project."""
        project = nth(self.projects, pick)
        root = f"/api/v4/projects/{project.id}"
        parents = _parents(project)
        if pick % 4 == 0 or not parents:
            about, prefixes = f"{project.id}", [root, f"/api/v4/projects/{project.path_with_namespace}"]
            return prefixes, [k for k, f in self.exists().items() if f.about.partition(" ")[0] == about]
        parent = nth(parents, pick // 5)
        about, kind = _place(parent), "merge_requests" if isinstance(parent, MergeRequest) else "issues"
        return [f"{root}/{kind}/{parent.iid}"], [k for k, f in self.exists().items() if f.about == about]

    def spoil(self, key: Key, how: int, path: str, data: Any) -> bool:
        """Makes the record unreadable wherever an answer shows it."""
        _, kind, id_ = key
        found = [item for item in (data if isinstance(data, list) else [data]) if isinstance(item, dict)]
        if kind == "note":
            notes = [note for item in found for note in item.get("notes", ())]
            hit = [note for note in notes if note["id"] == int(id_)]
        else:
            hit = [item for item in found if f"/{kind}s" in path and item.get("id") == int(id_) and "iid" in item]
        for item in hit:
            item |= nth(BAD["note" if kind == "note" else "parent"], how)
        return bool(hit)

    # What they do

    def open_mr(self, project: Project, pick: int) -> None:
        if len(project.merge_requests) >= MOST["merge_requests"]:
            return self.delete_parent(project, pick) if pick % 3 == 0 else self.title(project, pick)
        closing = f"Closes #{1 + pick % 9}" if pick % 4 == 0 else words_of(pick)
        labels = (f"l{pick % 3}",) if pick % 2 else ()
        project.open_merge_request(nth(PEOPLE, pick), f"Change {pick % 40}", closing, labels=labels)

    def open_issue(self, project: Project, pick: int) -> None:
        if len(project.issues) >= MOST["issues"]:
            return self.delete_parent(project, pick) if pick % 3 == 0 else self.title(project, pick)
        project.open_issue(nth(PEOPLE, pick), f"Issue {pick % 40}", words_of(pick))

    def comment(self, project: Project, pick: int) -> None:
        if parents := _parents(project):
            parent = nth(parents, pick // 11)
            if not self._is_full(parent, pick):
                project.comment(parent, nth(PEOPLE, pick), words_of(pick), internal=pick % 29 == 0)

    def thread(self, project: Project, pick: int) -> None:
        if mrs := list(project.merge_requests.values()):
            mr = nth(mrs, pick // 11)
            if not self._is_full(mr, pick):
                place = Position("a.ts", "a.ts", mr.refs, Spot(1, 2 + pick % 9, "new")) if pick % 3 else None
                project.start_thread(mr, nth(PEOPLE, pick), words_of(pick), place)

    def reply(self, project: Project, pick: int) -> None:
        if notes := _notes(project):
            note = nth(notes, pick // 11)
            if not self._is_full(note.parent, pick):
                project.reply(note, nth(PEOPLE, pick), words_of(pick))

    def edit(self, project: Project, pick: int) -> None:
        if notes := _notes(project):
            project.edit_note(nth(notes, pick // 11), words_of(pick))

    def delete(self, project: Project, pick: int) -> None:
        if notes := _notes(project):
            self._delete(nth(notes, pick // 11))

    def delete_parent(self, project: Project, pick: int) -> None:
        """It is on no list any more, and takes its notes with it."""
        if parents := _parents(project):
            parent = nth(parents, pick // 11)
            self._vanishes(parent)
            project.delete(parent)

    def hide(self, project: Project, pick: int) -> None:
        """An issue becomes confidential, or public again: then it is listed, with a new time."""
        if not (issues := list(project.issues.values())):
            return
        issue = nth(issues, pick // 11)
        issue.is_confidential = not issue.is_confidential
        self._vanishes(issue) if issue.is_confidential else self._returns(issue)
        project.system_note(issue, nth(PEOPLE, pick), "changed who may see the issue", touches=False)
        project.edit(issue, "maya", title=f"{issue.title.partition(' (')[0]} ({pick % 7})")

    def resolve(self, project: Project, pick: int) -> None:
        """Nothing moves. A sweep reads the threads of what is open; on what is closed, only a full read sees it."""
        if notes := [note for note in _notes(project) if note.is_resolvable]:
            note = nth(notes, pick // 11)
            project.unresolve(note) if note.resolved_at else project.resolve(note, "maya")
            self._resolved(note.discussion)

    def label(self, project: Project, pick: int) -> None:
        if parents := _parents(project):
            there, name = nth(parents, pick // 11), f"l{pick % 3}"
            has = any(label.name == name for label in there.labels)
            project.label(there, "maya", remove=(name,)) if has else project.label(there, "maya", add=(name,))

    def rename_label(self, project: Project, pick: int) -> None:
        """Everywhere, and no time moves."""
        if names := sorted(project.labels):
            name, other = nth(names, pick // 11), f"l{pick % 1_000}"
            if pick % 3 and other in names:  # refused: it is taken
                return
            for parent in _parents(project):
                if any(label.name == name for label in parent.labels):
                    self.unseen.add(_state_key(parent))
            project.rename_label(name, other) if pick % 3 else project.delete_label(name)

    def title(self, project: Project, pick: int) -> None:
        if parents := _parents(project):
            parent = nth(parents, pick // 11)
            text = words_of(pick) if pick % 3 == 0 else None
            project.edit(parent, "maya", title=f"Title {pick % 9}", description=text)

    def push(self, project: Project, pick: int) -> None:
        """Its sha tells, and no time."""
        if mrs := list(project.merge_requests.values()):
            mr = nth(mrs, pick // 11)
            project.push(mr, "benji", said="added 1 commit" if pick % 2 else None)
            self.unseen.add(_state_key(mr))
            if pick % 2:  # what the system says about it touches nothing
                self._note(mr.notes[-1])

    def close(self, project: Project, pick: int) -> None:
        if parents := [parent for parent in _parents(project) if parent.state == "opened"]:
            parent = nth(parents, pick // 11)
            is_mr = isinstance(parent, MergeRequest)
            project.merge(parent, "maya") if is_mr and pick % 5 == 0 else project.close(parent, "maya")  # type: ignore[arg-type]

    def reopen(self, project: Project, pick: int) -> None:
        if parents := [parent for parent in _parents(project) if parent.state == "closed"]:
            project.reopen(nth(parents, pick // 11), "kofi")

    def tick(self, project: Project, pick: int) -> None:
        self.world.advance(seconds=(1 + pick % 25_000) / 1000)

    def long_tick(self, project: Project, pick: int) -> None:
        self.world.advance(seconds=61 + pick % 500)

    def _is_full(self, parent: Issuable, pick: int) -> bool:
        notes = [note for note in parent.notes if not note.is_system]
        if len(notes) < MOST["notes"]:
            return False
        self._delete(nth(notes, pick // 13))
        return True

    def _delete(self, note: Note) -> None:
        """The count of notes drops, nothing else moves."""
        self._note(note)
        self._project(note.parent).delete_note(note)

    def _resolved(self, thread: Discussion) -> None:
        for note in thread.notes:
            self.unseen.add(("gitlab", "resolution", str(note.id)), SWEEP if thread.parent.state == "opened" else FULL)

    def _vanishes(self, parent: Issuable) -> None:
        kind = "merge_request" if isinstance(parent, MergeRequest) else "issue"
        self._vanished[_place(parent)] = ("gitlab", kind, str(parent.id))
        self.unseen.add(self._vanished[_place(parent)])
        for note in parent.notes:
            self._note(note)

    def _returns(self, parent: Issuable) -> None:
        for key in [key for key, fact in self.exists().items() if fact.about == _place(parent)]:
            self.unseen.takes.pop(key, None)

    def _note(self, note: Note) -> None:
        self.unseen.add(("gitlab", "note", str(note.id)))
        self.unseen.add(("gitlab", "resolution", str(note.id)))

    def _project(self, parent: Issuable) -> Project:
        return self.world.projects[parent.project_id]


def _parents(project: Project) -> list[MergeRequest | Issue]:
    return [*project.merge_requests.values(), *project.issues.values()]


def _notes(project: Project) -> list[Note]:
    return [note for parent in _parents(project) for note in parent.notes if not note.is_system]


def _about(project: object, kind: str, iid: int) -> str:
    return f"{project} {'!' if kind == 'merge_request' else '#'}{iid}"


def _place(parent: Issuable) -> str:
    return _about(parent.project_id, "merge_request" if isinstance(parent, MergeRequest) else "issue", parent.iid)


def _state_key(parent: Issuable) -> Key:
    return "gitlab", "state", f"{'merge_request' if isinstance(parent, MergeRequest) else 'issue'} {parent.id}"


def _state(state: str, at: DateTime, labels: list[str], sha: str | None) -> Words:
    return f"{state} {at.timestamp():.3f} {sorted(labels)} {(sha or '')[:8]}"


M = GitLabMob
OPERATIONS: list[tuple[str, int, Callable[[GitLabMob, Project, int], None]]] = [
    ("open_mr", 4, M.open_mr), ("open_issue", 3, M.open_issue), ("comment", 14, M.comment), ("thread", 10, M.thread),
    ("reply", 16, M.reply), ("edit", 16, M.edit), ("delete", 8, M.delete), ("delete_parent", 1, M.delete_parent),
    ("hide", 1, M.hide), ("resolve", 6, M.resolve), ("label", 4, M.label), ("rename_label", 1, M.rename_label),
    ("title", 4, M.title), ("push", 3, M.push), ("close", 3, M.close), ("reopen", 2, M.reopen), ("tick", 22, M.tick),
    ("long_tick", 4, M.long_tick),
]  # fmt: skip
DEEDS = {name: deed for name, _, deed in OPERATIONS}
