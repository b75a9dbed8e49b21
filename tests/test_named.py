"""What a command line names: which place is meant by `-p` and by a number alone, which lists by `--type`, `--no-events`."""

from pathlib import Path

import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.sync.targets import choice
from sources.bluesky.source import Bluesky, BlueskyConfig
from sources.core.config import ConfigError
from sources.core.targets import Target
from sources.github.source import Github, GithubConfig
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.source import Gitlab
from tests.read_before import GitLabStory
from tests.small_gitlab import PLACE, gitlab, project, world
from tests.synced import GitLabDesk, Reached, desk
from tests.test_gitlab_kills import GitLabProject

__all__ = ["gitlab", "project", "world"]

GITHUB = Reached(Github(GithubConfig(repos=["lantern/lantern"])), None)


def on_gitlab(*projects: str, default: str = "") -> Reached:
    return Reached(Gitlab(GitlabConfig(projects=list(projects), default_project=default)), None)


def nothing(_: object) -> choice.Names:
    return {}


def place(wanted: str, project: str = "", *connected: Reached, called: choice.Called = nothing) -> str:
    kind, _, number = wanted.partition(" ")
    return choice.target_place(connected, [Target(kind, int(number))], project, called)[1]


# A number alone


@pytest.mark.parametrize(
    "other", [on_gitlab("a/one", "a/two"), on_gitlab("a/one"), on_gitlab("a/one", "a/two", default="a/two")]
)
def test_a_number_that_fits_several_places_is_refused_naming_all(other: Reached) -> None:
    """Also where one of the sources has one place and another has several: none is more likely than the rest."""
    with pytest.raises(ConfigError) as refused:
        place("issue 1", "", GITHUB, other)
    usual = [other.source.default_place] if other.source.default_place else other.source.scopes()
    for name in ("github lantern/lantern", *(f"gitlab {name}" for name in usual), "-p"):
        assert name in str(refused.value)


def test_a_number_that_fits_one_place_is_that() -> None:
    assert place("mr 1", "", GITHUB, on_gitlab("a/one")) == "a/one"
    assert place("pr 1", "", GITHUB, on_gitlab("a/one", "a/two")) == "lantern/lantern"
    assert place("issue 1", "", on_gitlab("a/one", "a/two", default="a/two")) == "a/two"
    with pytest.raises(ConfigError, match=r"a/one.*a/two"):
        place("mr 1", "", GITHUB, on_gitlab("a/one", "a/two"))


# Names of a place


def known(_: object) -> choice.Names:
    return {"old/name": {"7", "new/name"}, "12": {"12", "lantern/console"}}


@pytest.mark.parametrize(("project", "found"), [
    ("old/name", "old/name"), ("OLD/Name", "old/name"), ("7", "old/name"), ("new/name", "old/name"), ("12", "12"),
    ("lantern/console", "12"), ("console", "12"), ("/lantern/console/", "12"),
])  # fmt: skip
def test_every_name_of_a_place_is_taken(project: str, found: str) -> None:
    """What is configured, its number, and what it is called today; the last part, where it is one place's alone."""
    there = on_gitlab("old/name", "12")
    assert place("mr 1", project, there, called=known) == found
    (one,) = choice.narrowed([there], project, known)
    assert one.source.scopes() == [found]


def test_a_part_that_two_names_share_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"gitlab old/name.*github a/name"):
        place("issue 1", "name", on_gitlab("old/name"), Reached(Github(GithubConfig(repos=["a/name"])), None))


