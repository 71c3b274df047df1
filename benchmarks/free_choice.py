"""How often the test of free choice rejects, where the choice is free and where it is not.

`python -m benchmarks.free_choice [--runs 1000] [--city FILE] [--people N ...] [MIXTURE ...]` prints
a table in markdown. Free: everybody's value is drawn from one truth. Shifted: the values of one
group, each in its turn, are moved along the line (on a grid, to the east) by three standard errors
of the mean that its own reports alone would give. "At best" is the power that a test would have
that knew the very difference and how many groups there are: sqrt(d'V d) standard errors, beside the
critical number for one of so many groups.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import freewill as fw
from benchmarks.comparison import moved
from benchmarks.intervals import Case, evidence_of, setting_of
from benchmarks.simulated import options, tabulate
from freewill.core.types import FloatArray
from freewill.stats.information import information_of

CASES = ("line-krr", "line-geometric", "line-mixed", "rappor-low", "city-geometric")
LEVEL, SHIFT = 0.95, 3.0


def eastings(alphabet: fw.Alphabet) -> FloatArray:
    """Return how far along the line, or east, each value is, in steps."""
    columns = (alphabet.plane or (1, alphabet.size))[1]
    return np.asarray(np.arange(alphabet.size) % columns, dtype=float)


@cache
def shifts(case: Case) -> tuple[list[FloatArray], list[float]]:
    """Return each group's shifted truth, and the power at best."""
    setting = setting_of(case.mixture, case.city)
    truth = (1 - 1e-9) * setting.truth + 1e-9 / setting.truth.size
    many, plane = len(setting.mechanisms), setting.alphabet.plane or (1, truth.size)
    parts = [(one, 1 / many, "") for one in setting.mechanisms]
    told = information_of(setting.alphabet, parts, truth, case.people)
    truths, powers = [], []
    for one, moments in zip(setting.mechanisms, told.moments, strict=True):
        alone = information_of(setting.alphabet, [(one, 1.0, "")], truth, case.people // many)
        error = float(alone.standard_error(eastings(setting.alphabet)))
        truths.append(moved(setting.truth, SHIFT * error, plane))
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


def rows(case: Case, results: list[tuple[bool, bool, bool]]) -> Iterator[list[str]]:
    """Yield the line of the table for one case."""
    free, found, named = np.array(results).T
    hits = f"{named[found].mean():.3f}" if found.any() else ""
    title = setting_of(case.mixture, case.city).mixture.title
    cells = [title, f"{case.people:,}", f"{free.mean():.3f}", f"{found.mean():.3f}"]
    yield [*cells, f"{np.mean(shifts(case)[1]):.3f}", hits]


def main() -> None:
    """Simulate and print."""
    people: dict[str, Any] = {"type": int, "nargs": "+", "default": [10_000, 100_000]}
    chosen = options("free_choice", __doc__, CASES, 1000, people=people)
    cases = [Case(one, many, chosen.city) for one in chosen.mixtures for many in chosen.people]
    head = ["mixture", "people", "rejected, free", "rejected, shifted", "at best", "named of these"]
    tabulate(head, cases, tried, rows, chosen)


if __name__ == "__main__":
    main()
