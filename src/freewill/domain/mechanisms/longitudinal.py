"""Longitudinal protocols: k-RR and unary encodings in two steps, by two epsilons.

`epsilon` is what a single report promises and `epsilon_inf`, which is larger, what all reports of a
lifetime promise together. Arcolezi, Couchot, Al Bouna and Xiao, "Improving the utility of locally
differentially private protocols for longitudinal and multidimensional frequency estimates" (2022).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.draws.chance import HALF, Chance, Dyadic, exponential, precision
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Noisy
from freewill.domain.mechanisms.parameters import checked_epsilon
from freewill.domain.mechanisms.randomised_response import KRR, RAPPOR, blind_answer
from freewill.domain.mechanisms.two_step import (
    BitSteps,
    TwoStep,
    TwoStepBits,
    log_odds_ratio,
    through,
)
from freewill.domain.mechanisms.unary import OUE, UnaryEncoding
from freewill.errors import ParameterError, none_of, shown
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.blocks import ReportRows, rows_of

ProtocolName = Literal["L-SUE", "L-OUE", "L-OSUE", "L-SOUE"]
_SPARE = 64
"""Binary digits of a chance beyond those that its size and its precision ask for."""


def _checked_lifetime(mechanism: Any) -> None:
    """Check epsilon_inf, and that epsilon is below it and below what its second step can give."""
    name, epsilon = mechanism.name, mechanism.epsilon
    try:
        lifetime = checked_epsilon(mechanism.epsilon_inf, name, mechanism._largest_epsilon())
    except ParameterError as error:
        raise ParameterError(f"{error}".replace("epsilon=", "epsilon_inf=", 1)) from None
    object.__setattr__(mechanism, "epsilon_inf", lifetime)
    if epsilon >= lifetime:
        raise ParameterError(
            f"epsilon={epsilon:g} and epsilon_inf={lifetime:g} for {name}: epsilon, of a single "
            f"report, must be below epsilon_inf, of all reports together. Where both are the same "
            f"there is no second step: send the first report again."
        )


def _digits(mechanism: Any) -> int:
    """Return how many binary digits a chance of a second step has: e^-epsilon has leading zeros."""
    zeros: int = math.ceil(1.5 * mechanism.epsilon_inf)
    return precision(Dyadic.of(mechanism.epsilon).doubled(-1)) + zeros + _SPARE


@dataclass(frozen=True)
class LongitudinalKRR(KRR, TwoStep):
    """Keep a k-RR answer of the value, and report it through k-RR anew each time (L-GRR).

    Each step replaces what it is given by any value with a chance, r1 and r2. A single report is
    k-RR with 1 - r = (1 - r1) (1 - r2), of epsilon; the permanent answer is k-RR of epsilon_inf.
    With n_y the number of y in T reports, g = e^(epsilon of the second step) and S = sum_y g^n_y,

        P(record | x) = q2^T ((1 - r1) g^n_x + r1/k S).

    Promises epsilon-LDP a report and epsilon_inf-LDP of all, both tightly. Products cost O(k +
    outputs). Arcolezi et al. 2022; their package's second step is stronger than epsilon asks for
    as soon as k > 2 (docs/coming-from/multi-freq-ldpy.md).

    >>> import freewill as fw
    >>> twice = fw.LongitudinalKRR(fw.Linear(0, 9), epsilon=1.0, epsilon_inf=3.0)
    >>> [round(twice.epsilon_of(times), 3) for times in (1, 2, 10, 100)]
    [1.0, 1.976, 3.0, 3.0]
    """

    epsilon_inf: float
    name: ClassVar[str] = "longitudinal-k-rr"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked_lifetime(self)

    @cached_property
    def chances(self) -> tuple[Chance, Chance]:
        """The chances r1 and r2 of a blind answer in each step, the latter rounded up."""
        size = self.alphabet.size
        first, whole = (blind_answer(epsilon, size) for epsilon in (self.epsilon_inf, self.epsilon))
        digits = _digits(self) + size.bit_length()
        (_, kept), (_, wanted) = first.weights, whole.weights
        # (1 - r) / (1 - r1), rounded down: what is kept by both steps is kept by k-RR as well.
        share = (wanted << digits + first.shift - whole.shift) // kept
        return first, Chance(min(share, (1 << digits) - 1), digits).complement

    @cached_property
    def replaced(self) -> Chance:
        """The chance r = 1 - (1 - r1) (1 - r2) of a blind answer in one of the steps."""
        first, second = self.chances
        return through(first.complement, second.complement, Chance(0, 0)).complement

    def program(self) -> None:
        """Return nothing: a browser draws a single report as k-RR of the same epsilon."""

    def _replaced(self, values: IntArray, chance: Chance, rng: np.random.Generator) -> IntArray:
        blind = rng.integers(0, self.alphabet.size, size=values.shape)
        replaced = drawn(chance, values.size, rng).reshape(values.shape)
        return np.where(replaced, blind, values)

    def answers(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Keep each value, or replace it by any."""
        return self._replaced(truth, self.chances[0], rng)

    def fresh_reports(self, answers: Reports, rng: np.random.Generator) -> IntArray:
        """Keep each answer, or replace it by any."""
        return self._replaced(np.asarray(answers, np.int64), self.chances[1], rng)

    def answer(self, value: int, source: Source) -> int:
        """Toss the first coin; replaced, the answer is any value."""
        return below(self.alphabet.size, source) if self.chances[0].coin(source) else value

    def fresh_report(self, answer: Any, source: Source) -> int:
        """Toss the second coin; replaced, the report is any value."""
        return below(self.alphabet.size, source) if self.chances[1].coin(source) else int(answer)

    def lifetime(self) -> Guarantee:
        """Return epsilon_inf."""
        return Guarantee("ldp", self.epsilon_inf)

    @cached_property
    def _log_gain(self) -> float:
        """Return log g = log (1 + k (1 - r2) / r2)."""
        blind, kept = self.chances[1].weights
        return float(np.log1p(self.alphabet.size * kept / blind))

    def epsilon_of(self, times: int) -> float:
        """Return log P(all T reports are x | x) / P(all are x | x'), the largest there is."""
        counts = np.zeros((1, self.alphabet.size))
        counts[0, 0] = times
        return float(self._levels(counts)[0][0, 0])

    def _levels(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log ((1 - r1) g^n_x + r1/k S), less its value where n_x is 0; and that."""
        first, gain = self.chances[0], self._log_gain
        blind, kept = first.nearest / self.alphabet.size, first.complement.nearest
        most = counts.max(axis=1, initial=0)
        # In units of g^max n, which may be too large a number.
        powers = np.exp((counts - most[:, None]) * gain)
        base = kept * np.exp(-most * gain) + blind * powers.sum(axis=1)
        rise = powers * -np.expm1(-counts * gain)
        return np.log1p(kept * rise / base[:, None]), np.log(base) + most * gain

    def _counted(self, parts: Sequence[Reports]) -> FloatArray:
        """Return how often each value was reported, [record, value]."""
        records = np.arange(len(parts[0]))
        counts = np.zeros((records.size, self.alphabet.size))
        for part in parts:
            counts[records, part] += 1
        return counts

    def record_operator(self, parts: Sequence[Reports]) -> Operator:
        """Return the law of records, O(records (T + k)) a product, made block by block."""
        other = float(np.log(self.chances[1].nearest / self.alphabet.size))

        def make(some: Any) -> ReportRows:
            levels, scale = self._levels(self._counted([part[some] for part in parts]))
            most = levels.max(axis=1, initial=0)
            return ReportRows(np.exp(levels - most[:, None]), scale + most + len(parts) * other)

        return rows_of(make, len(parts[0]), self.alphabet.size)

    def record_log_ratios(self, parts: Sequence[Reports]) -> FloatArray:
        """Return the logarithm of the law, less that of a value that was never reported."""
        return self._levels(self._counted(parts))[0]

    def record_weights(self, parts: Sequence[Reports]) -> list[list[int]]:
        """Add up the whole numbers of all permanent answers."""
        (blind, kept), (stray, true) = (chance.weights for chance in self.chances)
        places = range(self.alphabet.size)
        size, rows = len(places), []
        for record in zip(*(part.tolist() for part in parts), strict=True):
            chances = [math.prod(stray + size * true * (z == y) for z in record) for y in places]
            rows.append([size * kept * own + blind * sum(chances) for own in chances])
        return [list(row) for row in zip(*rows, strict=True)]


@dataclass(frozen=True)
class LongitudinalUnary(UnaryEncoding, Noisy, TwoStepBits):
    """Keep a unary encoding of the value, and report it through another one each time.

    The `protocol` names both: the permanent bits are symmetric (SUE, RAPPOR's) or optimised (OUE,
    p = 1/2), and so is what reports them.

        L-SUE    SUE, then SUE    (RAPPOR with f, p = 1 - q)
        L-OUE    OUE, then OUE
        L-OSUE   OUE, then SUE    the least error of these, as a rule
        L-SOUE   SUE, then OUE

    The first step has epsilon_inf, and the second the least noise with which a single report has
    epsilon: its chance q2 is the smallest of as many binary digits, found in whole numbers. A
    single report is a unary encoding of p = p1 p2 + (1 - p1) q2 and q = q1 p2 + (1 - q1) q2.
    Promises epsilon-LDP a report and epsilon_inf-LDP of all, both tightly. Products cost
    O(reports * k / 8). Arcolezi et al. 2022.

    >>> import freewill as fw
    >>> twice = fw.LongitudinalUnary(fw.Linear(0, 9), epsilon=1.0, epsilon_inf=3.0)
    >>> [round(twice.epsilon_of(times), 3) for times in (1, 2, 10, 100)]
    [1.0, 1.871, 3.0, 3.0]
    """

    alphabet: Any
    epsilon: float
    epsilon_inf: float
    protocol: ProtocolName = "L-OSUE"
    name: ClassVar[str] = "longitudinal-unary"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked_lifetime(self)
        if not isinstance(self.protocol, str) or self.protocol not in get_args(ProtocolName):
            raise ParameterError(none_of("protocol", self.protocol, get_args(ProtocolName)))
        most = self._most
        if self.epsilon >= most:
            raise ParameterError(
                f"epsilon={shown(self.epsilon)} for {self.protocol} with epsilon_inf="
                f"{self.epsilon_inf:g}: must be below {most:.6g}, which is left where a set bit is "
                f"reported by a coin. Take L-OSUE or L-SUE, or a smaller epsilon."
            )

    @cached_property
    def _first(self) -> tuple[Chance, Chance]:
        """The chances of the permanent bits."""
        symmetric = self.protocol in ("L-SUE", "L-SOUE")
        kind: Any = RAPPOR if symmetric else OUE
        bits = kind(self.alphabet, self.epsilon_inf)
        return bits.own, bits.other

    @property
    def _coin(self) -> bool:
        """Whether a permanent bit that is set is reported by a coin."""
        return self.protocol in ("L-OUE", "L-SOUE")

    @property
    def _most(self) -> float:
        """Return the epsilon of a single report without any noise on bits that are not set."""
        if not self._coin:
            return self.epsilon_inf
        return log_odds_ratio(*(through(first, HALF, Chance(0, 0)) for first in self._first))

    @cached_property
    def steps(self) -> BitSteps:
        """The four chances, of which the last is the least that keeps epsilon, by bisection.

        In whole numbers: p (1 - q) e^-epsilon <= q (1 - p), with e^-epsilon rounded up.
        """
        digits = _digits(self)
        total, working, halvings = exponential(Dyadic.of(self.epsilon), digits)
        rare, shift = total + (total >> digits) + 1, working + halvings

        def steps(numerator: int) -> BitSteps:
            no = Chance(numerator, digits)
            return BitSteps(*self._first, HALF if self._coin else no.complement, no)

        low, high = 0, 1 << digits - 1
        while high - low > 1:
            middle = (low + high) // 2
            (yes, seldom), (stray, rest) = (chance.weights for chance in steps(middle).once)
            kept = yes * rest * rare <= stray * seldom << shift
            low, high = (low, middle) if kept else (middle, high)
        return steps(high)

    @cached_property
    def own(self) -> Chance:
        """The chance p of the own bit in a single report."""
        return self.steps.once[0]

    @cached_property
    def other(self) -> Chance:
        """The chance q of any other bit in a single report."""
        return self.steps.once[1]

    def lifetime(self) -> Guarantee:
        """Return epsilon_inf."""
        return Guarantee("ldp", self.epsilon_inf)
