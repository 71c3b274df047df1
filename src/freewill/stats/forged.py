"""Forged reports on single outputs: the sets of atoms that explain reports best."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.domain.alphabets.base import readable
from freewill.errors import EvidenceError, printable, several
from freewill.numeric.operators.around import AtomOperator
from freewill.numeric.operators.base import DenseOperator, Operator
from freewill.numeric.solvers import columns, interior, passes
from freewill.numeric.solvers.conjugate import AtomSystem, System
from freewill.numeric.solvers.interior import DenseSystem, rows_beside, structured_system
from freewill.numeric.solvers.likelihood import Certificate, Likelihood, Solution, Status, Trace
from freewill.numeric.solvers.passes import Passes
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, refuse_nobody, refuse_unheld
from freewill.stats.groups import Group, name_of
from freewill.stats.information import moments_of, pulled

_DENSE, _SMALL = 1 << 22, 1 << 18
"""Entries of the law up to which it is held as an array; where it has structure, fewer."""
_FEW_ROWS = 50
"""Rows without structure that go beside those with it."""
_ROUNDS, _FEW_ROUNDS = 100, 20
"""Rounds for the shares of the honest: two to four are the rule, the last ones tiny."""
_ROUGH = 10
"""Tolerances that other shares may gain where atoms are only compared."""
_LEADERS = 32
"""Mechanisms that may each lead theta: beyond these, one tells less than a 32nd of what all do."""
_LOOSE = 100
"""Tolerances within which fits at a price are solved."""
_LEAST = 1e-9
"""Least share of the honest that a mechanism keeps: it has a logarithm."""
_SOMEBODY = 0.5
"""Reports from which on an atom explains any."""
_MOST_FORGED = 0.499
"""Share of the reports that may be forged: as many honest ones could as well be the forged."""
PRICES = 0.8, 0.4, 0.2, 0.1, 0.05
"""What an atom costs beside 1, the cost of honest mass: from those that stick out most."""
_CHANGED = 50
"""Rounds in which atoms are taken in and dropped one by one, after all prices were tried."""
_NAMED = 3
"""Outputs that a sentence names."""
_WEAK = 10
"""Atoms that are tried to be dropped in each: gains are upper bounds, and the weak ones fall."""


@dataclass(frozen=True, eq=False)
class AtomFit:
    """The most likely theta and atoms, given the mechanisms' shares among the honest.

    `shares` are those of the mechanisms among the honest. `forged` is, for each observed output,
    the share of all reports that its atom explains;
    `log_honest` the logarithm of theta's part of the probability of that pair of a mechanism and an
    output, which may be too small for a number.
    """

    theta: FloatArray
    shares: FloatArray
    forged: FloatArray
    log_honest: FloatArray
    log_likelihood: float
    gap: float
    status: Status
    steps: int

    @property
    def honest(self) -> FloatArray:
        """Theta's part of the probability of each output."""
        return np.exp(self.log_honest)

    @property
    def atoms(self) -> IntArray:
        """Return the places of the atoms that explain any report."""
        return np.flatnonzero(self.forged)

    @property
    def outnumbered(self) -> bool:
        """Whether as many reports would be forged as honest, or more."""
        return float(self.forged.sum()) > _MOST_FORGED


