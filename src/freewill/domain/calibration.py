"""Finding the parameter at which a mechanism costs a given quality."""

import inspect
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.domain.alphabets.base import Alphabet, checked_kind
from freewill.domain.mechanisms.base import Mechanism, checked_quality_loss, needed_beside_epsilon
from freewill.errors import LawError, ParameterError, shown

M = TypeVar("M", bound=Mechanism)

_SMALLEST, _LARGEST = 1e-9, 1e6
"""Epsilon times mean distance beyond which a mechanism is blind, or tells the truth."""

_CLOSE = 1e-6
"""How near, relative, the search goes to the largest epsilon that a mechanism takes."""


def calibrate(
    kind: type[M], alphabet: Alphabet, *, quality_loss: float, prior: ArrayLike | None = None
) -> M:
    """Return the mechanism of a kind whose expected loss E d(x, z) is `quality_loss`.

    The loss falls as epsilon grows; the root is bracketed and found by Brent's method on
    log epsilon. The prior is uniform unless given. The paper's appendix lists ten epsilons a
    table; they are calibrated to losses of 28, 25, ..., 1 on the line 0..99.

    The cost is that of some twenty quality losses.

    >>> import freewill as fw
    >>> round(fw.calibrate(fw.Geometric, fw.Linear(0, 99), quality_loss=10.0).epsilon, 3)
    0.088
    """
    build: Any = kind
    if not isinstance(kind, type) or not hasattr(kind, "obfuscate"):
        raise ParameterError(f"kind={shown(kind)}: expected a mechanism's class, such as KRR.")
    more = needed_beside_epsilon(kind)
    if more is None:
        takes = "quality_loss" in inspect.signature(kind).parameters
        hint = " It takes the loss itself, as its quality_loss." if takes else ""
        raise ParameterError(f"{kind.name} has no epsilon, hence nothing to calibrate.{hint}")
    if more:
        raise ParameterError(
            f"{kind.name} takes {', '.join(more)} beside its epsilon: of these nothing is known "
            f"here. Derive a class that has them as defaults, and calibrate that."
        )
    target = checked_quality_loss(quality_loss)

    def at(log_epsilon: float) -> M:
        mechanism: M = build(alphabet, epsilon=float(np.exp(log_epsilon)))
        return mechanism

    def loss(log_epsilon: float) -> float:
        return at(log_epsilon).quality_loss(prior)

    def excess(log_epsilon: float) -> float:
        # Relative, so that a loss of 1e-300 is found to its last digits too.
        return float(np.log(max(loss(log_epsilon), 5e-324) / target))

    mean = float(checked_kind(alphabet).total_distance().mean()) / alphabet.size
    low = high = float(np.log(1 / (mean or 1.0)))
    space = at(low).output_space
    if space.alphabet != alphabet:
        raise LawError(
            f"{kind.name} reports {space}, no values: there is no distance between "
            f"a value and its report, hence no loss to calibrate to. To give it the promise that "
            f"k-RR has at this loss, calibrate k-RR and take its epsilon."
        )
    while excess(low) < 0:
        try:
            excess(low - 2.0)
            low -= 2.0
            small = low < np.log(_SMALLEST / mean)
        except ParameterError:  # an epsilon that the mechanism refuses
            small = True
        if small:
            raise ParameterError(
                f"quality_loss={target:g} is out of reach for {kind.name}: "
                f"its loss is at most {loss(low):.6g}, at epsilon near 0."
            )
    step = 2.0
    while excess(high) > 0:
        if step < _CLOSE or high > np.log(_LARGEST / mean):
            raise ParameterError(
                f"quality_loss={target:g} is out of reach for {kind.name}: its loss is still "
                f"{loss(high):.6g} at epsilon {np.exp(high):.3g}. For none, use Identity."
            )
        try:
            excess(high + step)
        except ParameterError:  # an epsilon that the mechanism refuses
            step /= 2
        else:
            high += step
    from scipy.optimize import brentq  # noqa: PLC0415

    return at(low if low == high else brentq(excess, low, high, xtol=1e-13, rtol=1e-14))
