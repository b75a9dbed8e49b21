"""Who talks about Lantern on Bluesky. Most of them are on GitHub or GitLab too, see `story_cast`."""

from typing import Any

from pipelines.demo.story.clock import START, Beat, Names

__all__ = ["ACTORS", "INES_BEFORE", "LANTERN", "PEOPLE", "RUTH", "prologue"]

LANTERN = "lantern.example"
RUTH = "ruth-hale.bsky.social"
INES_BEFORE = "inesribeiro.bsky.social"  # her handle until September

# short name: handle at the story's start, display name, description
PEOPLE = {
    "lantern": (LANTERN, "Lantern 🏮", "A caching HTTP proxy that you can read in a weekend. Releases and news."),
    "maya": ("maya.lantern.example", "Maya Okafor", "Started Lantern. Asks the question everybody avoided."),
    "ines": (INES_BEFORE, "Inês Ribeiro", "Releases, manuals, lists. Lisboa."),
    "tomasz": ("tomasz-w.bsky.social", "Tomasz Wrona", "The test first, please."),
    "noor": ("noor.lantern.example", "Noor Haddad", "Lantern's console. Draws before she argues."),
    "haruki": ("haruki.bsky.social", "Haruki Mori", "性能。Numbers, and where they come from."),
    "kofi": ("kofi.harbour-gazette.example", "Kofi Asante", "Keeps the Harbour Gazette online, mostly at night."),
    "gazette": (
        "harbour-gazette.example",
        "Harbour Gazette Engineering",
        "How a newspaper of 90 people runs its servers.",
    ),
    "odile": ("odile.edges.example", "Odile Marchand", "Forty edge nodes. Has been woken by all of them."),
    "benji": ("benji.bsky.social", "Benji Cole", "Learning in public."),
    "freja": ("freja.bsky.social", "Freja Lund", "I listen to the web. Reports what it sounds like."),
    "liu-yan": ("liu-yan.bsky.social", "刘燕 Liu Yan", "翻译。Translates manuals, drinks tea."),
    "pete": ("pete-q.bsky.social", "Pete Quill", ""),
    "otter": ("old-otter.bsky.social", "Old Otter", "Windows, rivers, the last line of the error message."),
    "ruth": (RUTH, "Ruth Hale", "Writes about infrastructure. Caching is a confession."),
    "lisbon": ("lisbon-http.example", "Lisbon HTTP Meetup", "Every second Thursday of the month, with soup."),
}

# whom the demo follows, as their handles are when the first demo run looks
ACTORS = ["ines.lantern.example" if name == "ines" else handle for name, (handle, _, _) in PEOPLE.items()]


def prologue() -> list[Beat]:
    """Before anybody speaks. Freja asks not to be shown to readers who are not signed in."""

    def enter(world: Any, names: Names) -> None:
        for short, (handle, name, about) in PEOPLE.items():
            names[f"@{short}"] = world.account(handle, name, about)
        world.label_account(names["@freja"], "!no-unauthenticated")

    return [Beat(START, enter)]
