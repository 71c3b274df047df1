"""What could still hide: the largest bias of a choice by value that the test would not notice."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from freewill.core.presented import Presented, frame
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import is_line
from freewill.errors import EvidenceError, FreewillError, ParameterError, printable, several, shown
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.stats.choice.check import NEGLIGIBLE, ROUNDING, Scores, check_choice, preference
from freewill.stats.difference import weighted_chi_square_tail
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence, names_of, refuse_several, too_small
from freewill.stats.functionals import checked_level, weights_of
from freewill.stats.information import OneStep, several_people, split_of

ODDS = (1.5, 2.0, 3.0, 5.0, 10.0, np.inf)
"""Odds for which the bias is bounded; the last are of a choice that is certain."""
_TEMPERATURES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""By which the maximum over mechanisms is smoothed, one after the other, in units of the gains."""
_STEPS, _SHORTEST, _GAIN, _RIDGE = 40, 1e-4, 1e-3, 1e-13
"""Newton steps, the shortest of them, the share of its promise that each must keep, and what is
added to a unit diagonal, for t may move all alike."""
_FAINT = 0.01
"""Share of what a test notices below which a score is left out: to leave it out is safe."""
_QUICK = 1024
"""Values times mechanisms up to which a sensitivity takes a fraction of a second."""
_NEARLY = 0.9
"""Of the bound under any odds: the odds that reach as much are those to name."""


@dataclass(frozen=True, eq=False)
class Sensitivity(Presented):
    """How far a choice by value could move h'theta without being noticed.

    Noticed is what `check_choice` rejects, at its level, in every second survey of as many people.
    `bounds` are the largest biases of `gibu`, and of `fw.intervals`, under choices that are not,
    for each of `odds`: where people choose by their value at odds of R : 1, a share (R - 1) / (R +
    1) of them does so with certainty, and the others freely; with two mechanisms chosen as often,
    nobody's odds are beyond R : 1 then. The last odds are infinite, and their `bound` is that of
    any choice whatever. `law`, [value, mechanism], is one that comes near the bound of the `worst`
    odds, by which people choose `mechanism` as `direction` says. `standard_error` is that of
    h'theta, were the choice free.
    """

    of: str
    people: int
    level: float
    odds: FloatArray
    bounds: FloatArray
    standard_error: float
    mechanism: str
    direction: str
    law: FloatArray = field(repr=False)

    @property
    def bound(self) -> float:
        """The largest bias that goes unnoticed, whatever the choice depends on."""
        return float(self.bounds[-1])

    @property
    def worst(self) -> tuple[float, float]:
        """The least odds that come near the bound, and the bias that goes unnoticed at them."""
        place = _worst(self.bounds)
        return float(self.odds[place]), float(self.bounds[place])

    @property
    def text(self) -> str:
        """The bound in words."""
        odds, bound = self.worst
        how = f"at odds of {odds:.3g} : 1" if np.isfinite(odds) else "for certain"
        return (
            f"a choice by value {how} could go unnoticed among {several(self.people, 'person')} "
            f"and move the {self.of} by up to {bound:.2g}"
        )

    @property
    def details(self) -> dict[str, Any]:
        """The bounds as JSON has them, beside the verdict on free choice."""
        rows = zip(self.odds, self.bounds, strict=True)
        bounds = [{"odds": odds, "bound": bound} for odds, bound in rows]
        return {"sensitivity": {"of": self.of, "text": self.text, "bounds": bounds}}

    def table(self, backend: Any = "pyarrow") -> Any:
        """Return a table with one row for odds: odds, bound."""
        return frame({"odds": self.odds, "bound": self.bounds}, backend)

    def __str__(self) -> str:
        who = f"{printable(self.mechanism)} chosen {self.direction}"
        lines = [
            f"  odds of {odds:>4.3g} : 1  {bound:.3g}"
            for odds, bound in zip(self.odds, self.bounds, strict=True)
        ]
        return "\n".join([f"{self.text}: {who}", *lines])


