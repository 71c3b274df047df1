"""Answers: JSON and other bodies, each with headers that let a browser do nothing with them."""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any, TypeAlias

from freewill.collector.refusals import Refusal
from freewill.core.presented import portable

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


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

No header lets pages of other origins read answers (CORS). Reports must say that they are JSON,
which such a page may not send without being let: no other site makes its visitors answer a survey.
"""
JSON = b"application/json"


def json_bytes(content: Any) -> bytes:
    """Return JSON; numbers that it does not have become null.

    >>> json_bytes({"gap": float("inf")})
    b'{"gap":null}'
    """
    text = json.dumps(portable(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def headers_of(body: bytes, more: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer of JSON."""
    own = [(name.encode(), text.encode()) for name, text in more.items()]
    length = (b"content-length", str(len(body)).encode())
    return [(b"content-type", JSON), length, *SAFE_HEADERS, *own]


async def answer(
    send: Send, body: bytes, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Send a whole answer of JSON."""
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": headers_of(body, headers)})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, refusal: Refusal) -> None:
    """Send a refusal."""
    await answer(send, json_bytes(refusal.describe()), refusal.status, refusal.headers)


def with_safe_headers(send: Send) -> Send:
    """Put the safe headers on an answer where it does not have them yet."""

    async def safely(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            extra = [pair for pair in SAFE_HEADERS if pair[0] not in there]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return safely
