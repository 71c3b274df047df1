"""An estimate that sets forged reports aside, and tells which ones."""

import warnings
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from freewill.core.frames import frame
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import readable
from freewill.errors import EvidenceError, FreewillError, printable, several
from freewill.numeric.solvers.likelihood import (
    Certificate,
    OnStep,
    Solution,
    Trace,
    one_blas_thread,
)
from freewill.stats.atoms import AtomFit, AtomModel, DoubtedOneStep, watched
from freewill.stats.choice.aware import law_criterion
from freewill.stats.choice.check import check_choice
from freewill.stats.estimators.estimate import (
    Estimate,
    default_tolerance,
    described,
    positive,
    whole,
)
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence, name_of
from freewill.stats.information import several_people
from freewill.stats.intervals import Intervals, OneStep, intervals

PRICES = 0.8, 0.4, 0.2, 0.1, 0.05
"""What an atom costs beside 1, the cost of honest mass: from those that stick out most."""
_CHANGED = 50
"""Rounds in which atoms are taken in and dropped one by one, after all prices were tried."""
_WEAK = 10
"""Atoms that are tried to be dropped in each: gains are upper bounds, and the weak ones fall."""
_NAMED = 3
"""Outputs that a sentence names."""
MOST_PLAUSIBLE = 0.1
"""Share of the reports beyond which a mechanism that breaks its law is likelier than forgers."""
_LONGEST = 1000


class HonestReports(UserWarning):
    """Reports were set aside that honest people may well have sent."""


