"""Errors of smoothing beside those of the exact maximum likelihood, and its time."""

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

import freewill as fw
from benchmarks import instances
from benchmarks.harness import Figure, Row, clock, limited, ratio_of_means
from benchmarks.instances import Instance
from freewill.paper import mixtures as paper
from freewill.paper import places

ADULT = "FREEWILL_ADULT_COUNTS"
"""Environment variable: a csv file with a column `age` and columns of counts."""
_SEEDS = range(20)
_HELD_OUT = range(3000, 3040)
"""Seeds that no number in `smooth` was chosen by."""


def bell(middle: float, width: float) -> np.ndarray:
    """Return a bell on the line 0..99."""
    return np.exp(-((np.arange(100) - middle) ** 2) / (2 * width**2))


def atoms(seed: int | None = None) -> np.ndarray:
    """Return five values that have all the people; with a seed, any five."""
    weights = np.zeros(100)
    if seed is None:
        weights[[7, 23, 48, 66, 90]] = [0.1, 0.3, 0.25, 0.2, 0.15]
        return weights
    rng = np.random.default_rng(seed)
    weights[rng.choice(100, 5, replace=False)] = rng.dirichlet(np.full(5, 3.0))
    return weights


def pareto(seed: int = 5) -> np.ndarray:
    """Return weights that have nothing to do with their neighbours', some of them large."""
    return np.random.default_rng(seed).pareto(1.2, 100) + 0.05


def step() -> np.ndarray:
    """Return a plateau, a lower one beside it, and nobody elsewhere."""
    values = np.arange(100)
    return 1.0 * ((values >= 20) & (values < 45)) + 0.4 * ((values >= 45) & (values < 80))


def adult_ages() -> np.ndarray | None:
    """Return the ages of the census extract, where a file is given."""
    path = os.environ.get(ADULT)
    if path is None:
        return None
    counts = np.zeros(100)
    with open(path, newline="") as file:
        for line in csv.DictReader(file):
            counts[int(line.pop("age"))] += sum(map(float, line.values()))
    return counts


def on_line(name: str, weights: np.ndarray, people: int, kind: str = "geometric") -> Instance:
    """Return ten mechanisms of a kind on 0..99."""
    made = {"geometric": instances.linear_geometric, "k-RR": instances.linear_krr}[kind]()
    what = f"{name}, ten {kind}, n={people:,}"
    return replace(made, name=what, truth=weights / weights.sum(), people=people)


def in_city(name: str, truth: np.ndarray, people: int, kind: str = "planar geometric") -> Instance:
    """Return ten mechanisms of a kind on 24 x 16 cells."""
    made = {"planar geometric": instances.planar_geometric, "k-RR": instances.planar_krr}[kind]()
    return replace(made, name=f"{name}, ten {kind}, n={people:,}", truth=truth, people=people)


def measured(drawn: Sequence[Instance], asked: float | None = None) -> Iterator[Row]:
    """Yield mean EMD over that of gibu: to the drawn people, and to whom they were drawn from.

    Both estimators see the same reports; the standard error is that of the ratio of two means.
    """
    errors = np.array([_errors(instance) for instance in drawn])
    for (ours, exact), of in zip(errors.transpose(1, 2, 0), ("people", "population"), strict=True):
        ratio, error = ratio_of_means(ours, exact)
        name = f"{drawn[0].name}: EMD to the {of} over gibu's, {len(drawn)} seeds"
        limit = asked if of == "people" else None
        yield Row(
            f"{name}, standard error {error:.2g}",
            Figure(ratio, ""),
            "gibu, mean EMD",
            Figure(float(exact.mean()), ""),
            asked="" if limit is None else f"<= {limit:g}",
            met=None if limit is None else ratio <= limit,
        )


def _errors(instance: Instance) -> list[list[float]]:
    evidence = instance.evidence()
    size = instance.alphabet.size
    people = np.bincount(instance.values(), minlength=size) / instance.people
    thetas = fw.smooth(evidence).theta, fw.gibu(evidence).theta
    return [
        [fw.emd(theta, truth, instance.alphabet) for theta in thetas]
        for truth in (people, instance.truth)
    ]


def seeded(instance: Instance, seeds: Sequence[int]) -> list[Instance]:
    """Return the same problem with other people for each seed."""
    return [instance.seeded(seed) for seed in seeds]


