"""The pages: what a browser is given, from files that lie with the package alone."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from freewill.collector.charts import POLICY, charts
from freewill.collector.content import Content
from freewill.collector.refusals import refused

_HERE = Path(__file__).parent / "web"
_DEVICE = Path(__file__).parents[1] / "device" / "js"
_KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


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
        page.headers["content-security-policy"] = POLICY
        return page

    async def web(self, request: Request) -> Response:
        """Return a script or style of the pages."""
        return _found(self._web, request).answer(request)

    async def device(self, request: Request) -> Response:
        """Return a file of freewill.js."""
        return _found(self._device, request).answer(request)

    async def charts(self, request: Request) -> Response:
        """Return the library that draws charts, which the package plotly brings along."""
        return (await run_in_threadpool(charts)).answer(request)

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
        known = request.path_params["survey"] in self.surveys
        return self._web[name].answer(request, 200 if known else 404)


def _contents(folder: Path) -> dict[str, Content]:
    found = (path for path in sorted(folder.iterdir()) if path.suffix in _KINDS)
    return {path.name: Content(path.read_bytes(), _KINDS[path.suffix]) for path in found}


def _found(among: dict[str, Content], request: Request) -> Content:
    name = request.path_params["file"]
    if name not in among:
        raise refused(404, f"{request.url.path}: not here", "GET / is the page to begin with.")
    return among[name]
