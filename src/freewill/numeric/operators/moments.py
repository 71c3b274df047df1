"""Information in a report at theta: moments of a/p - 1 over all outputs, of one or many mechanisms.

Hundreds of combinations of a few mechanisms, one an attribute, have outputs whose law is one
operator: products go through what they have in common once. The information of the mixture is one
sum of squares, sum over groups of share * K_m = A' diag(w) A - 1 1' sum of shares, and that of a
group the same over its own rows. Where each report says by which of several laws it was made, the
information is theirs, by shares.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import DenseOperator, Operator, StackOperator

if TYPE_CHECKING:
    from freewill.numeric.operators.kronecker import KroneckerOperator

_CLOSE = 0.5
"""Log-ratios up to which a/p - 1 is better taken from them than from the law."""
_STEP = 0.3
"""Between nodes on the logarithmic scale of t: the sums are then good to 13 digits."""
_FIRST, _LAST = -32.0, 3.9
"""From where to where log t matters, beside the scale on which products of bits fall."""
_FAINT = 1e-6
"""Diagonal of K below which what is left of J - 1 1' has too few digits."""
_NOBODY = 1e-12
"""The share of people who send nothing, as far as rounding leaves one."""


class SumOfSquares(NamedTuple):
    """P' diag(weights) P + diag(diagonal), with the rows P of an operator."""

    operator: Operator
    weights: FloatArray
    diagonal: FloatArray


class SetChances(NamedTuple):
    """How likely a value is in the set that a report names, and how likely two values are.

    `own` is the chance of the true value, `other` that of any other; `pair` is the chance of the
    true value and another together, `others` that of two others. `varies` says whether the sets
    have several sizes: each other value is then in or not by a coin of its own.
    """

    own: float
    other: float
    pair: float
    others: float
    varies: bool

    @classmethod
    def independent(cls, own: float, other: float) -> "SetChances":
        """Return those of values that are in or not by a coin each."""
        return cls(own, other, own * other, other * other, varies=True)


