"""The pages: what a browser is given, from files that lie with the package alone."""

import gzip
import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from freewill.collector.answers import policy
from freewill.collector.refusals import refused

_HERE = Path(__file__).parent / "web"
_DEVICE = Path(__file__).parents[1] / "device" / "js"
_LEVEL = 6
"""Of gzip."""
_KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
_CHARTS_POLICY = policy(styles="'self' 'unsafe-inline'", images="'self' data: blob:")
"""What the page with charts may do, beside what every page may.

Plotly brings styles along that it writes into the page: a sheet for its maps of streets as soon as
it loads, rules for what it draws, attributes of heat maps. Without them it draws, but complains,
and blurs heat maps. A picture is drawn from a `blob:` that the page made. Scripts are files of
this server and nothing else, here as everywhere.
"""


@dataclass(frozen=True)
class Content:
    """A file as it is sent, and the mark by which a browser knows that it has it."""

    body: bytes
    kind: str
    packed: bytes | None = None
    """The same by gzip, for browsers that take that."""

    @cached_property
    def mark(self) -> str:
        """The hash of the content, as an entity tag."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    def answer(self, request: Request, status: int = 200) -> Response:
        """Return the file, or word that it has not changed."""
        # A browser may keep pages and scripts, which are the same for all, if it asks each time.
        headers = {"cache-control": "no-cache", "etag": self.mark}
        body = self.body
        if self.packed is not None:
            headers["vary"] = "accept-encoding"
        if status == 200 and request.headers.get("if-none-match") == self.mark:
            return Response(status_code=304, headers=headers)
        if self.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            body = self.packed
        return Response(body, status, headers, media_type=self.kind)


@dataclass(eq=False)
class Site:
    """The pages of a collector of some surveys, and the scripts that they ask for.

    Files are looked up by their names among those that were there at the start: no address leads
    to any other file. Pages name scripts by relative addresses, so that a proxy may serve all of it
    below a folder.
    """

    surveys: Collection[str]
    """The ids of what is served; a page of any other is sent with the status 404."""
    _web: dict[str, Content] = field(default_factory=lambda: _contents(_HERE))
    _device: dict[str, Content] = field(default_factory=lambda: _contents(_DEVICE))

    async def front(self, request: Request) -> Response:
        """Return the page that lists the surveys."""
        return self._web["front.html"].answer(request)

    async def answering(self, request: Request) -> Response:
        """Return the page on which a person answers a survey."""
        return self._page("answer.html", request)

    async def dashboard(self, request: Request) -> Response:
        """Return the page on which the collector watches a survey."""
        page = self._page("dashboard.html", request)
        page.headers["content-security-policy"] = _CHARTS_POLICY
        return page

    async def web(self, request: Request) -> Response:
        """Return a script or style of the pages."""
        return _named(self._web, request).answer(request)

    async def device(self, request: Request) -> Response:
        """Return a file of freewill.js."""
        return _named(self._device, request).answer(request)

    async def charts(self, request: Request) -> Response:
        """Return the library that draws charts, which the package plotly brings along."""
        return (await run_in_threadpool(_charts)).answer(request)

    def routes(self) -> list[Route]:
        """Return where all of it is found."""
        own = {
            "/": self.front,
            "/surveys/{survey}": self.answering,
            "/surveys/{survey}/dashboard": self.dashboard,
            "/web/plotly.min.js": self.charts,
            "/web/{file}": self.web,
            "/device/{file}": self.device,
        }
        return [Route(path, handler, methods=["GET"]) for path, handler in own.items()]

    def _page(self, name: str, request: Request) -> Response:
        status = 200 if request.path_params["survey"] in self.surveys else 404
        return self._web[name].answer(request, status)


def _contents(folder: Path) -> dict[str, Content]:
    paths = (path for path in sorted(folder.iterdir()) if path.suffix in _KINDS)
    return {path.name: Content(path.read_bytes(), _KINDS[path.suffix]) for path in paths}


def _named(contents: dict[str, Content], request: Request) -> Content:
    name = request.path_params["file"]
    if name not in contents:
        raise refused(404, f"{request.url.path}: not here", "GET / is the page to begin with.")
    return contents[name]


@lru_cache(1)
def _charts() -> Content:
    """Return the library that draws charts; it is packed the first time."""
    plain = charts_file().read_bytes()
    return Content(plain, _KINDS[".js"], gzip.compress(plain, _LEVEL, mtime=0))


def charts_file() -> Path:
    """Return where the library that draws charts lies; the package itself is not imported."""
    package = find_spec("plotly")
    folders = [] if package is None else package.submodule_search_locations or []
    files = [Path(folder) / "package_data" / "plotly.min.js" for folder in folders]
    there = [file for file in files if file.is_file()]
    if not there:
        raise refused(
            404,
            "the package plotly, which brings the charts, is not installed",
            "pip install 'freewill[serve]'",
        )
    return there[0]
