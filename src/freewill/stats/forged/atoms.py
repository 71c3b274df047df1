"""Reports that nobody's value accounts for: outputs with an explanation of their own, atoms."""

from dataclasses import dataclass, replace

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray
from freewill.errors import EvidenceError, several
from freewill.numeric.operators.atoms import AtomOperator
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.dense import DenseOperator
from freewill.numeric.solvers import columns, passes
from freewill.numeric.solvers.likelihood import Likelihood
from freewill.numeric.solvers.parts import OperatorPart
from freewill.numeric.solvers.passes import Passes
from freewill.numeric.solvers.solution import Solution, Status
from freewill.stats.estimators.gibu import dense_maximum
from freewill.stats.evidence import Evidence, Group, refuse_nobody
from freewill.stats.information import refuse_unheld

_DENSE = 1 << 22
"""Entries of the law, atoms included, up to which it is held as an array."""
_ROUNDS = 20
"""Rounds for the shares of the honest: two to four are the rule, the last ones tiny."""
_LOOSE = 100
"""Tolerances within which fits at a price are solved."""
_LEAST = 1e-9
"""Least share of the honest that a mechanism keeps: it has a logarithm."""
_SOMEBODY = 0.5
"""Reports from which on an atom explains any."""
_MOST_FORGED = 0.499
"""Share of the reports that may be forged: as many honest ones could as well be the forged."""


