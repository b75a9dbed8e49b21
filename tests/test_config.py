"""Settings: dlt's places, strict names and types."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipelines.settings import EmbedConfig, configured, data_dir, load
from sources.core.config import ConfigError, Secret, read_settings, section
from sources.github.source import GithubConfig
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.threads import NO_TOKEN


@dataclass(frozen=True)
class Shape:
    count: int = 1
    ratio: float = 1.0
    on: bool = False
    names: list[str] = field(default_factory=list)
    pulls: dict[str, list[int]] = field(default_factory=dict)
    token: Secret = Secret()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".dlt").mkdir()
    return tmp_path


def write(folder: Path, text: str, name: str = "config.toml") -> None:
    (folder / ".dlt" / name).write_text(text)


def test_the_environment_wins_over_secrets_and_secrets_over_config(folder: Path) -> None:
    """As dlt does it."""
    write(folder, "[sources.github]\ntoken = 'a'\nrepos = ['x/y']\noverlap_seconds = 5")
    write(folder, "[sources.github]\ntoken = 'b'", "secrets.toml")
    environ = {"SOURCES__GITHUB__OVERLAP_SECONDS": "7", "SOURCES__GITHUB__REPOS": '["p/q"]', "UNRELATED": "1"}
    config = section(read_settings(folder / ".dlt", environ), "sources.github", GithubConfig)
    assert (config.token, config.overlap_seconds, config.repos) == ("b", 7, ["p/q"])


@pytest.mark.parametrize(("text", "message"), [
    ("[s]\nconut = 3", "unknown setting 'conut'; did you mean 'count'"),
    ("[s]\ncount = '3x'", r"\[s\] count: expected int, got str"),
    ("[s]\ncount = true", r"\[s\] count: expected int, got bool"),
    ("[s]\nnames = 'a'\non = 1", r"\[s\] on: expected bool, got int"),
    ("[s]\nnames = [1]", r"\[s\] names\[0\]: expected str, got int"),
    ("[s]\npulls = {'a/b' = ['x']}", r"\[s\] pulls.a/b\[0\]: expected int"),
    ("[s\n", "not valid TOML"),
])  # fmt: skip
def test_a_wrong_setting_is_refused_by_name(folder: Path, text: str, message: str) -> None:
    """A misspelt key that is ignored looks exactly like a working one."""
    write(folder, text)
    with pytest.raises(ConfigError, match=message):
        section(read_settings(folder / ".dlt", {}), "s", Shape)


def test_a_misspelt_source_is_refused(folder: Path) -> None:
    """Also where nothing would read the section."""
    write(folder, "[sources.githubb]\nrepos = ['a/b']")
    with pytest.raises(ConfigError, match="did you mean 'github'"):
        load(folder, {})


@pytest.mark.parametrize("name", ["source", "Sources", "earshott", "destinations"])
def test_a_misspelt_table_is_refused(folder: Path, name: str) -> None:
    """All that stands in it would be left out; a table of dlt's own is none of ours."""
    write(folder, f"[{name}.github]\nrepos = ['a/b']")
    with pytest.raises(ConfigError, match="did you mean"):
        load(folder, {})
    write(
        folder,
        "[runtime]\nlog_level = 'INFO'\n[load]\nworkers = 2\n[schema]\n[normalize]\n[extract]\n[pipelines]\n[data_writer]",
    )
    load(folder, {})


@pytest.mark.parametrize(("values", "message"), [
    ({"repos": ["justname"]}, "owner/name"), ({"since": "yesterday"}, "not a date"), ({"overlap_seconds": 0}, "at least 1"),
])  # fmt: skip
def test_a_setting_that_makes_no_sense_is_refused_at_once(values: dict[str, object], message: str) -> None:
    """Before anything is read."""
    with pytest.raises(ConfigError, match=message):
        GithubConfig(**values)  # type: ignore[arg-type]


def test_an_epoch_start_means_from_the_beginning() -> None:
    """GitHub answers an epoch `since` with an empty list."""
    assert GithubConfig(since="1970-01-01").floor is None
    assert str(GithubConfig(since="2025-01-31").floor) == "2025-01-31 00:00:00+00:00"


