"""Whether the worst choice that goes unnoticed biases `gibu` by no more than `sensitivity` says.

`python -m benchmarks.sensitivity [--cases 200] [--runs 20] [--first 0]` draws mixtures, truths and
sizes at random, asks a survey with free choice for its sensitivity, and then draws surveys whose
people choose by the law that it names as the worst, weakened by bisection to where every second
survey notices it, and by others: steps, slopes and single values as strong. Of each it prints how
often `check_choice` rejects, and the bias of the mean as a share of the bound; then the largest
share over laws that are noticed less than every second time, with a standard error from the runs.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import freewill as fw
from freewill.core.types import FloatArray
from freewill.stats.choice.sensitivity import sensitivity

LINE = fw.Linear(0, 49)
SIZE = 50


class Reached(NamedTuple):
    """What surveys with one choice law come to."""

    rejected: float
    bias: float
    error: float


def mixture(rng: np.random.Generator) -> list[fw.Mechanism]:
    """Draw two or three mechanisms, of which the first two differ in kind or by an epsilon of 1."""
    kinds: list[Callable[[], fw.Mechanism]] = [
        lambda: fw.Geometric(LINE, float(np.exp(rng.uniform(np.log(0.05), np.log(1.0))))),
        lambda: fw.KRR(LINE, float(rng.uniform(2.0, 6.0))),
        lambda: fw.RAPPOR(LINE, float(rng.uniform(1.5, 5.0))),
    ]
    return [kinds[int(rng.integers(3))]() for _ in range(int(rng.integers(2, 4)))]


def truth_of(rng: np.random.Generator) -> FloatArray:
    """Draw a truth of one to three bells, or of random shares."""
    if rng.random() < 0.3:
        return np.asarray(rng.dirichlet(np.full(SIZE, 2.0)))
    x, theta = np.arange(SIZE), np.full(SIZE, 1e-3)
    for _ in range(int(rng.integers(1, 4))):
        theta += rng.random() * np.exp(-(((x - rng.uniform(0, SIZE)) / rng.uniform(4, 15)) ** 2))
    return np.asarray(theta / theta.sum())


def drawn(
    mechanisms: list[fw.Mechanism],
    theta: FloatArray,
    law: FloatArray,
    people: int,
    rng: np.random.Generator,
) -> fw.Evidence:
    """Draw people, their choices by a law [value, mechanism], and their reports."""
    values = rng.choice(SIZE, size=people, p=theta)
    chosen = (rng.random(people)[:, None] > np.cumsum(law, axis=1)[values][:, :-1]).sum(axis=1)
    return fw.collect(
        [(m, m.obfuscate(values[chosen == i], rng)) for i, m in enumerate(mechanisms)]
    )


def reached(
    mechanisms: list[fw.Mechanism],
    theta: FloatArray,
    law: FloatArray,
    people: int,
    runs: int,
    rng: np.random.Generator,
) -> Reached:
    """Return how often a choice is noticed, and the bias of gibu's mean."""
    x, results = np.arange(SIZE), []
    for _ in range(runs):
        evidence = drawn(mechanisms, theta, law, people, rng)
        estimate = fw.gibu(evidence)
        check = fw.check_choice(evidence, start=estimate)
        results.append([not check.holds, x @ (estimate.theta - theta)])
    rejected, bias = np.mean(results, axis=0)
    return Reached(rejected, bias, float(np.std(results, axis=0)[1] / np.sqrt(runs)))


def others(shares: FloatArray, strength: float, rng: np.random.Generator) -> list[FloatArray]:
    """Return choice laws of other kinds: a step, a slope and single values, as strong."""
    x = np.arange(SIZE)
    shapes = [
        np.sign(x - rng.uniform(10, 40)),
        (x - 24.5) / 24.5 * rng.choice([-1, 1]),
        rng.choice([-1.0, 1.0], SIZE),
    ]
    laws = []
    for shape in shapes:
        certain = np.where(shape[:, None] > 0, np.eye(shares.size)[0], 0)
        rest = shares * np.append(0.0, np.ones(shares.size - 1))
        certain = certain + np.where(shape[:, None] > 0, 0.0, rest / rest.sum())
        weight = strength * np.abs(shape)[:, None]
        laws.append(weight * certain + (1 - weight) * shares)
    return laws


def case(seed: int, runs: int) -> list[tuple[str, float, Reached]]:
    """Return the laws of one case: a name, the bound at its odds, and what they come to."""
    rng = np.random.default_rng([seed, 25])
    mechanisms, theta = mixture(rng), truth_of(rng)
    people = int(np.exp(rng.uniform(np.log(500), np.log(50_000))))
    shares = rng.dirichlet(np.full(len(mechanisms), 4.0))
    free = np.tile(shares, (SIZE, 1))
    evidence = drawn(mechanisms, theta, free, people, rng)
    told = sensitivity(evidence)
    order = [evidence.mechanisms.index(one) for one in mechanisms]
    base = reached(mechanisms, theta, free, people, runs, rng)
    strength = (told.worst[0] - 1) / (told.worst[0] + 1) if np.isfinite(told.worst[0]) else 1.0
    worst = told.law[:, order]
    results: list[tuple[str, float, Reached]] = []

    def tried(name: str, law: FloatArray) -> bool:
        came = reached(mechanisms, theta, law, people, runs, rng)
        error = float(np.hypot(came.error, base.error))
        # What free choice is off by, too, is the bias at the border of the simplex.
        results.append((name, told.bound, Reached(came.rejected, came.bias - base.bias, error)))
        return came.rejected < 0.5

    low, high = (1.0, 1.0) if tried("worst", worst) else (0.0, 1.0)
    while high - low > 0.1:
        by = (low + high) / 2
        unnoticed = tried(f"worst x {by:.3g}", free + by * (worst - free))
        low, high = (by, high) if unnoticed else (low, by)
    for law in others(shares, rng.uniform(0.1, 1.0) * strength, rng):
        tried("other", law)
    return results


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensitivity", description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    print(
        "| case | law | rejected | bias / bound | ± |", "| --- | --- | --- | --- | --- |", sep="\n"
    )
    unnoticed, reached_by = [], []
    for seed in range(options.first, options.first + options.cases):
        best = 0.0
        for name, bound, came in case(seed, options.runs):
            share, error = abs(came.bias) / bound, came.error / bound
            print(
                f"| {seed} | {name} | {came.rejected:.2f} | {share:.2f} | {error:.2f} |", flush=True
            )
            if came.rejected < 0.5:
                unnoticed.append((share, error))
                best = max(best, share)
        reached_by.append(best)
    shares, errors = np.array(unnoticed).T
    beyond = int(np.sum(shares > 1 + 2 * errors))
    print(f"\nunnoticed: {len(shares)} laws, {beyond} beyond the bound by two standard errors; ")
    least, median = np.min(reached_by), np.median(reached_by)
    half = np.mean(np.array(reached_by) >= 0.5)
    print(f"largest of each case: {least:.2f} at least, median {median:.2f}; half of the bound in ")
    print(f"{half:.2f} of cases.")


if __name__ == "__main__":
    main()
