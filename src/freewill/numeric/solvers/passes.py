"""Certified maximum likelihood from passes over the reports: for bit reports, which do not repeat.

A pass returns (L, g, H) summed over parts and keeps nothing about single reports, so that the
parts may lie in memory, in files or on other machines. A small quadratic program does the rest.
docs/solvers.md derives the steps; the names here are those of that page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import Sums
from freewill.numeric.simplex import project
from freewill.numeric.solvers.likelihood import (
    POOR,
    Certificate,
    OnStep,
    Part,
    Solution,
    Status,
    Trace,
    gap_of,
    pulled_inside,
    rounding_of,
)
from freewill.numeric.solvers.quadratic import nonnegative_quadratic

_UNIFORM = 0.05
"""Share of the uniform distribution in the start: from zero, a value is slow to return."""
_OWN_START = 3
"""Passes made where a start is given up: at it, for the bit sums, and at what these give."""
_SAMPLE = 100
"""Reports a value that H is taken from: its noise 2 sqrt(k / sample) is then 20 %."""
_CHEAP_VALUES = 32
"""Size of the alphabet at which H of all reports costs as much as L and g, as measured."""
_LONG_STEP = 0.02
"""Mean relative change of p beyond which H, which changes by twice that, is taken anew."""
_BOLD_STEP = 0.06
"""Mean relative change of p beyond which no value is thrown to zero at once."""
_PATIENCE = 4
"""Steps without a smaller gap after which the sample, or else rounding, is blamed."""
_FINER = 8
"""Factor by which the sample then grows: its noise falls to about a third."""


@np.errstate(all="ignore")
def solve(
    passes: "Passes",
    tolerance: float,
    max_steps: int,
    start: FloatArray | None = None,
    hessian: FloatArray | None = None,
    on_step: OnStep | None = None,
) -> Solution:
    """Maximise L(theta) over the simplex; `steps` counts the passes over the reports.

    A step minimises y'Hy/2 + c'y over y >= 0, c = 1 - g - H theta: the second-order model of
    -L + sum(theta), at whose minimum theta sums to 1. H is taken from one bit report in `stride`,
    is taken anew only after long steps or slow ones, and is otherwise corrected by the change of
    the gradient (BFGS). L, g and with them the certificate are always those of all reports.

    The start costs two passes, or one where a good `start` is given; with the `hessian` of an
    earlier solution, that pass need not take H. A step costs one pass, which the next step needs
    anyhow, and another each time it must be shortened. O(k^2) memory beside the reports, O(k^3)
    time a step.
    """
    trace = Trace(on_step)
    state = best = _first(passes, start, hessian, max_steps)
    trace.add(state.made, state.certificate.gap, state.certificate.value)
    while best.certificate.gap > tolerance and state.made < max_steps:
        if state.hessian is None or (state.tired and state.gain <= _rounding(state.sums)):
            # There is no model, or only rounding moves L: no step can gain any more.
            break
        if state.tired:
            passes = passes.finer()
        targets, length = _targets(state.hessian, state.sums.slope, state.theta)
        # The three occasions on which H is taken anew (docs/solvers.md).
        fresh = (
            state.tired
            or length > _LONG_STEP + passes.noise
            or passes.fresh_hessian_pays(state.certificate.gap / tolerance, state.rate)
        )
        state = _step(passes, state, targets, fresh, max_steps - state.made)
        if np.isinf(state.sums.value):
            break
        trace.add(state.made, state.certificate.gap, state.certificate.value)
        if state.certificate.gap < best.certificate.gap:
            best = state = replace(state, idle=0)
    if best.certificate.gap <= tolerance:
        return best.solution(Status.CERTIFIED, best.made, trace)
    status = Status.MAX_STEPS if state.made >= max_steps else Status.STALLED
    return best.solution(status, state.made, trace)


@dataclass(frozen=True, eq=False)
class _State:
    """Where the method stands: a point, the model's H there, and how the last step went."""

    theta: FloatArray
    sums: Sums
    certificate: Certificate
    hessian: FloatArray | None
    """H, exact, sampled or corrected; None where it is not finite."""
    made: int
    """Passes made so far."""
    rate: float = np.inf
    """Logarithm of the factor by which the last step shrank the gap."""
    gain: float = np.inf
    """What the last step added to L."""
    idle: int = 0
    """Steps since the gap was the smallest so far."""

    @classmethod
    def at(
        cls, passes: "Passes", theta: FloatArray, made: int, hessian: FloatArray | None = None
    ) -> "_State":
        """Make a pass at theta, which takes H unless it is given."""
        sums = passes.sums(theta, fresh=hessian is None)
        held = sums.hessian if hessian is None else hessian
        return cls(theta, sums, passes.certificate(theta, sums), held, made)

    @property
    def tired(self) -> bool:
        """Whether so many steps did not shrink the gap that the sample of H is to blame."""
        return self.idle >= _PATIENCE

    def solution(self, status: Status, made: int, trace: Trace) -> Solution:
        """Return this point as the answer."""
        return Solution(self.theta, self.certificate, made, status, trace.gaps, self.hessian)


