"""Whether two attributes are independent: a score test, by permutation."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from freewill.core.presented import Presented
from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.each import Silent
from freewill.errors import EvidenceError, ParameterError, several, shown
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.stats.conditions import product_of
from freewill.stats.difference import single_differences, smooth_differences, written
from freewill.stats.equality import by_formula, whitened
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence
from freewill.stats.functionals import checked_level
from freewill.stats.information import pulled
from freewill.stats.permutation import Draw, p_value

_DIRECTIONS = 256
"""Pairs of functions, those that reports tell most of, whose products are tested."""
_ALONG = 64
"""Functions of each attribute."""
_CELLS = 4_096
"""Kinds of pairs of reports up to which tables are drawn at random."""
_PEOPLE = 4_096
"""People up to whom reports that do not repeat are permuted one by one."""


@dataclass(frozen=True, eq=False)
class Independence(Presented):
    """Whether two attributes are independent, as far as reports tell.

    `p_value` is of the hypothesis that they are, and `holds` whether it is not rejected at the
    level. `people` are those who reported both, `directions` how many kinds of dependence were
    looked for.
    """

    attributes: tuple[str, str]
    p_value: float
    level: float
    people: int
    directions: int
    alphabet: Alphabet = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against independence: a p-value of at least 1 - level."""
        return self.p_value >= 1 - self.level

    @property
    def verdict(self) -> str:
        """What the test says, in words."""
        one, other = self.attributes
        said = "no dependence is shown" if self.holds else f"{one} and {other} depend on each other"
        return f"{said} ({written(self.p_value)})"

    def __str__(self) -> str:
        one, other = self.attributes
        who = several(self.people, "person")
        return f"{self.verdict}: {one} and {other}, from {who} who reported both"


@one_blas_thread
def independent(evidence: Evidence, one: str, other: str, level: float = 0.95) -> Independence:
    """Test whether two attributes are independent, by what people reported of both.

    Were they, P(y, z) = (A alpha)_y (B beta)_z for the reports y and z of a person whose mechanisms
    have the laws A and B, so that the most likely alpha and beta are those of each question alone.
    A dependence a b', with a and b that sum to 0, has the score

        sum over people of (A a)_y / (A alpha)_y (B b)_z / (B beta)_z,

    of mean 0, uncorrelated with what is said of alpha and beta; its covariance is the sum over
    groups of n_m (a' I_m a)(b' I_m b), with the information of their mechanisms. Tested are
    products of smooth functions of the values where these have an order, then of free ones, as far
    as reports tell of them (`equality`). How often a smaller p-value comes by chance is counted:
    the reports z of all who chose the same two mechanisms are permuted, which changes neither alpha
    nor beta. So the test holds its level however few people there are, if the choice of mechanisms
    is free of the values (`fw.check_choice`). One certified solve a question and up to 5,000 draws.

    >>> import freewill as fw
    >>> yes_no = fw.Categorical(["yes", "no"])
    >>> pair = fw.Each(vote=fw.KRR(yes_no, 2.0), member=fw.KRR(yes_no, 2.0))
    >>> people = pair.alphabet.encode([("yes", "yes")] * 150 + [("no", "no")] * 150)
    >>> evidence = fw.collect([(pair, pair.obfuscate(people, np.random.default_rng(1)))])
    >>> print(fw.independent(evidence, "vote", "member"))
    vote and member depend on each other (p < 0.0001): vote and member, from 300 people who reported both
    """
    level = checked_level(level)
    pair = _pair_of(evidence, one, other)
    alphabet: Any = pair.alphabet
    names = tuple(alphabet.attributes)
    thetas = [
        pulled(gibu(own).theta, own.people) for own in (pair.marginal(name) for name in names)
    ]
    groups = [group for group in _groups(pair) if group.people > 1]
    if not groups:
        raise EvidenceError(
            f"nobody reported both {one} and {other}: nothing tells whether they depend on each "
            f"other."
        )
    tested, count = _tested(groups, alphabet, thetas)
    return Independence(
        attributes=(one, other),
        p_value=tested,
        level=level,
        people=sum(group.people for group in groups),
        directions=count,
        alphabet=alphabet,
    )


