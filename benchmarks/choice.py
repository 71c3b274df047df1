"""Every solver on every structure and size, from which the automatic choice follows.

`python -m benchmarks.choice` prints the table in markdown. CPU seconds to the default tolerance;
a solver that takes more than `_PATIENCE` times the best so far is stopped.
"""

import argparse
import os

# Before NumPy is loaded: the choice must not depend on how many cores are idle.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import get_args

import numpy as np

import freewill as fw
from benchmarks import instances
from benchmarks.instances import Instance, mixture
from benchmarks.records import levels, records, three_kinds
from freewill.stats.estimators.gibu import SolverName, choose_solver

SOLVERS: tuple[SolverName, ...] = get_args(SolverName)
_PATIENCE = 4.0
_SHORT = 0.05
"""Seconds below which a run is repeated, and the best counts."""
_LEAST = 0.5
"""Seconds that every solver gets, however fast the best one is."""
_CUBIC: tuple[SolverName, ...] = ("interior", "passes")
_CUBIC_VALUES = 3_000
"""Values beyond which even one step with a k x k matrix takes too long to be waited for."""
_ENTRIES = 30_000_000
"""Entries of a law beyond which the same holds for a step on all of them."""
ASKED = 2.0
"""Nowhere may another solver be more than this many times as fast as the one chosen."""


@dataclass
class Case:
    """A mixture, what each solver took (None: stopped or not certified) and the choice."""

    instance: Instance
    seconds: dict[SolverName, float | None] = field(default_factory=dict)
    chosen: str = ""

    @property
    def ratio(self) -> float:
        """The chosen solver's time over the best one's."""
        times = [taken for taken in self.seconds.values() if taken is not None]
        ours = self.seconds.get(self.chosen)
        return math.inf if ours is None or not times else float(ours) / min(times)

    def cells(self) -> list[str]:
        """Return the row as it is printed; the choice is marked."""
        shown = []
        for solver in SOLVERS:
            taken = self.seconds.get(solver, math.nan)
            text = "-" if taken is None else "" if math.isnan(taken) else f"{taken:.2g}"
            shown.append(f"**{text}**" if solver == self.chosen else text)
        return [self.instance.name, *shown, f"{self.ratio:.2g}"]


class _TooLongError(Exception):
    """The time is up."""


def measured(case: Case) -> Case:
    """Time every solver, the chosen one first."""
    evidence = case.instance.evidence()
    case.chosen = choose_solver(evidence)
    best = math.inf
    entries = evidence.alphabet.size * sum(group.rows for group in evidence.groups)
    for solver in sorted(SOLVERS, key=lambda name: name != case.chosen):
        if solver in _CUBIC and evidence.alphabet.size > _CUBIC_VALUES:
            continue
        if solver == "interior" and entries > _ENTRIES:
            continue
        limit = max(_LEAST, _PATIENCE * best) if best < math.inf else 120.0
        try:
            taken = _timed(evidence, solver, limit)
        except fw.FreewillError:
            continue
        case.seconds[solver] = taken
        best = min(best, math.inf if taken is None else taken)
    return case


def _timed(evidence: fw.Evidence, solver: SolverName, limit: float) -> float | None:
    """Return the CPU seconds to a certificate, None where there is none in time."""
    best = math.inf
    for _ in range(3):
        # Fresh groups, so that making the operators counts as well.
        fresh = fw.Evidence(evidence.alphabet, tuple(map(replace, evidence.groups)))
        started = time.process_time()
        try:
            estimate = fw.gibu(fresh, solver=solver, on_step=_Clock(started + limit))
        except _TooLongError:
            return None
        if estimate.status != fw.Status.CERTIFIED:
            return None
        best = min(best, time.process_time() - started)
        if best > _SHORT:
            break
    return best


class _Clock:
    """Stops a solver at the next step after its time."""

    def __init__(self, end: float) -> None:
        self.end = end

    def __call__(self, step: fw.Step) -> None:
        if time.process_time() > self.end:
            raise _TooLongError


Maker = Callable[[int, int], Instance]


def _line(size: int) -> fw.Linear:
    return fw.Linear(0, size - 1)


