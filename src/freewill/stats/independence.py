"""Whether two attributes are independent: a test of scores of products, by permutation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import random_table

from freewill.core.presented import Presented
from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet, has_raster
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.each import Silent
from freewill.errors import EvidenceError, ParameterError, several, shown
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.stats.conditions import checked_names, product_of
from freewill.stats.difference import (
    by_formula,
    single_differences,
    smooth_differences,
    whitened,
    written,
)
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence
from freewill.stats.functionals import checked_level
from freewill.stats.information import pulled
from freewill.stats.permutation import Draw, normal, p_value

_FUNCTIONS = 64
"""Of each attribute that are looked along, and"""
_PRODUCTS = 256
"""products of them: those of which reports tell most."""
_CELLS = 4_096
"""Kinds of pairs of reports up to which whole tables of them are drawn."""
_PEOPLE = 2_000
"""People up to whom reports of too many kinds are exchanged one by one."""


@dataclass(frozen=True, eq=False)
class Independence(Presented):
    """Whether two attributes are independent, as far as reports tell.

    `p_value` is of the hypothesis that they are, and `holds` whether it is not rejected at the
    level. `people` are those who reported both, `directions` how many kinds of dependence were
    looked for.

    >>> import numpy as np, freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> both = fw.Each(tax=fw.KRR(coin, 2.0), road=fw.KRR(coin, 2.0))
    >>> reports = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    >>> test = fw.independent(fw.collect([(both, reports, [400, 150, 150, 300])]), "tax", "road")
    >>> test.holds, test.people, test.verdict
    (False, 1000, 'tax and road depend on each other (p < 0.0001)')
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
        return f"{self.verdict}, from {several(self.people, 'person')} who reported both"