class Moments(Protocol):
    """The score of a report z in direction u is s = sum_x u_x a(z|x) / p(z), with p = theta A.

    For directions that sum to 0 it has mean 0. Its variance u'Ku defines the centred information
    K = sum_z a a'/p - 1 1', and K theta = 0.
    """

    def information(self) -> FloatArray:
        """Return K, k x k."""

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u for any u."""

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""

    def system(self) -> SumOfSquares | None:
        """Return what K + 1 1' is made of, for what inverts it; None where it is no such sum."""

    def response(self, value: int) -> FloatArray | None:
        """Return a(z | value) for all outputs, where outputs are values; None where not."""
        return None

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s for each row u, which sums to 0."""


@dataclass(frozen=True, eq=False)
class ListedMoments(Moments):
    """Moments of a mechanism whose outputs are listed, from the law of all of them.

    `log_ratios`, where given, are log a(z|x) up to a constant of each z: where noise is strong they
    keep digits of a/p - 1 that the law itself has lost.
    """

    operator: Operator
    theta: FloatArray
    log_ratios: FloatArray | None = None

    @property
    def total(self) -> float:
        """The chances of all outputs together."""
        return 1.0

    @cached_property
    def mass(self) -> FloatArray:
        """What an output counts, in the units of its row."""
        return np.asarray(np.exp(self.operator.log_scale))

    @cached_property
    def fitted(self) -> FloatArray:
        """Probability p of each output, in the units of its row."""
        return self.operator.forward_within(self.theta, 1e-9)

    @cached_property
    def _divisor(self) -> FloatArray:
        """The same, infinite where it is 0: an output that no value has carries no information."""
        return np.where(self.fitted > 0, self.fitted, np.inf)

    @cached_property
    def shares(self) -> FloatArray:
        """Probability p of each output."""
        return np.asarray(self.mass * self.fitted)

    @cached_property
    def scores(self) -> FloatArray:
        """a/p - 1, [output, value]."""
        ratios = self.log_ratios
        if ratios is not None and float(np.ptp(ratios, axis=1).max(initial=0)) < _CLOSE:
            excess = np.expm1(ratios - ratios.max(axis=1, keepdims=True))
            mean = (excess @ self.theta)[:, None]
            return np.asarray((excess - mean) / (1 + mean))
        return np.asarray(self.operator.dense() / self._divisor[:, None] - 1)

    def information(self) -> FloatArray:
        """Return K, k x k."""
        # A matrix times its own transpose is half the work of a product.
        rooted = np.sqrt(self.shares)[:, None] * self.scores
        return np.asarray(rooted.T @ rooted)

    @cached_property
    def _weights(self) -> FloatArray:
        """Of each output in K + 1 1'."""
        return np.asarray(self.mass / self._divisor)

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u by two products."""
        full = self.operator.adjoint(self._weights * self.operator.forward(direction))
        return np.asarray(full - self.total * direction.sum())

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        return np.asarray(self.operator.gram_diagonal(self._weights) - self.total)

    def system(self) -> SumOfSquares:
        """Return the law and its weights, which are all of K + 1 1'."""
        return SumOfSquares(self.operator, self._weights, np.zeros(self.theta.size))

    def response(self, value: int) -> FloatArray | None:
        """Return a(z | value); None where there are more or fewer outputs than values."""
        if self.operator.shape[0] != self.theta.size:
            return None
        point = np.zeros(self.operator.shape[1])
        point[value] = 1.0
        return np.asarray(np.exp(self.operator.log_scale) * self.operator.forward(point))

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sum_z p s^2 and sum_z p s^3."""
        if "scores" in self.__dict__:
            scored = self.scores @ directions.T
        else:
            by_row = [self.operator.forward(row) / self._divisor for row in directions]
            scored = np.stack(by_row, axis=1) if by_row else np.empty((len(self.fitted), 0))
        # NumPy's cubes are logarithms, and some ten times slower.
        square = scored * scored
        return np.asarray(self.shares @ square), np.asarray(self.shares @ (square * scored))


class Nodes(NamedTuple):
    """t, the weight of each node, and the mean of each value's term there, [node, value].

    Of bits the mean is the chance that the bit is set. The two latter may be complex: sums of them
    are taken by their real parts.
    """

    times: FloatArray
    weights: Any
    chances: Any


class NodeMoments(Moments, Protocol):
    """Moments that are sums over nodes t: J = (1 + gain M)' diag(weights) (1 + gain M) + diag(d).

    Where p is c (1 + G) with G a sum of independent terms, one a value, E_p[f / (1 + G)^j] is an
    integral over t of t^(j-1) e^-t times a mean of f e^(-t G), which is a product over the values.
    A kind says at which nodes it is taken, with which weights, and the mean of each term there
    (`Nodes`); d are the variances of the terms.
    """

    theta: FloatArray
    gain: float

    def _blocks(self) -> Iterable[Nodes]:
        """Return the nodes, some at a time where all of them would take much memory."""

    def _central(self, nodes: Nodes) -> tuple[Any, Any]:
        """Return the variance and the third central moment of each value's term at the nodes."""
        variance = nodes.chances * (1 - nodes.chances)
        return variance, variance * (1 - 2 * nodes.chances)

    @cached_property
    def _variance(self) -> FloatArray:
        """d, summed over the nodes."""
        parts = (np.real(nodes.weights @ self._central(nodes)[0]) for nodes in self._blocks())
        return np.asarray(self.gain**2 * sum(parts))

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u, in O(k) a node."""
        total = direction.sum()
        image, level = self._variance * direction, -float(total)
        # (1 + M)' diag(weights) (1 + M) u, without an array of 1 + M at each call.
        for _, weights, chance in self._blocks():
            images = weights * (total + self.gain * (chance @ direction))
            image += self.gain * np.real(images @ chance)
            level += float(np.real(images.sum()))
        return np.asarray(image + level)

    def information(self) -> FloatArray:
        """Return K = P J P' with P = I - 1 theta', which loses no digits where noise is strong."""
        shift = self._variance * self.theta
        matrix = np.diag(self._variance)
        matrix += float(shift @ self.theta)
        matrix -= shift[:, None]
        matrix -= shift[None, :]
        for _, weights, chance in self._blocks():
            means = self.gain * chance
            means -= (means @ self.theta)[:, None]
            matrix += _squared(means, weights)
        return matrix

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        parts = (
            np.real(weights @ (1 + self.gain * chance) ** 2)
            for _, weights, chance in self._blocks()
        )
        return np.asarray(sum(parts) + self._variance - 1)

    def system(self) -> SumOfSquares | None:
        """Return a row for each node that counts, and d."""
        ((_, weights, chances),) = self._blocks()
        rows = DenseOperator(1 + self.gain * chances[weights > 0])
        return SumOfSquares(rows, weights[weights > 0], self._variance)

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s, from those of sums of independent terms."""
        second = third = np.zeros(len(directions))
        along = directions.T
        square = along * along
        for nodes in self._blocks():
            variances, skews = self._central(nodes)
            mean, variance = nodes.chances @ along, variances @ square
            second = second + np.real(nodes.weights @ (mean * mean + variance))
            cubes = mean * (mean * mean + 3 * variance) + skews @ (square * along)
            third = third + np.real((nodes.weights * nodes.times) @ cubes)
        return np.asarray(self.gain**2 * second), np.asarray(self.gain**3 * third)


