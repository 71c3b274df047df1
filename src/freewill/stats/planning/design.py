"""What the estimate from a survey will miss, and how many people it takes to miss no more."""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, attributes_of, has_distance
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.metrics import norm_on
from freewill.numeric.solvers.quadratic import pivoted_quadratic
from freewill.stats.collect import collect
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence
from freewill.stats.information import DENSE, FEW, SHARE, Information, information_of

_SUM = 1e-7
"""How closely a projected draw sums to 1."""
_MULTIPLIERS = 100
_NOISE = 4.0
"""Weight of the sum in units of the score, at least."""
MOST_PEOPLE = 10**12
"""Beyond, a number of people is no answer."""
SIZES = (2, *(round(10 ** (half / 2)) for half in range(1, 25)))
"""Numbers of people that are simulated: two a decade, and those between are interpolated."""
ACCURACY = 0.02
"""Standard error of a mean, as a share of it, at which no more is drawn."""
_ALIKE = 1e-3
"""Spread of distances, as a share of their mean, that is none."""
_ROUGH = 5.0
"""Times the accuracy with which a step of the ladder is looked for."""
_BATCH, _PAIRS, _MOST = 10, 5, 1000
"""Surveys that are drawn at once, those of which two distances are, and the most of one size."""
_MOST_VALUES = 10**5
"""Values of all surveys of one size: one of many values takes longer, and varies less."""
_BITS, _MOST_BITS = 10**6, 10**7
"""Bits of a survey that is simulated, whose reports are drawn one by one: a hundredth of a second;
and where estimates rest on few people, some tenths."""
_LIGHT = 10**5
"""Bits of a survey up to which as many are simulated as the accuracy asks for."""
_WORK = 6 * 10**8
"""Bits of all surveys of one size."""
_FEW_WORK = 10**8
"""The same, where estimates rest on few people and vary widely: those draws would be many."""
_FEW = 20
"""People on whom an estimate rests, below which draws to first order miss by more than some %."""
Parts = tuple[tuple[str, Mechanism, float], ...]
"""Name, mechanism and share of the people of each."""
_HAIR = 1e-9
"""Share of the uniform distribution in theta, so that nothing divides by 0."""
REACH = float(ndtri(0.975))
"""Standard errors that a 95 % interval reaches to either side."""


@dataclass(frozen=True, eq=False)
class Projected:
    """Draws of the maximum likelihood estimate of n people, to first order.

    Near theta the likelihood is a parabola: with the score s ~ N(0, K) the estimate is

        argmin (u - theta)'K (u - theta) / 2 - s'(u - theta) / sqrt(n)  over  u >= 0, sum u = 1,

    which is the draw theta + C s / sqrt(n) of the efficient estimator, projected onto the simplex
    in the metric of K. Without the projection the distance is wrong by a factor of 2 where many
    values are rare. O(k^3) a draw, from the last one's support.
    """

    information: FloatArray
    theta: FloatArray

    @cached_property
    def _root(self) -> FloatArray:
        """R with R R = K: for mechanisms that tell nearly the same, draws are nearly the same."""
        roots, vectors = np.linalg.eigh(self.information)
        return np.asarray((vectors * np.sqrt(np.maximum(roots, 0.0))) @ vectors.T)

    def draws(self, people: int) -> Iterator[FloatArray]:
        """Yield estimates, the same draws for any number of people."""
        rng = np.random.default_rng(0)
        free = self.theta > 0.1 / self.theta.size
        while True:
            score = self._root @ rng.standard_normal(self.theta.size) / np.sqrt(people)
            drawn = self.solve(score, free)
            free = drawn > 0
            yield drawn

    def solve(self, score: FloatArray, free: Any) -> FloatArray:
        """Return the most likely distribution, where its score at theta is this one.

        By multipliers: with c/2 (sum u - 1)^2 added, the program has the single constraint u >= 0.
        """
        # What a sum that is not 1 costs: of the size of K where the people are, and heavier where
        # the noise is larger than K, so that the sum is near 1 from the first.
        size = float(self.theta @ self.information.diagonal())
        weight = max(size, _NOISE * float(np.ptp(score)))
        matrix = self.information + weight
        multiplier, rise = weight, 1 / weight
        before: tuple[float, float] | None = None
        for _ in range(_MULTIPLIERS):
            drawn = pivoted_quadratic(matrix, -(score + multiplier), free)
            total = float(drawn.sum())
            if abs(1 - total) < _SUM:
                break
            # The sum rises with the multiplier, by straight pieces: the secant finds the right one.
            if before is not None and (total - before[1]) * (multiplier - before[0]) > 0:
                rise = (total - before[1]) / (multiplier - before[0])
            before = multiplier, total
            multiplier += (1 - total) / rise
            free = drawn > 0
        return np.asarray(drawn / drawn.sum())


