"""The choice of a mechanism as a part of the report: one likelihood of theta and of the choice."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack

from freewill.core.types import FloatArray, refuse_beyond
from freewill.errors import EvidenceError, ParameterError, several
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.dense import DenseOperator
from freewill.numeric.operators.scaled import ScaledOperator
from freewill.numeric.solvers import passes
from freewill.numeric.solvers.likelihood import Likelihood
from freewill.numeric.solvers.parts import OperatorPart
from freewill.numeric.solvers.passes import Passes
from freewill.numeric.solvers.solution import Solution
from freewill.stats.choice.bases import Basis, contrasts
from freewill.stats.evidence import Evidence, refuse_nobody
from freewill.stats.information import pulled, refuse_unheld
from freewill.stats.maximum import dense_maximum

_MOST_BYTES = 1 << 28
"""What the k x k information of all mechanisms together may take, or a dense law."""
_DENSE = 1 << 22
"""Entries of a law up to which an array pays; what has more are bit reports, which are passed."""
_RIDGE = 1e-11
"""Of a unit diagonal: well above the rounding of the information, and below all that it tells."""


@dataclass(frozen=True, eq=False)
class Score:
    """What the reports say about the coefficients of a choice, and how surely, with theta unknown.

    `slope` is the derivative of the log-likelihood of all people by the coefficients, [function,
    contrast], the constant function first; `curvature` its information, theta projected out.
    `known` is that information if theta were known.
    """

    slope: FloatArray
    curvature: FloatArray
    known: FloatArray


class Parts(NamedTuple):
    """Derivatives and expected information of (theta, coefficients), for one person.

    Those by theta are less 1, what they are at a maximum; coefficients are in one row.
    """

    theta: FloatArray
    theta_slope: FloatArray
    slope: FloatArray
    of_theta: FloatArray
    cross: FloatArray
    known: FloatArray


class ChoiceModel:
    """Reports (m, z), whose law given the value x is c_m(x) a_m(z|x): one mechanism a choice law.

    With c_m(x) = softmax_m eta_m(x) and eta = F G C', where F has the constant and the functions
    of a basis in its columns, G the coefficients, and the columns of C are orthonormal contrasts of
    the mechanisms (what all eta_m have in common changes nothing). With g_m = sum_z w_mz a_m(z|.) /
    p_mz and p_mz = sum_x theta_x c_m(x) a_m(z|x),

        dL / d theta_x  = sum_m c_m(x) g_m(x),
        dL / d eta_m(x) = theta_x c_m(x) (g_m(x) - sum_m' c_m'(x) g_m'(x)),

    and the information is made of one k x k matrix a mechanism, Q_m = sum_z a_m a_m' / p_mz over
    all outputs: that of the mechanism alone, at the distribution of those who choose it.
    """

    def __init__(self, evidence: Evidence, tolerance: float, max_steps: int) -> None:
        refuse_nobody(evidence, "an estimate")
        _refuse_single(evidence)
        refuse_unheld(evidence, "a choice-aware estimate")
        size, count = evidence.alphabet.size, len(evidence.groups)
        refuse_beyond(
            _MOST_BYTES,
            8 * count * size * size,
            f"the information of {several(count, 'mechanism')} on {several(size, 'value')}",
            "Take a coarser alphabet, or fewer mechanisms (evidence.only).",
            ParameterError,
        )
        self.evidence = evidence
        self.people = evidence.people
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.size = size
        self.contrasts = contrasts(count)
        self.shares: FloatArray = np.array([group.people for group in evidence.groups]) / (
            evidence.people
        )
        self.weights = [np.asarray(one.counts / evidence.people) for one in evidence.groups]

    @cached_property
    def operators(self) -> list[Operator]:
        """The law of each group's reports; arrays, where these are small."""
        operators: list[Operator] = [group.operator for group in self.evidence.groups]
        if sum(one.shape[0] for one in operators) * self.size > _DENSE:
            return operators
        return [DenseOperator(one.dense(), one.log_scale) for one in operators]

    def free(self, size: int = 0) -> FloatArray:
        """Return the coefficients of a choice that is free of the value, for so many functions."""
        found = np.zeros((size + 1, self.shares.size - 1))
        found[0] = np.log(self.shares) @ self.contrasts
        return found

    def choice(self, basis: Basis, coefficients: FloatArray) -> FloatArray:
        """Return c, [value, mechanism]."""
        return softmax(self.logits(basis, coefficients))

    def logits(self, basis: Basis, coefficients: FloatArray) -> FloatArray:
        """Return eta, [value, mechanism]; its rows sum to 0."""
        return np.asarray(with_constant(basis) @ coefficients @ self.contrasts.T)

    def solve(self, choice: FloatArray, start: FloatArray) -> Solution:
        """Return the most likely theta given the choice law, certified."""
        if all(isinstance(one, DenseOperator) for one in self.operators):
            rows = [one.dense() * c for one, c in zip(self.operators, choice.T, strict=True)]
            scales = np.concatenate([one.log_scale for one in self.operators])
            law = DenseOperator(np.concatenate(rows), scales)
            likelihood = Likelihood(law, np.concatenate(self.weights))
            plane = self.evidence.alphabet.plane
            found = dense_maximum(likelihood, self.tolerance, self.max_steps, start, plane)
        else:
            parts = [
                OperatorPart(ScaledOperator(one, np.ascontiguousarray(c)), weights)
                for one, c, weights in zip(self.operators, choice.T, self.weights, strict=True)
            ]
            source = Passes.of(parts, self.size)
            found = passes.solve(source, self.tolerance, self.max_steps, start)
        return found._replace(theta=found.theta / found.theta.sum())

    def slopes(self, theta: FloatArray, choice: FloatArray) -> FloatArray:
        """Return g_m(x), [value, mechanism]."""
        found = np.empty_like(choice)
        for place, (operator, weights) in enumerate(zip(self.operators, self.weights, strict=True)):
            fitted = operator.forward(choice[:, place] * theta)
            found[:, place] = operator.adjoint(weights / fitted)
        return found

    def gradient(self, basis: Basis, theta: FloatArray, choice: FloatArray) -> FloatArray:
        """Return the derivative of the profile n max_theta L by the coefficients.

        By the envelope theorem it is the partial one at the most likely theta: the posterior
        counts of (x, m) minus those expected of them.
        """
        counts = self.people * theta[:, None] * choice * self.slopes(theta, choice)
        excess = counts - choice * counts.sum(axis=1, keepdims=True)
        return np.asarray(with_constant(basis).T @ excess @ self.contrasts)

    def place(self, theta: FloatArray, choice: FloatArray) -> "Place":
        """Return what the reports tell near a theta, which is pulled inside, and a choice law."""
        return Place(self, pulled(theta, self.people), choice)

    def score(self, basis: Basis, theta: FloatArray, choice: FloatArray) -> Score:
        """Return the efficient score of one basis."""
        return self.place(theta, choice).score(basis)


@dataclass(frozen=True, eq=False)
class Place:
    """A theta inside the simplex and a choice law, and what the reports tell there of any basis.

    Nearly all of the work is the same for every basis: the information of each mechanism, k x k,
    and a factor of that of theta. It is done once.
    """

    model: ChoiceModel
    theta: FloatArray
    choice: FloatArray

    @cached_property
    def slopes(self) -> FloatArray:
        """g_m(x), [value, mechanism]."""
        return self.model.slopes(self.theta, self.choice)

    @cached_property
    def matrices(self) -> list[FloatArray]:
        """Q_m = sum_z a_m a_m' / p_mz of each mechanism, k x k."""
        found = []
        for group, own in zip(self.model.evidence.groups, self.choice.T, strict=True):
            share = float(own @ self.theta)
            matrix = group.mechanism.moments(own * self.theta / share).information()
            matrix += 1
            matrix /= share
            found.append(matrix)
        return found

    @cached_property
    def of_theta(self) -> FloatArray:
        """The information of theta, the choice law being known."""
        found = np.zeros((self.theta.size, self.theta.size))
        for own, matrix in zip(self.choice.T, self.matrices, strict=True):
            found += own[:, None] * matrix * own
        return found

    @cached_property
    def _inverse(self) -> "Inverse":
        return Inverse.of(self.of_theta)

    def parts(self, basis: Basis) -> Parts:
        """Return the derivatives and the information: O(mechanisms k^2 coefficients)."""
        model, choice = self.model, self.choice
        functions = with_constant(basis)
        size = functions.shape[1] * (choice.shape[1] - 1)
        mean = choice @ model.contrasts
        slope, known = np.zeros(size), np.zeros((size, size))
        cross = np.zeros((self.theta.size, size))
        for place, (own, matrix) in enumerate(zip(choice.T, self.matrices, strict=True)):
            moves = (self.theta * own)[:, None] * (model.contrasts[place] - mean)
            step = (functions[:, :, None] * moves[:, None, :]).reshape(self.theta.size, -1)
            moved = matrix @ step
            slope += step.T @ self.slopes[:, place]
            cross += own[:, None] * moved
            known += step.T @ moved
        return Parts(
            theta=self.theta,
            theta_slope=np.einsum("xm,xm->x", choice, self.slopes) - 1,
            slope=slope,
            of_theta=self.of_theta,
            cross=cross,
            known=known,
        )

    def score(self, basis: Basis) -> Score:
        """Return the efficient score.

        With U and I the derivatives and the expected information of (theta, coefficients),

            slope = n (U_b - I_bt I_tt^-1 U_t),   curvature = n (I_bb - I_bt I_tt^-1 I_tb).

        Reports are linear in theta. So, whatever the theta at which it is taken, the slope has mean
        0 at the true choice law: that the most likely theta is biased where many values are rare,
        it does not notice.
        """
        parts, people = self.parts(basis), self.model.people
        through = self._inverse.times(np.column_stack([parts.cross, parts.theta_slope]))
        slope = parts.slope - parts.cross.T @ through[:, -1]
        curvature = parts.known - parts.cross.T @ through[:, :-1]
        return Score(
            people * slope.reshape(basis.size + 1, -1),
            people * (curvature + curvature.T) / 2,
            people * parts.known,
        )


def beside_constants(curvature: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the information and slope of all coefficients but the constants', these projected."""
    count = slope.shape[1]
    fixed, cross, rest = (
        curvature[:count, :count],
        curvature[:count, count:],
        curvature[count:, count:],
    )
    ridge = 1e-12 * max(float(np.trace(fixed)), 1e-300) * np.eye(count)
    solved = np.linalg.solve(fixed + ridge, np.column_stack([cross, slope[0]]))
    information = rest - cross.T @ solved[:, :-1]
    return (information + information.T) / 2, slope[1:].ravel() - cross.T @ solved[:, -1]


def with_constant(basis: Basis) -> FloatArray:
    """Return the constant function and those of a basis."""
    return np.column_stack([np.ones(len(basis.functions)), basis.functions])


def projected(basis: Basis, logits: FloatArray) -> FloatArray:
    """Return the coefficients, the constant's first, that come nearest to logits of contrasts."""
    found = np.linalg.lstsq(with_constant(basis), logits, rcond=None)[0]
    return np.asarray(found, dtype=np.float64)


def softmax(logits: FloatArray) -> FloatArray:
    """Return the probabilities of each row's logits.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class Inverse(NamedTuple):
    """The inverse of a matrix that is positive definite but for some rounding, as its factor.

    The matrix is scaled to a unit diagonal, for values that nobody has count as much as common
    ones, and gets a ridge there: along directions that are lost, nothing but rounding is projected
    out.
    """

    scale: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> "Inverse":
        """Factor it."""
        held = np.diag(matrix)
        scale = 1 / np.sqrt(np.where(held > 0, held, 1.0))
        scaled = np.array(matrix * scale * scale[:, None], order="F")
        scaled[np.diag_indices(len(scaled))] += _RIDGE
        return cls(scale, cholesky(scaled, lower=True, overwrite_a=True))

    def times(self, right: FloatArray) -> FloatArray:
        """Return matrix^-1 right."""
        found = cho_solve((self.factor, True), self.scale[:, None] * right, overwrite_b=True)
        return np.asarray(self.scale[:, None] * found)

    def matrix(self) -> FloatArray:
        """Return the inverse itself."""
        lower, _ = lapack.dpotri(self.factor, lower=1)
        whole = np.tril(lower) + np.tril(lower, -1).T
        whole *= self.scale
        whole *= self.scale[:, None]
        return np.asarray(whole)


def _refuse_single(evidence: Evidence) -> None:
    if len(evidence.groups) == 1:
        raise EvidenceError(
            f"all {several(evidence.people, 'person')} chose {evidence.mechanisms[0]}: with one "
            f"mechanism there is no choice that could depend on the value. Take fw.gibu."
        )
