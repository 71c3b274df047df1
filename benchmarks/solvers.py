"""Certified maximum likelihood: time, steps and memory to a gap, beside EM, Clarabel, mixsqp."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import freewill as fw
from benchmarks import instances, opponents
from benchmarks.environments import NotInstalledError
from benchmarks.harness import Figure, Row, compared, isolated, limited
from benchmarks.instances import Instance
from benchmarks.opponents import MIXSQP_FASTEST, STOP, Run, cpu_seconds
from freewill.paper.mixtures import RAPPOR_HIGH_PRIVACY

_TIGHT, _FINE = 1e-9, 1e-6
# From 10^5 to 10^6 the vectors leave the cache; a quadratic solver would take 10 times longer
# an element.
_LINEAR = 3


class Contest:
    """A problem drawn with several seeds and solved by us, and rows against the rivals.

    Times, steps and the ratio are those of the mean: EM's time varies tenfold between seeds.
    """

    def __init__(
        self,
        instance: Instance,
        tol: float,
        seeds: int = 1,
        repeats: int = 5,
        solver: str | None = None,
    ) -> None:
        self.evidences = [instance.seeded(seed).evidence() for seed in range(seeds)]
        self.tol = tol
        self.name = f"{instance.name}: to gap {tol:g}"
        if seeds > 1:
            self.name += f", mean of {seeds} seeds"
        self.estimates = [fw.gibu(each, tol=tol, solver=solver) for each in self.evidences]
        times = [
            cpu_seconds(lambda each=each: fw.gibu(each, tol=tol, solver=solver), repeats)
            for each in self.evidences
        ]
        self.ours = Figure(float(np.mean(times)), "s")

    def steps(self, fewer_than: int | None = None, unit: str = "steps") -> Row:
        """Our steps, at most; met only where the gap was reached every time."""
        worst = max(self.estimates, key=lambda estimate: estimate.gap)
        most = Figure(max(estimate.steps for estimate in self.estimates), unit)
        row = limited(f"{self.name}, {worst.solver}", most, fewer_than)
        ended = f"{worst.status}, gap {worst.gap:.1e}"
        met = worst.gap <= self.tol and row.met is not False
        return replace(row, rival=ended, asked=row.asked or str(fw.Status.CERTIFIED), met=met)

    def against_em(self, at_least: float | None = None) -> Row:
        """EM to the same gap; stopped after 60 s, or later if the ratio asked for needs it."""
        stop = max(STOP, 1.05 * (at_least or 0) * self.ours.value)
        runs = [opponents.em(each, self.tol, stop) for each in self.evidences]
        return self.row("EM", runs, at_least)

    def against_clarabel(self, at_least: float) -> Iterator[Row]:
        """cvxpy and Clarabel with their own tolerances."""
        try:
            runs = [opponents.clarabel(each) for each in self.evidences]
        except NotInstalledError as reason:
            yield self.missing(f"cvxpy not installed: {reason}", at_least)
            return
        yield self.row("cvxpy + Clarabel", runs, at_least)

    def against_mixsqp(self, at_least: float) -> Iterator[Row]:
        """Mixsqp: its fastest way to the gap, and as it comes.

        R must have OpenBLAS: with the reference BLAS that comes with it mixsqp takes several
        times as long, which would flatter us.
        """
        try:
            runs = [opponents.mixsqp(each, **MIXSQP_FASTEST) for each in self.evidences]
            yield self.row("mixsqp", runs, at_least)
            runs = [opponents.mixsqp(each) for each in self.evidences]
            yield self.row("mixsqp as it comes", runs)
        except NotInstalledError as missing:
            yield self.missing(f"{missing} not installed", at_least)

    def row(self, rival: str, runs: Sequence[Run], at_least: float | None = None) -> Row:
        """Compare the times; the rival's name tells what it reached, at worst."""
        ended = f"gap {max(run.gap for run in runs):.1e}"
        stopped = [run.stopped for run in runs if run.stopped is not None]
        if stopped:
            ended = f"stopped at {stopped[0]:.0f} s, {ended}"
        steps = np.mean([run.steps for run in runs])
        seconds = Figure(float(np.mean([run.seconds for run in runs])), "s")
        rival = f"{rival}, {steps:,.0f} steps, {ended}"
        return compared(self.name, self.ours, rival, seconds, at_least)

    def missing(self, reason: str, at_least: float) -> Row:
        """Return the row of a rival that is not there."""
        return Row(self.name, self.ours, reason, asked=f"ratio >= {at_least:g}")


def linear_geometric() -> Iterator[Row]:
    """Ten geometric mechanisms on the line."""
    contest = Contest(instances.linear_geometric(), _TIGHT, seeds=10)
    yield contest.steps()
    yield contest.against_em(500)
    yield from contest.against_clarabel(100)
    yield from contest.against_mixsqp(10)


def linear_krr() -> Iterator[Row]:
    """Ten k-RR mechanisms on the line."""
    contest = Contest(instances.linear_krr(), _TIGHT, seeds=10)
    yield contest.steps()
    yield contest.against_em(50)
    yield from contest.against_mixsqp(10)


