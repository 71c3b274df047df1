"""How often intervals hold the truth, by simulation: the tables of benchmarks/results/intervals.md.

`python -m benchmarks.intervals [--runs 400] [--city FILE] [--people 10000 100000] [MIXTURE ...]`
prints them in markdown. Everybody's value is drawn from the truth and the truth is what must be
held. A functional is inside where it is more than two standard errors from the least and the most
that it can be; elsewhere, at the border, an interval may hold the truth more often.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.simulated import options, tabulate
from freewill.core.types import BoolArray, FloatArray
from freewill.paper.mixtures import MIXTURES
from freewill.paper.places import load
from freewill.paper.settings import Setting, settings
from freewill.stats.functionals import weights_of
from freewill.stats.information import information_of

CASES = ("line-krr", "line-geometric", "line-mixed", "rappor-low", "city-geometric", "city-krr")
INSIDE = 2.0
"""Standard errors from the border at which a functional counts as inside."""


@dataclass(frozen=True)
class Case:
    """A mixture, so many people, and where the city's truth comes from."""

    mixture: str
    people: int
    city: str | None


@cache
def setting_of(mixture: str, city: str | None) -> Setting:
    """Return a mixture at its place."""
    crowd = load(city) if city is not None and MIXTURES[mixture].place == "city" else None
    return settings([MIXTURES[mixture]], city=crowd)[0]


@cache
def _laws(mixture: str, city: str | None) -> list[FloatArray | None]:
    """Return the law of each mechanism whose reports are values."""
    mechanisms = setting_of(mixture, city).mechanisms
    return [one.law() if one.output_space.alphabet is not None else None for one in mechanisms]


def questions(setting: Setting) -> dict[str, Any]:
    """Return what is asked: each value, sums of ten or more, the mean, the CDF, the median."""
    if MIXTURES[setting.mixture.name].place == "city":
        return {"shares": "shares", "4 x 4 cells": fw.functionals.districts(4), "mean": "mean"}
    ten = fw.functionals.bins(10)
    return {"shares": "shares", "sums of 10": ten, "mean": "mean", "CDF": "cdf", "median": "median"}


def evidence_of(case: Case, seed: int) -> fw.Evidence:
    """Draw evidence: the counts of reports at once, or report by report where they are bits."""
    rng = np.random.default_rng([seed, case.people])
    return drawn(case, setting_of(case.mixture, case.city).truth, rng)


def drawn(case: Case, truth: FloatArray, rng: np.random.Generator) -> fw.Evidence:
    """Draw evidence of people with any truth, who choose from a case's mechanisms."""
    mechanisms = setting_of(case.mixture, case.city).mechanisms
    who = rng.multinomial(case.people, np.full(len(mechanisms), 1 / len(mechanisms)))
    parts: list[Any] = []
    for mechanism, many, law in zip(mechanisms, who, _laws(case.mixture, case.city), strict=True):
        if law is None:
            values = rng.choice(truth.size, size=many, p=truth)
            parts.append((mechanism, mechanism.obfuscate(values, rng)))
        else:
            shares = np.maximum(truth @ law, 0)
            counts = rng.multinomial(many, shares / shares.sum())
            parts.append((mechanism, mechanism.outputs(), counts))
    return fw.collect(parts)


def held(job: tuple[Case, int]) -> dict[tuple[str, bool], BoolArray]:
    """Say of each question which intervals hold the truth, one by one and all together."""
    case, seed = job
    setting = setting_of(case.mixture, case.city)
    evidence = evidence_of(case, seed)
    mode = fw.gibu(evidence)
    found = {}
    for name, of in questions(setting).items():
        true = truth_of(name, of, setting)
        for joint in (False, True):
            some = fw.intervals(evidence, of, joint=joint, start=mode)
            low, high = np.atleast_1d(some.low), np.atleast_1d(some.high)
            found[name, joint] = (low <= true + 1e-12) & (true - 1e-12 <= high)
    return found


def truth_of(name: str, of: Any, setting: Setting) -> FloatArray:
    """Return the functionals of the truth."""
    if name != "median":
        return np.asarray(weights_of(of, setting.alphabet).rows @ setting.truth)
    curve = np.concatenate([[0.0], np.cumsum(setting.truth)])
    return np.array([np.interp(0.5, curve, np.arange(curve.size) - 0.5)])


def inside(name: str, of: Any, setting: Setting, people: int) -> BoolArray:
    """Say which functionals of the truth are away from their bounds."""
    if name == "median":
        return np.array([True])
    weights, truth = weights_of(of, setting.alphabet), setting.truth
    theta = (1 - 1e-9) * truth + 1e-9 / truth.size
    parts = [(one, 1 / len(setting.mechanisms), "") for one in setting.mechanisms]
    errors = information_of(setting.alphabet, parts, theta, people).standard_error(weights.rows)
    true = weights.rows @ truth
    return np.asarray(np.minimum(true - weights.least, weights.most - true) > INSIDE * errors)


def rows(case: Case, results: list[dict[tuple[str, bool], BoolArray]]) -> Iterator[list[str]]:
    """Yield the lines of the table for one case."""
    setting = setting_of(case.mixture, case.city)
    for name, of in questions(setting).items():
        shares = np.array([result[name, False] for result in results]).mean(axis=0)
        away = inside(name, of, setting, case.people)
        together = np.array([result[name, True].all() for result in results])
        cells = [setting.mixture.title, f"{case.people:,}", name]
        cells += [_mean(shares[away]), _mean(shares[~away])]
        yield [*cells, f"{together.mean():.3f}" if shares.size > 1 else ""]


def _mean(shares: FloatArray) -> str:
    return f"{shares.mean():.3f} ({shares.size})" if shares.size else ""


def main() -> None:
    """Simulate and print."""
    people: dict[str, Any] = {"type": int, "nargs": "+", "default": [10_000, 100_000]}
    chosen = options("intervals", __doc__, CASES, 400, people=people)
    cases = [Case(one, many, chosen.city) for one in chosen.mixtures for many in chosen.people]
    head = ["mixture", "people", "of", "inside (how many)", "at the border", "joint"]
    tabulate(head, cases, held, rows, chosen)


if __name__ == "__main__":
    main()
