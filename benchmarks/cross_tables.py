"""How often intervals of cross tables hold the truth, and the size of the test of independence.

`python -m benchmarks.cross_tables [--runs 400] [--people 1000 10000 100000] [--test] [MIXTURE ...]`
prints the tables of benchmarks/results/cross-tables.md: ages 0..9 by four incomes, who depend on
each other; with `--test` ages by three ways to commute, who do not, or by half as much. Everybody's
values are drawn from the truth, and the truth is what must be held. Of cells, those count as inside
that are more than two standard errors from 0; the rest, at the border, may be held more often.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.simulated import options, tabulate
from freewill.core.types import BoolArray, FloatArray
from freewill.stats.information import information_of
from freewill.stats.nonlinear import mutual_information

AGES, INCOMES, MODES = fw.Linear(0, 9), fw.Linear(0, 3), fw.Categorical(["car", "bus", "bicycle"])
INSIDE = 2.0
"""Standard errors from 0 at which a cell counts as inside."""
ASKED = (
    "cell", "cell at the border", "odds ratio", "conditional mean", "conditional share",
    "difference of means", "correlation", "mutual information",
)  # fmt: skip


def krr(people: fw.Product) -> list[Any]:
    """Two levels of k-RR for each question, chosen independently."""
    one, other = people.attributes.items()
    levels = [(a, b) for a in (1.5, 4.0) for b in (1.0, 3.0)]
    return [
        fw.Each(people, {one[0]: fw.KRR(one[1], a), other[0]: fw.KRR(other[1], b)})
        for a, b in levels
    ]


def mixed(people: fw.Product) -> list[Any]:
    """k-RR, geometric noise, RAPPOR, and people who leave a question unanswered."""
    (one, ages), (other, rest) = people.attributes.items()
    pairs = [
        (fw.KRR(ages, 3.0), fw.KRR(rest, 2.0)),
        (fw.Geometric(ages, 1.0), fw.KRR(rest, 2.0)),
        (fw.RAPPOR(ages, 3.0), fw.RAPPOR(rest, 3.0)),
        (fw.Silent(), fw.KRR(rest, 3.0)),
        (fw.Geometric(ages, 2.0), fw.Silent()),
    ]
    return [fw.Each(people, {one: first, other: second}) for first, second in pairs]


def sampled(people: fw.Product) -> list[Any]:
    """One question of two, drawn and answered, beside both by k-RR."""
    (one, ages), (other, rest) = people.attributes.items()
    either = fw.OneOf(people, {one: fw.KRR(ages, 4.0), other: fw.KRR(rest, 4.0)})
    return [either, fw.Each(people, {one: fw.KRR(ages, 3.0), other: fw.KRR(rest, 3.0)})]


MIXTURES: dict[str, Callable[[fw.Product], list[Any]]] = {
    "krr": krr, "mixed": mixed, "sampled": sampled,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A mixture, so many people, and how strongly the attributes depend on each other."""

    mixture: str
    people: int
    strength: float = 1.0


def table(second: int, strength: float = 1.0) -> FloatArray:
    """Return a distribution of ages by something else, which rises or falls with age."""
    ages = np.arange(10)
    shares = np.exp(-0.5 * ((ages - 4) / 2.5) ** 2)
    tilts = np.linspace(-0.2, 0.2, second)
    beside = np.exp(np.outer(ages - 4, tilts)) * np.linspace(1.0, 0.6, second)
    joint = shares[:, None] * beside / beside.sum(axis=1, keepdims=True)
    joint /= joint.sum()
    free = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return np.asarray(free + strength * (joint - free))


def drawn(mechanisms: list[Any], theta: FloatArray, people: int, rng: Any) -> fw.Evidence:
    """Draw evidence: each mechanism is chosen as often, whatever the values."""
    who = rng.multinomial(people, np.full(len(mechanisms), 1 / len(mechanisms)))
    values = [rng.choice(theta.size, size=many, p=theta.ravel()) for many in who]
    pairs = zip(mechanisms, values, strict=True)
    return fw.collect([(one, one.obfuscate(own, rng)) for one, own in pairs])


def questions() -> dict[str, Any]:
    """Return what is asked beside the cells."""
    ask = fw.functionals
    return {
        "odds ratio": ask.odds_ratio(age=range(5, 10), income=[2, 3]),
        "conditional mean": ask.conditional_mean("age", income=3),
        "conditional share": ask.of("income", ask.values([0]), given={"age": range(3)}),
        "difference of means": ask.difference_of_means("age", income=(3, 0)),
        "correlation": ask.correlation("age", "income"),
        "mutual information": ask.mutual_information("age", "income"),
    }


