"""Releases with noise: how often intervals hold the truth, and how much wider the noise makes them.

`python -m benchmarks.releases [--runs 400]` prints the tables of benchmarks/results/releases.md. In
each run people draw their values from the truth, choose a mechanism by chance, and are counted in
so many releases, each with fresh noise; the number of the run is the seed.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import freewill as fw
from freewill.collector.releases import ReleaseRule, Releases
from freewill.collector.store import open_store
from freewill.collector.surveys import Upload, to_bytes
from freewill.core.types import FloatArray
from freewill.domain.draws.noise import CountNoise
from freewill.domain.survey import Survey
from freewill.stats.fit import Fit, NoisyFit, noisy_evidence

WEIGHTS: dict[str, Callable[[int], FloatArray]] = {
    "shares": np.eye,
    "cdf": lambda values: np.tri(values)[:-1],
    "mean": lambda values: np.arange(float(values))[None],
}
ASKED = tuple(WEIGHTS)


@dataclass(frozen=True)
class Case:
    """A line of so many values, who answers, and how that is published."""

    values: int
    people: int
    releases: int
    epsilon: float
    open: bool = False
    """Whether a tenth of the people send their value as it is."""

    @property
    def truth(self) -> FloatArray:
        """Many small values, few large ones."""
        heights = 1 / np.arange(1.0, self.values + 1)
        return np.asarray(heights / heights.sum())

    @property
    def menu(self) -> list[tuple[Any, float]]:
        """Mechanisms and the shares of those who choose them."""
        line = fw.Linear(0, self.values - 1)
        menu: list[tuple[Any, float]] = [(fw.KRR(line, 2.0), 0.5), (fw.Geometric(line, 0.5), 0.5)]
        return (
            [*((one, 0.9 * share) for one, share in menu), (fw.Identity(line), 0.1)]
            if self.open
            else menu
        )


CASES = (
    Case(5, 1_000, 1, 1.0),
    Case(5, 1_000, 10, 1.0),
    Case(5, 5_000, 50, 1.0),
    Case(5, 5_000, 10, 0.2),
    Case(20, 2_000, 10, 1.0),
    Case(20, 2_000, 10, 1.0, open=True),
    Case(100, 10_000, 10, 1.0),
)


def simulated(case: Case, rng: np.random.Generator) -> tuple[Fit, Fit, Fit]:
    """Return fits to noisy counts, to the same as if they had no noise, and to exact counts."""
    noise, cells, parts = CountNoise(case.epsilon), [], []
    sizes = rng.multinomial(case.people, [share for _, share in case.menu])
    for (mechanism, _), many in zip(case.menu, sizes, strict=True):
        values = rng.choice(case.values, many, p=case.truth)
        counts = np.bincount(mechanism.obfuscate(values, rng), minlength=case.values)
        drawn = noise.many(case.releases * case.values, rng).reshape(case.releases, -1)
        cells.append(
            (mechanism, np.arange(case.values), counts + drawn.sum(axis=0), mechanism.name)
        )
        parts.append((mechanism, np.arange(case.values), counts))
    line = case.menu[0][0].alphabet
    variance = case.releases * noise.variance
    noisy = [NoisyFit(noisy_evidence(line, cells, one)) for one in (variance, 0.0)]
    return noisy[0], noisy[1], fw.fit(fw.collect(parts))


def measured(case: Case, runs: int) -> list[str]:
    """Return a row of the table: coverage of each question, and widths beside exact counts."""
    held: dict[str, list[float]] = {f"{of}{end}": [] for of in ASKED for end in ("", " ignored")}
    wider: list[float] = []
    for seed in range(runs):
        noisy, ignored, exact = simulated(case, np.random.default_rng(seed))
        for of in ASKED:
            rows = WEIGHTS[of](case.values)
            truth = rows @ case.truth
            for name, one in ((of, noisy), (f"{of} ignored", ignored)):
                made = one.intervals(rows)
                held[name].append(float(np.mean((made.low <= truth) & (truth <= made.high))))
            if of == "mean":
                wider.append(
                    float(
                        np.mean(
                            noisy.intervals(rows).standard_error
                            / exact.intervals(rows).standard_error
                        )
                    )
                )
    said = [f"{np.mean(held[of]):.3f}" for of in ASKED]
    blind = [f"{np.mean(held[f'{of} ignored']):.3f}" for of in ASKED]
    what = f"{case.values} values, {case.people:,} people{', a tenth open' if case.open else ''}"
    return [what, str(case.releases), f"{case.epsilon:g}", *said, *blind, f"{np.median(wider):.2f}"]


def timed(people: int) -> list[list[str]]:
    """Return how long the first release of so many people takes, and one of 1,000 more."""
    line, rng, rows = fw.Linear(0, 99), np.random.default_rng(1), []
    for name, mechanism in (("counted", fw.KRR(line, 2.0)), ("wide bits", fw.RAPPOR(line, 2.0))):
        survey = Survey(line, {name: mechanism})
        with tempfile.TemporaryDirectory() as folder:
            store, hour = open_store(str(Path(folder, "store.db"))), [0]
            (number,) = store.add(survey).values()
            releases = Releases(
                store, [survey], ReleaseRule(), clock=lambda hour=hour: 3600.0 * hour[0]
            )
            times = []
            for many in (people, 1_000):
                outputs = to_bytes(mechanism.obfuscate(rng.integers(100, size=many), rng))
                reports = [(number, one, rng.bytes(16)) for one in outputs]
                store.write([Upload(survey.id, reports)], "2026-01-01")
                hour[0] += 1
                started = perf_counter()
                releases.tick()
                times.append(f"{perf_counter() - started:.2f} s")
            store.close()
        rows.append([name, f"{people:,}", *times])
    return rows


def printed(heads: list[str], rows: list[list[str]]) -> None:
    """Print a table."""
    for row in (heads, ["---"] * len(heads), *rows):
        print(f"| {' | '.join(row)} |")
    print()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--people", type=int, default=1_000_000)
    given = parser.parse_args()
    heads = ["survey", "releases", "epsilon", *ASKED, *(f"{of}, noise ignored" for of in ASKED)]
    rows = [measured(case, given.runs) for case in CASES]
    printed([*heads, "error of the mean beside exact counts"], rows)
    printed(["reports", "people", "first release", "after 1,000 more"], timed(given.people))


if __name__ == "__main__":
    main()
