"""What every estimator returns: theta, how it was computed, and how far it is from the optimum."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.presented import Presented, room
from freewill.core.types import FloatArray, distribution
from freewill.domain.alphabets.base import Alphabet, is_line, texts
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import ParameterError, printable, several, shown
from freewill.numeric.operators.blocks import HELD_BITS
from freewill.numeric.simplex import normalise
from freewill.numeric.solvers.likelihood import (
    Certificate,
    Likelihood,
    OnStep,
    Part,
    Solution,
    Status,
    attainable_gap,
)
from freewill.numeric.solvers.passes import Passes
from freewill.stats.evidence import Evidence, refuse_nobody, refuse_vast_joint
from freewill.stats.streams import StreamPart

if TYPE_CHECKING:
    from freewill.present.distribution import Distribution
    from freewill.present.shares import Shares
    from freewill.stats.intervals import Intervals

_SETS, _VALUES = 4, 6
"""Sets of confounded values, and values of each, that a sentence names."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate(Presented):
    """A distribution on the alphabet with its certificate.

    `gap` bounds L* - L(theta), the log-likelihood per person that the best theta could gain. It
    is infinite where theta calls an observed output impossible, and where numbers overflow. `trace`
    has the gap after each step. `unresolved` counts directions of theta that the mechanisms do not
    tell apart, however many people report (None: not known), `confounded` the values that these
    are about. `curvature` is the Hessian of -L at
    theta where the solver holds it: a later run that starts here need not take it from the reports
    again. `evidence` is what it was made from, by which `intervals` tell how sure it is.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> estimate = fw.gibu(fw.collect([(coin, [0], [600]), (coin, [1], [400])]))
    >>> estimate.table(intervals=True).column_names
    ['value', 'share', 'point', 'low', 'high', 'standard_error']
    """

    theta: FloatArray
    alphabet: Alphabet
    people: int
    mechanisms: tuple[Mechanism, ...] = field(repr=False)
    method: str
    status: Status
    gap: float
    log_likelihood: float
    steps: int
    seconds: float
    solver: str = ""
    unresolved: int | None = None
    trace: tuple[float, ...] = field(default=(), repr=False)
    curvature: FloatArray | None = field(default=None, repr=False)
    evidence: Evidence | None = field(default=None, repr=False)

    def __str__(self) -> str:
        by = f" by {self.solver}" if self.solver else ""
        text = (
            f"{self.method}{by}: {self.status}, gap {self.gap:.2g}, "
            f"log-likelihood {self.log_likelihood:.9g}, {several(self.steps, 'step')}, "
            f"{self.seconds:.3g} s"
        )
        if self.unresolved:
            text += f"; not told apart: {several(self.unresolved, 'direction')} of theta"
            if self.confounded:
                text += f", among {in_words(self.confounded, self.alphabet)}"
        return f"{text}. {self.advice}" if self.advice else text

    @cached_property
    def confounded(self) -> tuple[tuple[int, ...], ...]:
        """Sets of values (their indices) whose shares the mechanisms do not tell apart.

        Of each set the whole share is known, and nothing of how it is made up. Empty where all
        directions of theta are resolved, or where it is not known which are.

        >>> import freewill as fw
        >>> tens = fw.Matrix(fw.Linear(0, 3), [[1, 0], [1, 0], [0, 1], [0, 1]])
        >>> fw.gibu(fw.collect([(tens, [0, 0, 1])])).confounded
        ((0, 1), (2, 3))
        """
        from freewill.stats.estimators.identifiability import confounded_values  # noqa: PLC0415

        if not self.unresolved or self.evidence is None:
            return ()
        return confounded_values(self.evidence)

    @property
    def shares(self) -> "Shares":
        """The share of every value, as `coarser` has those of groups."""
        shares: Shares = room("shares").shares_of(self)
        return shares

    def coarser(self, by: Any, rows: int | None = None) -> "Shares":
        """Return the shares of groups of values: each is the sum of theta over its group.

        `coarser(5)` takes bins of five values on a line, `coarser(4)` districts of 4 x 4 cells on
        a grid and `coarser(columns, rows)` others. On any alphabet `by` may be sets of values that
        have none in common, {"young": range(30), ...}, or a list of such sets; values that are in
        none of them are "the rest". Nothing is estimated anew, and the certificate stays with the
        estimate: it is about theta.

        >>> import freewill as fw
        >>> ages = fw.Identity(fw.Linear(0, 9))
        >>> estimate = fw.inversion(fw.collect([(ages, [2, 3, 3, 7])]))
        >>> estimate.coarser(5).shares, estimate.coarser({"three": [3]}).names
        (array([0.75, 0.25]), ('three', 'the rest'))
        """
        shares: Shares = room("shares").coarser_shares(self, by, rows)
        return shares

    def marginal(self, *names: str) -> "Distribution":
        """Return the distribution of some attributes: sums of theta over all others."""
        marginal: Distribution = room("distribution").marginal_of(self, names)
        return marginal

    def given(self, **condition: Any) -> "Distribution":
        """Return the distribution of the other attributes where some have a value, or one of some.

        As given(commute="bicycle") or given(commute=["bus", "car"], vote="yes").
        """
        conditional: Distribution = room("distribution").given_in(self, condition)
        return conditional

    def intervals(
        self,
        of: Any = "shares",
        level: float = 0.95,
        joint: bool = False,
        on_step: OnStep | None = None,
    ) -> "Intervals":
        """Return `fw.intervals` from the evidence of this estimate, for every value by default.

        They are about the one-step estimate, whatever method this one is of (docs/inference.md).
        """
        answer: Intervals = room("shares").intervals_of(self, of, level, joint, on_step)
        return answer

    def table(
        self, intervals: bool | float = False, joint: bool = False, backend: Any = "pyarrow"
    ) -> Any:
        """Return a table with one row a value: the value or its coordinates, and its share.

        With `intervals`, True or a level, it has point, low, high and standard_error too. `backend`
        names the library that it is a table of (`core/presented.py`): pyarrow, pandas, polars.
        """
        return self.shares.table(intervals, joint, backend)

    def __copy__(self) -> Self:
        return replace(self)

    def __getstate__(self) -> dict[str, Any]:
        # Evidence in files or on a cluster is this process's. What was worked out from counts, the
        # laws above all, is larger than they are.
        counts = None
        if self.evidence is not None and self.evidence.held:
            counts = Evidence(self.alphabet, tuple(map(replace, self.evidence.groups)))
        return {**self.__dict__, "evidence": counts}

    @property
    def solution(self) -> Solution:
        """What a solver would return of it, to go on from."""
        certificate = Certificate(self.log_likelihood, self.theta, self.gap)
        return Solution(self.theta, certificate, self.steps, self.status)

    @property
    def certificate(self) -> str:
        """What the gap says, in words."""
        if not np.isfinite(self.gap):
            return "No bound is known on how much likelier another distribution is."
        total = self.gap * self.people
        more = f"{100 * np.expm1(total):.2g} %" if total < 0.7 else f"a factor of e^{total:.3g}"
        return f"No distribution makes these reports likelier by more than {more}."

    @property
    def advice(self) -> str:
        """What happened and what to do, where the method did not arrive; empty where it did."""
        if self.status not in (Status.MAX_STEPS, Status.STALLED):
            return ""
        if not np.isfinite(self.gap):
            return (
                "No bound is known: theta calls a report next to impossible, or numbers overflowed."
                " Look for reports that contradict their mechanism, at the largest epsilons first."
            )
        total = self.gap * self.people
        lack = f"The log-likelihood of {several(self.people, 'person')} may lack {total:.2g}"
        if self.status == Status.MAX_STEPS:
            return f"{lack}: go on with start=estimate and more than {self.steps} max_steps."
        return (
            f"{lack}, and rounding, or more values than there is room for, allowed no more. "
            f"If that is little beside 1, theta is as good as the best one: tol={self.gap:.1e} "
            f"accepts it. If a solver was named, name none: others are then tried as well."
        )