def planar_geometric() -> Iterator[Row]:
    """Ten planar geometric mechanisms in a city of 24 x 16 cells."""
    contest = Contest(instances.planar_geometric(), _TIGHT)
    yield contest.steps()
    yield contest.against_em(100)
    yield from contest.against_mixsqp(10)


def large_krr() -> Iterator[Row]:
    """k-RR on up to a million values."""
    times = {}
    for size in (10_000, 100_000, 1_000_000):
        contest = Contest(instances.large_krr(size), _TIGHT)
        yield contest.steps(15)
        yield limited(contest.name, contest.ours)
        times[size] = Figure(contest.ours.value / size, "s")
    for small, large in ((10_000, 100_000), (100_000, 1_000_000)):
        ratio = times[small].value / times[large].value
        yield Row(
            f"k-RR, k={large:,}: time a value",
            times[large],
            f"k={small:,}",
            times[small],
            ratio,
            f"linear: ratio > 1/{_LINEAR}",
            ratio > 1 / _LINEAR,
        )
    contest = Contest(instances.large_krr(100_000, instances.LARGE_KRR_TEN), _TIGHT)
    yield contest.steps(15)
    yield contest.against_em()


def solved(
    make: str, arguments: list[Any], tol: float, solver: str | None = None
) -> dict[str, Any]:
    """Draw an instance of `instances` by its name and solve it, in a process of its own."""
    instance = getattr(instances, make)(*arguments)
    evidence = instance.evidence()
    # Fresh groups, so that making the operators counts as well.
    fresh = fw.Evidence(evidence.alphabet, tuple(map(replace, evidence.groups)))
    start = time.process_time()
    estimate = fw.gibu(fresh, tol=tol, solver=solver)
    seconds = time.process_time() - start
    outcome = f"{estimate.status}, gap {estimate.gap:.1e}, {estimate.steps} steps"
    return {
        "cpu": seconds,
        "what": f"{instance.name}: to gap {tol:g}, {estimate.solver}",
        "outcome": f"{outcome}, {int((estimate.theta > 1e-9).sum()):,} values in the support",
        "reached": estimate.gap <= tol,
    }


def resources(
    make: str,
    arguments: list[Any],
    tol: float,
    cpu: float | None,
    memory: float | None,
    solver: str | None = None,
) -> Iterator[Row]:
    """Yield CPU seconds and peak memory of a solve; the memory of drawing is in the peak."""
    run = isolated(solved, make, arguments, tol, solver)
    result = run.result
    figures = (("CPU", Figure(result["cpu"], "s"), cpu), ("peak memory", run.memory, memory))
    for what, figure, limit in figures:
        row = limited(f"{result['what']}, {what}", figure, limit)
        met = None if row.met is None else row.met and result["reached"]
        yield Row(row.name, row.ours, result["outcome"], asked=row.asked, met=met)


def long_geometric() -> Iterator[Row]:
    """Four geometric mechanisms on 5,000 values."""
    for solver, fewer_than in (("linear", 20), ("columns", None)):
        contest = Contest(instances.long_geometric(), _TIGHT, solver=solver)
        yield contest.steps(fewer_than)
        yield from resources("long_geometric", [], _TIGHT, None, 200e6, solver)
    yield contest.against_em()


def rappor() -> Iterator[Row]:
    """Ten RAPPOR mechanisms on 20 values, high privacy."""
    contest = Contest(instances.rappor(RAPPOR_HIGH_PRIVACY, "high"), _FINE)
    yield contest.steps(unit="passes")
    yield contest.against_em(100)


def large_rappor() -> Iterator[Row]:
    """Ten RAPPOR mechanisms on 1,000 values, a million people."""
    contest = Contest(instances.large_rappor(), _FINE, repeats=1)
    yield contest.steps(11, unit="passes")
    yield contest.against_em(10)
    yield from resources("large_rappor", [], _FINE, None, 1e9)


def fine_planar() -> Iterator[Row]:
    """Ten planar geometric mechanisms in a city of 240 x 160 cells."""
    for truth in ("smooth", "spiky"):
        yield from resources("fine_planar", [truth, 100_000], _FINE, 10, 500e6)
    for truth in ("smooth", "spiky"):
        yield from resources("fine_planar", [truth, 1_000_000], _FINE, 40, None)
    contest = Contest(instances.fine_planar("smooth", 100_000), _FINE, repeats=1)
    yield contest.against_em()


def many_mechanisms() -> Iterator[Row]:
    """Up to as many mechanisms as people, and none with structure."""
    for kind, count, at_least in (
        ("geometric", 40, 10),
        ("geometric", 400, 10),
        ("k-RR", 2_000, 10),
        ("planar geometric", 200, 8),
    ):
        yield from Contest(instances.many(kind, count), _TIGHT).against_mixsqp(at_least)
    yield from Contest(instances.random_matrix(60), _TIGHT, repeats=20).against_mixsqp(5)
    for kind, seconds in (("k-RR", 2), ("geometric", 3), ("RAPPOR", 5)):
        yield from resources("many", [kind, 100_000], _FINE, seconds, None)


BENCHMARKS = (
    linear_geometric,
    linear_krr,
    planar_geometric,
    large_krr,
    long_geometric,
    rappor,
    large_rappor,
    fine_planar,
    many_mechanisms,
)
