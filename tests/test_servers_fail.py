"""Servers that go away, fill up or refuse: what was not finished is not seen, and the next run makes up for it."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipelines.sync.shards import Shard
from pipelines.warehouse.choice import destination
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.ducklake.destination import DuckLake
from pipelines.warehouse.postgres.destination import Postgres
from sources.core.config import ConfigError
from tests.elsewhere import ENGINES, IN_CI, begun, differences, place, same_place
from tests.long import LONG, few
from tests.servers import PASSWORD, Cluster, cluster
from tests.story import news, small_world
from tests.synced import GitHubDesk, desk

pytestmark = pytest.mark.ci

RUN = Path(__file__).parent.parent / "pipelines" / "run.py"
SEEN = ("feedback.events", "feedback.comments", "feedback.threads", "feedback.documents")
MEGABYTE = 2**20
SHORT = [("postgres", "as it loads")]  # EARSHOT_LONG=1: a lake, and at every moment


@pytest.fixture(scope="module")
def unlucky() -> Iterator[Cluster]:
    """A server of these tests' own: they are not kind to it."""
    with cluster() as running:
        yield running


@pytest.fixture
def own(unlucky: Cluster) -> Cluster:
    if unlucky.process is None:
        unlucky.start()
    return unlucky


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of who has read the small world into a file."""
    reader = desk(tmp_path_factory.mktemp("read") / "data", small_world()[0])
    assert reader.run().exit_code == 0
    return reader.home.path


@pytest.fixture(scope="module")
def read_there(unlucky: Cluster, tmp_path_factory: pytest.TempPathFactory) -> DataDir:
    """And who has read it into a Postgres."""
    reader = elsewhere(small_world()[0], place("postgres", unlucky, tmp_path_factory.mktemp("there")))
    assert reader.run().exit_code == 0
    return reader.home


def untroubled(world: Any, folder: Path, read: Path) -> GitHubDesk:
    """A reader of the same world into a file, to which nothing happens."""
    shutil.copytree(read, folder / "untroubled")
    return desk(folder / "untroubled", world)


def elsewhere(world: Any, home: DataDir) -> GitHubDesk:
    reader = desk(home.path, world)
    reader.home = home
    return reader


def before(method: str) -> Callable[[DataDir, pytest.MonkeyPatch, Callable[[], None]], None]:
    """Calls `strike` just before the destination's method, once."""

    def arm(home: DataDir, patch: pytest.MonkeyPatch, strike: Callable[[], None]) -> None:
        original = getattr(type(home.destination), method)

        def struck(self: Any, *args: Any, **named: Any) -> Any:
            patch.setattr(type(home.destination), method, original)
            strike()
            return original(self, *args, **named)

        patch.setattr(type(home.destination), method, struck)

    return arm