def in_words(sets: tuple[tuple[int, ...], ...], alphabet: Alphabet) -> str:
    """Return sets of values in words of the alphabet, the first few of many.

    >>> import freewill as fw
    >>> in_words(((0, 1), (2, 3, 4, 5), (7, 8, 10)), fw.Linear(0, 12))
    '0 and 1; 2 to 5; 7, 8 and 10'
    """
    listed = [_listed(values, alphabet) for values in sets[:_SETS]]
    more = len(sets) - _SETS
    if more > 0:
        listed.append(f"and {more:,} more such {'set' if more == 1 else 'sets'}")
    return "; ".join(listed)


def _listed(values: tuple[int, ...], alphabet: Alphabet) -> str:
    """Return two or more values as a list, or as a range where they are one on a line."""
    first, last = values[0], values[-1]
    if is_line(alphabet) and len(values) == last - first + 1 > 3:
        return " to ".join(texts(alphabet, [first, last]))
    named = _VALUES if len(values) > _VALUES + 1 else len(values)
    words = [printable(text) for text in texts(alphabet, values[:named])]
    left = len(values) - named
    end = f"{left:,} more" if left else words.pop()
    return f"{', '.join(words)} and {end}"


Start: TypeAlias = Estimate | ArrayLike
"""Where an iteration begins: any estimate over the alphabet, or a distribution on it. It saves
steps, and what is found does not depend on it beyond the tolerance."""


def theta_of(start: Start, alphabet: Alphabet) -> FloatArray:
    """Return the distribution that a start stands for, after checking that it fits the alphabet."""
    if not isinstance(start, Estimate):
        return distribution(start, alphabet.size, "start")
    if start.alphabet != alphabet:
        raise ParameterError(
            f"start is an estimate over {start.alphabet} and the evidence is over {alphabet}: "
            f"start from an estimate over the same alphabet, or give no start."
        )
    # Negative shares, as those of an inversion, could seem to be certified: no bound holds there.
    return start.theta if np.all(start.theta >= 0) else normalise(start.theta)


