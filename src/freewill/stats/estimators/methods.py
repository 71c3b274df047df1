"""The paper's methods: EM and IBU as printed, closed forms, and both over many mechanisms."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.matrix import average
from freewill.errors import IdentifiabilityError, LawError, ParameterError, several, shown
from freewill.numeric.simplex import normalise, project
from freewill.numeric.solvers.likelihood import (
    OnStep,
    Status,
    Trace,
    compact,
    em_steps,
    gap_of,
    one_blas_thread,
)
from freewill.stats.collect import collect
from freewill.stats.estimators.estimate import (
    SINGULAR,
    Estimate,
    Start,
    certified_estimate,
    likelihood_of,
    lost_directions,
    positive,
    theta_of,
    unresolved_directions,
    whole,
)
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence, refuse_nobody
from freewill.stats.groups import Group

_LEAST_SHARE = 1e-3
"""Part of an even share that every value of a start is given at least."""


@one_blas_thread
def em(
    evidence: Evidence,
    delta: float = 1e-9,
    start: Start | None = None,
    max_steps: int = 1_000_000,
    on_step: OnStep | None = None,
) -> Estimate:
    """Repeat theta <- theta * P'(w / P theta) until L grows by less than delta (algorithm 1).

    theta is phi, theta^t in the paper; w_j = (n^A / n) q_z^A. Stopping by delta says nothing of
    the distance to the optimum, and stopping early changes the answer: the gap on the result
    tells how far it is. `gibu` goes to the optimum. The start must have full support (uniform by
    default); shares below a thousandth of an even one are lifted to that. `on_step` is called with
    a `Step` (number, gap, log_likelihood) after each one. Where numbers overflow or underflow, the
    last theta without such is the answer, and its status is "stalled". Cost a step: one forward and
    one adjoint product, whatever the number of people.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.em(fw.collect([(coin, [0], [60]), (coin, [1], [40])]), delta=1e-12).theta.round(3)
    array([0.716, 0.284])
    """
    delta = positive("delta", delta)
    limit = whole("max_steps", max_steps)
    started = perf_counter()
    likelihood, trace = compact(likelihood_of(evidence)), Trace(on_step)
    theta = full_support(start, evidence.alphabet)
    status, done, value = Status.MAX_STEPS, 0, -np.inf
    steps = em_steps(likelihood.operator, likelihood.weights, theta)
    # What is not finite ends the loop: no comparison with it would.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for step, here in enumerate(islice(steps, min(limit, sys.maxsize - 1) + 1)):
            last, value = value, likelihood.value(here.fitted)
            if not (np.isfinite(value) and np.all(np.isfinite(here.slope))):
                status = Status.STALLED
                break
            theta, done = here.theta, step
            if step:
                # A step makes theta sum to what the weights sum to: no need to scale.
                trace.add(step, gap_of(here.slope), value)
            if abs(value - last) < delta:
                status = Status.CONVERGED
                break
    lost = unresolved_directions(evidence)
    return certified_estimate(evidence, theta, "em", status, started, done, lost, trace.gaps)


def ibu(
    evidence: Evidence,
    tol: float | None = None,
    delta: float | None = None,
    max_steps: int | None = None,
    on_step: OnStep | None = None,
) -> Estimate:
    """Return the most likely theta under the only mechanism of the evidence (IBU, eq. 10).

    The iteration's limit is computed directly and certified to `tol`; give `delta` to run the
    iteration itself until L grows by less than that. `on_step` is called with a `Step` (number,
    gap, log_likelihood) after each one.

    The cost is that of `gibu`.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.ibu(fw.collect([(coin, [0, 1], [60, 40])])).theta.round(3)
    array([0.716, 0.284])
    """
    only_group(evidence, "ibu")
    method = partial(gibu, evidence, tol) if delta is None else partial(em, evidence, delta)
    limit = {} if max_steps is None else {"max_steps": max_steps}
    return replace(method(on_step=on_step, **limit), method="ibu")


def full_support(start: Start | None, alphabet: Alphabet) -> FloatArray:
    """Return the start of an iteration, uniform by default; every value must have mass."""
    if start is None:
        return np.full(alphabet.size, 1 / alphabet.size)
    theta = theta_of(start, alphabet)
    if np.any(theta <= 0):
        where = int(np.argmin(theta))
        raise ParameterError(
            f"start[{where}]={theta[where]}: the start must be > 0 everywhere, "
            f"for a value that starts at 0 stays there."
        )
    # One that starts next to 0 leaves it so slowly that L seems to stand still.
    theta = np.maximum(theta, _LEAST_SHARE / theta.size)
    return np.asarray(theta / theta.sum())


Post = Literal["project", "normalise", "none"]
_POSTS: dict[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {
    "project": ("projected", project),
    "normalise": ("normalised", normalise),
    "none": ("raw", np.asarray),
}
"""What is done of a solution: in words, and how."""


def inversion(evidence: Evidence, post: Post = "project") -> Estimate:
    """Solve theta A = q for the only mechanism A of the evidence, then make it a distribution.

    q is the empirical distribution of the outputs (INV; eqs. 6 and 7 with one mechanism). The
    solution may have negative components: `post` projects onto the simplex ("project"), clips
    and rescales ("normalise"), or leaves it ("none"). A law with more outputs than values is
    inverted by least squares, one of several attributes attribute by attribute. A singular A is
    refused with the number of directions it loses.
    For several mechanisms, see `combine_mechanisms` and `combine_results`.

    O(k) where the mechanism has a closed inverse, such as k-RR; O(outputs k^2) for other laws.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fw.inversion(fw.collect([(coin, [0, 1], [60, 40])])).theta.round(4)
    array([0.7164, 0.2836])
    """
    started = perf_counter()
    group = only_group(evidence, "inversion")
    if group.mechanism.output_space.alphabet is None and not _of_records(group):
        raise LawError(
            f"the reports of {group.mechanism} are {group.mechanism.output_space}, not values of "
            f"an alphabet, and its law is not inverted: use debias for bits, or gibu."
        )
    return _direct(evidence, _invert(group), post, "inversion", started)


def debias(evidence: Evidence, post: Post = "project") -> Estimate:
    """Turn the share s_x of reports with bit x set into theta, for one mechanism (RAP, eq. 14).

    theta = (s - q) / (p - q), p being the chance of a bit that is set for the own value and q for
    another, then made a distribution as `post` says. For RAPPOR that is
    ((e^(epsilon/2) + 1) s - 1) / (e^(epsilon/2) - 1). Of local hashing and subset selection bits
    are the values in the set that a report names. Cost: one pass over the packed bits.

    >>> import freewill as fw, numpy as np
    >>> bits = fw.RAPPOR(fw.Linear(0, 2), epsilon=4.0)
    >>> reports = bits.obfuscate(np.repeat([0, 1], 50_000))
    >>> fw.debias(fw.collect([(bits, reports)])).theta.round(1)
    array([0.5, 0.5, 0. ])
    """
    started = perf_counter()
    group = only_group(evidence, "debias")
    ones = group.summary.ones
    solved = None if ones is None else group.mechanism.debiased(ones / group.people)
    if solved is None:
        values = group.mechanism.output_space.alphabet is not None
        instead = "inversion" if values else "gibu, or write the mechanism's debiased(shares)"
        raise ParameterError(
            f"debias takes reports of bits, as those of RAPPOR and OUE, or of sets of values, and "
            f"the evidence is of {group.mechanism}. Use {instead}."
        )
    return _direct(evidence, solved, post, "debias", started)


def only_group(evidence: Evidence, method: str) -> Group:
    """Return the group of the only mechanism, or say how to bring several together."""
    if len(checked_evidence(evidence, method).groups) != 1:
        raise ParameterError(
            f"{method} takes one mechanism and the evidence has {len(evidence.groups)}. Use "
            f"combine_results(evidence, {method}) or combine_mechanisms(evidence, {method})."
        )
    return evidence.groups[0]


def _direct(
    evidence: Evidence, solved: FloatArray, post: Post, method: str, started: float
) -> Estimate:
    """Make a solution a distribution by the post-processing of that name, and certify it."""
    if not (isinstance(post, str) and post in _POSTS):
        raise ParameterError(f"post={shown(post)}: expected project, normalise or none.")
    return certified_estimate(evidence, _POSTS[post][1](solved), method, Status.DIRECT, started)


def _of_records(group: Group) -> bool:
    """Say whether reports are of several attributes, all of which can be listed."""
    space = group.mechanism.output_space
    records = group.mechanism.by_attribute(space.empty()) is not None
    return records and space.listable and group.table is not None


def _invert(group: Group) -> FloatArray:
    mechanism = group.mechanism
    shares = np.zeros(len(mechanism.outputs()))
    space: Any = mechanism.output_space
    places = space.numbers(group.outputs) if _of_records(group) else group.outputs
    shares[places] = group.counts / group.people
    solved = mechanism.inverse(shares)
    if solved is not None:
        return solved
    law = mechanism.law()
    square = law.shape[0] == law.shape[1]
    if square:
        factors, pivots, zero_pivot = dgetrf(law.T)
        reciprocal_condition, _ = dgecon(factors, np.abs(law).sum(axis=1).max())
    # The exact count of lost directions costs an SVD: only where the cheap test is alarmed.
    alarmed = not square or zero_pivot or reciprocal_condition < SINGULAR
    if alarmed and (lost := lost_directions(law)):
        raise IdentifiabilityError(
            f"the law of {mechanism} cannot be inverted: its outputs hold no trace of {lost:,} of "
            f"{several(len(law), 'direction')} of theta. Use gibu, which uses each mechanism's own "
            f"law."
        )
    if square:
        return np.asarray(dgetrs(factors, pivots, shares[:, None])[0]).ravel()
    return np.asarray(np.linalg.lstsq(law.T, shares)[0])


Way = Literal["", "M", "R"]
Estimator: TypeAlias = Callable[..., Estimate]
"""An estimator of the evidence of one mechanism."""


def combine_results(evidence: Evidence, estimator: Estimator, **options: Any) -> Estimate:
    """Estimate from each mechanism's reports alone and average the results ([e]R, eqs. 4 and 5).

    theta = sum over mechanisms of (n^A / n) e(A, D^A). Options go to the estimator.

    The cost is one call of the estimator a mechanism.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> parts = [(fw.KRR(line, 1.0), [0, 1], [60, 40]), (fw.KRR(line, 2.0), [0, 1], [70, 30])]
    >>> fw.combine_results(fw.collect(parts), fw.inversion).theta.round(4)
    array([0.7395, 0.2605])
    """
    started = perf_counter()
    refuse_nobody(evidence, "an estimate")
    results = [
        _estimated(estimator, Evidence(evidence.alphabet, (group,)), options)
        for group in evidence.groups
    ]
    people = np.array([group.people for group in evidence.groups])
    theta = people @ np.stack([result.theta for result in results]) / evidence.people
    return _combined(evidence, f"[{results[0].method}]R", theta, results, started)


def combine_mechanisms(evidence: Evidence, estimator: Estimator, **options: Any) -> Estimate:
    """Pretend that everyone used the average mechanism A[n], and estimate from that ([e]M).

    [INV]M is eq. 7, for k-RR eqs. 8 and 9; [IBU]M is section V-C; [RAP]M is eqs. 13 and 14. The
    mechanisms must share their outputs. Options go to the estimator.

    O(mechanisms * outputs * k) for the average law, and one call of the estimator.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> parts = [(fw.KRR(line, 1.0), [0, 1], [60, 40]), (fw.KRR(line, 2.0), [0, 1], [70, 30])]
    >>> fw.combine_mechanisms(fw.collect(parts), fw.inversion).theta.round(4)
    array([0.7452, 0.2548])
    """
    started = perf_counter()
    result = _estimated(estimator, compound(evidence), options)
    return _combined(evidence, f"[{result.method}]M", result.theta, [result], started)


def _estimated(estimator: Any, evidence: Evidence, options: dict[str, Any]) -> Estimate:
    """Return what an estimator gives, after checking that it is one and gives an estimate."""
    result = estimator(evidence, **options) if callable(estimator) else None
    if not isinstance(result, Estimate):
        gave = "" if result is None else f" gave {shown(result)}"
        raise ParameterError(
            f"estimator={shown(estimator)}{gave}: expected a function that returns an Estimate, "
            f"such as fw.inversion."
        )
    return result


def compound(evidence: Evidence) -> Evidence:
    """Return all reports as if they came from the average mechanism A[n] (eqs. 6 and 7)."""
    refuse_nobody(evidence, "an estimate")
    groups = evidence.groups
    mean = average([group.mechanism for group in groups], [group.people for group in groups])
    return collect((mean, group.outputs, group.counts) for group in groups)


def _combined(
    evidence: Evidence, method: str, theta: FloatArray, parts: list[Estimate], started: float
) -> Estimate:
    """Wrap a combination; it is as good as its worst part.

    What certifies the parts does not certify the whole, which has only converged.
    """
    order = list(Status)
    status = max([Status.CONVERGED, *(part.status for part in parts)], key=order.index)
    steps = sum(part.steps for part in parts)
    counts = [part.unresolved for part in parts if part.unresolved is not None]
    # Some that are lost are worth telling; that none is lost must be known of every part.
    unresolved = max(counts, default=0) or (0 if len(counts) == len(parts) else None)
    return certified_estimate(evidence, theta, method, status, started, steps, unresolved)


class Entry(NamedTuple):
    """An estimator: the paper's name, the options it takes, whether it asks for one mechanism."""

    paper: str
    estimate: Callable[..., Estimate]
    options: tuple[str, ...]
    takes_one: bool = True
    tells: bool = False
    """Whether it calls `on_step`."""


