"""How a conversation on Bluesky is written down: like a GitHub thread (see `story_script`), with Bluesky's own words.

    Talk("soup", "08-05 09:12", say("", "ines", "Soup?", "q"), reply("5m", "maya", "q", "Soup."), repost("1h", "benji", "q"))

`name=` keeps a post for later lines; `"soup.q"` finds it from any other talk.
"""

from collections.abc import Callable
from typing import Any

from pipelines.demo.bluesky.state import Account, Post
from pipelines.demo.story.clock import on_day
from pipelines.demo.story.github.script import Line, Scene, Thread, prose

__all__ = ["Talk", "delete", "edit", "happen", "pin", "quote", "reply", "repost", "say", "unrepost"]


class Stage(Scene):
    """One conversation while it is played."""

    def made(self, name: str) -> Any:
        return self.names[name if "." in name else f"{self.thread}.{name}"]

    def who(self, short: str) -> Account:
        account: Account = self.names[f"@{short}"]
        return account


class Talk(Thread):
    scene = Stage


def say(when: str, who: str, text: str, name: str = "", created: str = "", **more: Any) -> Line:
    """`created`: what the author claims, where that is not the time of it."""

    def act(s: Stage) -> Any:
        claimed = {"created": on_day(created, s.names)} if created else {}
        return s.world.post(s.who(who), prose(text), **claimed, **more)

    return _line(when, act, name)


def reply(when: str, who: str, to: str, text: str, name: str = "", **more: Any) -> Line:
    return _line(when, lambda s: s.world.reply(s.who(who), s.made(to), prose(text), **more), name)


def quote(when: str, who: str, of: str, text: str, name: str = "", **more: Any) -> Line:
    return _line(when, lambda s: s.world.quote(s.who(who), s.made(of), prose(text), **more), name)


def repost(when: str, who: str, of: str, name: str = "") -> Line:
    return _line(when, lambda s: s.world.repost(s.who(who), s.made(of)), name)


def unrepost(when: str, what: str) -> Line:
    return _line(when, lambda s: s.world.unrepost(s.made(what)))


def edit(when: str, what: str, text: str) -> Line:
    return _line(when, lambda s: s.world.edit(s.made(what), prose(text)))


def delete(when: str, what: str) -> Line:
    return _line(when, lambda s: s.world.delete(s.made(what)))


def pin(when: str, what: str) -> Line:
    return _line(when, lambda s: s.world.pin(_post(s.made(what))))


def happen(when: str, what: Callable[[Any, Any], Any]) -> Line:
    """Anything else: `what` is given the world and a function from short names to accounts."""
    return _line(when, lambda s: what(s.world, s.who))


def _line(when: str, act: Callable[[Stage], Any], name: str = "") -> Line:
    def perform(scene: Scene) -> Any:
        assert isinstance(scene, Stage)
        return act(scene)

    return Line(when, perform, name)


def _post(made: Any) -> Post:
    assert isinstance(made, Post)
    return made
