"""The channel of rate-distortion theory: it tells the least about the value at a given loss."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, checked_number, distribution, frozen
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.guarantees.logarithms import literal_geo_epsilon
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.leakage import mutual_information
from freewill.domain.mechanisms.base import checked_quality_loss
from freewill.domain.mechanisms.matrix import Computed, checked_table
from freewill.domain.shokri.problem import Problem, symmetries
from freewill.errors import LawError, ParameterError, shown
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers.likelihood import Certificate, Likelihood

_LARGEST_EXPONENT = 600.0
_LEAST_SHARE = 1e-30
"""Of an output that is used: its table keeps all digits."""
_LOSS_REACHED = 1e-9
"""How close, relative, to the loss of a report that says nothing a loss may come."""


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
        weights = None if prior is None else frozen(distribution(prior, alphabet.size, "prior"))
        vars(self).update(alphabet=alphabet, prior=weights)
        if beta is None:
            beta = self._calibrated(checked_quality_loss(quality_loss))
        largest = self._largest_beta
        wanted = (
            f"a number > 0 and <= {largest:.4g}, per unit of distance (the larger, the less "
            f"private). For full privacy, send no report; for none, use Identity."
        )
        whose = f"{self.name} on {alphabet}"
        vars(self)["beta"] = checked_number(
            beta, "beta", whose, lambda beta: 0 < beta <= largest, wanted
        )
        solved = self._solved() if marginal is None else _checked_marginal(marginal, alphabet.size)
        vars(self)["marginal"] = frozen(solved)

    @cached_property
    def _prior(self) -> FloatArray:
        size = self.alphabet.size
        return np.full(size, 1 / size) if self.prior is None else self.prior

    @property
    def _largest_beta(self) -> float:
        return _LARGEST_EXPONENT / float(distances(self.alphabet).max())

    @cached_property
    def _problem(self) -> Problem:
        """The prior, the distances and the symmetries."""
        apart = distances(self.alphabet)
        images = symmetries(self.alphabet, self._prior, apart, apart)
        return Problem(self._prior, apart, apart, images, 0)

    def _solved(self) -> FloatArray:
        """Return q."""
        # What is sent a solved marginal needs none of this, nor SciPy.
        from freewill.domain.shokri.laws import output_distribution  # noqa: PLC0415

        return output_distribution(self._problem, self.beta)

    def _calibrated(self, loss: float) -> float:
        """Return the beta at which the law costs so much."""
        from freewill.domain.shokri.laws import calibrated_beta  # noqa: PLC0415

        blind = self._problem.largest_loss
        if loss >= blind * (1 - _LOSS_REACHED):
            raise ParameterError(
                f"quality_loss={loss:g} is out of reach for {self.name} on {self.alphabet}: a "
                f"report that says nothing costs {blind:.6g}, and no law needs to cost more. For "
                f"full privacy, send no report."
            )
        beta = calibrated_beta(self._problem, loss)
        if beta > self._largest_beta:
            raise ParameterError(
                f"quality_loss={loss:g} is out of reach for {self.name} on {self.alphabet}: it is "
                f"less than numbers allow. For no privacy, use Identity."
            )
        return beta

    def _law(self) -> FloatArray:
        logs = np.log(np.where(self.marginal > 0, self.marginal, 1.0))
        logs = np.where(self.marginal > 0, logs, -np.inf) - self.beta * distances(self.alphabet)
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))

    @cached_property
    def _certificate(self) -> Certificate:
        """Of q as a maximum of sum_x prior_x log Z_x; values without a prior do not count."""
        seen = self._prior > 0
        falls = np.exp(-self.beta * distances(self.alphabet)[seen])
        return Likelihood(DenseOperator(falls), self._prior[seen]).certify(self.marginal)

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
        above = mutual_information(self._prior, self.matrix)
        price = self.beta * self.quality_loss(self._prior)
        below = (-self._certificate.value - price - self.gap) / math.log(2)
        # Both are rounded.
        return min(max(below, 0.0), above), above

    def guarantee(self) -> Guarantee:
        """Return the epsilon per unit of distance that the table has, rounded up."""
        return Guarantee("geo", self._epsilon, self.alphabet.unit)

    @cached_property
    def _epsilon(self) -> float:
        return literal_geo_epsilon(self.matrix, self.alphabet)

    def __str__(self) -> str:
        return f"{self.name}({self.alphabet}, beta={self.beta:g})"


def _checked_marginal(marginal: ArrayLike, size: int) -> FloatArray:
    shares = distribution(marginal, size, "marginal")
    if np.any((shares > 0) & (shares < _LEAST_SHARE)):
        least = float(shares[shares > 0].min())
        raise LawError(
            f"marginal has a share of {least!r}: expected 0 or at least {_LEAST_SHARE:g}."
        )
    return shares
