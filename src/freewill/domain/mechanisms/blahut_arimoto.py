"""The channel of rate-distortion theory: it tells the least about the value at a given loss."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, Spec, distribution, is_number
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.guarantees.logarithms import literal_geo_epsilon
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.computed import Computed, checked_table
from freewill.domain.mechanisms.parameters import checked_quality_loss
from freewill.errors import LawError, ParameterError, shown
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers.likelihood import Certificate, Likelihood

_TOLERANCE = 1e-10
"""Nats per person by which the rate may be above the least."""
_MAX_STEPS = 200
_LARGEST_EXPONENT = 600.0
_UNUSED = 1e-10
"""Share of an output below which the optimum does not use it, but for the solver's tolerance."""
_LOSS_REACHED = 1e-9
"""How close, relative, a loss that is calibrated to is met."""


@dataclass(frozen=True, eq=False, init=False)
class BlahutArimoto(Computed):
    """Tell the collector as little as possible, in bits, at a given expected loss.

    P(y | x) = q_y e^(-beta d(x, y)) / Z_x, where q is the distribution of the outputs that this law
    itself gives under the prior (uniform unless given). It minimises the mutual information I(x; y)
    plus beta E d(x, y): the optimum of rate-distortion theory (Blahut, IEEE Transactions on
    Information Theory 18, 1972). Either `beta` > 0 is given or the `quality_loss`
    E d(x, y) that it is to cost, from which beta is found.

    q maximises sum_x prior_x log Z_x, which is a likelihood, so that the library's solver finds it
    in a dozen steps where the iteration of Blahut and Arimoto needs thousands; `gap` proves how
    near it is, and `rate_bounds` what that says of the rate. Outputs that the optimum does not use
    have q = 0 and are never sent; some distributions then look alike to the collector (estimates
    say so), which is what telling the least means.

    Promises the epsilon-geo-indistinguishability that its table has, at most 2 beta: exponents and
    log Z_x differ by at most beta d(x, x') each (Oya, Troncoso and Perez-Gonzalez, CCS 2017; Biswas
    and Palamidessi, PETS 2024). `marginal` is q, where it was solved for before: it is
    part of the description, so that collector and devices have one law. O(k^3) to solve; 2,048
    values at most.

    >>> import freewill as fw
    >>> channel = fw.BlahutArimoto(fw.Linear(0, 9), quality_loss=1.5)
    >>> round(channel.quality_loss(), 6), round(channel.beta, 4), channel.gap < 1e-9
    (1.5, 0.5009, True)
    >>> low, high = channel.rate_bounds
    >>> round(low, 4), round(high, 4), str(channel.guarantee())
    (0.4928, 0.4928, '0.7391-geo-indistinguishability per unit')
    """

    alphabet: Alphabet
    beta: float
    prior: FloatArray | None
    marginal: FloatArray
    name: ClassVar[str] = "blahut-arimoto"

    def __init__(
        self,
        alphabet: Alphabet,
        beta: float | None = None,
        quality_loss: float | None = None,
        prior: ArrayLike | None = None,
        marginal: ArrayLike | None = None,
    ) -> None:
        checked_table(alphabet, Alphabet, self.name)
        if (beta is None) == (quality_loss is None):
            raise ParameterError(
                f"beta={shown(beta)} and quality_loss={shown(quality_loss)} for {self.name}: "
                f"expected one of them, the price of a unit of distance or the expected distance."
            )
        weights = None if prior is None else _frozen(distribution(prior, alphabet.size, "prior"))
        vars(self).update(alphabet=alphabet, prior=weights)
        if beta is None:
            beta, solved = self._calibrated(checked_quality_loss(quality_loss))
        else:
            beta, solved = self._checked_beta(beta), None
        if marginal is not None:
            solved = _checked_marginal(marginal, alphabet.size)
        vars(self)["beta"] = beta
        vars(self)["marginal"] = _frozen(self._solved(beta) if solved is None else solved)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlahutArimoto) and self.spec() == other.spec()

    def __hash__(self) -> int:
        return hash(self.id)

    @cached_property
    def _prior(self) -> FloatArray:
        size = self.alphabet.size
        return np.full(size, 1 / size) if self.prior is None else self.prior

    def _checked_beta(self, beta: Any) -> float:
        largest = _LARGEST_EXPONENT / float(distances(self.alphabet).max())
        if not (is_number(beta) and 0 < beta <= largest):
            raise ParameterError(
                f"beta={shown(beta)} for {self.name} on {self.alphabet}: must be a number > 0 and "
                f"<= {largest:.4g}, per unit of distance (the larger, the less private). For full "
                f"privacy, send no report; for none, use Identity."
            )
        return float(beta)

    def _likelihood(self, beta: float) -> Likelihood:
        """Return sum_x prior_x log Z_x as a function of q; values without a prior do not count."""
        seen = self._prior > 0
        falls = np.exp(-beta * distances(self.alphabet)[seen])
        return Likelihood(DenseOperator(falls), self._prior[seen])

    def _solved(self, beta: float, start: FloatArray | None = None) -> FloatArray:
        """Return q at a beta."""
        # What is sent a solved marginal needs none of this, nor SciPy.
        from freewill.numeric.solvers import interior  # noqa: PLC0415
        from freewill.numeric.solvers.systems import DenseSystem  # noqa: PLC0415

        likelihood = self._likelihood(beta)
        system = DenseSystem(likelihood.operator.dense())
        solution = interior.solve(likelihood, system, _TOLERANCE, _MAX_STEPS, start)
        used = np.where(solution.theta < _UNUSED, 0.0, solution.theta)
        return np.asarray(used / used.sum())

    def _calibrated(self, loss: float) -> tuple[float, FloatArray]:
        """Return the beta at which the law costs so much, and its q.

        The loss falls as beta grows, from what the best constant report costs.
        """
        from scipy.optimize import brentq  # noqa: PLC0415

        apart, prior = distances(self.alphabet), self._prior
        blind = float((prior @ apart).min())
        if loss >= blind * (1 - _LOSS_REACHED):
            raise ParameterError(
                f"quality_loss={loss:g} is out of reach for {self.name} on {self.alphabet}: a "
                f"report that says nothing costs {blind:.6g}, and no law needs to cost more. For "
                f"full privacy, send no report."
            )
        tried: dict[float, FloatArray] = {}

        def excess(log_beta: float) -> float:
            beta = math.exp(log_beta)
            tried[log_beta] = self._solved(beta)
            law = _law(beta, tried[log_beta], apart)
            law /= law.sum(axis=1, keepdims=True)
            return math.log(max(float(prior @ (law * apart).sum(axis=1)), 5e-324) / loss)

        low = high = math.log(1 / blind)
        largest = math.log(_LARGEST_EXPONENT / float(apart.max()))
        while excess(low) < 0:
            low -= 1.0
        while excess(high) > 0:
            if high >= largest:
                raise ParameterError(
                    f"quality_loss={loss:g} is out of reach for {self.name} on {self.alphabet}: "
                    f"it is less than numbers allow. For no privacy, use Identity."
                )
            high = min(high + 1.0, largest)
        root = low if low == high else brentq(excess, low, high, xtol=1e-12, rtol=1e-12)
        return math.exp(root), tried[root] if root in tried else self._solved(math.exp(root))

    def _law(self) -> FloatArray:
        return _law(self.beta, self.marginal, distances(self.alphabet))

    @cached_property
    def _certificate(self) -> Certificate:
        return self._likelihood(self.beta).certify(self.marginal)

    @property
    def gap(self) -> float:
        """How much smaller, in nats, I(x; y) + beta E d(x, y) could be at most.

        log max_y of what an output gains by a larger share, sum_x prior_x e^(-beta d(x, y)) / Z_x.
        """
        return self._certificate.gap

    @property
    def rate_bounds(self) -> tuple[float, float]:
        """The least and the most that I(x; y) may be, in bits, of a law that costs no more.

        The upper bound is what this law tells; the lower one is Blahut's, from `gap`.
        """
        loss = self.quality_loss(self._prior)
        below = -self._certificate.value - self.beta * loss - self.gap
        joint = self._prior[:, None] * self.matrix
        ratio = np.divide(self.matrix, joint.sum(axis=0), out=np.ones_like(joint), where=joint > 0)
        above = float((joint * np.log(ratio)).sum())
        return max(below, 0.0) / math.log(2), max(above, 0.0) / math.log(2)

    def guarantee(self) -> Guarantee:
        """Return the epsilon per unit of distance that the table has, rounded up."""
        return Guarantee("geo", self._epsilon, self.alphabet.unit)

    @cached_property
    def _epsilon(self) -> float:
        return literal_geo_epsilon(self.matrix, self.alphabet)

    def parameters(self) -> Spec:
        """Return beta, the outputs' shares and, where it is not uniform, the prior."""
        given = {} if self.prior is None else {"prior": self.prior.tolist()}
        return {"beta": self.beta, **given, "marginal": self.marginal.tolist()}

    def __str__(self) -> str:
        return f"{self.name}({self.alphabet}, beta={self.beta:g})"


def _law(beta: float, marginal: FloatArray, apart: FloatArray) -> FloatArray:
    """Return q_y e^(-beta d(x, y)), each row divided by a factor that keeps it from underflow."""
    used = marginal > 0
    logs = np.where(used, np.log(np.where(used, marginal, 1.0)), -np.inf) - beta * apart
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _checked_marginal(marginal: ArrayLike, size: int) -> FloatArray:
    shares = distribution(marginal, size, "marginal")
    if np.any((shares > 0) & (shares < _UNUSED / 2)):
        least = float(shares[shares > 0].min())
        raise LawError(f"marginal has a share of {least!r}: expected 0 or at least {_UNUSED:g}.")
    return shares


def _frozen(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
