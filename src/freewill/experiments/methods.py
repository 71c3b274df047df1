"""The methods that the paper compares, with one name, colour and marker each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Literal

import numpy as np

from freewill.estimators import Estimate, combine_results, debias, em, gibu, ibu, inversion
from freewill.estimators.combine import compound
from freewill.evidence import Evidence
from freewill.solvers import Status

Way = Literal["", "M", "R"]

_ESTIMATORS: dict[str, Callable[..., Estimate]] = {
    "GIBU": gibu,
    "EM": em,
    "INV": inversion,
    "IBU": ibu,
    "RAP": debias,
}
# The palette of Okabe and Ito, one colour for an estimator and its post-processing.
_COLOURS = {
    ("GIBU", ""): "#0072B2",
    ("INV", "project"): "#D55E00",
    ("INV", "normalise"): "#E69F00",
    ("IBU", ""): "#009E73",
    ("RAP", "project"): "#CC79A7",
    ("RAP", "normalise"): "#56B4E9",
    ("EM", ""): "#22272E",
}
_MARKERS = {
    ("GIBU", ""): "o",
    ("INV", "project"): "s",
    ("INV", "normalise"): "D",
    ("IBU", ""): "^",
    ("RAP", "project"): "s",
    ("RAP", "normalise"): "D",
    ("EM", ""): "x",
}
_POSTS = {"project": "projected", "normalise": "normalised"}


@dataclass(frozen=True, eq=False)
class Sample:
    """The evidence of one draw, and the same as if it came from the average mechanism."""

    evidence: Evidence

    @cached_property
    def averaged(self) -> tuple[Evidence, float]:
        """The compound evidence of section V, made once for all methods, and its seconds."""
        started = perf_counter()
        evidence = compound(self.evidence)
        return evidence, perf_counter() - started


@dataclass(frozen=True)
class Method:
    """An estimator, how it is brought to many mechanisms, its post-processing and its stop.

    `way` is "M" for combining mechanisms, "R" for combining results. `delta` runs the iteration
    as printed and stops it there; without it the maximum of the likelihood is certified. With
    `seconds`, algorithm 1 goes on to the same certificate, at most for that long.
    """

    estimator: str
    way: Way = ""
    post: str = ""
    delta: float | None = None
    seconds: float | None = None

    @property
    def name(self) -> str:
        """A name for tables and files: inv-m-project, em-1e-06."""
        stop = "" if self.delta is None else f"{self.delta:.0e}"
        stop += "" if self.seconds is None else f"{self.seconds:g}s"
        return "-".join(
            word for word in (self.estimator, self.way, self.post, stop) if word
        ).lower()

    @property
    def label(self) -> str:
        """The paper's name, and what was done afterwards."""
        head = f"[{self.estimator}]{self.way}" if self.way else self.estimator
        if self.delta is not None:
            return f"{head}, delta {self.delta:.0e}"
        if self.seconds is not None:
            return f"EM to GIBU's certificate, at most {self.seconds:g} s"
        return f"{head}, {_POSTS[self.post]}" if self.post else head

    @property
    def colour(self) -> str:
        """The same colour in all pictures."""
        return _COLOURS[self.estimator, self.post]

    @property
    def marker(self) -> str:
        """The same marker in all pictures, for prints without colour."""
        if (self.estimator, self.way) == ("IBU", "R"):
            return "v"  # it shares a panel with [IBU]M
        return _MARKERS[self.estimator, self.post]

    @property
    def dash(self) -> str:
        """Dashed for combined results, which never are the better ones."""
        return "--" if self.way == "R" else "-"

    def run(self, sample: Sample) -> Estimate:
        """Estimate from a sample; the seconds of [.]M include those of the average mechanism."""
        estimator = _ESTIMATORS[self.estimator]
        options: dict[str, Any] = {}
        if self.post:
            options["post"] = self.post
        if self.delta is not None:
            options["delta"] = self.delta
        if self.seconds is not None:
            return em_to_certificate(sample.evidence, self.seconds)
        if self.way == "R":
            return combine_results(sample.evidence, estimator, **options)
        if self.way == "M":
            evidence, seconds = sample.averaged
            found = estimator(evidence, **options)
            return replace(found, seconds=found.seconds + seconds)
        return estimator(sample.evidence, **options)


def em_to_certificate(evidence: Evidence, seconds: float) -> Estimate:
    """Run algorithm 1 until its gap is what `gibu` certifies, or until time is up.

    Algorithm 1 does not look at the gap. It is run a tenth of its steps further, from where it
    was, until the gap is small enough; that takes the same steps as one long run.
    """
    target = 0.01 / evidence.people
    found = em(evidence, delta=1e-8)
    steps, spent = found.steps, found.seconds
    while found.gap > target and spent < seconds:
        # A weight that was flushed to 0 restarts as good as 0.
        start = np.maximum(found.theta, 1e-300)
        further = max(100, steps // 10)
        found = em(evidence, 1e-300, start / start.sum(), max_steps=further)
        steps, spent = steps + found.steps, spent + found.seconds
        if found.steps < further:
            break  # L does not change at all any more, in double precision.
    status = Status.CERTIFIED if found.gap <= target else Status.MAX_STEPS
    return replace(found, status=status, steps=steps, seconds=spent)


GIBU = Method("GIBU")
INV_M = (Method("INV", "M", "project"), Method("INV", "M", "normalise"))
INV_R = (Method("INV", "R", "project"), Method("INV", "R", "normalise"))
IBU_M, IBU_R = Method("IBU", "M"), Method("IBU", "R")
RAP_M = (Method("RAP", "M", "project"), Method("RAP", "M", "normalise"))
RAP_R = (Method("RAP", "R", "project"), Method("RAP", "R", "normalise"))
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
EM = tuple(Method("EM", delta=delta) for delta in DELTAS)
IBU_M_STOPPED = tuple(Method("IBU", "M", delta=delta) for delta in DELTAS)


def to_certificate(seconds: float) -> Method:
    """Return algorithm 1, run until it is as close as `gibu` or until time is up."""
    return Method("EM", seconds=seconds)
