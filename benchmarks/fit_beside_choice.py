"""What is said of the laws where the choice depends on the value, and clients break theirs or not.

`python -m benchmarks.fit_beside_choice [--runs 40] [--people N]` prints a table in markdown: four
mechanisms on 0..99 (k-RR 1 and 3, geometric .05 and .236), whose logits are multiples (-1, -1/3,
1/3, 1) of a shape of the value; all laws right, or k-RR 3 sends 2.5, or 1 % of all reports are
forged in it on one symbol. "Cannot tell": the choice or a client, and that one is named.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

import freewill as fw
from benchmarks.fit import FOUR, LINE, SYMBOL
from benchmarks.simulated import options, tabulate
from freewill.stats.misfit import fit_beside_choice

BROKEN = 2
POSITIONS = np.linspace(-1, 1, 100)
SHAPES = {
    "free": np.zeros(100),
    "slope": POSITIONS,
    "U": 3 * POSITIONS**2 - 0.8,
    "step": np.where(np.arange(100) > 60, 1.1, -1.1),
}
LAWS = ("right", "epsilon", "forged")
BELLS = 0.6 * np.exp(-0.5 * ((np.arange(100) - 35) / 9) ** 2) / 9
BELLS = BELLS + 0.4 * np.exp(-0.5 * ((np.arange(100) - 68) / 6) ** 2) / 6
BELLS /= BELLS.sum()


@dataclass(frozen=True)
class Case:
    """A shape of the choice, and what a client does to its law."""

    shape: str
    laws: str
    people: int


def drawn(case: Case, seed: int) -> fw.Evidence:
    """Draw people, their choice and their reports."""
    rng = np.random.default_rng([seed, case.people])
    values = rng.choice(100, size=case.people, p=BELLS)
    law = softmax(np.outer(SHAPES[case.shape], np.linspace(-1, 1, len(FOUR))), axis=1)
    who = (law.cumsum(axis=1)[values] < rng.random(case.people)[:, None]).sum(axis=1)
    parts = []
    for place, mechanism in enumerate(FOUR):
        used = mechanism
        if place == BROKEN and case.laws == "epsilon":
            used = fw.KRR(LINE, 2.5)
        reports = used.obfuscate(values[who == place], rng)
        if place == BROKEN and case.laws == "forged":
            reports[: case.people // 100] = SYMBOL
        parts.append((mechanism, reports))
    return fw.collect(parts)


def tried(job: tuple[Case, int]) -> tuple[bool | None, bool, bool]:
    """Return what is said of the laws, whether the broken client is named, and whether another."""
    case, seed = job
    found = fit_beside_choice(drawn(case, seed))
    words = ("{} sends like", "by {}", "{}: ")
    named = [one for one in map(str, FOUR) if any(w.format(one) in found.verdict for w in words)]
    named = [] if found.holds else named
    mine = str(FOUR[BROKEN])
    rightly = mine in named and case.laws != "right"
    return found.holds, rightly, bool(named) and not rightly


def rows(case: Case, results: list[tuple[bool | None, bool, bool]]) -> Iterator[list[str]]:
    """Yield the line of the table for one case."""
    said = [one for one, _, _ in results]
    shares = [said.count(word) / len(said) for word in (True, None, False)]
    shares += [float(np.mean([one[place] for one in results])) for place in (1, 2)]
    yield [case.shape, case.laws, *(f"{share:.2f}" for share in shares)]


def main() -> None:
    """Simulate and print."""
    chosen = options(
        "fit_beside_choice", __doc__, tuple(SHAPES), 40, people={"type": int, "default": 40_000}
    )
    cases = [Case(one, laws, chosen.people) for one in chosen.mixtures for laws in LAWS]
    head = ["choice", "laws", "holds", "cannot tell", "fails", "client named", "another named"]
    tabulate(head, cases, tried, rows, chosen)


if __name__ == "__main__":
    main()
