"""Two bodies of evidence: what differs, by how much, and whether anything does."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtri

from freewill.core.presented import Presented
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, attributes_of, has_distance, has_raster
from freewill.domain.metrics import diameter, norm_on
from freewill.errors import EvidenceError, several
from freewill.numeric.solvers.likelihood import OnStep, one_blas_thread
from freewill.stats.covariance import OnRow
from freewill.stats.difference import equality, solves_of, written
from freewill.stats.estimators.estimate import Work
from freewill.stats.evidence import COINCIDENCE, Evidence, log_likeliest, log_repeated
from freewill.stats.functionals import Quantiles, Weights, checked_level, estimable
from freewill.stats.groups import Group
from freewill.stats.information import DENSE, OneStep, advice_on_few, fit_of, several_people
from freewill.stats.intervals import (
    band,
    checked_flag,
    interval_lines,
    intervals,
    normal_draws,
    reach_of,
)

_TRANSPORT = 10
"""Solves that an exact transport counts for: where there are any, solves have a matrix."""
_DRAWS = 1000
_PLANE_DRAWS = 100
"""Each takes an exact transport, of some milliseconds on hundreds of cells."""
_SIDES = "In the one", "In the other"
_ROWS = 64
"""Reports that do not repeat, of which one is looked for; each is next to impossible by chance."""
_FIRST = 1000
"""Outputs that are compared first: those of different people hardly agree so far."""
COLUMNS = ("one", "other", "difference", "low", "high", "standard_error")


@dataclass(frozen=True, eq=False)
class Comparison(Presented):
    """The difference other - one of each functional, their distance, and a test of equality.

    `difference`, `low`, `high` and `standard_error` are arrays, or numbers of one functional.
    `one` and `other` are what each body says by itself, kept within what it can be. `emd` is the
    earth mover's distance (total variation where values have no neighbours) between `emd_low` and
    `emd_high`, in `unit`; nan for more than 1,024 values, and for records without weights.
    `p_value` is of the hypothesis that both come from the same distribution.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=2.0)
    >>> monday = fw.collect([(coin, [0, 1], [600, 400])])
    >>> print(fw.compare(monday, fw.collect([(coin, [0, 1], [500, 500])])))
    they differ (p < 0.0001)
    total variation 0.13... (0.06... to 0.18...)
    95% intervals, one by one, of the other 1,000 people less the one 1,000 people
      yes  -0.1313  (-0.1883 to -0.07415)
      no   +0.1313  (+0.07415 to +0.1883)
    """

    of: tuple[str, ...]
    one: FloatArray
    other: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    standard_error: FloatArray
    emd: float
    emd_low: float
    emd_high: float
    p_value: float
    level: float
    joint: bool
    shares: bool
    """Whether each functional is the share of some values, and no mean, quantile or other sum."""
    people: tuple[int, int]
    alphabet: Alphabet = field(repr=False)
    advice: str = ""
    """What of either body rests on too few people for its intervals to be believed."""

    def __len__(self) -> int:
        return len(self.of)

    @property
    def differ(self) -> bool:
        """Whether equality is rejected: a p-value below 1 - level."""
        return self.p_value < 1 - self.level

    @property
    def distance(self) -> str:
        """What `emd` is called."""
        labels = not has_raster(self.alphabet) and not attributes_of(self.alphabet)
        return "total variation" if labels else "earth mover's distance"

    @property
    def unit(self) -> str:
        """What `emd` is measured in: km, the unit of the values, or shares of the people."""
        if attributes_of(self.alphabet):
            return "weighted distance"
        return ("share", "value", "km")[len(self.alphabet.extent)]

    @property
    def verdict(self) -> str:
        """What the test says, in words."""
        said = "they differ" if self.differ else "no difference is shown"
        return f"{said} ({written(self.p_value)})"

    def __str__(self) -> str:
        one, other = self.people
        kind = "all together" if self.joint else "one by one"
        apart = f"no {self.distance}: {several(self.alphabet.size, 'value')} are too many"
        if not has_distance(self.alphabet):
            apart = f"no {self.distance}: records have none without weights"
        if math.isfinite(self.emd):
            unit = " km" if self.unit == "km" else ""
            ends = f"({self.emd_low:.4g} to {self.emd_high:.4g})"
            apart = f"{self.distance} {self.emd:.4g}{unit} {ends}"
        who = f"the other {several(other, 'person')} less the one {several(one, 'person')}"
        head = f"{self.level:.0%} intervals, {kind}, of {who}"
        lines = interval_lines(self.of, self.difference, self.low, self.high, "+")
        advice = [self.advice] if self.advice else []
        return "\n".join([self.verdict, apart, head, *lines, *advice])


@one_blas_thread
def compare(
    one: Evidence | OneStep,
    other: Evidence | OneStep,
    of: Any = "shares",
    level: float = 0.95,
    joint: bool = False,
    on_step: OnStep | None = None,
    equal: bool = False,
) -> Comparison:
    """Return how two bodies of evidence, or two fits, differ: days, districts, two groups.

    People of the two must be different ones, their mechanisms need not be the same: evidence that
    is equal, or that shows to be of the same people (`shared_people`), is refused unless `equal` is
    True. `of`, `level` and `joint` are as in `intervals`. What a fit has computed for other
    questions is not computed again.

    For h'theta the difference of the two efficient estimates has the variance
    h'C_1 h / n_1 + h'C_2 h / n_2, and third cumulants add as well, one with the other sign; from
    these, intervals are made as `intervals` makes them. A quantile's two intervals are put together
    by the squares of what they reach (with `joint`, by their sum, of bands that hold both). The
    distance is that of `distance_between`, the test that of `equality`. `on_step` is called with a
    `Step` (number, gap, log_likelihood, share of the work done) after each one to the three maxima,
    of one, of other and of both together, and after each solve of a functional or of a transport.

    The cost is that of `gibu` for each and for both together, O(k^3), and up to 5,000 permutations.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> monday = fw.collect([(coin, [0], [600]), (coin, [1], [400])])
    >>> tuesday = fw.collect([(coin, [0], [540]), (coin, [1], [460])])
    >>> print(fw.compare(monday, tuesday))
    they differ (p = 0.01)
    total variation 0.1... (0.02... to 0.22...)
    95% intervals, one by one, of the other 1,000 people less the one 1,000 people
      yes  -0.1298  (-0.2236 to -0.03592)
      no   +0.1298  (+0.03592 to +0.2236)
    """
    fits = first, second = fit_of(one), fit_of(other)
    one, other = first.evidence, second.evidence
    for name, evidence in (("one", one), ("other", other)):
        several_people(evidence, f"compare, for {name},")
    if one.alphabet != other.alphabet:
        raise EvidenceError(
            f"evidence over {one.alphabet} cannot be compared with evidence over "
            f"{other.alphabet}: the alphabets must be the same."
        )
    level = checked_level(level)
    joint, equal = checked_flag("joint", joint), checked_flag("equal", equal)
    work, (weights, quantiles) = Work(on_step), estimable(of, one.alphabet)
    # Bands of a CDF solve twice for each.
    many = (2 if joint and quantiles is not None else 1) * len(weights.rows)
    if not equal:
        refuse_shared(Body(one, "one"), Body(other, "other"), "equal=True")
    rest = solves_of(one.alphabet) + _TRANSPORT * transports_on(one.alphabet)
    # And the maximum of both together.
    work.expect(2 * many + rest, first.maxima + second.maxima + 1)
    for fit in fits:
        fit.solved_by(work)
    if quantiles is None:
        names, columns, few = _of_weights(fits, weights, level, joint, work)
    else:
        heard = work.part(many), work.part(many)
        names, columns, few = _of_quantiles(fits, quantiles, level, joint, heard)
    if len(names) == 1 and (quantiles or weights).single:
        columns = columns[:, 0]
    emd, nearest, furthest = distance_between(
        first, second, level, lambda many: work.solved(_TRANSPORT * many)
    )
    return Comparison(
        of=names,
        **dict(zip(COLUMNS, columns, strict=True)),
        emd=emd,
        emd_low=nearest,
        emd_high=furthest,
        p_value=equality(one, other, work),
        level=level,
        joint=joint,
        shares=quantiles is None and weights.are_shares,
        people=(one.people, other.people),
        alphabet=one.alphabet,
        advice=" ".join(f"{who}: {text}" for who, text in zip(_SIDES, few, strict=True) if text),
    )


def _of_weights(
    fits: tuple[OneStep, OneStep], weights: Weights, level: float, joint: bool, work: Work
) -> tuple[tuple[str, ...], FloatArray, list[str]]:
    """Return names, the columns of a comparison as rows, and the advice on each body."""
    first, second = both = [fit.estimated(weights.rows, work.solved) for fit in fits]
    errors = np.hypot(first.errors, second.errors)
    finite, skewness = np.isfinite(errors), np.zeros_like(errors)
    moving = finite & (errors > 0)
    cubes = [
        some.shape.skewness[moving] * (some.errors[moving] / errors[moving]) ** 3 for some in both
    ]
    skewness[moving] = cubes[1] - cubes[0]
    critical = float(ndtri((1 + level) / 2))
    if joint and moving.any():
        matrices = [some.rows[moving] @ some.influences[moving].T / some.people for some in both]
        critical = band(matrices[0] + matrices[1], skewness[moving], level)
    down, up = reach_of(critical, skewness)
    most = weights.most - weights.least
    difference = second.values - first.values
    low, high = -most, most.copy()
    low[finite] = np.clip(difference - down * errors, -most, most)[finite]
    high[finite] = np.clip(difference + up * errors, -most, most)[finite]
    own = [np.clip(some.values, weights.least, weights.most) for some in both]
    few = [advice_on_few(weights.names, some.shape.effective_people, some.people) for some in both]
    columns = np.stack([*own, np.clip(difference, -most, most), low, high, errors])
    return weights.names, columns, few


def _of_quantiles(
    fits: tuple[OneStep, OneStep],
    quantiles: Quantiles,
    level: float,
    joint: bool,
    on_steps: tuple[OnStep | None, OnStep | None],
) -> tuple[tuple[str, ...], FloatArray, list[str]]:
    """Return names, the columns of a comparison as rows, and the advice on each body.

    One by one, the ends are sqrt(a^2 + b^2) away, a and b what the two intervals reach to the sides
    in question. All together, both bands hold in `level` of all cases where each does in the root
    of it, and then no difference is beyond what their ends leave.
    """
    each, add = (math.sqrt(level), np.add) if joint else (level, np.hypot)
    first, second = both = [
        intervals(fit, quantiles, each, joint, on_step=on_step)
        for fit, on_step in zip(fits, on_steps, strict=True)
    ]
    difference = second.point - first.point
    low = difference - add(second.point - second.low, first.high - first.point)
    high = difference + add(second.high - second.point, first.point - first.low)
    errors = np.hypot(first.standard_error, second.standard_error)
    rows = (first.point, second.point, difference, low, high, errors)
    return first.of, np.stack(list(map(np.atleast_1d, rows))), [some.advice for some in both]


def transports_on(alphabet: Alphabet) -> int:
    """Return how many exact transports an interval takes: none with a closed form, or too many.

    >>> import freewill as fw
    >>> transports_on(fw.Linear(0, 99)), transports_on(fw.Grid(4, 5, cell=1.0))
    (0, 200)
    """
    if not has_distance(alphabet):
        return 0
    closed = alphabet.size > DENSE or alphabet.transport(np.zeros(alphabet.size)) is not None
    return 0 if closed else 2 * _PLANE_DRAWS


def distance_between(
    one: OneStep, other: OneStep, level: float, on_transport: OnRow | None = None
) -> tuple[float, float, float]:
    """Return the earth mover's distance between two thetas, and an interval for it.

    The distance is a norm of the difference d: on a line the sum of |cumulative d|, without
    geometry the total variation, in the plane the least transport. The efficient estimate d + e of
    it has an error e of known covariance C_1 / n_1 + C_2 / n_2, which can be drawn. Then

        low   ||d + e|| less the quantile (1 + level) / 2 of ||e*||:
              the triangle inequality, ||d|| >= ||d + e|| - ||e||;
        high  the quantile (1 + level) / 2 of ||d + e + e*||: where f is the potential of d, with
              f'd = ||d||, it is at least f'(d + e) and z standard errors of it, and that is at
              least f'd as often as a one-sided normal interval holds;
        point ||d + e|| less what another e* adds to it, in the median: noise adds to a norm.

    So the interval holds the distance in `level` of all cases or more, where e is normal, in
    whichever geometry; both ends are kept within 0 and the largest distance of two values. Where
    values are too many for a matrix, or are records without a distance, there is none: three times
    nan.
    """
    alphabet = one.evidence.alphabet
    if alphabet.size > DENSE or not has_distance(alphabet):
        return np.nan, np.nan, np.nan
    exact = transports_on(alphabet)
    length, most = norm_on(alphabet, on_transport if exact else None), diameter(alphabet)
    difference = other.theta - one.theta
    distance = min(length(difference), most)
    if not all(np.isfinite(some.information.standard_error()).all() for some in (one, other)):
        return distance, 0.0, most
    covariance = one.information.covariance + other.information.covariance
    errors = normal_draws(covariance, _PLANE_DRAWS if exact else _DRAWS)
    # Both bodies exchanged, d has the other sign: so has each error, and lengths are the same.
    errors *= -1.0 if difference[np.argmax(np.abs(difference))] < 0 else 1.0
    share = (1 + level) / 2
    noise = [length(error) for error in errors]
    noisy = [length(difference + error) for error in errors]
    point = max(2 * distance - float(np.median(noisy)), 0.0)
    low = max(distance - quantile(noise, share), 0.0)
    high = min(quantile(noisy, share), most)
    return min(max(point, low), high), low, high


def quantile(drawn: list[float], share: float) -> float:
    """Return what another draw does not exceed with at least this probability, if any draw does.

    >>> quantile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    place = math.ceil(share * (len(drawn) + 1)) - 1
    return sorted(drawn)[min(place, len(drawn) - 1)]


