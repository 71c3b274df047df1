"""People exchanged between many periods: counts of each mechanism's reports, drawn by chance."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.stats.estimators.estimate import slope_at
from freewill.stats.evidence import Evidence
from freewill.stats.groups import Group, grouped

_ROWS = 5_000
"""Kinds of reports of one mechanism up to which its people are exchanged."""
_MOST_PEOPLE = 10**9
"""Of one mechanism, whom NumPy exchanges."""
_MOST_SCORES = 1 << 24
"""Numbers that the scores of all reports may have: 128 MiB."""
_ALONE = 0.1
"""Share of the people who cannot be exchanged, beyond whom the others tell too little."""
_PERSON, _CELL, _PRODUCT = 15e-9, 150e-9, 1e-9
"""Seconds, about, that a person who is moved, a cell that is drawn, and a product take."""
_SECONDS, _FEWEST, _MOST = 2.0, 400, 2_000
"""That draws may take, and between which there are as many as that leaves."""
_MANY = 2_000
"""People of each mechanism in a period from whom on, in the mean, nothing need be drawn."""


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

    def table(self, rng: np.random.Generator) -> IntArray:
        """Return counts of each period and output, by chance."""
        if self.by_person:
            outputs = rng.permutation(np.repeat(np.arange(self.counts.size), self.counts))
            periods = np.repeat(np.arange(self.people.size), self.people)
            cells = periods * self.counts.size + outputs
            drawn = np.bincount(cells, minlength=self.people.size * self.counts.size)
            return drawn.reshape(self.people.size, -1)
        left, rows = self.counts, []
        method: Literal["marginals"] = "marginals"
        for people in self.people[:-1]:
            rows.append(rng.multivariate_hypergeometric(left, people, method=method))
            left = left - rows[-1]
        return np.array([*rows, left])


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
    by_id: dict[str, list[tuple[int, Group]]] = {}
    for period, body in enumerate(bodies):
        for group in body.groups:
            by_id.setdefault(group.mechanism.id, []).append((period, group))
    exchanges, alone = list[_Exchange](), list[tuple[int, Group]]()
    for own in by_id.values():
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
        sums = np.repeat(rest[None], many, axis=0)
        for one in exchanges:
            for place in range(many):
                sums[place] += np.matmul(one.table(rng)[:, None], one.scored)[:, 0]
        return sums

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
    scores = both.rows * len(weights) * len(weights[0])
    if both.rows > _ROWS or max(scores, both.rows * theta.size) > _MOST_SCORES:
        return None
    law = both.operator.dense()
    shares = law / (law @ theta)[:, None]
    scored = np.stack([shares @ rows.T - rows.sum(axis=1) for rows in weights])
    return _Exchange(both.counts, people, scored)
