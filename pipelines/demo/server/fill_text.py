"""What people say in worlds that are filled in bulk."""

from random import Random

PROSE = (
    "the cursor moves only with its rows and a page that is short may still have a next one so we read on until "
    "nothing is left `retry(after=60)` works for me on the second run but the first lost an edit see the log below "
    "could we keep both versions and say which is newer thanks this is what I meant please rebase on main again"
)


def prose(random: Random) -> str:
    """200 to 3000 characters, mostly short, never twice the same."""
    size = int(220 + 2760 * random.random() ** 3)
    start = random.randrange(len(_POOL) - size)
    return f"({random.getrandbits(48):012x}) {_POOL[start : start + size].strip()}"


_POOL = " ".join(Random(7).choices(PROSE.split(), k=4000))
