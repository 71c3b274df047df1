"""How sure theta and the choice law are, both unknown: the efficient estimate of the two."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logsumexp, ndtri, softmax

from freewill.core.types import FloatArray
from freewill.stats.choice.bases import Basis
from freewill.stats.choice.model import ChoiceModel, inverse_of
from freewill.stats.functionals import checked_level


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The efficient estimate of (theta, coefficients) near a fit, left negative where it is.

    With I the expected information at theta pulled inside and at the coefficients b, to which a
    prior adds 1 / n spread^2, and U the derivatives there,

        C = I^-1 - (theta, 0)(theta, 0)',   (theta_1, b_1) = (theta, b) + C U,

    C / n being the covariance on the simplex. What moves theta and the choice law against each
    other without a trace makes both uncertain. It is made when somebody asks how sure theta and the
    choice law are: O((k + coefficients)^3).
    """

    model: ChoiceModel
    basis: Basis
    near_theta: FloatArray
    near_coefficients: FloatArray
    spread: float

    @cached_property
    def _efficient(self) -> tuple[FloatArray, FloatArray]:
        """(theta_1, b_1) in one row, and C / n."""
        model, near = self.model, self.near_coefficients
        with np.errstate(all="ignore"):
            place = model.place(self.near_theta, model.choice(self.basis, near))
            theta, parts = place.theta, place.parts(self.basis)
            prior = np.zeros_like(near)
            prior[1:] = self.spread**-2 / model.people
            own = parts.own + np.diag(prior.ravel())
            information = np.block([[place.information, parts.cross], [parts.cross.T, own]])
            covariance = inverse_of(information)(np.eye(len(information)))
            covariance[: theta.size, : theta.size] -= np.outer(theta, theta)
            slope = np.append(parts.theta_slope, parts.slope - (prior * near).ravel())
            moved = np.append(theta, near) + covariance @ slope
        return moved, covariance / model.people

    @property
    def theta(self) -> FloatArray:
        """theta_1."""
        return self._efficient[0][: self.model.size]

    @property
    def coefficients(self) -> FloatArray:
        """b_1, [function, contrast], the constant function first."""
        return self._efficient[0][self.model.size :].reshape(self.near_coefficients.shape)

    @property
    def covariance(self) -> FloatArray:
        """C / n of both."""
        return self._efficient[1]

    def choice_intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends for c, [value, mechanism] each.

        By the delta method for log(c / (1 - c)), so that all are probabilities.
        """
        critical = float(ndtri((1 + checked_level(level)) / 2))
        functions, size = self.basis.with_constant, self.model.size
        logits, contrasts = self.model.logits(self.basis, self.coefficients), self.model.contrasts
        matrix = self.covariance[size:, size:]
        odds, errors = np.empty_like(logits), np.empty_like(logits)
        for place, contrast in enumerate(contrasts):
            # log(c_m / (1 - c_m)) = eta_m - log(sum of e^eta over the others), however near c is
            # to 0 or 1.
            others = np.delete(logits, place, axis=1)
            odds[:, place] = logits[:, place] - logsumexp(others, axis=1)
            moves = contrast - softmax(others, axis=1) @ np.delete(contrasts, place, axis=0)
            rows = (functions[:, :, None] * moves[:, None, :]).reshape(size, -1)
            errors[:, place] = np.sqrt(np.maximum(np.einsum("xi,ij,xj->x", rows, matrix, rows), 0))
        reach = critical * errors
        return expit(odds - reach), expit(odds + reach)
