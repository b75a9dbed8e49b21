"""A Postgres server of the tests' own: made in a temporary directory, on the loopback interface alone, gone with them.

Its language is American English by ICU, so that text sorts as people like it, unless we ask for bytes; its passwords
are checked. Postgres refuses to be run by root: then it is run by the user that Debian's package made for it.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote

import pytest

from pipelines.warehouse.postgres.server import Address

PASSWORD = "s3cret/&wörd"  # nothing that an address could hold as it is
MISSING = "Debian's package `postgresql` is not installed"
SETTINGS = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=127.0.0.1", "max_connections=100",
)  # fmt: skip


def programs() -> Path | None:
    """Where initdb and postgres are; they are in nobody's path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@dataclass
class Cluster:
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    made: int = field(default=0)

    def start(self, largest_file: int | None = None) -> None:
        """With a limit, it finds its disk full as soon as a file would grow beyond."""
        bin_ = programs()
        assert bin_ is not None

        options = [part for setting in SETTINGS for part in ("-c", setting)]
        limited = ["prlimit", f"--fsize={largest_file}:"] if largest_file else []
        self.process = subprocess.Popen(
            [*limited, str(bin_ / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port), "-k", str(self.folder), *options],
            stdout=subprocess.DEVNULL, stderr=(self.folder / "log").open("ab"), cwd=self.folder, **_as_somebody(),
        )  # fmt: skip
        for _ in range(200):
            try:
                self.address("postgres").connect().close()
                return
            except Exception:
                time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def kill(self) -> None:
        """As a power cut would: every connection is gone at once."""
        assert self.process is not None
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in (pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self.process.wait()
        self.process = None
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)  # nothing of it is to be kept
            self.process.wait(20)

    def address(self, database: str, password: str = PASSWORD) -> Address:
        return Address.parse("tests", self.url(database, password))

    def url(self, database: str, password: str = PASSWORD) -> str:
        return f"postgresql://earshot:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def database(self, like: str = "") -> str:
        """A new one: empty, or with all that is in another, of which everybody lets go."""
        self.made += 1
        name = f"test_{os.getpid()}_{self.made}"
        if like:
            self.ask("postgres", f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{like}'")
        self.ask("postgres", f"CREATE DATABASE {name} TEMPLATE {like or 'template1'}")
        return name

    def ask(self, database: str, query: str) -> list[tuple[Any, ...]]:
        connection = self.address(database).connect()
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(query)
                return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()


@contextmanager
def cluster() -> Iterator[Cluster]:
    bin_ = programs()
    if bin_ is None:
        pytest.skip(MISSING)
    pytest.importorskip("psycopg2", reason="the extra [postgres] is not installed")
    folder = Path(mkdtemp(prefix="earshot-postgres-"))
    (folder / "password").write_text(PASSWORD, encoding="utf-8")
    if os.getuid() == 0:
        for path in (folder, folder / "password"):
            shutil.chown(path, "postgres", "postgres")
    made = [
        str(bin_ / "initdb"), "-D", str(folder / "data"), "-U", "earshot", "-A", "scram-sha-256", "--no-sync",
        f"--pwfile={folder / 'password'}", "--wal-segsize=1", "--encoding=UTF8", "--locale=C.UTF-8",
        "--locale-provider=icu", "--icu-locale=en-US",
    ]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True, cwd=folder, **_as_somebody())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Cluster(folder, port)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _as_somebody() -> dict[str, Any]:
    own_group = {"process_group": 0}
    return {**own_group, "user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else own_group
