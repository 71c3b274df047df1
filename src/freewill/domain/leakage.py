"""What a report gives away, as quantitative information flow measures it.

An adversary knows the prior and the law, sees one report, and guesses. A *vulnerability* is what
the best guess is worth on average: before the report max_w sum_x prior_x g(w, x), after it

    sum_y max_w sum_x prior_x P(y | x) g(w, x).

With a gain of 1 for the value itself, and 0 else, it is the chance to guess right (Bayes
vulnerability). Leakage is how much larger it is after than before. Information is in bits.
Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi and Smith, The Science of Quantitative
Information Flow, 2020, chapters 3 to 7.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.presented import Presented
from freewill.core.texts import behind
from freewill.core.types import FloatArray, distribution, numbers
from freewill.domain.alphabets.base import distances, has_distance, has_raster
from freewill.domain.mechanisms.base import Mechanism, brief, is_mechanism
from freewill.errors import LawError, ParameterError, several, shown
from freewill.numeric.operators.moments import BitMoments, SetMoments

_ENTRIES = 1 << 24
"""Of a law that is listed: 128 MiB."""
_DISTANCES = 1 << 33
"""Products that the best guesses under a distance may take: some seconds."""
_STEP = 0.25
"""Of the integral for sets, in log t: its error, e^(-pi^2 / step), is below rounding."""
_SMALL = 1e-8
"""Exponents t r up to which 1 - e^(-t r T) is t r T, and would be lost in rounding."""


@dataclass(frozen=True)
class Leakage(Presented):
    """What a report gives away; measures that a mechanism has no formula for are None.

    - `prior_vulnerability`, `posterior_vulnerability`: the chance to guess the value in one try,
      before the report and after it (Bayes vulnerability).
    - `prior_gain`, `posterior_gain`: the same for a gain of one's own (g-vulnerability).
    - `success_rate`: the chance to guess right after a report if all values are equally likely, the
      adversary's success rate, or attackability, of the LDP literature.
    - `prior_error`, `posterior_error`: how far the best guess is off on average, in `unit`.
    - `entropy`, `mutual_information`: bits unknown before the report, and bits that it tells.
    - `capacity`: the most bits that it tells under any prior, proved up to `capacity_gap`.
    - `min_capacity`: the largest `min_entropy_leakage` under any prior.

    >>> import freewill as fw
    >>> leak = fw.leakage(fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0))
    >>> leak.prior_vulnerability, round(leak.posterior_vulnerability, 3), round(leak.capacity, 3)
    (0.5, 0.731, 0.16)
    """

    mechanism: str
    prior_vulnerability: float
    posterior_vulnerability: float
    success_rate: float
    min_capacity: float
    entropy: float
    mutual_information: float
    capacity: float
    capacity_gap: float
    prior_error: float | None = None
    posterior_error: float | None = None
    prior_gain: float | None = None
    posterior_gain: float | None = None
    unit: str = ""

    @property
    def min_entropy_leakage(self) -> float:
        """log2 of how many times likelier a right guess is after the report."""
        return max(math.log2(self.posterior_vulnerability / self.prior_vulnerability), 0.0)

    @property
    def additive_leakage(self) -> float:
        """By how much likelier a right guess is after the report."""
        return max(self.posterior_vulnerability - self.prior_vulnerability, 0.0)

    @property
    def gain_leakage(self) -> float | None:
        """log2 of how many times the gain of one's own grows; None without one."""
        if self.prior_gain is None or self.posterior_gain is None:
            return None
        return max(math.log2(self.posterior_gain / self.prior_gain), 0.0)

    def __str__(self) -> str:
        doubt = f" (up to {self.capacity_gap:.1g} more)" if self.capacity_gap > 1e-6 else ""
        lines = [
            f"leakage of {self.mechanism}:",
            f"  right guesses    {self.prior_vulnerability:.4g} before a report, "
            f"{self.posterior_vulnerability:.4g} after it: min-entropy leakage "
            f"{self.min_entropy_leakage:.4g} bits of at most {self.min_capacity:.4g}",
            f"  success rate     {self.success_rate:.4g} where all values are equally likely",
            f"  information      {self.mutual_information:.4g} of {self.entropy:.4g} bits, of at "
            f"most {self.capacity:.4g} under any prior{doubt}",
        ]
        if self.prior_error is not None and self.posterior_error is not None:
            unit = behind(self.unit)
            lines.append(
                f"  best guess off   by {self.prior_error:.4g}{unit} before a report, "
                f"{self.posterior_error:.4g}{unit} after it"
            )
        if self.prior_gain is not None and self.posterior_gain is not None:
            lines.append(
                f"  gain             {self.prior_gain:.4g} before a report, "
                f"{self.posterior_gain:.4g} after it: {self.gain_leakage:.4g} bits"
            )
        return "\n".join(lines)

    def row(self) -> list[str]:
        """Return the success rate, the information and its bounds, for a table."""
        after = f"{self.prior_vulnerability:.3g} to {self.posterior_vulnerability:.3g}"
        bits = (self.mutual_information, self.capacity, self.min_capacity)
        return [after, f"{self.success_rate:.3g}", *(f"{each:.4g}" for each in bits)]

    def describe(self) -> dict[str, Any]:
        """Describe the measures for JSON."""
        derived = ("min_entropy_leakage", "additive_leakage", "gain_leakage")
        return {**vars(self), **{name: getattr(self, name) for name in derived}}


