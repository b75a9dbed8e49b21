"""A demo world on a real socket: in a thread for tests and `--demo`, or as its own process for benchmarks.

python -m pipelines.demo.server.serve --port 8123 --comments 100000
python -m pipelines.demo.server.serve --service gitlab --merge-requests 500 --discussions 10 --notes 3
python -m pipelines.demo.server.serve --service bluesky --accounts 342 --posts 50
curl -X POST 'http://127.0.0.1:8123/_world/touch?changes=20'    make 20 edits
curl 'http://127.0.0.1:8123/_world/log'                         what was asked so far; POST forgets it
"""

import argparse
import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any

import pendulum

from pipelines.demo.bluesky import fill as bluesky_fill
from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github import fill as github_fill
from pipelines.demo.github.api import access
from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab import fill as gitlab_fill
from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import App, Request, Response, Switches

START_SECONDS = 10
NOW = pendulum.datetime(2025, 6, 2, 9)
AMOUNTS = {
    "github": {"pulls": 300, "issues": 0, "comments": 6000, "review-comments": 3000, "reviews": 0},
    "gitlab": {"merge-requests": 500, "issues": 0, "discussions": 10, "notes": 3},
    "bluesky": {"accounts": 342, "posts": 50, "days": 60},
}


@contextmanager
def serving(app: App) -> Iterator[str]:
    """Its base URL on 127.0.0.1, on a port that was free."""
    listener = _listener(0)
    told: Future[Callable[[], object]] = Future()
    thread = threading.Thread(target=asyncio.run, args=(_served(app, listener, told),), daemon=True)
    thread.start()
    end = told.result(START_SECONDS)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        end()
        thread.join()
        listener.close()


async def _served(app: App, listener: socket.socket, told: "Future[Callable[[], object]]") -> None:
    """Until what it tells first is called, and then at once: uvicorn's own loop looks ten times a second."""
    server, over = _server(app), asyncio.Event()
    try:
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup(sockets=[listener])
    except BaseException as error:
        told.set_exception(error)
        raise
    told.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, over.set))
    await over.wait()
    for each in server.servers:
        each.close()
    for connection in list(server.server_state.connections):
        connection.shutdown()


class Bench(App):
    """A service with a back door, for a benchmark in another process."""

    def __init__(self, service: App, answer: Callable[[Request], Response], world: Any, stir: Callable[[int], int]):
        super().__init__(self.answer, lambda: world.now, service.switches)
        self._world, self._serve, self._stir = world, answer, stir

    def answer(self, request: Request) -> Response:
        if request.path == "/_world/touch" and request.method == "POST":
            said = self._stir(int(request.query.get("changes", "20")))
            return Response(200, {"now": str(self._world.now), "comments": said})
        if request.path == "/_world/log":
            return self._told(forget=request.method == "POST")
        return self._serve(request)

    def _told(self, forget: bool) -> Response:
        calls = [call for call in self.log if not call.path.startswith("/_world/")]
        told = {
            "requests": len(calls),
            "queries": sum(call.path.endswith("/graphql") for call in calls),
            "conditional": sum(call.conditional for call in calls),
            "statuses": {str(status): n for status, n in Counter(call.status for call in calls).items()},
            "max_in_flight": self.max_in_flight,
        }
        if forget:
            self.log.clear()
            self.max_in_flight = 0
        return Response(200, told)


def github(place: str, amounts: dict[str, int], switches: Switches) -> Bench:
    world = GitHubWorld(NOW)
    repos = [world.add_repo(name) for name in place.split(",")]
    for repo in repos:
        world.fill(repo, **amounts)
    service = GitHubApp(world, switches, access.Access(quota=10**9, anonymous_quota=10**9, points=10**9))

    def stir(changes: int) -> int:
        github_fill.stir(world, repos[0], changes)
        return len(repos[0].comments.rows)

    return Bench(service, service.answer, world, stir)


def gitlab(place: str, amounts: dict[str, int], switches: Switches) -> Bench:
    world = GitLabWorld(NOW)
    projects = [world.add_project(name) for name in place.split(",")]
    for project in projects:
        world.fill(project, **amounts)
    service = GitLabApp(world, switches)

    def stir(changes: int) -> int:
        gitlab_fill.stir(world, projects[0], changes)
        return sum(mr.user_notes_count for mr in projects[0].merge_requests.values())

    return Bench(service, service.answer, world, stir)


def bluesky(place: str, amounts: dict[str, int], switches: Switches) -> Bench:
    """`person-0000.bsky.social` and so on. There is no place: everybody is everywhere."""
    world = BlueskyWorld(NOW)
    world.fill(**amounts)
    service = BlueskyApp(world, switches)

    def stir(changes: int) -> int:
        bluesky_fill.stir(world, changes)
        return sum(account.posts_count for account in world.accounts.values())

    return Bench(service, service.answer, world, stir)


def _listener(port: int) -> socket.socket:
    """With its protocol said: else the loop leaves Nagle's algorithm on, and every answer is 40 ms late."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


def _server(app: App) -> Any:
    import uvicorn  # only who serves needs it

    config = uvicorn.Config(
        app,
        lifespan="off",
        log_level="critical",
        access_log=False,
        date_header=False,  # the world tells its own time
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--service", choices=AMOUNTS, default="github")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--repo", "--project", default="lantern/lantern", help="or several, with commas between")
    for kind in dict.fromkeys(kind for amounts in AMOUNTS.values() for kind in amounts):
        parser.add_argument(
            f"--{kind}",
            type=int,
            help="how many; of notes per discussion, of those per merge request, of posts per account, in so many days",
        )
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()

    given = {kind: getattr(options, kind.replace("-", "_")) for amounts in AMOUNTS.values() for kind in amounts}
    if strange := [kind for kind, n in given.items() if n is not None and kind not in AMOUNTS[options.service]]:
        parser.error(f"{options.service} has no {', '.join(strange)}")
    amounts = {
        kind.replace("-", "_"): usual if given[kind] is None else given[kind]
        for kind, usual in AMOUNTS[options.service].items()
    }
    make = {"github": github, "gitlab": gitlab, "bluesky": bluesky}[options.service]
    bench = make(options.repo, amounts, Switches(latency=options.latency))
    listener = _listener(options.port)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    _server(bench).run(sockets=[listener])


if __name__ == "__main__":
    main()
