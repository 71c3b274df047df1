"""How often the odds that a choice by value is said to tell hold the true ones.

`python -m benchmarks.choice_odds [--cases 60] [--first 0]` draws mixtures, truths and sizes at
random and, for each shape of a choice law, a survey of as many people. Where `freewill check` finds
that the choice tells two values apart, it prints in how many surveys all intervals of 95 % hold the
true odds of their pair, in how many the lower ends are below the largest odds there are, and the
median of the odds that the choice adds: said, at the lower end, true of this pair and of the worst.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

import freewill as fw
from benchmarks.sensitivity import LINE, SIZE, drawn, mixture, truth_of
from freewill.core.types import FloatArray
from freewill.domain.guarantees.epsilon import told_apart
from freewill.domain.mechanisms.base import brief
from freewill.stats.choice.aware import choice_odds

PLACES = np.linspace(-1, 1, SIZE)
SHAPES = {
    "slope": PLACES,
    "U": 2 * PLACES**2 - 2 / 3,
    "step": np.where(PLACES > 0.2, 1.0, -1.0),
    "stairs": np.where(np.arange(SIZE) // 10 % 2 == 0, 1.0, -1.0),
    "even and odd": np.where(np.arange(SIZE) % 2 == 0, 1.0, -1.0),
}


class Said(NamedTuple):
    """What one survey says: whether it is true, and what the choice adds to its clearest odds."""

    held: bool
    least: bool
    added: float
    low: float
    true: float
    worst: float


def said(
    mechanisms: list[fw.Mechanism], theta: FloatArray, law: FloatArray, people: int, seed: int
) -> Said | None:
    """Draw a survey and judge what is said to be told; None where nothing is."""
    evidence = drawn(mechanisms, theta, law, people, np.random.default_rng([seed, people]))
    fit = fw.fit(evidence)
    odds = () if fw.check_choice(fit).holds else choice_odds(fit, 0.95)
    rows = []
    for one in odds:
        (place,) = (at for at, each in enumerate(mechanisms) if brief(each) == one.mechanism)
        first, second = LINE.encode([one.first, one.second]).tolist()
        logs = np.log(law[:, place])
        alone, true = told_apart(mechanisms[place], first, second), logs[first] - logs[second]
        held = one.low <= true + alone <= one.high
        ends = one.log_odds - alone, one.low - alone
        rows.append(Said(held, ends[1] <= np.ptp(logs), *ends, true, np.ptp(logs)))
    if not rows:
        return None
    return rows[0]._replace(held=all(r.held for r in rows), least=all(r.least for r in rows))


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice_odds", description=__doc__)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    head = ["choice", "surveys", "said", "held", "lower end", "adds", "at least", "true", "worst"]
    print(f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", sep="\n", flush=True)
    for name, shape in SHAPES.items():
        found = []
        for case in range(options.first, options.first + options.cases):
            rng = np.random.default_rng(case)
            mechanisms, theta = mixture(rng), truth_of(rng)
            people = int(np.exp(rng.uniform(np.log(2_000), np.log(50_000))))
            law = softmax(shape[:, None] * rng.normal(0, 1, len(mechanisms)), axis=1)
            found.append(said(mechanisms, theta, law, people, case))
        rows = np.array([row for row in found if row is not None])
        shares = " | ".join(f"{share:.3f}" for share in rows[:, :2].mean(axis=0))
        odds = " | ".join(f"{odds:.2f}" for odds in np.exp(np.median(rows[:, 2:], axis=0)))
        print(f"| {name} | {len(found)} | {len(rows)} | {shares} | {odds} |", flush=True)


if __name__ == "__main__":
    main()