def leakage(
    mechanism: Mechanism, prior: ArrayLike | None = None, gain: ArrayLike | None = None
) -> Leakage:
    """Measure what a report of a mechanism gives away, to an adversary who knows the prior.

    The prior is uniform unless given. `gain` is a matrix, [guess, value]: what a guess is worth if
    the value is this one (numbers >= 0; as many guesses as you like). Laws whose outputs can be
    listed are summed, O(outputs * k), with the capacity's Newton steps of O(outputs * k^2). Reports
    that name a set of values, P(v | x) = c_v (1 + r v_x), by independent bits (RAPPOR and other
    unary encodings; hashing, by an ideal hash) or as one of all subsets of a length (subset
    selection), have closed forms for guesses and an integral for information.

    >>> import freewill as fw, numpy as np
    >>> print(fw.leakage(fw.KRR(fw.Categorical(["a", "b", "c", "d"]), epsilon=np.log(3))))
    leakage of k-rr(epsilon=1.09861):
      right guesses    0.25 before a report, 0.5 after it: min-entropy leakage 1 bits of at most 1
      success rate     0.5 where all values are equally likely
      information      0.2075 of 2 bits, of at most 0.2075 under any prior
      best guess off   by 0.75 before a report, 0.5 after it
    """
    if not is_mechanism(mechanism):
        raise ParameterError(f"{shown(mechanism)} is no mechanism: there is nothing to measure.")
    size = mechanism.alphabet.size
    weights = np.full(size, 1 / size) if prior is None else distribution(prior, size, "prior")
    gains = None if gain is None else _checked_gain(gain, weights)
    space = mechanism.output_space
    if space.alphabet is None:
        moments = mechanism.moments(weights)
        # Independent bits are many as soon as there are a few: the closed form is for all of them.
        listed = space.listable and not isinstance(moments, BitMoments)
        if isinstance(moments, SetMoments) and gains is None and not (listed and _fits(mechanism)):
            return _of_sets(mechanism, weights, moments)
    if not space.listable:
        advice = "A gain of one's own needs the list: " if gains is not None else ""
        raise LawError(
            f"the reports of {mechanism} are too many to be listed. {advice}Take an alphabet of "
            f"few values."
        )
    if not _fits(mechanism):
        raise LawError(
            f"the law of {mechanism} has more than {_ENTRIES:,} entries. Take a coarser alphabet."
        )
    return _of_law(mechanism, weights, gains)


def _fits(mechanism: Mechanism) -> bool:
    """Say whether a law whose outputs can be listed may be held as an array."""
    return bool(len(mechanism.outputs()) * mechanism.alphabet.size <= _ENTRIES)


def _of_law(mechanism: Mechanism, prior: FloatArray, gain: FloatArray | None) -> Leakage:
    """Sum over all outputs."""
    # What needs no capacity needs no SciPy.
    from freewill.numeric.solvers.capacity import capacity  # noqa: PLC0415

    law, size = mechanism.law(), prior.size
    joint = prior[:, None] * law
    most = float(law.max(axis=0).sum())
    most_told = capacity(law)
    further: dict[str, float] = {}
    if size * size * law.shape[1] <= _DISTANCES and has_distance(mechanism.alphabet):
        apart = distances(mechanism.alphabet)
        further["prior_error"] = float((prior @ apart).min())
        further["posterior_error"] = float((joint.T @ apart).min(axis=1).sum())
    if gain is not None:
        further["prior_gain"] = float((gain @ prior).max())
        further["posterior_gain"] = float((gain @ joint).max(axis=0).sum())
    return Leakage(
        brief(mechanism),
        prior_vulnerability=float(prior.max()),
        posterior_vulnerability=float(joint.max(axis=0).sum()),
        success_rate=most / size,
        min_capacity=max(math.log2(most), 0.0),
        entropy=_entropy(prior),
        mutual_information=mutual_information(prior, law),
        capacity=most_told.value / math.log(2),
        capacity_gap=most_told.gap / math.log(2),
        unit=mechanism.alphabet.unit,
        **further,
    )


