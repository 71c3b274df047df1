"""How often the test of free choice rejects, where the choice is free and where it is not.

`python -m benchmarks.free_choice [--runs 1000] [--city FILE] [--people N ...] [MIXTURE ...]` prints
a table in markdown. Free: everybody's value is drawn from one truth. Shifted: the values of one
group, each in its turn, are moved along the line (on a grid, to the east) by three standard errors
of the mean that its own reports alone would give. "At best" is the power that a test would have
that knew the very difference and how many groups there are: sqrt(d'V d) standard errors, beside the
critical number for one of so many groups.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import freewill as fw
from benchmarks.intervals import Case, evidence_of, setting_of
from freewill.inference.information import information_of
from freewill.progress import progress
from freewill.types import FloatArray

CASES = ("line-krr", "line-geometric", "line-mixed", "rappor-low", "city-geometric")
LEVEL, SHIFT = 0.95, 3.0


def moved(truth: FloatArray, distance: float, alphabet: fw.Alphabet) -> FloatArray:
    """Return a truth moved along a line or to the east, what leaves kept at the border."""
    rows, columns = alphabet.plane or (1, truth.size)
    (low, high) = alphabet.extent[0]
    steps = distance / ((high - low) / columns)
    whole, part = int(steps // 1), steps % 1
    found = np.zeros((rows, columns))
    for shift, weight in ((whole, 1 - part), (whole + 1, part)):
        target = np.minimum(np.arange(columns) + shift, columns - 1)
        for column in range(columns):
            found[:, target[column]] += weight * truth.reshape(rows, columns)[:, column]
    return found.ravel() / found.sum()


def eastings(alphabet: fw.Alphabet) -> FloatArray:
    """Return how far along the line, or east, each value is, in the unit of `moved`."""
    columns = (alphabet.plane or (1, alphabet.size))[1]
    low, high = alphabet.extent[0]
    return np.arange(alphabet.size) % columns * (high - low) / columns


@cache
def shifts(case: Case) -> tuple[list[FloatArray], list[float]]:
    """Return each group's shifted truth, and the power at best."""
    setting = setting_of(case.mixture, case.city)
    truth = (1 - 1e-9) * setting.truth + 1e-9 / setting.truth.size
    many = len(setting.mechanisms)
    parts = [(one, 1 / many, "") for one in setting.mechanisms]
    told = information_of(setting.alphabet, parts, truth, case.people)
    truths, powers = [], []
    for one, moments in zip(setting.mechanisms, told.moments, strict=True):
        alone = information_of(setting.alphabet, [(one, 1.0, "")], truth, case.people // many)
        error = float(alone.standard_error(eastings(setting.alphabet)))
        truths.append(moved(setting.truth, SHIFT * error, setting.alphabet))
        through = moments.product(truths[-1] - setting.truth)
        known = float(through @ told.influences(through[None])[0])
        size = float((truths[-1] - setting.truth) @ through) - known / many
        far = np.sqrt(max(size, 0.0) * case.people / many)
        limit = ndtri(1 - (1 - LEVEL) / 2 / many)
        powers.append(float(ndtr(far - limit)))
    return truths, powers


def shifted(case: Case, seed: int) -> tuple[fw.Evidence, fw.Mechanism]:
    """Draw evidence with one group moved, and return that group's mechanism too."""
    setting = setting_of(case.mixture, case.city)
    which = seed % len(setting.mechanisms)
    rng = np.random.default_rng([seed, case.people, 1])
    many = len(setting.mechanisms)
    who = rng.multinomial(case.people, np.full(many, 1 / many))
    parts: list[Any] = []
    for place, (mechanism, people) in enumerate(zip(setting.mechanisms, who, strict=True)):
        truth = shifts(case)[0][which] if place == which else setting.truth
        values = rng.choice(truth.size, size=people, p=truth)
        parts.append((mechanism, mechanism.obfuscate(values, rng)))
    return fw.collect(parts), setting.mechanisms[which]


def tried(job: tuple[Case, int]) -> tuple[bool, bool, bool]:
    """Say whether free choice is rejected, whether a shift is, and whether its group is named."""
    case, seed = job
    free = fw.check_choice(evidence_of(case, seed), LEVEL)
    evidence, mechanism = shifted(case, seed)
    found = fw.check_choice(evidence, LEVEL)
    named = any(one.name == str(mechanism) for one in found.deviating)
    return not free.holds, not found.holds, named


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.free_choice", description=__doc__)
    parser.add_argument("mixtures", nargs="*", default=CASES, metavar="MIXTURE")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--people", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--city", help="points of a city (CSV); invented by default")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    head = ["mixture", "people", "rejected, free", "rejected, shifted", "at best", "named of these"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    cases = [Case(one, many, options.city) for one in options.mixtures for many in options.people]
    with ProcessPoolExecutor(options.jobs) as pool, progress("simulating") as show:
        for number, case in enumerate(cases):
            results = []
            for result in pool.map(tried, [(case, seed) for seed in range(options.runs)]):
                results.append(result)
                show((number + len(results) / options.runs) / len(cases))
            free, found, named = np.array(results).T
            hits = f"{named[found].mean():.3f}" if found.any() else ""
            best = np.mean(shifts(case)[1])
            title = setting_of(case.mixture, case.city).mixture.title
            cells = [title, f"{case.people:,}", f"{free.mean():.3f}", f"{found.mean():.3f}"]
            print("| " + " | ".join([*cells, f"{best:.3f}", hits]) + " |", flush=True)


if __name__ == "__main__":
    main()
