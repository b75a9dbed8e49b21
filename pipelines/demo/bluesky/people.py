"""Who is on a demo Bluesky: accounts, their handles and their comings and goings; and its clock."""

from collections.abc import Sequence

from pendulum import DateTime

from pipelines.demo.bluesky.names import INVALID_HANDLE, did_of, is_handle
from pipelines.demo.bluesky.state import Account, Status, Version

__all__ = ["HOSTS", "People", "Who"]

HOSTS = ("amanita.us-east.host.bsky.network", "morel.us-east.host.bsky.network")
Who = Account | str


class People:
    def __init__(self, now: DateTime) -> None:
        self.now = now
        self.accounts: dict[str, Account] = {}  # by DID
        self.handles: dict[str, Account] = {}  # who holds a handle now
        self.hosts: set[str] = set()  # where records are kept
        self.history: list[Version] = []
        self.revision = 0  # grows with every change that an answer could show

    @property
    def now(self) -> DateTime:
        return self._now

    @now.setter
    def now(self, value: DateTime) -> None:
        self._now = value.in_timezone("UTC")

    def advance(self, seconds: float = 0) -> None:
        self.now = self._now.add(seconds=seconds)

    def account(
        self, handle: str, name: str = "", about: str = "", pds: str = "", labels: Sequence[str] = ()
    ) -> Account:
        """Who holds the handle; a new account where nobody does. `labels`: what they say about themselves."""
        handle = handle.lower()
        if handle not in self.handles:
            number = len(self.accounts)
            new = Account(did_of(number), handle, name, about, pds or HOSTS[number % 2], self.now, set(labels))
            self.accounts[new.did] = self.handles[handle] = new
            self.hosts.add(new.pds)
            self._account_changed(new)
        return self.handles[handle]

    def found(self, actor: Who) -> Account | None:
        """By DID or by the handle of now."""
        if isinstance(actor, Account):
            return actor
        return self.accounts.get(actor) if actor.startswith("did:") else self.handles.get(actor.lower())

    def rename(self, who: Who, handle: str) -> None:
        """The old handle is free. A handle that is somebody's moves here, and they are left with none that is valid."""
        account, handle = self._known(who), handle.lower()
        assert is_handle(handle)
        if (loser := self.handles.get(handle)) and loser is not account:
            loser.handle = INVALID_HANDLE
            self._account_changed(loser)
        if self.handles.get(account.handle) is account:
            del self.handles[account.handle]
        account.handle = handle
        self.handles[handle] = account
        self._account_changed(account)

    def deactivate(self, who: Who) -> None:
        self._set(who, "deactivated")

    def reactivate(self, who: Who) -> None:
        """Back from any absence but deletion, with all that was there before."""
        self._set(who, "active")

    def suspend(self, who: Who) -> None:
        self._set(who, "suspended")

    def take_down(self, who: Who) -> None:
        self._set(who, "takendown")

    def hide(self, who: Who) -> None:
        """The AppView has lost sight of it for a while."""
        self._set(who, "hidden")

    def delete_account(self, who: Who) -> None:
        """For good; the handle is free for somebody else."""
        account = self._known(who)
        self._set(account, "deleted")
        if self.handles.get(account.handle) is account:
            del self.handles[account.handle]

    def label_account(self, who: Who, *labels: str) -> None:
        account = self._known(who)
        account.labels = set(labels)
        self._account_changed(account)

    def block(self, who: Who, whom: Who) -> None:
        """Neither is shown what the other said where one answers the other."""
        self._known(who).blocks.add(self._known(whom).did)
        self.revision += 1

    def _known(self, who: Who) -> Account:
        account = self.found(who)
        assert account, f"nobody is called {who}"
        return account

    def _did_named(self, handle: str) -> str | None:
        account = self.handles.get(handle.lower())
        return account.did if account else None

    def _set(self, who: Who, status: Status) -> None:
        account = self._known(who)
        assert account.status != "deleted", "nobody comes back from that"
        account.status = status
        self._account_changed(account)

    def _account_changed(self, account: Account) -> None:
        self.history.append(Version("account", account.did, "", f"{account.handle} {account.status}", self.now))
        self.revision += 1
