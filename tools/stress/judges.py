"""What is wrong with an answer, if anything: estimates, intervals, plans and comparisons.

Each judge is given a subject and what a function returned, and says what is wrong in words; nothing
where all is right. "not finite" stands first where it is a number that is none.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import freewill as fw
from freewill.core.types import FloatArray
from tools.stress.covariance import Bounds, Covariance
from tools.stress.oracle import Oracle
from tools.stress.subject import Subject

_ROUNDING = 2.0**-53
NOT_FINITE = "not finite"
WIDE = "wide"
"""First word of what is no fault: an error that is wider than it need be, and says so."""
_NEAR = 0.01
"""Of a standard error: how far estimates and errors may be from the oracle's."""
_NORMAL = 1.959963984540054
_HAIR = 1e-9
"""Share of the uniform distribution in the theta that is planned for."""
_SAME = 1e-6
_UNSAID = ", and nothing says so"


def not_finite(**numbers: ArrayLike) -> str:
    """Name the first of some numbers that is not finite."""
    for name, value in numbers.items():
        array = np.asarray(value, dtype=np.float64)
        if not np.isfinite(array).all():
            return f"{NOT_FINITE}: {name} has {array[~np.isfinite(array)].ravel()[0]}"
    return ""


def off_the_simplex(theta: FloatArray) -> str:
    """Say how theta fails to be a distribution, to the rounding of its sum."""
    if fault := not_finite(theta=theta):
        return fault
    if theta.min() < 0:
        return f"theta has {theta.min()}"
    off = abs(float(theta.astype(np.longdouble).sum() - 1))
    return f"theta sums to 1 +- {off:.3g}" if off > (theta.size + 4) * _ROUNDING else ""


def uncertified(oracle: Oracle, estimate: Any, theta: FloatArray, slack: float = 0.0) -> str:
    """Say whether L or the gap of an estimate is not that of theta, but for rounding and slack."""
    truth = oracle.truth(theta)
    if np.isneginf(truth.value):
        impossible = np.isneginf(estimate.log_likelihood) and np.isposinf(estimate.gap)
        return "" if impossible else f"L is {estimate.log_likelihood!r}, true -inf"
    if fault := not_finite(L=estimate.log_likelihood, gap=estimate.gap):
        # A gap that overflows is no bound, and says so.
        return "" if np.isposinf(estimate.gap) and truth.gap > _HUGE_GAP else fault
    if abs(estimate.log_likelihood - truth.value) > truth.value_error + slack:
        return f"L is {estimate.log_likelihood!r}, true {truth.value!r} +- {truth.value_error:.1g}"
    if _HUGE_GAP > truth.gap > estimate.gap + truth.gap_error + slack:
        return f"the gap is understated: told {estimate.gap:.4g}, true {truth.gap:.4g}"
    return ""


_HUGE_GAP = 300.0
"""Gap beyond which a probability is next to no number, and its inverse none."""


def one_step(subject: Subject, estimate: fw.Estimate) -> str:
    """Judge the efficient estimate by its formula, clipped as its docstring says."""
    fault = off_the_simplex(estimate.theta)
    fault = fault or uncertified(subject.oracle, estimate, estimate.theta, _left(subject))
    raw = subject.one_step
    if fault or raw is None:
        return fault
    line = isinstance(subject.alphabet, fw.Linear) or 1 in (subject.alphabet.plane or ())
    wanted = _monotone(raw) if line else _projected(raw)
    off = float(np.abs(wanted - estimate.theta).max())
    step = float(np.linalg.norm(raw - subject.inside))
    return (
        "" if off <= _SAME + _NEAR * step else f"theta is {off:.3g} off, after a step of {step:.3g}"
    )


def _left(subject: Subject) -> float:
    """Return what products by FFT may leave of L: a tenth of the tolerance, .01 / n."""
    planar = any(part.kind == "planar" for part in subject.parts)
    return 0.001 / subject.people if planar else 0.0


def _monotone(theta: FloatArray) -> FloatArray:
    """Return the distribution whose CDF is the nearest that rises, by pooling adjacent steps."""
    pools: list[tuple[float, int]] = []
    for height in np.cumsum(theta)[:-1]:
        mean, many = float(height), 1
        while pools and pools[-1][0] >= mean:
            before, others = pools.pop()
            mean, many = (before * others + mean * many) / (others + many), others + many
        pools.append((mean, many))
    rising = np.repeat([mean for mean, _ in pools], [many for _, many in pools])
    return np.diff(np.concatenate([[0.0], np.clip(rising, 0, 1), [1.0]]))


