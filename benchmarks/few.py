"""Intervals of what rests on few of many people: how often they hold the truth, and are warned of.

`python -m benchmarks.few [--runs 500] [CASE ...]` prints that of benchmarks/results/intervals.md.
In each run the values of so many people of each mechanism are drawn from the truth (shares 1, 1/2,
1/3, ... on 0..99), with the number of the run as the seed. `--truths` takes twelve mixtures of many
private and few open people with five truths each, `--corners` bands of all values at twelve corner
truths.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

import freewill as fw
from benchmarks.simulated import options, tabulate
from freewill.core.types import BoolArray, FloatArray
from freewill.stats.functionals import weights_of
from freewill.stats.information import information_of, rests_on_few

LINE = fw.Linear(0, 99)
TRUTH = 1 / np.arange(1.0, 101) / (1 / np.arange(1.0, 101)).sum()
ORDINARY = (
    "line-krr",
    "line-geometric",
    "line-mixed",
    "rappor-low",
    "rappor-high",
    "city-geometric",
)
"""Mixtures whose intervals hold the truth as they say, of which nothing is to be told."""


@dataclass(frozen=True)
class Case:
    """So many people of each mechanism, and what is asked."""

    people: tuple[tuple[Any, int], ...]
    of: Any


def _case(many: int, private: Any, few: int, sharp: Any, of: Any) -> Case:
    return Case(((private, many), (sharp, few)), of)


_K1, _K8, _GEO, _OPEN = (
    fw.KRR(LINE, 1.0),
    fw.KRR(LINE, 8.0),
    fw.Geometric(LINE, 0.02),
    fw.Identity(LINE),
)
_SINGLE = np.eye(100)[23]
CASES = {
    "50,000 k-RR 1, 20 k-RR 8: mean": _case(50_000, _K1, 20, _K8, "mean"),
    "50,000 k-RR 1, 20 k-RR 8: CDF": _case(50_000, _K1, 20, _K8, "cdf"),
    "50,000 k-RR 1, 100 k-RR 8: mean": _case(50_000, _K1, 100, _K8, "mean"),
    "5,000 k-RR 1, 5 k-RR 8: mean": _case(5_000, _K1, 5, _K8, "mean"),
    "5,000 k-RR 1, 5 k-RR 8: CDF": _case(5_000, _K1, 5, _K8, "cdf"),
    "50,000 geometric .02, 20 open: CDF": _case(50_000, _GEO, 20, _OPEN, "cdf"),
    "50,000 geometric .02, 200 open: the value 23": _case(50_000, _GEO, 200, _OPEN, _SINGLE),
}
CALM = {
    "50,000 k-RR 1, 1,000 k-RR 8: mean": _case(50_000, _K1, 1_000, _K8, "mean"),
    "50,000 k-RR 1, 1,000 k-RR 8: CDF": _case(50_000, _K1, 1_000, _K8, "cdf"),
    "50,000 geometric .02, 200 open: mean": _case(50_000, _GEO, 200, _OPEN, "mean"),
    "5,000 k-RR 1: mean": Case(((_K1, 5_000),), "mean"),
    "200 open: the value 23": Case(((_OPEN, 200),), _SINGLE),
}
"""Relatives that hold the truth, of which nothing is to be told."""


def _atoms(**shares: float) -> FloatArray:
    """Return a distribution on few values, as at0=.95, at99=.05."""
    truth = np.zeros(100)
    for place, share in shares.items():
        truth[int(place[2:])] = share
    return truth


MIXTURES: dict[str, tuple[tuple[Any, int], ...]] = {
    "50,000 k-RR 1, 20 k-RR 8": ((_K1, 50_000), (_K8, 20)),
    "50,000 k-RR 1, 100 k-RR 8": ((_K1, 50_000), (_K8, 100)),
    "50,000 k-RR 1, 500 k-RR 8": ((_K1, 50_000), (_K8, 500)),
    "5,000 k-RR 1, 5 k-RR 8": ((_K1, 5_000), (_K8, 5)),
    "5,000 k-RR 1, 50 open": ((_K1, 5_000), (_OPEN, 50)),
    "20,000 k-RR .5, 20 open": ((fw.KRR(LINE, 0.5), 20_000), (_OPEN, 20)),
    "50,000 geometric .02, 5 open": ((_GEO, 50_000), (_OPEN, 5)),
    "50,000 geometric .02, 20 open": ((_GEO, 50_000), (_OPEN, 20)),
    "50,000 geometric .02, 200 open": ((_GEO, 50_000), (_OPEN, 200)),
    "10,000 geometric .1, 20 k-RR 5": ((fw.Geometric(LINE, 0.1), 10_000), (fw.KRR(LINE, 5.0), 20)),
    "5,000 k-RR .5, 2,000 geometric .05, 10 open": (
        (fw.KRR(LINE, 0.5), 5_000),
        (fw.Geometric(LINE, 0.05), 2_000),
        (_OPEN, 10),
    ),
    "1,000 k-RR 1, 50 geometric 1": ((_K1, 1_000), (fw.Geometric(LINE, 1.0), 50)),
}
TRUTHS = {
    "1, 1/2, 1/3, ...": TRUTH,
    "uniform": np.full(100, 0.01),
    "binomial": binom.pmf(np.arange(100), 99, 0.5),
    "five atoms": _atoms(at3=0.3, at20=0.25, at37=0.2, at60=0.15, at90=0.1),
    "0 and 99": _atoms(at0=0.95, at99=0.05),
}
ASKED = np.stack(
    [np.arange(100.0)]
    + [(np.arange(100) <= last).astype(float) for last in (5, 25, 50, 75, 95)]
    + [np.eye(100)[value] for value in (0, 23, 37, 60)]
)
"""The mean, the CDF at five places, and four values' shares."""
CORNERS = {
    "all at 0": _atoms(at0=1.0),
    "all at 37": _atoms(at37=1.0),
    "all at 99": _atoms(at99=1.0),
    "five atoms": TRUTHS["five atoms"],
    "0 and 99": TRUTHS["0 and 99"],
    "binomial": TRUTHS["binomial"],
}
CORNER_MECHANISMS = {
    "k-RR 3 and geometric .3": (fw.KRR(LINE, 3.0), fw.Geometric(LINE, 0.3)),
    "geometric .2": (fw.Geometric(LINE, 0.2),),
}
CORNER_PEOPLE = (300, 3_000, 30_000)


