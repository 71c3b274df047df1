"""What scores are by chance: people of one mechanism exchanged between bodies or periods."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.moments import root_of
from freewill.stats.estimators.estimate import slope_at
from freewill.stats.evidence import Evidence
from freewill.stats.groups import Group, grouped

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
_MOST_SCORES = 1 << 24
"""Numbers that the scores of all reports may have: 128 MiB."""
_ALONE = 0.1
"""Share of the people who cannot be exchanged, beyond whom the others tell too little."""
_MOVED = 1 << 21
"""People who are moved at once: some tens of megabytes."""
_PERSON, _CELL, _PRODUCT = 15e-9, 150e-9, 1e-9
"""Seconds, about, that a person who is moved, a cell that is drawn, and a product take."""
_SECONDS, _FEWEST, _MOST = 1.0, 400, 1_000
"""That draws may take, and between which there are as many as that leaves."""
_MANY = 2_000
"""People of each mechanism in a period from whom on, in the mean, nothing need be drawn."""

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
    bodies, weights = zip(*sorted(sides, key=_size, reverse=True), strict=True)
    draws, normal = list[Draw](), True
    for _, own in sorted(_by_mechanism(bodies).items()):
        (place, group), *others = own
        draw = None if others else _by_law(group, weights[place], theta)
        if others and (together := _exchange(own, theta, weights)) is not None:
            draw = together.of_two
        normal &= draw is None
        draws.append(draw or _normal(own, theta, weights))
    return [] if normal else draws


def _by_mechanism(bodies: Sequence[Evidence]) -> dict[str, list[tuple[int, Group]]]:
    """Return the groups of each mechanism, each with the place of its body."""
    by_id: dict[str, list[tuple[int, Group]]] = {}
    for place, body in enumerate(bodies):
        for group in body.groups:
            by_id.setdefault(group.mechanism.id, []).append((place, group))
    return by_id


def _size(side: Side) -> tuple[int, list[Any]]:
    """Return what orders two bodies: their people, and else their counts."""
    body = side[0]
    return body.people, [group.counts.tolist() for group in body.groups if group.light]


def _scored(operator: Operator, theta: FloatArray, weights: FloatArray) -> FloatArray:
    """Return w (a / p - 1) of each output, in rows."""
    products = np.stack([operator.forward(row) for row in weights], axis=1)
    return np.asarray(products / operator.forward(theta)[:, None] - weights.sum(axis=1))


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


def _normal(
    own: Sequence[tuple[int, Group]], theta: FloatArray, weights: Sequence[FloatArray]
) -> Draw:
    """Return normal draws, with the covariance sum of n_i w_i K w_i'."""
    covariance = np.zeros(())
    for place, group in own:
        moments, rows = group.moments(theta), weights[place]
        through = np.stack([moments.product(row) for row in rows], axis=1)
        covariance = covariance + group.people * rows @ through
    return normal(covariance)


def normal(covariance: FloatArray) -> Draw:
    """Return normal draws with a covariance."""
    root = root_of(covariance)
    return lambda rng, many: np.asarray(rng.standard_normal((many, len(root))) @ root.T)


class Redrawn(NamedTuple):
    """What draws sums of scores, [draw, period, score], and how many draws there is time for."""

    draw: Callable[[np.random.Generator, int], FloatArray]
    most: int


