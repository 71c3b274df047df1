"""Smoothing that knows when not to: an average of sieves, weighted by how well they explain."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from freewill.core.types import FloatArray
from freewill.errors import several
from freewill.numeric.solvers.likelihood import (
    Likelihood,
    OnStep,
    Solution,
    Status,
    Trace,
    one_blas_thread,
)
from freewill.stats.estimators.estimate import Estimate, checked_run, described
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence, refuse_nobody
from freewill.stats.kernels import Kernels
from freewill.stats.sieves import Fit, Sieves

_FIXED, _LOCAL = 4, 2
"""Widths to a doubling: of kernels as wide everywhere, and of those that follow the crowd."""
_EXPONENTS = -0.25, -0.5
"""Powers of the number of people that these widths go with. Abramson, Annals of Statistics 10
(1982), 1217-1223, has -1/2 for densities seen without noise; the milder one does better on maps."""
_NONE = _FIXED + _LOCAL * len(_EXPONENTS)
"""Width 0 counts for all fits of the doubling of widths below the narrowest: none smooths."""
_PILOT = 1.0
"""Width, in cells, over which people are counted for that."""
_NOBODY = 1e-9
"""Share of the people that counts as none."""
_NEGLIGIBLE = 1e-6
"""Weight below which a fit is no part of the average."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SmoothEstimate(Estimate):
    """An average of fits, each the most likely theta of its own sieve.

    `fits` are the candidates, those of weight 0 too; the first is `gibu`'s. A step is a fit. `gap`
    is the largest gap of the fits that the average is made of, each about the likelihood over its
    own sieve, and the status is "certified" only if all of them are. Nothing of that bounds the
    distance to the truth. `log_likelihood` is that of the average, at most `gibu`'s.

    >>> import numpy as np, freewill as fw
    >>> ages, rng = fw.Linear(0, 29), np.random.default_rng(1)
    >>> noise = fw.Geometric(ages, epsilon=0.2)
    >>> true = np.clip(rng.normal(15, 4, 5_000).round(), 0, 29).astype(int)
    >>> even = fw.smooth(fw.collect([(noise, noise.obfuscate(true, rng))]))
    >>> str(even.status), even.fits[0].width, round(sum(one.weight for one in even.fits), 9)
    ('certified', 0.0, 1.0)
    """

    fits: tuple[Fit, ...] = field(repr=False)

    @property
    def best(self) -> Fit:
        """The fit of the largest weight."""
        return max(self.fits, key=lambda fit: fit.weight)

    @property
    def width(self) -> float:
        """The average width, in steps or cells; 0 where nothing was smoothed."""
        return sum(fit.weight * fit.width for fit in self.fits)

    @property
    def certificate(self) -> str:
        """What the gap says, in words: something of each fit, nothing of their average."""
        used = sum(1 for fit in self.fits if fit.weight)
        return (
            f"An average of {several(used, 'fit')}, each as likely as its own smoothness allows, "
            f"but for {self.gap:.2g} a person at most; without smoothing others are likelier."
        )

    @property
    def advice(self) -> str:
        """What happened and what to do, where a fit did not arrive; empty where all did."""
        if self.status == Status.CERTIFIED:
            return ""
        missing = [fit for fit in self.fits if fit.weight and fit.status != Status.CERTIFIED]
        share = sum(fit.weight for fit in missing)
        return (
            f"{len(missing)} of the fits, with {share:.2g} of the weight, did not reach their "
            f"maxima: more max_steps, or a larger tol, lets them; fw.gibu tells about the first."
        )