class Expected(NamedTuple):
    """An expected distance, between what it is in 90 % of surveys, and the error of the mean."""

    mean: float
    low: float
    high: float
    error: float
    simulated: bool


UNKNOWN = Expected(np.nan, np.nan, np.nan, np.nan, simulated=False)


class Sample:
    """Numbers that are drawn as long as their mean is not known well enough.

    >>> Sample(iter([1.0, 1.1] * 100)).until(accuracy=0.02).size
    50
    >>> Sample(iter([1.0] * 300)).until(accuracy=0.02).size
    200
    """

    def __init__(self, source: Iterator[float]) -> None:
        self._source, self._values = source, list[float]()

    def until(self, accuracy: float, most: int = _MOST) -> FloatArray:
        """Draw until the standard error is this share of the mean, or more would take long."""
        while len(self._values) < most and not self._enough(accuracy):
            self._values += [next(self._source) for _ in range(_BATCH)]
        return np.array(self._values)

    def _enough(self, accuracy: float) -> bool:
        """Say if the mean is known as well as that, and its standard error within a quarter.

        Which it is for n draws of kurtosis 1 + n / 4 at most: what is far off in one survey of a
        hundred must have been seen some times. Of draws all alike, four times as many.
        """
        values = np.array(self._values)
        if values.size < 1 / accuracy:
            return False
        squares = (values - values.mean()) ** 2
        variance = float(squares.mean())
        if not variance > (_ALIKE * float(values.mean())) ** 2:
            return values.size >= 4 / accuracy
        kurtosis = float((squares**2).mean()) / variance**2
        error = math.sqrt(variance / values.size)
        return error <= accuracy * values.mean() and 4 * (kurtosis - 1) <= values.size


class Pairs:
    """Distances of simulated surveys, and those to first order of the same reports: their ratio.

    Both hang together so closely that a tenth of the surveys tell it as well as the mean.
    """

    def __init__(self, source: Iterator[tuple[float, float]]) -> None:
        self._source, self._pairs = source, list[tuple[float, float]]()

    def until(self, accuracy: float, most: int) -> tuple[float, float]:
        """Return the ratio of the means and its standard error, as a share of it.

        Until that is half of the accuracy, so that it hardly adds to the error of a mean.
        """
        while True:
            if len(self._pairs) < most:
                self._pairs += [next(self._source) for _ in range(_PAIRS)]
            full, first = np.array(self._pairs).T
            if not (full.mean() > 0 < first.mean()):
                return 1.0, 0.0
            ratio = float(full.mean() / first.mean())
            error = float(np.std(full - ratio * first, ddof=1) / np.sqrt(len(full)) / full.mean())
            if error <= accuracy / 2 or len(self._pairs) >= most:
                return ratio, error


def effective_share(information: Information, rows: FloatArray) -> float:
    """Return the share of the people on whom the functional rests that rests on fewest."""
    shape = information.shape(rows, information.influences(rows))
    return float(shape.effective_people.min(initial=1.0)) / information.people


def between(first: float, second: float, share: float) -> float:
    """Return what is so far on the way from a number to another: on that of logarithms, if any.

    >>> between(1.0, 100.0, 0.5), between(0.0, 1.0, 0.25)
    (10.0, 0.25)
    """
    if min(first, second) > 0:
        return float(first * (second / first) ** share)
    return (1 - share) * first + share * second


