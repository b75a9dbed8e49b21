"""`python pipelines/run.py --demo`: no network, no token, something to look at from every source, and what to type next."""

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import orjson
import pendulum
import pytest
from click.testing import CliRunner

from pipelines.cli import main as earshot
from pipelines.demo import demo_sources, of_last_run
from pipelines.demo.server.memory import remembered
from pipelines.demo.story.clock import LAST_DAY
from pipelines.run import main
from pipelines.settings import EarshotConfig
from pipelines.warehouse.configured import home_of
from pipelines.warehouse.files import DEMO_RUN
from sources.core.config import ConfigError
from tests.asked import Reader
from tests.once import once

DATA = Path("data") / "demo"


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A demo as a newcomer runs it, twice, and what it printed."""
    folder = once(tmp_path_factory, "newcomer", demonstrated)
    return folder, orjson.loads((folder / "told.json").read_bytes())


def demonstrated(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("EARSHOT_DATA", raising=False)
        patch.setenv("COLUMNS", "100")
        told = []
        for words in (["--demo"], ["--demo"]):
            ended = CliRunner().invoke(main, words)
            assert ended.exit_code == 0, ended.output
            told.append(ended.stdout)
            if len(told) == 1:
                patch.setenv("EARSHOT_DATA", str(DATA))
                answered = orjson.loads(ask("list", "commands", "--unanswered", "--json"))["data"][-1]["command_key"]
                ask("reply", answered, "--body", "Done.")
                ask("reply", "--mr", "console!13", "--body", "On its way.")
    (folder / "told.json").write_bytes(orjson.dumps(told))


def ask(*words: str) -> str:
    ended = CliRunner().invoke(earshot, list(words), prog_name="earshot")
    assert ended.exit_code == 0, ended.output
    return ended.stdout


@pytest.fixture
def there(typed: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(typed[0])
    monkeypatch.setenv("EARSHOT_DATA", str(DATA))
    monkeypatch.setenv("COLUMNS", "100")
    return typed[0] / DATA


def test_a_demo_run_reads_all_three(typed: tuple[Path, list[str]], there: Path) -> None:
    """Its summary names them; diff notes of both forges show file, line and the commit."""
    assert re.findall(r"^(\w+)\s+read \d+ scopes", typed[1][0], re.MULTILINE) == ["github", "gitlab", "bluesky"]
    placed = "SELECT source, count(*) > 0 FROM feedback.diff_notes WHERE path <> '' AND head_sha <> '' AND line > 0 GROUP BY 1"
    with duckdb.connect(str(there / "published.duckdb"), read_only=True) as db:
        assert sorted(db.execute(placed).fetchall()) == [("github", True), ("gitlab", True)]


def test_it_tells_when_there_is_more_to_come(typed: tuple[Path, list[str]]) -> None:
    assert "two minutes\npass in the story" in typed[1][0] and "told to its end" not in typed[1][0]
    assert "told to its end" in typed[1][1] and "two minutes" not in typed[1][1]


def test_what_it_prints_next_works_as_it_is_typed(typed: tuple[Path, list[str]]) -> None:
    """Copied line by line into a bash: each ends well, and shows somebody's words."""
    lines = [line for line in typed[1][1].splitlines() if line.startswith("  ") and not line.startswith("    ")]
    assert lines[0] == "  export EARSHOT_DATA=data/demo" and len(lines) >= 4
    script = "\n".join(["set -e", *(f"{line.strip()}\necho ---" for line in lines)])
    told = subprocess.run(
        ["bash", "-c", script], cwd=typed[0], capture_output=True, text=True, check=False,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "100"},
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    shown = told.stdout.split("---\n")[1:-1]
    assert len(shown) == len(lines) - 1
    assert all(re.search("noor|sanvi", each) for each in shown), shown
    assert not any("(0)" in each or "Nothing" in each for each in shown), shown


def test_readme_works_after_the_demo(typed: tuple[Path, list[str]]) -> None:
    """Its second screen, and its few lines of Python, in the shell of the first."""
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    \$ (.+)$", text, re.MULTILINE)
    code, *_ = re.findall(r"```python\n(.+?)```", text, re.DOTALL)  # the others: test_docs_sources
    assert len(commands) >= 3 and "data/demo" in code
    script = "\n".join(["set -e", *commands, f"python - <<'END'\n{code}END"])
    told = subprocess.run(
        ["bash", "-c", script], cwd=typed[0], capture_output=True, text=True, check=False,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "90"},
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "charts/2" in told.stdout and "Split NodeTable" in told.stdout
    assert "noor" in told.stdout.partition("┌")[2]


@pytest.mark.parametrize("what", ["threads", "issues", "prs", "mrs", "posts", "events"])
def test_something_was_said_lately(there: Path, what: str) -> None:
    """The story's last day is yesterday, whenever it is run."""
    assert orjson.loads(ask("list", what, "--since", "3d", "--json"))["data"]