def _worst(bounds: FloatArray) -> int:
    return int(np.argmax(bounds >= _NEARLY * bounds[-1]))


@one_blas_thread
def sensitivity(
    evidence: Evidence | OneStep, of: Any = "mean", level: float = 0.95, start: Start | None = None
) -> Sensitivity:
    """Bound the bias of a functional that a choice by value could cause and go unnoticed.

    Let c_m(x) = s_m (1 + f_m(x)) with E c_m = s_m, so that group m has the distribution
    theta (1 + f_m). To first order, with u = C h and K_m the information of its mechanism,

        h'theta moves by  sum_m s_m u'K_m (theta f_m),
        S_m of `check_choice` by  n_m (K_m theta f_m - K_m C sum_j s_j K_j theta f_j).

    The test weighs squares of principal scores, of which that shift adds Q_m(f), a quadratic form;
    beyond some q_m it rejects in every second survey (`_reach`). The bound is the largest shift of
    h'theta over all choice laws with Q_m <= q_m for all m, by convex duality (`_Hidden`). Where
    reports tell nothing of a choice, only its odds bound it.

    >>> import numpy as np, freewill as fw
    >>> ages, rng = fw.Linear(0, 99), np.random.default_rng(1)
    >>> shy, bold = fw.KRR(ages, 2.0), fw.KRR(ages, 5.0)
    >>> parts = [(one, one.obfuscate(rng.integers(20, 80, 2000), rng)) for one in (shy, bold)]
    >>> print(sensitivity(fw.collect(parts)).text)
    a choice by value ... could go unnoticed among 4,000 people and move the mean by up to ...
    """
    fit = split_of(evidence, start)
    refuse_several(fit.evidence, "sensitivity")
    several_people(fit.evidence, "sensitivity")
    weights, level = weights_of(of, fit.evidence.alphabet), checked_level(level)
    if len(weights.rows) != 1:
        raise ParameterError(
            f"of={shown(of)} stands for {several(len(weights.rows), 'functional')}: expected one, "
            f'such as "mean" on a line or a row of weights.'
        )
    check_choice(fit, level)  # refuses what cannot be tested
    estimated = fit.estimated(weights.rows)
    if not np.isfinite(estimated.variances[0]):
        raise EvidenceError(f"the reports tell nothing of {weights.names[0]}.")
    hidden, theta = _Hidden(fit, estimated.influences[0], level), fit.information.theta
    bounds, laws, point = np.empty(len(ODDS)), [], None
    for place, odds in enumerate(ODDS):
        share = (odds - 1) / (odds + 1) if np.isfinite(odds) else 1.0
        bounds[place], point = hidden.largest(share, point)
        laws.append(hidden.shares + share * (hidden.law(point).T - hidden.shares))
    law = laws[_worst(bounds)]
    tilts = theta[:, None] * (law - hidden.shares)
    most = int(np.argmax(np.abs(tilts).sum(axis=0)))
    return Sensitivity(
        of=weights.names[0],
        people=fit.evidence.people,
        level=level,
        odds=np.array(ODDS),
        bounds=np.minimum(bounds, np.ptp(weights.rows[0])),
        standard_error=float(estimated.errors[0]),
        mechanism=names_of(fit.evidence)[most],
        direction=preference(tilts[:, most], theta, fit.evidence.alphabet),
        law=law,
    )


def unnoticed(fit: OneStep) -> Sensitivity | None:
    """Return the sensitivity of the mean where there is one mean, and it takes no time to speak of.

    None elsewhere: without an order, on a map, and where values or mechanisms are many.
    """
    evidence = fit.evidence
    if not is_line(evidence.alphabet) or evidence.alphabet.size * len(evidence.groups) > _QUICK:
        return None
    try:
        return sensitivity(fit)
    except FreewillError:
        return None