@cache
def truths(strength: float) -> dict[str, float]:
    """Return the same of the truth, from the formulas."""
    joint = table(4, strength)
    ages, incomes = np.arange(10), np.arange(4)
    high = joint[5:].sum(axis=0)
    a, b, c, d = high[2:].sum(), high[:2].sum(), joint[:5, 2:].sum(), joint[:5, :2].sum()
    means = ages @ joint / joint.sum(axis=0)
    x, y = ages @ joint.sum(axis=1), incomes @ joint.sum(axis=0)
    xx, yy = ages**2 @ joint.sum(axis=1) - x**2, incomes**2 @ joint.sum(axis=0) - y**2
    return {
        "odds ratio": a * d / (b * c),
        "conditional mean": means[3],
        "conditional share": joint[:3, 0].sum() / joint[:3].sum(),
        "difference of means": means[3] - means[0],
        "correlation": (ages @ joint @ incomes - x * y) / np.sqrt(xx * yy),
        "mutual information": mutual_information(joint),
    }


def held(job: tuple[Case, int]) -> dict[str, BoolArray]:
    """Say which intervals hold the truth."""
    case, seed = job
    people = fw.Product(age=AGES, income=INCOMES)
    theta, rng = table(4, case.strength), np.random.default_rng([seed, case.people])
    fit = fw.fit(drawn(MIXTURES[case.mixture](people), theta, case.people, rng))
    sure = fit.intervals()
    found = {"cells": (sure.low <= theta.ravel()) & (theta.ravel() <= sure.high)}
    for name, of in questions().items():
        one, true = fit.intervals(of), truths(case.strength)[name]
        found[name] = np.array([one.low <= true <= one.high])
    return found


def inside(case: Case) -> BoolArray:
    """Say which cells are away from 0."""
    people = fw.Product(age=AGES, income=INCOMES)
    mechanisms, theta = MIXTURES[case.mixture](people), table(4, case.strength).ravel()
    parts = [(one, 1 / len(mechanisms), "") for one in mechanisms]
    errors = information_of(people, parts, theta, case.people).standard_error()
    return np.asarray(theta > INSIDE * errors)


def rows(case: Case, results: list[dict[str, BoolArray]]) -> Iterator[list[str]]:
    """Yield the row of a case: the share of runs that hold each, with its standard error."""
    cells, away = np.array([one["cells"] for one in results]), inside(case)
    columns = [cells[:, away], cells[:, ~away]]
    columns += [np.array([one[name] for one in results]) for name in ASKED[2:]]
    shown = [_share(column.mean(axis=1)) if column.size else "" for column in columns]
    counts = [f" ({away.sum()})", f" ({(~away).sum()})", *[""] * len(ASKED[2:])]
    cells_of = [text + many for text, many in zip(shown, counts, strict=True)]
    yield [case.mixture, f"{case.people:,}", f"{case.strength:g}", *cells_of]


def _share(each: FloatArray) -> str:
    return f"{each.mean():.3f} ± {each.std() / np.sqrt(len(each)):.3f}"


def tested(job: tuple[Case, int]) -> float:
    """Return the p-value of one test of independence."""
    case, seed = job
    people = fw.Product(age=AGES, commute=MODES)
    theta, rng = table(3, case.strength), np.random.default_rng([seed, case.people, 1])
    evidence = drawn(MIXTURES[case.mixture](people), theta, case.people, rng)
    return fw.independent(evidence, "age", "commute").p_value


def test_rows(case: Case, results: list[float]) -> Iterator[list[str]]:
    """Yield the row of a case: how often independence is rejected at 5 %."""
    rejected = _share(np.array(results) < 0.05)
    yield [case.mixture, f"{case.people:,}", f"{case.strength:g}", rejected]


def main() -> None:
    """Simulate and print."""
    people: dict[str, Any] = {"type": int, "nargs": "+", "default": [1_000, 10_000, 100_000]}
    strengths: dict[str, Any] = {"type": float, "nargs": "+", "default": None}
    test: dict[str, Any] = {"action": "store_true"}
    chosen = options(
        "cross_tables", __doc__, list(MIXTURES), 400, people=people, strength=strengths, test=test
    )
    strength = chosen.strength or ([0.0, 0.5] if chosen.test else [1.0])
    cases = [Case(m, n, s) for m in chosen.mixtures for n in chosen.people for s in strength]
    if chosen.test:
        head = ["mixture", "people", "strength", "rejected at 5 %"]
        tabulate(head, cases, tested, test_rows, chosen)
    else:
        tabulate(["mixture", "people", "strength", *ASKED], cases, held, rows, chosen)


if __name__ == "__main__":
    main()