class Body(NamedTuple):
    """Evidence that is held against other, and what it is called."""

    evidence: Evidence
    name: str


def shared_people(one: Body, other: Body) -> str:
    """Say by what two bodies of evidence are of the same people; nothing where nothing tells.

    They are equal; or they have a period in common, which several equal ones show though others
    could have each by chance, or all periods of one are equal ones of the other; or they were put
    together from a part that both have (its digest); or all reports of one are among those of the
    other, which has so few more that this is no chance (`log_chance`). Evidence with twice as many
    reports as another has about all of its counts whoever sent them: there only what they were put
    together from can tell.
    """
    if one.evidence == other.evidence:
        many = several(one.evidence.people, "person")
        return f"{one.name} and {other.name} hold the same evidence of {many}"
    if said := _shared_periods(one, other):
        return said
    if one.evidence.digests & other.evidence.digests:
        return (
            f"{one.name} and {other.name} have people in common: one was made from the other, or "
            f"both from the same evidence, file of reports or store"
        )
    small, large = sorted((one, other), key=lambda body: body.evidence.people)
    if log_chance(small, large) < COINCIDENCE and contained(small, large):
        more = large.evidence.people - small.evidence.people
        return (
            f"all reports of {small.name} are among those of {large.name}, which has {more:,} "
            f"more: hardly by chance"
        )
    return ""