def _asked() -> Iterator[tuple[Instance, float]]:
    """Yield the problems with a figure to reach; of real data only what is given."""
    yield on_line("binomial", instances.binomial(100), 100_000), 0.5
    yield on_line("five atoms", atoms(), 100_000), 1.0
    yield on_line("Pareto spikes", pareto(), 100_000), 1.0
    ages = adult_ages()
    if ages is not None:
        for people in (10_000, 48_842, 100_000):
            yield on_line("Adult ages", ages, people), 0.75
    if instances.GOWALLA in os.environ:
        yield in_city(*instances.city(), 10_000), 0.8


def asked() -> Iterator[Row]:
    """Truths with a figure to reach: smooth, spiky and real."""
    for instance, most in _asked():
        yield from measured(seeded(instance, _SEEDS), most)


def held_out() -> Iterator[Row]:
    """The same with seeds that nothing was chosen by, and with other atoms and spikes for each."""
    for instance, most in _asked():
        yield from measured(seeded(instance, _HELD_OUT), most)
    for name, make in (("other atoms", atoms), ("other Pareto spikes", pareto)):
        for people in (10_000, 100_000):
            drawn = [on_line(name, make(seed), people).seeded(seed) for seed in _HELD_OUT]
            yield from measured(drawn)


def atoms_alone() -> Iterator[Row]:
    """Other atoms for each seed, under noise of one strength: what smoothing can only spoil."""
    for epsilon in (0.1, 0.2, 0.5):
        for people in (1000, 10_000, 100_000):
            mechanisms = instances.mixture(fw.Geometric, places.LINE, (epsilon,))
            name = f"other atoms, geometric {epsilon:g}, n={people:,}"
            yield from measured(
                [Instance(name, mechanisms, atoms(seed), people, seed) for seed in _HELD_OUT]
            )


def others() -> Iterator[Row]:
    """Truths, sizes and mechanisms that nothing was asked of."""
    two = 0.6 * bell(30, 6) + 0.4 * bell(70, 8)
    point = 1.0 * (np.arange(100) == 42)
    line = [
        on_line("binomial", instances.binomial(100), 1000),
        on_line("binomial", instances.binomial(100), 10_000),
        on_line("binomial", instances.binomial(100), 10_000, "k-RR"),
        on_line("two bells", two, 10_000),
        on_line("two bells", two, 100_000, "k-RR"),
        on_line("exponential", np.exp(-np.arange(100) / 15), 10_000),
        on_line("two plateaus", step(), 10_000),
        on_line("uniform", np.ones(100), 10_000),
        on_line("one value", point, 10_000),
        on_line("five atoms", atoms(), 10_000),
        on_line("five atoms", atoms(), 100_000, "k-RR"),
        on_line("Pareto spikes", pareto(), 10_000),
        on_line("Pareto spikes", pareto(), 100_000, "k-RR"),
        instances.rappor(paper.RAPPOR_HIGH_PRIVACY, "high"),
        instances.rappor(paper.RAPPOR_LOW_PRIVACY, "low"),
    ]
    for instance in line:
        yield from measured(seeded(instance, range(10)))
    city = [
        in_city("rough city", instances.rough_city(instances.CITY), 10_000),
        in_city("spiky city", instances.spiky_city(instances.CITY), 10_000),
        in_city("smooth city", instances.smooth_city(instances.CITY), 10_000),
        in_city("rough city", instances.rough_city(instances.CITY), 10_000, "k-RR"),
    ]
    if instances.GOWALLA in os.environ:
        city += [in_city(*instances.city(), people) for people in (1000, 100_000)]
    for instance in city:
        yield from measured(seeded(instance, range(5)))


def seconds() -> Iterator[Row]:
    """Time of one estimate, and of large ones."""
    limits: list[tuple[Instance, float | None]] = [
        (on_line("binomial", instances.binomial(100), 100_000), 0.5),
        (on_line("Pareto spikes", pareto(), 100_000), 0.5),
        (in_city(*instances.city(), 10_000), 5.0),
        (in_city(*instances.city(), 100_000), 5.0),
        (instances.geometric_line(1000, 3, 0.01, 0.2), None),
        (rappor_line(), None),
    ]
    for instance, limit in limits:
        evidence = instance.evidence()
        tick = clock(lambda evidence=evidence: fw.smooth(evidence))
        least = min(tick() for _ in range(3 if limit else 1))
        yield limited(f"{instance.name}: time", Figure(least, "s"), limit)


def rappor_line() -> Instance:
    """Four RAPPOR mechanisms on 0..99: hardly a report repeats."""
    mechanisms = instances.mixture(fw.RAPPOR, places.LINE, (0.5, 1.0, 2.0, 4.0))
    return Instance("four RAPPOR, k=100, n=100,000", mechanisms, instances.binomial(100))


BENCHMARKS = (asked, held_out, atoms_alone, others, seconds)