@dataclass(frozen=True, eq=False)
class AtomFit:
    """The most likely theta and atoms, given the mechanisms' shares among the honest.

    `forged` is, for each observed output, the share of all reports that its atom explains;
    `fitted` the probability of that pair of a mechanism and an output, `honest` the part of it that
    is theta's.
    """

    theta: FloatArray
    forged: FloatArray
    fitted: FloatArray
    honest: FloatArray
    log_likelihood: float
    gap: float
    status: Status
    steps: int

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
        _refuse_single(evidence)
        refuse_unheld(evidence, "a robust estimate")
        self.people, self.tolerance, self.max_steps = evidence.people, tolerance, max_steps
        self.size = evidence.alphabet.size
        self.weights = evidence.weights
        self.group: IntArray = np.repeat(
            np.arange(len(evidence.groups)), [group.rows for group in evidence.groups]
        )
        self.shares = self._per_group(self.weights)
        may = np.array([watched(group) for group in evidence.groups])
        self.places: IntArray = np.flatnonzero(may[self.group])
        _refuse_bits(evidence, self.places)
        self._bits = any(group.structure == "bits" for group in evidence.groups)
        law: Operator = evidence.operator
        rows = law.shape[0]
        self._small = rows * (self.size + self.places.size) <= _DENSE
        self.law = DenseOperator(law.dense(), law.log_scale) if self._small else law

    @property
    def cost(self) -> float:
        """What an atom must gain: log N where N outputs may have one."""
        return float(np.log(self.places.size))

    def without(
        self, theta: FloatArray, log_likelihood: float, gap: float, status: Status
    ) -> AtomFit:
        """Return the fit that has no atom: gibu's."""
        nothing = np.zeros(self.weights.size)
        fitted = np.exp(self.law.log_scale) * self.law.forward(theta) * self.shares[self.group]
        return AtomFit(theta, nothing, fitted, fitted, log_likelihood, gap, status, 0)

    def fit(self, places: IntArray, near: AtomFit, price: float = 0.0) -> AtomFit:
        """Return the most likely theta and phi with atoms at these places, from a fit nearby."""
        honest = self._honest(near.theta, self._within(places, near))
        found, steps = near, 0
        for _ in range(_ROUNDS):
            found = self._given(honest, places, found, price)
            steps += found.steps
            after = self._honest(found.theta, found.forged > 0)
            # L is at its top in r: what is left to gain is of second order.
            lack = float(np.sum((after - honest) ** 2 / honest)) / 2
            if lack <= self.tolerance or price:
                break
            honest = after
        return replace(found, steps=steps)

    def gains(self, fit: AtomFit) -> FloatArray:
        """Return what an atom at each output would add to the log-likelihood of all people.

        With theta as it is, n (w log (w/q) - (w - q)) where w exceeds q, the honest part. Without
        the atom theta would move towards the output: where there is one, this is an upper bound.
        """
        weights, honest = self.weights, fit.honest
        # A gain overflows to infinity where the law calls an output next to impossible.
        with np.errstate(divide="ignore", over="ignore"):
            gain = self.people * (weights * np.log(weights / honest) - (weights - honest))
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

    def _within(self, places: IntArray, near: AtomFit) -> BoolArray:
        """Return which of these outputs stick out of a fit."""
        chosen = np.zeros(self.weights.size, dtype=np.bool_)
        chosen[places] = True
        return np.asarray(chosen & (self.weights > near.honest))

    def _honest(self, theta: FloatArray, atoms: BoolArray) -> FloatArray:
        """Return r, the best given theta and the outputs with an atom."""
        law = np.exp(self.law.log_scale) * self.law.forward(theta)
        left = self._per_group(np.where(atoms, 0.0, self.weights))
        covered = 1 - self._per_group(np.where(atoms, law, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(left > 0, left / np.maximum(covered, 0.0), 0.0)
        found = np.clip(found, _LEAST * self.shares, self.shares)
        return np.asarray(found / found.sum())

    def _given(self, honest: FloatArray, places: IntArray, near: AtomFit, price: float) -> AtomFit:
        """Return the maximum for given r, with its certificate."""
        height = 1 / (1 + price)
        law = AtomOperator(self.law, np.log(honest)[self.group], places, height)
        likelihood = Likelihood(law, self.weights)
        # Atoms begin with what sticks out there, for those without weight come late or never.
        atoms = np.maximum(self.weights - near.honest, 0)[places] / height
        start = np.concatenate([near.theta * max(1 - float(atoms.sum()), 0.1), atoms])
        # A price only proposes atoms: that need not be exact.
        tolerance = _LOOSE * self.tolerance if price else self.tolerance
        found = self._solve(likelihood, start / start.sum(), tolerance)
        fitted = np.exp(law.log_scale) * law.forward(found.theta)
        weight, theta = np.zeros(self.weights.size), found.theta[: self.size]
        weight[places] = height * found.theta[self.size :]
        # What an atom explains of the reports there; less than half a report is none.
        forged = self.weights * np.minimum(weight / fitted, 1.0)
        forged[forged * self.people < _SOMEBODY] = 0.0
        value = found.certificate.value - float(self.shares @ np.log(self.shares))
        whole = float(theta.sum())
        return AtomFit(
            theta / whole if whole > 0 else near.theta,
            forged,
            fitted,
            fitted - np.minimum(weight, fitted),
            value,
            found.certificate.gap,
            found.status,
            found.steps,
        )

    def _solve(self, likelihood: Likelihood, start: FloatArray, tolerance: float) -> Solution:
        limit = self.max_steps
        if self._small:
            return dense_maximum(likelihood, tolerance, limit, start)
        if self._bits:
            part = OperatorPart(likelihood.operator, likelihood.weights)
            return passes.solve(Passes.of([part], likelihood.size), tolerance, limit, start)
        return columns.solve(likelihood, tolerance, limit, start)


def watched(group: Group) -> bool:
    """Say whether reports of a group may be forged on one output: not where these are bits."""
    return not group.mechanism.output_space.packed


def _refuse_single(evidence: Evidence) -> None:
    if len(evidence.groups) == 1:
        raise EvidenceError(
            f"all {several(evidence.people, 'person')} chose {evidence.mechanisms[0]}: a single "
            f"mechanism cannot defend itself, for some theta explains its forged reports, and no "
            f"other mechanism contradicts that theta. Take fw.gibu, and offer people a choice."
        )


def _refuse_bits(evidence: Evidence, places: IntArray) -> None:
    if not places.size:
        raise EvidenceError(
            f"{several(len(evidence.groups), 'mechanism')} that all report bits: forged reports "
            f"are found on outputs that too many people send, and bits hardly repeat. Take "
            f"fw.gibu, or collect reports that are symbols, such as those of k-RR, as well."
        )