def _on_a_line(name: str, mechanisms: list[fw.Mechanism], people: int) -> Instance:
    size = mechanisms[0].alphabet.size
    title = f"{name}, k={size:,}, n={people:,}"
    return Instance(title, mechanisms, instances.binomial(size), people)


def krr(size: int, people: int, count: int = 1) -> Instance:
    """k-RR, from e^epsilon near k down."""
    epsilons = np.linspace(0.5, 1.0, count) * math.log(size + 1) + 0.5
    return _on_a_line(f"{count} k-RR", mixture(fw.KRR, _line(size), epsilons.tolist()), people)


def geometric(size: int, people: int, count: int = 1, width: float = 0.05) -> Instance:
    """Geometric noise of this width relative to the line, and narrower."""
    epsilons = np.geomspace(1 / (width * size), 5 / (width * size), count)
    name = f"{count} geometric, noise {width:g} of the line"
    return _on_a_line(name, mixture(fw.Geometric, _line(size), epsilons.tolist()), people)


def geometric_krr(size: int, people: int) -> Instance:
    """Three geometric mechanisms and three k-RR."""
    both = [*geometric(size, 1, 3).mechanisms, *krr(size, 1, 3).mechanisms]
    return _on_a_line("3 geometric + 3 k-RR", both, people)


def rappor(size: int, people: int, count: int = 3) -> Instance:
    """RAPPOR at epsilons 1 to 4."""
    epsilons = np.linspace(1.0, 4.0, count).tolist()
    return _on_a_line(f"{count} RAPPOR", mixture(fw.RAPPOR, _line(size), epsilons), people)


def rappor_krr(size: int, people: int) -> Instance:
    """RAPPOR beside k-RR."""
    both = [*rappor(size, 1, 2).mechanisms, *krr(size, 1, 1).mechanisms]
    return _on_a_line("2 RAPPOR + k-RR", both, people)


def rappor_geometric(size: int, people: int) -> Instance:
    """RAPPOR beside geometric noise."""
    both = [*rappor(size, 1, 1).mechanisms, *geometric(size, 1, 2).mechanisms]
    return _on_a_line("RAPPOR + 2 geometric", both, people)


def matrix(size: int, people: int, count: int = 2) -> Instance:
    """Laws without structure: random rows around the diagonal."""
    rng = np.random.default_rng(size)
    laws = [
        rng.gamma(0.3, size=(size, size)) + 0.3 * size * share * np.eye(size)
        for share in np.linspace(1, 3, count)
    ]
    alphabet = _line(size)
    made: list[fw.Mechanism] = [
        fw.Matrix(alphabet, law / law.sum(axis=1, keepdims=True)) for law in laws
    ]
    return _on_a_line(f"{count} Matrix", made, people)


def of_all_kinds(size: int, people: int, count: int) -> Instance:
    """As many of each kind on a line."""
    kinds = (geometric(size, 1, count), krr(size, 1, count), rappor(size, 1, count))
    mechanisms = [mechanism for kind in kinds for mechanism in kind.mechanisms]
    return _on_a_line(f"{count} geometric, k-RR and RAPPOR each", mechanisms, people)