def _of_sets(mechanism: Mechanism, prior: FloatArray, moments: SetMoments) -> Leakage:
    """Sum over sets of values by what decides: which of the likely values are in them."""
    size = prior.size
    most = _right_guesses(np.full(size, 1 / size), moments)
    after = _right_guesses(prior, moments)
    even: Any = mechanism.moments(np.full(size, 1 / size))
    # Without a geometry the best guess is wrong, or not at all.
    labels = not has_raster(mechanism.alphabet)
    return Leakage(
        brief(mechanism),
        prior_vulnerability=float(prior.max()),
        posterior_vulnerability=after,
        success_rate=most,
        min_capacity=max(math.log2(most * size), 0.0),
        entropy=_entropy(prior),
        mutual_information=_set_information(moments),
        # Renaming the values renames the sets: no prior tells more than the uniform one.
        capacity=_set_information(even),
        capacity_gap=0.0,
        prior_error=1 - float(prior.max()) if labels else None,
        posterior_error=1 - after if labels else None,
    )


def _right_guesses(prior: FloatArray, moments: SetMoments) -> float:
    """Return the chance to guess right from a set: the likeliest value in it, mostly.

    P(v | x) = Q(v) (1 + r v_x) / (1 + r q). With the values in the order of the prior, the first
    that is in the set is the j-th as often as Q says (`first_chances`). Then it is this one or,
    unless it comes first itself, the likeliest of all though it is not in the set; of the empty set
    the likeliest.
    """
    likely, first = np.sort(prior)[::-1], moments.first_chances()
    in_spite = np.where(np.arange(likely.size) > 0, likely[0], 0.0)
    worth = np.maximum(likely * (1 + moments.gain), in_spite)
    empty = max(1 - float(first.sum()), 0.0)
    total = float(first @ worth) + empty * float(likely[0])
    return total / (1 + moments.gain * moments.chance)


def _set_information(moments: SetMoments) -> float:
    """Return the bits that sets tell: p log(1 + r) - E log(1 + r T), p = q (1 + r) / (1 + r q).

    T = sum_x prior_x v_x. The logarithm is an integral, log u = int (e^-t - e^(-t u)) / t dt, and
    the mean of e^(-t r T) is known (`fading`). In log t the integrand falls off on both sides, so
    that equal steps are exact to rounding.
    """
    gain, chance, prior = moments.gain, moments.chance, moments.theta
    own = chance * (1 + gain) / (1 + gain * chance)
    mean = moments.other + (own - moments.other) * float(prior @ prior)
    times = np.exp(np.arange(-(40 + math.log1p(gain)), math.log(750.0), _STEP))
    few = times * gain < _SMALL
    expected = gain * mean * float(times[few].sum())
    for time in times[~few].tolist():
        expected += math.exp(-time) * (1 - moments.fading(time))
    return max(own * math.log1p(gain) - _STEP * expected, 0.0) / math.log(2)


def mutual_information(prior: FloatArray, law: FloatArray) -> float:
    """Return how many bits an output tells of the value, from the law of all outputs.

    >>> mutual_information(np.array([0.5, 0.5]), np.eye(2))
    1.0
    """
    joint = prior[:, None] * law
    total = joint.sum(axis=0)
    ratio = np.divide(law, total, out=np.ones_like(law), where=joint > 0)
    return max(float((joint * np.log2(ratio)).sum()), 0.0)


def _entropy(prior: FloatArray) -> float:
    some = prior[prior > 0]
    return max(-float(some @ np.log2(some)), 0.0)


def _checked_gain(gain: ArrayLike, prior: FloatArray) -> FloatArray:
    size = prior.size
    wanted = f"a matrix with a row for each guess and {several(size, 'column')}, one a value"
    matrix = numbers(gain, "gain", wanted)
    if matrix.ndim != 2 or matrix.shape[1] != size or not matrix.shape[0]:
        raise ParameterError(f"gain of shape {matrix.shape}: expected {wanted}.")
    if not np.all(np.isfinite(matrix)) or np.any(matrix < 0):
        row, column = np.argwhere(~np.isfinite(matrix) | (matrix < 0))[0]
        raise ParameterError(
            f"gain[{row}, {column}]={matrix[row, column]}: must be finite and >= 0. Add what the "
            f"worst guess loses to all gains."
        )
    if not (matrix @ prior).max() > 0:
        raise ParameterError(
            "gain: no guess gains anything under the prior; expected one that does."
        )
    return matrix
