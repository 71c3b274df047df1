"""How often the test of the laws rejects, where they are right and where a client breaks its own.

`python -m benchmarks.fit [--runs 400] [--people N ...] [--tables size power]` prints two
tables in markdown. The first: everybody keeps to the survey, and a test at level 5 % should reject
in 5 % of the runs. The second: one client uses epsilon 2.5 where the survey says 3.0, in a group of
10,000; or 1 % of 100,000 reports are forged on one symbol, all of them in one group.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

import freewill as fw
from benchmarks.intervals import Case, evidence_of, setting_of
from freewill.core.progress import progress

CASES = ("line-krr", "line-geometric", "line-mixed", "rappor-low", "city-geometric")
LEVEL = 0.95
LINE, SHORT = fw.Linear(0, 99), fw.Linear(0, 19)
FOUR: tuple[Any, ...] = (
    fw.KRR(LINE, 1.0),
    fw.Geometric(LINE, 0.05),
    fw.KRR(LINE, 3.0),
    fw.Geometric(LINE, 0.236),
)
TWO = (fw.KRR(LINE, 3.0), fw.Geometric(LINE, 0.5))
BITS = (fw.RAPPOR(SHORT, 3.0), fw.RAPPOR(SHORT, 1.0))
SYMBOL = 70


@dataclass(frozen=True)
class Broken:
    """A survey in which one group's client does not do what it says."""

    title: str
    mechanisms: tuple[Any, ...]
    each: int
    """People of each mechanism."""
    which: int
    """The place of the broken client's mechanism."""
    epsilon: float | None = None
    """The epsilon that it uses."""
    forged: int = 0
    """How many of its reports are forged on one symbol."""


def broken() -> list[Broken]:
    """Return what is tried."""
    found = [
        Broken("k-RR 3 and geometric .5: k-RR sends 2.5", TWO, 10_000, 0, 2.5),
        Broken("four mechanisms: k-RR 3 sends 2.5", FOUR, 10_000, 2, 2.5),
        Broken("RAPPOR 3 and 1, k = 20: 3 sends 2.5", BITS, 10_000, 0, 2.5),
        Broken("RAPPOR 3 alone, k = 20: sends 2.5", BITS[:1], 10_000, 0, 2.5),
    ]
    for place, one in enumerate(FOUR):
        title = f"four mechanisms: 1 % forged in {one.name} {one.epsilon:g}"
        found.append(Broken(title, FOUR, 25_000, place, forged=1000))
    return found


def evidence_with(case: Broken, seed: int) -> fw.Evidence:
    """Draw reports of a binomial truth, some of them wrong."""
    rng = np.random.default_rng([seed, case.each, case.which])
    parts = []
    for place, mechanism in enumerate(case.mechanisms):
        size = mechanism.alphabet.size
        values = rng.choice(size, size=case.each, p=binom.pmf(np.arange(size), size - 1, 0.3))
        used = mechanism
        if place == case.which and case.epsilon is not None:
            used = type(mechanism)(mechanism.alphabet, case.epsilon)
        reports = used.obfuscate(values, rng)
        if place == case.which and case.forged:
            reports[: case.forged] = SYMBOL
        parts.append((mechanism, reports))
    return fw.collect(parts)


def rejected(job: tuple[Case, int]) -> bool:
    """Say whether laws that are right are rejected."""
    case, seed = job
    return not fw.check_fit(evidence_of(case, seed), LEVEL).holds


def tried(job: tuple[Broken, int]) -> tuple[bool, bool, bool, float]:
    """Say whether it is found, named rightly, the only one named, and how large."""
    case, seed = job
    check = fw.check_fit(evidence_with(case, seed), LEVEL)
    mine = str(case.mechanisms[case.which])
    named, size = False, np.nan
    for one in check.suspects:
        if one.name != mine:
            continue
        for output in one.sticking_out:
            if case.forged and output.output == SYMBOL:
                named, size = True, output.excess
        if case.epsilon is not None and one.wrong_epsilon and one.sent is not None:
            named, size = True, one.sent
    blamed = sum(one.wrong_epsilon + len(one.sticking_out) for one in check.suspects)
    return not check.holds, named, named and blamed == 1, size


def table(
    head: list[str], cases: list[Any], work: Callable[[Any], Any], options: argparse.Namespace
) -> None:
    """Run all cases and print their results."""
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    with ProcessPoolExecutor(options.jobs) as pool, progress("simulating") as show:
        for number, case in enumerate(cases):
            results = []
            for result in pool.map(work, [(case, seed) for seed in range(options.runs)]):
                results.append(result)
                show((number + len(results) / options.runs) / len(cases))
            print("| " + " | ".join(_cells(case, results)) + " |", flush=True)


def _cells(case: Any, results: list[Any]) -> list[str]:
    if isinstance(case, Case):
        title = setting_of(case.mixture, case.city).mixture.title
        share = float(np.mean(results))
        error = np.sqrt(share * (1 - share) / len(results))
        return [title, f"{case.people:,}", f"{len(results):,}", f"{share:.3f} ± {error:.3f}"]
    found, named, alone, sizes = np.array(results).T
    told = sizes[np.isfinite(sizes)]
    size = f"{told.mean():.4g} ± {told.std():.2g}" if told.size else ""
    return [case.title, f"{found.mean():.3f}", f"{named.mean():.3f}", f"{alone.mean():.3f}", size]


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit", description=__doc__)
    parser.add_argument("mixtures", nargs="*", default=CASES, metavar="MIXTURE")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--people", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--city", help="points of a city (CSV); invented by default")
    parser.add_argument("--tables", nargs="+", choices=["size", "power"], default=["size", "power"])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cases = [Case(one, many, options.city) for one in options.mixtures for many in options.people]
    if "size" in options.tables:
        table(["all laws right", "people", "runs", "rejected"], cases, rejected, options)
    if "power" in options.tables:
        head = ["one client broken", "found", "named", "and nothing else", "fitted size"]
        table(head, broken(), tried, options)


if __name__ == "__main__":
    main()
