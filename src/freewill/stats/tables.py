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
_MOVED = 1 << 21
"""People who are moved at once: some tens of megabytes."""
_PERSON, _CELL, _PRODUCT = 15e-9, 150e-9, 1e-9
"""Seconds, about, that a person who is moved, a cell that is drawn, and a product take."""
_SECONDS, _FEWEST, _MOST = 1.0, 400, 1_000
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

    def drawn(self, rng: np.random.Generator, many: int) -> FloatArray:
        """Return sums of scores by chance, [draw, period, score]."""
        tables = self.by_people(rng, many) if self.by_person else self.by_cells(rng, many)
        return np.asarray(np.matmul(tables.swapaxes(0, 1), self.scored).swapaxes(0, 1))

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
        method: Literal["marginals"] = "marginals"
        for table in tables:
            left = self.counts
            for row, people in zip(table[:-1], self.people, strict=False):
                row[:] = rng.multivariate_hypergeometric(left, people, method=method)
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
    scores = both.rows * len(weights) * len(weights[0])
    if both.rows > _ROWS or max(scores, both.rows * theta.size) > _MOST_SCORES:
        return None
    law = both.operator.dense()
    shares = law / (law @ theta)[:, None]
    scored = np.stack([shares @ rows.T - rows.sum(axis=1) for rows in weights])
    return _Exchange(both.counts, people, scored)