class _Exchange(NamedTuple):
    """The people of one mechanism: what all of them reported, and how many are of each period."""

    counts: IntArray
    people: IntArray
    scored: FloatArray
    """w_i (a / p - 1) of each output, [period, output, score]."""

    @property
    def by_person(self) -> bool:
        """Whether people are moved one by one, and not cell by cell."""
        cells = self.people.size * self.counts.size
        return int(self.counts.sum()) * _PERSON < cells * _CELL

    @property
    def seconds(self) -> float:
        """What a draw takes, about."""
        cells = self.people.size * self.counts.size
        moved = min(int(self.counts.sum()) * _PERSON, cells * _CELL)
        return float(moved + cells * self.scored.shape[2] * _PRODUCT)

    def drawn(self, rng: np.random.Generator, many: int) -> FloatArray:
        """Return sums of scores by chance, [draw, period, score]."""
        tables = self.by_people(rng, many) if self.by_person else self.by_cells(rng, many)
        return np.asarray(np.matmul(tables.swapaxes(0, 1), self.scored).swapaxes(0, 1))

    def of_two(self, rng: np.random.Generator, many: int) -> FloatArray:
        """Return sums of the scores of two bodies together, [draw, score]."""
        # One cell after the other, or person by person.
        many_each = self.counts.sum() > _PEOPLE * self.counts.size
        method: Literal["marginals", "count"] = "marginals" if many_each else "count"
        people = int(self.people[1])
        chosen = rng.multivariate_hypergeometric(self.counts, people, size=many, method=method)
        fixed, moved = self.scored[0], self.scored[1] - self.scored[0]
        return np.asarray(chosen @ moved + self.counts @ fixed)

    def by_people(self, rng: np.random.Generator, many: int) -> IntArray:
        """Return counts, [draw, period, output]: people in any order fill the periods."""
        shape = self.people.size, self.counts.size
        outputs = np.repeat(np.arange(shape[1]), self.counts)
        first = np.repeat(np.arange(shape[0]) * shape[1], self.people)
        at_once = max(_MOVED // outputs.size, 1)
        tables = []
        for begin in range(0, many, at_once):
            some = min(at_once, many - begin)
            moved = rng.permuted(np.tile(outputs, (some, 1)), axis=1) + first
            moved += (np.arange(some) * (shape[0] * shape[1]))[:, None]
            counts = np.bincount(moved.ravel(), minlength=some * shape[0] * shape[1])
            tables.append(counts.reshape(some, *shape))
        return np.concatenate(tables)

    def by_cells(self, rng: np.random.Generator, many: int) -> IntArray:
        """Return the same: each period in turn takes its people from those who are left."""
        tables = np.empty((many, self.people.size, self.counts.size), dtype=np.int64)
        for table in tables:
            left = self.counts
            for row, people in zip(table[:-1], self.people, strict=False):
                row[:] = rng.multivariate_hypergeometric(left, people, method="marginals")
                left = left - row
            table[-1] = left
        return tables


def redrawn_tables(
    bodies: Sequence[Evidence], theta: FloatArray, weights: Sequence[FloatArray]
) -> Redrawn | None:
    """Return draws of the scores w_i U_i of all periods, people of one mechanism exchanged.

    Were theta the same in all periods, which of them the people of a mechanism belong to is by
    chance, given their reports: each period's counts are drawn without replacement from those of
    all, and a test holds its level exactly, however few the people are and however their choices
    change from period to period. Who chose a mechanism of one period alone has nobody to be
    exchanged with: such reports stay where they are, and the level is kept. None where these are
    more than a tenth, where draws take too long, and where all mechanisms have so many people that
    a formula has it.
    """
    exchanges, alone = list[_Exchange](), list[tuple[int, Group]]()
    for own in _by_mechanism(bodies).values():
        together = _exchange(own, theta, weights)
        if together is None:
            alone += own
        else:
            exchanges.append(together)
    left = sum(group.people for _, group in alone)
    seconds = sum(one.seconds for one in exchanges)
    most = int(min(_MOST, _SECONDS / seconds)) if seconds else 0
    enough = all(np.mean(one.people[one.people > 0]) >= _MANY for one in exchanges)
    if enough or most < _FEWEST or left > _ALONE * sum(body.people for body in bodies):
        return None
    rest = np.zeros((len(bodies), len(weights[0])))
    for period, group in alone:
        own_slope = slope_at(Evidence(bodies[0].alphabet, (group,)), theta) - 1
        rest[period] += group.people * weights[period] @ own_slope

    def draw(rng: np.random.Generator, many: int) -> FloatArray:
        return np.asarray(rest + sum(one.drawn(rng, many) for one in exchanges))

    return Redrawn(draw, most)


def _exchange(
    own: list[tuple[int, Group]], theta: FloatArray, weights: Sequence[FloatArray]
) -> _Exchange | None:
    """Return what exchanges the people of one mechanism; None where nobody can be."""
    groups = [group for _, group in own]
    people = np.zeros(len(weights), dtype=np.int64)
    for period, group in own:
        people[period] = group.people
    rows = sum(group.rows for group in groups)
    many = people.sum() >= _MOST_PEOPLE or rows > _ROWS * len(groups)
    if len(own) < 2 or many or not all(group.light and group.public is None for group in groups):
        return None
    both = grouped(groups[0].mechanism, [(group.outputs, group.counts) for group in groups])
    if both.rows > _ROWS or both.rows * len(weights) * len(weights[0]) > _MOST_SCORES:
        return None
    scored = np.stack([_scored(both.operator, theta, rows) for rows in weights])
    return _Exchange(both.counts, people, scored)
