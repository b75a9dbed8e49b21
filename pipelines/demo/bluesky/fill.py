"""Past activity in bulk: the worlds of size tests and benchmarks, the same at every run."""

from random import Random

import pendulum

from pipelines.demo.bluesky.posts import Posts
from pipelines.demo.bluesky.state import Account, Card, Image, Post
from pipelines.demo.server.fill_text import prose

PAGES = [f"https://docs.lantern.example/{page}" for page in ("releases/1.0", "purge", "tokens", "tuning", "upgrade")]
TEXT = 280


def fill(world: Posts, accounts: int, posts: int, days: int) -> list[Account]:
    """As many new accounts with as many items each: replies, quotes, reposts, pictures and links among them."""
    random = Random(f"{accounts} {posts} {days}")
    end = world.now
    start, span = end.timestamp() - days * 86400, days * 86400 - 1
    world.now = pendulum.from_timestamp(start)
    first = len(world.accounts)
    people = [world.account(f"person-{first + n:04}.bsky.social", f"Person {first + n}") for n in range(accounts)]
    recent: list[Post] = []
    for n in range(posts):
        for i, account in enumerate(people):
            share = (n + (i + random.random()) / len(people)) / posts
            world.now = max(world.now, pendulum.from_timestamp(start + share * span))
            speak(world, account, random, recent)
    world.now = end
    return people


def stir(world: Posts, changes: int) -> None:
    """New posts, edits, deletions and reposts by as many accounts, a second apart."""
    random = Random(len(world.history))
    people = [account for account in world.accounts.values() if account.is_active]
    for _ in range(changes):
        world.advance(seconds=1)
        account, chance = random.choice(people), random.random()
        mine = list(account.posts.values())
        if mine and chance < 0.1:
            world.edit(mine[-1], prose(random)[:TEXT])
        elif mine and chance < 0.2:
            world.delete(mine[-1])
        else:
            speak(world, account, random, mine[-1:])


def speak(world: Posts, account: Account, random: Random, recent: list[Post]) -> None:
    chance, text = random.random(), prose(random)[:TEXT]
    other = random.choice(recent) if recent else None
    if other and chance < 0.1:
        world.repost(account, other)
        return
    if other and chance < 0.25:
        made = world.reply(account, other, text)
    elif other and chance < 0.3:
        made = world.quote(account, other, text)
    elif chance < 0.4:
        made = world.post(account, text, images=[Image(f"A screen. {text[:40]}")])
    elif chance < 0.6:
        made = world.post(account, text, card=Card(random.choice(PAGES), "Lantern", "The manual"))
    else:
        made = world.post(account, text)
    recent.append(made)
    del recent[:-50]
