"""The library that draws charts, as the package plotly brings it along: packed once, sent once."""

import gzip
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from freewill.service.refusals import refused

_KIND = "text/javascript"
_LEVEL = 6

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""What the page with charts may do, beside what every page may.

Plotly brings styles along that it writes into the page: a sheet for its maps of streets as soon as
it loads, rules for what it draws, attributes of heat maps. Without them it draws, but complains,
and blurs heat maps. A picture is drawn from a `blob:` that the page made. Scripts are files of
this server and nothing else, here as everywhere.
"""


@dataclass(frozen=True)
class Charts:
    """The library, as it is sent, and the mark by which a browser knows that it has it."""

    plain: bytes
    packed: bytes
    mark: str

    def answer(self, request: Request) -> Response:
        """Return it, packed if the browser takes that, or word that it has not changed."""
        headers = {"cache-control": "no-cache", "etag": self.mark, "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == self.mark:
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(self.plain, 200, headers, media_type=_KIND)
        return Response(self.packed, 200, {**headers, "content-encoding": "gzip"}, media_type=_KIND)


@lru_cache(1)
def charts() -> Charts:
    """Return the library; it is packed the first time."""
    plain = charts_file().read_bytes()
    mark = f'"{hashlib.sha256(plain).hexdigest()[:32]}"'
    return Charts(plain, gzip.compress(plain, _LEVEL, mtime=0), mark)


def charts_file() -> Path:
    """Return where the library that draws charts lies; the package itself is not imported."""
    found = find_spec("plotly")
    places = [] if found is None else found.submodule_search_locations or []
    files = [Path(place) / "package_data" / "plotly.min.js" for place in places]
    there = [file for file in files if file.is_file()]
    if not there:
        raise refused(
            404,
            "the package plotly, which brings the charts, is not installed",
            "pip install 'freewill[serve]'",
        )
    return there[0]
