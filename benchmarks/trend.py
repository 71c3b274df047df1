"""Trends: how often tests of change reject where nothing changes, what they find, and the time.

`python -m benchmarks.trend [--runs 300] [--first 0] [CASE ...]` writes results/trend.md; with cases
it prints these alone, `time` among them. Runs are numbered, and each draws people of its own.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any

import numpy as np

import freewill as fw
from benchmarks import pages
from freewill.core.types import FloatArray
from freewill.stats.difference import Pooled, change
from freewill.stats.estimators.estimate import Work
from freewill.stats.trend import linearised

_LEVEL = 0.05
_BANDS = 5
"""Runs for one whose band is looked at, too."""
_HEADS = (
    "mixture", "periods", "people each", "distribution", "mean", "median", "a share", "slope",
    "band", "moved: distribution", "mean", "slope",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """People of some periods, and what they choose from; the last mechanism may come late."""

    name: str
    mechanisms: Sequence[Any]
    periods: int
    people: int
    shares: Sequence[float] = ()
    """Of the mechanisms; drawn anew for each period where there are none."""
    late: bool = False
    uneven: bool = False
    """Whether periods have from a twentieth of the people to twice as many."""
    spread: bool = False
    """Whether values spread more in every second period, about the same mean."""
    drift: float = 0.0
    """Steps that values have moved in the last period, in the runs that look for power."""

    @property
    def size(self) -> int:
        """How many values there are."""
        return int(self.mechanisms[0].alphabet.size)

    def truth(self, period: int, moved: float) -> FloatArray:
        """Return the distribution of a period; `moved` is where its middle is, in steps."""
        wide = 0.15 * (1.6 if self.spread and period % 2 else 1.0)
        places = (np.arange(self.size) - moved) / (self.size - 1) - (0.5 if self.spread else 0.4)
        weights = np.exp(-0.5 * (places / wide) ** 2)
        return np.asarray(weights / weights.sum())

    def bodies(self, rng: np.random.Generator, drift: float) -> Iterator[fw.Evidence]:
        """Yield the evidence of each period."""
        for period in range(self.periods):
            many = self.people
            if self.uneven:
                many = int(many * 2 * rng.uniform(0.025, 1))
            chosen = self.shares or rng.dirichlet(np.ones(len(self.mechanisms)))
            if self.late and period < self.periods // 2:
                chosen = [*chosen[:-1], 0.0]
            counts = rng.multinomial(many, np.array(chosen) / np.sum(chosen))
            theta = self.truth(period, drift * period / (self.periods - 1))
            yield fw.collect([
                (one, one.obfuscate(rng.choice(self.size, count, p=theta), rng))
                for one, count in zip(self.mechanisms, counts, strict=True)
                if count
            ])  # fmt: skip


_TEN, _LINE = fw.Linear(0, 9), fw.Linear(0, 99)
_LABELS = fw.Categorical([f"label {number}" for number in range(10)])
_KRR = [fw.KRR(_LINE, epsilon) for epsilon in (1.0, 2.0, 3.0, 4.0)]
_NOISE = [fw.Geometric(_LINE, epsilon) for epsilon in (0.05, 0.1, 0.3)]
_SMALL = [fw.KRR(_TEN, 1.0), fw.Geometric(_TEN, 0.5), fw.KRR(_TEN, 3.0)]
_OF_LABELS = [fw.KRR(_LABELS, 1.0), fw.KRR(_LABELS, 3.0)]
_BITS = [fw.OUE(_TEN, 1.0), fw.OUE(_TEN, 3.0)]
_OPEN = [fw.Geometric(_LINE, 0.05), fw.Identity(_LINE)]

CASES = {
    case.name: case
    for case in (
        Case("k-RR and noise, 10 values", _SMALL, 4, 200, drift=1.0),
        Case("k-RR and noise, 10 values, uneven", _SMALL, 12, 300, uneven=True, drift=1.0),
        Case("k-RR, 10 labels", _OF_LABELS, 8, 500, drift=1.0),
        Case("k-RR, 100 values", _KRR, 4, 1_000, drift=5.0),
        Case("noise, 100 values", _NOISE, 8, 1_000, drift=5.0),
        Case("k-RR and noise, 100 values", [*_KRR, *_NOISE], 12, 1_000, drift=3.0),
        Case("one comes late, 100 values", [*_NOISE, _KRR[2]], 6, 1_000, late=True, drift=5.0),
        Case("2 % open, 100 values", _OPEN, 6, 2_000, shares=(0.98, 0.02), drift=5.0),
        Case("OUE bits, 10 values", _BITS, 6, 2_000, drift=0.5),
        Case("k-RR, 100 values, many", _KRR, 12, 10_000, drift=1.0),
        Case("k-RR, 100 values, 26 weeks", _KRR, 26, 10_000, drift=1.0),
        Case("as wide again every other", _SMALL, 8, 1_000, spread=True),
        Case("as wide again, uneven", _SMALL, 8, 20_000, spread=True, uneven=True),
    )
}


def tested(bodies: Sequence[fw.Evidence]) -> list[float]:
    """Return p-values: of the distribution, mean, median, a share, the slope of the mean."""
    alphabet = bodies[0].alphabet
    pooled = Pooled.of(bodies, Work(None))
    line = alphabet.plane is not None
    rows = np.arange(alphabet.size, dtype=float)[None]
    if line:
        rows = np.concatenate([rows, linearised("median", alphabet, pooled.theta)])
    share = np.arange(alphabet.size) == int(0.4 * (alphabet.size - 1))
    found = change(
        pooled, np.arange(float(len(bodies))), np.concatenate([rows, share[None]]), Work(None)
    )
    constant = found.constant.tolist()
    mean, median = (constant[0], constant[1]) if line else (np.nan, np.nan)
    slope = float(found.level[0]) if line else np.nan
    return [found.whole, mean, median, constant[-1], slope]


def holds(case: Case, bodies: Sequence[fw.Evidence]) -> bool:
    """Say whether the band of a share holds it in all periods."""
    place = int(0.4 * (case.size - 1))
    weights = (np.arange(case.size) == place).astype(float)
    found = fw.trend(dict(enumerate_names(bodies)), weights, equal=True)
    truth = np.array([case.truth(period, 0.0)[place] for period in range(case.periods)])
    return bool(np.all((found.band_low <= truth) & (truth <= found.band_high)))


def enumerate_names(bodies: Sequence[fw.Evidence]) -> Iterator[tuple[str, fw.Evidence]]:
    """Yield names of periods with their evidence."""
    return ((f"week {number}", body) for number, body in enumerate(bodies))


def measured(case: Case, runs: int, first: int = 0) -> list[str]:
    """Return a row of the table, of so many runs from the first on."""
    level, found, bands = [], [], []
    for seed in range(first, first + runs):
        rng = np.random.default_rng([seed, case.periods, case.people])
        bodies = list(case.bodies(rng, 0.0))
        level.append(tested(bodies))
        if seed % _BANDS == 0:
            bands.append(holds(case, bodies))
            if case.drift:
                found.append(tested(list(case.bodies(rng, case.drift))))
    size = np.mean(np.array(level) < _LEVEL, axis=0)
    size = np.where(np.isnan(level[0]), np.nan, size)
    if case.spread:
        size[[0, 3]] = np.nan
    name = f"{case.name}, {case.drift:g}" if case.drift else case.name
    cells = [name, str(case.periods), f"{case.people:,}", *map(_share, size)]
    cells.append(_share(float(np.mean(bands))))
    power = np.mean(np.array(found) < _LEVEL, axis=0) if found else np.full(5, np.nan)
    power = np.where(np.isnan(level[0]), np.nan, power)
    return [*cells, *(_share(power[place]) for place in (0, 1, 4))]


def _share(share: float) -> str:
    return "" if np.isnan(share) else f"{share:.3f}"


def weeks(count: int = 26, people: int = 100_000) -> fw.Evidence:
    """Return the evidence of some weeks, in each of which people choose otherwise."""
    rng, first = np.random.default_rng(1), date(2026, 5, 4)
    mechanisms = [*_KRR, *_NOISE]
    parts = []
    for week in range(count):
        counts = rng.multinomial(people, rng.dirichlet(np.ones(len(mechanisms))))
        reports = [
            (one, one.obfuscate(rng.binomial(99, 0.4 + 0.0002 * week, many), rng))
            for one, many in zip(mechanisms, counts, strict=True)
        ]
        start = first + timedelta(weeks=week)
        parts.append((start, start + timedelta(weeks=1), fw.collect(reports)))
    return fw.with_periods(parts)


def timed() -> list[str]:
    """Return rows of what a trend of 26 weeks takes, with bands and tests; CPU and clock."""
    rows, evidence = [], weeks()
    for of, joint in (("mean", False), ("median", False), ("cdf", True), ("shares", True)):
        begun, used = time.perf_counter(), time.process_time()
        fw.trend(evidence, of, joint=joint)
        clock, cpu = time.perf_counter() - begun, time.process_time() - used
        kind = ", all together" if joint else ""
        rows.append(f"| {of}{kind} | {clock:.2f} s | {cpu:.2f} s |")
    return rows


_HEAD = """Shares of runs in which tests reject at 5 % though
nothing changes: that all periods have one distribution, that the mean, the median or a common share
is constant, that the slope of the mean is 0. Their standard error is {error:.3f}, and about
{all_error:.3f} in the last row, the mean of all. How many choose which mechanism is drawn anew for
each period. "band" is the share of runs, one in five, in which
the 95 % band of the common share holds it in all periods at once. The last columns are the power,
by one run in five, where values move over all periods by as many steps as stand behind the name. In
the last two mixtures the distribution does change, and the mean does not.

