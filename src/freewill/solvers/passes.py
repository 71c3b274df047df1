"""Certified maximum likelihood from passes over the reports: for bit reports, which do not repeat.

A pass returns (L, g, H) summed over blocks and keeps nothing about single reports, so that the
blocks may lie in memory, on other machines or on a GPU. A small quadratic program does the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from freewill.operators import BitOperator, Operator, StackOperator
from freewill.simplex import project
from freewill.solvers import Certificate, Likelihood, Solution, Status
from freewill.solvers.kernel import Sums, kernel
from freewill.solvers.quadratic import nonnegative_quadratic
from freewill.types import FloatArray

_INSIDE = 0.05
"""Share of the uniform distribution in the start: from zero, a value is slow to return."""
_ROWS_A_VALUE = 100
"""Reports that H is taken from, for each value: its error is then some 20 %."""
_LEAST_ROWS = 10
_CHEAP_VALUES = 32
"""Size of the alphabet at which H of all reports costs as much as L and g."""
_LONG_STEP = 0.02
"""Mean relative change of p beyond which H is taken anew."""
_BOLD_STEP = 0.06
"""Mean relative change of p beyond which no value is thrown to zero at once."""
_PATIENCE = 4


def solve(
    likelihood: "Likelihood | Passes",
    tolerance: float,
    max_steps: int,
    start: FloatArray | None = None,
    stride: int | None = None,
) -> Solution:
    """Maximise L(theta) over the simplex; `steps` counts the passes over the reports.

    The reports are a likelihood in memory, or `Passes` over reports that lie elsewhere.
    A step minimises y'Hy/2 + c'y over y >= 0, c = 1 - g - H theta: the second-order model of
    -L + sum(theta), at whose minimum theta sums to 1. H is taken from one bit report in `stride`
    (at least 10 a value; by default so many that it costs as much as a pass, but 100), is taken
    anew only after long steps or slow ones, and is otherwise corrected by the change of the
    gradient (BFGS). L, g and with them the certificate are always those of all reports. The
    start costs two passes; a step costs one, which the next step needs anyhow, and another each
    time it must be shortened. O(k^2) memory beside the reports, O(k^3) time a step.
    """
    if isinstance(likelihood, Passes):
        passes = likelihood if stride is None else replace(likelihood, stride=max(1, stride))
    else:
        passes = Passes.over(likelihood, stride)
    theta, steps = (passes.start(), 1) if start is None else (start / start.sum(), 0)
    here, steps = passes.sums(theta, curved=True), steps + 1
    best = Solution(theta, passes.certificate(theta, here), steps, Status.MAX_STEPS)
    hessian, gap, rate, gain, waited = here.hessian, best.certificate.gap, np.inf, np.inf, 0
    while best.certificate.gap > tolerance and steps < max_steps:
        if hessian is None or (waited >= _PATIENCE and gain <= _rounding(here)):
            return best._replace(steps=steps, status=Status.STALLED)
        if waited >= _PATIENCE:
            passes = replace(passes, stride=max(1, passes.stride // 8))
        targets, length = _targets(hessian, here.slope, theta)
        curved = (
            length > _LONG_STEP + passes.noise
            or waited >= _PATIENCE
            or passes.worth_bending(gap / tolerance, rate)
        )
        move, there, tried = _search(passes, theta, here, targets, curved, max_steps - steps)
        steps += tried
        if np.isinf(there.value):
            break
        hessian = there.hessian if curved else _secant(hessian, move, here.slope - there.slope)
        gain = there.value - here.value
        theta, here = theta + move, there
        certificate = passes.certificate(theta, here)
        rate, gap = float(np.log(gap / max(certificate.gap, 1e-300))), certificate.gap
        waited += 1
        if gap < best.certificate.gap:
            best, waited = Solution(theta, certificate, steps, Status.MAX_STEPS), 0
    if best.certificate.gap <= tolerance:
        return best._replace(status=Status.CERTIFIED)
    return best._replace(steps=steps)


def _targets(
    hessian: FloatArray, slope: FloatArray, theta: FloatArray
) -> tuple[list[FloatArray], float]:
    """Return where to go, the boldest first, and the length sqrt(d'Hd) of Newton's step d.

    The length is the mean relative change of p, by which one knows how far to trust the model.
    Where a report of a large epsilon names a value almost for certain, L is w log(theta) there: a
    quadratic model throws that value to zero or leaves it far too small, while EM's step
    theta * g is nearly exact. So values with large g, and after long or failed steps all, are
    kept above half of EM's step.
    """
    newton = _newton(hessian, slope, theta)
    half = theta * slope / 2
    lifted = np.where(slope > 2, np.maximum(newton, half), newton)
    careful = np.maximum(newton, half)
    move = newton - theta
    length = float(np.sqrt(max(float(move @ hessian @ move), 0.0)))
    targets = [lifted / lifted.sum(), careful / careful.sum()]
    return targets[1:] if length > _BOLD_STEP else targets, length


def _search(
    passes: "Passes",
    theta: FloatArray,
    here: Sums,
    targets: list[FloatArray],
    curved: bool,
    budget: int,
) -> tuple[FloatArray, Sums, int]:
    """Return the first move that gains, its sums and the passes made: shorten the last target."""
    move, there, tried = theta, here, 0
    for tried in range(1, budget + 1):
        if tried <= len(targets):
            move = targets[tried - 1] - theta
        else:
            move = move * _shorter(here, there, move)
        there = passes.sums(theta + move, curved)
        if not _lost(here, there, move):
            break
    return move, there, tried


def _newton(hessian: FloatArray, slope: FloatArray, theta: FloatArray) -> FloatArray:
    """Return the minimum of the model, looked for among the values that can be in it."""
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
    return 1e-14 * (1 + abs(sums.value))


def _shorter(here: Sums, there: Sums, move: FloatArray) -> float:
    """Return the share of the step at which a parabola through what is known of L has its top."""
    if np.isinf(there.value):
        return 0.5
    rise, fall = float(here.slope @ move), float(there.slope @ move)
    # By the slopes at both ends, or by one and the loss: close to a zero of p, where slopes grow
    # without bound, the first would be far too short.
    by_loss = rise / (2 * (rise + here.value - there.value))
    return float(np.clip(max(rise / (rise - fall), by_loss), 0.1, 0.5))


def _secant(hessian: FloatArray, move: FloatArray, change: FloatArray) -> FloatArray:
    """Return the BFGS update of H, which maps the move to the change that it made in g."""
    image = hessian @ move
    bend, model = float(move @ change), float(move @ image)
    if not bend > 1e-8 * model > 0:
        return hessian
    return np.asarray(hessian + np.outer(change, change / bend) - np.outer(image, image / model))


@dataclass(frozen=True, eq=False)
class Passes:
    """The parts of a likelihood with their weights, and what a pass over them returns.

    Where some of the reports lie elsewhere, a subclass adds theirs in `all_sums` and `bit_sums`.
    """

    parts: Sequence[tuple[Operator, FloatArray]]
    size: int
    rows: int
    stride: int
    people: float
    log_scale: float

    @classmethod
    def over(cls, likelihood: Likelihood, stride: int | None) -> "Passes":
        """Return the passes over a likelihood in memory."""
        operator, weights, size = likelihood.operator, likelihood.weights, likelihood.size
        parts = [(operator, weights)]
        if isinstance(operator, StackOperator):
            parts = list(zip(operator.parts, operator.split(weights), strict=True))
        rows = sum(part.shape[0] for part, _ in parts if isinstance(part, BitOperator))
        stride = stride_for(rows, size, stride)
        scale = float(weights @ operator.log_scale)
        return cls(parts, size, rows, stride, float(weights.sum()), scale)

    @property
    def noise(self) -> float:
        """Relative error that sampling leaves in H, 2 sqrt(k / rows of the sample)."""
        return 0.0 if self.stride == 1 else 2 * float(np.sqrt(self.size * self.stride / self.rows))

    def worth_bending(self, ratio: float, rate: float) -> bool:
        """Say if H anew saves time: `ratio` is to go and the last pass gained a factor e^rate."""
        cost = self.size / (_CHEAP_VALUES * self.stride)
        ahead = np.log(ratio) / -np.log(min(max(self.noise, 0.05), 0.5))
        return bool(np.log(ratio) > max(rate, 0.0) * (1 + cost + ahead))

    def all_sums(self, theta: FloatArray, stride: int) -> Sums:
        """Return L, g and, unless `stride` is 0, H, from about one bit report in `stride`."""
        value, slope = 0.0, np.zeros(self.size)
        hessian = np.zeros((self.size, self.size))
        for part, weights in self.parts:
            if isinstance(part, BitOperator):
                some = kernel(part.packed, weights, theta, part.base, part.gain, stride)
            else:
                some = _other_sums(part, weights, theta, stride > 0)
            value, slope = value + some.value, slope + some.slope
            if some.hessian is not None:
                hessian += some.hessian
        return Sums(value, slope, hessian if stride else None)

    def sums(self, theta: FloatArray, curved: bool) -> Sums:
        """Make a pass; H, where it comes from a sample, is made safe to step by."""
        value, slope, hessian = self.all_sums(theta, self.stride if curved else 0)
        if hessian is None or np.isinf(value):
            return Sums(value, slope, None)
        if self.stride > 1:
            # H - gg' is a covariance. Shrunk towards its diagonal, as the size of the sample
            # asks, it does not promise steps for free where the sample has seen nothing.
            shrink = min(1.0, self.size * self.stride / self.rows)
            spread = np.maximum(hessian.diagonal() - slope**2, 0)
            hessian[np.diag_indices(self.size)] += shrink * spread
        return Sums(value, slope, hessian)

    def certificate(self, theta: FloatArray, sums: Sums) -> Certificate:
        """Return value, gradient and gap at theta."""
        excess = float(sums.slope.max()) * float(theta.sum()) / self.people - 1
        gap = float(np.log1p(max(excess, 0.0)))
        return Certificate(sums.value + self.log_scale, sums.slope, gap)

    def start(self) -> FloatArray:
        """Return the debiased bit sums of all bit parts, weighted by precision, pulled inside.

        As eq. 14 for each part, with a flip probability q of q/(1 - q) = sqrt(base/(base + gain)).
        For bits that are not symmetric this is only a worse place to start from.
        """
        total, precisions = np.zeros(self.size), 0.0
        for base, gain, people, ones in self.bit_sums():
            odds = np.sqrt(base / (base + gain))
            flip, sharpness = odds / (1 + odds), (1 - odds) / (1 + odds)
            precision = people * sharpness**2 / (flip * (1 - flip) + 1 / self.size)
            total += precision * (ones / people - flip) / sharpness
            precisions += precision
        uniform = np.full(self.size, 1 / self.size)
        if precisions == 0:
            return uniform
        return np.asarray((1 - _INSIDE) * project(total / precisions) + _INSIDE * uniform)

    def bit_sums(self) -> Iterator[tuple[float, float, float, FloatArray]]:
        """Yield base, gain, weight and weight by set bit of each part that is bits."""
        for part, weights in self.parts:
            if isinstance(part, BitOperator) and part.gain > 0:
                yield part.base, part.gain, float(weights.sum()), part.by_bit(weights)


def stride_for(rows: int, size: int, stride: int | None = None) -> int:
    """Return one in how many bit reports H is taken from: as asked for, but from enough."""
    wanted = max(_ROWS_A_VALUE * size, _CHEAP_VALUES * rows // size)
    stride = rows // wanted if stride is None else min(stride, rows // (_LEAST_ROWS * size))
    return max(1, stride)


def _other_sums(part: Operator, weights: FloatArray, theta: FloatArray, curved: bool) -> Sums:
    fitted = part.forward(theta)
    if fitted.min() <= 0:
        return Sums(-np.inf, np.full(theta.size, np.inf), None)
    ratio = weights / fitted
    hessian = part.gram(ratio / fitted) if curved else None
    return Sums(float(weights @ np.log(fitted)), part.adjoint(ratio), hessian)
