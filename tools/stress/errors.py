"""Standard errors of random mixtures of every structure, 2 to 5,000 values, beside dense ones.

`python -m tools.stress.errors [--count 2000] [--largest 5000]` prints the table of
benchmarks/results/intervals.md; 1 if an error is smaller than the dense one, or larger and nothing
says so.
"""

import argparse
import os
import sys
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

import freewill as fw
from freewill.core.progress import progress
from freewill.core.types import FloatArray
from freewill.stats.covariance import UnboundedErrors
from tools.stress.covariance import Covariance
from tools.stress.families import over
from tools.stress.mixtures import (
    Mixture,
    Rng,
    add,
    any_mechanism,
    any_size,
    any_truth,
    log_uniform,
    noises,
)

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

STRUCTURES = ("k-rr", "geometric", "planar", "rappor", "identity", "matrix", "shokri", "mixed")
_NEAR = 0.01
_HAIR = 1e-9
"""Share of the uniform distribution that `information` adds to a theta that is given."""
_ROWS = 5
_SQUARE = 2000
"""Values up to which random laws are drawn, most of them with as many outputs."""
_SEVERAL = 1000
"""Values up to which mixtures have up to three mechanisms of a structure."""
VERDICTS = ("within 1 %", "lost, infinite", "wider, said so", "wider", "smaller", "not judged")
"""Not judged is what rounding hides from the oracle, but for being too small."""


class Case(NamedTuple):
    """A mixture, its structure, and theta."""

    structure: str
    mixture: Mixture
    theta: FloatArray


def case(seed: int, number: int, largest: int) -> Case:
    """Return case `number` of a seed: structures by turns, sizes nearly log-uniform."""
    rng = np.random.default_rng([seed, number])
    structure = STRUCTURES[number % len(STRUCTURES)]
    most = min(largest, {"shokri": 30, "matrix": _SQUARE}.get(structure, largest))
    size = any_size(rng, most - 1, 1.5) + 1
    alphabet: Any = fw.Linear(0, size - 1)
    if structure == "planar" or (structure == "mixed" and rng.random() < 0.3):
        rows = max(2, int(np.sqrt(size) * rng.uniform(0.4, 1)))
        alphabet = fw.Grid(max(2, size // rows), rows, cell=1.0)
    mixture = over(Mixture(number, structure, None, None), alphabet)
    theta = (any_truth(rng, alphabet.size) + 1 / alphabet.size) / 2
    # Dense laws of thousands of values take seconds each.
    several = 1 if size > _SEVERAL else 3
    kinds = [structure] * int(rng.integers(1, several + 1))
    if structure == "mixed":
        some = [*noises(alphabet), "identity", "matrix"]
        kinds = [str(kind) for kind in rng.choice(some, min(several, 2) + 1)]
    # One person tells no error; reports that a law hardly allows are left out.
    while mixture.people < 2:
        for kind in kinds:
            mechanism = any_mechanism(rng, alphabet, log_uniform(rng, 0.02, 8), kind)
            if kind == "matrix" and rng.random() < 0.7 and alphabet.size <= _SQUARE:
                # A random law of fewer outputs than values loses directions.
                shape = alphabet.size, alphabet.size + 1
                law = rng.gamma(log_uniform(rng, 0.02, 3), size=shape) + 1e-12
                mechanism = fw.Matrix(alphabet, law / law.sum(axis=1, keepdims=True))
            add(rng, mixture, mechanism, theta, int(log_uniform(rng, 1e3, 1e6)), most_bits=1)
    return Case(structure, mixture, theta / theta.sum())


def judged(one: Case, rng: Rng) -> list[str]:
    """Return a verdict for some functionals: shares, a set, a sum and the mean."""
    mixture, size = one.mixture, one.theta.size
    rows = np.vstack([np.eye(size)[rng.integers(size, size=_ROWS - 2)],
                      rng.random(size) < rng.random(), np.arange(size)]).astype(float)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnboundedErrors)
        information = fw.information(mixture.evidence(), one.theta)
        variances = information.standard_error(rows) ** 2 * mixture.people
    inside = (1 - _HAIR) * one.theta + _HAIR / size
    bounds = Covariance(mixture.parts, inside).bounds(rows)
    # A set of all values is constant, and has rounding for a variance.
    floor = np.square(_HAIR * np.abs(rows).max(axis=1))
    infinite, hidden = np.isinf(variances), np.isinf(bounds.high)
    smaller = ~(variances >= (1 - 2 * _NEAR) * bounds.low - floor)
    wider = variances > (1 + 2 * _NEAR) * bounds.high + floor
    tests = [smaller, infinite & hidden, infinite, wider, hidden]
    places = np.select(tests, [4, 1, 2, 3, 5], 0)
    return [VERDICTS[place] for place in places]


def table(counts: dict[str, Counter[str]]) -> str:
    """Return the verdicts by structure, in markdown."""
    lines = [f"| structure | {' | '.join(VERDICTS)} |", "|---|" + "---|" * len(VERDICTS)]
    for name, own in [*counts.items(), ("all", sum(counts.values(), Counter[str]()))]:
        lines.append(f"| {name} | {' | '.join(f'{own[verdict]:,}' for verdict in VERDICTS)} |")
    return "\n".join(lines)


def main() -> int:
    """Read the command line, try all, print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.stress.errors", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="mixtures to try")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--largest", type=int, default=5000, help="values of the alphabet")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from")
    options = parser.parse_args()
    counts = {name: Counter[str]() for name in STRUCTURES}
    try:
        with progress("standard errors") as show:
            for number in range(options.first, options.first + options.count):
                one = case(options.seed, number, options.largest)
                own = judged(one, np.random.default_rng([options.seed, number, 1]))
                counts[one.structure].update(own)
                if {"wider", "smaller"} & set(own):
                    print(f"{own}\n{one.mixture}", flush=True)
                show((number + 1 - options.first) / options.count)
    finally:
        # Who interrupts half an hour of work sees what it came to.
        print(table(counts))
    return int(any(own["smaller"] or own["wider"] for own in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