def drawn(case: Case, rng: np.random.Generator, truth: FloatArray = TRUTH) -> fw.Evidence:
    """Draw the counts of all reports at once."""
    parts = []
    for mechanism, many in case.people:
        law = truth @ mechanism.law()
        parts.append((mechanism, mechanism.outputs(), rng.multinomial(many, law / law.sum())))
    return fw.collect(parts)


def held(job: tuple[str, int]) -> tuple[BoolArray, FloatArray, BoolArray]:
    """Say which intervals hold the truth, on how many people they rest, and which are warned of."""
    name, seed = job
    case = {**CASES, **CALM}[name]
    evidence = drawn(case, np.random.default_rng(seed))
    some = fw.intervals(evidence, case.of)
    true = weights_of(case.of, LINE).rows @ TRUTH
    inside = (np.atleast_1d(some.low) <= true + 1e-12) & (true - 1e-12 <= np.atleast_1d(some.high))
    effective = np.atleast_1d(some.effective_people)
    # The CDF at the last value is 1, whatever anybody reports.
    kept = slice(None, -1) if true.size > 1 else slice(None)
    return inside[kept], effective[kept], rests_on_few(effective, evidence.people)[kept]


def rows(name: str, results: list[tuple[BoolArray, FloatArray, BoolArray]]) -> Iterator[list[str]]:
    """Return a line of the table."""
    inside, effective, warned = (np.array(each) for each in zip(*results, strict=True))
    each = inside.mean(axis=1)
    error = each.std(ddof=1) / np.sqrt(len(results))
    yield [
        name,
        f"{each.mean():.3f} ± {error:.3f}",
        f"{inside.mean(axis=0).min():.3f}",
        f"{np.median(effective):,.0f}",
        f"{warned.mean():.2f}",
    ]


