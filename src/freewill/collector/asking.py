"""Asking a collector from outside, over HTTP: what it answers is bounded, and held to its form."""

import re
from http.client import HTTPException
from time import monotonic
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from freewill.core.texts import read_json
from freewill.core.types import SURVEY_FILE_BYTES, refuse_beyond
from freewill.errors import ParameterError, first_line, shown, why

_SECONDS = 30.0
"""To wait for an answer to begin, and to go on."""
_WHOLE_SECONDS = 300.0
"""For one answer, however slowly it comes."""
_CHUNK = 1 << 16
_PAGE = re.compile("/(?:surveys|s)/")
"""Behind which the address of a page names its survey."""
_MOST = 100_000
"""Surveys that are served, and entries of a log."""


class _Here(HTTPRedirectHandler):
    """Follows no redirection: the address that was given is the one that is judged."""

    def redirect_request(self, *_: Any) -> None:
        """Leave it: what was answered is an error then."""


def collector_at(address: str) -> str:
    """Return the address of a collector, by it or by that of a page of it.

    >>> collector_at("https://example.org/ask/"), collector_at("http://[::1]:8000/s/commute")
    ('https://example.org/ask', 'http://[::1]:8000')
    """
    try:
        parts = urlsplit(address if address.isprintable() else "")
    except ValueError:  # brackets that are no address of IPv6
        parts = urlsplit("")
    more = parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.hostname or more:
        expected = "expected the address of a collector and no more, such as https://example.org."
        raise ParameterError(f"{shown(address)}: {expected}")
    folder = _PAGE.split(parts.path, maxsplit=1)[0].rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{folder}"


class Asking:
    """A collector by its address; `http://host:8000`, or that of a page of it."""

    def __init__(self, address: str) -> None:
        self.root = collector_at(address)
        self._opener = build_opener(_Here)

    def log(self) -> tuple[list[Any], str]:
        """Return all entries of the public log, and its head, as the collector says them."""
        entries: list[Any] = []
        while True:
            answer = self._json(f"log?from={len(entries) + 1}", entries=list, head=str, number=int)
            entries += answer["entries"]
            if len(entries) > _MOST:
                raise ParameterError(f"{self.root} has a log of more than {_MOST:,} entries.")
            if len(entries) >= answer["number"] or not answer["entries"]:
                return entries, answer["head"]

    def surveys(self) -> list[str]:
        """Return the ids of all surveys that are served."""
        listed = self._json("surveys", surveys=list)["surveys"]
        ids = [one.get("id") if isinstance(one, dict) else None for one in listed[:_MOST]]
        texts = [own for own in ids if isinstance(own, str)]
        if len(texts) < len(listed):
            raise self._no_collector(f"surveys without an id, or too many: {shown(ids)}")
        return texts

    def survey(self, own: str) -> dict[str, Any]:
        """Return what is answered of one survey."""
        address = f"surveys/{quote(own, safe='')}"
        return self._json(address, id=str, log=dict, survey=dict)

    def _json(self, address: str, **fields: type) -> dict[str, Any]:
        content = self._fetched(f"{self.root}/v1/{address}")
        try:
            answer = read_json(content)
        except ValueError as error:
            raise self._no_collector(f"what is no JSON ({error})") from None
        for name, kind in fields.items():
            if not isinstance(answer, dict) or not isinstance(answer.get(name), kind):
                raise self._no_collector(f"{shown(answer)} without its {name!r}")
        return answer  # type: ignore[no-any-return]

    def _fetched(self, address: str) -> bytes:
        content, until = bytearray(), monotonic() + _WHOLE_SECONDS
        try:
            with self._opener.open(address, timeout=_SECONDS) as response:
                while chunk := response.read1(_CHUNK):
                    content += chunk
                    advice = "Is it a collector?"
                    what = f"what came from {self.root}"
                    refuse_beyond(SURVEY_FILE_BYTES, len(content), what, advice, ParameterError)
                    if monotonic() > until:
                        raise TimeoutError(f"took more than {_WHOLE_SECONDS:g} s")
        except HTTPError as error:
            error.close()
            raise self._no_collector(f"the status {error.code} at {address}") from None
        except ParameterError:
            raise
        except (OSError, HTTPException, ValueError) as error:
            inner = getattr(error, "reason", error)
            reason = why(inner) if isinstance(inner, OSError) else first_line(error)
            raise ParameterError(
                f"{address} cannot be read: {reason}. Is the collector running, and is that its "
                f"address?"
            ) from None
        return bytes(content)

    def _no_collector(self, what: str) -> ParameterError:
        return ParameterError(
            f"{self.root} answered {what}: expected a collector of this release, `freewill serve`. "
            f"Is that its address?"
        )
