"""An estimate that sets forged reports aside, and tells which ones."""

import warnings
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from freewill.core.frames import frame
from freewill.core.types import IntArray
from freewill.domain.alphabets.base import readable
from freewill.errors import printable, several
from freewill.numeric.solvers.solution import OnStep, Trace
from freewill.numeric.solvers.threads import one_blas_thread
from freewill.stats.estimators.estimate import Estimate, default_tolerance, positive, whole
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, Group, checked_evidence
from freewill.stats.forged.atoms import AtomFit, AtomModel, watched
from freewill.stats.forged.beside_choice import HonestReports, doubt_of
from freewill.stats.forged.doubted import DoubtedOneStep
from freewill.stats.groups import name_of
from freewill.stats.information import several_people
from freewill.stats.intervals import Intervals, intervals, intervals_of

PRICES = 0.8, 0.4, 0.2, 0.1, 0.05
"""What an atom costs beside 1, the cost of honest mass: from those that stick out most."""
_CHANGED = 50
"""Rounds in which atoms are taken in and dropped one by one, after all prices were tried."""
_WEAK = 10
"""Atoms that are tried to be dropped in each: gains are upper bounds, and the weak ones fall."""
_NAMED = 3
"""Outputs that a sentence names."""


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
    `watched` are the mechanisms whose reports may be set aside: all but those that report bits.
    `doubt` says why what was set aside may be no forgery, and is empty where nothing says so.
    """

    set_aside: tuple[SetAside, ...]
    price: float | None
    kept: Evidence = field(repr=False)
    doubted: tuple[IntArray, ...] = field(repr=False)
    watched: tuple[str, ...] = field(repr=False)
    doubt: str = ""

    @property
    def forged(self) -> float:
        """How many reports are set aside."""
        return float(sum(one.reports for one in self.set_aside))

    def set_aside_table(self, backend: Any = "pyarrow") -> Any:
        """Return a table with a row for each: mechanism, output, observed and set_aside."""
        return frame(
            {
                "mechanism": [one.mechanism for one in self.set_aside],
                "output": [_word(one.output) for one in self.set_aside],
                "observed": [one.observed for one in self.set_aside],
                "set_aside": [one.reports for one in self.set_aside],
            },
            backend,
        )

    def intervals(
        self,
        of: Any = None,
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
        if not self.set_aside:
            return intervals(self.kept, of, level, joint, on_step=on_step)
        believed = DoubtedOneStep(self.kept, self.theta, self.doubted)
        return intervals_of(believed, of, level, joint, on_step)

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
        rest = f"; and of {several(more, 'other output')}" if more > 0 else ""
        told = f"Set aside as forged: {named}{rest}." if self.set_aside else ""
        if self.doubt:
            share = f"{self.forged / self.people:.1%} of all reports"
            told = f"Set aside: {share}, {named}{rest}. {self.doubt}"
        blind = len(self.mechanisms) - len(self.watched)
        if blind:
            who = several(blind, "mechanism")
            told = f"{told} None is set aside of the bits that {who} sent.".lstrip()
        return told

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
    to four rounds find. Which outputs have atoms: at a price of 1 + lambda where honest mass costs
    1, those used that gain more than log N each, N the number of outputs observed; lambda from .05
    to .8, or no atom at all, by n L - (atoms) log N, with all of them fitted at no price. Last,
    single atoms are taken in and dropped while that rises.

    It needs two mechanisms: a single one cannot defend itself, and neither can one that alone
    knows what the others hardly tell. Reports of bits hardly repeat and are never set aside.
    Forgeries spread over many outputs look like other people's values: `fw.check_choice`,
    `fw.choice_aware`. So do honest people who choose their mechanism by their value, and many of
    their reports may be set aside: where free choice is rejected and a choice law explains the
    reports better (`doubt_of`), `doubt` and a warning, `HonestReports`, say so. `on_step` is called
    with a `Step` after each price. Cost: some twenty solves, .3 s for four mechanisms on 100
    values. docs/robust.md has the errors.

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
        free = model.without(exact.theta, exact.log_likelihood, exact.gap, exact.status)
        search = _Search(model, free, trace)
        best = search.best()
    kept, doubted = _kept(evidence, best.fit)
    set_aside, doubt = _set_aside(evidence, best.fit), ""
    if set_aside:
        gained = best.score - model.criterion(free, 0)
        doubt = doubt_of(evidence, exact, float(best.fit.forged.sum()), gained)
    found = RobustEstimate(
        theta=best.fit.theta,
        alphabet=evidence.alphabet,
        people=evidence.people,
        mechanisms=evidence.mechanisms,
        method="robust",
        status=best.fit.status,
        gap=best.fit.gap,
        log_likelihood=best.fit.log_likelihood,
        steps=exact.steps + search.steps,
        seconds=perf_counter() - started,
        unresolved=exact.unresolved,
        trace=trace.gaps,
        evidence=evidence,
        set_aside=set_aside,
        price=best.price,
        kept=kept,
        doubted=doubted,
        watched=tuple(name_of(group) for group in evidence.groups if watched(group)),
        doubt=doubt,
    )
    if doubt:
        # Beyond the frame that holds the threads.
        warnings.warn(found.aside, HonestReports, stacklevel=3)
    return found


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
        self.steps = 0

    def best(self) -> _Candidate:
        """Return the set with the best criterion: of those that a price leaves, then grown."""
        model = self._model
        found = _Candidate(self._free, model.criterion(self._free, 0), model.places[:0], None)
        dear = self._free
        for many, price in enumerate(PRICES, 1):
            # Where outputs hardly repeat, each is soon an atom, and at lower prices all the more.
            if not dear.outnumbered:
                dear = model.fit(model.places, dear, price)
                self.steps += dear.steps
            if not dear.outnumbered:
                found = self._pruned(dear.atoms, price, found)
            # Another price, or one more atom, is what is left.
            self._trace.add(many, found.fit.gap, found.fit.log_likelihood, many / len(PRICES))
        for _ in range(_CHANGED):
            better = self._shrunk(self._grown(found))
            if better is found:
                break
            found = better
        return found

    def _pruned(self, atoms: IntArray, price: float, found: _Candidate) -> _Candidate:
        """Fit these atoms, and again without those that gain too little, down to none."""
        while atoms.size and atoms.tobytes() not in self._seen:
            one = self._tried(atoms, price)
            if one.score > found.score:
                found = one
            atoms = atoms[self._model.gains(one.fit)[atoms] > self._model.cost]
        return found

    def _grown(self, found: _Candidate) -> _Candidate:
        """Add the output that sticks out most, if it is worth an atom."""
        gains = self._model.gains(found.fit)
        gains[found.atoms] = 0.0
        if not gains.max() > self._model.cost:
            return found
        atoms = np.sort(np.append(found.atoms, gains.argmax()))
        one = self._tried(atoms, found.price or 0.0)
        return one if one.score > found.score else found

    def _shrunk(self, found: _Candidate) -> _Candidate:
        """Drop an atom, of the weakest first, if the others do without."""
        gains = self._model.gains(found.fit)[found.atoms]
        for weak in np.argsort(gains)[:_WEAK]:
            atoms = np.delete(found.atoms, weak)
            if atoms.size and atoms.tobytes() not in self._seen:
                one = self._tried(atoms, found.price or 0.0)
                if one.score > found.score:
                    return one
        return found

    def _tried(self, atoms: IntArray, price: float) -> _Candidate:
        self._seen.add(atoms.tobytes())
        fit = self._model.fit(atoms, self._free)
        self.steps += fit.steps
        return _Candidate(fit, self._model.criterion(fit, atoms.size), atoms, price)


def _set_aside(evidence: Evidence, fit: AtomFit) -> tuple[SetAside, ...]:
    """Say which reports the atoms explain, the most first."""
    found, first = [], 0
    for group in evidence.groups:
        own = fit.forged[first : first + group.rows]
        first += group.rows
        (there,) = np.nonzero(own)
        for place, output in zip(there.tolist(), _outputs(group, there), strict=True):
            reports = float(own[place]) * evidence.people
            found.append(SetAside(name_of(group), output, int(group.counts[place]), reports))
    return tuple(sorted(found, key=lambda one: -one.reports))


def _outputs(group: Group, places: IntArray) -> list[Any]:
    """Return outputs as people write them."""
    space = group.mechanism.output_space
    outputs = group.outputs[places]
    if space.alphabet is None:
        return [*space.texts(outputs).to_pylist()]
    return readable(space.alphabet, outputs)


def _kept(evidence: Evidence, fit: AtomFit) -> tuple[Evidence, tuple[IntArray, ...]]:
    """Return the evidence without forged reports, and where there were any, a group each.

    To the nearest whole number; a group of which nothing is left is left out.
    """
    groups, doubted, first = [], [], 0
    for group in evidence.groups:
        own = fit.forged[first : first + group.rows]
        first += group.rows
        there: IntArray = np.empty(0, dtype=np.int64)
        if own.any():
            there = group.outputs[own > 0].astype(np.int64)
            left = group.counts - np.rint(own * evidence.people).astype(np.int64)
            outputs, some = group.outputs[left > 0], left[left > 0]
            if not some.size:
                continue
            group = replace(group, table=(outputs, some))  # noqa: PLW2901
        groups.append(group)
        doubted.append(there)
    return Evidence(evidence.alphabet, tuple(groups)), tuple(doubted)


def _word(output: Any) -> str:
    """Return an output on one line: a label, a number or coordinates."""
    return " ".join(map(repr, output)) if isinstance(output, tuple) else printable(str(output))
