"""Counts to which noise of a known variance was added: what they tell, and how surely."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism
from freewill.stats.covariance import OnRow
from freewill.stats.estimators.estimate import Estimate, Start
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, assemble
from freewill.stats.fit import Fit
from freewill.stats.groups import Group
from freewill.stats.information import Estimated, Information, information_at, pulled


@dataclass(frozen=True)
class NoisyEvidence(Evidence):
    """Counts of all outputs of each mechanism with noise, some of them below 0.

    Groups with nobody but noise are left out. `variance` is that of the noise of a count.
    """

    variance: float = field(default=0.0, kw_only=True)

    @cached_property
    def clipped(self) -> Evidence:
        """The counts above 0, of which there is a likelihood."""
        groups = []
        for group in self.groups:
            some = group.counts > 0
            groups.append(replace(group, table=(group.outputs[some], group.counts[some])))
        return Evidence(self.alphabet, tuple(groups))


def noisy_evidence(
    alphabet: Alphabet, cells: Iterable[tuple[Mechanism, Reports, IntArray, str]], variance: float
) -> NoisyEvidence:
    """Return the evidence of mechanisms, all of their outputs, noisy counts of these and names."""
    groups = [Group(one, (outputs, counts), name=name) for one, outputs, counts, name in cells]
    some = assemble(alphabet, [group for group in groups if group.people > 0])
    return NoisyEvidence(some.alphabet, some.groups, variance=variance)


@dataclass(frozen=True, eq=False, repr=False)
class NoisyFit(Fit):
    """A fit to noisy counts, whose intervals allow for the noise.

    The maximum likelihood is of counts clipped at 0, which is biased where many counts are small.
    The centre of intervals, theta_w + C g with g = sum c a / (n p), is linear in the counts: it
    takes them as they are, below 0 too. With u = C h, one more in a count moves h'theta_1 by
    u'(a / p - g) / n, so that noise of variance v in each adds

        v sum (u'a / p - u'g)^2 / n^2,    over all outputs of all mechanisms,

    to the variance h'C h / n. Bands and tests of assumptions do not allow for it: there are none.
    """

    evidence: NoisyEvidence
    exact: ClassVar[bool] = False

    @cached_property
    def maximum(self) -> Estimate:
        """The certified maximum likelihood of the clipped counts, for as many people as there are.

        How many these are is the sum of all counts, in which what was clipped is missing.
        """
        maximum = gibu(self.evidence.clipped, start=self.start)
        return replace(maximum, evidence=self.evidence, people=self.evidence.people)

    def information_at(self, pull: float) -> Information:
        """Return the information where each value has so many people more than the maximum says."""
        people, groups = self.evidence.people, self.evidence.groups
        information = information_at(self.evidence.clipped, pulled(self.mode, people, pull))
        shares = [group.people / people for group in groups]
        parts = [
            (one, share, name)
            for (one, _, name), share in zip(information.parts, shares, strict=True)
        ]
        return replace(information, people=people, parts=tuple(parts))

    def estimated(
        self, rows: FloatArray, on_row: OnRow | None = None, joint: bool = False
    ) -> Estimated:
        """Return h'theta_1 for rows h with errors that allow for the noise."""
        estimates = self._expected(rows, on_row)
        operator, theta = self.evidence.operator, self.information.theta
        reports = operator.forward(theta)
        added = np.full(len(rows), np.inf)
        for place in np.flatnonzero(np.isfinite(estimates.variances)):
            influence = estimates.influences[place]
            moves = operator.forward(influence) / reports - influence @ self.slope
            added[place] = np.sum(moves**2)
        noise = self.evidence.variance * added / self.evidence.people
        return replace(estimates, variances=estimates.variances + noise)


def noisy_fit(evidence: NoisyEvidence, start: Start | None = None) -> NoisyFit:
    """Fit a distribution to noisy counts.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> cells = [(coin, np.array([0, 1]), np.array([607, 395]), "coin")]
    >>> made = noisy_fit(noisy_evidence(coin.alphabet, cells, variance=800.0))
    >>> made.estimate.theta.round(3), made.intervals().standard_error.round(4)
    (array([0.729, 0.271]), array([0.0554, 0.0554]))
    """
    return NoisyFit(evidence, start)
