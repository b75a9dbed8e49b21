"""What should be a file is a link to nowhere or a directory, what should be a directory a file, and there is no room:
told in one line with what to do, nothing is lost by it, and what can be made anew heals by itself.
"""

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.demo.github.world import GitHubWorld
from tests.asked import Reader
from tests.story import Project, served, small_world


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GitHubWorld]:
    folder = tmp_path_factory.mktemp("odd")
    world, _ = small_world()
    with served(world, folder) as project:
        assert project.quick().code == 0
    return project.data, world


@pytest.fixture
def project(base: tuple[Path, GitHubWorld], tmp_path: Path) -> Iterator[Project]:
    with served(base[1], tmp_path) as project:
        shutil.copytree(base[0], project.data)
        yield project


@pytest.mark.parametrize("name", ["warehouse.duckdb", "control.sqlite"])
def test_a_link_to_nowhere_is_a_disk_that_is_not_mounted(project: Project, tmp_path: Path, name: str) -> None:
    """Nothing is made in its place: neither there, nor of what was published."""
    there, file = tmp_path / "disk" / name, project.data / name
    there.parent.mkdir()
    file.rename(there)
    file.symlink_to(there)
    assert project.quick().code == 0, "a link is as good as a file"
    there.parent.rename(tmp_path / "unmounted")
    failed = project.quick()
    assert failed.code == 1 and f"{name} is a link to {there}, which is not there: mount it" in failed.said
    assert not there.parent.exists() and not failed.calls
    (tmp_path / "unmounted").rename(there.parent)
    assert project.quick().code == 0


@pytest.mark.parametrize("name", ["warehouse.duckdb", "control.sqlite"])
def test_a_directory_in_place_of_what_cannot_be_made_anew_is_refused(project: Project, name: str) -> None:
    (project.data / name).unlink()
    (project.data / name).mkdir()
    failed = project.quick()
    assert failed.code == 1 and f"{name} is a directory" in failed.said and not failed.calls, failed.said
    (project.data / name).rmdir()
    assert project.quick().code == 0


@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize("name", ["published.duckdb", "search.sqlite", "payloads.sqlite"])
def test_a_directory_in_place_of_what_can_be_made_anew_heals(project: Project, name: str, is_empty: bool) -> None:
    """Containers make an empty one for a mount that is missing; what lies in another is kept beside."""
    file = project.data / name
    file.unlink(missing_ok=True)
    file.mkdir()
    if not is_empty:
        (file / "mine").write_text("kept")
    ended = project.quick()
    assert ended.code == 0, ended.said
    assert name == "payloads.sqlite" or file.is_file()
    kept = list(project.data.glob(f"{name}.aside-*/mine"))
    assert len(kept) == (not is_empty)


@pytest.mark.parametrize("place", ["", "dlt", "dlt/earshot_github"])
def test_a_file_in_place_of_a_directory_is_named(project: Project, place: str) -> None:
    """Or, where dlt's own files can be made anew, heals."""
    folder = project.data / place
    shutil.rmtree(folder)
    folder.write_text("a file")
    ended = project.quick()
    if place:
        assert ended.code == 0, ended.said
    else:
        assert ended.code == 1 and "data is a file, where a directory is needed: move it away" in ended.said
    assert "Traceback" not in ended.said


@contextmanager
def no_room() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_who_asks_needs_no_room(own: Reader) -> None:
    """A full disk is when one looks at the status; and it does not tell anybody to move away what is whole."""
    for tail in ("-wal", "-shm"):
        own.home.control.with_name(f"control.sqlite{tail}").unlink(missing_ok=True)
    with no_room():
        told = own.ask("status")
        unacked = own.ask("list", "events", "--unacked-by", "bot", "--limit", "1")
        acked = own.ask("ack", str(own.data("list", "events", "--limit", "1")[0]["event_key"]), "--as", "bot")
    assert told.code == 0 and "Last runs" in told.out, told.err
    assert unacked.code == 0, unacked.err
    assert acked.code == 1 and "cannot be written" in acked.err and "move it away" not in acked.err, acked.err


def test_no_question_ends_the_process(own: Reader) -> None:
    """DuckDB's log in a file that it may not write ends the whole process when it is closed."""
    for query in (
        "CALL enable_logging(storage_path = 'logs')",
        "call  ENABLE_LOGGING(storage = 'file', storage_path = 'logs')",
        "SELECT 1; CALL enable_logging(storage_path = 'logs')",
        "FROM enable_logging(storage_path = 'logs')",
    ):
        pid = os.fork()
        if pid == 0:
            asked = own.ask("sql", query)
            os._exit(asked.code if "Traceback" not in asked.err else 99)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) in (0, 2), query
