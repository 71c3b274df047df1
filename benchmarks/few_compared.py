"""How often few people are told apart who do not differ, and who do: results/comparison.md.

`python -m benchmarks.few_compared [--runs 1000] [CASE ...]` prints it in markdown. Two bodies of 60
to 1,000 people each have values from the same truth, and in the last column a quarter as many runs
have the second one's values moved by a tenth of the line.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.comparison import moved
from benchmarks.simulated import options, tabulate
from freewill.core.types import FloatArray
from freewill.stats.difference import equality

Body = tuple[tuple[Any, int], ...]
_LINE, _AGES = fw.Linear(0, 19), fw.Linear(0, 99)
_LABELS = fw.Categorical([str(number) for number in range(20)])
_LEVEL = 0.05


def _peak(size: int) -> FloatArray:
    weights = np.exp(-0.5 * ((np.arange(size) / size - 0.4) / 0.15) ** 2)
    return np.asarray(weights / weights.sum())


def _cases() -> Iterator[tuple[str, Body, Body]]:
    for people in (60, 200, 1000):
        for line in (_LINE, _AGES):
            for kind in (fw.KRR(line, 3.0), fw.Geometric(line, 6 / line.size)):
                body: Body = ((kind, people),)
                yield f"{people:,} {kind}", body, body
    for line in (_LINE, _AGES):
        for private, open_people in ((490, 10), (950, 50)):
            body = (fw.KRR(line, 0.5), private), (fw.Identity(line), open_people)
            yield f"{private} k-RR .5 and {open_people} open, {line}", body, body
    bits = ((fw.RAPPOR(_LINE, 3.0), 150),)
    yield "150 RAPPOR 3, 0..19", bits, bits
    labels = ((fw.KRR(_LABELS, 3.0), 150),)
    yield "150 k-RR 3, 20 labels", labels, labels
    yield "500 and 60 open, 0..99", ((fw.Identity(_AGES), 500),), ((fw.Identity(_AGES), 60),)
    one, other = ((fw.KRR(_LINE, 3.0), 200),), ((fw.Geometric(_LINE, 0.5), 200),)
    yield "200 k-RR 3, 200 geometric .5, 0..19", one, other


CASES = {name: (one, other) for name, one, other in _cases()}


def _drawn(body: Body, truth: FloatArray, rng: np.random.Generator) -> fw.Evidence:
    return fw.collect(
        [(kind, kind.obfuscate(rng.choice(truth.size, many, p=truth), rng)) for kind, many in body]
    )


def rejected(job: tuple[str, int]) -> list[float]:
    """Say whether equality is rejected of bodies that are equal, and of one that is moved."""
    name, seed = job
    rng, verdicts = np.random.default_rng(seed), list[float]()
    truth = _peak(CASES[name][0][0][0].alphabet.size)
    for shift in (0.0, truth.size / 10):
        if shift and seed % 4:
            return [*verdicts, np.nan]
        truths = truth, moved(truth, shift, (1, truth.size))
        pair = [_drawn(body, some, rng) for body, some in zip(CASES[name], truths, strict=True)]
        verdicts.append(equality(pair[0], pair[1]) <= _LEVEL)
    return verdicts


def rows(name: str, results: list[list[float]]) -> Iterator[list[str]]:
    """Yield the line of the table for one case."""
    shares = np.nanmean(np.array(results, dtype=float), axis=0)
    error = np.sqrt(_LEVEL * (1 - _LEVEL) / len(results))
    yield [name, f"{shares[0]:.3f} ± {error:.3f}", *(f"{share:.3f}" for share in shares[1:])]


def main() -> None:
    """Simulate and print."""
    chosen = options("few_compared", __doc__, list(CASES), 1000)
    head = ["each body", "rejected", "moved: rejected"]
    tabulate(head, chosen.mixtures, rejected, rows, chosen)


if __name__ == "__main__":
    main()
