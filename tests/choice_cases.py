"""People who choose by their value, and naive likelihoods of what they report."""

from typing import Any

import numpy as np
from scipy.special import softmax

import freewill as fw
from freewill.stats.choice.bases import Basis
from freewill.stats.choice.model import ChoiceModel

LINE = fw.Linear(0, 11)
FIVE = fw.Linear(0, 4)
MIXED = [fw.Geometric(LINE, 0.4), fw.KRR(LINE, 2.0), fw.KRR(LINE, 3.5)]
BITS = [fw.RAPPOR(FIVE, 2.0), fw.Geometric(FIVE, 0.7), fw.Identity(FIVE)]
CITY = fw.Grid(6, 4, cell=0.5)
MENU = fw.Categorical(list("abcd"))


def chosen(
    mechanisms: list[Any], truth: np.ndarray, choice: np.ndarray, people: int, seed: int
) -> fw.Evidence:
    """Draw people who choose by their value."""
    rng = np.random.default_rng(seed)
    values = rng.choice(truth.size, size=people, p=truth)
    own = (rng.random(people)[:, None] > np.cumsum(choice, axis=1)[values]).sum(axis=1)
    own = np.minimum(own, len(mechanisms) - 1)
    return fw.collect([(m, m.obfuscate(values[own == i], rng)) for i, m in enumerate(mechanisms)])


def exact(
    mechanisms: list[Any], truth: np.ndarray, choice: np.ndarray, people: int = 10**9
) -> fw.Evidence:
    """Return the counts that so many people are expected to give."""
    parts = []
    for mechanism, own in zip(mechanisms, choice.T, strict=True):
        counts = np.rint(people * ((truth * own) @ mechanism.law())).astype(np.int64)
        parts.append((mechanism, mechanism.outputs(), counts))
    return fw.collect(parts)


def naive_law(evidence: fw.Evidence, choice: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P((m, z) | x) for all outputs, [value, pair], and the people's share of each pair."""
    laws, weights = [], []
    for group, own in zip(evidence.groups, choice.T, strict=True):
        law = group.mechanism.law()
        every = [np.asarray(one).tolist() for one in group.mechanism.outputs()]
        counts = np.zeros(len(every))
        for output, count in zip(group.outputs, group.counts, strict=True):
            counts[every.index(np.asarray(output).tolist())] += count
        laws.append(own[:, None] * law)
        weights.append(counts / evidence.people)
    return np.hstack(laws), np.concatenate(weights)


def naive_value(evidence: fw.Evidence, choice: np.ndarray, theta: np.ndarray) -> float:
    """Return L of the pairs."""
    law, weights = naive_law(evidence, choice)
    seen = weights > 0
    return float(weights[seen] @ np.log((theta @ law)[seen]))


def naive_maximum(evidence: fw.Evidence, choice: np.ndarray) -> float:
    """Return the maximum of L over theta, by a great deal of EM."""
    law, weights = naive_law(evidence, choice)
    law, weights = law[:, weights > 0], weights[weights > 0]
    theta = np.full(len(law), 1 / len(law))
    for _ in range(100_000):
        theta = theta * (law @ (weights / (theta @ law)))
    return float(weights @ np.log(theta @ law))


def random_choice(model: ChoiceModel, basis: Basis, seed: int) -> np.ndarray:
    """Return coefficients that make the choice depend on the value."""
    rng = np.random.default_rng(seed)
    return model.free(basis.size) + 0.7 * rng.standard_normal(
        (basis.size + 1, len(model.shares) - 1)
    )


def slope_of(size: int, count: int, strength: float = 1.5) -> np.ndarray:
    """Return a choice law by slopes."""
    slopes = np.outer(np.linspace(-1, 1, size), np.linspace(-1, 1, count))
    return np.asarray(softmax(strength * slopes, axis=1))