@dataclass(frozen=True, eq=False)
class Design:
    """People with true values from theta, who choose from mechanisms in fixed shares.

    The distance E(n) of the maximum likelihood estimate to theta is the mean over simulated
    surveys, each solved by `gibu`, for n on a ladder; between two steps of it log E is straight in
    log n. Counts of reports are drawn at once, so that a survey of any size takes as long. Reports
    that do not repeat are drawn one by one, which takes its time. From some hundred people on E(n)
    is F(n), the mean over draws to first order (`Projected`), times the ratio of both, which a few
    simulated surveys tell: each has a distance to first order, too, from the score of its own
    reports. Not where an estimate rests on fewer than 20 people: F counts on what the few would
    tell, and most surveys have none of them; there it is simulated. Beyond some number r of people
    even that takes too long, and the ratio is taken from there,

        E(n) = F(n) (E(r) / F(r))^q,      q = sqrt(r / n),

    for errors of first order fall like n^-1/2.

    >>> import freewill as fw
    >>> ages, theta = fw.Linear(0, 1), np.array([0.5, 0.5])
    >>> design = Design(ages, (("all", fw.Identity(ages), 1.0),), theta)
    >>> exact = np.sqrt(0.25 / 40_000 * 2 / np.pi)  # E |share - 1/2|
    >>> bool(abs(design.expected_emd(40_000, 0.05).mean / exact - 1) < 0.15)
    True
    """

    alphabet: Alphabet
    parts: Parts
    theta: FloatArray
    _samples: dict[tuple[int, bool], Sample] = field(default_factory=dict, init=False, repr=False)
    _pairs: dict[int, Pairs] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def inside(self) -> FloatArray:
        """Theta, with a hair of the uniform distribution."""
        return np.asarray((1 - _HAIR) * self.theta + _HAIR / self.theta.size)

    @cached_property
    def information(self) -> Information:
        """What one person tells."""
        parts = [(mechanism, share, name) for name, mechanism, share in self.parts]
        return information_of(self.alphabet, parts, self.inside, people=1)

    @cached_property
    def alone(self) -> dict[str, Information]:
        """What one person of each mechanism tells."""
        return {
            name: information_of(self.alphabet, [(mechanism, 1.0, name)], self.inside, people=1)
            for name, mechanism, _ in self.parts
        }

    def variances(self, rows: FloatArray) -> FloatArray:
        """Return h'C h for each row h."""
        if self.alphabet.size == 1:  # there is nothing to be unsure of
            return np.zeros(len(rows))
        return self.information.variances(rows)

    def enough_people(self, rows: FloatArray) -> int:
        """Return from how many people on no functional rests on few (`Information.shape`)."""
        if self.alphabet.size == 1:
            return 0
        least = effective_share(self.information, rows)
        return math.ceil(FEW / least) if least < SHARE else 0

    def worth(self, rows: FloatArray) -> dict[str, float]:
        """Return what one more person of each mechanism is worth, in average people.

        By sum_h u'K_m u / sum_h u'K u with u = C h: what the person takes off the variances of
        the functionals h together, beside what the average person takes off.
        """
        influences = self.information.influences(rows)
        if not np.isfinite(influences).all():
            return dict.fromkeys(self.alone, np.nan)
        whole = float(np.sum(self.information.products(influences) * influences))
        return {
            name: float(np.sum(own.products(influences) * influences)) / whole if whole else np.nan
            for name, own in self.alone.items()
        }

    def costs(self, rows: FloatArray) -> dict[str, float]:
        """Return how many times the people each mechanism alone needs, beside no privacy.

        Infinite where one person who tells the truth is enough: all have the same. Not a number for
        records of several attributes beyond 1,024.
        """
        least = true_variance(rows, self.theta)
        if attributes_of(self.alphabet) and self.alphabet.size > DENSE:
            # A solve each, for combinations of mechanisms of which most tell of some attributes.
            return dict.fromkeys(self.alone, np.nan)
        return {
            name: float(own.variances(rows).sum()) / least if least else np.inf
            for name, own in self.alone.items()
        }

    @cached_property
    def resolved(self) -> bool:
        """Whether the reports tell all distributions apart, and values are few enough to look."""
        few = self.alphabet.size <= DENSE
        return few and bool(np.isfinite(self.variances(np.eye(self.alphabet.size))).all())

    def expected_emd(self, people: int, accuracy: float = ACCURACY) -> Expected:
        """Return the expected earth mover's distance of the maximum likelihood estimate to theta.

        By simulated surveys, until the standard error of the mean is `accuracy` of
        it. Not a number where the reports do not tell all distributions apart.
        """
        if not self.resolved or not has_distance(self.alphabet):
            return UNKNOWN
        if self.alphabet.size == 1:
            return Expected(0.0, 0.0, 0.0, 0.0, simulated=False)
        return self.expected(people, accuracy)

    def needed_for_emd(self, target: float, accuracy: float = ACCURACY) -> int | None:
        """Return the number of people whose expected distance is the target; None beyond 10^12."""
        if not self.resolved:
            return None
        return 2 if self.alphabet.size == 1 else self.needed(target, accuracy)

    def expected(self, people: int, accuracy: float) -> Expected:
        """Return the expected distance for 2 to 10^12 people."""
        upper = bisect_left(SIZES, people)
        more = self._step(upper, accuracy)
        if SIZES[upper] == people:
            return more
        less, ratio = self._step(upper - 1, accuracy), SIZES[upper] / SIZES[upper - 1]
        share = math.log(people / SIZES[upper - 1]) / math.log(ratio)
        mean, low, high, error = (
            between(first, second, share)
            for first, second in zip(less[:-1], more[:-1], strict=True)
        )
        return Expected(mean, low, high, error, less.simulated and more.simulated)

    def needed(self, target: float, accuracy: float) -> int | None:
        """Return the least number of people whose expected distance is the target, or None."""
        places, rough = range(len(SIZES)), _ROUGH * accuracy
        upper = bisect_left(places, -target, key=lambda place: -self._step(place, rough).mean)
        while upper > 0 and self._step(upper - 1, accuracy).mean <= target:
            upper -= 1
        while upper < len(SIZES) and self._step(upper, accuracy).mean > target:
            upper += 1
        if upper in (0, len(SIZES)):
            return None if upper else SIZES[0]
        less, more = (self._step(place, accuracy).mean for place in (upper - 1, upper))
        share = math.log(less / target) / math.log(less / more) if more > 0 else 1.0
        return math.ceil(between(SIZES[upper - 1], SIZES[upper], share))

    def _step(self, place: int, accuracy: float) -> Expected:
        """Return the expected distance at a step of the ladder."""
        last, doubt = min(place, self._last), 0.0
        if place == last and self._simulated(place):
            drawn = self._drawn(place, True, accuracy)
        else:
            ratio, doubt = self._ratio(last, accuracy)
            fade = math.sqrt(SIZES[last] / SIZES[place])
            drawn, doubt = ratio**fade * self._drawn(place, False, accuracy), fade * doubt
        low, high = np.quantile(drawn, [0.05, 0.95])
        mean = float(drawn.mean())
        error = math.hypot(drawn.std(ddof=1) / np.sqrt(drawn.size), doubt * mean)
        return Expected(mean, float(low), float(high), error, place <= last)

    def _simulated(self, place: int) -> bool:
        """Say if surveys of this size are light, or rest on so few people that they tell alone."""
        return self._bits * SIZES[place] <= _LIGHT or SIZES[place] < self._few

    def _ratio(self, place: int, accuracy: float) -> tuple[float, float]:
        """Return the mean distance over that to first order, and its relative standard error."""
        if SIZES[place] < self._few:
            drawn = [self._drawn(place, simulate, accuracy) for simulate in (True, False)]
            full, first = (float(one.mean()) for one in drawn)
            errors = [float(one.std(ddof=1) / one.mean()) / math.sqrt(one.size) for one in drawn]
            return full / first, math.hypot(*errors)
        if place not in self._pairs:
            self._pairs[place] = Pairs(self._paired(SIZES[place]))
        return self._pairs[place].until(accuracy, min(self._most(place, 2 * _PAIRS, _WORK), _MOST))

    def _most(self, place: int, least: int, work: int) -> int:
        """Return how many surveys of this size are simulated at the most, at least so many."""
        return max(least, int(work / max(self._bits * SIZES[place], 1)))

    def _paired(self, people: int) -> Iterator[tuple[float, float]]:
        """Yield distances of simulated surveys, and those to first order by the same scores."""
        rng, length = np.random.default_rng(people), norm_on(self.alphabet)
        inside = self.information.theta
        free = inside > 0
        while True:
            evidence = self.draw(people, rng)
            law = evidence.operator
            score = law.adjoint(evidence.weights / law.forward(inside)) - 1
            first = self.projected.solve(score, free)
            yield length(gibu(evidence).theta - self.theta), length(first - self.theta)

    def _drawn(self, place: int, simulate: bool, accuracy: float) -> FloatArray:
        """Return distances that are as many as the accuracy asks for."""
        if (place, simulate) not in self._samples:
            people, length = SIZES[place], norm_on(self.alphabet)
            rng = np.random.default_rng(people)
            thetas = self.projected.draws(people)
            if simulate:
                thetas = (gibu(self.draw(people, rng)).theta for _ in count())
            distances = (length(theta - self.theta) for theta in thetas)
            self._samples[place, simulate] = Sample(distances)
        most = min(max(_MOST_VALUES // self.theta.size, 2 * _BATCH), _MOST)
        if simulate:
            most = min(most, self._most(place, 2 * _BATCH, _FEW_WORK))
        return self._samples[place, simulate].until(accuracy, most)

    @cached_property
    def projected(self) -> Projected:
        """Draws of the estimate to first order."""
        information = self.information
        return Projected(information.products(np.eye(self.theta.size)), information.theta)

    @cached_property
    def _bits(self) -> float:
        """How many bits, of reports that are drawn one by one, a person sends on average."""
        shares = [share for _, _, share in self.parts]
        single = (share for share, law in zip(shares, self._reports, strict=True) if law is None)
        return self.theta.size * sum(single)

    @cached_property
    def _few(self) -> float:
        """From how many people on no value's share rests on few."""
        return _FEW / effective_share(self.information, np.eye(self.theta.size))

    @cached_property
    def _last(self) -> int:
        """The last step that is simulated."""
        if not self._bits:
            return len(SIZES)
        people = max(_BITS / self._bits, min(self._few, _MOST_BITS / self._bits))
        return bisect_left(SIZES, people)

    def draw(self, people: int, rng: np.random.Generator) -> Evidence:
        """Draw evidence: the counts of reports at once, or report by report where they are bits."""
        who = rng.multinomial(people, np.array([share for _, _, share in self.parts]))
        parts: list[Any] = []
        for (_, mechanism, _), many, law in zip(self.parts, who, self._reports, strict=True):
            if many and law is None:
                values = rng.choice(self.theta.size, size=many, p=self.theta)
                parts.append((mechanism, mechanism.obfuscate(values, rng)))
            elif many and law is not None:
                parts.append((mechanism, mechanism.outputs(), rng.multinomial(many, law)))
        return collect(parts)

    @cached_property
    def _reports(self) -> list[FloatArray | None]:
        """The distribution of each mechanism's reports; of bits, none."""
        laws: list[FloatArray | None] = []
        for _, mechanism, _ in self.parts:
            if mechanism.output_space.alphabet is None:
                laws.append(None)
            else:
                law = self.theta @ mechanism.law()
                laws.append(np.maximum(law, 0) / law.sum())
        return laws


def true_variance(rows: FloatArray, theta: FloatArray) -> float:
    """Return the variance of functionals together, of one person who tells the truth.

    >>> true_variance(np.array([[0.0, 1.0]]), np.array([0.5, 0.5]))
    0.25
    """
    # About each mean, so that it is 0 and no rounding where all have the same value.
    return float(sum((row - row @ theta) ** 2 @ theta for row in rows))


def needed_for_interval(variances: FloatArray, target: float) -> int | None:
    """Return the least n with z sqrt(h'C h / n) <= target for all h; None beyond 10^12.

    >>> needed_for_interval(np.array([0.25]), 0.01)
    9604
    """
    widest = float(np.sqrt(variances.max()))
    if widest == 0:
        return 2
    # A tiny target asks for more people than any number counts.
    with np.errstate(over="ignore"):
        many = float(np.square(np.float64(widest * (REACH / target))))
    return max(2, math.ceil(many * (1 - 1e-12))) if many <= MOST_PEOPLE else None
