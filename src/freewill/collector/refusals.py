"""What the collector refuses: a status, what came, and what to do, as one JSON object."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from freewill.errors import FreewillError, printable

MOST_FAULTS = 20
"""Faults of a batch that are told; there may be as many as reports."""


@dataclass(frozen=True)
class Refusal:
    """Why a request was refused, and what whoever sent it can do."""

    status: int
    error: str
    what_to_do: str
    faults: tuple[tuple[int, str], ...] = ()
    """Of a batch: the places of reports, from 0, and what is wrong with each."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """Return the JSON object that is sent.

        >>> Refusal(404, "no such survey", "See /v1/surveys.").describe()
        {'error': 'no such survey', 'what to do': 'See /v1/surveys.'}
        """
        content: dict[str, Any] = {
            "error": printable(self.error, 1000),
            "what to do": printable(self.what_to_do, 1000),
        }
        if self.faults:
            content["faults"] = [
                {"at": place, "error": printable(what, 400)}
                for place, what in self.faults[:MOST_FAULTS]
            ]
        return content


class RefusedError(FreewillError):
    """A request that is answered by a refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.error)
        self.refusal = refusal


def refused(status: int, error: str, what_to_do: str, **more: Any) -> RefusedError:
    """Return what to raise."""
    return RefusedError(Refusal(status, error, what_to_do, **more))


def busy(why: str) -> RefusedError:
    """Return what to raise where there is no room just now: nothing is kept in memory instead."""
    advice = (
        "Send the same reports again, with the same ids, after the seconds of Retry-After: each of "
        "them counts once."
    )
    return refused(503, why, advice, headers={"retry-after": "1"})


def too_slow(seconds: float) -> RefusedError:
    """Return the refusal of a body that did not arrive in time."""
    advice = "Send the whole body sooner, or in smaller batches."
    return refused(408, f"a body that took over {seconds:g} seconds", advice)
