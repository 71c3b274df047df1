"""Whom `fw.robust` accuses: forgers, and honest people whose choice depends on their value.

`python -m benchmarks.honest [--runs 5] [--people 10000 100000] [CASE ...]` prints the table of
docs/robust.md, with the number of the run as the seed. 0..99, a truth of two bells; two mechanisms
(geometric .05, k-RR 5) or four (k-RR 1, geometric .05, k-RR 3, geometric .236). The first half of
them hides: people of the value x choose from it with the probability that the case says.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.simulated import options, tabulate
from freewill.core.types import FloatArray, IntArray

LINE = fw.Linear(0, 99)
_AGES = np.arange(100)
TRUTH = np.exp(-((_AGES - 45) ** 2) / 648) + 0.3 * np.exp(-((_AGES - 75) ** 2) / 50)
TRUTH /= TRUTH.sum()
TWO: tuple[Any, ...] = (fw.Geometric(LINE, 0.05), fw.KRR(LINE, 5.0))
FOUR: tuple[Any, ...] = (
    fw.KRR(LINE, 1.0),
    fw.Geometric(LINE, 0.05),
    fw.KRR(LINE, 3.0),
    fw.Geometric(LINE, 0.236),
)
HIDES: dict[str, Callable[[IntArray], FloatArray]] = {
    "step": lambda values: np.where(values > 60, 0.9, 0.1),
    "mild step": lambda values: np.where(values > 60, 0.6, 0.4),
    "slope": lambda values: 1 / (1 + np.exp(-(values - 50) / 20)),
    "both ends": lambda values: 0.2 + 0.6 * ((values - 50) / 50) ** 2,
}
FORGED = {f"1 % in {place}": (place, 1, 0.01) for place in range(4)}
FORGED |= {"10 % in 2": (2, 1, 0.1), "1 % on 5 symbols in 2": (2, 5, 0.01)}
CASES = (
    *(f"{many}: {name}" for many in ("two", "four") for name in HIDES),
    *(f"forged: {name}" for name in FORGED),
)


def drawn(case: str, people: int, rng: np.random.Generator) -> fw.Evidence:
    """Draw the reports of a case."""
    group, name = case.split(": ")
    mechanisms = TWO if group == "two" else FOUR
    values, half = rng.choice(100, people, p=TRUTH), len(mechanisms) // 2
    hides = HIDES[name](values) if group != "forged" else 0.5
    side = np.where(rng.random(people) < hides, 0, half)
    chosen = side + rng.integers(half, size=people)
    parts: list[Any] = [
        (one, one.obfuscate(values[chosen == place], rng)) for place, one in enumerate(mechanisms)
    ]
    if group == "forged":
        place, symbols, share = FORGED[name]
        each = np.full(symbols, round(share * people / symbols))
        parts.append((mechanisms[place], rng.choice(100, symbols, replace=False), each))
    return fw.collect(parts)


def judged(job: tuple[tuple[str, int], int]) -> tuple[float, int, bool]:
    """Return the share of reports set aside, on how many outputs, and whether that is doubted."""
    (case, people), seed = job
    evidence = drawn(case, people, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.HonestReports)
        found = fw.robust(evidence)
    return found.forged / evidence.people, len(found.set_aside), bool(found.doubt)


def rows(case: tuple[str, int], results: list[tuple[float, int, bool]]) -> Iterator[list[str]]:
    """Return a line of the table."""
    shares, outputs, doubted = (np.array(each, dtype=float) for each in zip(*results, strict=True))
    accused = outputs > 0
    yield [
        case[0],
        f"{case[1]:,}",
        f"{100 * shares.min():.2f} to {100 * shares.max():.2f} %",
        f"{outputs.min():.0f} to {outputs.max():.0f}",
        f"{int(doubted.sum())} of {int(accused.sum())}",
    ]


def main() -> None:
    """Print the table."""
    many = {"type": int, "nargs": "+", "default": [10_000, 100_000]}
    chosen = options("honest", __doc__, CASES, 5, people=many)
    cases = [(case, people) for people in chosen.people for case in chosen.mixtures]
    head = ["case", "people", "set aside", "outputs", "doubted, of runs with any set aside"]
    tabulate(head, cases, judged, rows, chosen)


if __name__ == "__main__":
    main()
