"""The AppView's methods, and the answer that the real one gives at each to a reader who is not signed in."""

from pipelines.demo.bluesky.api import access as asked
from pipelines.demo.bluesky.api import rows
from pipelines.demo.bluesky.api.access import refused
from pipelines.demo.bluesky.api.service import Service
from pipelines.demo.bluesky.feed import cut, self_threads
from pipelines.demo.bluesky.names import Json
from pipelines.demo.bluesky.state import Account
from pipelines.demo.server.web import Request, page_size, visible

NOT_FOUND = "Profile not found"


def author_feed(app: Service, request: Request) -> Json:
    """Gone is gone here: unknown, deactivated, suspended and taken down read alike."""
    name, limit = asked.actor(request), asked.limit(request)
    with_pin, kind = asked.flag(request, "includePins"), request.query.get("filter", "posts_with_replies")
    account = app.world.found(name)
    if account is None or not account.is_active:
        raise refused(NOT_FOUND)
    app.access.let_through(account.did)
    cursor = request.query.get("cursor") or None
    page = cut(account, cursor, page_size(limit, app.switches), kind, app.access.quirks)
    items = [item for item in page.items if item.is_shown]
    if kind == "posts_and_author_threads":
        items = self_threads(items)
    items = visible(items, app.switches)
    pin = account.pinned if with_pin and not cursor else None
    feed = [rows.feed_item(item) for item in items if pin is None or item.post is not pin]
    if pin and pin.is_shown:
        feed.insert(0, rows.feed_item(pin, is_pin=True))
    return {"feed": feed} | ({"cursor": page.cursor} if page.cursor else {})


def posts(app: Service, request: Request) -> Json:
    """In the order asked for, without those that are not there; an at-uri may name its author by handle."""
    found = []
    for uri in asked.uris(request):
        name, _, rest = uri.removeprefix("at://").partition("/")
        owner = app.world.found(name)
        post = app.world.posts.get(f"at://{owner.did}/{rest}") if owner else None
        if post and post.is_shown:
            found.append(rows.post(post))
    return {"posts": found}


def profile(app: Service, request: Request) -> Json:
    account = app.world.found(asked.actor(request))
    if account is None or account.status in {"hidden", "deleted"}:
        raise refused(NOT_FOUND)
    if account.status in {"suspended", "takendown"}:
        raise refused("Account has been suspended", "AccountTakedown")
    if account.status == "deactivated":
        raise refused("Account is deactivated", "AccountDeactivated")
    return rows.profile(account)


def profiles(app: Service, request: Request) -> Json:
    """One malformed actor fails all; the missing are left out without a word."""
    named: list[Account | None] = [app.world.found(name) for name in asked.actors(request)]
    return {"profiles": [rows.profile(account) for account in named if account and account.is_active]}


def resolve_handle(app: Service, request: Request) -> Json:
    """Also of an account that is away."""
    account = app.world.handles.get(asked.handle(request).lower())
    if account is None:
        raise refused("Unable to resolve handle")
    return {"did": account.did}


METHODS = {
    "app.bsky.feed.getAuthorFeed": author_feed,
    "app.bsky.feed.getPosts": posts,
    "app.bsky.actor.getProfile": profile,
    "app.bsky.actor.getProfiles": profiles,
    "com.atproto.identity.resolveHandle": resolve_handle,
}
