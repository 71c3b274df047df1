"""What scores are by chance: people of one mechanism exchanged between two bodies of evidence."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import Operator
from freewill.stats.evidence import Evidence
from freewill.stats.groups import Group, grouped
from freewill.stats.information import root_of

_DRAWS, _AT_ONCE = 5_000, 250
_ENOUGH = 1_000
"""Draws as unlikely as what was observed, of which no more are needed."""
_ROWS = 5_000
"""Kinds of reports up to which people of a mechanism are exchanged."""
_MOST_PEOPLE = 10**9
"""Of one mechanism, whom NumPy exchanges."""
_PEOPLE = 10
"""People a kind of reports up to which they are drawn one by one."""
_TAIL = 10
"""Draws as unlikely as what was observed, below which the tail of the formula is taken."""
_AGREES = 2.0
"""Factor within which the formula must be right there."""
_TIES = 1e-9
"""Relative difference of two p-values that is rounding."""

Draw = Callable[[np.random.Generator, int], FloatArray]
"""Draws what the people of one mechanism add to the score, so many times."""
Side = tuple[Evidence, FloatArray]
"""A body of evidence, and the rows w that its sum U of a / p - 1 enters the score by."""


def p_value(
    observed: FloatArray, draws: list[Draw], formula: Callable[[FloatArray], FloatArray]
) -> float:
    """Return how often the formula is as small by chance as it is for what was observed."""
    seen = formula(observed[None])[0]
    if not draws:
        return float(seen)

    def by_chance(rng: np.random.Generator, many: int) -> FloatArray:
        scores = np.sum([draw(rng, many) for draw in draws], axis=0)
        return formula(scores)[:, None]

    return float(p_values(np.atleast_1d(seen), by_chance, _DRAWS, _ENOUGH)[0])


def p_values(seen: FloatArray, by_chance: Draw, most: int, enough: int) -> FloatArray:
    """Return how often p-values of formulas, one a column, are as small by chance as those seen.

    With b of B draws, p = (b + 1) / (B + 1); no more are drawn when all b are large (Besag and
    Clifford, Biometrika 78 (1991), 301-304). Where hardly any draw is as unlikely, and the formula
    is right where a few are, p is the formula's, scaled to meet the draws there.
    """
    rng, drawn = np.random.default_rng(0), np.empty((0, len(seen)))
    extreme = np.zeros(len(seen), dtype=int)
    while extreme.min(initial=enough) < enough and len(drawn) < most:
        drawn = np.concatenate([drawn, by_chance(rng, min(_AT_ONCE, most))])
        extreme = np.count_nonzero(drawn <= seen * (1 + _TIES), axis=0)
    counted = (extreme + 1) / (len(drawn) + 1)
    share, near = _TAIL / (len(drawn) + 1), np.sort(drawn, axis=0)[_TAIL - 1]
    in_tail = (extreme < _TAIL) & (near > share / _AGREES)
    return np.where(in_tail, share * seen / np.where(near > 0, near, 1.0), counted)


def redrawn(sides: tuple[Side, Side], theta: FloatArray) -> list[Draw]:
    """Return what draws the score of each mechanism's people, were theta the same in both bodies.

    The score is the sum of w_i U_i. Which body the people of a mechanism belong to is then by
    chance, given their reports; theta, most likely for all, and both informations stay as they are
    wherever the people go. So U_i alone is drawn again: the counts of one body's reports of a
    mechanism are hypergeometric, and a test holds its level exactly, however few the people are.

    A mechanism that people of one body alone chose has nobody to be exchanged with: its counts are
    drawn by its law at theta. Where there are too many kinds of reports, the score is drawn as
    normal; and nothing is drawn where all would be, for then a formula has it.
    """
    # The smaller body is drawn, so that it does not matter which was named first.
    larger, drawn = sorted(sides, key=lambda side: _size(side[0]), reverse=True)
    groups = [
        {group.mechanism.id: (group, weights) for group in body.groups}
        for body, weights in (larger, drawn)
    ]
    draws, normal = list[Draw](), True
    for name in sorted({*groups[0], *groups[1]}):
        own = [some[name] for some in groups if name in some]
        draw = _exchanged(own, theta) if len(own) == 2 else _by_law(*own[0], theta)
        normal &= draw is None
        draws.append(draw or _normal(own, theta))
    return [] if normal else draws


def _size(body: Evidence) -> tuple[int, list[Any]]:
    """Return what orders two bodies: their people, and else their counts."""
    return body.people, [group.counts.tolist() for group in body.groups if group.light]


def _scored(operator: Operator, theta: FloatArray, weights: FloatArray) -> FloatArray:
    """Return w (a / p - 1) of each output, in rows."""
    products = np.stack([operator.forward(row) for row in weights], axis=1)
    return np.asarray(products / operator.forward(theta)[:, None] - weights.sum(axis=1))


def _exchanged(own: list[tuple[Group, FloatArray]], theta: FloatArray) -> Draw | None:
    """Return draws of who belongs to the second body; None for too many kinds of reports."""
    (larger, less), (drawn, more) = own
    many = larger.people + drawn.people >= _MOST_PEOPLE or larger.rows + drawn.rows > _ROWS
    # Those who made other public choices cannot be exchanged.
    if many or larger.public is not None or not (larger.light and drawn.light):
        return None
    # What both bodies reported is drawn once.
    both = grouped(larger.mechanism, [(group.outputs, group.counts) for group, _ in own])
    counts: IntArray = both.counts
    scored = _scored(both.operator, theta, np.concatenate([more - less, less]))
    moved, fixed = np.split(scored, 2, axis=1)
    rest = counts @ fixed
    # One cell after the other, or person by person.
    many_each = counts.sum() > _PEOPLE * counts.size
    method: Literal["marginals", "count"] = "marginals" if many_each else "count"

    def draw(rng: np.random.Generator, many: int) -> FloatArray:
        chosen = rng.multivariate_hypergeometric(counts, drawn.people, size=many, method=method)
        return np.asarray(chosen @ moved + rest)

    return draw


def _by_law(group: Group, weights: FloatArray, theta: FloatArray) -> Draw | None:
    """Return draws of all counts of reports; None for too many kinds of them."""
    space = group.mechanism.output_space
    if group.public is not None or not space.listable or len(space.all()) > _ROWS:
        return None
    operator = group.mechanism.operator(space.all())
    law = np.exp(operator.log_scale) * operator.forward(theta)
    possible = law > 0
    scored = np.zeros((law.size, len(weights)))
    scored[possible] = _scored(operator, theta, weights)[possible]

    def draw(rng: np.random.Generator, many: int) -> FloatArray:
        return np.asarray(rng.multinomial(group.people, law / law.sum(), size=many) @ scored)

    return draw


def _normal(own: list[tuple[Group, FloatArray]], theta: FloatArray) -> Draw:
    """Return normal draws, with the covariance sum of n_i w_i K w_i'."""
    covariance = np.zeros(())
    for group, weights in own:
        moments = group.moments(theta)
        through = np.stack([moments.product(row) for row in weights], axis=1)
        covariance = covariance + group.people * weights @ through
    return normal(covariance)


def normal(covariance: FloatArray) -> Draw:
    """Return normal draws with a covariance."""
    root = root_of(covariance)
    return lambda rng, many: np.asarray(rng.standard_normal((many, len(root))) @ root.T)