def planar(columns: int, people: int, sharpness: float = 0.2, count: int = 3) -> Instance:
    """Planar noise on a grid of columns x 2/3 columns; `sharpness` is epsilon a cell."""
    grid = fw.Grid(columns, max(2, 2 * columns // 3), cell=1.0)
    epsilons = np.geomspace(sharpness / 3, sharpness, count).tolist()
    name = f"{count} planar to {sharpness:g} a cell, {grid.columns} x {grid.rows}, n={people:,}"
    truth = instances.smooth_city(grid)
    return Instance(name, mixture(fw.PlanarGeometric, grid, epsilons), truth, people)


def planar_beside(columns: int, people: int, kind: type[fw.Mechanism]) -> Instance:
    """Planar noise beside one mechanism of another kind."""
    base = planar(columns, people, 0.3, 2)
    other = mixture(kind, base.alphabet, [5.0])
    return replace(
        base, name=f"{base.name} + {other[0].name}", mechanisms=[*base.mechanisms, *other]
    )


def on_lines() -> Iterator[Instance]:
    """Yield laws with structure on a line, or with none."""
    for size, people in product((10, 100, 1_000, 10_000, 100_000), (1_000, 1_000_000)):
        yield krr(size, people)
    yield from (krr(size, 100_000, 10) for size in (100, 10_000))
    for size in (10, 50, 100, 250, 500, 1_000, 2_000, 4_000, 10_000):
        yield geometric(size, 100_000, 3)
    for size, steps in product((300, 1_000, 4_000), (1, 10, 30)):
        yield geometric(size, 100_000, 3, steps / size)
    for size in (100, 500, 2_000, 20_000):
        yield geometric(size, 100_000, 1, 0.01)
        yield geometric(size, 1_000, 3)
        yield geometric(size, 100_000, 10)
    yield from (geometric_krr(size, 100_000) for size in (20, 100, 400, 1_200, 10_000))
    yield from (matrix(size, 100_000) for size in (10, 100, 400, 1_000, 2_000))


def on_grids() -> Iterator[Instance]:
    """Yield planar noise, alone and beside others."""
    for columns, sharpness in product((6, 12, 24, 36, 60, 100), (0.2, 1.0, 3.0)):
        yield planar(columns, 100_000, sharpness)
    for columns in (24, 100):
        yield planar(columns, 1_000)
        yield planar(columns, 3_000_000)
        yield planar(columns, 3_000_000, 2.0)
    for columns, people in product((12, 24, 60), (3_000, 100_000)):
        yield planar_beside(columns, people, fw.KRR)
        yield planar_beside(columns, people, fw.RAPPOR)


def of_bits() -> Iterator[Instance]:
    """Yield bit reports, alone and beside others."""
    for size, people in product((8, 20, 100, 300, 1_000, 2_000), (100, 3_000, 100_000)):
        yield rappor(size, people)
    for size, people in product((20, 200, 1_000, 3_000), (100, 10_000)):
        yield rappor_krr(size, people)
        yield rappor_geometric(size, people)


def bits_and_symbols(own: fw.Alphabet) -> list[fw.Mechanism]:
    """Return RAPPOR, k-RR and silence."""
    return [fw.RAPPOR(own, 2.0), fw.KRR(own, 2.0), fw.Silent(own)]


def of_records() -> Iterator[Instance]:
    """Yield records of several attributes, each by a mechanism of its own."""
    for sizes, people in product(
        ((5, 5), (12, 12), (30, 30), (8, 8, 8), (60, 60)), (1_000, 100_000)
    ):
        yield records("records, k-RR and geometric", sizes, three_kinds, people)
    for sizes in ((10, 10), (6, 6, 6), (16, 16)):
        yield records("records, RAPPOR, k-RR and silence", sizes, bits_and_symbols, 30_000)
    yield records("records, 255 of k-RR and silence", (6,) * 4, levels, 100_000)


def of_many() -> Iterator[Instance]:
    """Yield many mechanisms of one kind, or of several."""
    for count in (10, 30, 100, 1_000, 10_000):
        yield krr(100, 100_000, count)
        yield geometric(100, 100_000, count)
        yield geometric(100, 100_000, count, 0.005)
        yield geometric(1_000, 100_000, count)
        yield rappor(20, 100_000, count)
        yield rappor(100, 100_000, count)
        yield planar(24, 100_000, 1.0, count)
        yield of_all_kinds(100, 100_000, count)
    yield from (matrix(60, 100_000, count) for count in (10, 100, 1_000))


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice", description=__doc__)
    parser.add_argument("words", nargs="*", help="only the cases whose names have all of these")
    words = parser.parse_args().words
    table = chain(on_lines(), on_grids(), of_bits(), of_records(), of_many())
    wanted = [case for case in table if all(word in case.name for word in words)]
    print("| CPU seconds |", " | ".join(SOLVERS), "| chosen / best |")
    print("| --- |" + " --- |" * (len(SOLVERS) + 1), flush=True)
    done = []
    for number, instance in enumerate(wanted, 1):
        print(f"\r{number} of {len(wanted)} ", end="", file=sys.stderr, flush=True)
        done.append(measured(Case(instance)))
        print("| " + " | ".join(done[-1].cells()) + " |", flush=True)
    slow = [case for case in done if case.ratio > ASKED]
    print(f"\n{len(done)} cases; the choice is more than twice as slow as the best in {len(slow)}.")


if __name__ == "__main__":
    main()
