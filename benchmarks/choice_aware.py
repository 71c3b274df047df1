"""Errors where people choose by their value: the table of benchmarks/results/choice-aware.md.

`python -m benchmarks.choice_aware [MIXTURE ...] [--runs 20] [--people 10000 100000] [--sway 0.5]
[--city FILE]` prints, in markdown, the mean earth mover's distance to the very people who reported,
of `choice_aware` and of [IBU]R (the average of one estimate a mechanism) over that of `gibu`, with
the standard error of the ratio, and the time. Every run draws people, their choices and their
reports anew; the three see the same reports. With `--coverage` it prints instead how often 95 %
intervals hold the mean of the truth, and the choice at five values: 20, 35, 50, 65 and 80 on the
line, and in a city where a tenth, three, five, seven and nine tenths of people are nearer to the
centre.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

import freewill as fw
from freewill.core.types import FloatArray
from freewill.paper import mixtures as paper
from freewill.paper import places
from freewill.paper.places import load, synthetic_city

_PLACES = (np.arange(100) - 50) / 50
"""The line from -1 to 1."""
_AT = (20, 35, 50, 65, 80)
"""Values of the line at which the choice is asked for."""
_NEARER = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of people nearer to the centre of a city than the places where it is asked for."""


@dataclass(frozen=True, eq=False)
class Case:
    """Mechanisms on an alphabet, the truth there, and how the choice may depend on the value.

    A shape is a function of the value. With two mechanisms the logits are plus and minus it;
    otherwise each mechanism has a multiple of its own, drawn anew in every run, with a standard
    deviation of `sway`. `at` are five values at which the choice is asked for.
    """

    name: str
    mechanisms: Sequence[fw.Mechanism]
    truth: FloatArray
    shapes: dict[str, FloatArray]
    asked: dict[tuple[str, int], float]
    at: Sequence[int]
    sway: float = 0.5

    def drawn(
        self, shape: str, people: int, seed: int
    ) -> tuple[fw.Evidence, FloatArray, FloatArray]:
        """Draw people, their choices and reports.

        Return the reports, the people's distribution, and the choice law, [value, group].
        """
        rng = np.random.default_rng([seed, people])
        count = len(self.mechanisms)
        levels = np.array([1.0, -1.0]) if count == 2 else self.sway * rng.standard_normal(count)
        powers = np.exp(np.outer(self.shapes[shape], levels))
        choice = powers / powers.sum(axis=1, keepdims=True)
        values = rng.choice(self.truth.size, size=people, p=self.truth)
        passed = rng.random(people)[:, None] > np.cumsum(choice, axis=1)[values]
        chosen = np.minimum(passed.sum(axis=1), count - 1)
        parts = [
            (mechanism, mechanism.obfuscate(values[chosen == number], rng))
            for number, mechanism in enumerate(self.mechanisms)
        ]
        evidence = fw.collect(parts)
        order = [self.mechanisms.index(one) for one in evidence.mechanisms]
        there = np.bincount(values, minlength=self.truth.size) / people
        return evidence, there, choice[:, order]


def bells() -> FloatArray:
    """Return two generations on 0..99."""
    values = np.arange(100)
    weights = 0.6 * np.exp(-((values - 35) ** 2) / 200) + 0.4 * np.exp(-((values - 65) ** 2) / 288)
    return np.asarray(weights / weights.sum())


def on_line(name: str, geometric: Sequence[float], krr: Sequence[float]) -> Case:
    """Return mechanisms on 0..99 with four ways to choose: free, by a slope, a U and a step."""
    line = places.LINE
    mechanisms: list[fw.Mechanism] = [fw.Geometric(line, epsilon) for epsilon in geometric]
    mechanisms += [fw.KRR(line, epsilon) for epsilon in krr]
    shapes = {
        "free": 0 * _PLACES,
        "slope": 2 * _PLACES,
        "U": 3 * _PLACES**2 - 0.8,
        "step": np.where(np.arange(100) > 60, 1.0, -1.0) * np.log(9) / 2,
    }
    limits = {100_000: (1.03, 0.20, 0.60, 0.50), 10_000: (1.05, 0.55, 1.0, 0.80)}
    asked = {(s, n): most for n, row in limits.items() for s, most in zip(shapes, row, strict=True)}
    return Case(name, mechanisms, bells(), shapes, asked, _AT)


def in_city(name: str, geometric: Sequence[float], krr: Sequence[float], file: str | None) -> Case:
    """Return mechanisms in a city; the choice is free, or depends on the distance from its centre.

    The centre is that of the people; the logits move by 1 for a standard deviation of the distance.
    """
    crowd = synthetic_city() if file is None else load(file)
    grid, truth = crowd.alphabet, crowd.truth
    north, east = (side / 2 for side in np.divmod(np.arange(grid.size), places.CITY.columns))
    distance = np.hypot(east - truth @ east, north - truth @ north)
    middle = truth @ distance
    far = (distance - middle) / np.sqrt(truth @ (distance - middle) ** 2)
    mechanisms: list[fw.Mechanism] = [fw.PlanarGeometric(grid, e) for e in geometric]
    mechanisms += [fw.KRR(grid, epsilon) for epsilon in krr]
    asked = {("distance", 100_000): 0.5, ("distance", 10_000): 1.0}
    asked |= {("free", 100_000): 1.03, ("free", 10_000): 1.05}
    outwards = np.argsort(distance)
    at = outwards[np.searchsorted(np.cumsum(truth[outwards]), _NEARER)]
    shapes = {"free": 0 * far, "distance": far}
    return Case(name, mechanisms, truth, shapes, asked, at.tolist(), sway=1.0)