@dataclass(frozen=True)
class SetAside:
    """Reports of one output of one mechanism that are taken to be forged.

    `reports` is how many of the `observed` ones are set aside: what exceeds those that the honest
    are expected to send there, and so not a whole number. `output` is in words of the alphabet.
    """

    mechanism: str
    output: Any
    observed: int
    reports: float

    def __str__(self) -> str:
        return (
            f"{self.reports:,.0f} of {several(self.observed, 'report')} of "
            f"{_word(self.output)} by {printable(self.mechanism)}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RobustEstimate(Estimate):
    """The most likely theta beside forged reports, and how many of which these are.

    `set_aside` has one entry for each pair of a mechanism and an output with forged reports, the
    most first; none where nothing sticks out, and theta is then gibu's. `price` is what an atom
    cost when these were found, None where there are none. `kept` is the evidence without them, and
    `doubted` has the outputs that they were on, for each group kept. `log_likelihood` has the
    forged reports explained by their atoms; `gap` bounds what other theta and other numbers of
    forged reports on these outputs could gain, given the shares of the mechanisms among the honest.
    `honest_shares` are these, in the order of `mechanisms`.
    `watched` are the mechanisms whose reports may be set aside: all but those that report bits.
    `doubt` says why what was set aside may be no forgery, and is empty where nothing says so.
    """

    set_aside: tuple[SetAside, ...]
    price: float | None
    kept: Evidence = field(repr=False)
    doubted: tuple[IntArray, ...] = field(repr=False)
    watched: tuple[str, ...] = field(repr=False)
    honest_shares: FloatArray = field(repr=False)
    doubt: str = ""

    @property
    def forged(self) -> float:
        """How many reports are set aside."""
        return float(sum(one.reports for one in self.set_aside))

    def set_aside_table(self, backend: Any = "pyarrow") -> Any:
        """Return a table with a row for each: mechanism, output, observed and set_aside."""
        columns = ("mechanism", "output", "observed", "set_aside")
        rows = [(o.mechanism, _word(o.output), o.observed, o.reports) for o in self.set_aside]
        return frame({name: [row[i] for row in rows] for i, name in enumerate(columns)}, backend)

    def intervals(
        self,
        of: Any = "shares",
        level: float = 0.95,
        joint: bool = False,
        on_step: OnStep | None = None,
    ) -> Intervals:
        """Return intervals from the outputs of which no reports were set aside.

        How many of the others are forged is unknown, so that what is kept of them tells nothing,
        and nor does how often they come (`DoubtedOneStep`). Where nothing was set aside these are
        `fw.intervals`. They do not allow for forgeries that were not found.
        """
        several_people(self.kept, "intervals")
        believed: Evidence | OneStep = self.kept
        if self.set_aside:
            believed = DoubtedOneStep(self.kept, self.theta, self.doubted)
        return intervals(believed, of, level, joint, on_step=on_step)

    @property
    def certificate(self) -> str:
        """What the gap says, in words."""
        said = super().certificate
        if not self.set_aside:
            return said
        many = several(round(self.forged), "report" if self.doubt else "forged report")
        what = f"{many} set aside" if self.doubt else many
        return f"Beside {what}: {said[0].lower()}{said[1:]}"

    @property
    def aside(self) -> str:
        """What was set aside, in words; empty where nothing was and all reports were watched."""
        named = "; ".join(map(str, self.set_aside[:_NAMED]))
        more = len(self.set_aside) - _NAMED
        if more > 0:
            named += f"; and of {several(more, 'other output')}"
        text = f"Set aside as forged: {named}." if self.set_aside else ""
        if self.doubt:
            share = f"{self.forged / self.people:.1%} of all reports"
            text = f"Set aside: {share}, {named}. {self.doubt}"
        blind = len(self.mechanisms) - len(self.watched)
        if blind:
            text += f" None is set aside of the bits that {several(blind, 'mechanism')} sent."
        return text.lstrip()

    @property
    def advice(self) -> str:
        """What was set aside, and what to do where the method did not arrive."""
        return f"{super().advice} {self.aside}".strip()


@one_blas_thread
def robust(
    evidence: Evidence,
    tol: float | None = None,
    max_steps: int = 100,
    on_step: OnStep | None = None,
) -> RobustEstimate:
    """Return the most likely theta where some people may have sent anything, and what they sent.

    Whoever holds a client can send a report that no mechanism made. If many forge the same output
    of one mechanism, the others contradict it, and it is an atom of its own (`AtomModel`):

        maximise sum_mz w_mz log ( (1 - sum phi) r_m (theta A_m)_z + phi_mz )

    over theta and phi, concave given the shares r_m of the mechanisms among the honest, which two
    to four rounds find (`honest_shares`). Which outputs have atoms: at a price of 1 + lambda where
    honest mass costs 1, those used that gain more than log N each, N the number of outputs
    observed; lambda from .05 to .8, or no atom at all, by n L - (atoms) log N, with all of them
    fitted at no price. Last, single atoms are taken in and dropped while that rises.

    It needs two mechanisms: a single one cannot defend itself, and neither can one that alone
    knows what the others hardly tell. Reports of bits hardly repeat and are never set aside.
    Forgeries spread over many outputs look like other people's values: `fw.check_choice`,
    `fw.choice_aware`. So do honest people who choose their mechanism by their value, and many of
    their reports may be set aside: where free choice is rejected and a choice law explains the
    reports better (`doubt_of`), `doubt` and a warning, `HonestReports`, say so. `on_step` is called
    with a `Step` after each price. Cost: some twenty solves as fast as `gibu`'s, .1 s for four
    mechanisms on 100 values. docs/robust.md has the errors.

    >>> import numpy as np, freewill as fw
    >>> ages, rng = fw.Linear(0, 19), np.random.default_rng(0)
    >>> sharp, wide = fw.KRR(ages, 2.0), fw.Geometric(ages, 0.3)
    >>> values = rng.binomial(19, 0.4, 20000)
    >>> forged = np.full(400, 17)
    >>> evidence = fw.collect([(sharp, sharp.obfuscate(values[:9000], rng)), (sharp, forged),
    ...                        (wide, wide.obfuscate(values[9000:], rng))])
    >>> safe = fw.robust(evidence)
    >>> [(one.mechanism, one.output, round(one.reports, -2)) for one in safe.set_aside]
    [('k-rr(0..19, epsilon=2)', 17, 400.0)]
    >>> print(f"{safe.theta[17]:.3f} {fw.gibu(evidence).theta[17]:.3f}")
    0.000 0.035
    """
    started = perf_counter()
    checked_evidence(evidence, "robust")
    trace = Trace(on_step)
    tolerance = default_tolerance(evidence) if tol is None else positive("tol", tol)
    limit = whole("max_steps", max_steps)
    model = AtomModel(evidence, tolerance, limit)
    exact = gibu(evidence, tolerance, limit)
    # Solvers look for what is not finite where it may arise, and end there.
    with np.errstate(all="ignore"):
        free = model.without(exact)
        search = _Search(model, free, trace)
        best = search.best()
    kept, doubted, set_aside = _apart(evidence, best.fit)
    doubt = ""
    if set_aside:
        gained = best.score - model.criterion(free, 0)
        doubt = doubt_of(evidence, exact, float(best.fit.forged.sum()), gained)
    certificate = Certificate(best.fit.log_likelihood, best.fit.theta, best.fit.gap)
    steps = exact.steps + search.steps
    solution = Solution(best.fit.theta, certificate, steps, best.fit.status, trace.gaps)
    estimate = RobustEstimate(
        **described(evidence, solution, "robust", perf_counter() - started, exact.unresolved),
        set_aside=set_aside,
        price=best.price,
        kept=kept,
        doubted=doubted,
        watched=tuple(name_of(group) for group in evidence.groups if watched(group)),
        honest_shares=best.fit.shares,
        doubt=doubt,
    )
    if doubt:
        # Beyond the frame that holds the threads.
        warnings.warn(estimate.aside, HonestReports, stacklevel=3)
    return estimate


class _Candidate(NamedTuple):
    """A set of atoms and what it explains."""

    fit: AtomFit
    score: float
    atoms: IntArray
    price: float | None


class _Search:
    """Tries sets of atoms, each once."""

    def __init__(self, model: AtomModel, free: AtomFit, trace: Trace) -> None:
        self._model, self._free, self._trace = model, free, trace
        self._seen: set[bytes] = set()
        self._at_once = 1
        self.steps = 0

    def best(self) -> _Candidate:
        """Return the set with the best criterion: of those that a price leaves, then grown."""
        model = self._model
        nothing = _Candidate(self._free, model.criterion(self._free, 0), model.places[:0], None)
        best = nothing
        dear = self._free
        for many, price in enumerate(PRICES, 1):
            # Where outputs hardly repeat, each is soon an atom, and at lower prices all the more.
            if not dear.outnumbered:
                dear = model.fit(model.places, dear, price)
                self.steps += dear.steps
            if not dear.outnumbered:
                best = self._pruned(dear, price, best)
            # Another price, or one more atom, is what is left.
            self._trace.add(many, best.fit.gap, best.fit.log_likelihood, many / len(PRICES))
        for _ in range(_CHANGED):
            better = self._grown(best)
            # Only once nothing sticks out any more: each try to drop one is a fit.
            better = self._shrunk(best) if better is best else better
            if better is best:
                break
            best = better
        # What is certified is certified of the reports set aside, and of no others.
        while (used := best.fit.atoms).size:
            best = self._tried(used, best.price or 0.0, best.fit, rough=False)
            if best.fit.atoms.size == used.size:
                return best
        return nothing

    def _pruned(self, near: AtomFit, price: float, best: _Candidate) -> _Candidate:
        """Fit the atoms of a fit, and again without those that gain too little, down to none."""
        atoms = near.atoms
        while atoms.size and atoms.tobytes() not in self._seen:
            candidate = self._tried(atoms, price, near)
            near = candidate.fit
            best = candidate if candidate.score > best.score else best
            atoms = atoms[self._model.gains(candidate.fit)[atoms] > self._model.cost]
        return best

    def _grown(self, best: _Candidate) -> _Candidate:
        """Add the outputs that stick out most, if they are worth an atom: one, two, four, ..."""
        gains = self._model.gains(best.fit)
        gains[best.atoms] = 0.0
        (out,) = np.nonzero(gains > self._model.cost)
        out = out[np.argsort(-gains[out], kind="stable")]
        for many in sorted({min(self._at_once, out.size), min(1, out.size)} - {0}, reverse=True):
            atoms = np.sort(np.append(best.atoms, out[:many]))
            candidate = self._tried(atoms, best.price or 0.0, best.fit)
            if candidate.score > best.score:
                self._at_once = 2 * many
                return candidate
        return best

    def _shrunk(self, best: _Candidate) -> _Candidate:
        """Drop an atom, of the weakest first, if the others do without."""
        gains = self._model.gains(best.fit)[best.atoms]
        for weak in np.argsort(gains)[:_WEAK]:
            atoms = np.delete(best.atoms, weak)
            if atoms.size and atoms.tobytes() not in self._seen:
                candidate = self._tried(atoms, best.price or 0.0, best.fit)
                if candidate.score > best.score:
                    return candidate
        return best

    def _tried(
        self, atoms: IntArray, price: float, near: AtomFit, rough: bool = True
    ) -> _Candidate:
        self._seen.add(atoms.tobytes())
        fit = self._model.fit(atoms, near, rough=rough)
        self.steps += fit.steps
        return _Candidate(fit, self._model.criterion(fit, atoms.size), atoms, price)


def _apart(
    evidence: Evidence, fit: AtomFit
) -> tuple[Evidence, tuple[IntArray, ...], tuple[SetAside, ...]]:
    """Return evidence without forged reports, outputs doubted in each group, and what is forged.

    To the nearest whole number; a group of which nothing is left is left out.
    """
    groups, doubted, forged = [], [], []
    rows = np.cumsum([group.rows for group in evidence.groups])[:-1]
    for group, own in zip(evidence.groups, np.split(fit.forged, rows), strict=True):
        if not own.any():
            groups.append(group)
            doubted.append(np.empty(0, dtype=np.int64))
            continue
        (there,) = np.nonzero(own)
        reports, outputs = own * evidence.people, group.outputs[there]
        space = group.mechanism.output_space
        if space.alphabet is None:
            texts = space.texts(outputs).to_pylist()
        else:
            texts = readable(space.alphabet, outputs)
        for place, output in zip(there.tolist(), texts, strict=True):
            observed = int(group.counts[place])
            forged.append(SetAside(name_of(group), output, observed, float(reports[place])))
        left = group.counts - np.rint(reports).astype(np.int64)
        if left.any():
            groups.append(replace(group, table=(group.outputs[left > 0], left[left > 0])))
            doubted.append(outputs.astype(np.int64))
    kept = Evidence(evidence.alphabet, tuple(groups))
    return kept, tuple(doubted), tuple(sorted(forged, key=lambda one: -one.reports))


def doubt_of(evidence: Evidence, free: Estimate, share: float, gained: float) -> str:
    """Say why reports that were set aside may be honest; nothing where forgeries explain them best.

    Where the old hide and the young do not, too many young values come by the open mechanism, and
    each such output looks forged. Both explanations are judged by what they add to the
    log-likelihood of all people, less their cost: `gained` by forged reports, and by a choice law
    its criterion (`law_criterion`). One symbol that many forge is explained best by its atom, and
    a choice by value by its law, which has fewer coefficients than there are outputs. `free` is
    gibu's estimate, `share` that of the reports set aside.
    """
    try:
        check = check_choice(evidence, start=free)
    except EvidenceError:
        # No group is large enough to be tested.
        return ""
    if not check.holds:
        try:
            law = law_criterion(evidence, free, gained)
        except FreewillError:
            # Too many coefficients to fit: then the test alone decides.
            law = float("inf")
        if law > gained:
            return (
                f"But honest people may have sent them: {printable(check.verdict, _LONGEST)}. That "
                f"looks the same and explains the reports better than forgeries do. Do not call "
                f"them forged, and do not take this estimate: take the choice-aware one "
                f"(fw.choice_aware, --method choice-aware)."
            )
    if share > MOST_PLAUSIBLE:
        return (
            f"But {share:.0%} of all reports are more than forgers plausibly send: see by "
            f"fw.check_fit or `freewill check` whether a client breaks its law before calling them "
            f"forged."
        )
    return ""


def _word(output: Any) -> str:
    """Return an output on one line: a label, a number or coordinates."""
    return " ".join(map(repr, output)) if isinstance(output, tuple) else printable(str(output))
