"""For each level of protection that people want, the mechanism that tells the collector most."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.texts import per
from freewill.core.types import FloatArray, numbers
from freewill.domain.alphabets.base import Alphabet, Linear, checked_kind, has_raster, refuse_vast
from freewill.domain.alphabets.grid import Grid
from freewill.domain.calibration import calibrate
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.randomised_response import KRR, RAPPOR, Identity
from freewill.domain.mechanisms.registry import kind_named
from freewill.domain.metrics import diameter
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, ParameterError, closest, first_line, shown
from freewill.numeric.solvers.likelihood import OnStep, one_blas_thread
from freewill.stats.estimators.estimate import Estimate, Work
from freewill.stats.planning.design import Design, true_variance
from freewill.stats.planning.truths import checked_truths, checked_weights, is_emd

Promise = Literal["ldp", "geo", "loss"]
Kinds = tuple[Any, ...]
"""Classes of mechanisms that take an alphabet and an epsilon."""
_PROMISES = {
    "ldp": "epsilon of local differential privacy",
    "geo": "epsilon of geo-indistinguishability",
    "loss": "expected distance between value and report, under a uniform prior",
}
_PEOPLE = 10_000
"""Whose distance, if they tell the truth, a mechanism has to reach."""
_ACCURACY, _ROUGH = 0.03, 0.2
"""Of distances, and of those by which truths are compared before."""
_TAKES = (
    "expected classes, or functions, that take an alphabet and an epsilon, such as fw.KRR, or "
    "names of kinds, at least one."
)
_NEAR = 0.3
"""Share of the most people from which on a truth may be the worst."""


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

    >>> import freewill as fw
    >>> menu = fw.menu(fw.Linear(0, 9), [1.0, 4.0], of="mean")
    >>> {name: one.name for name, one in menu.survey.mechanisms.items()}
    {'ldp 1': 'geometric', 'ldp 4': 'k-rr'}
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
    of: Any = "emd",
    on_step: OnStep | None = None,
    kinds: Any = None,
) -> Menu:
    """Find, for each level of protection, the mechanism that tells the collector most.

    `promise` says what a level is, and all mechanisms compared at a level keep it:

        "ldp"   P(y | x) <= e^level P(y | x') for all x, x'. k-RR and RAPPOR take the level as their
                epsilon; geometric noise level / D, with D the largest distance of two values.
        "geo"   P(y | x) <= e^(level d(x, x')) P(y | x'). Geometric noise takes the level as its
                epsilon; k-RR and RAPPOR level times the least distance of two values.
        "loss"  E d(x, y) = level under a uniform prior (`calibrate`); RAPPOR has no such loss.
                An average, and no promise to anybody.

    `of` is whose error is compared, as in `plan`: "emd", the earth mover's distance to the truth
    (total variation without geometry), or functionals such as "mean" or "shares". `theta` is the
    truth; without one, each mechanism is judged by the truth that is worst for it, of those that
    `plan` takes, and telling the truth likewise. `kinds` are the kinds to choose from, your own
    among them: classes, or functions, that take an alphabet and an epsilon, or names of kinds.
    `on_step` is called with a `Step` (its number and share of the work) after each mechanism and
    truth: by the EMD that is some hundred solves, .3 s for each on 100 values.

    The cost is that of `plan` for each mechanism, level and truth.

    >>> import freewill as fw, numpy as np
    >>> print(fw.menu(fw.Linear(0, 99), [1.0, 4.0], of="mean", theta=np.full(100, 0.01)))
    0..99: levels are epsilon of local differential privacy
    times the people for the same error of mean; truth: as given
      1        geometric(0..99, epsilon=0.010101)  17  (rappor 392; k-rr 3.5e+03)
      4        geometric(0..99, epsilon=0.040404)  2.28  (k-rr 8.21; rappor 18.1)
    """
    refuse_vast(checked_kind(alphabet))
    wanted, promised = checked_levels(levels), checked_promise(promise)
    by_emd, weights = is_emd(of), checked_weights(of, alphabet, None)
    truths = checked_truths(theta, alphabet)
    work = Work(on_step)

    def designs(mechanism: Mechanism) -> Iterator[Design]:
        """Yield a survey of the mechanism alone under each truth, and count it as done after."""
        for truth in truths.values():
            yield Design(alphabet, (("", mechanism, 1.0),), truth)
            work.solved()

    choice = checked_kinds(kinds)
    compared = [candidates(alphabet, level, promised, choice) for level in wanted]
    work.expect(len(truths) * (1 + sum(map(len, compared))))
    cost = (
        _costs_by_emd(alphabet, designs)
        if by_emd
        else _costs_by_variance(alphabet, designs, weights.rows)
    )
    offers = []
    for level, mechanisms in zip(wanted, compared, strict=True):
        judged = sorted(((cost(kind), kind) for kind in mechanisms), key=lambda pair: pair[0])
        offers.append(tuple(Offer(level, mechanism, many) for many, mechanism in judged))
    name = "EMD" if by_emd else "functionals" if isinstance(of, list) else str(of)
    if not by_emd and len(weights.rows) == 1:
        name = weights.names[0]
    truth = next(iter(truths))
    if len(truths) > 1:
        truth = f"for each the worst of {', '.join(truths)}"
    return Menu(alphabet, promised, name, truth, tuple(each[0] for each in offers), tuple(offers))


Designs = Callable[[Mechanism], Iterator[Design]]
"""Surveys of a mechanism alone, under each truth."""
Cost = Callable[[Mechanism], float]
"""How many times the people a mechanism needs under the truth that is worst for it."""


def _costs_by_variance(alphabet: Alphabet, designs: Designs, rows: FloatArray) -> Cost:
    """Return costs by the variances of functionals together."""
    least = max(true_variance(rows, design.theta) for design in designs(Identity(alphabet)))

    def cost(mechanism: Mechanism) -> float:
        most = max(float(design.variances(rows).sum()) for design in designs(mechanism))
        return most / least if least > 0 else np.inf

    return cost


def _costs_by_emd(alphabet: Alphabet, designs: Designs) -> Cost:
    """Return costs by the distance that some people have who tell the truth."""
    truthful = designs(Identity(alphabet))
    target = max(design.expected_emd(_PEOPLE, _ACCURACY).mean for design in truthful)

    def cost(mechanism: Mechanism) -> float:
        under = designs(mechanism)
        rough = [(one.needed_for_emd(target, _ROUGH) or np.inf, one) for one in under]
        most = max(needed for needed, _ in rough)
        if not np.isfinite(most):
            return np.inf
        worst = [design for needed, design in rough if needed >= _NEAR * most]
        return max(design.needed_for_emd(target, _ACCURACY) or np.inf for design in worst) / _PEOPLE

    return cost


def candidates(
    alphabet: Alphabet, level: float, promise: Promise, kinds: Kinds | None = None
) -> list[Mechanism]:
    """Return the mechanisms that keep a promise at a level, as tightly as they can.

    Of the kinds given, or of k-RR, RAPPOR and the geometric noise that the alphabet has. A kind
    that does not have the level is left out, unless it was given.

    >>> import freewill as fw
    >>> [str(one) for one in candidates(fw.Linear(0, 8), 2.0, "ldp")]
    ['k-rr(0..8, epsilon=2)', 'rappor(0..8, epsilon=2)', 'geometric(0..8, epsilon=0.25)']
    """
    if kinds is not None:
        return [_kept(kind, alphabet, level, promise) for kind in kinds]
    geometric: Any = {Linear: Geometric, Grid: PlanarGeometric}.get(type(alphabet))
    usual = (KRR, RAPPOR, geometric) if geometric and alphabet.size > 1 else (KRR, RAPPOR)
    return possible(usual, alphabet, level, promise)


def possible(kinds: Kinds, alphabet: Alphabet, level: float, promise: Promise) -> list[Mechanism]:
    """Return the mechanisms of those kinds that have a level; an error where none has."""
    mechanisms, refused = [], []
    for kind in kinds:
        try:
            mechanisms.append(_kept(kind, alphabet, level, promise))
        except FreewillError as error:
            refused.append(str(error))
    if not mechanisms:
        raise ParameterError(f"level {level:g} on {alphabet}: no mechanism has it. {refused[0]}")
    return mechanisms


def _kept(kind: Any, alphabet: Alphabet, level: float, promise: Promise) -> Mechanism:
    """Return the mechanism of a kind that an epsilon makes, at the epsilon that keeps a promise.

    The best of a kind that has several at one epsilon.
    """
    if promise == "loss":
        return cast("Mechanism", calibrate(kind, alphabet, quality_loss=level))
    build = getattr(kind, "best", kind)
    try:
        mechanism = build(alphabet, level)
    except TypeError as error:
        raise ParameterError(f"kinds={shown(kind)}: {_TAKES} ({first_line(error)})") from None
    own = mechanism.guarantee() if is_mechanism(mechanism) else None
    if not isinstance(own, Guarantee):
        expected = "expected a mechanism that promises an epsilon."
        raise ParameterError(f"{shown(kind)} makes {shown(mechanism)}: {expected}")
    if own.kind == promise:
        return cast("Mechanism", mechanism)
    scale = 1 / (diameter(alphabet) or 1.0) if promise == "ldp" else _least_distance(alphabet)
    return cast("Mechanism", build(alphabet, level * scale))


def checked_kinds(kinds: Any) -> Kinds | None:
    """Return kinds of mechanisms: what takes an alphabet and an epsilon, or names of kinds."""
    if kinds is None:
        return None
    listed = list(kinds) if isinstance(kinds, list | tuple) else [kinds]
    chosen = [kind_named(one, ParameterError) if isinstance(one, str) else one for one in listed]
    if not chosen or not all(map(callable, chosen)):
        raise ParameterError(f"kinds={shown(kinds)}: {_TAKES}")
    return tuple(chosen)


def _least_distance(alphabet: Alphabet) -> float:
    """Return the least distance of two values."""
    if not has_raster(alphabet) or alphabet.size < 2:
        return 1.0
    if alphabet.plane is None:
        grid: Any = alphabet
        return float(grid.apart[0])
    rows, columns = alphabet.plane
    beside = [1] * (columns > 1) + [columns] * (rows > 1)
    return float(min(alphabet.distance(np.array(0), np.array(cell)) for cell in beside))


def checked_levels(levels: Any) -> list[float]:
    """Return levels of protection: one or several numbers > 0."""
    wanted = "one number > 0 or several, such as [0.5, 1.0, 2.0]"
    given = np.atleast_1d(numbers(levels, "levels", wanted))
    if given.ndim != 1 or not given.size:
        raise ParameterError(f"levels={shown(levels)}: expected {wanted}.")
    bad = ~((given > 0) & np.isfinite(given))
    if bad.any():
        raise ParameterError(f"level {given[bad][0]:g}: expected a number > 0 and finite.")
    listed = [float(level) for level in given]
    twice = [level for level in listed if listed.count(level) > 1]
    if twice:
        raise ParameterError(f"level {twice[0]:g} is listed twice: levels must differ.")
    return listed


def checked_promise(promise: Any) -> Promise:
    """Return what levels mean."""
    if isinstance(promise, str) and promise in _PROMISES:
        return cast("Promise", promise)
    raise ParameterError(
        f"promise={shown(promise)}: expected one of {', '.join(_PROMISES)}."
        f"{closest(promise, _PROMISES)}"
    )
