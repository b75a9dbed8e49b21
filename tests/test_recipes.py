"""Every recipe is read by the tool it is for, where that is installed; and backup and restore are done once."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
import yaml
from click.testing import CliRunner

from pipelines.ask.commands.digest import digest
from pipelines.ask.commands.status import status
from pipelines.run import main
from pipelines.state import decisions
from pipelines.state.ledger import Ledger
from pipelines.sync.shards import Shard
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.postgres.destination import Postgres
from tests.asked import Reader
from tests.elsewhere import differences, place
from tests.servers import PASSWORD, Cluster, programs
from tests.story import news, small_world
from tests.synced import desk

pytestmark = pytest.mark.ci

RECIPES = Path(__file__).parent.parent / "recipes"
SEEN = ("feedback.events", "feedback.comments", "feedback.threads")


@pytest.mark.parametrize("name", [path.name for path in sorted(RECIPES.iterdir()) if path.is_file()])
def test_a_recipe_asks_for_nothing_that_is_not_there(name: str) -> None:
    """Whatever option of ours it names is one; and it holds no secret."""
    text = (RECIPES / name).read_text(encoding="utf-8")
    for line in text.splitlines():
        for name, command in (("earshot sync", main), ("earshot status", status), ("earshot digest", digest)):
            known = {option for parameter in command.params for option in parameter.opts}
            _, ours, rest = line.partition(name)
            for word in rest.split() if ours else ():
                assert not word.startswith("--") or word.strip("\"',[]`;") in known, word
    assert "glpat-" not in text and "github_pat_" not in text


def test_the_crontab_is_one() -> None:
    croniter = pytest.importorskip("croniter")
    line = next(line for line in (RECIPES / "crontab").read_text().splitlines() if "earshot sync" in line)
    minute, hour, day, month, weekday, command = line.split(None, 5)
    assert croniter.croniter.is_valid(" ".join((minute, hour, day, month, weekday)))
    assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0


@pytest.mark.parametrize(("code", "mailed"), [(0, ""), (4, ""), (3, "x\n"), (1, "x\n")])
def test_cron_mails_what_does_not_end_well(tmp_path: Path, code: int, mailed: str) -> None:
    """From the very first run on, when there is no data directory to hold the log; another run at work is no mail."""
    program = tmp_path / "earshot" / ".venv" / "bin" / "earshot"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho x\nexit {code}\n")
    program.chmod(0o700)
    line = next(line for line in (RECIPES / "crontab").read_text().splitlines() if "earshot sync" in line)
    command = line.split(None, 5)[5]
    told = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(tmp_path)}
    )
    assert told.stdout + told.stderr == mailed
    assert (tmp_path / "earshot" / "data" / "cron.log").read_text() == "x\n"


@pytest.mark.parametrize(("code", "posted"), [(0, '{"text": "**Said** \\"x\\"\\n"}\n'), (1, "")])
def test_cron_posts_a_digest_and_nothing_instead(tmp_path: Path, code: int, posted: str) -> None:
    """As one JSON text, whatever is in it; where there is none nothing is posted, and cron mails why."""
    by_mail, to_chat = (line for line in (RECIPES / "digest.crontab").read_text().splitlines() if line[:1].isdigit())
    folder = tmp_path / "earshot" / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    for name, text in (
        ("earshot", f"test {code} = 0 && echo '**Said** \"x\"' || {{ echo why >&2; exit {code}; }}"),
        ("curl", f'cat > {tmp_path}/posted; echo "$@" >&2'),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o700)
    environ = {**os.environ, "HOME": str(tmp_path), "PATH": f"{folder}:{os.environ['PATH']}", "EARSHOT_WEBHOOK": "hook"}
    for line in (by_mail, to_chat):
        command = line.split(None, 5)[5]
        assert "%" not in command, "cron ends a line there"
        told = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environ)
        assert (told.returncode == 0) == (code == 0) and ("why" in told.stderr) == (code == 1)
    assert told.stderr.rstrip().endswith("hook") == (code == 0)
    assert ((tmp_path / "posted").read_text() if (tmp_path / "posted").exists() else "") == posted


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_the_unit_is_understood_and_hardly_exposed(tmp_path: Path) -> None:
    """All that systemd has to say is that nothing is installed here; its own mark for exposure is below 2 of 10."""
    units = [path.name for path in RECIPES.glob("earshot*.*")]
    assert len(units) == 5
    for name in units:
        shutil.copy(RECIPES / name, tmp_path)
    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(f"./{name}" for name in units)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert all("is not executable" in line for line in told.stderr.splitlines()), told.stderr
    for name in ("earshot.service", "earshot-check.service"):
        marked = subprocess.run(
            ["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=20", f"./{name}"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert marked.returncode == 0, marked.stdout[-300:]


def unit(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (RECIPES / name).read_text().splitlines():
        key, is_set, value = line.partition("=")
        if is_set and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def test_what_fails_and_what_never_runs_is_told_to_somebody() -> None:
    """3 and 4 are no failures of a run's unit; the check's ends with 1 for whatever is wrong, and both tell the same."""
    run, check, alert = unit("earshot.service"), unit("earshot-check.service"), unit("earshot-alert.service")
    assert run["OnFailure"] == check["OnFailure"] == ["earshot-alert.service"]
    assert run["SuccessExitStatus"] == ["3 4"] and "SuccessExitStatus" not in check
    assert check["ExecStart"][0].endswith("earshot status --check")
    assert run["User"] == check["User"], "or each would take the data directory from the other"
    (command,) = alert["ExecStart"]
    assert "earshot status" in command and unit("earshot-check.timer")["WantedBy"] == ["timers.target"]


def test_the_alert_sends_what_status_says(tmp_path: Path) -> None:
    for name, text in (
        ("earshot", "echo 'To look at'"),
        ("mail", f'cat > {tmp_path}/sent; echo "$@" >> {tmp_path}/sent'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o700)
    (command,) = unit("earshot-alert.service")["ExecStart"]
    shell = command.removeprefix("/bin/sh -c '").removesuffix("'").replace("$$", "$")
    shell = shell.replace("/opt/earshot/.venv/bin/earshot", str(tmp_path / "earshot"))
    told = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "EARSHOT_ALERT": "maya"}
    assert subprocess.run(["sh", "-c", shell], env=told, check=False).returncode == 0
    assert (tmp_path / "sent").read_text() == "To look at\n-s Earshot: something is to be looked at maya\n"


METRIC = re.compile(r"earshot_[a-z0-9_]+")


@pytest.fixture
def metrics(own: Reader) -> set[str]:
    """All that are told where there is something to tell."""
    with Ledger.open(own.home.control) as ledger:
        ledger.connection.execute("UPDATE requests SET lag_seconds = 12.5")
        ledger.finish(ledger.begin("bulk", ["github"]), "failed", 1, seconds=1.0)
    with decisions.writing(own.home) as decided:
        decided.rows(
            "INSERT INTO answers (token, source, scope, scope_name, parent_key, parent_kind, parent_number, body,"
            " resolves, status, attempts, is_unsure, is_over, planned_at)"
            " VALUES ('t', 'github', '1', 'a/b', 'k', 'issue', 1, '', 0, 'posted', 1, 0, 1, ?)",
            [decisions.now()],
        )
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute("UPDATE feedback.events SET updated_at = seen_at + INTERVAL 1 HOUR WHERE kind = 'note'")
    text = own.ask("status", "--prometheus").out
    return {name for line in text.splitlines() if not line.startswith("#") for name in METRIC.findall(line)}


def test_alerts_ask_for_metrics_that_are_told(metrics: set[str]) -> None:
    """Each says how bad it is and what to do; all of `status --check` is among them."""
    (group,) = yaml.safe_load((RECIPES / "prometheus-rules.yml").read_text())["groups"]
    asked = {name for rule in group["rules"] for name in METRIC.findall(rule["expr"])}
    assert asked <= metrics and {"earshot_trouble", "earshot_last_run_success"} <= asked
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in ("critical", "warning") and rule["for"]
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
    if promtool := shutil.which("promtool"):
        told = subprocess.run([promtool, "check", "rules", str(RECIPES / "prometheus-rules.yml")], check=False)
        assert told.returncode == 0


def test_the_dashboard_draws_metrics_that_are_told(metrics: set[str]) -> None:
    """In panels that lie beside each other, of one data source that is chosen."""
    board = json.loads((RECIPES / "grafana.json").read_text())
    asked = {name for panel in board["panels"] for t in panel["targets"] for name in METRIC.findall(t["expr"])}
    assert asked <= metrics and len(asked) > 10
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24 and panel["datasource"]["uid"] == "${source}"
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_jobs_of_github_and_kubernetes_have_every_shard_once() -> None:
    workflow = yaml.safe_load((RECIPES / "github-actions.yml").read_text())
    assert workflow["jobs"]["read"]["strategy"]["matrix"]["shard"] == [str(Shard(n, 4)) for n in range(1, 5)]
    job = yaml.safe_load((RECIPES / "kubernetes.yaml").read_text())["spec"]["jobTemplate"]["spec"]
    assert job["completions"] == job["parallelism"] == 4
    container = job["template"]["spec"]["containers"][0]
    assert container["securityContext"]["readOnlyRootFilesystem"] and "/4 " in container["args"][0]
    assert "--no-docs" not in container["args"][0], "then nobody ever makes the documents that earshot index looks for"


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (3, 0), (4, 4)])
def test_airflow_is_told_what_it_skips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, ends: int) -> None:
    """A part that failed is none of a task; that somebody else is at it arrives as the 4 that is a skip."""
    tasks: list[dict[str, Any]] = []
    operators = SimpleNamespace(BashOperator=lambda **task: tasks.append(task))
    sdk = SimpleNamespace(DAG=lambda *_, **__: nullcontext())
    monkeypatch.setitem(sys.modules, "airflow.providers.standard.operators.bash", operators)
    monkeypatch.setitem(sys.modules, "airflow.sdk", sdk)
    runpy.run_path(str(RECIPES / "airflow_dag.py"))
    assert tasks[3]["skip_on_exit_code"] == 4 and "--shard 4/4 " in tasks[3]["bash_command"]
    command = tasks[3]["bash_command"].replace(
        ".venv/bin/earshot sync", f"exit_{code}() {{ return {code}; }}; exit_{code}"
    )
    assert subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False).returncode == ends


@pytest.mark.parametrize(("name", "module"), [("airflow_dag.py", "airflow"), ("dagster_definitions.py", "dagster")])
def test_a_scheduler_loads_its_recipe(name: str, module: str) -> None:
    compile((RECIPES / name).read_text(encoding="utf-8"), name, "exec")
    pytest.importorskip(module, reason=f"{module} is not installed; it was tried by hand")
    found = runpy.run_path(str(RECIPES / name))
    assert found.get("definitions") or found.get("DAG")


def test_the_container_file_brings_what_the_package_needs() -> None:
    """Everything that is copied is there, and it runs as nobody in particular."""
    lines = (RECIPES / "Containerfile").read_text().splitlines()
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            for part in line.split()[1:-1]:
                assert (RECIPES.parent / part).exists(), part
    assert "USER earshot" in lines


def backed_up(home: DataDir, folder: Path, **environ: str) -> Path:
    told = subprocess.run(
        [str(RECIPES / "backup.sh"), str(folder)], capture_output=True, text=True, check=False,
        env={**os.environ, "EARSHOT_DATA": str(home.path), **environ},
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return next(folder.iterdir())


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="Debian's package `sqlite3` is not installed")
def test_a_file_comes_back_from_its_backup_and_goes_on_from_there(tmp_path: Path) -> None:
    """What was said after the backup is read again, nothing is doubled."""
    world, repo = small_world()
    reader = desk(tmp_path / "data", world)
    reader.run()
    kept = backed_up(reader.home, tmp_path / "backup")
    news(world, repo)
    reader.run()
    restored = desk(tmp_path / "restored", world)
    restored.home.create()
    for file in kept.iterdir():
        shutil.copy(file, restored.home.path)
    assert restored.run().exit_code == 0
    assert differences(reader.home, restored.home, SEEN) == {}
    with decisions.writing(restored.home) as decided:
        assert len(decided.rows("SELECT as_of FROM restorations")) == 1, "or an answer of since then is said twice"


@pytest.mark.skipif(not shutil.which("pg_dump") or not shutil.which("sqlite3"), reason="pg_dump or sqlite3 is missing")
def test_a_postgres_comes_back_from_its_backup_and_goes_on_from_there(server: Cluster, tmp_path: Path) -> None:
    """Into another database, with another machine's runner; the cursors are in the backup, beside their rows."""
    world, repo = small_world()
    reader = desk(tmp_path / "truth", world)
    reader.home = home = place("postgres", server, tmp_path)
    reader.run()
    assert isinstance(home.destination, Postgres)
    url = server.url(home.destination.address.database)
    dump = backed_up(home, tmp_path / "backup", DESTINATION__POSTGRES__CREDENTIALS=url) / "earshot.dump"
    news(world, repo)
    reader.run()
    database, bin_ = server.database(), programs()
    assert bin_ is not None
    there = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "earshot", "-d", database]
    subprocess.run(
        [str(bin_ / "pg_restore"), *there, str(dump)], check=True, env={**os.environ, "PGPASSWORD": PASSWORD}
    )
    restored = desk(tmp_path / "elsewhere", world)
    restored.home = place("postgres", server, tmp_path / "elsewhere", database)
    assert restored.run().exit_code == 0
    assert differences(home, restored.home, SEEN) == {}


def test_help_names_the_options_of_this_page() -> None:
    said = CliRunner().invoke(main, ["--help"]).output
    assert "--destination NAME" in said and "--shard K/N" in said