def test_the_number_and_todays_name_of_a_project(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """As the last run met it; by the configured name it was found."""
    project.rename("lantern/desk")
    gitlab.run()
    for name in (PLACE, str(project.id), "lantern/desk", "desk"):
        assert choice.matching(gitlab.source([PLACE]), name, choice.names_of(gitlab.home)) == [PLACE], name


def test_the_number_of_a_repository(tmp_path: Path) -> None:
    from tests.story import REPO, small_world

    world, repo = small_world()
    github = desk(tmp_path, world, REPO)
    github.run()
    assert choice.matching(github.source([REPO]), str(repo.id), choice.names_of(github.home)) == [REPO]


def test_the_handle_and_the_did_of_an_account() -> None:
    there = Bluesky(BlueskyConfig(actors=["did:plc:abc"]))
    assert choice.matching(there, "@maya.test", lambda _: {"did:plc:abc": {"did:plc:abc", "maya.test"}}) == [
        "did:plc:abc"
    ]


# Kinds of lists


@pytest.mark.parametrize(("types", "surfaces"), [
    ("mrs", {"merge_requests"}), ("merge_requests", {"merge_requests"}), ("issues, MRS", {"merge_requests", "issues"}),
])  # fmt: skip
def test_types_go_by_the_words_of_status(types: str, surfaces: set[str]) -> None:
    (one,) = choice.of_types([on_gitlab("a/one")], types)
    assert one.source.surfaces == surfaces


def test_types_of_github_too() -> None:
    for types, surfaces in (("issue_comments", {"issue_comments"}), ("pull_requests", {"pull_requests"}),
                            ("reviews", {"pull_requests"}), ("comments", {"issue_comments", "review_comments"})):  # fmt: skip
        (one,) = choice.of_types([GITHUB], types)
        assert one.source.surfaces == surfaces
    with pytest.raises(ConfigError, match=r"issue_comments.*merge_requests.*mrs"):
        choice.of_types([GITHUB, on_gitlab("a/one")], "nonsense")


@pytest.mark.ci
def test_what_status_and_a_dry_run_show_is_taken(story: GitLabProject) -> None:
    """Every list that they name, as they name it."""
    import orjson

    planned = orjson.loads(story.quick("--dry-run", "--json").out)["data"]["plan"][0]["lists"]
    lists = {row["list"] for row in planned}
    assert lists == {"issues", "merge_requests", "projects"}
    for name in lists:
        ended = story.quick("--type", name)
        assert ended.code == 0, ended.said
        assert [bool(ended.asked(f"/{each}")) for each in ("issues", "merge_requests")] == [
            name == "issues", name == "merge_requests"
        ]  # fmt: skip


# Events


@pytest.fixture
def story(gitlab_story: GitLabStory) -> GitLabProject:
    return gitlab_story.project


@pytest.mark.ci
def test_no_events_asks_for_none(story: GitLabProject) -> None:
    """Of named targets; the rest of what hangs on them is read."""
    for more, is_asked in ((("--no-events",), False), ((), True)):
        ended = story.quick("--mr", "1", *more)
        assert ended.code == 0 and ended.asked("/discussions")
        assert bool(ended.asked("/resource_label_events")) == is_asked


def test_what_no_events_left_is_read_by_the_next_run(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """It is due as before, and the run that left it out is not taken for one that read all."""
    world.advance(seconds=61)
    project.close(project.merge_requests[1], "maya")
    world.advance(seconds=300)
    held = "SELECT count(*) FROM gitlab.resource_events__states"
    before, source = gitlab.one(held), gitlab.source
    gitlab.source = lambda *names, **config: source(*names, **config).without_events()
    gitlab.run(is_narrowed=True)
    assert gitlab.one(held) == before and not any("resource_" in call.path for call in gitlab.app.log)
    gitlab.source = source
    gitlab.run()
    assert gitlab.one(held) == before + 1
    gitlab.judge()


def test_no_events_where_there_are_none_is_refused(tmp_path: Path) -> None:
    """No option without effect."""
    with pytest.raises(ConfigError, match=r"--no-events.*github"):
        choice.without_events([GITHUB])
    (one, _) = choice.without_events([on_gitlab("a/one"), GITHUB])
    assert one.source.config.fetch_resource_events is False


def test_a_narrowed_run_closes_no_failure_of_what_it_did_not_read(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """A merge request's notes could not be read; a run over the issues alone says nothing of them."""
    from pipelines.demo.server.web import Response
    from pipelines.state.ledger import Ledger

    def opened() -> int:
        with Ledger.open(gitlab.home.control) as ledger:
            return len(ledger.open_failures("gitlab"))

    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "new")
    gitlab.app.switches.fault = lambda request: (
        Response(403, {"message": "403"}) if request.path.endswith("merge_requests/1/discussions") else None
    )
    gitlab.run()
    gitlab.app.switches.fault = None
    assert opened() == 1
    (source,) = choice.of_types([Reached(gitlab.source(gitlab.names), gitlab.app)], "issues")
    whole, gitlab.source = gitlab.source, lambda *_, **__: source.source
    assert gitlab.run(is_narrowed=True).exit_code == 0 and opened() == 1
    gitlab.source = whole
    gitlab.run(is_narrowed=True)
    assert opened() == 0, "it was read"
