"""The numbers behind the words: what a mechanism promises, and what its reports are like.

Where a formula gives them they cost O(k), so that large alphabets can be explained. All averages
are over the values, taken as equally common.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, Spec
from freewill.domain.alphabets.base import Alphabet, distances, has_raster, refuse_vast
from freewill.domain.alphabets.grid import Grid, offset_counts
from freewill.domain.guarantees.audit import (
    MOST_EXPONENT,
    MOST_TRUTH,
    chance_of_truth,
    typical_distance,
)
from freewill.domain.guarantees.epsilon import audit_epsilon
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.both import Both
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.perhaps import Perhaps
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric, kept_offsets
from freewill.domain.mechanisms.randomised_response import KRR, Identity
from freewill.domain.mechanisms.shokri import Shokri

_TINY, _SURE = 5e-324, 1 - 2.0**-53
_ENTRIES = 1 << 24
"""Of a law without a formula, up to which it is computed."""
_FAR = 0.05
"""The share of reports that are at least far off."""
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Facts:
    """What is said of a mechanism; nothing (None) is said of what there is not.

    `epsilon` is the promised one, of the kind `promise`: "ldp", "geo", or "loss" where `loss` is
    what an adversary is sure to lose, and epsilon what the law turns out to give. `truths` are the
    least, the mean and the largest chance that a report is the true value; `told` is how often it
    is, or the best guess from a table is right, whichever is more often; `error` is the mean
    distance between report and value, and the largest that 1 report in 20 reaches. `distances` are
    those of the nearest two values, of two typical ones and of the furthest. Where a report names
    a set of values, `bits` are the chances that the own value is in it, and another; `support` says
    how it is drawn, if not by a yes or no to each, and of how many values, groups or signs.
    `chances` is the law of one typical value's reports. `silence` is the chance that nothing is
    reported, of which all else is not about; `reports` is how many there are of the same value;
    `lifetime` is the epsilon of all reports that are drawn from one permanent answer, if any are.
    """

    alphabet: Alphabet
    promise: str
    epsilon: float
    loss: float | None
    own_loss: bool
    truths: tuple[float, float, float] | None
    given_away: float
    error: tuple[float, float] | None
    distances: tuple[float, float, float] | None
    bits: tuple[float, float] | None
    support: tuple[str, int] | None
    outputs: Alphabet | None
    value: int
    chances: FloatArray | None
    silence: float = 0.0
    reports: int = 1
    lifetime: float | None = None

    @property
    def kind(self) -> str:
        """Of the alphabet: categorical, linear or grid."""
        return str(self.alphabet.spec()["kind"])

    @property
    def hides_nothing(self) -> bool:
        """Whether every report is the true value."""
        always = self.truths is not None and self.truths[0] == 1
        return always and math.isinf(self.epsilon) and self.alphabet.size > 1

    @property
    def tells_truth(self) -> bool:
        """Whether next to all reports tell the true value."""
        return self.alphabet.size > 1 and self.given_away > MOST_TRUTH

    @property
    def weak(self) -> bool:
        """Whether two typical values can be told apart almost for sure; unknown of averages."""
        apart = self.distances[1] if self.promise == "geo" and self.distances else 1.0
        several = self.alphabet.size > 1 and self.promise != "loss"
        return several and self.epsilon * apart > MOST_EXPONENT

    def between(self, chance: float) -> float:
        """Return a chance as it may be shown: with a finite epsilon nothing is sure or impossible.

        Doubles know no number between 1 - 1e-16 and 1, nor between 0 and 5e-324; laws do.
        """
        return chance if math.isinf(self.epsilon) else min(max(chance, _TINY), _SURE)

    def describe(self) -> dict[str, Any]:
        """Describe the numbers for JSON; an infinite epsilon is none there."""
        return {
            "promise": self.promise,
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "unit": self.alphabet.unit,
            "adversary_loss": self.loss,
            "chance_of_truth": _named(("least", "mean", "most"), self.truths),
            "error": _named(("mean", "far"), self.error),
            "distance": _named(("nearest", "typical", "widest"), self.distances),
            "chance_of_yes": _named(("own", "other"), self.bits),
        }


def facts(mechanism: Mechanism) -> Facts:
    """Compute what is said of a mechanism.

    >>> import freewill as fw
    >>> noise = facts(fw.Geometric(fw.Linear(0, 99), epsilon=0.1))
    >>> noise.promise, noise.epsilon, noise.distances
    ('geo', 0.1, (1.0, 33.33, 99.0))
    """
    if isinstance(mechanism, Perhaps):
        inner = facts(mechanism.inner)
        return replace(inner, silence=1 - (1 - inner.silence) * mechanism.chance)
    alphabet, promise = mechanism.alphabet, mechanism.guarantee()
    refuse_vast(alphabet)
    near, value = has_raster(alphabet), typical_value(alphabet)
    truths, law = mechanism.truths(), distance_law(mechanism) if near else None
    ldp = promise if isinstance(promise, Guarantee) else None
    bits, support = _sets(mechanism)
    if bits is not None and truths is None:
        truths = _alone(support, alphabet.size, *bits)
    return Facts(
        alphabet=alphabet,
        promise=ldp.kind if ldp else "loss",
        epsilon=(ldp or audit_epsilon(mechanism, Guarantee("ldp", math.inf))).epsilon,
        loss=None if ldp else _loss(mechanism, promise),
        own_loss=isinstance(mechanism, Shokri) and mechanism.guess_loss is not None,
        truths=None if truths is None else (truths.min(), truths.mean(), truths.max()),
        given_away=max(chance_of_truth(mechanism) or 0.0, 0.0 if truths is None else truths.mean()),
        error=None if law is None else mean_and_far(*law),
        distances=_distances(alphabet) if near and alphabet.size > 1 else None,
        bits=bits,
        support=support,
        outputs=mechanism.output_space.alphabet if bits is None else None,
        value=value,
        chances=chances_from(mechanism, value),
        reports=len(mechanism.parts) if isinstance(mechanism, Both) else 1,
        lifetime=mechanism.lifetime().epsilon if hasattr(mechanism, "lifetime") else None,
    )


def _sets(mechanism: Mechanism) -> tuple[tuple[float, float] | None, tuple[str, int] | None]:
    """Return `bits` and `support`, by the program for browsers (docs/reference/draws.md)."""
    bits = support = None
    values = mechanism.output_space.alphabet == mechanism.alphabet
    program = None if values else mechanism.program()
    chances = mechanism.set_chances()
    if program is None and chances is not None:
        return chances[:2], None
    match program:
        case {"draw": "unary", "own": own, "other": other}:
            bits = _nearest(own), _nearest(other)
        case {"draw": "subset", "length": length, "own": own}:
            named, others = _nearest(own), mechanism.alphabet.size - 1
            bits, support = (named, (length - named) / others), ("subset", length)
        case {"draw": "hash", "buckets": buckets, "replaced": replaced}:
            same = 1 - _nearest(replaced) * (1 - 1 / buckets)
            bits, support = (same, 1 / buckets), ("hash", buckets)
        case {"draw": "bloom", "bits": many, "own": own, "other": other}:
            bits, support = (_nearest(own), _nearest(other)), ("bloom", many)
        case {"draw": "hadamard", "order": order, "own": own}:
            blocks, size, named = _blocks(program), mechanism.alphabet.size, _nearest(own)
            each = np.bincount(np.arange(size) % blocks).astype(np.float64)
            # The share of pairs of values that are of one block.
            together = float(each @ (each - 1)) / (size * (size - 1))
            near, far = _block_chances(named, blocks)
            bits = named, far + together * (near - far)
            support = ("blocks" if blocks > 1 else "hadamard", blocks * order)
    return bits, support


def _blocks(program: Spec | None) -> int:
    """Return in how many blocks the signs of a program are, 1 where it speaks of none."""
    return int((program or {}).get("blocks", 1))


def _block_chances(own: float, blocks: int) -> tuple[float, float]:
    """Return how likely a sign stands for another value of the own block, and of another one."""
    far = (1 - own) / (2 * blocks - 1)
    return (own + far) / 2, far


def _alone(support: Any, size: int, own: float, other: float) -> FloatArray | None:
    """Return the chance of a yes to the own value and to no other, where it can be."""
    if support is None:
        return np.array([own * np.exp((size - 1) * np.log1p(-other))])
    return np.array([own]) if support[1] == 1 else None


def _nearest(chance: list[Any]) -> float:
    """Return a chance of a program, ["hexadecimal digits", scale], as a double."""
    return float(Fraction(int(chance[0], 16), 1 << chance[1]))


def typical_value(alphabet: Alphabet) -> int:
    """Return the index of a value in the middle, the first of labels.

    >>> import freewill as fw
    >>> typical_value(fw.Linear(0, 99)), typical_value(fw.Grid(24, 16, cell=0.5))
    (49, 179)
    """
    if alphabet.plane is None and has_raster(alphabet):
        grid: Any = alphabet
        return int(grid.nearest[typical_value(grid.whole)])
    rows, columns = alphabet.plane or (1, 1)
    return (rows - 1) // 2 * columns + (columns - 1) // 2


def _loss(mechanism: Mechanism, promise: Any) -> float:
    """Return what the adversary loses: by formula, where there is one, to the last digit."""
    if isinstance(mechanism, Shokri) and mechanism.report_loss is mechanism.guess_loss is None:
        return mechanism.optimum
    return float(promise.adversary_loss)


def _distances(alphabet: Any) -> tuple[float, float, float]:
    """Return the distances of the nearest two values, of two typical ones and of the furthest."""
    if isinstance(alphabet, Grid):
        nearest, widest = alphabet.apart
        return nearest, typical_distance(alphabet), widest
    rows, columns = alphabet.plane
    beside = [1] * (columns > 1) + [columns] * (rows > 1)
    nearest = float(np.min(alphabet.distance(0, np.array(beside))))
    return nearest, typical_distance(alphabet), float(alphabet.distance(0, alphabet.size - 1))


def _named(names: tuple[str, ...], numbers: tuple[float, ...] | None) -> dict[str, float] | None:
    return None if numbers is None else dict(zip(names, map(float, numbers), strict=True))


def mean_and_far(lengths: FloatArray, chances: FloatArray) -> tuple[float, float]:
    """Return the expected distance, and the largest that 1 report in 20 reaches."""
    order = np.argsort(-lengths, kind="stable")
    place = int(np.searchsorted(np.cumsum(chances[order]), _FAR * (1 - _ROUNDING)))
    return float(lengths @ chances), float(lengths[order[min(place, len(order) - 1)]])


def distance_law(mechanism: Mechanism) -> tuple[FloatArray, FloatArray] | None:
    """Return distances between value and report, and how often they occur, where there are any."""
    alphabet: Any = mechanism.alphabet
    size = alphabet.size
    match mechanism:
        case Identity():
            return np.zeros(1), np.ones(1)
        case KRR() if has_raster(alphabet):
            # How many values lie that many rows and columns from a value, on average.
            chances = _pairs(alphabet).ravel() / size * mechanism.other
            chances[0] = mechanism.truths()[0]
            whole = getattr(alphabet, "whole", alphabet)
            return whole.distance(0, np.arange(whole.size)), chances
        case Geometric():
            decay, steps = mechanism.epsilon * alphabet.step, np.arange(size, dtype=np.float64)
            fall = np.exp(-decay * steps) / (1 + np.exp(-decay))
            # On either side: all values but the last few reach a step inside, one is clipped.
            chances = 2 * ((size - 1 - steps) * -np.expm1(-decay) + 1) * fall / size
            chances[0] = mechanism.truths().mean()
            return alphabet.step * steps, chances
        case PlanarGeometric():
            east, north = alphabet.offsets()
            return np.hypot(east, north[:, None]).ravel(), _planar_offsets(mechanism).ravel()
    if mechanism.output_space.alphabet != alphabet or size**2 > _ENTRIES:
        return None
    return distances(alphabet).ravel(), mechanism.law().ravel() / size


def _planar_offsets(mechanism: Any) -> FloatArray:
    """Return how often reports are so many rows and columns away from the truth."""
    grid, kernel = mechanism.alphabet, mechanism.kernel
    if grid.mask is not None:
        return kept_offsets(grid, kernel, mechanism.operator)
    inner, side, end, corner = kernel.quarter
    across = np.arange(grid.columns - 1, -1, -1, dtype=np.float64)
    along = np.arange(grid.rows - 1, -1, -1, dtype=np.float64)[:, None]
    chances = 4 * (across * along * inner + along * side + across * end + corner) / grid.size
    return np.asarray(chances)


def _pairs(alphabet: Any) -> FloatArray:
    """Return how many ordered pairs of values are so many rows and columns apart."""
    if alphabet.plane is None:
        return offset_counts(alphabet.cells, alphabet.columns, alphabet.rows)
    axes = [np.arange(count, dtype=np.float64) for count in alphabet.plane]
    return np.outer(*(np.where(axis > 0, 2.0, 1.0) * (axis.size - axis) for axis in axes))


def _named_from(mechanism: Mechanism, value: int, own: float, other: float) -> FloatArray:
    """Return the chance that a report of one value names each."""
    size, blocks = mechanism.alphabet.size, _blocks(mechanism.program())
    near, far = _block_chances(own, blocks) if blocks > 1 else (other, other)
    chances = np.where(np.arange(size) % blocks == value % blocks, near, far)
    chances[value] = own
    return chances


def chances_from(mechanism: Mechanism, value: int) -> FloatArray | None:
    """Return the chance of each output from one value; of sets, that of each value in them."""
    alphabet: Any = mechanism.alphabet
    bits, support = _sets(mechanism)
    if bits is not None:
        # A place of a filter stands for no value by itself.
        bloom = support is not None and support[0] == "bloom"
        return None if bloom else _named_from(mechanism, value, *bits)
    match mechanism:
        case Identity():
            own, other = 1.0, 0.0
        case KRR():
            own, other = mechanism.truths()[0], mechanism.other
        case Geometric():
            steps = np.abs(np.arange(alphabet.size, dtype=np.float64) - value)
            fall = np.exp(-mechanism.epsilon * alphabet.step * steps)
            return np.asarray(mechanism.truths() * fall)
        case PlanarGeometric():
            operator = mechanism.operator(mechanism.outputs())
            chances = operator.dense(np.array([value]))[:, 0]
            return np.asarray(np.exp(operator.log_scale) * chances)
        case _:
            space = mechanism.output_space.alphabet
            # Of silence there is no picture.
            if space is None or space.size == 1 or alphabet.size * space.size > _ENTRIES:
                return None
            return np.asarray(mechanism.law()[value])
    return _named_from(mechanism, value, own, other)
