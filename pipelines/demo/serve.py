"""The demo world on a real socket: in a thread for tests and `--demo`, or as its own process for benchmarks.

python -m pipelines.demo.serve --port 8123 --comments 100000
curl -X POST 'http://127.0.0.1:8123/_world/touch?changes=20'    make 20 edits
curl 'http://127.0.0.1:8123/_world/log'                         what was asked so far; POST forgets it
"""

import argparse
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pendulum

from pipelines.demo import github_fill
from pipelines.demo.github_access import Access
from pipelines.demo.github_api import GitHubApp
from pipelines.demo.github_repo import Repo
from pipelines.demo.github_world import GitHubWorld
from pipelines.demo.web import App, Request, Response, Switches

START_SECONDS = 10


@contextmanager
def serving(app: App) -> Iterator[str]:
    """Its base URL on 127.0.0.1, on a port that was free."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = _server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RuntimeError("the demo server did not start")
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


class Bench(GitHubApp):
    """The service with a back door, for a benchmark in another process."""

    def __init__(self, world: GitHubWorld, repo: Repo, switches: Switches) -> None:
        super().__init__(world, switches, Access(quota=10**9, anonymous_quota=10**9))
        self._repo = repo

    def answer(self, request: Request) -> Response:
        if request.path == "/_world/touch" and request.method == "POST":
            github_fill.stir(self.world, self._repo, int(request.query.get("changes", "20")))
            return Response(200, {"now": str(self.world.now), "comments": len(self._repo.comments.rows)})
        if request.path == "/_world/log":
            return self._told(forget=request.method == "POST")
        return super().answer(request)

    def _told(self, forget: bool) -> Response:
        calls = [call for call in self.log if not call.path.startswith("/_world/")]
        told = {
            "requests": len(calls),
            "conditional": sum(call.conditional for call in calls),
            "statuses": {str(status): n for status, n in Counter(call.status for call in calls).items()},
            "max_in_flight": self.max_in_flight,
        }
        if forget:
            self.log.clear()
            self.max_in_flight = 0
        return Response(200, told)


def _server(app: App) -> Any:
    import uvicorn  # only who serves needs it

    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        date_header=False,  # the world tells its own time
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--repo", default="lantern/lantern")
    for kind, amount in {"pulls": 300, "issues": 0, "comments": 6000, "review-comments": 3000, "reviews": 0}.items():
        parser.add_argument(f"--{kind}", type=int, default=amount)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()

    world = GitHubWorld(pendulum.datetime(2025, 6, 2, 9))
    repo = world.add_repo(options.repo)
    world.fill(repo, options.pulls, options.comments, options.review_comments, options.issues, options.reviews)
    listener = socket.create_server(("127.0.0.1", options.port))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    _server(Bench(world, repo, Switches(latency=options.latency))).run(sockets=[listener])


if __name__ == "__main__":
    main()
