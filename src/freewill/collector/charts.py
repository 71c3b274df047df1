"""The library that draws charts, as the package plotly brings it along: packed once, sent once."""

import gzip
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from freewill.collector.answers import policy
from freewill.collector.content import Content
from freewill.collector.refusals import refused

_KIND = "text/javascript"
_LEVEL = 6

POLICY = policy(styles="'self' 'unsafe-inline'", images="'self' data: blob:")
"""What the page with charts may do, beside what every page may.

Plotly brings styles along that it writes into the page: a sheet for its maps of streets as soon as
it loads, rules for what it draws, attributes of heat maps. Without them it draws, but complains,
and blurs heat maps. A picture is drawn from a `blob:` that the page made. Scripts are files of
this server and nothing else, here as everywhere.
"""


@lru_cache(1)
def charts() -> Content:
    """Return the library; it is packed the first time."""
    plain = charts_file().read_bytes()
    return Content(plain, _KIND, gzip.compress(plain, _LEVEL, mtime=0))


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