@one_blas_thread
def smooth(
    evidence: Evidence,
    tol: float | None = None,
    max_steps: int = 100,
    on_step: OnStep | None = None,
) -> SmoothEstimate:
    """Return a theta that is as smooth as the reports allow, on a line, a grid or over records.

    The most likely theta (`gibu`) explains noise by hot spots. For each of some widths h the
    maximum over theta = K_h phi, smoothed by a kernel (`kernels`), with and without spikes
    (`sieve`), is as certain a maximum as that of `gibu`. Each has a score, and

        S = n L - d - sqrt(d) - 3 s,   d = df + spikes,   s the share of people who are smoothed,
        theta = sum of w_h theta_h,    w ~ exp(S / sqrt(d of the best) - max(S_0 - S, 0)),

    which is Akaike's but for the roots, for what n L gains by overfitting is half a chi-square
    variable, the difference of two has a standard deviation of up to about sqrt(d), and the best of
    many is a lucky one; and for 3 s and S_0, the score of width 0, which keep from smoothing where
    the likelihood hardly tells. The first sieves have one width everywhere; then, with the average
    of these as a pilot, others are wider where people are few. Width 0, nothing smoothed, is a
    candidate: where truth is not smooth, the answer is that of `gibu`. Records are smoothed along
    the attributes that have an order, all together and each alone (`Kernels`).

    `tol` is for the gap of each fit, 0.01 / n by default. `on_step` is called with a `Step` (number
    of the fit, its gap and log_likelihood, share of the work done) after each fit. Cost: fifty to
    ninety fits by column generation, O(outputs k^2) each, .2 s for k=100 and 1 s for 24 x 16 cells;
    memory for a few arrays of outputs x k numbers. docs/smoothing.md says when it is better than
    `gibu`.

    >>> import numpy as np, freewill as fw
    >>> noisy = fw.Geometric(fw.Linear(0, 29), epsilon=0.3)
    >>> truth = np.exp(-((np.arange(30) - 14) ** 2) / 50)
    >>> reports = noisy.obfuscate(np.repeat(np.arange(30), (400 * truth).astype(int)),
    ...                           np.random.default_rng(0))
    >>> evidence = fw.collect([(noisy, reports)])
    >>> smooth, exact = fw.smooth(evidence), fw.gibu(evidence)
    >>> error, without = (fw.emd(e.theta, truth, noisy.alphabet) for e in (smooth, exact))
    >>> error < 0.8 * without, smooth.width > 1, str(smooth.status)
    (True, True, 'certified')
    """
    started = perf_counter()
    checked_evidence(evidence, "smooth")
    trace = Trace(on_step)
    tolerance, limit = checked_run(evidence, tol, max_steps)
    refuse_nobody(evidence, "an estimate")
    sieves = Sieves(evidence, tolerance, limit)
    exact = gibu(evidence, tolerance, limit)
    # Solvers look for what is not finite where it may arise, and end there.
    with np.errstate(all="ignore"):
        fits = weighted(_tried(sieves, exact.solution, trace))
    used = [fit for fit in fits if fit.weight]
    theta = average(fits)
    failed = (fit.status for fit in used if fit.status != Status.CERTIFIED)
    certificate = Likelihood(sieves.law, sieves.weights).certify(theta, tolerance)
    certificate = certificate._replace(gap=max(fit.gap for fit in used))
    status = next(failed, Status.CERTIFIED)
    solution = Solution(theta, certificate, len(fits), status, trace.gaps)
    common = described(evidence, solution, "smooth", perf_counter() - started, exact.unresolved)
    return SmoothEstimate(**common, fits=tuple(fits))


def _tried(sieves: Sieves, exact: Solution, trace: Trace) -> list[Fit]:
    """Fit one sieve after the other: none, those of one width, those that follow the crowd."""
    whole = sieves.kernels
    ladder = [(whole, 0.0, 0.0)]
    ladder += [(own, 0.0, width) for own in whole.variants() for width in own.widths(_FIXED)]
    fixed, local = len(ladder), whole.widths(_LOCAL)
    ladder += [(whole, exponent, width) for exponent in _EXPONENTS for width in local]
    crowd, tried = np.ones(whole.size), list[Fit]()
    for begun, (sieves.kernels, exponent, width) in enumerate(ladder):
        if begun == fixed:
            crowd = _crowd(whole, average(weighted(tried)))
        for fit in sieves.fits(width, crowd, exponent) if width else [sieves.whole(exact)]:
            tried.append(fit)
            # Each fit has a gap of its own, small from the first: widths left tell of work.
            trace.add(len(tried), fit.gap, fit.log_likelihood, (begun + 1) / len(ladder))
    return tried


def weighted(fits: Sequence[Fit]) -> list[Fit]:
    """Return the fits with their weights, exp(S / noise) over their sum; tiny ones are 0.

    What scores below the first fit, which does not smooth, is no better explanation, and a narrow
    kernel that hardly changes the likelihood moves everybody: its weight falls as fast as e^S.
    """
    best = max(fits, key=lambda fit: fit.score)
    if not np.isfinite(best.score):
        # Numbers overflowed, and there is nothing to tell fits apart by.
        return [replace(fit, weight=float(fit is fits[0])) for fit in fits]
    scores = np.array([fit.score for fit in fits])
    behind = np.minimum(scores - fits[0].score, 0.0)
    weights = np.exp((scores - best.score) / max(1.0, best.noise) + behind)
    # Along each attribute alone there are as many fits of a doubling as along all.
    many = _NONE + _FIXED * (len({fit.along for fit in fits if fit.width}) - 1)
    weights[[fit.width == 0 for fit in fits]] *= max(many, _NONE)
    weights[weights < _NEGLIGIBLE * weights.sum()] = 0.0
    shares = (weights / weights.sum()).tolist()
    return [replace(fit, weight=share) for fit, share in zip(fits, shares, strict=True)]


def average(fits: Sequence[Fit]) -> FloatArray:
    """Return the average theta of weighted fits.

    A linear average: the earth mover's distance is convex, so that it is never further from the
    truth than the fits are on average.
    """
    theta = np.asarray(sum(fit.weight * fit.theta for fit in fits))
    return np.asarray(theta / theta.sum())


def _crowd(kernels: Kernels, pilot: FloatArray) -> FloatArray:
    """Return how many people are around each value, relative to the geometric mean of people's."""
    around = np.maximum(kernels.kernel(_PILOT) @ pilot, _NOBODY)
    return np.asarray(np.exp(np.log(around) - float(pilot @ np.log(around))))
