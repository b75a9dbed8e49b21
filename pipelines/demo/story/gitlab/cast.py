"""The GitLab projects of the story, and who speaks in them. Most of the people are on GitHub too, see `story_cast`."""

from typing import Any

from pipelines.demo.gitlab.state import ExternalIssue
from pipelines.demo.story.clock import START, Beat, Names, on_day

__all__ = ["BOTS", "CHARTS", "CI", "CONSOLE", "INTERN", "PEOPLE", "READER", "RENOVATE", "SKETCHES", "prologue"]

CONSOLE = "lantern/console"  # Lantern's web console, in TypeScript
CHARTS = "lantern/charts"  # the charts that it draws

SKETCHES = "lantern/sketches"  # what was drawn on paper first; private, and archived before the release

CI = "project_1001_bot_7f3a90c2"
RENOVATE = "renovate-bot"
BOTS = {CI: "console-ci", RENOVATE: "Renovate Bot"}
INTERN = "summer-intern"  # whose account is deleted in the end
READER = "earshot"  # whose token the demo reads with

PEOPLE = {
    "noor": ("Noor Haddad", "leads the console; designs it, writes half of it, draws before she argues"),
    "maya": ("Maya Okafor", "founder of Lantern; looks in, asks what it is for"),
    "tomasz-w": ("Tomasz Wrona", "wants the test first, here too"),
    "ines-r": ("Inês Ribeiro", "releases; keeps the lists"),
    "haruki": ("Haruki Mori", "performance; brings numbers"),
    "kofi": ("Kofi Asante", "operates Lantern at a newspaper, and the console with it"),
    "sanvi": ("Sanvi Rao", "security; numbered points"),
    "odile": ("Odile Marchand", "forty nodes, little patience"),
    "benji": ("Benji Cole", "new, quick, learning"),
    "freja": ("Freja Lund", "listens to the console with a screen reader"),
    "liu-yan": ("Liu Yan", "translates"),
    "pete-q": ("Pete Quill", "asks short questions and waits"),
}
TEAM = ("noor", "maya", "tomasz-w", "ines-r", "sanvi", READER)


def prologue() -> list[Beat]:
    """Before anybody speaks: projects, accounts, milestones, and who may read what is internal."""

    def enter(world: Any, names: Names) -> None:
        for path in (CONSOLE, CHARTS, SKETCHES):
            project = names["repo " + path] = world.add_project(path, private=path == SKETCHES)
            project.team.update(TEAM)
        names["repo " + CONSOLE].tracker["LAMP-12"] = ExternalIssue("LAMP-12", "Nobody may purge the wrong cluster")
        world.user(READER, "Earshot")
        for username, (name, _) in PEOPLE.items():
            world.user(username, name)
        for username, name in BOTS.items():
            world.user(username, name, bot=True)
        for title, due in (("1.0", "2026-11-02"), ("1.1", "2026-12-14")):
            names["repo " + CONSOLE].project_milestone(title, on_day(due, names))

    return [Beat(START, enter)]
