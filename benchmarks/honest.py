"""Whom `fw.robust` accuses: forgers, and honest people whose choice depends on their value.

`python -m benchmarks.honest [--runs 4] [--people 1000 10000 100000] [CASE ...]` prints the table of
docs/robust.md, with the number of the run as the seed. 0..99, a truth of two bells. "MIXTURE: WHO"
has no forgers: the first half of the mixture hides, and people of the value x choose from it with
the chance of the law. "forged: SHARE on OUTPUTS in MIXTURE, MECHANISM" has a free choice and so
many forged reports in the name of a mechanism: on one output, on five, on all alike, or "imitating"
its law at values that are twenty higher. Errors are earth mover's distances to the honest values,
ratios those of their means.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import freewill as fw
from benchmarks.simulated import options, tabulate
from freewill.core.types import FloatArray

LINE = fw.Linear(0, 99)
_AGES = np.arange(100)
TRUTH = np.exp(-((_AGES - 45) ** 2) / 648) + 0.3 * np.exp(-((_AGES - 75) ** 2) / 50)
TRUTH /= TRUTH.sum()
MIXTURES: dict[str, tuple[Any, ...]] = {
    "geometric .05, k-RR 5": (fw.Geometric(LINE, 0.05), fw.KRR(LINE, 5.0)),
    "geometric 1, k-RR 5": (fw.Geometric(LINE, 1.0), fw.KRR(LINE, 5.0)),
    "k-RR 2 and 5": (fw.KRR(LINE, 2.0), fw.KRR(LINE, 5.0)),
    "three": (fw.Geometric(LINE, 0.1), fw.KRR(LINE, 2.0), fw.KRR(LINE, 4.0)),
    "four": (
        fw.KRR(LINE, 1.0),
        fw.Geometric(LINE, 0.05),
        fw.KRR(LINE, 3.0),
        fw.Geometric(LINE, 0.236),
    ),
}
HIDES: dict[str, FloatArray] = {
    "free": np.full(100, 0.5),
    "step": np.where(_AGES > 60, 0.9, 0.1),
    "mild step": np.where(_AGES > 60, 0.6, 0.4),
    "two steps": np.where(_AGES < 25, 0.97, np.where(_AGES < 60, 0.5, 0.03)),
    "slope": 1 / (1 + np.exp(-(_AGES - 50) / 20)),
    "mild slope": 0.35 + 0.3 * _AGES / 99,
    "U": 0.2 + 0.6 * ((_AGES - 50) / 50) ** 2,
    "one value": np.where(_AGES == 40, 0.02, 0.6),
}
HONEST = (
    "geometric .05, k-RR 5: step",
    "geometric .05, k-RR 5: slope",
    "geometric .05, k-RR 5: U",
    "geometric 1, k-RR 5: one value",
    "k-RR 2 and 5: two steps",
    "k-RR 2 and 5: slope",
    "three: mild slope",
    "three: step",
    "three: one value",
    "four: mild step",
    "four: slope",
    "four: U",
)
FREE = tuple(f"{name}: free" for name in MIXTURES)
FORGED = tuple(
    f"forged: {share} % on {outputs} in {where}"
    for where in ("four, 2", "four, 3", "geometric .05, k-RR 5, 0")
    for outputs in ("one", "five", "all", "imitating")
    for share in (1, 5, 20)
)


class Judged(NamedTuple):
    """The share of reports set aside, what is said, and the errors of three estimates."""

    aside: float
    verdict: str
    gibu: float
    aware: float
    robust: float


def drawn(case: str, people: int, rng: np.random.Generator) -> tuple[fw.Evidence, FloatArray]:
    """Draw the reports of a case, and return them with how many honest people have each value."""
    group, name = case.split(": ")
    who, forged = name, 0
    if group == "forged":
        said, _, where = name.partition(" in ")
        group, _, place = where.rpartition(", ")
        share, _, outputs = said.partition(" % on ")
        who, forged = "free", round(float(share) / 100 * people)
    mechanisms = MIXTURES[group]
    half = max(1, len(mechanisms) // 2)
    values = rng.choice(100, people - forged, p=TRUTH)
    first = rng.random(values.size) < HIDES[who][values]
    others = half + rng.integers(len(mechanisms) - half, size=values.size)
    chosen = np.where(first, rng.integers(half, size=values.size), others)
    parts: list[Any] = [
        (one, one.obfuscate(values[chosen == place], rng)) for place, one in enumerate(mechanisms)
    ]
    if forged:
        client = mechanisms[int(place)]
        many = {"one": 1, "five": 5, "all": 100}.get(outputs, 0)
        sent = rng.choice(100, forged, p=np.roll(TRUTH, 20))
        sent = client.obfuscate(sent, rng)
        if many:
            sent = rng.choice(rng.choice(100, many, replace=False), forged)
        parts.append((client, sent))
    return fw.collect(parts), np.bincount(values, minlength=100) / values.size


def judged(job: tuple[tuple[str, int], int]) -> Judged:
    """Estimate, and say what of."""
    (case, people), seed = job
    evidence, there = drawn(case, people, np.random.default_rng([seed, people]))
    safe = fw.robust(evidence)
    misfit = safe.misfit
    verdict = "nothing" if misfit.holds else " or ".join(one.kind for one in misfit.plausible)
    estimates = (fw.gibu(evidence), fw.choice_aware(evidence), safe)
    errors = [fw.emd(one.theta, there, LINE) for one in estimates]
    return Judged(safe.forged / people, verdict, *errors)


def rows(case: tuple[str, int], results: list[Judged]) -> Iterator[list[str]]:
    """Return a line of the table."""
    said = Counter(one.verdict for one in results)
    gibu, aware, robust = (np.mean([one[place] for one in results]) for place in (2, 3, 4))
    yield [
        case[0],
        f"{case[1]:,}",
        f"{100 * max(one.aside for one in results):.2f} %",
        ", ".join(f"{word} {many}" for word, many in said.most_common()),
        f"{gibu:.3f}",
        f"{aware / gibu:.2f}",
        f"{robust / gibu:.2f}",
        f"{robust / min(gibu, aware):.2f}",
    ]


def main() -> None:
    """Print the table."""
    many = {"type": int, "nargs": "+", "default": [1_000, 10_000, 100_000]}
    chosen = options("honest", __doc__, (*HONEST, *FREE, *FORGED), 4, people=many)
    cases = [(case, people) for people in chosen.people for case in chosen.mixtures]
    head = ["case", "people", "set aside, most", "explanation, of runs", "gibu"]
    head += ["choice-aware / gibu", "robust / gibu", "robust / better"]
    tabulate(head, cases, judged, rows, chosen)


if __name__ == "__main__":
    main()