@one_blas_thread
def independent(evidence: Evidence, one: str, other: str, level: float = 0.95) -> Independence:
    """Test whether two attributes are independent, by what people reported of both.

    Were they, the reports y and z of a person whose mechanisms have the laws A and B would have
    P(y, z) = (A alpha)_y (B beta)_z, so that the most likely alpha and beta are those of each
    question alone. A dependence a b', a and b both summing to 0, has the score

        sum over people of s t,    s = (A a)_y / (A alpha)_y,    t = (B b)_z / (B beta)_z,

    each less its mean among all with the same two mechanisms, which says nothing of alpha and beta.
    Tested are products of smooth functions of the values, where these have an order, then of free
    ones, as far as reports tell of them (`whitened`). The p-value is the share of permutations that
    look as dependent: the reports z of all who chose the same two mechanisms are exchanged, which
    changes neither alpha nor beta. So the test holds its level however few the people and however
    strong the noise, if mechanisms were chosen without regard to the values (`fw.check_choice`).
    Two certified solves and at most 5,000 permutations.

    The cost is that of its permutations, each O(people).

    >>> import numpy as np, freewill as fw
    >>> yes_no = fw.Categorical(["yes", "no"])
    >>> pair = fw.Each(vote=fw.KRR(yes_no, 2.0), member=fw.KRR(yes_no, 2.0))
    >>> people = pair.alphabet.encode([("yes", "yes")] * 150 + [("no", "no")] * 150)
    >>> evidence = fw.collect([(pair, pair.obfuscate(people, np.random.default_rng(1)))])
    >>> print(fw.independent(evidence, "vote", "member"))
    vote and member depend on each other (p < 0.0001), from 300 people who reported both
    """
    level = checked_level(level)
    whole = checked_evidence(evidence, "independent").alphabet
    product = product_of(whole, "independent", any_size=True)
    names = checked_names((one, other))
    if one == other:
        raise ParameterError(f"independent of {shown(one)} twice: expected two attributes.")
    product.places(names)
    pair = evidence.marginal(one, other)
    alphabet: Any = pair.alphabet
    groups = pairs_of_reports(pair)
    if not groups:
        raise EvidenceError(
            f"fewer than two people reported both {one} and {other}: nothing tells whether they "
            f"depend on each other."
        )
    alone = [pair.marginal(name) for name in alphabet.attributes]
    thetas = [pulled(gibu(own).theta, own.people) for own in alone]
    chance, directions = interaction(groups, [*alphabet.attributes.values()], thetas)
    people = sum(group.people for group in groups)
    return Independence((one, other), chance, level, people, directions, alphabet)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of reports of all people who chose the same two mechanisms."""

    mechanisms: tuple[Mechanism, Mechanism]
    outputs: tuple[Reports, Reports]
    """Distinct ones, of each mechanism."""
    places: tuple[IntArray, IntArray]
    """Which of them each kind of pair has."""
    counts: IntArray
    """How many people have each kind of pair."""

    @cached_property
    def people(self) -> int:
        """How many people chose these two."""
        return int(self.counts.sum())

    @cached_property
    def margins(self) -> tuple[IntArray, IntArray]:
        """How many people have each output."""
        first, second = (
            np.bincount(places, self.counts, len(outputs)).astype(np.int64)
            for places, outputs in zip(self.places, self.outputs, strict=True)
        )
        return first, second

    @property
    def exchangeable(self) -> bool:
        """Whether people differ by nothing but their reports: no one chose a level as well."""
        return any(mechanism.public() is None for mechanism in self.mechanisms)

    def scores(self, side: int, rows: FloatArray, theta: FloatArray) -> FloatArray:
        """Return (A a)_y / (A theta)_y less its mean, for rows a, [output, row]."""
        operator = self.mechanisms[side].operator(self.outputs[side])
        products = np.stack([operator.forward(row) for row in rows], axis=1)
        scores = products / operator.forward(theta)[:, None]
        return np.asarray(scores - self.margins[side] @ scores / self.people)


def pairs_of_reports(evidence: Evidence) -> list[Pairs]:
    """Return the reports on two attributes of those who answered both, by their mechanisms."""
    counts = np.concatenate([group.counts for group in evidence.groups])
    columns = evidence.factored.columns
    (first, own), (second, others) = (column.split() for column in columns)
    keys, which = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)
    order = np.argsort(which, kind="stable")
    pairs = []
    for some in np.split(order, np.cumsum(np.bincount(which, minlength=len(keys)))[:-1]):
        numbers = first[some[0]], second[some[0]]
        one, other = (c.mechanisms[n] for c, n in zip(columns, numbers, strict=True))
        if isinstance(one, Silent) or isinstance(other, Silent) or counts[some].sum() < 2:
            continue
        (left, at), (right, there) = (
            np.unique(rows[some], return_inverse=True) for rows in (own, others)
        )
        outputs = (columns[0].outputs[numbers[0]][left], columns[1].outputs[numbers[1]][right])
        pairs.append(Pairs((one, other), outputs, (at, there), counts[some]))
    return pairs


def interaction(
    groups: Sequence[Pairs], alphabets: Sequence[Alphabet], thetas: Sequence[FloatArray]
) -> tuple[float, int]:
    """Return the p-value of independence, and along how many directions it was looked.

    The score of a product of functions is the sum of s t over people, which under permutations in
    group m has the covariance n^2 / (n - 1) cov(s) cov(t), covariances among its n people. Both
    stages are whitened by it (`equality`).
    """
    one, other = (_functions(*own) for own in zip(alphabets, thetas, strict=True))
    scored = [
        (group.scores(0, one.rows, thetas[0]), group.scores(1, other.rows, thetas[1]))
        for group in groups
    ]
    covariances = [_covariances(group, *own) for group, own in zip(groups, scored, strict=True)]
    stages = _stages(one, other, covariances)
    left, right = np.concatenate(stages, axis=1)
    covariance = np.zeros((left.size, left.size))
    parts = []
    for group, own, (first, second) in zip(groups, scored, covariances, strict=True):
        if group.exchangeable:
            parts.append(first[np.ix_(left, left)] * second[np.ix_(right, right)])
        else:
            # By what was observed of each person.
            products = own[0][group.places[0]][:, left] * own[1][group.places[1]][:, right]
            parts.append(products.T @ (group.counts[:, None] * products))
        covariance += parts[-1]
    turned = whitened(covariance, [stage.shape[1] for stage in stages])
    if not turned:
        return 1.0, 0
    turn, widths = np.concatenate(turned), [len(stage) for stage in turned]
    observed, draws, covariance = np.zeros(len(turn)), list[Draw](), np.zeros((len(turn),) * 2)
    for group, own, part in zip(groups, scored, parts, strict=True):
        said = own[0][group.places[0]][:, left] * own[1][group.places[1]][:, right]
        observed += turn @ (group.counts @ said)
        draw = _permuted(group, own, (left, right), turn)
        if draw is None:
            covariance += turn @ part @ turn.T
        else:
            draws.append(draw)
    if draws and covariance.any():
        draws.append(normal(covariance))
    return p_value(observed, draws, lambda some: by_formula(some, widths)), len(turn)


class _Functions(NamedTuple):
    """Functions of an attribute, as theta times each, in rows: smooth ones first, then free."""

    rows: FloatArray
    smooth: int
    """How many are smooth; none where values have no order."""


def _functions(alphabet: Alphabet, theta: FloatArray) -> _Functions:
    common = np.sort(np.argsort(-theta, kind="stable")[:_FUNCTIONS])
    free = single_differences(theta)
    free = free[common] if len(free) == theta.size else free
    if not has_raster(alphabet):
        return _Functions(free, 0)
    smooth = smooth_differences(theta, alphabet)[-_FUNCTIONS:]
    return _Functions(np.concatenate([smooth, free]), len(smooth))


def _covariances(group: Pairs, one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two factors of a group's covariance: n cov(s) / sqrt(n - 1), and that of t."""
    scale = 1 / np.sqrt(group.people - 1)
    first, second = (
        scale * scores.T @ (margin[:, None] * scores)
        for scores, margin in zip((one, other), group.margins, strict=True)
    )
    return first, second


