"""The pages: what a browser is given, from files that lie with the package alone."""

import gzip
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from freewill.collector.answers import RefusedError, policy

if TYPE_CHECKING:
    from freewill.collector.intake import Addresses

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_HERE = Path(__file__).parent / "web"
_DEVICE = Path(__file__).parents[1] / "device" / "js"
_GZIP_LEVEL = 6
_KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
_CHARTS_POLICY = {"content-security-policy": policy("'self' 'unsafe-inline'", "'self' data: blob:")}
"""What the page with charts may do, beside what every page may.

Plotly brings styles along that it writes into the page: a sheet for its maps of streets as soon as
it loads, rules for what it draws, attributes of heat maps. Without them it draws, but complains,
and blurs heat maps. A picture is drawn from a `blob:` that the page made. Scripts are files of
this server and nothing else, here as everywhere.
"""


class Content:
    """A file as it is sent, also by gzip, and the mark by which a browser knows that it has it.

    All languages come with the page: packed, it is a third as long.
    """

    def __init__(self, path: Path) -> None:
        self.body, self.kind = path.read_bytes(), _KINDS[path.suffix]
        self.packed = gzip.compress(self.body, _GZIP_LEVEL, mtime=0)
        self.mark = f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    def answer(self, request: Request, status: int = 200) -> Response:
        """Return the file, or word that it has not changed."""
        # A browser may keep pages and scripts, which are the same for all, if it asks each time.
        headers = {"cache-control": "no-cache", "etag": self.mark, "vary": "accept-encoding"}
        if status == 200 and request.headers.get("if-none-match") == self.mark:
            return Response(status_code=304, headers=headers)
        body = self.body
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            body = self.packed
        return Response(body, status, headers, media_type=self.kind)


def site_routes(addresses: "Addresses") -> list[Route]:
    """Return where the pages of some surveys are found, and the scripts that they ask for.

    Files are looked up by their names among those that were there at the start: no address leads
    to any other file. Pages name scripts by relative addresses, so that a proxy may serve all of it
    below a folder. A page of a survey that is not served is sent with the status 404; one that was
    served under another id leads to where it is now, and so does an address with capital letters or
    a slash at its end, as people type it.
    """
    web, device = _contents(_HERE), _contents(_DEVICE)

    def page(name: str, headers: Mapping[str, str] = MappingProxyType({})) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            key = request.path_params.get("survey", "")
            if now := addresses.page_now(key):
                rest = request.url.path.partition(f"/surveys/{key}")[2]
                return RedirectResponse(f"{'../' * (1 + rest.count('/'))}{now}{rest}")
            if key not in addresses.named and key.lower() in addresses.named:
                rest = request.url.path.partition(f"/{key}")[2]
                return RedirectResponse(f"{'../' * rest.count('/')}{key.lower()}{rest}")
            served = key in ("", *addresses.served, *addresses.named)
            response = web[name].answer(request, 200 if served else 404)
            response.headers.update(headers)
            return response

        return endpoint

    def file(contents: Mapping[str, Content]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            name = request.path_params["file"]
            if name not in contents:
                what, advice = f"{request.url.path}: not here", "GET / is the page to begin with."
                raise RefusedError(404, what, advice)
            return contents[name].answer(request)

        return endpoint

    async def typed(request: Request) -> Response:
        return RedirectResponse(f"../{request.url.path.rstrip('/').rpartition('/')[2]}")

    async def charts(request: Request) -> Response:
        return (await run_in_threadpool(_charts)).answer(request)

    endpoints = {
        "/": page("front.html"),
        "/surveys/{survey}": page("answer.html"),
        "/surveys/{survey}/dashboard": page("dashboard.html", _CHARTS_POLICY),
        "/s/{survey}": page("answer.html"),
        "/s/{survey}/dashboard": page("dashboard.html", _CHARTS_POLICY),
        **dict.fromkeys(("/s/{survey}/", "/surveys/{survey}/"), typed),
        "/web/plotly.min.js": charts,
        "/web/{file}": file(web),
        "/device/{file}": file(device),
    }
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]


def _contents(folder: Path) -> dict[str, Content]:
    return {path.name: Content(path) for path in folder.iterdir() if path.suffix in _KINDS}


@lru_cache(1)
def _charts() -> Content:
    """Return the library that draws charts; it is packed the first time."""
    return Content(charts_file())


def charts_file() -> Path:
    """Return where the library that draws charts lies; the package itself is not imported."""
    package = find_spec("plotly")
    folders = [] if package is None else package.submodule_search_locations or []
    files = [Path(folder) / "package_data" / "plotly.min.js" for folder in folders]
    there = [file for file in files if file.is_file()]
    if not there:
        raise RefusedError(
            404,
            "the package plotly, which brings the charts, is not installed",
            "pip install 'freewill[serve]'",
        )
    return there[0]
