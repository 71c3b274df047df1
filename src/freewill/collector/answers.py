"""Answers: JSON and other bodies, each with headers that let a browser do nothing with them."""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

from freewill.collector.refusals import Refusal
from freewill.core.presented import portable

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


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


async def answer(
    send: Send, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole answer of JSON."""
    more = [(name.encode(), text.encode()) for name, text in (headers or {}).items()]
    length = (b"content-length", str(len(body)).encode())
    start = [(b"content-type", JSON), length, *SAFE_HEADERS, *more]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, refusal: Refusal) -> None:
    """Send a refusal."""
    await answer(send, json_bytes(refusal.describe()), refusal.status, refusal.headers)
