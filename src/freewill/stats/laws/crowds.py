"""Whose values a group's law acts on: everybody's, or those of the people who choose it."""

from dataclasses import dataclass

import numpy as np

from freewill.core.types import FloatArray
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.choice.model import ChoiceModel
from freewill.stats.covariance import inverse_on_simplex
from freewill.stats.estimators.estimate import Start, default_tolerance, theta_of
from freewill.stats.evidence import Evidence
from freewill.stats.information import pulled
from freewill.stats.one_step import OneStep, slope_at

_RAREST = 1e-9
"""Share of the people of a value who choose a mechanism, at least: nothing divides by 0."""
_STEPS = 100


@dataclass(frozen=True, eq=False)
class ChoiceLaw:
    """Who chooses what, c_m(x), and the functions of the value by which it may be otherwise."""

    choice: FloatArray
    """c, [value, mechanism]."""
    functions: FloatArray
    """[value, function]; the constant is not among them."""
    contrasts: FloatArray
    """Orthonormal contrasts of the mechanisms' logits, [mechanism, contrast]."""
    spread: float
    """Prior standard deviation of their coefficients."""

    @classmethod
    def of(cls, aware: ChoiceAwareEstimate) -> "ChoiceLaw":
        """Return the law of an estimate, with all bends that its intervals allow for."""
        joint = aware.made_from
        choice = np.maximum(aware.choice, _RAREST)
        choice = choice / choice.sum(axis=1, keepdims=True)
        return cls(choice, joint.basis.functions, joint.model.contrasts, joint.spread)


@dataclass(frozen=True, eq=False)
class Crowd:
    """Estimated values of the people of each group, and how they move with what is unknown.

    Where the choice is free, theta alone is unknown and every group has it. Where it depends on
    the value, by logits sum_j f_j(x) b_jm, those who choose m have

        theta_m(x) = theta(x) c_m(x) / s_m,   s_m = sum_x theta(x) c_m(x),

    and theta and b are unknown. With J_m = d theta_m / d (theta, b) but for its normalisation,
    which no law notices, and K_m the information of mechanism m at theta_m,

        I = sum_m n_m J_m' K_m J_m,    (theta, b)_1 = (theta, b)_w + C sum_m J_m' U_m,    C = I^-

    on the simplex, U_m the sum of a / p_m - 1 over the reports of group m.
    """

    theta: FloatArray
    """theta_w of everybody."""
    values: tuple[FloatArray, ...]
    """theta_m."""
    ways: tuple[FloatArray | None, ...]
    """J_m, [value, unknown]; None where theta is all that is unknown, and J_m = 1."""
    spread: FloatArray
    """C, the covariance of what is unknown."""
    law: ChoiceLaw | None

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        law: ChoiceLaw | None = None,
        start: Start | None = None,
    ) -> "Crowd":
        """Return the people of evidence, at the most likely theta given the law, pulled inside.

        `start` is what that is looked for from.
        """
        if law is None:
            return cls.free(OneStep(evidence, start))
        model = ChoiceModel(evidence, default_tolerance(evidence), _STEPS)
        uniform = np.full(model.size, 1 / model.size)
        theta = uniform if start is None else theta_of(start, evidence.alphabet)
        return cls._choosing(evidence, law, model.solve(law.choice, theta).theta)

    @classmethod
    def free(cls, fit: OneStep) -> "Crowd":
        """Return the people of a fit, whose choice is free."""
        inside, count = fit.information.theta, len(fit.evidence.groups)
        return cls(inside, (inside,) * count, (None,) * count, fit.information.covariance, None)

    @classmethod
    def _choosing(cls, evidence: Evidence, law: ChoiceLaw, theta: FloatArray) -> "Crowd":
        inside = pulled(theta, evidence.people)
        size, mean = inside.size, law.choice @ law.contrasts
        values, ways = [], []
        unknown = size + law.functions.shape[1] * law.contrasts.shape[1]
        information = np.zeros((unknown, unknown))
        information[np.arange(size, unknown), np.arange(size, unknown)] = law.spread**-2
        for group, own, contrast in zip(evidence.groups, law.choice.T, law.contrasts, strict=True):
            share = float(own @ inside)
            values.append(own * inside / share)
            moves = values[-1][:, None] * (contrast - mean)
            step = (law.functions[:, :, None] * moves[:, None, :]).reshape(size, -1)
            ways.append(np.hstack([np.diag(own / share), step]))
            told = group.mechanism.moments(values[-1]).information()
            information += group.people * ways[-1].T @ told @ ways[-1]
        spread, _ = inverse_on_simplex(information, inside)
        return cls(inside, tuple(values), tuple(ways), spread, law)

    def along(self, place: int, rows: FloatArray) -> FloatArray:
        """Return rows h J_m: how a group's functionals of theta_m move with what is unknown."""
        way = self.ways[place]
        return rows if way is None else np.asarray(rows @ way)

    def slope(self, evidence: Evidence) -> FloatArray:
        """Return sum_m J_m' U_m."""
        if self.law is None:
            return np.asarray(evidence.people * (slope_at(evidence, self.theta) - 1))
        found = np.zeros(len(self.spread))
        for place, (group, values) in enumerate(zip(evidence.groups, self.values, strict=True)):
            own = slope_at(Evidence(evidence.alphabet, (group,)), values) - 1
            found += self.along(place, group.people * own)
        return found

    def held(self, evidence: Evidence) -> FloatArray:
        """Return the part of the information that each group holds: trace(n_m J_m' K_m J_m C)."""
        found = np.zeros(len(self.values))
        for place, (group, values) in enumerate(zip(evidence.groups, self.values, strict=True)):
            told = group.mechanism.moments(values).information()
            through = self.along(place, self.along(place, told).T)
            found[place] = group.people * float(np.sum(through * self.spread))
        total = found.sum()
        return found / total if total > 0 else found
