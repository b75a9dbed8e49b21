"""The demo Bluesky as a service: one app that is the AppView, every PDS and the directory of DIDs.

Which of them is asked is a matter of the host: `plc.directory`, the `pds` of some account, and the AppView for all
other names. Where there is one host only, as on a loopback socket, they have roots of their own: `/plc/{did}` and
`/pds/{host}/xrpc/…`. DID documents got from there lead to there.
"""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from pipelines.demo.bluesky.api.access import Access, Refused, refused
from pipelines.demo.bluesky.api.endpoints import METHODS
from pipelines.demo.bluesky.hosts import LIST_RECORDS, did_document, list_records
from pipelines.demo.bluesky.names import Json, dumps
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.server.web import App, Request, Response, Switches, conditional

PLC, PDS, XRPC = "plc.directory", "/pds/", "/xrpc/"
KEPT_ANSWERS = 1000

Key = tuple[str, tuple[tuple[str, str], ...]]


class BlueskyApp(App):
    def __init__(self, world: BlueskyWorld, switches: Switches | None = None, access: Access | None = None) -> None:
        super().__init__(self.answer, lambda: world.now, switches)
        self.world = world
        self.access = access or Access()
        self.rewrite: Callable[[Request, Any], Any] | None = None  # change what an answer says: broken rows
        self._answers: dict[Key, tuple[int, bytes]] = {}

    def answer(self, request: Request) -> Response:
        try:
            response = self._routed(request)
        except Refused as refusal:
            response = refusal.response
        if self.rewrite and response.status == 200:
            response.body = dumps(self.rewrite(request, json.loads(response.encoded())))
        return conditional(request, response)

    def _routed(self, request: Request) -> Response:
        host, path = request.headers.get("host", "").partition(":")[0], request.path
        if path.startswith(PDS):
            host, _, rest = path.removeprefix(PDS).partition("/")
            return self._pds(request, host, f"/{rest}")
        if path.startswith("/plc/"):
            return self._directory(unquote(path.removeprefix("/plc/")), f"{request.root}{PDS}")
        if host == PLC:
            return self._directory(unquote(path[1:]), "https://")
        if host in self.world.hosts:
            return self._pds(request, host, path)
        return self._appview(request)

    def _appview(self, request: Request) -> Response:
        self.access.admit()
        method = METHODS.get(_method(request, request.path))
        if method is None:
            raise _not_implemented()
        return Response(200, self._kept(request, lambda: method(self, request)))

    def _pds(self, request: Request, host: str, path: str) -> Response:
        headers = self.access.count(host, self.world.now.int_timestamp)
        try:
            if _method(request, path) != LIST_RECORDS:
                raise _not_implemented()
            return Response(200, dumps(list_records(self, request, host)), headers)
        except Refused as refusal:
            refusal.response.headers |= headers
            raise

    def _directory(self, did: str, root: str) -> Response:
        account = self.world.accounts.get(did)
        return did_document(account, did, f"{root}{account.pds if account else ''}")

    def _kept(self, request: Request, make: Callable[[], Json]) -> bytes:
        """The same question in the same world is not worked out again, unless a test may have changed the answer."""
        if self.switches.hide or self.switches.max_per_page or self.access.blocked:
            return dumps(make())
        key = request.path, request.pairs
        known = self._answers.get(key)
        state = hash((self.world.revision, *vars(self.access.quirks).values()))
        if known is None or known[0] != state:
            if len(self._answers) >= KEPT_ANSWERS:
                self._answers.clear()
            known = self._answers[key] = (state, dumps(make()))
        return known[1]


def _method(request: Request, path: str) -> str:
    if not path.startswith(XRPC):
        raise Refused(Response(404, b"Not Found", {"content-type": "text/plain; charset=utf-8"}))
    if request.method not in {"GET", "HEAD"}:
        raise refused(f"Incorrect HTTP method ({request.method}) expected GET")
    return path.removeprefix(XRPC)


def _not_implemented() -> Refused:
    return refused("Method Not Implemented", "MethodNotImplemented", 501)
