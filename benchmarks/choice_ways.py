"""Ways to test free choice that were tried, on the same reports: how often each finds what.

`python -m benchmarks.choice_ways [--runs 200] [--city FILE] [MIXTURE ...]` prints a table in
markdown, at level 5 % with 10,000 people. One group, each in its turn, is displaced as in
`benchmarks.free_choice`; or prefers one direction (its logits have a slope), or the distance from
the centre. The two latter are as large as the first for a test that knows the very difference.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import chi2

import freewill as fw
from benchmarks.free_choice import LEVEL, shifts
from benchmarks.intervals import Case, setting_of
from benchmarks.simulated import options, tabulate
from freewill.core.types import FloatArray
from freewill.stats.choice.check import Scores, unweighted
from freewill.stats.difference import combined, weighted_chi_square_tail
from freewill.stats.information import information_of

KINDS = ("free", "displaced", "slope", "distance")
ROUNDS = 8


@cache
def truths(case: Case, kind: str) -> list[FloatArray]:
    """Return the distribution of each group when it is the one that differs."""
    setting = setting_of(case.mixture, case.city)
    if kind in ("free", "displaced"):
        return [setting.truth] * len(setting.mechanisms) if kind == "free" else shifts(case)[0]
    theta = (1 - 1e-9) * setting.truth + 1e-9 / setting.truth.size
    many = len(setting.mechanisms)
    parts = [(one, 1 / many, "") for one in setting.mechanisms]
    told = information_of(setting.alphabet, parts, theta, case.people)
    north, east = np.divmod(np.arange(theta.size), (setting.alphabet.plane or (1, theta.size))[1])
    found = []
    for place, (moments, displaced) in enumerate(zip(told.moments, shifts(case)[0], strict=True)):

        def size(difference: FloatArray, moments: Any = moments) -> float:
            through = moments.product(difference)
            known = float(through @ told.influences(through[None])[0])
            return float(difference @ through) - known / many

        wanted = size(displaced - setting.truth)
        turn = 6 * np.pi * place / many
        function = np.cos(turn) * east + np.sin(turn) * north
        if kind == "distance":
            function = np.hypot(east - east @ theta, north - north @ theta)
        function = function - function @ theta
        scale = np.sqrt(wanted / size(setting.truth * function))
        for _ in range(ROUNDS):
            tilted = setting.truth * np.exp(scale * function)
            tilted /= tilted.sum()
            scale *= np.sqrt(wanted / size(tilted - setting.truth))
        found.append(tilted)
    return found


def drawn(case: Case, kind: str, seed: int) -> fw.Evidence:
    """Draw reports, one group being different."""
    setting = setting_of(case.mixture, case.city)
    many = len(setting.mechanisms)
    rng = np.random.default_rng([seed, case.people, 7, KINDS.index(kind)])
    who = rng.multinomial(case.people, np.full(many, 1 / many))
    parts: list[Any] = []
    for place, (mechanism, people) in enumerate(zip(setting.mechanisms, who, strict=True)):
        truth = truths(case, kind)[place] if place == seed % many else setting.truth
        values = rng.choice(truth.size, size=people, p=truth)
        parts.append((mechanism, mechanism.obfuscate(values, rng)))
    return fw.collect(parts)


def polynomials(theta: FloatArray, alphabet: fw.Alphabet, degree: int) -> FloatArray:
    """Return theta f for polynomials f of the place up to a degree."""
    rows, columns = alphabet.plane or (1, theta.size)
    north, east = np.divmod(np.arange(theta.size), columns)
    axes = [one - one @ theta for one in (east, north)]
    axes = [one / np.sqrt(np.square(one) @ theta + 1e-300) for one in axes]
    powers = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i) if i + j > 0]
    found = np.stack([axes[0] ** i * axes[1] ** j for i, j in powers if rows > 1 or j == 0])
    return np.asarray(theta * (found - (found @ theta)[:, None]))


def p_values(scores: Scores, place: int) -> dict[str, float]:
    """Return the p-value of one group, by each way."""
    score, told = scores.along(place, scores.smooth)
    roots, vectors = np.linalg.eigh(told)
    roots, vectors = roots[::-1], vectors[:, ::-1]
    kept = roots > 1e-8 * roots[0]
    roots, squares = roots[kept], np.square(score @ vectors[:, kept])
    weighted = {"weights L": roots, "weights L^.5": np.sqrt(roots)}
    weighted["weights L / (L + max L / 10)"] = roots / (roots + roots[0] / 10)
    found = {
        name: weighted_chi_square_tail(float(weights @ (squares / roots)), weights)
        for name, weights in weighted.items()
    }
    found["first 4 principal functions"] = float(chi2.sf(np.sum((squares / roots)[:4]), 4))
    for degree in (1, 2, 3):
        rows = polynomials(scores.fit.mode, scores.fit.evidence.alphabet, degree)
        (found[f"polynomials to degree {degree}"],) = unweighted(*scores.along(place, rows))
    ladder = [found[f"polynomials to degree {degree}"] for degree in (1, 2, 3)]
    found["the three of these, combined"] = combined(ladder)
    (moved,) = unweighted(*scores.along(place, scores.moved))
    found["displaced alone"] = moved
    found["weights L, and displaced"] = combined([found["weights L"], moved])
    found["weights L^.5, and displaced (taken)"] = combined([found["weights L^.5"], moved])
    return found


def tried(job: tuple[Case, int]) -> dict[str, dict[str, bool]]:
    """Say which ways reject, of each kind of difference."""
    case, seed = job
    found: dict[str, dict[str, bool]] = {}
    for kind in KINDS:
        evidence = drawn(case, kind, seed)
        scores = Scores.of(fw.fit(evidence))
        groups = [p_values(scores, place) for place in range(len(evidence.groups))]
        limit = (1 - LEVEL) / len(groups)
        for way in groups[0]:
            found.setdefault(way, {})[kind] = min(one[way] for one in groups) < limit
    return found


def rows(case: Case, results: list[dict[str, dict[str, bool]]]) -> Iterator[list[str]]:
    """Yield a line for each way."""
    title = setting_of(case.mixture, case.city).mixture.title
    for way in results[0]:
        shares = [np.mean([one[way][kind] for one in results]) for kind in KINDS]
        yield [title, way, *(f"{share:.3f}" for share in shares)]


def main() -> None:
    """Simulate and print."""
    chosen = options("choice_ways", __doc__, ("city-geometric",), 200)
    cases = [Case(one, 10_000, chosen.city) for one in chosen.mixtures]
    tabulate(["mixture", "test", *KINDS], cases, tried, rows, chosen)


if __name__ == "__main__":
    main()