@runtime_checkable
class SetMoments(NodeMoments, Protocol):
    """Moments of reports that name a set of values, P(v|x) = c_v (1 + gain v_x), v its bits.

    c_v (1 + gain q) is a law Q of sets that favours no value, in which each is with chance q. G is
    gain T with T = sum_y theta_y v_y, and the nodes have the chances that values are in a set.
    """

    @property
    def chance(self) -> float:
        """The chance q that a value is in a set of Q."""

    @property
    def other(self) -> float:
        """The chance that a report names a value that is not the true one."""

    def first_chances(self) -> FloatArray:
        """Return how likely the first of the values, in any order, that a set of Q has is the j-th.

        What is left to 1 is the chance of the empty set.
        """

    def fading(self, time: float) -> float:
        """Return E_p e^(-t gain T): of the reports that people send, and not of Q."""


def _squared(rows: Any, weights: Any) -> FloatArray:
    """Return the real part of rows' diag(weights) rows."""
    if not np.iscomplexobj(rows):
        return np.asarray((rows.T * weights) @ rows)
    rooted = rows * np.sqrt(weights)[:, None]
    real, imaginary = rooted.real, rooted.imag
    return np.asarray(real.T @ real - imaginary.T @ imaginary)


def nodes_in_time(largest: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes t, evenly spaced on a logarithmic scale, and the logarithms of their weights.

    They begin where e^(-t gain theta) is still 1, for the largest gain times theta.
    """
    first = min(_FIRST, _FIRST - np.log(largest)) if largest > 0 else _FIRST
    times = np.exp(np.arange(first, _LAST + _STEP, _STEP))
    return times, np.log(_STEP * times) - times


@dataclass(frozen=True, eq=False)
class BitMoments(SetMoments):
    """Moments of reports of k bits, P(v|x) = c_v (1 + gain v_x), whose 2^k outputs nobody lists.

    Where bits other than the own are set with probability q = `flip`, and independently, p(v) is
    (1 + gain T) / (1 + gain q) times their law. Some hundred nodes give all moments.

    >>> import freewill as fw
    >>> theta, mine = np.array([0.2, 0.3, 0.5]), fw.RAPPOR(fw.Linear(0, 2), epsilon=2.0)
    >>> scores = mine.law().T / (mine.law().T @ theta)[:, None] - 1
    >>> listed = (scores.T * (mine.law().T @ theta)) @ scores
    >>> bool(np.allclose(listed, mine.moments(theta).information(), atol=1e-12))
    True
    """

    theta: FloatArray
    flip: float
    gain: float

    @property
    def chance(self) -> float:
        """The chance q that a bit is set."""
        return self.flip

    @property
    def other(self) -> float:
        """The same: bits other than the own are drawn by themselves."""
        return self.flip

    def first_chances(self) -> FloatArray:
        """Return q (1 - q)^j."""
        places = np.arange(self.theta.size)
        return np.asarray(self.flip * np.exp(places * np.log1p(-self.flip)))

    def fading(self, time: float) -> float:
        """Return E_p e^(-t gain T), by a product over the bits."""
        falls = np.exp(-time * self.gain * self.theta)
        bits = 1 - self.flip + self.flip * falls
        among = float((self.flip * self.gain * self.theta * falls / bits).sum())
        product = float(np.exp(np.log(bits).sum()))
        return product * (1 + among) / (1 + self.gain * self.flip)

    @cached_property
    def _nodes(self) -> Nodes:
        times, log_weights = nodes_in_time(float(self.theta.max()) * self.gain)
        fall = np.exp(-np.outer(times * self.gain, self.theta))
        mass = (1 - self.flip) + self.flip * fall
        weights = np.exp(log_weights + np.log(mass).sum(axis=1))
        return Nodes(times, weights / (1 + self.gain * self.flip), self.flip * fall / mass)

    def _blocks(self) -> tuple[Nodes]:
        return (self._nodes,)


@dataclass(frozen=True, eq=False)
class CountMoments(NodeMoments):
    """Moments of records of a bit a value, P(c | x) = b Q(c) r(c_x), c the counts of set bits.

    Under Q the counts are independent, with `chances` of 0 .. T; r(c) - 1 = `excess`, from 0 on,
    and b is `least`. With G = sum_x theta_x (r(c_x) - 1), p = b Q (1 + G), and E_p[f / (1 + G)^j]
    is an integral over t of t^(j-1) e^-t times a mean of f e^(-t G), which is a product over the
    values: what `BitMoments` does with bits, for T = 1, by sums over T + 1 counts. O(nodes k T).

    >>> import freewill as fw
    >>> record = fw.Repeated(fw.LongitudinalUnary(fw.Linear(0, 2), 1.0, 3.0), 2)
    >>> theta, law = np.array([0.2, 0.3, 0.5]), record.law().T
    >>> scores = law / (law @ theta)[:, None] - 1
    >>> listed = (scores.T * (law @ theta)) @ scores
    >>> bool(np.allclose(listed, record.moments(theta).information(), atol=1e-12))
    True
    """

    theta: FloatArray
    chances: FloatArray
    excess: FloatArray
    least: float
    gain: float = 1.0

    @cached_property
    def _tilted(self) -> tuple[Nodes, FloatArray, FloatArray]:
        """Tilt the law of counts by e^(-t theta (r - 1)): the nodes, variances and skews there."""
        times, log_weights = nodes_in_time(float(self.theta.max()) * float(self.excess.max()))
        counts = list(zip(self.chances.tolist(), self.excess.tolist(), strict=True))
        rates = np.outer(times, self.theta)
        tilts = [(chance * np.exp(-rates * more), more) for chance, more in counts]
        mass = np.sum([tilt for tilt, _ in tilts], axis=0)

        def moment(centre: Any, power: int) -> FloatArray:
            return np.asarray(sum(tilt * (more - centre) ** power for tilt, more in tilts) / mass)

        mean = moment(0.0, 1)
        weights = self.least * np.exp(log_weights + np.log(mass).sum(axis=1))
        return Nodes(times, weights, mean), moment(mean, 2), moment(mean, 3)

    def _blocks(self) -> tuple[Nodes]:
        return (self._tilted[0],)

    def _central(self, nodes: Nodes) -> tuple[FloatArray, FloatArray]:
        return self._tilted[1:]


@dataclass(frozen=True, eq=False)
class SharedLaw(ListedMoments):
    """The law of all outputs of several groups, one group below the other, at theta."""

    operator: "KroneckerOperator"
    ends: IntArray = field(kw_only=True)
    """Where the outputs of each group end."""

    def powers_by_group(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and third moment of s in each group, [group, direction]."""
        starts = np.concatenate([[0], self.ends[:-1]])
        powers = np.zeros((2, len(self.ends), len(directions)))
        shares = self.shares
        for place, row in enumerate(directions):
            scored = self.operator.forward(row) / self._divisor
            square = shares * scored * scored
            powers[0, :, place] = np.add.reduceat(square, starts)
            powers[1, :, place] = np.add.reduceat(square * scored, starts)
        return powers[0], powers[1]


@dataclass(frozen=True, eq=False)
class SharedMoments(ListedMoments):
    """Moments of one of the groups of a shared law."""

    law: SharedLaw | None = None
    place: int = 0

    @classmethod
    def of(cls, law: SharedLaw, place: int) -> "SharedMoments":
        """Return those of a group."""
        rows = np.arange(law.ends[place - 1] if place else 0, law.ends[place])
        own = law.operator.subset(rows)
        made = cls(own, law.theta, None, law, place)
        vars(made).update(mass=law.mass[rows], fitted=law.fitted[rows])
        return made


@dataclass(frozen=True, eq=False)
class SharedSum(ListedMoments):
    """The information of all groups of a shared law, by these shares of the people."""

    operator: "KroneckerOperator"
    law: SharedLaw = field(kw_only=True)
    parts: Sequence[SharedMoments] = field(kw_only=True)
    people: FloatArray = field(kw_only=True)
    """The share of each part."""

    @classmethod
    def of(cls, law: SharedLaw, parts: Sequence[SharedMoments], people: FloatArray) -> "SharedSum":
        """Return the sum over parts of their shares times what they tell."""
        by_group = np.zeros(len(law.ends))
        np.add.at(by_group, [part.place for part in parts], people)
        by_row = np.repeat(by_group, np.diff(law.ends, prepend=0))
        made = cls(law.operator, law.theta, law=law, parts=parts, people=people)
        vars(made).update(mass=by_row * law.mass, fitted=law.fitted)
        return made

    @property
    def total(self) -> float:
        """The share of all parts together."""
        return float(self.people.sum())

    def information(self) -> FloatArray:
        """Return K, k x k: from the law of pairs of values, or group by group where it is faint."""
        if not float(self.diagonal().max(initial=0.0)) > _FAINT:
            each = zip(self.parts, self.people, strict=True)
            return np.asarray(sum(share * part.information() for part, share in each))
        return np.asarray(self.operator.gram(self._weights) - self.total)

    def response(self, value: int) -> None:
        """Return nothing: outputs are no values."""
        return

    def factors(self) -> list[FloatArray]:
        """Return a matrix an attribute, of which J is the Kronecker product where all is free.

        J_i = sum_y s_y a_i(y|.) a_i(y|.)' / p_i(y) at the marginal of theta, s_y the share of the
        people whose report of attribute i is by the mechanism of y: J = J_1 x .. x J_d where theta
        is a product, and people choose for each attribute by itself.
        """
        operator, sizes = self.operator, self.operator.sizes
        table = self.theta.reshape(sizes)
        factors = []
        for axis, (factor, which) in enumerate(zip(operator.factors, operator.which, strict=True)):
            others = tuple(other for other in range(len(sizes)) if other != axis)
            marginal = table.sum(axis=others)
            rows = factor.dense()
            shares = np.bincount(which, self.shares, len(rows))
            fitted = rows @ marginal
            # The chance of an output is its people's share times p, so that s / p is this by p^2.
            by_row = np.divide(shares, fitted**2, out=np.zeros(len(rows)), where=fitted > 0)
            factors.append((rows.T * by_row) @ rows)
        return factors


def merged(weighted: Sequence[tuple[float, Moments]]) -> list[tuple[float, Any]]:
    """Return shares and moments, with all that are of one shared law as one.

    >>> merged([(1.0, "of something else")])
    [(1.0, 'of something else')]
    """
    shared: dict[int, list[tuple[float, SharedMoments]]] = {}
    rest: list[tuple[float, Any]] = []
    for share, moments in weighted:
        if isinstance(moments, SharedMoments):
            shared.setdefault(id(moments.law), []).append((share, moments))
        else:
            rest.append((share, moments))
    sums = []
    for some in shared.values():
        shares, parts = zip(*some, strict=True)
        sums.append((1.0, SharedSum.of(parts[0].law, parts, np.array(shares))))
    return sums + rest


def powers_of(moments: Sequence[Moments], directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the second and the third moment of s in each group, [group, direction]."""
    by_law: dict[int, tuple[FloatArray, FloatArray]] = {}
    rows = []
    for one in moments:
        if isinstance(one, SharedMoments) and one.law is not None:
            key = id(one.law)
            if key not in by_law:
                by_law[key] = one.law.powers_by_group(directions)
            rows.append(np.stack([by_law[key][0][one.place], by_law[key][1][one.place]]))
        else:
            rows.append(np.stack(one.powers(directions)))
    both = np.stack(rows)
    return both[:, 0], both[:, 1]


@dataclass(frozen=True, eq=False)
class MixedMoments(Moments):
    """Averages of moments with these weights: K is the mean of all K_j.

    Where a report names its law, its score is that of this law: means add up, and nothing else.
    What weights lack to 1 is the share of people who send nothing, which tells nothing.
    """

    parts: Sequence[Moments]
    weights: FloatArray

    def _pairs(self) -> list[tuple[float, Moments]]:
        return list(zip(self.weights.tolist(), self.parts, strict=True))

    def information(self) -> FloatArray:
        """Return K, k x k."""
        return np.asarray(sum(weight * part.information() for weight, part in self._pairs()))

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u for any u."""
        return np.asarray(sum(weight * part.product(direction) for weight, part in self._pairs()))

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        return np.asarray(sum(weight * part.diagonal() for weight, part in self._pairs()))

    def system(self) -> SumOfSquares | None:
        """Return all rows one below the other; None where a part is no sum of squares.

        And a row of ones for those who send nothing, without which it would not be K + 1 1'.
        """
        systems = [part.system() for part in self.parts]
        sums = [one for one in systems if one is not None]
        if len(sums) < len(systems):
            return None
        weights = [share * one.weights for share, one in zip(self.weights, sums, strict=True)]
        diagonals = [share * one.diagonal for share, one in zip(self.weights, sums, strict=True)]
        rows, silent = [one.operator for one in sums], 1 - float(self.weights.sum())
        if silent > _NOBODY:
            rows.append(DenseOperator(np.ones((1, rows[0].shape[1]))))
            weights.append(np.array([silent]))
        return SumOfSquares(StackOperator(rows), np.concatenate(weights), np.sum(diagonals, axis=0))

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second and the third moment of s."""
        powers = [np.stack(part.powers(directions)) for part in self.parts]
        second, third = np.tensordot(self.weights, np.stack(powers), 1)
        return np.asarray(second), np.asarray(third)

    @property
    def error(self) -> Any:
        """How well variances are known, where all reports are of one law and were drawn."""
        return getattr(self.parts[0], "error", None) if len(self.parts) == 1 else None

    @property
    def lift(self) -> float:
        """By how much errors are too large at most."""
        return float(getattr(self.parts[0], "lift", 0.0)) if len(self.parts) == 1 else 0.0


def about_mean(rows: FloatArray, theta: FloatArray) -> FloatArray:
    """Return h - h'theta for rows h, of which C takes nothing off, and 0 where h is constant.

    C 1 = 0, but for rounding: a mean of values near 10^9 would have no digit left.

    >>> about_mean(np.array([[1e9, 1e9 + 2], [7.0, 7.0]]), np.array([0.5, 0.5]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    moving = np.ptp(rows, axis=1) > 0
    return np.where(moving[:, None], rows - (rows @ theta)[:, None], 0.0)


def effective_share(shares: FloatArray, variances: FloatArray) -> FloatArray:
    """Return (sum s_m v_m)^2 / sum s_m v_m^2 for groups in rows: the share of people who tell.

    >>> effective_share(np.array([0.9, 0.1]), np.array([[1.0, 0.0], [1.0, 5.0]]))
    array([1. , 0.1])
    """
    most = variances.max(axis=0)
    # In units of the largest: squares of tiny variances are 0.
    scaled = np.divide(variances, most, out=np.ones_like(variances), where=most > 0)
    return np.asarray((shares @ scaled) ** 2 / (shares @ scaled**2))


def root_of(covariance: FloatArray) -> FloatArray:
    """Return R with R R' the covariance, however little of it is more than rounding."""
    roots, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(roots, 0.0)))