def while_loading(home: DataDir, patch: pytest.MonkeyPatch, strike: Callable[[], None]) -> None:
    """After some tables of a package, not all."""
    from dlt.load.load import Load

    original, calls = Load.w_run_job, [0]

    def struck(*args: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == 4:
            strike()
        return original(*args, **named)

    patch.setattr(Load, "w_run_job", struck)


def before_the_commit(home: DataDir, patch: pytest.MonkeyPatch, strike: Callable[[], None]) -> None:
    """Models are built, and readers have not seen them."""
    from pipelines.state import mirror

    original = mirror.mirror_cursors

    def struck(*args: Any) -> None:
        patch.setattr(mirror, "mirror_cursors", original)
        original(*args)
        strike()

    patch.setattr(mirror, "mirror_cursors", struck)


MOMENTS = {
    "as it loads": while_loading, "before the cursors": before("keep_cursors"), "before a build": before("building"),
    "before the commit": before_the_commit, "before what was decided": before("control"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "moment"),
    [(engine, moment) for engine in ENGINES for moment in MOMENTS if LONG or (engine, moment) in SHORT],
)
def test_a_server_killed_in_a_run_loses_and_doubles_nothing(
    engine: str,
    moment: str,
    own: Cluster,
    read: Path,
    read_there: DataDir,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run fails and says so without the password; readers see the run before it; the next one is complete."""
    world, repo = small_world()
    home = begun(read_there, own, tmp_path) if engine == "postgres" else place(engine, own, tmp_path)
    reader = elsewhere(world, home)
    assert engine == "postgres" or reader.run().exit_code == 0
    truth = untroubled(world, tmp_path, read)
    news(world, repo)
    with monkeypatch.context() as patch:
        MOMENTS[moment](home, patch, own.kill)
        report = reader.run()
    assert report.exit_code == 1
    problems = [problem.message for source in report.sources for problem in source.problems]
    assert PASSWORD not in f"{report.error} {problems}" and (report.error or problems)
    own.start()
    again = elsewhere(world, same_place(home, Shard()))
    assert differences(truth.home, again.home, SEEN) == {}
    assert again.run().exit_code == truth.run().exit_code == 0
    assert differences(truth.home, again.home, SEEN) == {}


@pytest.mark.parametrize("engine", IN_CI)
def test_a_build_whose_lock_was_lost_is_not_committed(
    engine: str, own: Cluster, read: Path, read_there: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the connection that holds the lock is ended, as a proxy or an administrator may. Others may land by then: of
    a package that it saw half of, the build would take all as seen.
    """
    world, repo = small_world()
    home = begun(read_there, own, tmp_path) if engine == "postgres" else place(engine, own, tmp_path)
    assert engine == "postgres" or elsewhere(world, home).run().exit_code == 0
    truth = untroubled(world, tmp_path, read)
    news(world, repo)
    there: Any = home.destination
    database = (there.catalog if engine == "ducklake" else there.address).database
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'earshot 1/1 on %'"
    with monkeypatch.context() as patch:
        before_the_commit(home, patch, lambda: assert_one(own.ask("postgres", f"{end} AND datname = '{database}'")))
        report = elsewhere(world, home).run(docs=False)
    assert report.exit_code == 1 and "our place with it" in str(report.error)
    again = elsewhere(world, same_place(home, Shard()))
    assert differences(truth.home, again.home, SEEN) == {}, "readers see the run before it"
    assert again.run().exit_code == truth.run().exit_code == 0
    assert differences(truth.home, again.home, SEEN) == {}


def assert_one(rows: list[Any]) -> None:
    assert rows == [(True,)]


def test_a_full_disk_on_the_server(own: Cluster, read: Path, read_there: DataDir, tmp_path: Path) -> None:
    """Files there cannot grow: the run fails by name, nothing of it is seen, and with room again all is there."""
    world, repo = small_world()
    home = begun(read_there, own, tmp_path)
    truth = untroubled(world, tmp_path, read)
    number = min(issue.number for issue in repo.issues.rows.values())
    for n in range(30):
        repo.comment(number, "maya", Random(n).randbytes(50_000).hex())  # nothing that could be packed
    own.kill()
    own.start(largest_file=2 * MEGABYTE)
    full = elsewhere(world, same_place(home, Shard())).run()
    own.kill()
    own.start()
    assert full.exit_code == 1
    said = [full.error, *(problem.message for source in full.sources for problem in source.problems)]
    assert any("File too large" in str(each) for each in said), said
    again = elsewhere(world, same_place(home, Shard()))
    assert differences(truth.home, again.home, SEEN) == {}
    assert again.run().exit_code == truth.run().exit_code == 0
    assert differences(truth.home, again.home, SEEN) == {}


def test_runners_whose_clocks_differ_by_days(
    own: Cluster, read: Path, read_there: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is due is known by load, whatever its number says: one runner lives a month ago, the next one tomorrow."""
    import dlt.extract.storage as storage

    world, repo = small_world()
    home = begun(read_there, own, tmp_path)
    truth, clock = untroubled(world, tmp_path, read), storage.create_load_id
    for days in few((1, -30, 0), -30, 0):
        monkeypatch.setattr(storage, "create_load_id", lambda days=days: str(float(clock()) + days * 86400))
        assert elsewhere(world, same_place(home, Shard())).run().exit_code == 0
        assert differences(truth.home, home, SEEN) == {}
        world.advance(3600)
        repo.comment(min(repo.issues.rows[id_].number for id_ in repo.issues.rows), "maya", f"said after {days}")
        assert truth.run().exit_code == 0


def started(folder: Path, url: str, *more: str) -> "subprocess.CompletedProcess[str]":
    (folder / ".dlt").mkdir(exist_ok=True)
    (folder / ".dlt" / "config.toml").write_text('[sources.github]\nrepos = ["a/b"]\n', encoding="utf-8")
    environ = {"PATH": "/usr/bin", "EARSHOT_DATA": str(folder / "data"), "DESTINATION__POSTGRES__CREDENTIALS": url}
    command = [sys.executable, str(RUN), "--destination", "postgres", *more]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("password", "port", "said"),
    [("wrong-p4ssword", None, "password authentication failed"), (PASSWORD, 1, "Connection refused")],
)
def test_a_server_that_cannot_be_entered(
    password: str, port: int | None, said: str, server: Cluster, tmp_path: Path
) -> None:
    """Exit 1 with the address and the reason on one line, before anything is read; the password is in nothing."""
    url = server.url("postgres", password)
    done = started(tmp_path, url.replace(f":{server.port}/", f":{port}/") if port else url)
    assert done.returncode == 1, done
    assert said in done.stdout + done.stderr and "postgresql://earshot@127.0.0.1" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for secret in (password, "wrong-p4ssword", "s3cret"):
        assert secret not in done.stdout + done.stderr
        assert not any(secret.encode() in f.read_bytes() for f in tmp_path.rglob("data/**/*") if f.is_file())


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("filesystem", {}, "it cannot drop children that their parent lost"),
        ("clickhouse", {}, "a row and its children are not one transaction there"),
        ("redshift", {}, "it cannot keep versions apart (no insert-only merge)"),
        ("snowflake", {}, "nobody has told Earshot how its models are built there"),
        ("postgrse", {}, "did you mean 'postgres'"),
        ("postgres", {}, "DESTINATION__POSTGRES__CREDENTIALS"),
        ("postgres", {"postgres": {"credentials": "mysql://a:s3cret@h/d"}}, "not an address like postgresql://"),
        ("postgres", {"postgres": {"credentials": "postgresql://a:s3cret@h:x/d"}}, "not an address like postgresql://"),
        ("postgres", {"postgres": {"credential": "x"}}, "did you mean 'credentials'"),
        ("ducklake", {"ducklake": {"credentials": {"catalog": "sqlite:///x", "storage": "y"}}}, "cannot be shared"),
        ("ducklake", {"ducklake": {"credentials": {"catalog": "postgresql://a:b@h/d"}}}, "storage"),
    ],
)
def test_a_destination_that_cannot_be_is_refused_with_what_it_lacks(
    name: str, settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """Before anything is asked of a source; never with a password."""
    with pytest.raises(ConfigError) as refused:
        destination(name, {"destination": settings}, tmp_path)
    assert said in str(refused.value) and "s3cret" not in str(refused.value)


def test_a_shard_needs_a_destination_that_is_shared(tmp_path: Path) -> None:
    done = started(tmp_path, "", "--destination", "duckdb", "--shard", "1/2")
    assert done.returncode == 2 and "several runners need a destination that they share" in done.stdout + done.stderr


def test_an_address_is_shown_without_its_password() -> None:
    """As text, in a dataclass, in a driver's message in whatever spelling; and it survives the way to the driver."""
    address = Postgres(cluster_address()).address
    assert PASSWORD not in f"{address} {address!r} {Postgres(address)!r} {DuckLake(address, 'x')!r}"
    assert address.password == PASSWORD and cluster_address(str(address.url)).password == PASSWORD
    assert PASSWORD not in address.safe(f"cannot reach {address.url}: {PASSWORD}")
    assert "s3cret" not in address.safe(f"cannot reach {address.url}")


def cluster_address(url: str = "postgresql://earshot:s3cret%2F%26w%C3%B6rd@db.example:5433/feedback") -> Any:
    from pipelines.warehouse.postgres.server import Address

    return Address.parse("tests", url)
