"""Intervals of what rests on few of many people: how often they hold the truth, and are warned of.

`python -m benchmarks.few [--runs 500] [CASE ...]` prints that of benchmarks/results/intervals.md.
In each run the values of so many people of each mechanism are drawn from the truth (shares 1, 1/2,
1/3, ... on 0..99), with the number of the run as the seed.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.simulated import options, tabulate
from freewill.core.types import BoolArray, FloatArray
from freewill.stats.functionals import weights_of
from freewill.stats.information import rests_on_few

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


def drawn(case: Case, rng: np.random.Generator) -> fw.Evidence:
    """Draw the counts of all reports at once."""
    parts = []
    for mechanism, many in case.people:
        law = TRUTH @ mechanism.law()
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


def main() -> None:
    """Print the table."""
    chosen = options("few", __doc__, [*CASES, *CALM], 500)
    head = ["people: what is asked", "held", "least held", "rests on (median)", "warned of"]
    tabulate(head, chosen.mixtures, held, rows, chosen)


if __name__ == "__main__":
    main()
