"""Answers to several questions, for tests: people, what they choose, and a dense twin of it all."""

from typing import Any

import numpy as np

import freewill as fw
from composed_cases import composed_law

AGES, VOTES = fw.Linear(0, 4), fw.Categorical(["yes", "no", "none"])
PEOPLE = fw.Product(age=AGES, vote=VOTES)


def three_ways() -> list[Any]:
    """Both answers, one of them alone, and one that is drawn."""
    return [
        fw.Each(PEOPLE, age=fw.Geometric(AGES, 0.7), vote=fw.KRR(VOTES, 1.5)),
        fw.Each(PEOPLE, age=fw.KRR(AGES, 2.0), vote=fw.Silent()),
        fw.OneOf(PEOPLE, age=fw.RAPPOR(AGES, 2.0), vote=fw.KRR(VOTES, 2.5)),
    ]


def some_truth(seed: int = 1) -> np.ndarray:
    """Ages and votes that depend on each other."""
    table = np.random.default_rng(seed).dirichlet(np.full(15, 2.0)).reshape(5, 3)
    return (table * np.linspace(1, 2, 5)[:, None]).ravel() / (
        table * np.linspace(1, 2, 5)[:, None]
    ).sum()


def answers(mechanisms: list[Any], many: int, seed: int, truth: np.ndarray | None = None) -> Any:
    """Reports of as many people for each mechanism."""
    rng = np.random.default_rng(seed)
    theta = some_truth() if truth is None else truth
    return fw.collect(
        [(one, one.obfuscate(rng.choice(theta.size, many, p=theta), rng)) for one in mechanisms]
    )


def twin(evidence: fw.Evidence) -> fw.Evidence:
    """The same reports over records as labels, of mechanisms that are tables of naive numbers."""
    records = fw.Categorical([f"record {n}" for n in range(evidence.alphabet.size)])
    parts = []
    for group in evidence.groups:
        mechanism = group.mechanism
        law = composed_law(mechanism)
        place = {one.tobytes(): n for n, one in enumerate(mechanism.outputs())}
        outputs = [place[one.tobytes()] for one in group.outputs]
        table = fw.Matrix(records, law / law.sum(axis=1, keepdims=True))
        parts.append((table, outputs, group.counts))
    return fw.collect(parts)


def offered(size: int = 6) -> dict[str, dict[str, Any]]:
    """Three mechanisms and silence for each of three questions."""
    values = fw.Linear(0, size - 1)
    menu = {
        "careful": fw.KRR(values, 1.0),
        "usual": fw.KRR(values, 2.5),
        "open": fw.KRR(values, 4.0),
        "silent": fw.Silent(values),
    }
    return {name: dict(menu) for name in ("age", "income", "visits")}


def crowd(people: int, seed: int, size: int = 6, depends: bool = False, sends: Any = None) -> Any:
    """Evidence of people who choose for each question; the old protect their income, if asked.

    `sends` replaces mechanisms, by question and name, by those that clients really use.
    """
    rng, menus = np.random.default_rng(seed), offered(size)
    product = fw.Product({name: fw.Linear(0, size - 1) for name in menus})
    base = np.minimum(rng.geometric(0.3, people) - 1, size - 1)
    columns = [
        np.where(rng.random(people) < 0.5, base, rng.integers(0, size, people)) for _ in menus
    ]
    names = list(next(iter(menus.values())))
    chosen = rng.integers(0, len(names), (people, len(menus)))
    if depends:
        old = columns[0] >= size / 2
        chosen[:, 1] = np.where(old & (rng.random(people) < 0.6), 0, chosen[:, 1])
    truth, parts = product.joined(columns), []
    for combination in np.unique(chosen, axis=0):
        own = (chosen == combination).all(axis=1)
        keys = {question: names[n] for question, n in zip(menus, combination, strict=True)}
        claimed = {question: menus[question][key] for question, key in keys.items()}
        real = {q: (sends or {}).get((q, key), claimed[q]) for q, key in keys.items()}
        reports = fw.Each(product, real).obfuscate(truth[own], rng)
        parts.append((fw.Each(product, claimed), reports))
    return fw.collect(parts)
