"""`earshot init` and `earshot doctor`, told against the demo world over sockets: nothing is written before all is well,
no token is ever shown, and what somebody wrote stays.
"""

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from pipelines.cli import main
from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import App, html_page
from pipelines.warehouse.files import Files
from tests.asked import Asked
from tests.story import NOW

GOOD, OTHER = "demo-token", "glpat-another"
WRITTEN = """# what I read at home
[earshot]
max_retries = 0               # I am in a hurry

[sources.github]
api_url = "{github}"          # not the real one
repos = [
  "maya/attic",  # old
]

[sources.gitlab]              # at work
api_url = "{gitlab}"
# projects = ["group/name"]

[sources.bluesky]
api_url = "{bluesky}"

[runtime]
dlthub_telemetry = false
"""


@dataclass
class Front:
    """A newcomer's folder beside three services."""

    folder: Path
    github: GitHubApp
    gitlab: GitLabApp
    bluesky: BlueskyApp
    patch: pytest.MonkeyPatch

    @property
    def config(self) -> Path:
        return self.folder / ".dlt" / "config.toml"

    @property
    def secrets(self) -> Path:
        return self.folder / ".dlt" / "secrets.toml"

    def ask(self, *words: str, typed: str | None = None, **environ: str) -> Asked:
        """`typed`: somebody sits at a terminal and types it."""
        kept = {name: None for name in os.environ if "TOKEN" in name or name.startswith(("SOURCES__", "EARSHOT"))}
        self.patch.chdir(self.folder)
        self.patch.setattr("pipelines.ask.setup.asked.is_terminal", lambda: typed is not None)
        found = CliRunner().invoke(main, list(words), env={**kept, "COLUMNS": "80", **environ}, input=typed)
        if found.exception and not isinstance(found.exception, SystemExit):
            raise found.exception
        for token in (GOOD, OTHER, *environ.values()):
            assert token not in found.output or token.startswith("http"), "a token is shown"
        return Asked(found.stdout, found.stderr, found.exit_code)

    def files(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Front]:
    github, gitlab, bluesky = GitHubWorld(NOW), GitLabWorld(NOW), BlueskyWorld(NOW)
    repo = github.add_repo("lantern/lantern")
    github.fill(repo, pulls=6, issues=3, comments=230, review_comments=12, reviews=5, days=30)
    github.add_repo("lantern/secret", private=True).open_pull("maya", "Hidden", "")
    gitlab.fill(gitlab.add_project("lantern/console"), merge_requests=3, discussions=2, notes=2)
    bluesky.account("maya.example", "Maya")
    apps: list[App] = [GitHubApp(github), GitLabApp(gitlab), BlueskyApp(bluesky)]
    with ExitStack() as stack:
        urls = [stack.enter_context(serving(app)) for app in apps]
        (tmp_path / ".dlt").mkdir()
        text = WRITTEN.format(**dict(zip(("github", "gitlab", "bluesky"), urls, strict=True)))
        (tmp_path / ".dlt" / "config.toml").write_text(text, encoding="utf-8")
        yield Front(tmp_path, *apps, monkeypatch)  # type: ignore[arg-type]


def test_flags_and_the_environment_are_enough(front: Front) -> None:
    """All three at once, without a terminal: what there is, what it costs, the file with nothing lost; no token in it."""
    before = front.config.read_text(encoding="utf-8")
    told = front.ask(
        "init", "--github", "lantern/lantern", "--gitlab", "lantern/console", "--bluesky", "@Maya.Example",
        "--token-from-env", SOURCES__GITHUB__TOKEN=GOOD, SOURCES__GITLAB__TOKEN=GOOD,
    )  # fmt: skip
    assert told.code == 0, told.err
    assert "up to 3 issues, 6 pull requests, 230 comments, 12 review comments" in " ".join(told.err.split())
    assert "3 merge requests, no issues" in told.err or "3 merge requests, 0 issues" in told.err
    assert "less than a minute" in told.err and "no token was written" in told.out
    after = front.config.read_text(encoding="utf-8").splitlines()
    assert [line for line in before.splitlines() if line not in after] == []
    added = [line for line in after if line not in before.splitlines()]
    assert added == ['  "lantern/lantern",', 'projects = ["lantern/console"]', 'actors = ["maya.example"]']
    assert not front.secrets.exists() and not (front.folder / "data").exists()


