"""How often comparisons are right, by simulation: the table of results/comparison.md.

`python -m benchmarks.comparison [--runs 400] [--city FILE] [--people 10000] [MIXTURE ...]` prints
them in markdown. Two bodies of as many people each choose from the same mechanisms. In the rows of
shift 0 both have the truth of the mixture; in the others the second one's people have values by so
much further along the line, or eastward.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import freewill as fw
from benchmarks.intervals import Case, drawn, setting_of
from benchmarks.simulated import options, tabulate
from freewill.core.types import FloatArray

CASES = ("line-krr", "line-geometric", "line-mixed", "rappor-low", "city-geometric")
SHIFTS = (0.0, 0.5)
"""In steps between values."""


class Shifted(NamedTuple):
    """A case, and how far the other body's values are moved, in steps."""

    case: Case
    shift: float


def moved(truth: FloatArray, shift: float, plane: tuple[int, int]) -> FloatArray:
    """Return a truth moved along its rows; what would leave stays at the end.

    >>> moved(np.array([0.5, 0.5, 0.0]), 0.5, (1, 3))
    array([0.25, 0.5 , 0.25])
    """
    rows = truth.reshape(plane)
    whole, part = divmod(shift, 1)
    found = np.zeros_like(rows)
    places = np.arange(plane[1])
    for steps, share in ((int(whole), 1 - part), (int(whole) + 1, part)):
        np.add.at(found.T, np.minimum(places + steps, plane[1] - 1), share * rows.T)
    return found.ravel()


@dataclass(frozen=True)
class Judged:
    """One comparison, beside the truth."""

    rejected: bool
    joint: bool
    held: float
    """Share of single intervals that hold their difference, or whether all of a band do."""
    emd: tuple[float, float, float]
    """Low end, point and high end."""


def truths(case: Case, shift: float) -> tuple[FloatArray, FloatArray]:
    """Return the truth of either body."""
    setting = setting_of(case.mixture, case.city)
    truth = setting.truth
    return truth, moved(truth, shift, setting.alphabet.plane or (1, truth.size))


def judged(job: tuple[Shifted, int]) -> Judged:
    """Draw two bodies of evidence and compare them."""
    (case, shift), seed = job
    truth, other = truths(case, shift)
    rng = np.random.default_rng([seed, case.people, round(10 * shift)])
    pair = drawn(case, truth, rng), drawn(case, other, rng)
    alphabet = pair[0].alphabet
    of = fw.functionals.bins(5) if len(alphabet.axes) == 1 else fw.functionals.districts(4)
    # Every second run asks for a band.
    joint = bool(seed % 2)
    found = fw.compare(*pair, of, joint=joint)
    true = of.on(alphabet).rows @ (other - truth)
    held = (found.low <= true) & (true <= found.high)
    share = float(held.all() if joint else held.mean())
    return Judged(found.differ, joint, share, (found.emd_low, found.emd, found.emd_high))


def rows(shifted: Shifted, found: list[Judged]) -> Iterator[list[str]]:
    """Yield the line of the table for one case."""
    case, shift = shifted
    setting = setting_of(case.mixture, case.city)
    true = fw.emd(*truths(case, shift), setting.alphabet)
    shares = [
        np.mean([one.rejected for one in found]),
        np.mean([one.held for one in found if not one.joint]),
        np.mean([one.held for one in found if one.joint]),
        np.mean([one.emd[0] <= true + 1e-12 and true <= one.emd[2] for one in found]),
    ]
    low, point, high = np.mean([one.emd for one in found], axis=0)
    cells = [setting.mixture.title, f"{case.people:,}", f"{shift:g}", *(f"{s:.3f}" for s in shares)]
    yield [*cells, f"{true:.3g}", f"{point:.3g} ({low:.3g} to {high:.3g})"]


def main() -> None:
    """Simulate and print."""
    people: dict[str, Any] = {"type": int, "default": 10_000, "help": "in each of the two"}
    shifts: dict[str, Any] = {"type": float, "nargs": "+", "default": SHIFTS}
    chosen = options("comparison", __doc__, CASES, 400, people=people, shifts=shifts)
    cases = [
        Shifted(Case(one, chosen.people, chosen.city), shift)
        for one in chosen.mixtures
        for shift in chosen.shifts
    ]
    head = ["mixture", "people", "shift", "rejected", "sums", "joint", "EMD", "true", "found"]
    tabulate(head, cases, judged, rows, chosen)


if __name__ == "__main__":
    main()