def cases(city: str | None) -> dict[str, Callable[[], Case]]:
    """Return what there is to try, by name."""
    geometric, krr = paper.GEOMETRIC_LINE, paper.KRR_LINE
    wide, sharp = paper.GEOMETRIC_CITY, paper.KRR_CITY
    few = [wide[4], wide[7]], [sharp[1]]
    return {
        "two-geometric": lambda: on_line("two geometric", (geometric[4], geometric[8]), ()),
        "two-krr": lambda: on_line("two k-RR", (), (krr[0], krr[5])),
        "two-mixed": lambda: on_line("geometric and k-RR", (geometric[4],), (krr[5],)),
        "ten-geometric": lambda: on_line("ten geometric", geometric, ()),
        "ten-krr": lambda: on_line("ten k-RR", (), krr),
        "ten-mixed": lambda: on_line(
            "five geometric, five k-RR", paper.MIXED_LINE_GEOMETRIC, paper.MIXED_LINE_KRR
        ),
        "city-geometric": lambda: in_city("city, three geometric", wide[2:9:3], (), city),
        "city-mixed": lambda: in_city("city, two geometric, one k-RR", *few, city),
        "city-krr": lambda: in_city("city, three k-RR", (), sharp[2:9:3], city),
    }


def rows(case: Case, people: int, seeds: Sequence[int]) -> Iterator[list[str]]:
    """Yield the lines of the table for one case, one a shape."""
    for shape in case.shapes:
        errors, seconds = np.empty((len(seeds), 3)), np.empty(len(seeds))
        bases: list[str] = []
        for place, seed in enumerate(seeds):
            evidence, truth, _ = case.drawn(shape, people, seed)
            began = process_time()
            aware = fw.choice_aware(evidence)
            seconds[place] = process_time() - began
            others = fw.combine_results(evidence, fw.ibu), fw.gibu(evidence)
            thetas = [one.theta for one in (aware, *others)]
            errors[place] = [fw.emd(theta, truth, evidence.alphabet) for theta in thetas]
            bases.append(aware.basis)
        ours, each, free = errors.T
        ratio = float(ours.mean() / free.mean())
        error = float(np.std(ours - ratio * free, ddof=1) / np.sqrt(len(seeds)) / free.mean())
        most = case.asked.get((shape, people))
        met = "" if most is None else f"<= {most:g}: {'yes' if ratio <= most else 'NO'}"
        usual = max(set(bases), key=bases.count)
        yield [
            case.name,
            f"{people:,}",
            shape,
            f"{free.mean():.3f}",
            f"{ratio:.3f} ± {error:.3f}",
            f"{each.mean() / free.mean():.3f}",
            met,
            f"{usual} ({bases.count(usual)} of {len(bases)})",
            f"{seconds.mean():.2f}, {seconds.max():.2f}",
        ]


def held(case: Case, people: int, seeds: Sequence[int]) -> Iterator[list[str]]:
    """Yield how often intervals hold the mean and the choice: free, and by a slope or distance.

    On a grid the mean is that of both coordinates, each counted for itself.
    """
    alphabet = case.mechanisms[0].alphabet
    mean = fw.functionals.mean().on(alphabet).rows @ case.truth
    for shape in list(case.shapes)[:2]:
        found, errors = [], []
        for seed in seeds:
            evidence, _, choice = case.drawn(shape, people, seed)
            aware = fw.choice_aware(evidence)
            told, (low, high) = aware.intervals("mean"), aware.choice_intervals()
            inside = ((low <= choice) & (choice <= high))[list(case.at)].mean(axis=1)
            found.append([np.mean((told.low <= mean) & (mean <= told.high)), *inside])
            free = fw.intervals(evidence, "mean")
            errors.append([np.mean(one.standard_error) for one in (told, free)])
        shares = np.mean(found, axis=0)
        # Mechanisms and coordinates of one run go together: the spread is that of whole runs.
        off = np.std(found, axis=0, ddof=1) / np.sqrt(len(seeds))
        cells = [f"{share:.3f} ± {by:.3f}" for share, by in zip(shares, off, strict=True)]
        wide = [f"{error:.3g}" for error in np.mean(errors, axis=0)]
        yield [case.name, f"{people:,}", shape, *cells, *wide]


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice_aware", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="MIXTURE", help=f"of {', '.join(cases(None))}")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--people", type=int, nargs="+", default=[100_000, 10_000])
    parser.add_argument("--sway", type=float, help="of the multiples of ten mechanisms' logits")
    parser.add_argument("--coverage", action="store_true", help="of intervals")
    parser.add_argument("--city", help="points of a city (CSV); invented by default")
    options = parser.parse_args()
    known = cases(options.city)
    unknown = [name for name in options.cases if name not in known]
    if unknown:
        parser.error(f"no mixture {', '.join(unknown)}; there are {', '.join(known)}")
    head = ["mechanisms", "people", "choice"]
    if options.coverage:
        head += ["mean", *(f"c{place}" for place in range(1, 6)), "error of the mean", "if free"]
    else:
        head += ["gibu", "choice-aware / gibu", "[IBU]R / gibu", "goal", "basis", "seconds, most"]
    print(f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", sep="\n", flush=True)
    for name in options.cases or known:
        case = known[name]()
        if options.sway is not None:
            case = replace(case, sway=options.sway)
        for people in options.people:
            seeds = range(options.first, options.first + options.runs)
            for row in (held if options.coverage else rows)(case, people, seeds):
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
