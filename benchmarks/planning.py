"""Whether plans come true: predicted beside simulated distances, the tables of results/planning.md.

`python -m benchmarks.planning [--runs 600] [--city FILE] [--people 1000 10000] [MIXTURE ...]`
prints them in markdown. Everybody's value is drawn from the truth and their mechanism from the
shares; `gibu` estimates, and its earth mover's distance to the truth is averaged over the runs.
`plan` knows none of these draws. The mixtures of `benchmarks.hard_plans` are named `hard-1` to
`hard-30`, all of them `hard`; bits are simulated up to ten million a survey. The last column is how
far the plan is moved by one more person.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import freewill as fw
from benchmarks.hard_plans import MIXTURES, Mixture
from benchmarks.intervals import setting_of
from benchmarks.simulated import options, tabulate

CASES = (
    "line-krr",
    "line-geometric",
    "line-mixed",
    "rappor-low",
    "rappor-high",
    "city-krr",
    "city-geometric",
    "city-mixed",
)
_FIRST_SEED = 10**6
"""Far from those of the coverage tables, and unlike those of the plan."""
_MOST_BITS = 10**7


class Case(NamedTuple):
    """A mixture, so many people, and where the city's truth comes from."""

    mixture: str
    people: int
    city: str | None


@cache
def mixture_of(name: str, city: str | None) -> Mixture:
    """Return a mixture by its name."""
    if name.startswith("hard-"):
        return MIXTURES[int(name[5:]) - 1]
    setting = setting_of(name, city)
    share = 1 / len(setting.mechanisms)
    parts = tuple((mechanism, share) for mechanism in setting.mechanisms)
    return Mixture(setting.mixture.title, parts, setting.truth)


def missed(job: tuple[Case, int]) -> float:
    """Simulate a survey, and return how far its estimate is from the truth."""
    case, seed = job
    _, parts, truth = mixture_of(case.mixture, case.city)
    rng, evidence = np.random.default_rng([_FIRST_SEED + seed, case.people]), []
    who = rng.multinomial(case.people, [share for _, share in parts])
    for (mechanism, _), many in zip(parts, who, strict=True):
        if mechanism.output_space.alphabet is None:
            values = rng.choice(truth.size, many, p=truth)
            evidence.append((mechanism, mechanism.obfuscate(values, rng)))
        else:
            law = np.maximum(truth @ mechanism.law(), 0)
            counts = rng.multinomial(many, law / law.sum())
            evidence.append((mechanism, mechanism.outputs(), counts))
    found = fw.gibu(fw.collect([one for one, many in zip(evidence, who, strict=True) if many]))
    return fw.emd(found.theta, truth, parts[0][0].alphabet)


def rows(case: Case, results: list[float]) -> Iterator[list[str]]:
    """Yield the line of the table for one case."""
    title, parts, truth = mixture_of(case.mixture, case.city)
    survey = fw.Survey(parts[0][0].alphabet, {str(n): one for n, (one, _) in enumerate(parts)})
    shares = [share for _, share in parts]
    plan = fw.plan(survey, shares, truth, people=[case.people, case.people + 1])
    mean, error = np.mean(results), np.std(results, ddof=1) / np.sqrt(len(results))
    ratio = plan.emd[0] / mean
    apart = ratio * np.hypot(plan.emd_error[0] / plan.emd[0], error / mean)
    yield [
        title,
        f"{case.people:,}",
        f"{plan.emd[0]:.4g}",
        f"{mean:.4g}",
        f"{ratio:.3f} ({apart:.3f})",
        "simulated" if plan.simulated[0] else "first order, corrected",
        f"{abs(plan.emd[1] / plan.emd[0] - 1):.1%}",
    ]


def affordable(case: Case) -> bool:
    """Say whether a survey has few enough bits to simulate hundreds."""
    _, parts, truth = mixture_of(case.mixture, case.city)
    bits = sum(share for one, share in parts if one.output_space.alphabet is None)
    return bool(bits * truth.size * case.people <= _MOST_BITS)


def main() -> None:
    """Simulate and print."""
    people: dict[str, Any] = {"type": int, "nargs": "+", "default": [1_000, 10_000, 100_000]}
    chosen = options("planning", __doc__, CASES, 600, people=people)
    hard = [f"hard-{number + 1}" for number in range(len(MIXTURES))]
    names = [name for one in chosen.mixtures for name in (hard if one == "hard" else [one])]
    cases = [Case(name, many, chosen.city) for name in names for many in chosen.people]
    head = ["mixture", "people", "predicted", "simulated", "quotient (s.e.)", "by", "one more"]
    tabulate(head, list(filter(affordable, cases)), missed, rows, chosen)


if __name__ == "__main__":
    main()
