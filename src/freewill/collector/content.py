"""A file as it is sent to browsers: whole, packed, or word that it has not changed."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from starlette.requests import Request
from starlette.responses import Response


@dataclass(frozen=True)
class Content:
    """A file as it is sent, and the mark by which a browser knows that it has it."""

    body: bytes
    kind: str
    packed: bytes | None = None
    """The same by gzip, for browsers that take that."""

    @cached_property
    def mark(self) -> str:
        """The hash of the content, as an entity tag."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    def answer(self, request: Request, status: int = 200) -> Response:
        """Return the file, or word that it has not changed."""
        # A browser may keep pages and scripts, which are the same for all, if it asks each time.
        headers = {"cache-control": "no-cache", "etag": self.mark}
        body = self.body
        if self.packed is not None:
            headers["vary"] = "accept-encoding"
        if status == 200 and request.headers.get("if-none-match") == self.mark:
            return Response(status_code=304, headers=headers)
        if self.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            body = self.packed
        return Response(body, status, headers, media_type=self.kind)
