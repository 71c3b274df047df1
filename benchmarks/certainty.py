"""What error bars cost: every value of a line, a district of a large grid."""

import time
from collections.abc import Iterator

import numpy as np

import freewill as fw
from benchmarks import instances
from benchmarks.harness import Figure, Row, best, clock, compared, isolated, limited

_RESAMPLES = 100
_SECONDS, _BYTES = 10.0, 500e6


def resampled(evidence: fw.Evidence) -> np.ndarray:
    """Return percentile intervals from evidence drawn anew from itself: what others would do."""
    rng, found = np.random.default_rng(0), []
    for _ in range(_RESAMPLES):
        again = [
            (one.mechanism, one.mechanism.outputs(), rng.multinomial(one.people, shares))
            for one, shares in zip(evidence.groups, _shares(evidence), strict=True)
        ]
        found.append(fw.gibu(fw.collect(again)).theta)
    return np.quantile(found, [0.025, 0.975], axis=0)


def _shares(evidence: fw.Evidence) -> list[np.ndarray]:
    """Return how often each output was seen, group by group."""
    shares = []
    for one in evidence.groups:
        row = np.zeros(one.mechanism.alphabet.size)
        row[np.asarray(one.outputs)] = one.counts / one.people
        shares.append(row)
    return shares


def line() -> Iterator[Row]:
    """Intervals of all 100 values, ten geometric mechanisms, the estimate included."""
    evidence = instances.linear_geometric().evidence()
    ours, theirs = best(
        clock(lambda: fw.intervals(evidence)), clock(lambda: resampled(evidence)), repeats=3
    )
    what = "intervals of 100 values"
    yield limited(what, ours, 0.02)
    yield compared(what, ours, f"{_RESAMPLES} resamples", theirs)


def district_of(scale: float) -> list[float]:
    """Return the standard error of a district's share, and the CPU seconds that it took."""
    instance = instances.fine_planar("smooth", 1_000_000, scale)
    evidence = instance.evidence()
    begin = time.process_time()
    told = fw.information(evidence, instance.truth)
    error = told.standard_error(fw.functionals.district(3, 5, 5, 7))
    return [float(error), time.process_time() - begin]


def district() -> Iterator[Row]:
    """The standard error of 40 x 40 cells of 240 x 160, ten planar mechanisms, a million people."""
    for scale in (1.0, 4.0):
        done = isolated(district_of, scale)
        what = f"a district, epsilons x {scale:g}"
        error, seconds = done.result
        yield Row(f"{what}: standard error of its share", Figure(100 * error, "%"))
        yield limited(f"{what}: CPU time", Figure(seconds, "s"), _SECONDS)
        yield limited(f"{what}: memory, the reports included", done.memory, _BYTES)


BENCHMARKS = (line, district)
