"""Bit mixtures, their solutions and reports that lie elsewhere, for the tests of passes."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators.base import Sums, parts_of
from freewill.numeric.solvers import passes
from freewill.numeric.solvers.likelihood import Likelihood, Status
from freewill.stats.estimators.estimate import likelihood_of
from problems import simulated


def over(likelihood, stride=None):
    """Return the passes over a likelihood; H from one report in `stride`, but ten a value."""
    operators = parts_of(likelihood.operator)
    ends = np.cumsum([operator.shape[0] for operator in operators])[:-1]
    pieces = np.split(likelihood.weights, ends)
    parts = [Likelihood(*pair) for pair in zip(operators, pieces, strict=True)]
    source = passes.Passes.of(parts, likelihood.size)
    if stride is None:
        return source
    return replace(source, stride=max(1, min(stride, source.rows // (10 * source.size))))


def solve(evidence, tolerance=1e-9, max_steps=60, stride=None, **options):
    source = over(likelihood_of(evidence), stride)
    return passes.solve(source, tolerance, max_steps, **options)


def bits(size, epsilons):
    return [fw.RAPPOR(fw.Linear(0, size - 1), float(epsilon)) for epsilon in epsilons]


def bell(size):
    place = np.linspace(-3, 3, size)
    return np.exp(-(place**2)) / np.exp(-(place**2)).sum()


def assert_certified(solution, evidence, tolerance=1e-9):
    assert solution.status == Status.CERTIFIED
    assert 0 <= solution.certificate.gap <= tolerance
    assert np.all(solution.theta >= 0)
    assert solution.theta.sum() == pytest.approx(1, abs=1e-12)
    # The same certificate from products that the solver does not use.
    other = likelihood_of(evidence).certify(solution.theta)
    assert solution.certificate.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(solution.certificate.slope, other.slope, rtol=1e-11)
    assert other.gap <= tolerance + 1e-12


def grown(size=60, people=20_000, share=0.01):
    """Return evidence, and the same with a few more reports."""
    mechanisms = bits(size, np.linspace(1, 5, 4))
    first = simulated(mechanisms, bell(size), people, seed=6)
    return first, first + simulated(mechanisms, bell(size), int(share * people), seed=7)


@dataclass(frozen=True)
class Elsewhere:
    """A part that reads its reports again in two blocks for every pass, and notes it."""

    part: Likelihood
    reads: list

    @property
    def rows(self):
        return self.part.rows

    @property
    def weight(self):
        return self.part.weight

    @property
    def log_scale(self):
        return self.part.log_scale

    def guesses(self):
        yield from self.part.guesses()

    def sums(self, theta, stride):
        self.reads.append(stride)
        law, weights = self.part.operator, self.part.weights
        halves = (slice(0, None, 2), slice(1, None, 2))
        each = (law.subset(rows).sums(theta, weights[rows], stride) for rows in halves)
        return sum(each, Sums.nothing(theta.size, stride))


def elsewhere(evidence, stride=None):
    here = over(likelihood_of(evidence), stride)
    reads = []
    return passes.Passes(
        [Elsewhere(part, reads) for part in here.parts], here.size, here.stride
    ), reads


ZIPF = 1 / np.arange(1, 31.0) ** 2 / np.sum(1 / np.arange(1, 31.0) ** 2)
