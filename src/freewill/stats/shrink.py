"""Shares pulled together, as far as the reports leave it open: for values without neighbours."""

from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from freewill.core.types import FloatArray, refuse_beyond
from freewill.domain.mechanisms.randomised_response import Identity
from freewill.errors import EvidenceError, ParameterError, several
from freewill.numeric.operators.base import StackOperator
from freewill.numeric.solvers import interior
from freewill.numeric.solvers.interior import dense_system
from freewill.numeric.solvers.likelihood import (
    Likelihood,
    OnStep,
    Solution,
    Trace,
    compact,
    one_blas_thread,
)
from freewill.stats.estimators.estimate import (
    Estimate,
    checked_run,
    described,
    unresolved_directions,
)
from freewill.stats.evidence import Evidence, checked_evidence, refuse_nobody

_FEWEST = 1 / 64
"""People added to each value at the weakest: as good as none."""
_LADDER = 2
"""Strengths to a doubling."""
_BEHIND = 10.0
"""Score behind the best from which on stronger ones are not tried: they only get worse."""
_MOST_BYTES = 1 << 28
"""What a matrix of values by values may take: 5,792 values."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ShrunkEstimate(Estimate):
    """The most likely theta of the reports and of `strength` people who are spread evenly.

    `df` is how many shares the reports tell in spite of these: k - 1 where nothing is pulled. `gap`
    bounds what the likelihood of all, per person who reported, has left to gain.

    >>> import freewill as fw
    >>> dice = fw.KRR(fw.Linear(1, 6), epsilon=1.0)
    >>> evidence = fw.collect([(dice, range(6), [30, 22, 18, 17, 19, 20])])
    >>> fw.gibu(evidence).theta.round(2), fw.shrink(evidence).theta.round(2)
    (array([0.49, 0.2 , 0.06, 0.03, 0.1 , 0.13]), array([0.24, 0.17, 0.14, 0.14, 0.15, 0.16]))
    """

    strength: float
    df: float

    @property
    def certificate(self) -> str:
        """What the gap says, in words."""
        return (
            f"The most likely shares of the reports and of {self.strength:.3g} people more who "
            f"have all values alike, but for {self.gap:.2g} a person at most; without these "
            f"others are likelier."
        )


class _Fit(NamedTuple):
    """The maximum at one strength, how many shares the reports tell there, and n L - df."""

    solution: Solution
    strength: float
    df: float
    score: float


@one_blas_thread
def shrink(
    evidence: Evidence,
    tol: float | None = None,
    max_steps: int = 100,
    on_step: OnStep | None = None,
) -> ShrunkEstimate:
    """Return a theta whose shares are pulled together as far as noise hides them.

    The maximum of n L(theta) + (m / k) sum_x log theta_x: as if m people more had told their values
    truthfully, all values alike. It is the mode under a symmetric Dirichlet prior, and as certain a
    maximum as that of `gibu`. No value has neighbours here, so that it is for labels, where
    `smooth` has nothing to smooth along. Of strengths m, two to a doubling, the one with the
    largest

        S = n L(theta_m) - df,   df = trace((J + D)^-1 J) over directions that sum to 0,

    is taken, J being the information of the reports at theta_m and D = diag(m / (k theta^2)):
    Akaike's criterion. Where reports tell much it hardly pulls; where noise hides most shares the
    maximum likelihood makes many 0 and others too large, and this is nearer to the truth, unless
    truth is itself a few values. Cost: some 20 to 40 fits by Newton steps, O(outputs k^2) each;
    .3 s for 20 values and 20,000 reports of bits. docs/smoothing.md says when to take it.

    `tol` is for the gap of each fit, 0.01 / n by default. `on_step` is called with a `Step` (number
    of the fit, its gap and log_likelihood) after each fit.

    >>> import freewill as fw, numpy as np
    >>> labels = fw.Categorical(list("abcdefghij"))
    >>> coin, rng = fw.KRR(labels, epsilon=0.5), np.random.default_rng(0)
    >>> truth = 1 / np.arange(1.0, 11) / sum(1 / np.arange(1.0, 11))
    >>> evidence = fw.collect([(coin, coin.obfuscate(rng.choice(10, 3000, p=truth), rng))])
    >>> shrunk, exact = fw.shrink(evidence), fw.gibu(evidence)
    >>> error, without = (np.square(one.theta - truth).sum() for one in (shrunk, exact))
    >>> bool(error < 0.8 * without), str(shrunk.status)
    (True, 'certified')
    """
    started = perf_counter()
    checked_evidence(evidence, "shrink")
    trace = Trace(on_step)
    tolerance, limit = checked_run(evidence, tol, max_steps)
    refuse_nobody(evidence, "an estimate")
    size = evidence.alphabet.size
    if not evidence.held:
        raise EvidenceError(
            "shrinking takes some dozen passes at each of some dozen strengths, and some reports "
            "stay in files: read them with a larger hold=, or take fw.gibu."
        )
    refuse_beyond(
        _MOST_BYTES,
        8 * size * size,
        f"shrinking {several(size, 'share')} holds a matrix that",
        "Take a coarser alphabet; fw.gibu has no such limit.",
        ParameterError,
    )
    fits, start = list[_Fit](), None
    # From the weakest pull to that of as many people as there are.
    weakest = _FEWEST * evidence.alphabet.size
    steps = int(_LADDER * np.log2(max(1.0, evidence.people / weakest))) + 1
    for step in range(steps):
        with np.errstate(all="ignore"):
            fit = _fitted(evidence, weakest * 2 ** (step / _LADDER), tolerance, limit, start)
        fits.append(fit)
        start = fit.solution.theta
        trace.add(len(fits), fit.solution.certificate.gap, fit.solution.certificate.value)
        best = max(fits, key=lambda each: each.score)
        if not fit.score > best.score - _BEHIND:
            break
    unresolved, seconds = unresolved_directions(evidence), perf_counter() - started
    solution = best.solution._replace(trace=trace.gaps)
    common = described(evidence, solution, "shrink", seconds, unresolved)
    return ShrunkEstimate(**common, strength=best.strength, df=best.df)


def _fitted(
    evidence: Evidence, strength: float, tolerance: float, limit: int, start: FloatArray | None
) -> _Fit:
    """Return the maximum with so many people more, from the one before it."""
    size, people = evidence.alphabet.size, evidence.people
    law = evidence.operator
    even = Identity(evidence.alphabet).operator(np.arange(size))
    total = people + strength
    weights = np.append(evidence.weights * (people / total), np.full(size, strength / size / total))
    likelihood = compact(Likelihood(StackOperator([*law.parts, even]), weights))
    system = dense_system(likelihood.operator, likelihood.operator)
    # The gap is one per person who reported, of whom there are fewer than of all.
    solution = interior.solve(likelihood, system, tolerance * people / total, limit, start)
    theta = solution.theta
    fitted = law.forward_within(theta, 1e-9)
    value = Likelihood(law, evidence.weights).value(fitted)
    information = people * law.gram(evidence.weights / fitted**2)
    df = _freedom(information, strength / size / theta**2)
    gap = solution.certificate.gap * total / people
    certificate = solution.certificate._replace(value=value, gap=gap)
    solution = solution._replace(certificate=certificate)
    return _Fit(solution, strength, df, people * value - df)


def _freedom(information: FloatArray, prior: FloatArray) -> float:
    """Return trace((J + D)^-1 J) over directions that sum to 0.

    In units in which D is 1 these are orthogonal to D^(-1/2) 1, and it is the sum of e / (1 + e)
    over the eigenvalues e of J there.
    """
    root = 1 / np.sqrt(prior)
    normal = root / np.linalg.norm(root)
    scaled = root[:, None] * information * root
    along = scaled @ normal
    level = float(normal @ along)
    scaled -= np.outer(normal, along) + np.outer(along, normal)
    scaled += level * np.outer(normal, normal)
    values = np.maximum(np.linalg.eigvalsh(scaled), 0.0)
    return float((values / (1 + values)).sum())