def _inside(some: Any, true: FloatArray) -> BoolArray:
    return np.asarray((some.low <= true + 1e-12) & (true - 1e-12 <= some.high))


def held_of_truth(job: tuple[tuple[str, str], int]) -> tuple[BoolArray, FloatArray]:
    """Say which functionals of a mixture and a truth are held, and on how many people they rest."""
    (mixture, name), seed = job
    case, truth = Case(MIXTURES[mixture], ASKED), TRUTHS[name]
    some = fw.intervals(drawn(case, np.random.default_rng(seed), truth), ASKED)
    return _inside(some, ASKED @ truth), some.effective_people


def rows_of_truth(
    cell: tuple[str, str], results: list[tuple[BoolArray, FloatArray]]
) -> Iterator[list[str]]:
    """Return a line: shares held, and the median of the effective people over that at the truth."""
    inside, effective = (np.array(each) for each in zip(*results, strict=True))
    each, people = inside.mean(axis=0), sum(many for _, many in MIXTURES[cell[0]])
    parts = [(mechanism, many / people, "") for mechanism, many in MIXTURES[cell[0]]]
    at_truth = information_of(LINE, parts, 0.999 * TRUTHS[cell[1]] + 1e-5, people)
    wanted = at_truth.shape(ASKED, at_truth.influences(ASKED)).effective_people
    ratios = np.median(effective, axis=0) / wanted
    shares = [f"{each[part].min():.3f}" for part in (slice(1), slice(1, 6), slice(6, None))]
    yield [*cell, *shares, f"{wanted[0]:,.0f}", f"{ratios[0]:.2f}", f"{np.median(ratios):.2f}"]


def held_together(job: tuple[tuple[str, str, int], int]) -> bool:
    """Say if a band holds all values at a corner truth."""
    (mechanisms, name, people), seed = job
    chosen = CORNER_MECHANISMS[mechanisms]
    case = Case(tuple((one, people // len(chosen)) for one in chosen), "shares")
    evidence = drawn(case, np.random.default_rng([seed, people]), CORNERS[name])
    return bool(_inside(fw.intervals(evidence, joint=True), CORNERS[name]).all())


def rows_together(cell: tuple[str, str, int], results: list[bool]) -> Iterator[list[str]]:
    """Return a line of the table of bands."""
    share = float(np.mean(results))
    error = np.sqrt(share * (1 - share) / len(results))
    yield [cell[0], cell[1], f"{cell[2]:,}", f"{share:.3f} ± {error:.3f}"]


def main() -> None:
    """Print the table."""
    wanted = {"action": "store_true"}
    more = {"truths": wanted, "corners": wanted}
    chosen = options("few", __doc__, [*CASES, *CALM], 500, **more)
    if chosen.truths:
        head = ["people", "truth", "mean", "CDF (least)", "shares (least)"]
        head += ["mean rests on", "told over that", "median of all"]
        cells = [(mixture, truth) for mixture in MIXTURES for truth in TRUTHS]
        tabulate(head, cells, held_of_truth, rows_of_truth, chosen)
        return
    if chosen.corners:
        corners = [(a, b, c) for a in CORNER_MECHANISMS for b in CORNERS for c in CORNER_PEOPLE]
        head = ["mechanisms", "truth", "people", "all values held"]
        tabulate(head, corners, held_together, rows_together, chosen)
        return
    head = ["people: what is asked", "held", "least held", "rests on (median)", "warned of"]
    tabulate(head, chosen.mixtures, held, rows, chosen)


if __name__ == "__main__":
    main()
