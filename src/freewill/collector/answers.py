"""Answers: JSON, what was asked for or why it is refused, with headers that keep browsers safe."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from freewill.core.presented import json_bytes
from freewill.errors import FreewillError, ParameterError, printable, shown

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


Faults: TypeAlias = list[tuple[int, str]]
"""Of a batch: the places of reports, from 0, and what is wrong with each."""
MOST_FAULTS = 20
"""Faults of a batch that are told; there may be as many as reports."""
JSON = "application/json"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
STATUSES: Mapping[int, tuple[str, str]] = {
    400: ("not-json", "Not JSON"),
    401: ("no-token", "No token, or one of another role"),
    404: ("unknown", "No such survey here"),
    405: ("method", "Method not allowed"),
    408: ("slow", "A body that took too long"),
    409: ("not-yet", "Not yet: see the error"),
    410: ("closed", "The survey is closed"),
    413: ("too-long", "Too large"),
    414: ("too-long", "Too large"),
    415: ("media-type", "The content type is not JSON"),
    422: ("invalid", "Invalid: see the error"),
    431: ("too-long", "Too large"),
    500: ("fault", "A fault of the collector's own"),
    503: ("store", "Busy or not available: try again after Retry-After"),
    507: ("disk", "The disk is full or fails: send it again later, with the same ids"),
}
"""What refusals are counted as where nothing else is said, a few words for all; and in words."""
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


def policy(styles: str = "'self'", images: str = "'self' data:") -> str:
    """Return what a page may do: run the server's own scripts, and ask nobody else."""
    return (
        f"default-src 'none'; script-src 'self'; style-src {styles}; img-src {images}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


SAFE_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", policy().encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""On every answer: no scripts but the server's own files, no frames, nothing kept, no referrer.

No header lets pages of other origins read answers (CORS), but those that were named, and only what
devices need (`allowing`). Reports must say that they are JSON, which such a page may not send
without being let: no other site makes its visitors answer a survey.
"""


class RefusedError(FreewillError):
    """A request that is refused: its status, what came, and what whoever sent it can do."""

    def __init__(
        self,
        status: int,
        error: str,
        what_to_do: str,
        faults: Faults | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
        reason: str = "",
    ) -> None:
        super().__init__(error)
        self.reason = reason or STATUSES.get(status, ("other",))[0]
        self.status, self.error, self.what_to_do = status, error, what_to_do
        self.faults, self.headers = faults or [], headers

    def body(self) -> bytes:
        """Return the JSON object that is sent.

        >>> RefusedError(404, "no such survey", "See /v1/surveys.").body()
        b'{"error":"no such survey","what to do":"See /v1/surveys."}'
        """
        content: dict[str, Any] = {
            "error": printable(self.error, 1000),
            "what to do": printable(self.what_to_do, 1000),
        }
        if self.faults:
            first = self.faults[:MOST_FAULTS]
            content["faults"] = [{"at": at, "error": printable(what, 400)} for at, what in first]
        return json_bytes(content)


def given_once(
    query: Iterable[tuple[str, str]], names: Collection[str], advice: str
) -> dict[str, str]:
    """Return what a query gives by name; refuse other names, and one that is given twice.

    >>> given_once([("of", "mean")], ["of", "target"], "Ask for ?of=.")
    {'of': 'mean'}
    """
    given: dict[str, str] = {}
    for name, text in query:
        if name not in names or name in given:
            what = "was given twice" if name in given else "is none of what may be asked"
            raise RefusedError(422, f"{shown(name)} {what}", advice)
        given[name] = text
    return given


def busy(why: str, reason: str) -> RefusedError:
    """Return what to raise where there is no room just now: nothing is kept in memory instead."""
    advice = (
        "Send the same reports again, with the same ids, after the seconds of Retry-After: each of "
        "them counts once."
    )
    return RefusedError(503, why, advice, headers={"retry-after": "1"}, reason=reason)


def too_slow(seconds: float) -> RefusedError:
    """Return the refusal of a body that did not arrive in time."""
    advice = "Send the whole body sooner, or in smaller batches."
    return RefusedError(408, f"a body that took over {seconds:g} seconds", advice)


def headers_of(body: bytes, more: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer of JSON."""
    own = [(name.encode(), text.encode()) for name, text in more.items()]
    length = (b"content-length", str(len(body)).encode())
    return [(b"content-type", JSON.encode()), length, *SAFE_HEADERS, *own]


async def answer(
    send: "Send", body: bytes, status: int = 200, headers: Mapping[str, str] = NO_HEADERS
) -> None:
    """Send a whole answer of JSON."""
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": headers_of(body, headers)})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: "Send", refusal: RefusedError) -> None:
    """Send a refusal."""
    await answer(send, refusal.body(), refusal.status, refusal.headers)


def with_headers(send: "Send", headers: Sequence[tuple[bytes, bytes]]) -> "Send":
    """Put headers on an answer where it does not have them yet."""

    async def adding(message: "Message") -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            extra = [pair for pair in headers if pair[0] not in there]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return adding


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

        telling = with_headers(send, own)
        asks_first = scope["method"] == "OPTIONS" and b"access-control-request-method" in headers
        if asks_first and origin in origins:
            start = {"type": "http.response.start", "status": 204, "headers": [*_PREFLIGHT]}
            await telling(start)
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, telling)

    return allowed
