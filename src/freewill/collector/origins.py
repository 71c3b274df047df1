"""Pages of other origins: which of them may ask for surveys and send reports from a browser.

Apps of one's own lie at another address than the collector. A browser lets their pages ask it only
where it says so, by CORS. It says so for what devices need and for nothing else, to origins that
were named, and never with credentials: no token and no cookie goes along.
"""

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from freewill.errors import ParameterError, shown

if TYPE_CHECKING:  # origins are checked before it is said that the extra is missing
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DEVICES = re.compile("/v1/(?:log|surveys(?:/[^/]+(?:/reports)?)?)")
"""What devices ask for: surveys, the log of them, and where reports are sent."""
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:]+\])(?::([1-9][0-9]{0,4}))?")
_USUAL_PORTS = {("http", "80"), ("https", "443")}
_SHOWN: tuple[tuple[bytes, bytes], ...] = ((b"access-control-expose-headers", b"retry-after"),)
_PREFLIGHT: tuple[tuple[bytes, bytes], ...] = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"600"),
    (b"content-length", b"0"),
)


def checked_origins(given: Iterable[str]) -> frozenset[str]:
    """Return origins after checking that a browser sends them so.

    >>> sorted(checked_origins(["https://app.example.org", "http://localhost:5173"]))
    ['http://localhost:5173', 'https://app.example.org']
    >>> checked_origins(["*"])
    Traceback (most recent call last):
    freewill.errors.ParameterError: --allow-origin '*': every page of the web could let its ...
    """
    origins = frozenset(given)
    for origin in sorted(origins):
        if origin in ("*", "null"):
            raise ParameterError(
                f"--allow-origin {origin!r}: every page of the web could let its visitors' "
                f"browsers send reports. Name the origins of your own pages; apps that run outside "
                f"of a browser need none."
            )
        match = _ORIGIN.fullmatch(origin)
        if match is None or (match[1], match[3]) in _USUAL_PORTS:
            raise ParameterError(
                f"--allow-origin {shown(origin)}: expected an origin as browsers send it, a scheme "
                f"and a host in small letters, a port unless it is the usual one, and no path: "
                f"https://app.example.org."
            )
    return origins


def allowing(app: "ASGIApp", origins: Collection[str]) -> "ASGIApp":
    """Return an application that lets pages of some origins do what devices do."""
    if not origins:
        return app

    async def allowed(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http" or not _DEVICES.fullmatch(scope["path"]):
            await app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin-1")
        # What is answered depends on the origin: a cache must not give it to another one.
        own: list[tuple[bytes, bytes]] = [(b"vary", b"origin")]
        if origin in origins:
            own += [(b"access-control-allow-origin", origin.encode()), *_SHOWN]

        async def telling(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        asks_first = scope["method"] == "OPTIONS" and b"access-control-request-method" in headers
        if asks_first and origin in origins:
            start = {"type": "http.response.start", "status": 204, "headers": [*_PREFLIGHT]}
            await telling(start)
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, telling)

    return allowed
