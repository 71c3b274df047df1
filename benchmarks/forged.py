"""Forged reports: how far `robust` and `gibu` are from the truth, and what is set aside.

Four mechanisms on 0..99 that people choose freely; a share of all reports forged on one symbol (or
some in a row), drawn anew for each seed, in the name of one mechanism. Errors are earth mover's
distances to the values of the honest, ratios those of their means over the same seeds; `honest
alone` is what gibu makes of the reports that are not forged, which no method knows apart. With
`--coverage` it prints instead how often 95 % intervals hold the truth: those of `robust`, and those
of `fw.intervals` from the honest alone and from all reports.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

import freewill as fw
from benchmarks.choice_aware import bells
from benchmarks.instances import binomial
from freewill.core.types import FloatArray

_LINE = fw.Linear(0, 99)
MECHANISMS: tuple[fw.Mechanism, ...] = (
    fw.KRR(_LINE, 1.0),
    fw.Geometric(_LINE, 0.05),
    fw.KRR(_LINE, 3.0),
    fw.Geometric(_LINE, 0.236),
)
_SHORT = ("k-RR 1", "geometric .05", "k-RR 3", "geometric .236")
_KINDS = (
    fw.functionals.mean(),
    fw.functionals.cdf(),
    fw.functionals.bins(5),
    fw.functionals.shares(),
)
"""What intervals are asked for."""
TRUTHS = {"bells": bells(), "binomial": binomial(100)}


@dataclass(frozen=True)
class Case:
    """What is forged: a share of all reports, in the name of a mechanism, on so many symbols.

    `among` are the mechanisms that people choose from.
    """

    share: float = 0.0
    mechanism: int = 0
    asked: float | None = None
    among: tuple[int, ...] = (0, 1, 2, 3)
    symbols: int = 1

    @property
    def name(self) -> str:
        """All of that, for a table."""
        if not self.share:
            return "none |"
        beside = [_SHORT[i] for i in self.among if i != self.mechanism]
        with_them = f", beside {' and '.join(beside)}" if len(beside) < 3 else ""
        spread = f" on {self.symbols} symbols" if self.symbols > 1 else ""
        return f"{self.share:.1%}{spread} | {_SHORT[self.mechanism]}{with_them}"

    def drawn(
        self, truth: FloatArray, people: int, seed: int
    ) -> tuple[fw.Evidence, fw.Evidence, FloatArray, set[int]]:
        """Return all reports, those of the honest, the honest people's values and the symbols."""
        rng = np.random.default_rng([seed, 13])
        first, many = int(rng.integers(100)), round(self.share * people)
        values = rng.choice(100, people - many, p=truth)
        chosen = rng.choice(self.among, size=values.size)
        own = [(MECHANISMS[i], values[chosen == i]) for i in self.among]
        honest = fw.collect([(m, m.obfuscate(some, rng)) for m, some in own])
        there = np.bincount(values, minlength=100) / values.size
        if not many:
            return honest, honest, there, set()
        symbols = (first + rng.integers(self.symbols, size=many)) % 100
        forged = fw.collect([(MECHANISMS[self.mechanism], symbols)])
        return honest + forged, honest, there, set(symbols.tolist())


CASES = (
    Case(asked=1.02),
    Case(0.01, 0),
    Case(0.01, 1, 0.55),
    Case(0.01, 2, 0.50),
    Case(0.01, 3),
    Case(0.002, 0),
    Case(0.002, 2),
    Case(0.03, 0),
    Case(0.03, 2),
)
_USUAL = 5
"""Cases whose intervals are looked at: nothing forged, and 1 % under each mechanism."""
LIMITS = (
    Case(0.01, 2, among=(2, 3)),
    Case(0.01, 2, among=(1, 2)),
    Case(0.01, 2, among=(0, 2)),
    Case(0.01, 0, among=(0, 2)),
    Case(0.01, 2, symbols=5),
    Case(0.01, 2, symbols=20),
    Case(0.01, 2, symbols=60),
)
"""Where little contradicts what is forged: one other mechanism, or forgeries spread out."""


def measured(case: Case, truth: FloatArray, people: int, seed: int) -> list[float]:
    """Return errors of gibu, robust and of the honest alone; shares set aside; seconds."""
    evidence, honest, there, symbols = case.drawn(truth, people, seed)
    exact = fw.gibu(evidence)
    started = process_time()
    safe = fw.robust(evidence)
    seconds = process_time() - started
    if safe.status != fw.Status.CERTIFIED:
        raise RuntimeError(f"seed {seed}, {case.name}: {safe}")
    name = str(MECHANISMS[case.mechanism])
    own = [one for one in safe.set_aside if one.mechanism == name and one.output in symbols]
    caught = sum(one.reports for one in own)
    forged = people - honest.people
    errors = [fw.emd(one.theta, there, _LINE) for one in (exact, safe, fw.gibu(honest))]
    # What is set aside there beyond the forged reports is honest, too.
    lost = safe.forged - min(caught, forged)
    share = min(caught, forged) / forged if forged else 0.0
    return [*errors, share, lost / honest.people, seconds]