def test_nothing_configured_says_what_to_do_next(folder: Path) -> None:
    """The first thing a newcomer meets after the demo."""
    settings, config = load(folder, {})
    with pytest.raises(ConfigError, match="--demo"):
        configured(settings, config)


def test_a_source_named_twice_is_read_once(folder: Path) -> None:
    """Side by side they would be two writers of one state."""
    write(folder, "[sources.github]\nrepos = ['a/b']")
    settings, config = load(folder, {})
    assert len(configured(settings, config, ("github", "github"))) == 1


def test_the_usual_token_is_used_where_ours_is_not_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GITHUB_TOKEN, as every other tool takes it."""
    monkeypatch.setenv("GITHUB_TOKEN", "usual")
    write(folder, "[sources.github]\nrepos = ['a/b']")
    [source] = configured(*load(folder, {}))
    assert source.source.config.token == "usual"
    write(folder, "[sources.github]\nrepos = ['a/b']\napi_url = 'https://api.github.com/'")
    [named] = configured(*load(folder, {}))
    assert named.source.config.token == "usual", "the same host, called by its name"
    write(folder, "[sources.github]\nrepos = ['a/b']\napi_url = 'https://github.example.com/api/v3'")
    [elsewhere] = configured(*load(folder, {}))
    assert elsewhere.source.config.token == "", "github.com's token goes to no other host"


@pytest.mark.parametrize("token", ["ghp_\u200bx", "ghp_é", "ghp_x\nghp_y", "ghp_x "])
@pytest.mark.parametrize("make", [
    lambda secret: GithubConfig(token=secret), lambda secret: GitlabConfig(write_token=secret),
    lambda secret: EmbedConfig(api_key=secret),
])  # fmt: skip
def test_a_token_that_no_header_takes_is_refused_and_not_told(make: Callable[[Secret], Any], token: str) -> None:
    """Copied with a space of no width, it ended the run in a traceback."""
    with pytest.raises(ConfigError, match="was it copied as it is") as refused:
        make(Secret(token))
    assert "ghp" not in str(refused.value)


def test_the_variable_that_is_advised_is_read_for_every_instance(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GitLab's discussions need a token: on an instance of one's own GITLAB_TOKEN would have no effect."""
    write(folder, "[sources.gitlab]\nprojects = ['a/b']\napi_url = 'https://gitlab.example.com'")
    advised = next(word for word in str(NO_TOKEN).split() if word.endswith("_TOKEN"))
    monkeypatch.setenv(advised, "mine")
    [source] = configured(*load(folder))
    assert source.source.config.token == "mine"


def test_a_secret_is_not_shown() -> None:
    """By repr of itself or of what holds it."""
    assert "hunter2" not in repr(GithubConfig(token=Secret("hunter2")))


def test_the_data_directory_comes_from_the_environment_first(folder: Path) -> None:
    """EARSHOT_DATA, else the configuration, else data/."""
    assert data_dir(folder, {}) == folder / "data"
    write(folder, "[earshot]\ndata_dir = 'warehouse'")
    assert data_dir(folder, {}) == folder / "warehouse"
    assert data_dir(folder, {"EARSHOT_DATA": "/tmp/elsewhere"}) == Path("/tmp/elsewhere")


def test_dlts_own_command_finds_a_project_without_a_table_of_ours(folder: Path) -> None:
    """`dlt pipeline earshot_github info`, as a run advises it: also where the configuration names sources alone."""
    from pipelines.warehouse.for_dlt.home import plug_run_context

    write(folder, "[sources.github]\nrepos = ['a/b']")
    assert plug_run_context(str(folder), None) is None, "nobody's, or another project of dlt's"
    (folder / "data" / "dlt").mkdir(parents=True)
    (folder / "data" / "control.sqlite").touch()
    found = plug_run_context(str(folder), None)
    assert found and found.get_data_entity("pipelines") == str(folder / "data" / "dlt")