class _Hidden:
    """The choices c that a test notices at most every second time, and what they do to h'theta.

    `gains`, [m, x], times theta (c_m - s_m) is the shift of h'theta; each of `tests`, [row, m, x],
    times the same has squares that add up to Q / q. Over all choice laws with E c_m = s_m, of which
    a share of people make use and the others choose freely, the largest gain under Q <= q is

        min over z, t of  sum_b |z_b| + share (sum_x theta_x max_m (W_m(x) - t_m) + sum_m s_m t_m),
        W = gains - sum_b z_b'tests_b,

    by duality: the support function of the sum of two convex sets. Every z and t give a bound. With
    the maximum smoothed, log sum_m e^(W_m / T), the minimum is found by its gradient, and the
    softmax is the choice law that comes near the bound.
    """

    def __init__(self, fit: OneStep, influence: FloatArray, level: float) -> None:
        information, scores, groups = fit.information, fit.once(Scores.of), fit.evidence.groups
        self.theta = information.theta
        self.shares: FloatArray = np.array([share for _, share, _ in information.parts])
        gains = np.stack([own.product(influence) for own in information.moments])
        self.scale = float(np.sqrt(np.max(np.square(gains) @ self.theta))) or 1.0
        self.gains: FloatArray = gains / self.scale
        places = [place for place, one in enumerate(groups) if not too_small(one)]
        # Of two groups either says the same.
        places = places[:1] if len(groups) == 2 else places
        # Principal scores are weighed by the roots of their variances, displacements alike.
        kinds = [(scores.smooth, 0.5)] + ([(scores.moved, 1.0)] if len(scores.moved) else [])
        chance = (1 - level) / len(places) / len(kinds)
        blocks = [_noticed(scores, place, *kind, chance) for place in places for kind in kinds]
        tests = [block / self.shares[:, None] for block in blocks]
        sizes = [np.sqrt(np.square(block) @ self.theta @ self.shares) for block in tests]
        tests = [block[size > _FAINT] for block, size in zip(tests, sizes, strict=True)]
        self.tests: FloatArray = np.concatenate(tests)
        self.blocks: FloatArray = np.repeat(np.eye(len(tests)), [len(one) for one in tests], axis=1)
        """Which rows are of which test, [test, row]."""

    def largest(self, share: float, start: FloatArray | None) -> tuple[float, FloatArray]:
        """Return the largest gain where a share of people choose by their value, and (z, t)."""
        point = np.zeros(len(self.tests) + self.shares.size) if start is None else start
        for temperature in _TEMPERATURES:
            point = self._minimum(point, share, temperature)
        return self._value(point, share, 0.0) * self.scale, point

    def law(self, point: FloatArray, temperature: float = _TEMPERATURES[-1]) -> FloatArray:
        """Return c, [mechanism, value], of (z, t)."""
        return np.asarray(softmax(self._worth(point) / temperature, axis=0))

    def _worth(self, point: FloatArray) -> FloatArray:
        z, t = np.split(point, [len(self.tests)])
        return np.asarray(self.gains - np.tensordot(z, self.tests, 1) - t[:, None])

    def _norms(self, point: FloatArray, temperature: float) -> FloatArray:
        return np.sqrt(self.blocks @ np.square(point[: len(self.tests)]) + temperature**2)

    def _value(self, point: FloatArray, share: float, temperature: float) -> float:
        """Return the bound at (z, t), smoothed by a temperature if any."""
        worth, norms = self._worth(point), self._norms(point, temperature)
        largest = worth.max(axis=0)
        if temperature:
            largest = temperature * logsumexp(worth / temperature, axis=0)
        t = point[len(self.tests) :]
        return float(norms.sum() + share * (self.theta @ largest + self.shares @ t))

    def _minimum(self, point: FloatArray, share: float, temperature: float) -> FloatArray:
        """Return the minimum of the smoothed bound by Newton steps, each shortened until it gains.

        Any point is a bound: where steps end early, it is a little larger.
        """
        many = len(self.tests)
        count = self.shares.size
        alike = np.broadcast_to(np.eye(count)[:, :, None], (count, *self.gains.shape))
        rows = np.concatenate([self.tests, alike])
        for _ in range(_STEPS):
            law, norms = self.law(point, temperature), self._norms(point, temperature)
            unit = point[:many] / (self.blocks.T @ norms)
            slope = -share * np.tensordot(rows, law * self.theta, 2)
            slope[:many] += unit
            slope[many:] += share * self.shares
            mean = np.einsum("rmx,mx->rx", rows, law)
            scaled = (rows * np.sqrt(law * self.theta)).reshape(len(rows), -1)
            curve = (scaled @ scaled.T - (mean * self.theta) @ mean.T) * share / temperature
            within = np.diag(np.ones(many)) - self.blocks.T @ self.blocks * np.outer(unit, unit)
            curve[:many, :many] += within / (self.blocks.T @ norms)[:, None]
            curve[np.diag_indices(len(curve))] += _RIDGE * float(np.trace(curve))
            step = -np.linalg.solve(curve, slope)
            promised, length = float(-slope @ step), 1.0
            before = self._value(point, share, temperature)
            while length > _SHORTEST and not (
                self._value(point + length * step, share, temperature)
                < before - _GAIN * length * promised
            ):
                length /= 2
            if length <= _SHORTEST or promised < _GAIN * temperature:
                break
            point = point + length * step
        return point