"""
_TIME = """
A trend of 26 weeks of 100,000 people, k = 100, seven mechanisms, with intervals, bands and tests:

| of | clock | CPU |
| --- | --- | --- |
"""


def main() -> None:
    """Measure all, and write the table; or some, and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trend", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join([*CASES, "time"]))
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    lines, sizes = [f"| {' | '.join(_HEADS)} |", "| --- " * len(_HEADS) + "|"], list[list[str]]()
    chosen = [case for name, case in CASES.items() if not options.cases or name in options.cases]
    with ProcessPoolExecutor(options.jobs) as pool:
        for cells in pool.map(partial(measured, runs=options.runs, first=options.first), chosen):
            sizes.append(cells[3:8])
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    columns = ([float(cell) for cell in column if cell] for column in zip(*sizes, strict=True))
    means = [_share(float(np.mean(column))) for column in columns]
    lines.append(f"| all |  |  | {' | '.join([*means, *[''] * 4])} |")
    rows = timed() if not options.cases or "time" in options.cases else []
    print("\n".join(rows), flush=True)
    if not options.cases:
        error = (_LEVEL * (1 - _LEVEL) / options.runs) ** 0.5
        each = {"runs": options.runs, "error": error, "all_error": error / len(CASES) ** 0.5}
        text = _HEAD.format(**each) + "\n".join(lines) + "\n" + _TIME
        command = f"python -m benchmarks.trend --runs {options.runs}"
        pages.write("trend", command, text + "\n".join(rows))


if __name__ == "__main__":
    main()