def positive(name: str, value: Any) -> float:
    """Return a tolerance as a float after checking that it is a number > 0 and finite.

    >>> positive("tol", 1e-6)
    1e-06
    """
    try:
        number = np.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        number = np.inf
    if not 0 < number < np.inf:
        raise ParameterError(
            f"{name}={shown(value)}: must be a number > 0 and finite, such as 1e-6."
        )
    return number


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a number of steps after checking that it is an integer and not too small.

    >>> whole("max_steps", np.int64(100))
    100
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name}={shown(value)}: must be an integer >= {least}.")
    return int(value)


def likelihood_of(evidence: Evidence) -> Likelihood:
    """Return the likelihood of evidence, all of it in memory."""
    refuse_nobody(evidence, "an estimate")
    refuse_vast_joint(evidence.alphabet)
    return Likelihood(evidence.operator, evidence.weights)


def passes_of(evidence: Evidence) -> Passes:
    """Return the passes over evidence: what was counted in memory, the rest where it lies."""
    refuse_nobody(evidence, "an estimate")
    refuse_vast_joint(evidence.alphabet)
    everyone, light = evidence.people, evidence.light
    parts: list[Part] = []
    if light.groups:
        law, counts = light.operator, np.concatenate([group.counts for group in light.groups])
        weights = law.split(counts / everyone)
        parts += [Likelihood(*pair) for pair in zip(law.parts, weights, strict=True)]
    heavy = [group for group in evidence.groups if not group.light]
    counted = [group for group in heavy if group.held and not group.mechanism.output_space.packed]
    if sum(group.rows for group in counted) * evidence.alphabet.size <= HELD_BITS:
        # Bits that are made from reports are kept: that takes longer than a pass over them.
        parts += [Likelihood(group.operator, group.counts / everyone) for group in counted]
        heavy = [group for group in heavy if not any(group is kept for kept in counted)]
    sources = Evidence(evidence.alphabet, tuple(heavy)).sources()
    parts += [StreamPart(source, some, everyone) for source, some in sources]
    return Passes.of(parts, evidence.alphabet.size, _outputs(evidence))


def default_tolerance(evidence: Evidence) -> float:
    """Return 0.01 / n: the likelihood of all n reports together is within 1 % of the best.

    A gap carries its own rounding, of 1e-14 for a hundred values (`attainable_gap`): where
    0.01 / n is less than twice that, from some 10^11 people on, it is that.
    """
    attainable = attainable_gap(_outputs(evidence), evidence.alphabet.size)
    return max(0.01 / max(evidence.people, 1), attainable)


def checked_run(evidence: Evidence, tol: Any, max_steps: Any) -> tuple[float, int]:
    """Return the gap to certify, that of the evidence where none is given, and how many steps."""
    tolerance = default_tolerance(evidence) if tol is None else positive("tol", tol)
    return tolerance, whole("max_steps", max_steps)


def _outputs(evidence: Evidence) -> int:
    """Return how many different outputs were observed."""
    return sum(group.rows for group in evidence.groups)


def certificate_of(
    evidence: Evidence, theta: FloatArray, tolerance: float | None = None, passing: bool = False
) -> Certificate:
    """Return the log-likelihood of theta, its gradient and its gap; `passing`, by a pass."""
    source = passes_of(evidence) if passing or not evidence.held else likelihood_of(evidence)
    return source.certify(theta, default_tolerance(evidence) if tolerance is None else tolerance)


def slope_at(evidence: Evidence, theta: FloatArray) -> FloatArray:
    """Return g = sum w a / p at theta, one number a value: 1 on average over theta."""
    return np.asarray(certificate_of(evidence, theta).slope)


def certified_estimate(
    evidence: Evidence,
    theta: FloatArray,
    method: str,
    status: Status,
    started: float,
    steps: int = 0,
    unresolved: int | None = None,
    trace: tuple[float, ...] = (),
) -> Estimate:
    """Wrap the answer of any method with its likelihood and gap; `started` by `perf_counter`."""
    seconds = perf_counter() - started
    # One certificate of reports that do not repeat needs no law of them in memory.
    passing = any(group.streams for group in evidence.groups)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        certificate = certificate_of(evidence, theta, passing=passing)
    # A vector with negative components is no distribution; no bound holds for it. None is known
    # where numbers overflow.
    bounded = np.all(theta >= 0) and np.isfinite(certificate.gap)
    gap = certificate.gap if bounded else np.inf
    solution = Solution(theta, certificate._replace(gap=gap), steps, status, trace)
    return Estimate(**described(evidence, solution, method, seconds, unresolved))


def described(
    evidence: Evidence, solution: Solution, method: str, seconds: float, unresolved: int | None
) -> dict[str, Any]:
    """Say what a solution is a solution of: what all kinds of estimates have."""
    theta, certificate, steps, status, trace, hessian = solution
    return {
        "theta": theta,
        "alphabet": evidence.alphabet,
        "people": evidence.people,
        "mechanisms": evidence.mechanisms,
        "method": method,
        "status": status,
        "gap": certificate.gap,
        "log_likelihood": certificate.value,
        "steps": steps,
        "seconds": seconds,
        "unresolved": unresolved,
        "trace": trace,
        "curvature": hessian,
        "evidence": evidence,
    }