def refuse_shared(one: Body, other: Body, override: str) -> None:
    """Refuse to compare two bodies of evidence of the same people."""
    if said := shared_people(one, other):
        raise EvidenceError(
            f"{said}, and a comparison is of different people: is one a copy, or a part?"
            f"{_apart(one, other)} If not, give {override}."
        )


def _shared_periods(one: Body, other: Body) -> str:
    """Say which periods two bodies of evidence share, where that is no chance."""
    pairs = [
        (mine, theirs)
        for mine in one.evidence.periods
        for theirs in other.evidence.periods
        if (mine.start, mine.end) == (theirs.start, theirs.end) and mine.evidence.people
        if mine.evidence == theirs.evidence
    ]
    the_very_same = any(mine.evidence is theirs.evidence for mine, theirs in pairs)
    each = [[p for p in body.evidence.periods if p.evidence.people] for body in (one, other)]
    chance = sum(min(log_repeated(mine.evidence), 0.0) for mine, _ in pairs)
    whole = len(pairs) in map(len, each)
    if not pairs or not (the_very_same or whole or chance < COINCIDENCE):
        return ""
    more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    return f"{one.name} and {other.name} both hold the people of {pairs[0][0]}{more}"


def _apart(first: Body, second: Body) -> str:
    """Say how evidence with periods is compared, where either has some: by whole periods."""
    longest = max((first.evidence, second.evidence), key=lambda some: len(some.periods)).periods
    if len(longest) < 2:
        return ""
    before, after = (
        f"evidence.between({', '.join(repr(str(day)) for day in (one.start, one.last) if day)})"
        for one in longest[-2:]
    )
    return f" To compare periods, take them apart: {before} and {after}."