def _first(
    passes: "Passes", start: FloatArray | None, hessian: FloatArray | None, budget: int
) -> _State:
    """Begin at the debiased bit sums, or at `start`.

    A poor one is given up for them or, where the budget of passes is too small, pulled inside.
    """
    if start is None:
        return _State.at(passes, passes.start(), 2)
    state = _State.at(passes, start / start.sum(), 1, hessian)
    if state.certificate.gap <= POOR:
        return state
    if budget <= _OWN_START:
        return _State.at(passes, pulled_inside(state.theta, _UNIFORM), 2)
    return _State.at(passes, passes.start(), _OWN_START)


def _step(
    passes: "Passes", state: _State, targets: Sequence[FloatArray], fresh: bool, budget: int
) -> _State:
    """Move to the first target that gains, or towards the last one, ever shorter.

    At the new place H is taken anew, or corrected. `budget` is how many passes may be made; where
    they do not reach a possible place, only the count of passes and the sums change.
    """
    here, made = state.sums, state.made
    move, there = state.theta, here
    for tried in range(budget):
        if tried < len(targets):
            move = targets[tried] - state.theta
        else:
            move = move * _shorter(here, there, move)
        there, made = passes.sums(state.theta + move, fresh), made + 1
        if not _lost(here, there, move):
            break
    if np.isinf(there.value) or state.hessian is None:
        return replace(state, sums=there, made=made)
    secant = None if fresh else _secant(state.hessian, move, here.slope - there.slope)
    theta = state.theta + move
    certificate = passes.certificate(theta, there)
    return _State(
        theta,
        there,
        certificate,
        there.hessian if fresh else secant,
        made,
        rate=float(np.log(state.certificate.gap / max(certificate.gap, 1e-300))),
        gain=there.value - here.value,
        idle=state.idle + 1,
    )


def _targets(
    hessian: FloatArray, slope: FloatArray, theta: FloatArray
) -> tuple[list[FloatArray], float]:
    """Return the targets to try in turn, and the length sqrt(d'Hd) of Newton's step d.

    The length is the mean relative change of p, by which one knows how far to trust the model.
    Where a report of a large epsilon names a value almost for certain, L is w log(theta) there: a
    quadratic model throws that value to zero or leaves it far too small, while EM's step
    theta * g is nearly exact. So values with large g, and after long or failed steps all, are
    kept above half of EM's step.
    """
    newton = _model_minimum(hessian, slope, theta)
    half = theta * slope / 2
    lifted = np.where(slope > 2, np.maximum(newton, half), newton)
    careful = np.maximum(newton, half)
    move = newton - theta
    length = float(np.sqrt(max(float(move @ hessian @ move), 0.0)))
    targets = [lifted / lifted.sum(), careful / careful.sum()]
    return targets[1:] if length > _BOLD_STEP else targets, length


def _model_minimum(hessian: FloatArray, slope: FloatArray, theta: FloatArray) -> FloatArray:
    """Return the minimum of the model, solved on the values that can have mass there."""
    linear = 1 - slope - hessian @ theta
    near = (theta > 0) | (slope > 1)
    while True:
        target = np.zeros_like(theta)
        some = np.ix_(near, near)
        target[near] = nonnegative_quadratic(hessian[some], linear[near], theta[near])
        missed = ~near & (hessian @ target + linear < -1e-13)
        if not missed.any():
            return np.asarray(target / target.sum())
        near |= missed


def _lost(here: Sums, there: Sums, move: FloatArray) -> bool:
    # L is concave: if it still rises at the end of the step, the step has gained, however small
    # the gain is beside the rounding of L.
    if there.value >= here.value - _rounding(here):
        return False
    return np.isinf(there.value) or float(there.slope @ move) < 0


def _rounding(sums: Sums) -> float:
    """Return what the order of summation may do to L."""
    return 1e-14 * (1 + abs(sums.value))


def _shorter(here: Sums, there: Sums, move: FloatArray) -> float:
    """Return the share of the step at which a parabola fitted to L has its maximum."""
    if np.isinf(there.value):
        return 0.5
    rise, fall = float(here.slope @ move), float(there.slope @ move)
    loss = here.value - there.value
    # Only where rounding decides does a step that L rises along not bend down.
    if not min(rise - fall, rise + loss) > 0:
        return 0.5
    # By the slopes at both ends, or by one and the loss: close to a zero of p, where slopes grow
    # without bound, the first would be far too short.
    by_loss = rise / (2 * (rise + loss))
    return float(np.clip(max(rise / (rise - fall), by_loss), 0.1, 0.5))


