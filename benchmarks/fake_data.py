"""RS+FD, random sampling plus fake data: the law of its reports, its promise, and its likelihood.

A person draws one of d attributes uniformly, answers it by a mechanism M of
epsilon' = ln(d (e^epsilon - 1) + 1), and draws fakes F of the others that do not depend on their
values: P(y | x) = 1/d sum_j M(y_j | x_j) / F(y_j) times the product of all F(y_i). That is linear
in the marginals, so that no report tells how the attributes go together.
"""

import math
from collections.abc import Iterator
from functools import reduce
from itertools import product

import numpy as np

import freewill as fw
from benchmarks.environments import Rival

SIZES = ((2, 2), (5, 5, 5), (2, 5, 10))
"""Sizes of attributes to state promises for; the last are those of the tutorial's example."""
_DRAWS = 100_000


def amplified(epsilon: float, count: int) -> float:
    """Return epsilon', that of the mechanism of the attribute that was drawn."""
    return math.log1p(count * math.expm1(epsilon))


def named(epsilon: float, count: int) -> float:
    """Return the epsilon to name for epsilon' to be the one given."""
    return math.log1p(math.expm1(epsilon) / count)


def law(sizes: tuple[int, ...], epsilon: float) -> np.ndarray:
    """Return P(reported record | record) of RS+FD[GRR], records numbered with the last fastest."""
    odds = math.exp(amplified(epsilon, len(sizes)))
    answers = [(1 + (odds - 1) * np.eye(size)) / (odds + size - 1) for size in sizes]
    fakes = [np.full((size, size), 1 / size) for size in sizes]
    each = [
        reduce(np.kron, [*fakes[:place], answers[place], *fakes[place + 1 :]])
        for place in range(len(sizes))
    ]
    return np.asarray(sum(each) / len(sizes))


def promised(sizes: tuple[int, ...], epsilon: float) -> list[float]:
    """Return the least epsilon for records that differ in 1, 2, ... attributes, by the law."""
    logs = np.log(law(sizes, epsilon))
    records = np.array([*product(*map(range, sizes))])
    apart = (records[:, None] != records).sum(axis=2)
    most = np.array([(own - logs).max(axis=1) for own in logs])
    return [float(most[apart == count].max()) for count in range(1, len(sizes) + 1)]


def audited(sizes: tuple[int, ...], epsilon: float) -> float:
    """Return epsilon of whole records as `fw.audit` finds it in the law."""
    records = fw.Linear(0, math.prod(sizes) - 1)
    return float(fw.audit(fw.Matrix(records, law(sizes, epsilon), records)).epsilon)


def sampled(other: Rival, solution: str, epsilon: float) -> tuple[float, float]:
    """Return ln P((0, 0) | (0, 0)) / P((0, 0) | (1, 1)) in the rival's draws, and its error."""
    shares = []
    for value in (0, 1):
        people = [[value, value]] * _DRAWS
        order = {"protocol": f"{solution} reports", "epsilon": epsilon, "size": [2, 2]}
        reports = other.ask(**order, values=people, seed=value)["reports"]
        shares.append(sum(own in ([0, 0], [[0], [0]]) for own in reports) / _DRAWS)
    error = math.sqrt(sum((1 - share) / share / _DRAWS for share in shares))
    return math.log(shares[0] / shares[1]), error


def read_as(bits: bool, size: int, epsilon: float, count: int) -> float:
    """Return the epsilon of k-RR, or of OUE, with the likelihood of what is said of an attribute.

    A fake is uniform, or a report of no value: the likelihood ratio of a value that is named to one
    that is not is (M/F + d - 1) / (M'/F + d - 1), whatever else was reported.
    """
    odds = math.exp(amplified(epsilon, count))
    if bits:
        own, other = (odds + 1) / 2, (odds + 1) / (2 * odds)
    else:
        own, other = odds * size / (odds + size - 1), size / (odds + size - 1)
    return math.log((own + count - 1) / (other + count - 1))


def promises(other: Rival, epsilon: float = 1.0) -> Iterator[str]:
    """Yield the table of what RS+FD names, and what its law and its sampler give."""
    yield "| sizes | epsilon named | epsilon' | records that differ in 1, 2, ... attributes, GRR |"
    yield "| --- " * 4 + "|"
    for sizes in SIZES:
        own, whole = promised(sizes, epsilon), amplified(epsilon, len(sizes))
        assert math.isclose(audited(sizes, epsilon), own[-1], rel_tol=1e-9)
        shown = ", ".join(f"{each:.3f}" for each in own)
        yield f"| {', '.join(map(str, sizes))} | {epsilon:g} | {whole:.3f} | {shown} |"
    yield ""
    yield f"| solution, sizes 2, 2 | epsilon named | in its own {2 * _DRAWS:,} draws |"
    yield "| --- " * 3 + "|"
    for solution in ("RS+FD[GRR]", "RS+FD[OUE-z]", "RS+FD[OUE-r]", "SPL[GRR]"):
        found, error = sampled(other, solution, epsilon)
        yield f"| {solution} | {epsilon:g} | {found:.3f} ± {error:.3f} |"