def _projected(theta: FloatArray) -> FloatArray:
    """Return the nearest distribution: what a bisection finds is to be taken from all values."""
    low, high = float(theta.min()) - 1, float(theta.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(theta - middle, 0).sum() > 1 else (low, middle)
    return np.asarray(np.maximum(theta - high, 0))


def intervals(subject: Subject, answers: Mapping[str, fw.Intervals]) -> str:
    """Judge intervals of several questions; say that they are wide where that is all."""
    wide = ""
    for question, answer in answers.items():
        said = _interval(subject, question, answer)
        if said and not said.startswith(WIDE):
            return said if said.startswith(NOT_FINITE) else f"{question}: {said}"
        wide = wide or said
    return wide


def _interval(subject: Subject, question: str, answer: fw.Intervals) -> str:
    fault, rows = intervals_hold(answer), weights(subject, question)
    if fault or rows is None:
        return fault
    point, low, high, errors = answer.columns().values()
    least, most = rows.min(axis=1), rows.max(axis=1)
    if not ((least <= low) & (high <= most)).all():
        return "an interval ends beyond what can be"
    many = ~subject.few(rows)
    # What rests on few people reaches by Student's quantiles, less a term of its skewness; what is
    # lost, as far as the share of its set is known.
    reach = _NORMAL * (1 - _HAIR) * np.where(many & np.isfinite(errors), errors, 0.0)
    if not (low <= np.maximum(point - reach, least)).all():
        return "an interval ends before 1.96 standard errors below"
    if not (high >= np.minimum(point + reach, most)).all():
        return "an interval ends before 1.96 standard errors above"
    some = rows[many]
    fault = beside(subject.covariance, some, errors[many] ** 2 * subject.people)
    if answer.joint and fault.endswith(_UNSAID):
        fault = ""  # bands take in what was observed, where that is more
    if (fault and not fault.startswith(WIDE)) or subject.one_step is None or not many.any():
        return fault
    wanted = np.clip(some @ subject.one_step, least[many], most[many])
    unit = np.maximum(errors[many], _SAME * np.abs(some).max(axis=1) + np.finfo(float).tiny)
    off = np.abs(point[many] - wanted) / unit
    return f"a centre is {off.max():.3g} standard errors off" if off.max() > 0.05 else fault


def weights(subject: Subject, question: str) -> FloatArray | None:
    """Return what a question asks for, a row a functional; None of quantiles."""
    places = np.arange(subject.size)
    if question.startswith("median"):
        return None
    if question == "mean":
        decoded = np.asarray(subject.alphabet.decode(places), dtype=float)
        return np.asarray(decoded.reshape(subject.size, -1).T)
    if question == "cdf":
        return np.tri(subject.size)[:-1]
    return subject.rows


def beside(covariance: Covariance, rows: FloatArray, variances: FloatArray) -> str:
    """Hold variances of one person to the dense ones: within 2 %, or infinite."""
    bounds: Bounds = covariance.bounds(rows)
    # A functional that is constant has rounding for a variance.
    floor = np.square(_HAIR * np.abs(rows).max(axis=1))
    small = variances < (1 - 2 * _NEAR) * bounds.low - floor
    if small.any():
        ratio = np.sqrt(variances[small] / bounds.low[small]).min()
        return f"a standard error is {ratio:.4g} of the true one"
    large = variances > (1 + 2 * _NEAR) * bounds.high + floor
    unsaid = large & np.isfinite(variances)
    if unsaid.any():
        with np.errstate(divide="ignore"):
            ratio = np.sqrt(variances[unsaid] / bounds.high[unsaid]).max()
        return f"a standard error is {ratio:.4g} of the true one{_UNSAID}"
    return f"{WIDE}: {large.sum()} of {large.size} are infinite, and need not be" * bool(
        large.any()
    )


def plan(subject: Subject, answer: fw.Plan) -> str:
    """Judge a plan of two numbers of people, the second four times the first."""
    errors = answer.standard_error
    if np.isnan(errors).any():
        return f"{NOT_FINITE}: a standard error of nan"
    if np.isinf(errors).any() and not answer.advice:
        return "an error is infinite, and nothing says so"
    finite = np.isfinite(errors[0])
    if not np.allclose(errors[0, finite], 2 * errors[1, finite], rtol=_HAIR, atol=0):
        return "errors of four times the people are not half as large"
    theta = (1 - _HAIR) * subject.theta / subject.theta.sum() + _HAIR / subject.size
    variances = errors[0] ** 2 * answer.people[0]
    fault = beside(Covariance(subject.parts, theta), subject.rows, variances)
    return fault or _needed(answer, variances) or _worth(answer) or _distances(answer)


def _worth(answer: fw.Plan) -> str:
    """Hold the worth of a person, averaged over the people, to one person."""
    worth = np.array(list(answer.worth.values()))
    whole = float(np.array(list(answer.shares.values())) @ worth)
    right = np.isnan(worth).any() or abs(whole - 1) < _NEAR
    return "" if right else f"the average person is worth {whole:.4g} people"


def _needed(answer: fw.Plan, variances: FloatArray) -> str:
    """Hold the number of people to (z standard deviations / target)^2."""
    assert answer.target is not None
    people = (_NORMAL / answer.target) ** 2 * float(variances.max())
    if answer.needed is None:
        return (
            "" if people > 0.99e12 else f"no number of people is given, and {people:.4g} are enough"
        )
    off = answer.needed - people
    return (
        ""
        if -1e-9 * people <= off <= 2 + 1e-9 * people
        else (f"{answer.needed:,} people are needed, true {people:.6g}")
    )


def _distances(answer: fw.Plan) -> str:
    """Hold expected distances to what they cannot be."""
    if np.isnan(answer.emd).any():
        return "" if answer.advice else f"{NOT_FINITE}: a distance of nan, and nothing says so"
    if fault := not_finite(emd=answer.emd, low=answer.emd_low, high=answer.emd_high):
        return fault
    if not ((answer.emd_low >= 0) & (answer.emd_low <= answer.emd_high)).all():
        return f"distances from {answer.emd_low} to {answer.emd_high}"
    # Where errors rest on few people, which is said, more of those who tell little may lead astray.
    noise = 5 * float(np.hypot(*answer.emd_error)) + _SAME
    return (
        ""
        if answer.advice or answer.emd[1] <= answer.emd[0] + noise
        else (f"four times the people are further off: {answer.emd[0]:.4g}, {answer.emd[1]:.4g}")
    )


def compared(subject: Subject, answer: fw.Comparison) -> str:
    """Judge the comparison of evidence with itself."""
    numbers = {name: getattr(answer, name) for name in ("difference", "low", "high", "p_value")}
    if fault := not_finite(**numbers):
        return fault
    if np.isnan(answer.standard_error).any():
        return f"{NOT_FINITE}: a standard error of nan"
    if np.abs(answer.difference).max() > 0 or not _LEVEL < answer.p_value <= 1:
        off = np.abs(answer.difference).max()
        return f"evidence differs from itself by {off:.3g}, p = {answer.p_value:.3g}"
    variances = np.atleast_1d(answer.standard_error**2 * subject.people / 2)
    many = ~subject.few(subject.rows)
    fault = beside(subject.covariance, subject.rows[many], variances[many])
    return _distance(subject, answer) or fault


def _distance(subject: Subject, answer: fw.Comparison) -> str:
    """Hold a distance to its interval; there is none of many values."""
    if np.isnan(answer.emd):
        return "" if subject.size > _MATRIX else f"{NOT_FINITE}: a distance of nan"
    held = 0 <= answer.emd_low <= answer.emd <= answer.emd_high
    return "" if held else f"distance {answer.emd}, {answer.emd_low} to {answer.emd_high}"


_LEVEL = 0.05
_MATRIX = 1024
"""Values up to which there is a distance."""


def intervals_hold(answer: fw.Intervals) -> str:
    """Judge what intervals of any kind are: ends about a centre, errors that are numbers."""
    point, low, high, errors = answer.columns().values()
    if fault := not_finite(point=point, low=low, high=high):
        return fault
    if np.isnan(errors).any() or (errors < 0).any():
        return f"{NOT_FINITE}: a standard error of {errors.min()}"
    within = (low <= point) & (point <= high)
    if within.all():
        return ""
    place = int(np.argmin(within))
    return f"{point[place]} is not within {low[place]} and {high[place]}"