def _secant(hessian: FloatArray, move: FloatArray, change: FloatArray) -> FloatArray:
    """Return the BFGS update of H, which maps the move to the change that it made in g."""
    image = hessian @ move
    seen, expected = float(move @ change), float(move @ image)
    # Both are positive for a concave L; where rounding says otherwise, H stays as it is.
    if not seen > 1e-8 * expected > 0:
        return hessian
    return np.asarray(hessian + np.outer(change, change / seen) - np.outer(image, image / expected))


@dataclass(frozen=True, eq=False)
class Passes:
    """Parts of a likelihood over `size` values, and what a pass over all of them returns."""

    parts: Sequence[Part]
    size: int
    stride: int
    """One in how many bit reports H is taken from; see `stride_for`."""
    outputs: int = 0
    """Terms of all sums, by which these are rounded."""

    @classmethod
    def of(cls, parts: Sequence[Part], size: int, outputs: int = 0) -> "Passes":
        """Return the passes over parts; H is taken from as many of their reports as pays."""
        return cls(parts, size, stride_for(sum(part.rows for part in parts), size), outputs)

    @cached_property
    def rows(self) -> int:
        """Bit reports, of which H may be a sample."""
        return sum(part.rows for part in self.parts)

    @cached_property
    def weight(self) -> float:
        """Share of all people: 1, up to rounding."""
        return sum(part.weight for part in self.parts)

    @cached_property
    def log_scale(self) -> float:
        """Weighted sum of the rows' own factors."""
        return sum(part.log_scale for part in self.parts)

    @property
    def noise(self) -> float:
        """Relative error that sampling leaves in H, 2 sqrt(k / rows of the sample)."""
        return 0.0 if self.stride == 1 else 2 * float(np.sqrt(self.size * self.stride / self.rows))

    def finer(self) -> "Passes":
        """Return passes that take H from more reports."""
        return replace(self, stride=max(1, self.stride // _FINER))

    def fresh_hessian_pays(self, ratio: float, rate: float) -> bool:
        """Say if a fresh H saves time: a factor `ratio` is to go, the last step gained e^rate.

        At that rate log(ratio) / rate passes are left. With a fresh H the pass that takes it
        costs 1 + cost, and each pass after it gains a factor of the noise of H.
        """
        cost = self.size / (_CHEAP_VALUES * self.stride)
        ahead = np.log(ratio) / -np.log(min(max(self.noise, 0.05), 0.5))
        return bool(np.log(ratio) > max(rate, 0.0) * (1 + cost + ahead))

    def sums(self, theta: FloatArray, fresh: bool) -> Sums:
        """Make a pass, with H if it is to be `fresh`; from a sample, H is made safe to step by."""
        stride = self.stride if fresh else 0
        each = (part.sums(theta, stride) for part in self.parts)
        sums = sum(each, Sums.nothing(self.size, stride))
        if not (np.isfinite(sums.value) and np.all(np.isfinite(sums.slope))):
            return Sums.impossible(self.size)
        if sums.hessian is not None and not np.all(np.isfinite(sums.hessian)):
            return replace(sums, hessian=None)
        if sums.hessian is not None and self.stride > 1:
            # H - gg' is a covariance. Shrunk towards its diagonal, as the size of the sample
            # asks, it does not promise steps for free where the sample has seen nothing.
            shrink = self.size * self.stride / self.rows
            variance = np.maximum(sums.hessian.diagonal() - sums.slope**2, 0)
            sums.hessian[np.diag_indices(self.size)] += shrink * variance
        return sums

    def certificate(self, theta: FloatArray, sums: Sums) -> Certificate:
        """Return value, gradient and gap at theta from a pass made there."""
        if np.isinf(sums.value):
            return Certificate(sums.value, sums.slope, np.inf)
        rounding = rounding_of(self.outputs, self.size)
        gap = gap_of(sums.slope, float(theta.sum()) / self.weight, rounding)
        return Certificate(sums.value + self.log_scale, sums.slope, gap)

    def certify(self, theta: FloatArray, tolerance: float = 1e-12) -> Certificate:
        """Return value, gradient and gap at theta, as `Likelihood.certify` does: one pass.

        All sums are exact, whatever the tolerance.
        """
        return self.certificate(theta, self.sums(theta, fresh=False))

    def start(self) -> FloatArray:
        """Return the debiased bit sums of all bit parts, weighted by precision, pulled inside."""
        guesses = [guess for part in self.parts for guess in part.guesses()]
        precision = sum(guess.precision for guess in guesses)
        if not precision > 0:
            return np.full(self.size, 1 / self.size)
        total = np.sum([guess.total for guess in guesses], axis=0)
        return pulled_inside(project(total / precision), _UNIFORM)


def stride_for(rows: int, size: int) -> int:
    """Return the stride of the sample of H, so large that H costs as much as L and g.

    At least `_SAMPLE` reports a value are in it, or all.
    """
    return max(1, rows // max(_SAMPLE * size, _CHEAP_VALUES * rows // size))
