"""Intervals of `choice_aware` where the choice follows no law of its bases.

`python -m benchmarks.choice_laws [MIXTURE ...] [--laws LAW ...] [--people N ...] [--runs 200]`
prints, in markdown, how often 95 % intervals hold the mean of the truth and the choice of the first
mechanism (mean over all values that a hundredth of people have or more), how often `check_choice`
rejects and `choice_aware` takes the choice for free, both at once, the error of the mean beside
that of `fw.intervals`, and the ratio of the earth mover's distances of `choice_aware` and `gibu`.
`--means` prints of all laws how often intervals hold the mean, alone: these need no choice law, and
cost a hundredth.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse

import numpy as np

import freewill as fw
from benchmarks.choice_aware import bells
from freewill.core.types import FloatArray
from freewill.stats.choice.aware import Separate

LINE = fw.Linear(0, 99)
MIXTURES: dict[str, tuple[fw.Mechanism, ...]] = {
    "geometric+rappor": (fw.Geometric(LINE, 0.3), fw.RAPPOR(LINE, 2.0)),
    "krr": (fw.KRR(LINE, 2.0), fw.KRR(LINE, 5.0)),
    "geometric+krr": (fw.Geometric(LINE, 0.1), fw.KRR(LINE, 4.0)),
    "three": (fw.Geometric(LINE, 0.05), fw.Geometric(LINE, 0.3), fw.KRR(LINE, 4.0)),
}
TRUTHS = {"bells": bells(), "uniform": np.full(100, 0.01)}


def laws() -> dict[str, FloatArray]:
    """Return the chance of the first mechanism for each value, by the name of the law."""
    x = np.arange(100)
    return {
        "free": np.full(100, 0.5),
        "steps": np.select([x < 25, x <= 60], [0.97, 0.5], 0.03),
        "step": np.where(x > 60, 0.9, 0.1),
        "hard-U": np.where((x < 25) | (x > 60), 0.9, 0.15),
        "special": np.where(x == 40, 0.98, 0.4),
        "even-odd": np.where(x % 2 == 0, 0.9, 0.1),
        "tens": np.where(x % 10 == 0, 0.95, 0.3),
        "stairs": np.where(x // 20 % 2 == 0, 0.85, 0.2),
        "thresholds": np.select([x < 30, x < 55], [0.9, 0.5], 0.1),
    }


def choice_of(law: str, count: int) -> FloatArray:
    """Return a choice law, [value, mechanism]: what is left of the first is that of the others.

    By thresholds, a third mechanism is chosen by those above, a second by those between.
    """
    x, first = np.arange(100), laws()[law]
    if count == 2:
        return np.stack([first, 1 - first], axis=1)
    if law == "thresholds":
        middle = np.select([x < 30, x < 55], [0.05, 0.9], 0.05)
        first = np.select([x < 30, x < 55], [0.9, 0.05], 0.05)
        return np.stack([first, middle, 1 - first - middle], axis=1)
    return np.stack([first, (1 - first) / 2, (1 - first) / 2], axis=1)


def drawn(
    mixture: str, law: str, truth: FloatArray, people: int, seed: int
) -> tuple[fw.Evidence, FloatArray, FloatArray]:
    """Return the reports, the people's distribution, and the choice law in the groups' order."""
    rng, mechanisms = np.random.default_rng([seed, people]), MIXTURES[mixture]
    choice = choice_of(law, len(mechanisms))
    values = rng.choice(100, size=people, p=truth)
    chosen = (rng.random(people)[:, None] > np.cumsum(choice, axis=1)[values][:, :-1]).sum(axis=1)
    parts = [
        (one, one.obfuscate(values[chosen == number], rng)) for number, one in enumerate(mechanisms)
    ]
    evidence = fw.collect(parts)
    order = [mechanisms.index(one) for one in evidence.mechanisms]
    return evidence, np.bincount(values, minlength=100) / people, choice[:, order]


def measured(mixture: str, law: str, truth: FloatArray, people: int, seed: int) -> list[float]:
    """Return what one run gives: the numbers of the columns."""
    evidence, there, choice = drawn(mixture, law, truth, people, seed)
    aware, free = fw.choice_aware(evidence), fw.gibu(evidence)
    mean, (low, high) = aware.intervals("mean"), aware.choice_intervals()
    common, target = truth >= 0.01, float(truth @ np.arange(100))
    rejected = not fw.check_choice(evidence).holds
    return [
        float(mean.low <= target <= mean.high),
        float(((low <= choice) & (choice <= high))[common].mean()),
        rejected,
        aware.is_free,
        rejected and aware.is_free,
        float(mean.standard_error),
        float(fw.intervals(evidence, "mean").standard_error),
        fw.emd(aware.theta, there, LINE),
        fw.emd(free.theta, there, LINE),
    ]


def mean_held(mixture: str, law: str, truth: FloatArray, people: int, seed: int) -> bool:
    """Return whether the interval of the mean holds it, whatever people choose by."""
    interval = Separate(drawn(mixture, law, truth, people, seed)[0]).intervals("mean", 0.95, False)
    return bool(interval.low <= truth @ np.arange(100) <= interval.high)


def print_means(options: argparse.Namespace) -> None:
    """Print a line for each mixture and size, a column for each law."""
    print(
        f"| mixture | people | {' | '.join(options.laws)} |",
        f"|{' --- |' * (2 + len(options.laws))}",
        sep="\n",
    )
    seeds, truth = range(options.first, options.first + options.runs), TRUTHS[options.truth]
    for mixture in options.mixtures:
        for people in options.people:
            held = [
                np.mean([mean_held(mixture, law, truth, people, seed) for seed in seeds])
                for law in options.laws
            ]
            cells = " | ".join(f"{share:.3f}" for share in held)
            print(f"| {mixture} | {people:,} | {cells} |", flush=True)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice_laws", description=__doc__)
    parser.add_argument("mixtures", nargs="*", default=list(MIXTURES))
    parser.add_argument("--laws", nargs="+", default=list(laws()))
    parser.add_argument("--people", type=int, nargs="+", default=[300, 1_000, 10_000, 100_000])
    parser.add_argument("--truth", choices=TRUTHS, default="bells")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--means", action="store_true", help="intervals of the mean alone")
    options = parser.parse_args()
    if options.means:
        print_means(options)
        return
    head = ["mixture", "people", "law", "mean", "c", "rejected", "free", "both", "error", "if free"]
    print(f"| {' | '.join([*head, 'EMD / gibu'])} |", f"|{' --- |' * 11}", sep="\n", flush=True)
    for mixture in options.mixtures:
        for people in options.people:
            for law in options.laws:
                seeds = range(options.first, options.first + options.runs)
                truth = TRUTHS[options.truth]
                runs = np.array([measured(mixture, law, truth, people, seed) for seed in seeds])
                *shares, error, if_free, ours, theirs = runs.mean(axis=0)
                cells = [*(f"{one:.2f}" for one in shares), f"{error:.2g}", f"{if_free:.2g}"]
                cells = [mixture, f"{people:,}", law, *cells, f"{ours / theirs:.3f}"]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
