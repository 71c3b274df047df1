"""The people of each group, where their choice may depend on the value: whom each law acts on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from freewill.core.types import FloatArray
from freewill.stats.choice.model import ChoiceModel
from freewill.stats.efficient import OneStep
from freewill.stats.estimators.estimate import Start, default_tolerance, slope_at, theta_of
from freewill.stats.evidence import Evidence
from freewill.stats.information import inverse_on_simplex, pulled

if TYPE_CHECKING:
    from freewill.stats.choice.aware import ChoiceAwareEstimate

_STEPS = 100
_RAREST = 1e-9
"""Share of the people of a value who choose a mechanism, at least: nothing divides by 0."""


@dataclass(frozen=True, eq=False)
class ChoiceLaw:
    """Who chooses what, and the functions of the value by which it may be otherwise.

    `choice` is c, [value, mechanism]; `functions` are [value, function], the constant not among
    them; `contrasts` those of the mechanisms' logits, orthonormal, [mechanism, contrast]; `scale`
    is the prior standard deviation of the coefficients.
    """

    choice: FloatArray
    functions: FloatArray
    contrasts: FloatArray
    scale: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """Estimated values of the people of each group, and how they move with what is unknown.

    Where the choice is free, theta alone is unknown and every group has it. Where it depends on
    the value, by logits sum_j f_j(x) b_jm, those who choose m have

        theta_m(x) = theta(x) c_m(x) / s_m,   s_m = sum_x theta(x) c_m(x),

    and theta and b are unknown. With J_m = d theta_m / d (theta, b) but for its normalisation,
    which no law notices, and K_m the information of mechanism m at theta_m,

        I = sum_m n_m J_m' K_m J_m,    (theta, b)_1 = (theta, b)_w + C sum_m J_m' U_m,    C = I^-

    on the simplex, U_m the sum of a / p_m - 1 over the reports of group m. `theta` is theta_w of
    everybody, `thetas` are theta_m, `covariance` is C, and `jacobians` are J_m, [value, unknown];
    there are none where theta is all that is unknown, and J_m = 1.
    """

    theta: FloatArray
    thetas: tuple[FloatArray, ...]
    jacobians: tuple[FloatArray, ...]
    covariance: FloatArray
    law: ChoiceLaw | None

    @classmethod
    def free(cls, fit: OneStep) -> "Crowd":
        """Return the people of a fit, whose choice is free."""
        inside, count = fit.information.theta, len(fit.evidence.groups)
        return cls(inside, (inside,) * count, (), fit.information.covariance, None)

    @classmethod
    def of(cls, evidence: Evidence, law: ChoiceLaw | None, start: Start) -> "Crowd":
        """Return the people of evidence, at the most likely theta given the law, pulled inside.

        `start` is what that is looked for from.
        """
        if law is None:
            return cls.free(OneStep(evidence, start))
        model = ChoiceModel(evidence, default_tolerance(evidence), _STEPS)
        first = theta_of(start, evidence.alphabet)
        inside = pulled(model.solve(law.choice, first).theta, evidence.people)
        size, mean = inside.size, law.choice @ law.contrasts
        thetas, jacobians = [], []
        prior = np.full(law.functions.shape[1] * law.contrasts.shape[1], law.scale**-2)
        information = np.diag(np.concatenate([np.zeros(size), prior]))
        for group, own, contrast in zip(evidence.groups, law.choice.T, law.contrasts, strict=True):
            share = float(own @ inside)
            theta = own * inside / share
            moves = theta[:, None] * (contrast - mean)
            step = (law.functions[:, :, None] * moves[:, None, :]).reshape(size, -1)
            jacobian = np.hstack([np.diag(own / share), step])
            own_information = group.moments(theta).information()
            information += group.people * jacobian.T @ own_information @ jacobian
            thetas.append(theta)
            jacobians.append(jacobian)
        covariance, _ = inverse_on_simplex(information, inside)
        return cls(inside, tuple(thetas), tuple(jacobians), covariance, law)

    def amended(self, evidence: Evidence) -> "Crowd":
        """Return the people of evidence without departures, by the same choice law."""
        return Crowd.of(evidence, self.law, start=self.theta)

    def along(self, group: int, rows: FloatArray) -> FloatArray:
        """Return rows h J_m: how a group's functionals of theta_m move with what is unknown."""
        return np.asarray(rows @ self.jacobians[group]) if self.jacobians else rows

    def slope(self, evidence: Evidence) -> FloatArray:
        """Return sum_m J_m' U_m."""
        if self.law is None:
            return np.asarray(evidence.people * (slope_at(evidence, self.theta) - 1))
        total = np.zeros(len(self.covariance))
        for place, (group, theta) in enumerate(zip(evidence.groups, self.thetas, strict=True)):
            own = slope_at(Evidence(evidence.alphabet, (group,)), theta) - 1
            total += self.along(place, group.people * own)
        return total

    def shares(self, evidence: Evidence) -> FloatArray:
        """Return the part of the information that each group holds: trace(n_m J_m' K_m J_m C)."""
        shares = np.zeros(len(self.thetas))
        for place, (group, theta) in enumerate(zip(evidence.groups, self.thetas, strict=True)):
            information = group.moments(theta).information()
            through = self.along(place, self.along(place, information).T)
            shares[place] = group.people * float(np.sum(through * self.covariance))
        total = shares.sum()
        return shares / total if total > 0 else shares


def choice_law(aware: "ChoiceAwareEstimate", bends: bool = True) -> ChoiceLaw:
    """Return the choice law of an estimate, with all bends that its intervals allow for.

    Or with those of its own basis alone, which is what a simple law is worth beside a departure.
    """
    joint, best = aware.made_from, aware.best
    choice = np.maximum(aware.choice, _RAREST)
    choice = choice / choice.sum(axis=1, keepdims=True)
    functions, spread = (joint.basis, joint.spread) if bends else (best.functions, best.spread)
    return ChoiceLaw(choice, functions.functions, joint.model.contrasts, spread)
