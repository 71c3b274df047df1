"""For each level of protection that people want, the mechanism that tells the collector most."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.texts import per
from freewill.core.types import FloatArray, numbers
from freewill.domain.alphabets.base import Alphabet, checked_kind, refuse_vast
from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.linear import Linear
from freewill.domain.calibration import calibrate
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.krr import KRR
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.rappor import RAPPOR
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, ParameterError, closest, shown
from freewill.numeric.solvers.solution import OnStep
from freewill.numeric.solvers.threads import one_blas_thread
from freewill.stats.distance import diameter
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.functionals import Weights
from freewill.stats.planning.inputs import checked_truths, checked_weights
from freewill.stats.planning.predicted import Design, true_variance, without_privacy
from freewill.stats.work import Work

Promise = Literal["ldp", "geo", "loss"]
_PROMISES = {
    "ldp": "epsilon of local differential privacy",
    "geo": "epsilon of geo-indistinguishability",
    "loss": "expected distance between value and report, under a uniform prior",
}
_PEOPLE = 10_000
"""For whom distances are compared; the quotient hardly depends on it."""
_ACCURACY = 0.02


@dataclass(frozen=True)
class Offer:
    """A mechanism at a level of protection, and how many times the people it needs."""

    level: float
    mechanism: Mechanism
    cost: float


@dataclass(frozen=True, eq=False)
class Menu:
    """The best mechanism at each level, and the others that keep the same promise.

    `cost` says how many times the people a survey needs where all choose the mechanism, for the
    same error, beside one where all tell the truth.
    """

    alphabet: Alphabet
    promise: Promise
    of: str
    truth: str
    best: tuple[Offer, ...]
    offers: tuple[tuple[Offer, ...], ...] = field(repr=False)

    @property
    def survey(self) -> Survey:
        """A survey that offers the best mechanism of each level, named by the level."""
        return Survey(
            self.alphabet, {f"{self.promise} {one.level:g}": one.mechanism for one in self.best}
        )

    def __str__(self) -> str:
        unit = f", {per(self.alphabet.unit)}" if self.promise == "geo" else ""
        head = f"{self.alphabet}: levels are {_PROMISES[self.promise]}{unit}"
        lines = [head, f"times the people for the same error of {self.of}; truth: {self.truth}"]
        for several_offers in self.offers:
            first, *others = several_offers
            beside = "; ".join(f"{one.mechanism.name} {one.cost:.3g}" for one in others)
            tail = f"  ({beside})" if beside else ""
            lines.append(f"  {first.level:<8g} {first.mechanism}  {first.cost:.3g}{tail}")
        return "\n".join(lines)


@one_blas_thread
def menu(
    alphabet: Alphabet,
    levels: Any,
    promise: Promise = "ldp",
    theta: ArrayLike | Estimate | None = None,
    of: Any = None,
    on_step: OnStep | None = None,
) -> Menu:
    """Find, for each level of protection, the mechanism that tells the collector most.

    `promise` says what a level is, and all mechanisms compared at a level keep it:

        "ldp"   P(y | x) <= e^level P(y | x') for all x, x'. k-RR and RAPPOR take the level as their
                epsilon; geometric noise level / D, with D the largest distance of two values.
        "geo"   P(y | x) <= e^(level d(x, x')) P(y | x'). Geometric noise takes the level as its
                epsilon; k-RR and RAPPOR level times the least distance of two values.
        "loss"  E d(x, y) = level under a uniform prior (`calibrate`); RAPPOR has no such loss.
                An average, and no promise to anybody.

    `of` is what is to be known: by default the earth mover's distance to the truth (that of shares,
    without geometry), else what `plan` takes, such as "mean" or "cells". `theta` is the truth;
    without one, each mechanism is judged by the truth that is worst for it, of those that `plan`
    takes, and telling the truth likewise. `on_step` is called with a `Step` (its number and share
    of the work) after each mechanism and truth: by the EMD that is some hundred solves, .3 s for
    each on 100 values.

    >>> import freewill as fw
    >>> print(fw.menu(fw.Linear(0, 99), [1.0, 4.0], of="mean", theta=np.full(100, 0.01)))
    0..99: levels are epsilon of local differential privacy
    times the people for the same error of mean; truth: as given
      1        geometric(0..99, epsilon=0.010101)  17  (rappor 392; k-rr 3.5e+03)
      4        geometric(0..99, epsilon=0.040404)  2.28  (k-rr 8.21; rappor 18.1)
    """
    refuse_vast(checked_kind(alphabet))
    wanted = checked_levels(levels)
    kind = checked_promise(promise)
    by_emd = of is None
    weights = checked_weights(of, alphabet, None)
    several_truths = checked_truths(theta, alphabet)
    work = Work(on_step)
    error = _errors(alphabet, several_truths, None if by_emd else weights, work)
    compared = [candidates(alphabet, level, kind) for level in wanted]
    work.expect(len(several_truths) * (1 + sum(map(len, compared))))
    least = error(None)
    offers = []
    for level, found in zip(wanted, compared, strict=True):
        judged = sorted(((error(one), one) for one in found), key=lambda pair: pair[0])
        offers.append(tuple(Offer(level, one, _quotient(err, least)) for err, one in judged))
    name = "EMD" if by_emd else (weights.names[0] if len(weights.rows) == 1 else _said(of))
    truth = next(iter(several_truths))
    if len(several_truths) > 1:
        truth = f"for each the worst of {', '.join(several_truths)}"
    return Menu(alphabet, kind, name, truth, tuple(one[0] for one in offers), tuple(offers))


def candidates(alphabet: Alphabet, level: float, promise: Promise) -> list[Mechanism]:
    """Return the mechanisms of the library that keep a promise at a level, as tightly as they can.

    >>> import freewill as fw
    >>> [str(one) for one in candidates(fw.Linear(0, 8), 2.0, "ldp")]
    ['k-rr(0..8, epsilon=2)', 'rappor(0..8, epsilon=2)', 'geometric(0..8, epsilon=0.25)']
    """
    geometric: Any = None
    if alphabet.size > 1:
        geometric = {Linear: Geometric, Grid: PlanarGeometric}.get(type(alphabet))
    makers: list[Callable[[], Mechanism]] = []
    if promise == "loss":
        makers = [
            lambda kind=kind: calibrate(kind, alphabet, quality_loss=level)  # type: ignore[misc]
            for kind in (KRR, geometric)
            if kind is not None
        ]
    else:
        near, far = _least_distance(alphabet), diameter(alphabet)
        whole = level if promise == "ldp" else level * near
        makers = [lambda: KRR(alphabet, whole), lambda: RAPPOR(alphabet, whole)]
        if geometric is not None:
            makers.append(lambda: geometric(alphabet, level / far if promise == "ldp" else level))
    found, refused = [], []
    for make in makers:
        try:
            found.append(make())
        except FreewillError as error:
            refused.append(str(error))
    if not found:
        raise ParameterError(f"level {level:g} on {alphabet}: no mechanism has it. {refused[0]}")
    return found


def _least_distance(alphabet: Alphabet) -> float:
    """Return the least distance of two values."""
    if alphabet.plane is None or alphabet.size < 2:
        return 1.0
    rows, columns = alphabet.plane
    beside = [1] * (columns > 1) + [columns] * (rows > 1)
    return float(min(alphabet.distance(np.array(0), np.array(one)) for one in beside))


def _errors(
    alphabet: Alphabet, several_truths: dict[str, FloatArray], weights: Weights | None, work: Work
) -> Callable[[Mechanism | None], float]:
    """Return what gives a mechanism's squared error under the worst truth; of None, no privacy's.

    Of functionals their variances together, of the EMD the square of what is expected.
    """

    def error(mechanism: Mechanism | None) -> float:
        found = []
        for theta in several_truths.values():
            found.append(one(mechanism, theta))
            work.solved()
        return max(found)

    def one(mechanism: Mechanism | None, theta: FloatArray) -> float:
        if mechanism is None:
            design = without_privacy(alphabet, theta)
        else:
            design = Design(alphabet, (("", mechanism, 1.0),), theta)
        if weights is None:
            found = design.expected_emd(_PEOPLE, _ACCURACY, simulate=False).mean
            return np.inf if np.isnan(found) else found**2
        if mechanism is None:
            return true_variance(weights.rows, theta)
        return float(design.variances(weights.rows).sum())

    return error


def _quotient(error: float, least: float) -> float:
    return error / least if least > 0 else np.inf


def _said(of: Any) -> str:
    return of if isinstance(of, str) else str(of) if not isinstance(of, list) else "functionals"


def checked_levels(levels: Any) -> list[float]:
    """Return levels of protection: one or several numbers > 0."""
    wanted = "one number > 0 or several, such as [0.5, 1.0, 2.0]"
    found = np.atleast_1d(numbers(levels, "levels", wanted))
    if found.ndim != 1 or not found.size:
        raise ParameterError(f"levels={shown(levels)}: expected {wanted}.")
    bad = ~((found > 0) & np.isfinite(found))
    if bad.any():
        raise ParameterError(f"level {found[bad][0]:g}: expected a number > 0 and finite.")
    twice = [level for level in found.tolist() if found.tolist().count(level) > 1]
    if twice:
        raise ParameterError(f"level {twice[0]:g} is listed twice: levels must differ.")
    return [float(level) for level in found]


def checked_promise(promise: Any) -> Promise:
    """Return what levels mean."""
    for known in ("ldp", "geo", "loss"):
        if isinstance(promise, str) and promise == known:
            return known
    raise ParameterError(
        f"promise={shown(promise)}: expected one of {', '.join(_PROMISES)}."
        f"{closest(promise, _PROMISES)}"
    )
