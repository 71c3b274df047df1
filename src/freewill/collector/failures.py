"""What is answered where something is refused, or goes wrong."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from freewill.collector.answers import JSON, RefusedError
from freewill.collector.database import StoreError


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer what is refused, by us or (addresses, methods) by Starlette, and what went wrong."""
    if isinstance(error, RefusedError):
        refusal = error
    elif isinstance(error, HTTPException):
        what = f"{request.method} {request.url.path}: not here"
        advice = "GET /v1/openapi.json has what there is."
        refusal = RefusedError(error.status_code, what, advice, headers=error.headers or {})
    elif isinstance(error, StoreError):
        refusal = RefusedError(503, str(error), "Try again; if it stays so, tell the operator.")
    else:
        fault = f"a fault of the collector's own ({type(error).__name__})"
        refusal = RefusedError(500, fault, "Tell them.")
    return Response(refusal.body(), refusal.status, refusal.headers, JSON)
