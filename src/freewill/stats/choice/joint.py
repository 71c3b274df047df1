"""How sure theta and the choice law are, both unknown: the efficient estimate of the two."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, log_expit, logsumexp, ndtri, softmax

from freewill.core.types import FloatArray
from freewill.stats.choice.bases import Basis
from freewill.stats.choice.model import ChoiceModel, inverse_of
from freewill.stats.functionals import checked_level
from freewill.stats.intervals import normal_draws


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

    def _log_odds(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Return log(c / (1 - c)) of one mechanism, and its derivatives by the coefficients.

        It is eta_m - log(sum of e^eta over the others), however near c is to 0 or 1.
        """
        logits, contrasts = self.model.logits(self.basis, self.coefficients), self.model.contrasts
        others = np.delete(logits, place, axis=1)
        moves = contrasts[place] - softmax(others, axis=1) @ np.delete(contrasts, place, axis=0)
        rows = self.basis.with_constant[:, :, None] * moves[:, None, :]
        odds = logits[:, place] - logsumexp(others, axis=1)
        return odds, rows.reshape(self.model.size, -1)

    @cached_property
    def _odds(self) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """log(c / (1 - c)) of each mechanism, its derivatives by the coefficients, its errors."""
        matrix, every = self.choice_covariance, []
        for place in range(len(self.model.contrasts)):
            odds, rows = self._log_odds(place)
            errors = np.sqrt(np.maximum(np.einsum("xi,ij,xj->x", rows, matrix, rows), 0))
            every.append((odds, rows, errors))
        return every

    @property
    def choice_covariance(self) -> FloatArray:
        """C / n of the coefficients alone."""
        return self.covariance[self.model.size :, self.model.size :]

    def choice_intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends for c, [value, mechanism] each.

        By the delta method for log(c / (1 - c)), so that all are probabilities.
        """
        critical = float(ndtri((1 + checked_level(level)) / 2))
        low = [expit(odds - critical * errors) for odds, _, errors in self._odds]
        high = [expit(odds + critical * errors) for odds, _, errors in self._odds]
        return np.stack(low, axis=1), np.stack(high, axis=1)

    def choice_band(self, level: float) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return log c of each mechanism between ends that hold for all of them and all values.

        As the intervals, with the quantile of the largest of all errors in draws of coefficients.
        """
        draws, furthest = normal_draws(self.choice_covariance), np.zeros(1)
        for _, rows, errors in self._odds:
            off = np.abs(draws @ rows.T) / np.maximum(errors, np.finfo(float).tiny)
            furthest = np.maximum(furthest, off.max(axis=1))
        reach = float(np.quantile(furthest, checked_level(level)))
        return [
            (log_expit(odds - reach * errors), log_expit(odds), log_expit(odds + reach * errors))
            for odds, _, errors in self._odds
        ]