_COMBINE = {"M": combine_mechanisms, "R": combine_results}
_NAME = re.compile(r"\[?([a-z]+)\]?(?:-?([mr]))?")


@dataclass(frozen=True)
class Method:
    """An estimator, how it is brought to many mechanisms, and its options where not the usual.

    `way` is "M" for combining mechanisms, "R" for combining results, and empty where the estimator
    looks at the evidence as it is. An option that the estimator does not take is an error.

    >>> Method("inversion", "M", post="project").label
    '[INV]M, projected'
    """

    table: ClassVar[Mapping[str, Entry]] = {
        "gibu": Entry("GIBU", gibu, ("tol", "max_steps"), takes_one=False, tells=True),
        "em": Entry("EM", em, ("delta", "max_steps"), takes_one=False, tells=True),
        "inversion": Entry("INV", inversion, ("post",)),
        "ibu": Entry("IBU", ibu, ("tol", "delta", "max_steps"), tells=True),
        "debias": Entry("RAP", debias, ("post",)),
    }
    """The estimators by name; whoever knows more of them has a table of their own."""

    estimator: str
    way: Way = ""
    post: str | None = None
    tol: float | None = None
    delta: float | None = None
    max_steps: int | None = None

    def __post_init__(self) -> None:
        entry = self.table.get(self.estimator)
        if entry is None or (self.way and not (entry.takes_one and self.way in _COMBINE)):
            whole = [name for name, other in self.table.items() if not other.takes_one]
            single = [name for name, other in self.table.items() if other.takes_one]
            raise ParameterError(
                f"method {self.estimator}{self.way and '-'}{self.way.lower()}: expected "
                f"{_listed([*whole, *single], 'or')}; or one of the last three over many "
                f"mechanisms, such as inversion-m for [INV]M (the average mechanism) and "
                f"inversion-r for [INV]R (the average of the results)."
            )
        for name in self.options:
            if name not in entry.options:
                takers = [key for key, other in self.table.items() if name in other.options]
                raise ParameterError(
                    f"{name} says nothing to {self.estimator}: it is for {_listed(takers, 'and')}."
                )

    @classmethod
    def parse(cls, text: str, **options: Any) -> Self:
        """Read a method's name as people type it, or as the paper prints it.

        >>> Method.parse("[INV]M") == Method.parse("inversion-m") == Method("inversion", "M")
        True
        """
        if not isinstance(text, str):
            raise ParameterError(f"method={shown(text)}: expected the name of one, as 'gibu'.")
        plain = text.lower().replace("_", "-")
        match = _NAME.fullmatch(plain)
        if plain in cls.table or match is None:
            return cls(plain if plain in cls.table else text, **options)
        way: Any = (match[2] or "").upper()
        by_paper = {entry.paper.lower(): name for name, entry in cls.table.items()}
        return cls(by_paper.get(match[1], match[1]), way, **options)

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        named = ("post", "tol", "delta", "max_steps")
        return {name: value for name in named if (value := getattr(self, name)) is not None}

    @property
    def name(self) -> str:
        """A name for tables and files: inv-m-project, em-1e-06."""
        stop = "" if self.delta is None else f"{self.delta:.0e}"
        paper = self.table[self.estimator].paper
        return "-".join(word for word in (paper, self.way, self.post, stop) if word).lower()

    @property
    def label(self) -> str:
        """The paper's name, and what was done afterwards."""
        paper = self.table[self.estimator].paper
        head = f"[{paper}]{self.way}" if self.way else paper
        if self.delta is not None:
            return f"{head}, delta {self.delta:.0e}"
        return f"{head}, {_POSTS[self.post][0]}" if self.post else head

    def run(self, evidence: Evidence, on_step: OnStep | None = None) -> Estimate:
        """Estimate; what no option says is the estimator's own choice.

        A method that iterates tells `on_step` after each step, of each result that is combined.
        """
        entry = self.table[self.estimator]
        watched = {"on_step": on_step} if entry.tells else {}
        if self.way:
            return _COMBINE[self.way](evidence, entry.estimate, **self.options, **watched)
        if entry.takes_one and len(evidence.groups) > 1:
            raise ParameterError(
                f"{self.estimator} takes one mechanism and the evidence has "
                f"{len(evidence.groups)}. Use the method {self.estimator}-m or {self.estimator}-r, "
                f"keep one mechanism only, or take gibu, which uses them all."
            )
        return entry.estimate(evidence, **self.options, **watched)


def _listed(names: list[str], last: str) -> str:
    """Return names in a row: a, b or c."""
    return f" {last} ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
