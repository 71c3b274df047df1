"""Intervals for theta and for the choice law together: each as unsure as the other makes it."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray
from freewill.stats.bands import band
from freewill.stats.choice.bases import Basis
from freewill.stats.choice.model import ChoiceModel, Inverse, softmax, with_constant
from freewill.stats.functionals import Weights, checked_level
from freewill.stats.information import Information, information_at
from freewill.stats.intervals import Intervals, answered, intervals_about
from freewill.stats.one_step import Estimated


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The efficient estimate of (theta, coefficients), left negative where it is, with its errors.

    With I the expected information at theta pulled inside and at the coefficients b, to which a
    prior adds 1 / n spread^2, and U the derivatives there,

        C = I^-1 - (theta, 0)(theta, 0)',   (theta_1, b_1) = (theta, b) + C U,

    C / n being the covariance on the simplex. What moves theta and the choice law against each
    other without a trace makes both uncertain.
    """

    basis: Basis
    contrasts: FloatArray = field(repr=False)
    theta: FloatArray = field(repr=False)
    coefficients: FloatArray = field(repr=False)
    covariance: FloatArray = field(repr=False)
    information: Information = field(repr=False)

    def intervals(self, of: Any = "shares", level: float = 0.95, joint: bool = False) -> Intervals:
        """Return intervals for functionals of theta, as `fw.intervals` takes them."""
        alphabet, size = self.information.alphabet, self.information.theta.size

        def answer(weights: Weights, level: float) -> Intervals:
            rows = weights.rows
            influences = rows @ self.covariance[:size, :size]
            matrix = influences @ rows.T
            variances, flat = np.maximum(np.diag(matrix), 0), np.zeros(len(rows))
            known = variances > 0
            critical = float(ndtri((1 + level) / 2)) if joint else None
            if joint and known.any():
                critical = band(matrix[np.ix_(known, known)], flat[known], level)
            # By who tells, as if the choice were free: what it adds is no matter of single people.
            shape = self.information.shape(rows, influences)._replace(skewness=flat)
            # The covariance is of all people already.
            found = Estimated(rows, influences, rows @ self.theta, variances, shape, 1)
            return intervals_about(self.information, weights, found, level, critical)

        return answered(of, alphabet, level, joint, answer)

    def choice(self, level: float = 0.95) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return point, low and high of c, [value, mechanism] each.

        By the delta method for log(c / (1 - c)), so that all are probabilities.
        """
        critical = float(ndtri((1 + checked_level(level)) / 2))
        functions, size = with_constant(self.basis), self.information.theta.size
        choice = softmax(functions @ self.coefficients @ self.contrasts.T)
        matrix = self.covariance[size:, size:]
        errors = np.empty_like(choice)
        mean = choice @ self.contrasts
        for place, contrast in enumerate(self.contrasts):
            # d log(c_m / (1 - c_m)) = (contrast_m - mean) / (1 - c_m)
            moves = (contrast - mean) / np.maximum(1 - choice[:, place], 1e-300)[:, None]
            rows = (functions[:, :, None] * moves[:, None, :]).reshape(size, -1)
            errors[:, place] = np.sqrt(np.maximum(np.einsum("xi,ij,xj->x", rows, matrix, rows), 0))
        with np.errstate(divide="ignore", over="ignore"):
            odds = np.log(choice) - np.log1p(-choice)
            low, high = (1 / (1 + np.exp(-odds - side * errors)) for side in (-critical, critical))
        return choice, low, high


def joint_estimate(
    model: ChoiceModel, basis: Basis, theta: FloatArray, coefficients: FloatArray, spread: float
) -> JointEstimate:
    """Return the efficient estimate near a fit."""
    size, count = model.size, coefficients.size
    parts = model.place(theta, model.choice(basis, coefficients)).parts(basis)
    prior = np.zeros_like(coefficients)
    prior[1:] = spread**-2 / model.people
    information = np.zeros((size + count,) * 2)
    information[:size, :size] = parts.of_theta
    information[:size, size:] = parts.cross
    information[size:, :size] = parts.cross.T
    information[size:, size:] = parts.known + np.diag(prior.ravel())
    covariance = Inverse.of(information).matrix()
    covariance[:size, :size] -= np.outer(parts.theta, parts.theta)
    at = np.concatenate([parts.theta, np.zeros(count)])
    slope = np.concatenate([parts.theta_slope, parts.slope - (prior * coefficients).ravel()])
    moved = at + covariance @ slope
    covariance /= model.people
    return JointEstimate(
        basis=basis,
        contrasts=model.contrasts,
        theta=moved[:size],
        coefficients=coefficients + moved[size:].reshape(coefficients.shape),
        covariance=covariance,
        information=information_at(model.evidence, parts.theta),
    )


@dataclass(frozen=True, eq=False)
class Together:
    """What the joint estimate is made from, once somebody asks how sure all that is."""

    model: ChoiceModel
    basis: Basis
    theta: FloatArray
    coefficients: FloatArray
    spread: float

    @cached_property
    def estimate(self) -> JointEstimate:
        """The efficient estimate near the fit: O((k + coefficients)^3), and made once."""
        with np.errstate(all="ignore"):
            return joint_estimate(
                self.model, self.basis, self.theta, self.coefficients, self.spread
            )
