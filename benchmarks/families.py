"""Everyone's own epsilon: seconds, errors of the Gauss rule, coverage, size and power of tests.

`python -m benchmarks.families [--runs 300]` prints the tables of benchmarks/results/families.md;
`python -m benchmarks families` times the whole way alone.
"""

import argparse
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.harness import Figure, Row, limited
from benchmarks.pages import write
from freewill.core.types import FloatArray

_PEOPLE = 100_000
_LEVELS = 100_000
_ENDS = (0.1, 5.0)
_CASES = (
    (fw.KRR, fw.Linear(0, 99), 2.0),
    (fw.Geometric, fw.Linear(0, 99), 5.0),
    (fw.RAPPOR, fw.Linear(0, 19), 5.0),
    (fw.PlanarGeometric, fw.Grid(24, 16, cell=0.5), 20.0),
)
"""Kind, alphabet, and the seconds that draw, evidence and estimate may take together."""
_LINE = fw.Linear(0, 19)
_THETA = np.exp(-0.5 * ((np.arange(20) - 8) / 4) ** 2)
_THETA /= _THETA.sum()


def whole_way() -> Iterator[Row]:
    """10^5 people with 10^5 epsilons: draw, evidence, certified estimate."""
    for kind, alphabet, most in _CASES:
        name, seconds = f"{kind.name} on {alphabet}", timed(kind, alphabet)
        for what in ("draw", "evidence", "estimate"):
            yield limited(f"{name}: {what}", Figure(seconds[what], "s"))
        yield limited(f"{name}: all", Figure(sum(seconds.values()), "s"), most)


def timed(kind: Any, alphabet: Any) -> dict[str, float]:
    """Return the seconds of each part, of epsilons that are drawn evenly from 10^5 levels."""
    rng = np.random.default_rng(1)
    low, high = _ENDS
    family = fw.Family(kind, alphabet, _ENDS, step=(high - low) / _LEVELS)
    epsilons = rng.uniform(low, high, _PEOPLE)
    values = rng.binomial(alphabet.size - 1, 0.3, _PEOPLE)
    times = [perf_counter()]
    reports = family.obfuscate(values, rng, epsilon=epsilons)
    times.append(perf_counter())
    evidence = fw.collect([(family, reports)])
    times.append(perf_counter())
    estimate = fw.gibu(evidence)
    times.append(perf_counter())
    assert str(estimate.status) == "certified", estimate
    return dict(zip(("draw", "evidence", "estimate"), np.diff(times).tolist(), strict=True))


def rule_errors() -> Iterator[list[str]]:
    """Yield kind, range, nodes and the largest error of K, beside the full sum over 400 levels."""
    rng = np.random.default_rng(2)
    for kind in (fw.KRR, fw.Geometric, fw.RAPPOR):
        for low, high in ((0.1, 5.0), (0.01, 20.0)):
            family = fw.Family(kind, _LINE, (low, high), step=(high - low) / 400)
            counts = rng.multinomial(10_000, rng.dirichlet(np.ones(401))).astype(float)
            there = np.flatnonzero(counts)
            each = (family.member(level).moments(_THETA).information() for level in there)
            full = sum(counts[level] * one for level, one in zip(there, each, strict=True))
            rule = family.public().moments(_THETA, counts)
            off = np.abs(rule.information() - full / counts.sum()).max() / np.abs(full).max()
            error = float(off) * counts.sum()
            yield [kind.name, f"{low:g} to {high:g}", str(len(rule.parts)), f"{error:.1e}"]


def simulated(kind: Any, seed: int, slope: float = 0.0, people: int = 3000) -> fw.Evidence:
    """Return evidence of a family from 0.3 to 4; with a slope, older people choose smaller ones."""
    rng = np.random.default_rng([seed, 7])
    family = fw.Family(kind, _LINE, (0.3, 4.0), step=0.001)
    values = rng.choice(20, size=people, p=_THETA)
    wished = rng.uniform(np.log(0.3), np.log(4.0), people) - slope * (values - 8)
    epsilons = np.exp(np.clip(wished, np.log(0.3), np.log(4.0)))
    return fw.collect([(family, family.obfuscate(values, rng, epsilon=epsilons))])


def coverage(kind: Any, runs: int) -> tuple[float, float]:
    """Return how often 95 % intervals hold the mean, and the shares."""
    mean, shares = _THETA @ np.arange(20), list[FloatArray]()
    hits = 0
    for run in range(runs):
        evidence = simulated(kind, run)
        one, every = fw.intervals(evidence, "mean"), fw.intervals(evidence)
        hits += bool(one.low <= mean <= one.high)
        shares.append((every.low <= _THETA) & (every.high >= _THETA))
    return hits / runs, float(np.mean(shares))


def rejected(kind: Any, runs: int, slope: float = 0.0) -> tuple[float, float]:
    """Return how often free choice, and the laws, are rejected at 5 %."""
    choice = laws = 0
    for run in range(runs):
        evidence = simulated(kind, run, slope)
        choice += not fw.check_choice(evidence).holds
        laws += not fw.check_fit(evidence).holds if not slope else 0
    return choice / runs, laws / runs


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


BENCHMARKS = (whole_way,)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.families", description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    runs = parser.parse_args().runs
    body = ["Seconds for 100,000 people with epsilons from 0.1 to 5 in 100,000 steps.\n"]
    rows = []
    for kind, alphabet, most in _CASES:
        seconds = timed(kind, alphabet)
        parts = [f"{one:.2f}" for one in (*seconds.values(), sum(seconds.values()))]
        rows.append([kind.name, str(alphabet), *parts, f"{most:g}"])
    body.append(_table(["kind", "on", "draw", "evidence", "estimate", "all", "at most"], rows))
    body.append("\nError of the information by the Gauss rule, relative to its largest entry.\n")
    body.append(_table(["kind", "epsilon", "nodes", "error"], list(rule_errors())))
    body.append(
        f"\n3,000 people, 20 values, epsilon from 0.3 to 4, {runs} surveys (tests: {runs + 100})."
    )
    body.append("Dependent: log epsilon falls by 0.04 with each value.\n")
    rows = []
    for kind in (fw.KRR, fw.Geometric, fw.RAPPOR):
        shown = [*coverage(kind, runs), *rejected(kind, runs + 100), rejected(kind, 100, 0.04)[0]]
        rows.append([kind.name, *(f"{one:.3f}" for one in shown)])
    head = ["kind", "mean covered", "shares covered", "choice rejected", "laws rejected"]
    body.append(_table([*head, "choice rejected, dependent"], rows))
    write("families", f"python -m benchmarks.families --runs {runs}", "\n".join(body))


if __name__ == "__main__":
    main()
