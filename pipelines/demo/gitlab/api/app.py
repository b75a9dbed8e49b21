"""The demo GitLab as a service: who comes in, which project is meant, and which endpoint answers."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import orjson

from pipelines.demo.gitlab.api.access import Access, Refused, Visitor, invalid, not_found, told, unauthorized
from pipelines.demo.gitlab.api.ask import Ask
from pipelines.demo.gitlab.api.endpoints import API, ENDPOINTS
from pipelines.demo.gitlab.api.rows import Json, Place
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.rights import Reader
from pipelines.demo.gitlab.state import Issuable, User, kind_of
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import App, Request, Response, Switches, conditional


class GitLabApp(App):
    """The service. Rows name `public_url`; links lead to `link_root`, which a badly set up server has wrong."""

    def __init__(
        self,
        world: GitLabWorld,
        switches: Switches | None = None,
        access: Access | None = None,
        public_url: str | None = None,
        link_root: str | None = None,
    ) -> None:
        super().__init__(self.answer, lambda: world.now, switches)
        self.world = world
        self.access = access or Access()
        self.rewrite: Callable[[Request, Any], Any] | None = None  # change what an answer says: broken rows
        self.public_url = public_url
        self.link_root = link_root
        self._encoded: dict[tuple[str, str, int], tuple[tuple[Any, ...], list[bytes]]] = {}

    def answer(self, request: Request) -> Response:
        second = self.world.now.int_timestamp
        try:
            visitor = self.access.visitor(request)
        except Refused as refused:
            return refused.response
        try:
            response = self.access.admit(visitor, second) or self._routed(request, visitor)
        except Refused as refused:
            response = refused.response
        if self.rewrite and response.status == 200:
            response.body = orjson.dumps(self.rewrite(request, orjson.loads(response.encoded())))
        response.headers = self.access.headers(visitor, second) | response.headers
        return conditional(request, response)

    def _routed(self, request: Request, visitor: Visitor) -> Response:
        if request.raw_path in {f"{API}/version", f"{API}/user", f"{API}/personal_access_tokens/self"}:
            return self._about(request, visitor)
        self.access.refuse_narrow(visitor)
        endpoint = ENDPOINTS.match(request.method, request.raw_path)
        if endpoint is None:
            raise invalid("404 Not Found", 404)
        (handler, needs_user), params = endpoint
        if needs_user and visitor.username is None:
            raise unauthorized()
        reference = unquote(params.pop("project"))
        project, is_former_path = self._found(reference)
        if project is None or not Reader(project, visitor.username).may_enter:
            raise not_found("Project")
        if is_former_path:
            return _moved(request, reference, project)
        place = Place(self.public_url or request.root, project)
        return handler(Ask(self, request, visitor, project, reference, place), **params)

    def _about(self, request: Request, visitor: Visitor) -> Response:
        """/version, /user and the token itself, which belong to no project. Any token may look at itself."""
        if visitor.username is None:
            raise unauthorized()
        if request.path.endswith("/self"):
            return self._token(visitor)
        self.access.refuse_narrow(visitor, "read_user")
        if request.path.endswith("/version"):
            number = "12.10.14-ee" if self.world.field_names == "old" else "18.5.1-ee"
            return Response(200, {"version": number, "revision": "0123456789a"})
        name = visitor.username
        user = self.world.users.get(name) or User(1, name, name.title())
        row = {"id": user.id, "username": user.username, "name": user.name, "state": "active", "bot": user.is_bot}
        return Response(200, row | {"web_url": f"{self.public_url or request.root}/{user.username}"})

    def _token(self, visitor: Visitor) -> Response:
        if self.world.field_names == "old":  # since 15.5
            raise invalid("404 Not Found", 404)
        row = {"id": 1, "name": "earshot", "revoked": False, "active": True, "scopes": self.access.scopes_of(visitor)}
        return Response(200, row | {"expires_at": self.access.expire.get(visitor.token)})

    def _found(self, reference: str) -> tuple[Project | None, bool]:
        """(project, whether it was asked for by a path that it had before)"""
        if reference.isdecimal():
            return self.world.projects.get(int(reference)), False
        current = self.world.paths.get(reference.lower())
        return current or self.world.former_paths.get(reference.lower()), current is None

    def encoded(
        self, kind: str, parent: Issuable, state: tuple[Any, ...], make: Callable[[], list[Json]]
    ) -> list[bytes]:
        """JSON that hangs on one merge request or issue, kept until something there changes."""
        name, state = (kind, kind_of(parent), parent.id), (parent.revision, *state)
        known = self._encoded.get(name)
        if known is None or known[0] != state:
            known = self._encoded[name] = (state, [orjson.dumps(row) for row in make()])
        return known[1]


def _moved(request: Request, reference: str, project: Project) -> Response:
    """Reads are sent on, by id; writes are not."""
    if request.method != "GET":
        raise told(405, "405 Method Not Allowed - Non GET methods are not allowed for moved projects")
    rest = request.raw_path.removeprefix(f"{API}/projects/").partition("/")[2]
    query = "&".join(f"{quote(name)}={quote(value)}" for name, value in request.pairs)
    url = f"{request.root}{API}/projects/{project.id}{'/' if rest else ''}{rest}{'?' if query else ''}{query}"
    body = f"This resource has been moved permanently to {url}".encode()
    return Response(301, body, {"location": url, "content-type": "text/plain"})
