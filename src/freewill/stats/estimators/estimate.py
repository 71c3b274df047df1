"""What every estimator returns: theta, how it was computed, how far it is from the optimum.

And what no number of reports tells, whatever the estimator.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from numbers import Integral, Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space, qr

from freewill.core.presented import Presented, room
from freewill.core.progress import towards
from freewill.core.types import FloatArray, distribution
from freewill.domain.alphabets.base import Alphabet, attributes_of, is_line, texts
from freewill.domain.mechanisms.base import Mechanism, of_full_rank
from freewill.domain.mechanisms.each import Silent
from freewill.domain.mechanisms.matrix import clearly_of_full_rank
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
    Step,
    attainable_gap,
    checked_on_step,
)
from freewill.numeric.solvers.passes import Passes
from freewill.stats.evidence import (
    Evidence,
    by_attribute,
    checked_evidence,
    refuse_nobody,
    refuse_vast_joint,
)
from freewill.stats.groups import Group, StreamPart

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


SINGULAR = 1e-10
_OBSERVED = 4
"""Observed outputs a value that are taken, where not all outputs can be listed."""
_WORK = 2e10
"""Operations up to which the rank of laws is computed: some seconds, for a law of 2,500 values."""
_NAMING_WORK = 2e9
"""Operations up to which values are named: directions take ten times as long as their number."""
_SUBSETS = 1 << 18
"""Sets of attributes up to which all are gone through."""
_TOUCHED = 1e-5
"""Entry of the projector on what is lost from which on two values are connected: rounding near
SINGULAR turns that space by up to 1e-6."""


def unresolved_directions(evidence: Evidence) -> int | None:
    """Count the directions of theta that leave no trace in any output of any mechanism present.

    Directions d with d A = 0 for every mechanism A: theta and theta + d give the same outputs,
    so that no number of people can tell them apart. A mechanism of full rank (k-RR, the geometric
    ones, RAPPOR, Identity) resolves everything, and so does any mixture with one of them, though a
    tiny epsilon takes more people than there are: standard errors say so. Where there is none, the
    laws are searched, all outputs of all mechanisms that have reports, O(k^2 *
    outputs). None: not known, for the laws are too large for that (from some 2,500 values on),
    or have outputs that cannot be listed, of which those observed do not tell all apart.

    >>> import freewill as fw
    >>> blind = fw.Matrix(fw.Linear(0, 2), [[0.5, 0.5]] * 3)
    >>> fw.unresolved_directions(fw.collect([(blind, [0, 1])]))
    2
    >>> sparse = fw.Shokri(fw.Linear(0, 9), 2.0, selection="vertex")
    >>> fw.unresolved_directions(fw.collect([(sparse, [0, 9])]))
    2
    """
    if any(map(of_full_rank, checked_evidence(evidence, "this").mechanisms)):
        return 0
    answered = _answered(evidence)
    if answered is not None:
        return _uncovered(evidence.alphabet, answered)
    if _work(evidence) > _WORK:
        return None
    size = evidence.alphabet.size
    # Fewer outputs than values cannot tell all of these apart.
    enough = sum(map(_columns, evidence.groups)) >= size
    laws, squares = [], np.zeros((size, size) if enough else (0, 0))
    for group in evidence.groups:
        laws.append(_law(group))
        if not enough:
            continue
        squares += laws[-1] @ laws[-1].T
        if clearly_of_full_rank(squares):
            return 0
    lost = lost_directions(np.hstack(laws))
    return lost if lost == 0 or all(map(_known, evidence.groups)) else None


def confounded_values(evidence: Evidence) -> tuple[tuple[int, ...], ...]:
    """Return the sets of values whose shares are not known one by one, however many people report.

    The smallest sets such that each lost direction is a sum of directions within single sets: the
    blocks of the projector on what is lost. The share of a set is known, and so is that of every
    value in none of them. Values with equal laws are such a set; so are three of which one's law is
    a mixture of the others'. Empty where nothing is lost, or where it is not known what is
    (`unresolved_directions`, and from some 1,000 values on). O(k^2 * outputs).

    >>> import freewill as fw
    >>> pairs = fw.Matrix(fw.Linear(1, 4), [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    >>> confounded_values(fw.collect([(pairs, [0, 1])]))
    ((1, 2),)
    """
    if _work(evidence) > _NAMING_WORK or not unresolved_directions(evidence):
        return ()
    law = np.hstack([_law(group) for group in evidence.groups])
    short = law.T if law.shape[1] <= len(law) else qr(law.T, mode="r")[0][: len(law)]
    lost = null_space(short, rcond=SINGULAR)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    _, which = connected_components(np.abs(lost @ lost.T) > _TOUCHED, directed=False)
    sets = [np.flatnonzero(which == one) for one in np.unique(which)]
    return tuple(tuple(values.tolist()) for values in sets if values.size > 1)


def _answered(evidence: Evidence) -> list[frozenset[str]] | None:
    """Return the attributes that reports tell wholly and together; None where it is not known."""
    if not (evidence.held and by_attribute(evidence)):
        return None
    said = []
    for column in evidence.factored.columns:
        number, _ = column.split()
        used = [column.mechanisms[place] for place in np.unique(number)]
        if not all(isinstance(one, Silent) or of_full_rank(one) for one in used):
            return None
        said.append(np.array([not isinstance(one, Silent) for one in column.mechanisms])[number])
    names = list(attributes_of(evidence.alphabet))
    rows = np.unique(np.stack(said, axis=1), axis=0).tolist()
    sets = [frozenset(name for name, yes in zip(names, row, strict=True) if yes) for row in rows]
    return [one for one in sets if not any(one < other for other in sets)]


def _uncovered(alphabet: Alphabet, answered: list[frozenset[str]]) -> int | None:
    """Count the directions that are in no marginal of the attributes that are answered together.

    Theta is a sum over sets T of attributes of interactions, each with prod_{i in T} (k_i - 1)
    dimensions; those are told whose T is within a set that is answered.
    """
    if sum(2 ** len(one) for one in answered) > _SUBSETS:
        return None
    sizes = {name: own.size for name, own in attributes_of(alphabet).items()}
    within = {
        frozenset(some)
        for one in answered
        for many in range(len(one) + 1)
        for some in combinations(sorted(one), many)
    }
    within_reach = sum(math.prod(sizes[name] - 1 for name in some) for some in within)
    return math.prod(sizes.values()) - within_reach


def _work(evidence: Evidence) -> float:
    """Return how many operations the rank of all laws takes."""
    size, columns = evidence.alphabet.size, sum(map(_columns, evidence.groups))
    return float(size) * columns * min(size, columns)


def _known(group: Group) -> bool:
    """Say whether what the law cannot tell apart is known, and not only of outputs observed."""
    return group.mechanism.output_space.listable or group.mechanism.resolution() is not None


def _columns(group: Group) -> int:
    """Return how many outputs are taken: all of them, or some of those observed."""
    space, resolution = group.mechanism.output_space, group.mechanism.resolution()
    if resolution is not None:
        return int(resolution.shape[1])
    if space.listable:
        return len(space.all())
    return min(group.rows, _OBSERVED * group.mechanism.alphabet.size) if group.held else 0


def _law(group: Group) -> FloatArray:
    """Return the law of these outputs, one row a value; rows of observed ones up to a factor.

    Or what has its null space, where a formula knows it.
    """
    mechanism = group.mechanism
    if (resolution := mechanism.resolution()) is not None:
        return resolution
    if mechanism.output_space.listable:
        return mechanism.law()
    outputs = group.outputs if group.held else mechanism.output_space.empty()
    return mechanism.operator(outputs[: _columns(group)]).dense().T


def lost_directions(law: FloatArray) -> int:
    """Count the directions d with d A = 0, to ten digits: rows of A minus its numerical rank.

    >>> lost_directions(np.array([[0.5, 0.5], [0.5, 0.5]]))
    1
    """
    return len(law) - (int(np.linalg.matrix_rank(law, rtol=SINGULAR)) if law.size else 0)


_MAXIMUM = 10
"""Solves of a functional that a maximum of the likelihood counts for."""


class Work:
    """Tells `on_step` of the steps to maxima and of the solves of functionals, one after the other.

    What is to come is said first (`expect`), so that each `Step` has the share of it that is done:
    of the way to a maximum by how far its gap has fallen. Solves have the gap and the likelihood of
    the last maximum.

    >>> work = Work(lambda step: print(step.number, step.share))
    >>> work.expect(4)
    >>> work.solved(1)
    1 0.25
    >>> work.solved(3)
    2 1.0
    """

    def __init__(self, on_step: OnStep | None) -> None:
        self._on_step = checked_on_step(on_step)
        self._last = Step(0, math.nan, math.nan, 0.0)
        self._done, self._whole = 0.0, 0.0

    def expect(self, solves: int, maxima: int = 0) -> None:
        """Say what is to come beside what was expected before."""
        self._whole += solves + _MAXIMUM * maxima

    def maximum(self, tolerance: float) -> OnStep | None:
        """Return what `gibu` tells its steps, for the next maximum."""
        near = towards(tolerance)
        return self._within(_MAXIMUM, lambda step: near(step.gap))

    def part(self, solves: int) -> OnStep | None:
        """Return what a function tells its steps that makes so many solves of its own."""
        return self._within(solves, lambda step: step.share or 0.0)

    def _within(self, worth: int, share: Callable[[Step], float]) -> OnStep | None:
        if self._on_step is None:
            return None
        before = self._done
        self._done += worth

        def on_step(step: Step) -> None:
            if not math.isnan(step.gap):
                self._last = step._replace(number=self._last.number)
            self._tell(before + worth * share(step))

        return on_step

    def solved(self, many: int = 1) -> None:
        """Note that functionals are solved."""
        self._done += many
        self._tell(self._done)

    def _tell(self, done: float) -> None:
        if self._on_step is not None:
            share = min(done / self._whole, 1.0)
            self._last = self._last._replace(number=self._last.number + 1, share=share)
            self._on_step(self._last)
