"""A Postgres server that several runners share: its address, and who may do what at the same time.

Locks are the server's own (advisory), held by one connection a run: they go when the process or the machine goes, and
no clock is asked. What breaks without them:

- two runners of one shard read the same lists, and the slower one puts an older cursor over the newer one;
- a runner of another N owns some of the same scopes at the same time, with the same result;
- a build that reads while a package lands takes the load as seen, and its later tables never reach the models.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import pendulum

from pipelines.sync.shards import Shard
from pipelines.warehouse.errors import LandingError, Locked, Unavailable
from sources.core.config import ConfigError, Secret

__all__ = ["Address", "Server"]

# classes of advisory locks: who runs, what may not overlap, who is at work on a name
RUNNERS, STEPS, NAMES = 0x65617273, 0x65617274, 0x65617276
TURNSTILE, ROWS = 0, 1  # of STEPS
MOST_SHARDS = 1000
QUERY = ("host", "sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout")
# Of a machine that is gone without a word the server hears nothing: by its own measure it waits two hours for it, and
# all others for its locks. And who waits its turn, or reads for an hour beside its lock, is not idle.
ALIVE = """
SELECT set_config(name, value, false) FROM pg_settings INNER JOIN (VALUES
    ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')
) AS ours (name, value) USING (name)
"""
PATIENT = """
SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_session_timeout')
"""
HELD = """
SELECT l.objid, coalesce(a.application_name, 'another runner'), a.backend_start
FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.classid = %s
AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@dataclass(frozen=True)
class Address:
    """postgresql://user:password@host:port/database. Shown without its password, always."""

    host: str
    port: int
    user: str
    database: str
    password: Secret = Secret("")
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, where: str, url: str) -> "Address":
        try:
            parts = urlsplit(url)
            port = parts.port or 5432
        except ValueError:
            raise ConfigError(f"{where}: not an address like postgresql://user:password@host:5432/database") from None
        query = dict(parse_qsl(parts.query))
        host, database = query.pop("host", "") or parts.hostname or "", unquote(parts.path.strip("/"))
        if parts.scheme not in ("postgresql", "postgres") or not (host and database and parts.username):
            raise ConfigError(f"{where}: not an address like postgresql://user:password@host:5432/database")
        for name in query:
            if name not in QUERY:
                raise ConfigError(f"{where}: {name!r} cannot be set there; {', '.join(QUERY)} can")
        password = unquote(parts.password or "") or os.environ.get("PGPASSWORD", "")
        return cls(host, port, unquote(parts.username), database, Secret(password), tuple(query.items()))

    def __str__(self) -> str:
        return f"postgresql://{self.user}@{self.host}:{self.port}/{self.database}"

    @property
    def url(self) -> Secret:
        """With the password: for drivers alone. A socket's directory goes where drivers look for it."""
        host = {} if not self.host.startswith("/") else {"host": self.host}
        query = urlencode({**host, **dict(self.query)})
        who = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        place = f"{'' if host else self.host}:{self.port}"
        return Secret(f"postgresql://{who}@{place}/{quote(self.database, safe='')}{f'?{query}' if query else ''}")

    @property
    def more(self) -> str:
        """What else was set, e.g. how the connection is secured, as libpq reads it."""
        escaped = ((name, value.replace("\\", "\\\\").replace("'", "\\'")) for name, value in self.query)
        return " ".join(f"{name}='{value}'" for name, value in escaped)

    def safe(self, text: str) -> str:
        """Somebody else's error message, without the password in any spelling."""
        for spelt in {str(self.password), quote(self.password, safe=""), quote(self.password)} - {""}:
            text = text.replace(spelt, "***")
        return text

    def connect(self, application: str = "earshot") -> Any:
        import psycopg2

        connection = psycopg2.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=str(self.password) or None,
            dbname=self.database,
            application_name=application[:63],
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
            **{"connect_timeout": "15", **dict(self.query)},
        )
        with connection.cursor() as cursor:
            cursor.execute(ALIVE)
        connection.commit()
        return connection


@dataclass
class Server:
    """The locks of one run. `guard` is its connection; whoever lost it has lost them, and stops."""

    address: Address
    guard: Any = field(default=None, repr=False)

    @contextmanager
    def single_flight(self, shard: Shard) -> Iterator[None]:
        """This shard is ours. Refused while it is somebody else's, and while runners of another N are at work."""
        import psycopg2

        try:
            guard = self.address.connect(f"earshot {shard} on {socket.gethostname()}, process {os.getpid()}")
        except psycopg2.Error as error:
            raise LandingError(f"{self.address}: {_first(error)}") from None
        guard.autocommit = True
        try:
            with guard.cursor() as cursor:
                cursor.execute(PATIENT)
                cursor.execute("SELECT pg_advisory_lock(%s, %s)", (STEPS, TURNSTILE))  # one at the door at a time
                self._refuse_others(cursor, shard)
                cursor.execute("SELECT pg_advisory_lock(%s, %s)", (RUNNERS, shard.of * MOST_SHARDS + shard.number))
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", (STEPS, TURNSTILE))
            self.guard = guard
            yield
        finally:
            self.guard = None
            guard.close()

    @contextmanager
    def step(self, *, alone: bool) -> Iterator[None]:
        """Landings beside each other, or a build (or a landing that must be) alone. Waits its turn."""
        import psycopg2

        if self.guard is None:  # a reader that writes nothing, or a tool that holds the whole by itself
            yield
            return
        shared = "" if alone else "_shared"
        try:
            with self.guard.cursor() as cursor:
                cursor.execute(f"SELECT pg_advisory_lock{shared}(%s, %s)", (STEPS, ROWS))
        except psycopg2.Error as error:
            raise self._gone(error) from None
        try:
            yield
        finally:
            try:
                with self.guard.cursor() as cursor:
                    cursor.execute(f"SELECT pg_advisory_unlock{shared}(%s, %s)", (STEPS, ROWS))
            except psycopg2.Error:
                self.guard.close()  # the lock went with the connection

    def confirm(self) -> None:
        """The lock was ours until now: what was read under it may be committed."""
        import psycopg2

        if self.guard is not None:
            try:
                with self.guard.cursor() as cursor:
                    cursor.execute("SELECT 1")
            except psycopg2.Error as error:
                raise self._gone(error) from None

    @contextmanager
    def claim(self, name: str) -> Iterator[bool]:
        """Goes with its connection, like the rest."""
        import psycopg2

        key = int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), signed=True)
        try:
            connection = self.address.connect("earshot reply")
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", (NAMES, key))
                is_ours = bool(cursor.fetchone()[0])
        except psycopg2.Error as error:
            raise Unavailable(f"{self.address}: {self.address.safe(_first(error))}") from None
        try:
            yield is_ours
        finally:
            connection.close()

    def _gone(self, error: Exception) -> LandingError:
        return LandingError(f"the connection to {self.address} is gone, and our place with it: {_first(error)}")

    def _refuse_others(self, cursor: Any, shard: Shard) -> None:
        cursor.execute(HELD, (RUNNERS,))
        for key, who, since in cursor.fetchall():
            of, number = divmod(key, MOST_SHARDS)
            if of != shard.of or number == shard.number:
                ago = f", for {pendulum.instance(since).diff_for_humans(absolute=True)}" if since else ""
                why = "" if of == shard.of else f"; while shards of {of} are at work there can be none of {shard.of}"
                raise Locked(f"another run holds shard {number}/{of} of {self.address} ({who}{ago}){why}")


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