class AtomModel:
    """Reports of the honest, of whom a share r_m chose the mechanism m, and forged ones.

        p_mz = (1 - sum phi) r_m (theta A_m)_z + phi_mz,     phi_mz >= 0

    is the probability of the pair (m, z). Given r it is a mixture of columns, those of the law
    times r_m and an atom for each pair that may have one: its likelihood is concave in theta and
    phi together, and the same gap bounds what other theta and phi could gain. Atoms may cost more
    than their worth, 1 + price: they explain w / (1 + price) at most, and only what theta explains
    by less. Given theta, r and phi have a formula, so that rounds of the two climb:

        r_m ~ s_m - phi_m = (s_m - w_mS) / (1 - (theta A_m)_S),     S the outputs of m with an atom.
    """

    def __init__(self, evidence: Evidence, tolerance: float, max_steps: int) -> None:
        refuse_nobody(evidence, "an estimate")
        groups = evidence.groups
        if len(groups) == 1:
            raise EvidenceError(
                f"all {several(evidence.people, 'person')} chose {evidence.mechanisms[0]}: a "
                f"single mechanism cannot defend itself, for some theta explains its forged "
                f"reports, and no other mechanism contradicts that theta. Take fw.gibu, and offer "
                f"people a choice."
            )
        refuse_unheld(evidence, "a robust estimate")
        self._evidence, self.people = evidence, evidence.people
        self.tolerance, self.max_steps = tolerance, max_steps
        self.size, self.weights = evidence.alphabet.size, evidence.weights
        self.group = np.repeat(np.arange(len(groups)), [group.rows for group in groups])
        self.shares = self._per_group(self.weights)
        may = np.array([watched(group) for group in groups])
        self.places: IntArray = np.flatnonzero(may[self.group])
        if not self.places.size:
            raise EvidenceError(
                f"{several(len(groups), 'mechanism')} that all report bits, or an epsilon beside "
                f"a value: forged reports are found on outputs that too many people send, and "
                f"these hardly repeat. Take fw.gibu, or collect reports that are symbols, such as "
                f"those of k-RR, as well."
            )
        self._bits = any(group.structure == "bits" for group in groups)
        law: Operator = evidence.operator
        entries, structured = law.shape[0] * self.size, rows_beside(law) <= _FEW_ROWS
        if entries <= (_SMALL if structured else _DENSE):
            self.law: Operator = DenseOperator(law.dense(), law.log_scale)
        else:
            self.law = law
        self._system: System | None = None
        if structured:
            self._system = structured_system(law)
        elif self.law is not law:
            self._system = DenseSystem(self.law.dense())

    @property
    def cost(self) -> float:
        """What an atom must gain: log N where N outputs may have one."""
        return float(np.log(self.places.size))

    def without(self, exact: Estimate) -> AtomFit:
        """Return the fit that has no atom: gibu's."""
        nothing, value = np.zeros(self.weights.size), exact.log_likelihood
        honest = self._log_fitted(exact.theta) + np.log(self.shares)[self.group]
        return AtomFit(exact.theta, self.shares, nothing, honest, value, exact.gap, exact.status, 0)

    def leaders(self, near: AtomFit) -> list[int]:
        """Return the groups, among those whose outputs may have an atom, that may lead theta.

        By what their reports tell, n_m sum theta_x K_m(x, x): of many, those that tell most.
        """
        groups: list[int] = np.unique(self.group[self.places]).tolist()
        if len(groups) <= _LEADERS:
            return groups
        all_groups, inside = self._evidence.groups, pulled(near.theta, self.people)
        moments = moments_of([all_groups[place] for place in groups], inside)
        weights = [
            all_groups[place].people * float(inside @ own.diagonal())
            for place, own in zip(groups, moments, strict=True)
        ]
        return sorted(groups[n] for n in np.argsort(weights)[-_LEADERS:])

    def by_others(self, place: int) -> AtomFit:
        """Return the fit that has no atom, with the theta of all mechanisms but one."""
        groups = list(self._evidence.groups)
        del groups[place]
        others = Evidence(self._evidence.alphabet, tuple(groups))
        return self.without(gibu(others, _LOOSE * self.tolerance, self.max_steps))

    def fit(
        self, places: IntArray, near: AtomFit, price: float = 0.0, rough: bool = False
    ) -> AtomFit:
        """Return the most likely theta, phi and r with atoms at these places, from a fit nearby.

        At a price, r is that of the fit nearby; a `rough` fit is for a comparison of atoms.
        """
        most, enough = (
            (_FEW_ROUNDS, _ROUGH * self.tolerance) if rough else (_ROUNDS, self.tolerance)
        )
        chosen = np.zeros(self.weights.size, dtype=np.bool_)
        chosen[places] = True
        ahead = self._honest(near.theta, chosen & (self.weights > near.honest))
        lack, steps = np.inf, 0
        for _ in range(most):
            near = self._given(ahead, places, near, price)
            steps += near.steps
            ahead = self._honest(near.theta, near.forged > 0)
            # L is at its top in r: what is left to gain is of second order.
            lack = float(np.sum((ahead - near.shares) ** 2 / near.shares)) / 2
            if lack <= enough or price:
                return replace(near, steps=steps)
        return replace(near, gap=near.gap + lack, steps=steps, status=Status.STALLED)

    def gains(self, fit: AtomFit) -> FloatArray:
        """Return what an atom at each output would add to the log-likelihood of all people.

        With theta as it is, n (w log (w/q) - (w - q)) where w exceeds q, the honest part. Without
        the atom theta would move towards the output: where there is one, this is an upper bound.
        """
        weights, honest = self.weights, fit.honest
        gain = weights * (np.log(weights) - fit.log_honest) - (weights - honest)
        gain *= self.people
        allowed = np.zeros(weights.size, dtype=np.bool_)
        allowed[self.places] = True
        return np.where(allowed & (weights > honest), gain, 0.0)

    def criterion(self, fit: AtomFit, atoms: int) -> float:
        """Return the log-likelihood of all people less the cost of the atoms.

        Where half of all would be forged it is no explanation: atoms for all explain anything.
        """
        if fit.outnumbered:
            return -np.inf
        return self.people * fit.log_likelihood - atoms * self.cost

    def _per_group(self, numbers: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.group, numbers), dtype=np.float64)

    def _honest(self, theta: FloatArray, atoms: BoolArray) -> FloatArray:
        """Return r, the best given theta and the outputs with an atom."""
        law = np.exp(self._log_fitted(theta))
        left = self._per_group(np.where(atoms, 0.0, self.weights))
        covered = 1 - self._per_group(np.where(atoms, law, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            honest = np.where(left > 0, left / np.maximum(covered, 0.0), 0.0)
        honest = np.clip(honest, _LEAST * self.shares, self.shares)
        return np.asarray(honest / honest.sum())

    def _log_fitted(self, theta: FloatArray) -> FloatArray:
        """Return log (theta A)_z of each observed output; -inf where theta does not lead there."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.law.log_scale + np.log(self.law.forward(theta)))

    def _given(self, honest: FloatArray, places: IntArray, near: AtomFit, price: float) -> AtomFit:
        """Return the maximum for given r, with its certificate."""
        height, shares = 1 / (1 + price), np.log(honest)[self.group]
        law = AtomOperator(self.law, shares, places, height)
        # Atoms begin with what sticks out there, for those without weight come late or never.
        atoms = np.maximum(height * self.weights - near.honest, 0)[places] / height
        start = np.concatenate([near.theta * max(1 - float(atoms.sum()), 0.1), atoms])
        # A price only proposes atoms: that need not be exact.
        tolerance = _LOOSE * self.tolerance if price else self.tolerance
        solution = self._solve(law, start / start.sum(), tolerance)
        mass, atoms = solution.theta[: self.size], height * solution.theta[self.size :]
        whole = float(mass.sum())
        log_honest = shares + self._log_fitted(mass)
        # Less than half a report is none.
        forged = np.zeros(self.weights.size)
        forged[places] = np.where(self.people * atoms < _SOMEBODY, 0.0, atoms)
        return AtomFit(
            mass / whole if whole > 0 else near.theta,
            honest,
            np.minimum(forged, self.weights),
            log_honest,
            solution.certificate.value - float(self.shares @ np.log(self.shares)),
            solution.certificate.gap,
            solution.status,
            solution.steps,
        )

    def _solve(self, law: AtomOperator, start: FloatArray, tolerance: float) -> Solution:
        """Maximise by the solvers that may do, one after the other, until one arrives."""
        likelihood, run = Likelihood(law, self.weights), (tolerance, self.max_steps, start)
        solvers: list[Callable[[], Solution]] = []
        if self._system is not None:
            system = AtomSystem(law, self._system)
            solvers.append(lambda: interior.solve(likelihood, system, *run))
        solvers.append(lambda: columns.solve(likelihood, *run))
        if self._bits:
            passed = Passes.of([likelihood], likelihood.size, law.shape[0])
            solvers.append(lambda: passes.solve(passed, *run))
        best = Solution(start, Certificate(-np.inf, start, np.inf), 0, Status.STALLED)
        for solve in solvers:
            with suppress(ArithmeticError, np.linalg.LinAlgError):
                best = min(best, solve(), key=lambda each: each.certificate.gap)
            if best.status == Status.CERTIFIED:
                break
        return best


def watched(group: Group) -> bool:
    """Say whether reports of a group may be forged on one output: not bits, nor what is unique."""
    space = group.mechanism.output_space
    return space.repeats and not space.packed


@dataclass(frozen=True)
class SetAside:
    """Reports of one output of one mechanism that are taken to be forged.

    `reports` is how many of the `observed` ones are set aside: what exceeds those that the honest
    are expected to send there, and so not a whole number. `output` is in words of the alphabet.

    >>> import freewill as fw
    >>> str(fw.SetAside("k-rr(0..19, epsilon=3)", 16, 481, 295.2))
    '295 of 481 reports of 16 by k-rr(0..19, epsilon=3)'
    """

    mechanism: str
    output: Any
    observed: int
    reports: float

    @property
    def word(self) -> str:
        """The output on one line: a label, a number or coordinates."""
        parts = self.output if isinstance(self.output, tuple) else None
        return " ".join(map(repr, parts)) if parts else printable(str(self.output))

    def __str__(self) -> str:
        return (
            f"{self.reports:,.0f} of {several(self.observed, 'report')} of {self.word} by "
            f"{printable(self.mechanism)}"
        )


class Forgery(NamedTuple):
    """A set of atoms and what it explains, and all steps to it."""

    fit: AtomFit
    score: float
    atoms: IntArray
    price: float | None
    steps: int = 0


class Search:
    """Tries sets of atoms, each once."""

    def __init__(self, model: AtomModel, free: AtomFit, trace: Trace) -> None:
        self._model, self._free, self._trace = model, free, trace
        self._seen: set[bytes] = set()
        self._at_once = 1
        self.steps = 0

    def best(self) -> Forgery:
        """Return the set with the best criterion: of those that a price leaves, then grown."""
        model = self._model
        nothing = Forgery(self._free, model.criterion(self._free, 0), model.places[:0], None)
        best = nothing
        dear = self._free
        for many, price in enumerate(PRICES, 1):
            # Where outputs hardly repeat, each is soon an atom, and at lower prices all the more.
            if not dear.outnumbered:
                dear = model.fit(model.places, dear, price)
                self.steps += dear.steps
            if not dear.outnumbered:
                best = self._pruned(dear.atoms, dear, price, best)
            # Another price, or one more atom, is what is left.
            self._trace.add(many, best.fit.gap, best.fit.log_likelihood, many / len(PRICES))
        for atoms, near in self._by_others():
            best = self._pruned(atoms, near, 0.0, best)
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

    def _by_others(self) -> Iterator[tuple[IntArray, AtomFit]]:
        """Propose, for each mechanism, the outputs that stick out by the theta of all others.

        Where the forged reports lead theta, they seem to be honest, and the others' forged.
        """
        model = self._model
        for place in model.leaders(self._free):
            near = model.by_others(int(place))
            (atoms,) = np.nonzero((model.gains(near) > model.cost) & (model.group == place))
            yield atoms, near

    def _pruned(self, atoms: IntArray, near: AtomFit, price: float, best: Forgery) -> Forgery:
        """Fit atoms, and again without those that gain too little, down to none."""
        while atoms.size and atoms.tobytes() not in self._seen:
            candidate = self._tried(atoms, price, near)
            near = candidate.fit
            best = candidate if candidate.score > best.score else best
            atoms = atoms[self._model.gains(candidate.fit)[atoms] > self._model.cost]
        return best

    def _grown(self, best: Forgery) -> Forgery:
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

    def _shrunk(self, best: Forgery) -> Forgery:
        """Drop an atom, of the weakest first, if the others do without."""
        gains = self._model.gains(best.fit)[best.atoms]
        for weak in np.argsort(gains)[:_WEAK]:
            atoms = np.delete(best.atoms, weak)
            if atoms.size and atoms.tobytes() not in self._seen:
                candidate = self._tried(atoms, best.price or 0.0, best.fit)
                if candidate.score > best.score:
                    return candidate
        return best

    def _tried(self, atoms: IntArray, price: float, near: AtomFit, rough: bool = True) -> Forgery:
        self._seen.add(atoms.tobytes())
        fit = self._model.fit(atoms, near, rough=rough)
        self.steps += fit.steps
        return Forgery(fit, self._model.criterion(fit, atoms.size), atoms, price)


def apart(
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
        # A share times all people may be rounded to more than there are.
        reports, outputs = np.minimum(own * evidence.people, group.counts), group.outputs[there]
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


def in_words(aside: Sequence[SetAside]) -> str:
    """Return the first of what is set aside, and how much more there is."""
    named, more = list(map(str, aside[:_NAMED])), len(aside) - _NAMED
    return "; ".join([*named, f"and of {several(more, 'other output')}"] if more > 0 else named)