def test_status_has_nothing_to_complain_of(there: Path) -> None:
    """Right after the second run, which had news."""
    told = orjson.loads(ask("status", "--json"))["data"]
    assert told["troubles"] == [] and told["lag_events"] > 10


def test_an_answer_is_heard_by_the_next_run(there: Path) -> None:
    """In the invented world alone: on both forges, once; the command is answered by it."""
    rows = orjson.loads(ask("sql", "SELECT source, status FROM ops.answers ORDER BY 1", "--json"))["data"]
    assert rows == [{"source": "github", "status": "observed"}, {"source": "gitlab", "status": "observed"}]
    said = "SELECT count(*) AS n FROM feedback.comments WHERE is_own"
    assert orjson.loads(ask("sql", said, "--json"))["data"] == [{"n": 2}]
    commands = orjson.loads(ask("list", "commands", "--json"))["data"]
    assert sum(row["status"] == "answered" for row in commands) == 1
    with remembered(there, LAST_DAY) as memory:
        assert [(each.source, each.runs) for each in memory.sent] == [("github", 1), ("gitlab", 1)]


def test_the_third_run_finds_it_quiet(there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(there, tmp_path / DATA)
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(main, ["--demo", "--json"])
    told = orjson.loads(ended.stdout)["data"]
    assert told["new_events"] == {} and told["published_bytes"] is None
    assert sum(source["requests"] - source["not_modified"] for source in told["sources"]) == 0


def say(folder: Path, words: str) -> None:
    async def post() -> None:
        async with of_last_run(folder, "github").connect_to_write() as api:
            await api.send("POST", "/repos/lantern/lantern/issues/1/comments", {"body": words})

    asyncio.run(post())


def test_what_was_said_keeps_its_number(tmp_path: Path) -> None:
    """Between two runs, before the news that came to the world without it; also twice, and after them."""
    seen: dict[int, str] = {}
    for runs in (1, 1, 2):
        with remembered(tmp_path, LAST_DAY) as memory:
            memory.runs = runs
            memory.keep()
        say(tmp_path, "the same words")
        with remembered(tmp_path, LAST_DAY) as memory:
            comments = demo_sources(runs - 1, 0, memory.sent)[0].app.world.truth().issue_comments
        found = {id_: f"{row['author']} {row['created_at']} {row['body']}" for id_, row in comments.items()}
        assert sum("the same words" in row for row in found.values()) == len(memory.sent)
        assert seen.items() <= found.items()
        seen = found


def test_the_first_run_keeps_the_day_for_all(tmp_path: Path) -> None:
    """The next day's run goes on with the same story."""
    today = pendulum.date(2027, 5, 1)
    for day in (today, today.add(days=1)):
        with remembered(tmp_path, day) as memory:
            memory.runs += 1
            memory.keep()
    assert (memory.last_day, memory.runs) == (today, 2)
    (tmp_path / DEMO_RUN).write_text('{"runs": "many"}')
    with pytest.raises(ConfigError, match=r"remove .* and begin anew"), remembered(tmp_path, today):
        pass


def test_a_demo_goes_on_in_its_own_directory(tmp_path: Path) -> None:
    """With EARSHOT_DATA=data/demo exported, as its readers are told to, the next run is the next: not a demo's demo."""
    environ = {"EARSHOT_DATA": str(tmp_path)}
    assert home_of(tmp_path, {}, EarshotConfig(), environ, demo=True).path == tmp_path / "demo"
    (tmp_path / DEMO_RUN).write_text("1")
    assert home_of(tmp_path, {}, EarshotConfig(), environ, demo=True).path == tmp_path


REAL = '[sources.github]\nrepos = ["lantern/lantern"]\napi_url = "http://127.0.0.1:1"\nwrite_token = "mine"'


@pytest.fixture
def beside(own: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """A demo where real places of the same names are configured."""
    with remembered(own.home.path, LAST_DAY) as memory:
        memory.runs = 1
        memory.keep()
    (tmp_path / ".dlt").mkdir()
    (tmp_path / ".dlt" / "config.toml").write_text(REAL)
    monkeypatch.chdir(tmp_path)
    return own


@pytest.mark.parametrize("words", [("sync",), ("sync", "--pr", "44"), ("verify",)])
def test_nothing_real_gets_into_a_demo(beside: Reader, words: tuple[str, ...]) -> None:
    told = beside.ask(*words)
    assert told.code == 2 and "invented" in told.err, told


@pytest.mark.parametrize("words", [("resume", "pr", "44"), ("reply", "--pr", "44", "--body", "Hello")])
def test_a_demo_is_asked_and_answered_in_its_own_world(beside: Reader, words: tuple[str, ...]) -> None:
    """There may be a lantern/lantern on the real github.com: it would have got the answer."""
    told = beside.ask(*words)
    assert told.code == 0, told