def _pair_of(evidence: Evidence, one: Any, other: Any) -> Evidence:
    """Return the evidence about two attributes."""
    product = product_of(checked_evidence(evidence, "independent").alphabet, "independent", None)
    if one == other:
        raise ParameterError(f"independent of {shown(one)} twice: expected two attributes.")
    product.places((one, other))
    return evidence.marginal(one, other)


@dataclass(frozen=True, eq=False)
class _Group:
    """People who chose the same two mechanisms: reports of both, and how often each pair came."""

    mechanisms: tuple[Mechanism, Mechanism]
    outputs: tuple[Reports, Reports]
    """Distinct ones, of each mechanism."""
    places: tuple[IntArray, IntArray]
    """Which of them each pair of reports has."""
    counts: IntArray

    @cached_property
    def people(self) -> int:
        return int(self.counts.sum())

    def scores(self, side: int, rows: FloatArray, theta: FloatArray) -> FloatArray:
        """Return (A a)_y / (A theta)_y for rows a and all distinct outputs y, [output, row]."""
        operator = self.mechanisms[side].operator(self.outputs[side])
        products = np.stack([operator.forward(row) for row in rows], axis=1)
        return np.asarray(products / operator.forward(theta)[:, None])

    def margin(self, side: int) -> FloatArray:
        """Return how often each distinct output came."""
        places = self.places[side]
        return np.bincount(places, self.counts, minlength=len(self.outputs[side]))


def _groups(pair: Evidence) -> list[_Group]:
    """Return the people of each two mechanisms, of whom both said something."""
    counts = np.concatenate([group.counts for group in pair.groups])
    columns = pair.factored.columns
    (first, own), (second, others) = (column.split() for column in columns)
    keys, which = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)
    groups = []
    for number in range(len(keys)):
        some = np.flatnonzero(which == number)
        numbers = int(first[some[0]]), int(second[some[0]])
        parts = [c.mechanisms[n] for c, n in zip(columns, numbers, strict=True)]
        if any(isinstance(part, Silent) for part in parts):
            continue
        outputs, places = [], []
        for column, n, there in zip(columns, numbers, (own, others), strict=True):
            used, place = np.unique(there[some], return_inverse=True)
            outputs.append(column.outputs[n][used])
            places.append(place)
        groups.append(
            _Group((parts[0], parts[1]), (outputs[0], outputs[1]), (places[0], places[1]),
                   counts[some])
        )  # fmt: skip
    return groups


def _tested(groups: list[_Group], alphabet: Any, thetas: list[FloatArray]) -> tuple[float, int]:
    """Return the p-value, and how many directions it is of."""
    stages = _stages(groups, alphabet, thetas)
    pairs = np.concatenate([stage for stage, _ in stages], axis=1)
    rows = [np.concatenate([own[side] for _, own in stages]) for side in (0, 1)]
    # Rows of the second stage come behind those of the first.
    shift, place = 0, 0
    for stage, own in stages:
        many = stage.shape[1]
        pairs[:, place : place + many] += shift
        place, shift = place + many, shift + len(own[0])
    used = [np.unique(pairs[side], return_inverse=True) for side in (0, 1)]
    pairs = np.stack([back for _, back in used])
    rows = [own[chosen] for own, (chosen, _) in zip(rows, used, strict=True)]
    scored = [tuple(g.scores(side, rows[side], thetas[side]) for side in (0, 1)) for g in groups]
    covariance = _covariance(groups, scored, pairs)
    turned = whitened(covariance, [stage.shape[1] for stage, _ in stages])
    if not turned:
        return 1.0, 0
    turn, widths = np.concatenate(turned), [len(stage) for stage in turned]
    observed = np.zeros(len(turn))
    draws: list[Draw] = []
    for group, (left, right) in zip(groups, scored, strict=True):
        first, second = left[:, pairs[0]], right[:, pairs[1]]
        one, other = (own[where] for own, where in zip((first, second), group.places, strict=True))
        observed += turn @ (group.counts @ (one * other))
        draws.append(_permuted(group, first, second, turn))
    return p_value(observed, draws, lambda some: by_formula(some, widths)), len(turn)
