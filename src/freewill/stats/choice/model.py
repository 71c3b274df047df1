"""The choice of a mechanism as a part of the report: one likelihood of theta and of the choice."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, helmert
from scipy.special import softmax

from freewill.core.types import FloatArray, refuse_beyond
from freewill.errors import EvidenceError, ParameterError, several
from freewill.numeric.operators.base import DenseOperator, Map, Operator
from freewill.numeric.solvers import passes
from freewill.numeric.solvers.columns import dense_maximum
from freewill.numeric.solvers.likelihood import Likelihood, ScaledLikelihood, Solution
from freewill.numeric.solvers.passes import Passes
from freewill.stats.choice.bases import Basis
from freewill.stats.evidence import Evidence, refuse_nobody, refuse_unheld
from freewill.stats.information import pulled

_MOST_BYTES = 1 << 28
"""What the k x k information of all mechanisms together may take, or a dense law."""
_DENSE = 1 << 22
"""Entries of a law up to which an array pays; what has more are bit reports, which are passed."""
_RIDGE = 1e-11
"""Of a unit diagonal: well above the rounding of the information, and below all that it tells."""


class ChoiceLaw(NamedTuple):
    """Who chooses what, and the functions of the value by which it may be otherwise.

    `choice` is c, [value, mechanism]; `functions` are [value, function], the constant not among
    them; `scale` is the prior standard deviation of the coefficients.
    """

    choice: FloatArray
    functions: FloatArray
    scale: float


class Score(NamedTuple):
    """What the reports say about the coefficients of a choice, and how surely, with theta unknown.

    `slope` is the derivative of the log-likelihood of all people by the coefficients, [function,
    contrast], the constant function first; `curvature` its information, theta projected out.
    `theta_known` is that information if theta were known.
    """

    slope: FloatArray
    curvature: FloatArray
    theta_known: FloatArray


class Parts(NamedTuple):
    """Derivatives and expected information of (theta, coefficients), for one person.

    Those by theta are less 1, what they are at a maximum; coefficients are in one row. The
    information has three blocks: that of theta is of the place, `cross` and `own` of the basis.
    """

    theta_slope: FloatArray
    slope: FloatArray
    cross: FloatArray
    own: FloatArray


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
        size, count = evidence.alphabet.size, len(evidence.groups)
        if count == 1:
            raise EvidenceError(
                f"all {several(evidence.people, 'person')} chose {evidence.mechanisms[0]}: with "
                f"one mechanism there is no choice that could depend on the value. Take fw.gibu."
            )
        refuse_unheld(evidence, "a choice-aware estimate")
        refuse_beyond(
            _MOST_BYTES,
            8 * count * size * size,
            f"the information of {several(count, 'mechanism')} on {several(size, 'value')}",
            "Take a coarser alphabet, or fewer mechanisms (evidence.only).",
            ParameterError,
        )
        self.evidence, self.people, self.size = evidence, evidence.people, size
        self.tolerance, self.max_steps = tolerance, max_steps
        self.contrasts: FloatArray = helmert(count).T
        self.weights = [group.counts / evidence.people for group in evidence.groups]
        people = np.array([group.people for group in evidence.groups])
        self.shares: FloatArray = people / evidence.people

    @cached_property
    def operators(self) -> list[Operator]:
        """The law of each group's reports; arrays, where these are small."""
        operators: list[Operator] = [group.operator for group in self.evidence.groups]
        if sum(operator.shape[0] for operator in operators) * self.size > _DENSE:
            return operators
        return [DenseOperator(operator.dense(), operator.log_scale) for operator in operators]

    def free(self, size: int = 0) -> FloatArray:
        """Return the coefficients of a choice that is free of the value, for so many functions."""
        coefficients = np.zeros((size + 1, self.shares.size - 1))
        coefficients[0] = np.log(self.shares) @ self.contrasts
        return coefficients

    def choice(self, basis: Basis, coefficients: FloatArray) -> FloatArray:
        """Return c, [value, mechanism]."""
        return np.asarray(softmax(self.logits(basis, coefficients), axis=1))

    def logits(self, basis: Basis, coefficients: FloatArray) -> FloatArray:
        """Return eta, [value, mechanism]; its rows sum to 0."""
        return np.asarray(basis.with_constant @ coefficients @ self.contrasts.T)

    def solve(self, choice: FloatArray, start: FloatArray) -> Solution:
        """Return the most likely theta given the choice law, certified."""
        pairs = list(zip(self.operators, choice.T, strict=True))
        if all(isinstance(operator, DenseOperator) for operator in self.operators):
            rows = np.concatenate([operator.dense() * chosen for operator, chosen in pairs])
            scales = np.concatenate([operator.log_scale for operator in self.operators])
            likelihood = Likelihood(DenseOperator(rows, scales), np.concatenate(self.weights))
            plane = self.evidence.alphabet.plane
            solution = dense_maximum(likelihood, self.tolerance, self.max_steps, start, plane)
        else:
            factors = map(np.ascontiguousarray, choice.T)
            parts = list(map(ScaledLikelihood, self.operators, self.weights, factors))
            source = Passes.of(parts, self.size, sum(law.shape[0] for law in self.operators))
            solution = passes.solve(source, self.tolerance, self.max_steps, start)
        return solution._replace(theta=solution.theta / solution.theta.sum())

    def slopes(self, theta: FloatArray, choice: FloatArray) -> FloatArray:
        """Return g_m(x), [value, mechanism]."""
        columns = [
            operator.adjoint(weights / operator.forward(chosen * theta))
            for operator, weights, chosen in zip(
                self.operators, self.weights, choice.T, strict=True
            )
        ]
        return np.stack(columns, axis=1)

    def gradient(self, basis: Basis, theta: FloatArray, choice: FloatArray) -> FloatArray:
        """Return the derivative of the profile n max_theta L by the coefficients.

        By the envelope theorem it is the partial one at the most likely theta: the posterior
        counts of (x, m) minus those expected of them.
        """
        counts = self.people * theta[:, None] * choice * self.slopes(theta, choice)
        excess = counts - choice * counts.sum(axis=1, keepdims=True)
        return np.asarray(basis.with_constant.T @ excess @ self.contrasts)

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
        matrices = []
        for group, own in zip(self.model.evidence.groups, self.choice.T, strict=True):
            share = float(own @ self.theta)
            matrix = group.moments(own * self.theta / share).information()
            matrices.append((matrix + 1) / share)
        return matrices

    @cached_property
    def information(self) -> FloatArray:
        """The information of theta, the choice law being known."""
        total = np.zeros((self.theta.size, self.theta.size))
        for own, matrix in zip(self.choice.T, self.matrices, strict=True):
            total += own[:, None] * matrix * own
        return total

    @cached_property
    def _inverse(self) -> Map:
        return inverse_of(self.information)

    def parts(self, basis: Basis) -> Parts:
        """Return the derivatives and the information: O(mechanisms k^2 + k coefficients^2).

        The logit eta_a moves p_mz by sum_x f(x) theta_x c_m(x) (1[m = a] - c_a(x)) a_m(z|x). With
        G = diag(theta) F, V_a = diag(c_a) G, R_a = diag(c_a) Q_a V_a and I the information of
        theta, the blocks of the logits are

            cross_a = R_a - I V_a,    own_ab = 1[a = b] G'R_a - R_a'V_b - V_a'cross_b,

        and those of the coefficients these by the contrasts.
        """
        choice, contrasts = self.choice, self.model.contrasts
        weighted = self.theta[:, None] * basis.with_constant
        moves = choice.T[:, :, None] * weighted
        moved = np.stack([matrix @ move for matrix, move in zip(self.matrices, moves, strict=True)])
        # In this order: value, function, mechanism.
        moves, moved = (np.moveaxis(each, 0, 2) for each in (moves, choice.T[:, :, None] * moved))
        size, functions, count = moves.shape
        flat, image = moves.reshape(size, -1), moved.reshape(size, -1)
        cross = image - self.information @ flat
        own = -(image.T @ flat + flat.T @ cross).reshape(functions, count, functions, count)
        each = np.arange(count)
        own[:, each, :, each] += np.einsum("xf,xga->afg", weighted, moved)
        own = contrasts.T @ own.transpose(0, 2, 1, 3) @ contrasts
        excess = choice * (self.slopes - self.theta_slope[:, None] - 1)
        return Parts(
            self.theta_slope,
            (weighted.T @ excess @ contrasts).ravel(),
            (cross.reshape(size, functions, count) @ contrasts).reshape(size, -1),
            own.transpose(0, 2, 1, 3).reshape(functions * (count - 1), -1),
        )

    @cached_property
    def theta_slope(self) -> FloatArray:
        """The derivative by theta, less 1."""
        return np.asarray(np.einsum("xm,xm->x", self.choice, self.slopes) - 1)

    def score(self, basis: Basis) -> Score:
        """Return the efficient score.

        With U and I the derivatives and the expected information of (theta, coefficients),

            slope = n (U_b - I_bt I_tt^-1 U_t),   curvature = n (I_bb - I_bt I_tt^-1 I_tb).

        Reports are linear in theta. So, whatever the theta at which it is taken, the slope has mean
        0 at the true choice law: that the most likely theta is biased where many values are rare,
        it does not notice.
        """
        parts, people = self.parts(basis), self.model.people
        through = self._inverse(np.column_stack([parts.cross, parts.theta_slope]))
        slope = parts.slope - parts.cross.T @ through[:, -1]
        curvature = parts.own - parts.cross.T @ through[:, :-1]
        return Score(
            people * slope.reshape(basis.size + 1, -1),
            people * (curvature + curvature.T) / 2,
            people * parts.own,
        )


def inverse_of(matrix: FloatArray) -> Map:
    """Return what multiplies by the inverse of a matrix, positive definite but for some rounding.

    The matrix is scaled to a unit diagonal, for values that nobody has count as much as common
    ones, and gets a ridge there: along directions that are lost, nothing but rounding is projected
    out.
    """
    diagonal = np.diag(matrix)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))[:, None]
    scaled = np.array(matrix * scale.T * scale, order="F")
    scaled[np.diag_indices(len(scaled))] += _RIDGE
    factor = cholesky(scaled, lower=True, overwrite_a=True)
    return lambda right: np.asarray(scale * cho_solve((factor, True), scale * right))