def _stages(
    one: _Functions, other: _Functions, covariances: Sequence[tuple[FloatArray, FloatArray]]
) -> list[IntArray]:
    """Return the products of each stage, [attribute, product]: those that reports tell most of."""
    variances = np.sum([np.outer(np.diag(a), np.diag(b)) for a, b in covariances], axis=0)
    stages = [[np.arange(own.smooth or len(own.rows)) for own in (one, other)]]
    if one.smooth or other.smooth:
        stages.append([np.arange(own.smooth, len(own.rows)) for own in (one, other)])
    chosen = []
    for rows, columns in stages:
        block = variances[np.ix_(rows, columns)].ravel()
        best = np.sort(np.argsort(-block, kind="stable")[:_PRODUCTS])
        at, there = np.divmod(best, len(columns))
        chosen.append(np.stack([rows[at], columns[there]]))
    return chosen


def _permuted(
    group: Pairs,
    scores: tuple[FloatArray, FloatArray],
    products: tuple[IntArray, IntArray],
    turn: FloatArray,
) -> Draw | None:
    """Return what draws a group's score with reports exchanged; None where it is as good as normal.

    With few kinds of reports, tables with the same margins are drawn, in a time that does not
    depend on the people; with many kinds, people are exchanged one by one.
    """
    if not group.exchangeable:
        return None
    rows, columns = group.margins
    if rows.size * columns.size <= _CELLS:
        if min(rows.size, columns.size) == 1:
            return lambda rng, many: np.zeros((many, len(turn)))
        each = scores[0][:, None, products[0]] * scores[1][:, products[1]]
        weights, tables = each.reshape(-1, turn.shape[1]) @ turn.T, random_table(rows, columns)

        def draw(rng: np.random.Generator, many: int) -> FloatArray:
            drawn = tables.rvs(size=many, random_state=rng)
            return np.asarray(drawn.reshape(many, -1) @ weights)

        return draw
    if group.people > _PEOPLE:
        return None
    one, other = (
        own[np.repeat(places, group.counts)]
        for own, places in zip(scores, group.places, strict=True)
    )

    def exchange(rng: np.random.Generator, many: int) -> FloatArray:
        orders = (rng.permutation(group.people) for _ in range(many))
        return np.stack([(one.T @ other[order])[products] for order in orders]) @ turn.T

    return exchange