def rows(
    truth: str, cases: Sequence[Case], people: int, seeds: Sequence[int]
) -> Iterator[list[str]]:
    """Return the rows of a table, case by case."""
    for case in cases:
        found = np.array([measured(case, TRUTHS[truth], people, seed) for seed in seeds])
        exact, safe, honest, caught, lost, seconds = found.T
        spread = exact.std(ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else np.nan
        yield [
            truth,
            case.name,
            f"{exact.mean():.3f} ± {spread:.3f}",
            ratio(safe, exact),
            "" if case.asked is None else f"≤ {case.asked:g}",
            ratio(honest, exact),
            f"{caught.mean():.1%}" if case.share else "",
            f"{lost.mean():.4%}",
            f"{seconds.max():.2f}",
        ]


def held(
    truth: str, cases: Sequence[Case], people: int, seeds: Sequence[int]
) -> Iterator[list[str]]:
    """Return how often intervals hold the truth, a row a case.

    Of the mean, the CDF, bins of five values and all single ones, each with the standard error
    over the runs; and of the values on whose symbols reports were forged.
    """
    theta = TRUTHS[truth]
    for case in cases:
        found = []
        for seed in seeds:
            evidence, honest, _, symbols = case.drawn(theta, people, seed)
            ways = (fw.robust(evidence), fw.gibu(honest), fw.gibu(evidence))
            found.append([_inside(one, theta, sorted(symbols)) for one in ways])
        shares = np.mean(found, axis=0)
        errors = np.std(found, axis=0, ddof=1) / np.sqrt(len(seeds))
        many = 5 if case.share else 4  # where nothing is forged, there is no forged value
        ours = [f"{shares[0, i]:.3f} ± {errors[0, i]:.3f}" for i in range(many)] + [""] * (5 - many)
        others = [" / ".join(f"{row[i]:.3f}" for i in (0, 1, 4)[: many - 2]) for row in shares[1:]]
        yield [truth, case.name, *ours, *others]


def _inside(estimate: fw.Estimate, theta: FloatArray, forged: list[int]) -> list[float]:
    """Return the share of each kind's intervals that hold the truth, and of forged symbols'."""
    rows = np.vstack([kind.on(_LINE).rows for kind in _KINDS])
    told, true = estimate.intervals(rows), rows @ theta
    inside = (told.low <= true) & (true <= told.high)
    ends = np.cumsum([len(kind.on(_LINE).rows) for kind in _KINDS])
    kinds = np.split(inside, ends[:-1])
    values = kinds[-1]
    shares = [float(np.mean(kind)) for kind in kinds]
    return [*shares, float(np.mean(values[forged])) if forged else np.nan]


def ratio(over: FloatArray, under: FloatArray) -> str:
    """Return the ratio of means with its standard error (delta method)."""
    value = over.mean() / under.mean()
    if len(over) == 1:
        return f"{value:.3f}"
    error = (over - value * under).std(ddof=1) / under.mean() / np.sqrt(len(over))
    return f"{value:.3f} ± {error:.3f}"


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forged", description=__doc__)
    parser.add_argument("truths", nargs="*", metavar="TRUTH", help=f"of {', '.join(TRUTHS)}")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--limits", action="store_true", help="what it is not made for")
    parser.add_argument("--coverage", action="store_true", help="of intervals")
    options = parser.parse_args()
    cases = LIMITS if options.limits else CASES[:_USUAL] if options.coverage else CASES
    unknown = [name for name in options.truths if name not in TRUTHS]
    if unknown:
        parser.error(f"no truth {', '.join(unknown)}; there are {', '.join(TRUTHS)}")
    head = ["truth", "forged", "in"]
    if options.coverage:
        head += ["mean", "CDF", "bins of 5", "values", "forged value"]
        head += [
            "honest alone: mean / CDF / forged value",
            "all reports: mean / CDF / forged value",
        ]
    else:
        head += ["gibu", "robust / gibu", "asked", "honest alone / gibu"]
        head += ["forged set aside", "honest set aside", "seconds, most"]
    print(f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", sep="\n", flush=True)
    seeds = range(options.first, options.first + options.runs)
    for truth in options.truths or TRUTHS:
        for row in (held if options.coverage else rows)(truth, cases, options.people, seeds):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
