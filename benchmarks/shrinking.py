"""Shares pulled together beside the maximum likelihood, over truths of several kinds.

`python -m benchmarks.shrinking` writes results/shrinking.md: mean squared errors of `fw.shrink`,
and of EM stopped early, over those of `fw.gibu` on the same simulated reports.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.pages import write

_PEOPLE, _SEEDS = 20_000, 10
_EARLY = 1e-6
"""Gain of the likelihood at which the paper's algorithm is stopped."""
_EPSILONS = (0.5, 1.0, 3.0)
_KINDS: dict[str, Callable[[Any, float], Any]] = {
    "k-RR": fw.KRR,
    "Hadamard": fw.HadamardResponse.best,
    "OUE": fw.OUE,
}
_SIZES = {20: ("k-RR", "Hadamard", "OUE"), 100: ("k-RR", "Hadamard")}
"""Mechanisms by the number of values: 20,000 reports of 100 bits take half a minute each."""


def truths(size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return distributions from even ones to such of three values."""
    few, half = np.zeros(size), np.zeros(size)
    few[:3] = 0.5, 0.3, 0.2
    half[: size // 2] = 2 / size
    falling = 1 / np.arange(1.0, size + 1)
    return {
        "all alike": np.full(size, 1 / size),
        "1, 1/2, 1/3, ...": falling / falling.sum(),
        "random": rng.dirichlet(np.ones(size)),
        "half of them empty": half,
        "three values": few,
    }


def ratios(size: int, kind: str, epsilon: float, seeds: int) -> Iterator[tuple[str, float, float]]:
    """Yield for each truth the errors of shrinking and of early stopping, over those of gibu."""
    labels = fw.Categorical([f"label {number}" for number in range(size)])
    mechanism = _KINDS[kind](labels, epsilon)
    for name in truths(size, np.random.default_rng(0)):
        errors = np.zeros(3)
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            theta = truths(size, rng)[name]
            values = rng.choice(size, _PEOPLE, p=theta)
            evidence = fw.collect([(mechanism, mechanism.obfuscate(values, rng))])
            found = fw.gibu(evidence), fw.shrink(evidence), fw.em(evidence, delta=_EARLY)
            errors += [np.square(one.theta - theta).sum() for one in found]
        yield name, errors[1] / errors[0], errors[2] / errors[0]


_TEXT = """\
{seeds} seeds, {people:,} people; mean squared errors to the true
distribution over those of `fw.gibu` on the same reports, means over the seeds. The first number is
that of `fw.shrink`, the second that of `fw.em(evidence, delta=1e-6)`, which pulls shares together
because it stops early. Below 1 is nearer to the truth than the maximum likelihood.

"""


def main() -> None:
    """Measure all, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shrinking", description=__doc__)
    parser.add_argument("--seeds", type=int, default=_SEEDS)
    seeds = parser.parse_args().seeds
    names = list(truths(3, np.random.default_rng(0)))
    lines = [f"| values | mechanism | epsilon | {' | '.join(names)} |", "| --- " * 8 + "|"]
    for size, kinds in _SIZES.items():
        for kind in kinds:
            for epsilon in _EPSILONS:
                row = ratios(size, kind, epsilon, seeds)
                cells = [f"{one:.2f}, {other:.2f}" for _, one, other in row]
                lines.append(f"| {size} | {kind} | {epsilon:g} | {' | '.join(cells)} |")
                print(lines[-1], flush=True)
    text = _TEXT.format(seeds=seeds, people=_PEOPLE) + "\n".join(lines)
    write("shrinking", f"python -m benchmarks.shrinking --seeds {seeds}", text)


if __name__ == "__main__":
    main()
