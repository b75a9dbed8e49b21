"""The repositories of the story and the people and programs who speak in them."""

from typing import Any

from pipelines.demo.story.clock import START, Beat, Names

__all__ = ["BENCH", "BOTS", "CI", "DEPENDABOT", "DOCS", "LANTERN", "PEOPLE", "prologue"]

LANTERN = "lantern/lantern"  # a caching HTTP proxy, in Go
DOCS = "lantern/lantern-docs"  # its manual
BENCH = "maya/lantern-bench"  # maya's own, private, and given up

DEPENDABOT = "dependabot[bot]"
CI = "lantern-ci[bot]"
BOTS = (DEPENDABOT, CI)

PEOPLE = {
    "maya": "founder and maintainer; short, warm, asks the question everybody avoided",
    "tomasz-w": "maintainer of the cache core; exact, wants the test first",
    "ines-r": "maintainer of releases and docs; keeps the lists",
    "haruki": "performance; brings benchmarks, writes Japanese to himself",
    "kofi": "runs Lantern at a newspaper; hunts the memory leak",
    "sanvi": "security; numbered points, threat models, no drama",
    "odile": "runs forty edge nodes and has been woken by all of them; grumpy, usually right",
    "benji": "a newcomer with a first pull request",
    "freja": "uses a screen reader, reports what the docs sound like",
    "liu-yan": "translates the manual into Chinese",
    "pete-q": "asks short questions and waits",
    "old-otter": "knows Windows; deletes the account in October",
    "seo-rocket-88": "spam",
}
MEMBERS = ("maya", "tomasz-w", "ines-r", "haruki", "sanvi")  # of the organisation
TEAMS = {"cache-core": {"tomasz-w", "haruki"}, "docs": {"ines-r"}, "edge-operators": set[str]()}  # of it
COLLABORATORS = {DOCS: ("liu-yan",), BENCH: ("haruki",)}  # from outside, by repository
CONTRIBUTORS = ("benji", "kofi", "old-otter", "dependabot[bot]")  # before the story begins


def prologue() -> list[Beat]:
    """Before anybody speaks: the repositories and the accounts exist."""

    def enter(world: Any, names: Names) -> None:
        for repo in (LANTERN, DOCS, BENCH):
            made = names["repo " + repo] = world.add_repo(repo, private=repo == BENCH)
            if repo != BENCH:
                made.members.update(MEMBERS)
                made.teams.update(TEAMS)
            made.collaborators.update(COLLABORATORS.get(repo, ()))
            made.contributors.update(CONTRIBUTORS)
        for login in PEOPLE:
            world.user(login)
        for login in BOTS:
            world.user(login, bot=True)

    return [Beat(START, enter)]