def _noticed(
    scores: Scores, place: int, rows: FloatArray, power: float, chance: float
) -> FloatArray:
    """Return rows of functionals of all theta f_m, [row, m, x], whose squares add up to Q / q.

    For the test of sum_j (D_j'S)^2 / L_j^power, with the variances L_j, that rejects a free choice
    with this chance. None where the group tells nothing that others do not: no test notices it.
    """
    information, people = scores.fit.information, scores.fit.evidence.groups[place].people
    variance = scores.along(place, rows)[1]
    roots, vectors = np.linalg.eigh(np.nan_to_num(variance))
    large = roots > max(NEGLIGIBLE * roots[-1], ROUNDING * float(np.abs(rows).max()) ** 2)
    if not large.any() or not np.isfinite(variance).all():
        return np.zeros((0, len(information.parts), rows.shape[1]))
    rows, roots = vectors[:, large].T @ rows, roots[large]
    through = np.stack([information.moments[place].product(row) for row in rows])
    moved = np.stack([information.moved(row) for row in through])
    shifts = np.stack(
        [
            -share * np.stack([own.product(row) for row in moved])
            for (_, share, _), own in zip(information.parts, information.moments, strict=True)
        ],
        axis=1,
    )
    shifts[:, place] += through
    scale = people / np.sqrt(roots**power * _reach(roots ** (1 - power), chance))
    return np.asarray(shifts * scale[:, None, None])


def _reach(weights: FloatArray, chance: float) -> float:
    """Return the Q beyond which sum_j w_j (Z_j + z_j)^2 is beyond its quantile every second time.

    Q = sum_j w_j z_j^2 raises the mean of the sum by as much. Its median is about the mean less
    mu_3 / 6 var (Cornish and Fisher), which is least where all of Q is along the largest weight:

        median = sum w + Q - (8 sum w^3 + 24 w_1^2 Q) / 6 (2 sum w^2 + 4 w_1 Q).

    >>> round(_reach(np.ones(1), 0.05) ** 0.5, 1)  # a normal number beyond 1.96 every second time
    2.0
    """
    from scipy.optimize import brentq  # noqa: PLC0415

    weights = weights / (largest := float(weights.max()))
    mean, deviation = float(weights.sum()), float(np.sqrt(2 * weights @ weights))
    high = mean + deviation
    while weighted_chi_square_tail(high, weights) > chance:
        high += deviation
    limit = brentq(lambda x: weighted_chi_square_tail(x, weights) - chance, 0.0, high)

    def median(added: float) -> float:
        third, second = 8 * float(np.sum(weights**3)) + 24 * added, deviation**2 + 4 * added
        return mean + added - third / (6 * second)

    limit = max(limit, median(0.0) + _FAINT * deviation)
    return largest * float(brentq(lambda q: median(q) - limit, 0.0, limit + 2))
