"""Answers: JSON, what was asked for or why it is refused, with headers that keep browsers safe."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from freewill.core.presented import json_bytes
from freewill.errors import FreewillError, printable

if TYPE_CHECKING:  # a store, which also refuses, is read without Starlette
    from starlette.types import Message, Send

Faults: TypeAlias = list[tuple[int, str]]
"""Of a batch: the places of reports, from 0, and what is wrong with each."""

MOST_FAULTS = 20
"""Faults of a batch that are told; there may be as many as reports."""
JSON = "application/json"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
REASONS: Mapping[int, str] = MappingProxyType(
    {
        400: "not-json",
        401: "no-token",
        404: "unknown",
        405: "method",
        408: "slow",
        409: "not-yet",
        410: "closed",
        413: "too-long",
        414: "too-long",
        415: "media-type",
        422: "invalid",
        431: "too-long",
        500: "fault",
        507: "disk",
    }
)
"""What refusals are counted as, by status, where nothing else is said: a few words for all."""


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
devices need (`origins.py`). Reports must say that they are JSON, which such a page may not send
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
        self.reason = reason or REASONS.get(status, "other")
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


def with_safe_headers(send: "Send") -> "Send":
    """Put the safe headers on an answer where it does not have them yet."""

    async def safely(message: "Message") -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            extra = [pair for pair in SAFE_HEADERS if pair[0] not in there]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return safely