def test_what_is_told_of_the_cost_is_what_a_run_asks(front: Front) -> None:
    """The lists' pages and each pull request once; the end of a list may be asked for once more."""
    told = front.ask("init", "--github", "lantern/lantern", "--token-from-env", SOURCES__GITHUB__TOKEN=GOOD)
    expected = int(told.err.split("a first run: about ")[1].split()[0])
    front.config.write_text(front.config.read_text(encoding="utf-8").replace('"maya/attic",', ""), encoding="utf-8")
    before = len(front.github.log)
    run = front.ask("sync", "github", "--no-embed", SOURCES__GITHUB__TOKEN=GOOD, EARSHOT_DATA=str(front.folder / "d"))
    assert run.code == 0, run.err
    asked = [(c.path, c.query) for c in front.github.log[before:]]
    assert expected <= len(asked) <= expected + 4, asked


def test_a_second_init_changes_nothing(front: Front) -> None:
    words = ("init", "--gitlab", "lantern/console")
    assert front.ask(*words, typed=f"{GOOD}\nn\n").code == 0
    before, second = front.files(), front.ask(*words)
    assert second.code == 0 and "nothing to change" in second.out
    assert front.files() == before


def test_a_typed_token_is_private_from_the_first_byte(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the file was readable before, and whatever the umask; what else is in it stays."""
    front.secrets.write_text(
        '# mine\n[destination.postgres]\ncredentials = "postgresql://x"  # soon\n', encoding="utf-8"
    )
    front.secrets.chmod(0o644)
    opened, modes, mask = os.open, list[int](), os.umask(0)

    def watched(path: object, flags: int, mode: int = 0o777, **more: object) -> int:
        descriptor: int = opened(path, flags, mode, **more)  # type: ignore[arg-type]
        if "secrets" in str(path):
            modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr(os, "open", watched)
    try:
        told = front.ask("init", "--gitlab", "lantern/console", typed=f"{GOOD}\nn\n")
    finally:
        os.umask(mask)
    assert told.code == 0, told.err
    assert modes == [0o600] and stat.S_IMODE(front.secrets.stat().st_mode) == 0o600
    text = front.secrets.read_text(encoding="utf-8")
    assert text.startswith('# mine\n[destination.postgres]\ncredentials = "postgresql://x"  # soon\n')
    assert f'[sources.gitlab]\ntoken = "{GOOD}"' in text
    assert GOOD not in front.config.read_text(encoding="utf-8")


def test_without_a_terminal_what_is_missing_is_said(front: Front) -> None:
    """Nothing is asked, nothing is written: exit 2."""
    before = front.files()
    told = front.ask("init")
    assert told.code == 2 and "--github owner/name" in told.err and "--token-from-env" in told.err
    told = front.ask("init", "--gitlab", "lantern/console")
    assert told.code == 2 and "SOURCES__GITLAB__TOKEN" in told.err
    told = front.ask("init", "--github", "lantern/lantern", "--token-from-env")
    assert told.code == 2 and "--token-from-env" in told.err
    refused = orjson.loads(front.ask("init", "--json").out)
    assert not refused["ok"] and refused["meta"]["exit_code"] == 2 and "terminal" in refused["error"]["message"]
    assert front.files() == before


BAD: dict[str, tuple[list[str], Callable[[Front], object], str]] = {
    "a wrong token": (["--github", "lantern/lantern"], lambda f: f.github.access.tokens.clear(), "the token is refused"),
    "a classic token without repo": (
        ["--github", "lantern/secret"], lambda f: f.github.access.scopes.update({GOOD: "gist"}), "needs the scope repo, which",
    ),
    "a fine-grained token that may not read pulls": (
        ["--github", "lantern/secret"], lambda f: f.github.access.permissions.update({GOOD: {"issues"}}),
        "may not read pull requests, review comments",
    ),
    "a repository that is not there": (["--github", "lantern/nothing"], lambda f: None, "no such repository"),
    "no GitHub API": (
        ["--github", "lantern/lantern"], lambda f: setattr(f.github.switches, "fault", lambda r: html_page(200)), "instead of JSON",
    ),
    "an expired token": (["--gitlab", "lantern/console"], lambda f: f.gitlab.access.expired.add(GOOD), "the token is refused"),
    "a revoked token": (["--gitlab", "lantern/console"], lambda f: f.gitlab.access.revoked.add(GOOD), "the token is refused"),
    "a narrow token": (
        ["--gitlab", "lantern/console"], lambda f: f.gitlab.access.scopes.update({GOOD: ["read_user"]}),
        "too narrow (scopes: read_user)",
    ),
    "a narrow token on an old server": (
        ["--gitlab", "lantern/console"],
        lambda f: (setattr(f.gitlab.world, "field_names", "old"), f.gitlab.access.scopes.update({GOOD: ["read_registry"]})),
        "may not read the API",
    ),
    "a project that is not there": (["--gitlab", "lantern/nothing"], lambda f: None, "no such project"),
    "an account that is not there": (["--bluesky", "nobody.example"], lambda f: None, "nobody is called so"),
    "a name that nobody has": (["--bluesky", "no handle"], lambda f: None, "neither a handle nor a DID"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_and_nothing_is_written(front: Front, name: str) -> None:
    """In one line with its remedy, before anything is written."""
    words, break_it, message = BAD[name]
    break_it(front)
    before = front.files()
    told = front.ask("init", *words, "--token-from-env", SOURCES__GITHUB__TOKEN=GOOD, SOURCES__GITLAB__TOKEN=GOOD)
    assert told.code == 1, told.err
    lines = told.err.splitlines()
    worst = next(n for n, line in enumerate(lines) if line.startswith("  ! "))
    assert message in " ".join(told.err.split()), told.err
    assert lines[worst + 1].strip(), "a remedy follows"
    assert front.files() == before


def test_no_network(front: Front) -> None:
    front.config.write_text(
        '[earshot]\nmax_retries = 0\n[sources.github]\napi_url = "http://127.0.0.1:9"\n', encoding="utf-8"
    )
    before = front.files()
    told = front.ask("init", "--github", "lantern/lantern")
    assert told.code == 1 and "127.0.0.1" in told.err and "see that this machine reaches it" in told.err
    assert front.files() == before


def test_what_is_mended_at_the_terminal_goes_on(front: Front) -> None:
    """A slip in the name, then in the token; what was right is not asked for again."""
    front.gitlab.access.tokens[OTHER] = "earshot"
    typed = (
        "lantern/lanternn\n"
        + f"{GOOD}\n"
        + "y\nlantern/lantern\n"
        + "lantern/console\nwrong\n"
        + f"y\n{OTHER}\n"
        + "\nn\n"
    )
    told = front.ask("init", typed=typed)
    assert told.code == 0, told.err
    assert told.err.count("Token for") == 3
    text = front.config.read_text(encoding="utf-8")
    assert '"lantern/lantern",' in text and '["lantern/console"]' in text and "lanternn" not in text
    assert GOOD in front.secrets.read_text(encoding="utf-8") and OTHER in front.secrets.read_text(encoding="utf-8")


def test_a_token_that_no_header_takes_is_typed_again(front: Front) -> None:
    """Also the one of the example that somebody copied; it gives way after a yes."""
    front.secrets.write_text('[sources.gitlab]\ntoken = "glpat-…"\n', encoding="utf-8")
    told = front.ask("init", "--gitlab", "lantern/console", typed=f"y\ntwo words\ny\n{GOOD}\ny\nn\n")
    assert told.code == 0, told.err
    assert "two words" not in told.err and told.err.count("was it copied as it is?") == 2
    assert front.secrets.read_text(encoding="utf-8") == f'[sources.gitlab]\ntoken = "{GOOD}"\n'


def test_what_cannot_be_mended_is_left_out_or_all_is(front: Front) -> None:
    """Somebody says so; what was right is written then."""
    typed = "\nlantern/nothing\n" + f"{GOOD}\n" + "n\n{}\nmaya.example\nn\n"
    before = front.files()
    told = front.ask("init", typed=typed.format("n"))
    assert told.code == 1 and "nothing was written" in told.err and front.files() == before
    told = front.ask("init", typed=typed.format("y"))
    assert told.code == 0, told.err
    text = front.config.read_text(encoding="utf-8")
    assert 'actors = ["maya.example"]' in text and "lantern/nothing" not in text and not front.secrets.exists()


def test_another_token_only_after_a_yes(front: Front) -> None:
    """One that is there is used; if it is refused, another one takes its place only when somebody says so."""
    front.secrets.write_text('[sources.gitlab]\ntoken = "old"  # mine\n', encoding="utf-8")
    before = front.files()
    told = front.ask("init", "--gitlab", "lantern/console", typed=f"y\n{GOOD}\nn\n")
    assert told.code == 1 and "nothing was written" in told.err and front.files() == before
    told = front.ask("init", "--gitlab", "lantern/console", typed=f"y\n{GOOD}\ny\nn\n")
    assert told.code == 0, told.err
    assert front.secrets.read_text(encoding="utf-8") == f'[sources.gitlab]\ntoken = "{GOOD}"  # mine\n'


def test_a_link_to_another_server_asks_first_and_sends_it_no_old_token(front: Front) -> None:
    with serving(GitLabApp(front.gitlab.world)) as elsewhere:
        front.secrets.write_text(f'[sources.gitlab]\ntoken = "{GOOD}"\n', encoding="utf-8")
        before = front.files()
        told = front.ask("init", "--gitlab", f"{elsewhere}/lantern/console/-/merge_requests/1")
        assert told.code == 2 and "wants a token" in told.err and front.files() == before
        told = front.ask("init", "--gitlab", f"{elsewhere}/lantern/console", typed=f"{GOOD}\nn\n")
        assert told.code == 1 and f"to {elsewhere}" in " ".join(told.err.split()) and front.files() == before
        told = front.ask("init", "--gitlab", f"{elsewhere}/lantern/console", typed=f"{GOOD}\ny\nn\n")
        assert told.code == 0, told.err
        assert f'api_url = "{elsewhere}"' in front.config.read_text(encoding="utf-8")


def test_hostile_names_and_answers_reach_no_screen(front: Front) -> None:
    """Control characters are neutralised, whoever wrote them."""
    told = front.ask("init", "--bluesky", "maya\x1b[2J.example", "--github", "lantern/\x1b]0;hi\x07x", typed="n\n")
    assert told.code != 0 and "\x1b" not in told.out + told.err
    front.gitlab.rewrite = lambda request, data: (
        {**data, "path_with_namespace": "a/\x1b[31mb"} if "id" in data else data
    )
    told = front.ask("init", "--gitlab", "lantern/console", "--token-from-env", SOURCES__GITLAB__TOKEN=GOOD)
    assert "is called a/" in told.err and "\x1b" not in told.out + told.err


def test_a_file_that_cannot_be_edited_is_left(front: Front) -> None:
    """Both files are made before the first is written: no token without its project."""
    text = front.config.read_text(encoding="utf-8")
    front.config.write_text(text.replace('# projects = ["group/name"]', 'projects = "group/name"'), encoding="utf-8")
    before = front.files()
    told = front.ask("init", "--gitlab", "lantern/console", typed=f"{GOOD}\nn\n")
    assert told.code == 2 and "by hand" in told.err
    assert front.files() == before


def test_the_environment_that_overrules_the_files_is_named(front: Front) -> None:
    told = front.ask("init", "--github", "lantern/lantern", SOURCES__GITHUB__REPOS='["a/b"]')
    assert told.code == 2 and "SOURCES__GITHUB__REPOS" in told.err


def test_doctor_when_all_is_well_and_when_not(front: Front) -> None:
    """What is wrong first, with its remedy, within 80 columns; exit 1 only if something must be done."""
    tokens = {"SOURCES__GITHUB__TOKEN": GOOD, "SOURCES__GITLAB__TOKEN": GOOD}
    text = front.config.read_text(encoding="utf-8").replace("maya/attic", "lantern/lantern")
    front.config.write_text(
        text.replace('# projects = ["group/name"]', 'projects = ["lantern/console"]'), encoding="utf-8"
    )
    told = front.ask("doctor", **tokens)
    assert told.code == 0 and told.lines[0] == "Nothing must be done", told.out
    assert all(len(line) <= 80 for line in told.out.splitlines())
    front.gitlab.access.scopes[GOOD] = ["read_user"]
    front.secrets.write_text("", encoding="utf-8")
    front.secrets.chmod(0o644)
    told = front.ask("doctor", **tokens)
    assert told.code == 1 and told.lines[0] == "1 thing must be done"
    assert told.lines[1].startswith("! GitLab") and "chmod 600" in told.out
    found = orjson.loads(front.ask("doctor", "--json", **tokens).out)
    assert not found["ok"] and found["data"]["wrong"] == 1 and found["meta"]["exit_code"] == 1
    first = found["data"]["findings"][0]
    assert (first["level"], first["about"]) == ("wrong", "GitLab") and "read_api" in first["remedy"]


def test_doctor_without_anything_and_with_nonsense(front: Front) -> None:
    """What is set wrongly is a finding like any other, and keeps nothing else from being looked at."""
    front.config.write_text("[earshot]\nmax_retries = 0\n", encoding="utf-8")
    told = front.ask("doctor")
    assert told.code == 1 and "earshot init" in told.out
    front.config.write_text(
        '[sources.github]\nrepo = ["a/b"]\n[sources.gitlab]\nprojects = ["nonsense"]\n', encoding="utf-8"
    )
    told = front.ask("doctor")
    assert told.code == 1 and "'repos'" in told.out and "neither group/name" in told.out and "disk" in told.out


def test_doctor_names_who_holds_the_lock_and_disturbs_nobody(front: Front) -> None:
    files = Files(front.folder / "data")
    files.make()
    with files.alone():
        told = front.ask("doctor")
        assert f"process {os.getpid()}" in " ".join(told.out.split())
    assert "another run holds" not in front.ask("doctor").out


def test_doctor_tells_of_a_destination_out_of_reach(front: Front) -> None:
    """Why, and what to do; never with the password."""
    pytest.importorskip("psycopg2")
    front.config.write_text('[earshot]\ndestination = "postgres"\n', encoding="utf-8")
    told = front.ask("doctor", DESTINATION__POSTGRES__CREDENTIALS="postgresql://me:geheim@127.0.0.1:9/db")
    assert told.code == 1 and "geheim" not in told.out + told.err
    assert "me@127.0.0.1:9/db cannot be read" in " ".join(told.out.split()) and "server is up" in told.out


def test_a_token_that_git_would_commit_is_told(front: Front) -> None:
    """Right after it was written, and by the doctor; not where git ignores it, nor outside of a repository."""
    said = "the next commit may take .dlt/secrets.toml along"
    typed = "lantern/lantern\n" + GOOD + "\n\n\nn\n"
    assert said not in front.ask("init", typed=typed).out and front.secrets.exists()
    subprocess.run(["git", "init", "--quiet", str(front.folder)], check=True)
    assert said in " ".join(front.ask("init", typed="\n\n\n\nn\n").out.split())
    assert said in " ".join(front.ask("doctor").out.split())
    (front.folder / ".gitignore").write_text(".dlt/*secrets.toml\n", encoding="utf-8")
    assert said not in " ".join(front.ask("doctor").out.split())