def contained(small: Body, large: Body) -> bool:
    """Say whether each report of one is in the other, as often at least; no where nobody knows."""
    others = {group.mechanism.id: group for group in large.evidence.groups if group.held}
    pairs = [(group, others.get(group.mechanism.id)) for group in small.evidence.groups]
    return all(group.held and other is not None for group, other in pairs) and all(
        other is not None and _within(group, other, some)
        for some in (slice(_FIRST), slice(_FIRST, None))
        for group, other in pairs
    )


def _within(small: Group, large: Group, some: slice) -> bool:
    keys, counts = (column[some] for column in small.hashed)
    all_keys, all_counts = large.hashed
    places = np.searchsorted(all_keys, keys).clip(max=len(all_keys) - 1)
    return bool(np.all((all_keys[places] == keys) & (counts <= all_counts[places])))


def log_chance(small: Body, large: Body) -> float:
    """Bound the logarithm of the chance that others' reports hold all of small, whoever they are.

    Let N be the counts of small over K outputs, and D how many more people large has. There are
    C(D + K - 1, D) counts N + d, d >= 0, that hold N, and no distribution gives one of them more
    than n!/n^n prod c^c / c!, which falls with each count c: at most that of N (with n of large).
    A report that does not repeat has at most the chance n max_x a(z|x) to be among n others.
    """
    bound, counted = 0.0, [group for group in large.evidence.groups if group.table is not None]
    if counted:
        outputs = sum(group.mechanism.output_space.places for group in counted)
        people = sum(group.people for group in counted)
        fewer = sum(group.people for group in small.evidence.groups if group.table is not None)
        more = max(people - fewer, 0)
        ways = float(gammaln(more + outputs) - gammaln(outputs) - gammaln(more + 1))
        bound += min(0.0, ways + log_likeliest(small.evidence, people))
    for group in small.evidence.groups:
        if group.table is None and group.held:
            some: Any = np.unique(group.outputs[:_ROWS], axis=0)
            operator = group.mechanism.operator(some)
            likeliest = np.log(operator.dense().max(axis=1)) + operator.log_scale
            bound += float(np.minimum(likeliest + math.log(large.evidence.people), 0.0).sum())
    return bound
