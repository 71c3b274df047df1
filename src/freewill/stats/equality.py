"""A test of equality of two bodies of evidence, in the few directions that they tell."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.stats.estimators.estimate import default_tolerance
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, merge
from freewill.stats.information import DENSE, Information, information_at, pulled
from freewill.stats.one_step import slope_at
from freewill.stats.work import Work

_COMPONENTS = 64
"""Principal functions of a distance that are looked at: the further ones are far too rough."""
_WAVES = 24
"""Functions that are looked at where values are too many for a matrix."""
_LEFT = 0.05
"""Share of the information that must be left for a second test."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What two bodies of evidence say about their difference, were theta the same in both.

    At the pooled theta, let U_i be the sum of a / p - 1 over the reports of body i, and
    I_i = n_i K_i its covariance. With P = (I_1 + I_2)^-, the efficient score of the difference is

        S = I_1 P U_2 - I_2 P U_1,      cov S = W = I_1 P I_2,

    theta projected out; a difference delta shifts S by W delta. No inverse of a single body's
    information is needed, and exchanging the two changes a sign.
    """

    mode: FloatArray
    """The theta that is most likely for both."""
    one: Information
    other: Information
    pooled: Information
    slopes: tuple[FloatArray, FloatArray]
    """g - 1 of each body, at the pooled theta."""

    @classmethod
    def of(cls, one: Evidence, other: Evidence, work: Work) -> "Scores":
        """Return the scores at the theta that is most likely for both, pulled inside."""
        everyone = merge([one, other])
        mode = gibu(everyone, on_step=work.maximum(default_tolerance(everyone))).theta
        theta = pulled(mode, everyone.people)
        first, second, both = (information_at(some, theta) for some in (one, other, everyone))
        return cls(
            mode, first, second, both, (slope_at(one, theta) - 1, slope_at(other, theta) - 1)
        )

    def along(self, rows: FloatArray, work: Work) -> tuple[FloatArray, FloatArray]:
        """Return L'S and L'W L for differences L, in rows that sum to 0."""
        first = self.one.people * self.one.products(rows)
        second = self.other.people * self.other.products(rows)
        solved = self._solve(first, work), self._solve(second, work)
        score = solved[0] @ (self.other.people * self.slopes[1])
        score -= solved[1] @ (self.one.people * self.slopes[0])
        told = first @ solved[1].T
        return score, (told + told.T) / 2

    def _solve(self, rows: FloatArray, work: Work) -> FloatArray:
        """Return P u for each row u that the information can reach."""
        if self.pooled.alphabet.size <= DENSE:
            return np.asarray(rows @ self.pooled.covariance)
        return self.pooled.influences(rows, work.solved) / self.pooled.people


def solves_of(alphabet: Alphabet) -> int:
    """Return how many solves the test takes where values are too many for a matrix; else none."""
    return 2 * min(_WAVES, alphabet.size - 1) if alphabet.size > DENSE else 0


def equality(one: Evidence, other: Evidence, work: Work | None = None) -> float:
    """Return the p-value of a test that both bodies of evidence come from the same theta.

    Differences theta f are tested with f smooth over the alphabet's distance d (f has the
    covariance -d(x, y), which has no scale to choose: Brownian motion on a line), then with f free
    for each value, common values first, in what the smooth ones leave. The two are independent, so
    that the smaller of their p-values counts as 1 - (1 - p)^2. Without neighbours the second is
    alone.
    """
    work = work or Work(None)
    scores = Scores.of(one, other, work)
    theta, alphabet = scores.mode, one.alphabet
    stages = [smooth_differences(theta, alphabet)] if alphabet.plane is not None else []
    if alphabet.plane is None or alphabet.size <= DENSE:
        stages.append(single_differences(theta))
    score, told = scores.along(np.concatenate(stages), work)
    if not (np.isfinite(score).all() and np.isfinite(told).all()):
        return 1.0
    return in_stages(score, told, [len(stage) for stage in stages])


def in_stages(score: FloatArray, told: FloatArray, sizes: list[int]) -> float:
    """Return the p-value of tests one after the other, each in what those before leave.

    `score` is normal with covariance `told` = V under the hypothesis, and the sizes say which of it
    each stage looks at. With the stage's block of V = Q diag(lambda) Q', it takes the r largest
    lambda, r = (sum lambda)^2 / sum lambda^2 rounded up, and sum_j (Q_j'score)^2 / lambda_j is
    chi-square with r degrees of freedom. These directions are then projected out of what is left.

    >>> round(in_stages(np.array([1.96]), np.eye(1), [1]), 3)
    0.05
    """
    whole, values, begin = np.diag(told), [], 0
    for size in sizes:
        block = slice(begin, begin + size)
        begin += size
        if not np.trace(told[block, block]) > _LEFT * whole[block].sum():
            continue
        roots, vectors = np.linalg.eigh(told[block, block])
        parts = np.maximum(roots[::-1] / roots[-1], 0.0)
        freedom = math.ceil(parts.sum() ** 2 / np.square(parts).sum() - 1e-6)
        best = vectors[:, ::-1][:, :freedom] / np.sqrt(roots[::-1][:freedom])
        found = best.T @ score[block]
        values.append(float(chdtrc(freedom, found @ found)))
        shared = told[:, block] @ best
        score, told = score - shared @ found, told - shared @ shared.T
    if not values or min(values) >= 1:
        return 1.0
    return float(-math.expm1(len(values) * math.log1p(-min(values))))


def single_differences(theta: FloatArray) -> FloatArray:
    """Return theta f, f free for each value; for the most common ones where they are very many.

    >>> single_differences(np.array([0.5, 0.5]))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    many = theta.size if theta.size <= DENSE else _WAVES
    common = np.sort(np.argsort(-theta, kind="stable")[:many])
    return _tilted(theta, np.asarray(np.arange(theta.size) == common[:, None], dtype=float))


def smooth_differences(theta: FloatArray, alphabet: Alphabet) -> FloatArray:
    """Return theta f for the principal functions f of the covariance -d(x, y) under theta.

    Where values are too many for a matrix, f are cosines, as long as such functions are.
    """
    if alphabet.size > DENSE:
        return _tilted(theta, _cosines(alphabet))
    places = np.arange(alphabet.size)
    kernel = -alphabet.distance(places[:, None], places[None, :])
    # Centred under theta: a constant in f is no difference.
    means = kernel @ theta
    kernel = kernel - means[:, None] - means + means @ theta
    weight = np.sqrt(theta)
    roots, vectors = np.linalg.eigh(kernel * weight[:, None] * weight)
    largest = slice(-min(_COMPONENTS, theta.size), None)
    return np.asarray((vectors[:, largest] * np.sqrt(np.maximum(roots[largest], 0.0))).T * weight)


def displacements(theta: FloatArray, alphabet: Alphabet) -> FloatArray:
    """Return how theta changes where everybody moves by a cell: along a line, north and east.

    Half of the difference between a cell forth and a cell back; at the border people stay.

    >>> import freewill as fw
    >>> displacements(np.array([0.5, 0.3, 0.2]), fw.Linear(0, 2))
    array([[-0.4 ,  0.15,  0.25]])
    """
    plane = alphabet.plane or (1, alphabet.size)
    cells, rows = theta.reshape(plane), []
    for axis, count in enumerate(plane):
        if count > 1:
            beside = np.moveaxis(cells, axis, 0)
            forth = np.concatenate([0 * beside[:1], beside[:-2], beside[-2:-1] + beside[-1:]])
            back = np.concatenate([beside[:1] + beside[1:2], beside[2:], 0 * beside[:1]])
            rows.append(np.moveaxis((forth - back) / 2, 0, axis).ravel())
    return np.array(rows).reshape(len(rows), theta.size)


def _tilted(theta: FloatArray, functions: FloatArray) -> FloatArray:
    return np.asarray(theta * (functions - (functions @ theta)[:, None]))


def _cosines(alphabet: Alphabet) -> FloatArray:
    """Return cosines over a line or plane, the longest waves first."""
    rows, columns = alphabet.plane or (1, alphabet.size)
    lengths = [high - low for low, high in reversed(alphabet.extent)]
    north, east = [1.0] * (2 - len(lengths)) + lengths
    most = _WAVES + 1  # the first of all is constant
    pairs = [(i, j) for i in range(min(rows, most)) for j in range(min(columns, most))]
    waves = sorted((math.hypot(i / north, j / east), i, j) for i, j in pairs)[1:most]
    power = (1 + len(lengths)) / 2
    return np.stack([_wave(rows, i)[:, None] * _wave(columns, j) / pitch**power
                     for pitch, i, j in waves]).reshape(len(waves), -1)  # fmt: skip


def _wave(size: int, number: int) -> FloatArray:
    return np.asarray(np.cos(np.pi * number * (np.arange(size) + 0.5) / size))
