"""Errors as they are answered: each is a refusal, which is counted."""

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from freewill.collector.answers import JSON, RefusedError
from freewill.collector.database import StoreError


def answering(
    count: Callable[[RefusedError], None],
) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what answers an error, and counts it."""

    async def answer(request: Request, error: Exception) -> Response:
        refusal = refusal_of(request, error)
        count(refusal)
        return Response(refusal.body(), refusal.status, refusal.headers, JSON)

    return answer


def refusal_of(request: Request, error: Exception) -> RefusedError:
    """Return the refusal of an error: ours, Starlette's (addresses, methods), or a fault."""
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, HTTPException):
        what = f"{request.method} {request.url.path}: not here"
        advice = "GET /v1/openapi.json has what there is."
        return RefusedError(error.status_code, what, advice, headers=error.headers or {})
    if isinstance(error, StoreError):
        advice = "Try again; if it stays so, tell the operator."
        # It names files, or the database's address, which are for those who have a token.
        known = getattr(request.state, "roles", None)
        what = str(error) if known else "the collector's store cannot be read just now"
        return RefusedError(503, what, advice, reason="store")
    return RefusedError(
        500, f"a fault of the collector's own ({type(error).__name__})", "Tell them."
    )
