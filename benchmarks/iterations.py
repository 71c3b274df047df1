"""One step of EM against the number of people: by distinct outputs, and report by report."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import freewill as fw
from benchmarks import instances
from benchmarks.harness import Clock, Figure, Row, best, clock
from benchmarks.opponents import uniform
from freewill.numeric.operators.base import DenseOperator

_PEOPLE = (10_000, 100_000, 1_000_000)
# Rows are added until all 1,000 outputs have been seen: some are missing at 10^4 people.
_FLAT = 2
_GROWING = 10


def by_outputs(evidence: fw.Evidence) -> Clock:
    """Return the clock of a step of algorithm 1: theta * P'(w / P theta) on distinct outputs."""
    operator, weights = DenseOperator(evidence.operator.dense()), evidence.weights
    theta = uniform(evidence)
    return clock(lambda: theta * operator.adjoint(weights / operator.forward(theta)))


def by_reports(evidence: fw.Evidence) -> Clock:
    """Return the clock of a step of eq. 15: the mean over all reports of theta given the report."""
    counts = np.concatenate([group.counts for group in evidence.groups])
    rows = np.repeat(evidence.operator.dense(), counts, axis=0)
    theta = uniform(evidence)
    return clock(lambda: theta * ((1 / (rows @ theta)) @ rows) / len(rows))


def linear_geometric() -> Iterator[Row]:
    """Ten geometric mechanisms on the line, 10^4 to 10^6 people."""
    instance = instances.linear_geometric()
    times: dict[int, list[Figure]] = {}
    for people in _PEOPLE:
        evidence = replace(instance, people=people).evidence()
        times[people] = best(by_outputs(evidence), by_reports(evidence))
        ours, theirs = times[people]
        what = f"{instance.name}: a step of EM, n={people:,}"
        yield Row(what, ours, "report by report (eq. 15)", theirs, theirs.value / ours.value)
    (few, few_reports), (many, many_reports) = times[_PEOPLE[0]], times[_PEOPLE[-1]]
    ratio = few.value / many.value
    yield Row(
        f"algorithm 1: a step, n={_PEOPLE[-1]:,}",
        many,
        f"n={_PEOPLE[0]:,}",
        few,
        ratio,
        f"flat: ratio > 1/{_FLAT:g}",
        ratio > 1 / _FLAT,
    )
    ratio = few_reports.value / many_reports.value
    yield Row(
        f"report by report: a step, n={_PEOPLE[-1]:,}",
        many_reports,
        f"n={_PEOPLE[0]:,}",
        few_reports,
        ratio,
        f"grows: ratio < 1/{_GROWING}",
        ratio < 1 / _GROWING,
    )


BENCHMARKS = (linear_geometric,)
