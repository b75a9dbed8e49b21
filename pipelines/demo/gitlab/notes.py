"""What people say under merge requests and issues, and what of it moves `updated_at`: the point of this world.

A note saved touches its parent, at most once a minute. A note deleted touches nothing, a thread resolved neither.
"""

import hashlib

from pendulum import DateTime

from pipelines.demo.gitlab.around import Around
from pipelines.demo.gitlab.state import Discussion, Issuable, MergeRequest, Note, Position, User, Version, kind_of

TOUCH_INTERVAL = 60  # seconds that must have passed since `updated_at`, whatever moved it


class Conversation:
    """What of a project is speech; see `gitlab_outcomes` and `gitlab_project` for the rest."""

    def __init__(self, world: Around, project_id: int) -> None:
        self.world = world
        self.id = project_id
        self._orders: dict[str, list[Issuable]] = {}

    def comment(self, parent: Issuable, author: str, body: str, internal: bool = False) -> Note:
        """An individual note: nobody can resolve it, and it becomes a thread when somebody replies."""
        return self._said(parent, None, author, body, None, is_internal=internal)

    def start_thread(
        self, parent: Issuable, author: str, body: str, position: Position | None = None, internal: bool = False
    ) -> Note:
        if position and not isinstance(parent, MergeRequest):
            raise ValueError(f"#{parent.iid} is an issue: it has no diff")
        if position and internal:
            raise ValueError("GitLab lets no note on a diff be internal")
        kind = "DiffNote" if position else "DiscussionNote"
        return self._said(parent, None, author, body, kind, position=position, is_internal=internal)

    def reply(self, to: Note, author: str, body: str) -> Note:
        """Stands where its thread stands, is as internal as its thread, and is resolved if its thread was."""
        first, was_resolved = to.discussion.notes[0], to.discussion.is_resolved
        if first.is_system:
            raise ValueError("nobody can reply to the system")
        if first.type is None:
            first.type, first.updated_at = "DiscussionNote", self.world.now
            self._say(first)
        return self._said(
            to.parent,
            to.discussion,
            author,
            body,
            first.type,
            position=first.position,
            is_internal=first.is_internal,
            is_resolved=was_resolved,
        )

    def system_note(self, parent: Issuable, author: str, body: str, touches: bool = True) -> Note:
        return self._said(parent, None, author, body, None, is_system=True, touches=touches)

    def edit_note(self, note: Note, body: str) -> None:
        note.body, note.updated_at = body, self.world.now
        self._say(note)
        self._touch(note.parent)

    def delete_note(self, note: Note) -> None:
        """With its last note a discussion is gone. `updated_at` stays, only the count drops."""
        parent, thread = note.parent, note.discussion
        thread.notes.remove(note)
        if not thread.notes:
            del parent.discussions[thread.id]
        parent.user_notes_count -= not note.is_system
        parent.revision += 1
        self._say(note, is_deleted=True)

    # Resolving

    def resolve(self, note: Note, by: str) -> None:
        """The whole thread of this note. What moves depends on `world.resolving`."""
        if not note.is_resolvable:
            raise ValueError(f"note {note.id} cannot be resolved")
        self._resolved(note.discussion, self.world.user(by), self.world.now)
        if self.world.resolving == "newer" and self._is_all_resolved(note.parent):
            self.system_note(note.parent, by, "resolved all threads")

    def unresolve(self, note: Note) -> None:
        self._resolved(note.discussion, None, None)

    def _resolved(self, thread: Discussion, by: User | None, at: DateTime | None) -> None:
        for note in thread.notes:
            if note.is_resolvable and (note.resolved_at is None) is not (at is None):
                note.resolved_by, note.resolved_at = by, at
                if self.world.resolving == "newer":
                    note.updated_at = self.world.now
                self._say(note)
        thread.parent.revision += 1

    def _is_all_resolved(self, parent: Issuable) -> bool:
        threads = [thread for thread in parent.discussions.values() if any(note.is_resolvable for note in thread.notes)]
        return all(thread.is_resolved for thread in threads)

    # What they share

    def _said(
        self,
        parent: Issuable,
        thread: Discussion | None,
        author: str,
        body: str,
        kind: str | None,
        position: Position | None = None,
        is_system: bool = False,
        is_internal: bool = False,
        is_resolved: bool = False,
        touches: bool = True,
    ) -> Note:
        note_id, now = self.world.next_id("note"), self.world.now
        if thread is None:
            thread = Discussion(hashlib.sha1(f"thread {note_id}".encode()).hexdigest(), parent)
            parent.discussions[thread.id] = thread
        user = self.world.user(author)
        note = Note(note_id, thread, user, body, now, now, kind, is_system, is_internal, position)
        if is_resolved:
            note.resolved_by, note.resolved_at = user, now
        thread.notes.append(note)
        parent.user_notes_count += not is_system
        self._say(note)
        if touches:
            self._touch(parent)
        parent.revision += 1
        return note

    def _touch(self, parent: Issuable) -> None:
        parent.revision += 1
        if (self.world.now - parent.updated_at).total_seconds() > TOUCH_INTERVAL:
            self._moved(parent)

    def _moved(self, parent: Issuable) -> None:
        """Changes that are no notes always move it."""
        parent.updated_at = self.world.now
        self._changed(parent)

    def _changed(self, parent: Issuable) -> None:
        """Something that an answer shows is different, though `updated_at` need not be."""
        parent.revision += 1
        self._orders.clear()
        self._say(parent)

    def _say(self, row: Issuable | Note, is_deleted: bool = False) -> None:
        is_note = isinstance(row, Note)
        parent = row.parent if isinstance(row, Note) else row
        self.world.history.append(
            Version(
                kind="note" if is_note else kind_of(parent),
                project_id=self.id,
                id=row.id,
                parent=(kind_of(parent), parent.iid),
                discussion_id=row.discussion.id if isinstance(row, Note) else None,
                updated_at=row.updated_at,
                title=None if isinstance(row, Note) else row.title,
                body=row.body if isinstance(row, Note) else row.description,
                state=None if isinstance(row, Note) else row.state,
                is_resolved=row.resolved_at is not None if isinstance(row, Note) else None,
                at=self.world.now,
                is_deleted=is_deleted,
            )
        )
