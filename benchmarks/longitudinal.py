"""Reports of one person, again and again: what several of them tell, and what Bloom RAPPOR costs.

`python -m benchmarks.longitudinal` writes results/longitudinal.md, in some
minutes. `python -m benchmarks.longitudinal large` prints the rows of the last table, each measured
in a process of its own.
"""

import argparse
import resource
import subprocess
import sys
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.pages import write

TIMES = (1, 3, 10, 30)
PEOPLE, VALUES, RUNS = 10_000, 20, 40
EPSILON, LIFETIME = 1.0, 3.0
LARGE = ("sue", "bloom")


def shares(size: int) -> np.ndarray:
    """Shares 1, 1/2, 1/3, ..."""
    truth = 1 / np.arange(1.0, size + 1)
    return np.asarray(truth / truth.sum())


def protocols(alphabet: Any) -> dict[str, tuple[Any, Any]]:
    """Each two-step mechanism, and the mechanism of its permanent answer alone."""
    unary = fw.LongitudinalUnary
    return {
        "L-GRR": (fw.LongitudinalKRR(alphabet, EPSILON, LIFETIME), fw.KRR(alphabet, LIFETIME)),
        "L-SUE": (unary(alphabet, EPSILON, LIFETIME, "L-SUE"), fw.RAPPOR(alphabet, LIFETIME)),
        "L-OSUE": (unary(alphabet, EPSILON, LIFETIME, "L-OSUE"), fw.OUE(alphabet, LIFETIME)),
        "L-OUE": (unary(alphabet, EPSILON, LIFETIME, "L-OUE"), fw.OUE(alphabet, LIFETIME)),
        "L-SOUE": (unary(alphabet, EPSILON, LIFETIME, "L-SOUE"), fw.RAPPOR(alphabet, LIFETIME)),
    }


def estimated(mechanism: Any, reports: Any) -> np.ndarray:
    """The certified estimate from a report or record of each person."""
    estimate = fw.gibu(fw.collect([(mechanism, reports)]))
    assert str(estimate.status) == "certified", estimate
    return np.asarray(estimate.theta)


def direct(once: Any, reports: Any) -> np.ndarray:
    """The estimate from single reports in closed form, clipped and scaled, as others have it."""
    estimator: Any = fw.inversion if once.name == "longitudinal-k-rr" else fw.debias
    return np.asarray(estimator(fw.collect([(once, reports)]), post="normalise").theta)


def run(once: Any, permanent: Any, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Estimates of one draw: by records of each T and the answers alone; by means of periods."""
    rng, truth = np.random.default_rng([seed, 2026]), shares(VALUES)
    answers = once.answers(rng.choice(VALUES, PEOPLE, p=truth), rng)
    days = [once.fresh_reports(answers, rng) for _ in range(max(TIMES))]
    joint = []
    for times in TIMES:
        record = fw.Repeated(once, times)
        joint.append(estimated(record, record.output_space.joined(days[:times])))
    single = np.array([direct(once, day) for day in days])
    return [*joint, estimated(permanent, answers)], [single[:times].mean(axis=0) for times in TIMES]


def errors() -> Iterator[str]:
    """Yield rows: root mean squared errors of a share, T reports beside the permanent answer."""
    truth = shares(VALUES)
    yield "| protocol | " + " | ".join(f"T = {times}" for times in TIMES) + " | permanent answer |"
    yield "| --- " * (len(TIMES) + 2) + "|"
    for name, (once, permanent) in protocols(fw.Linear(1, VALUES)).items():
        squares: list[Any] = [0.0, 0.0]
        for seed in range(RUNS):
            for place, found in enumerate(run(once, permanent, seed)):
                squares[place] = squares[place] + np.mean((np.array(found) - truth) ** 2, axis=1)
        joint, apart = (" | ".join(f"{error:.5f}" for error in np.sqrt(s / RUNS)) for s in squares)
        yield f"| {name}, `fw.Repeated` | {joint} |"
        yield f"| {name}, mean of the periods | {apart} | |"


def promises() -> Iterator[str]:
    """Yield rows: epsilon of T reports."""
    yield "| protocol | " + " | ".join(f"T = {times}" for times in TIMES) + " | lifetime |"
    yield "| --- " * (len(TIMES) + 2) + "|"
    for name, (once, _) in protocols(fw.Linear(1, VALUES)).items():
        told = " | ".join(f"{once.epsilon_of(times):.4f}" for times in TIMES)
        yield f"| {name} | {told} | {once.lifetime().epsilon:.4f} |"


def against_enumeration() -> float:
    """The largest relative difference of a law of 10 reports from a sum over all answers, k = 8."""
    once = fw.LongitudinalUnary(fw.Linear(0, 7), EPSILON, LIFETIME, "L-SUE")
    record = fw.Repeated(once, 10)
    drawn = record.obfuscate(np.arange(8).repeat(100), np.random.default_rng(0))
    own, other, yes, no = (chance.nearest for chance in once.steps)
    answers = np.arange(256)[:, None] >> np.arange(8) & 1
    chances = np.where(np.eye(8, dtype=bool), own, other)[:, None]
    first = np.where(answers, chances, 1 - chances).prod(axis=2)
    second = np.ones((len(drawn), 256))
    for part in record.output_space.split(drawn):
        bits = np.unpackbits(np.asarray(part, np.uint8), axis=1, bitorder="little")[:, None]
        told = np.where(answers, yes, no)
        second *= np.where(bits, told, 1 - told).prod(axis=2)
    law = np.exp(record.operator(drawn).log_dense())
    return float(np.abs(law / (second @ first.T) - 1).max())


def large(which: str) -> str:
    """Estimate once from many people, and say what it took."""
    rng = np.random.default_rng(0)
    if which == "sue":
        size, people = 100, 100_000
        once = fw.LongitudinalUnary(fw.Linear(1, size), EPSILON, LIFETIME, "L-SUE")
        mechanism: Any = fw.Repeated(once, 10)
        words = "L-SUE (RAPPOR), 10 reports a person, 100 values"
    else:
        size, people = 200, 1_000_000
        candidates = fw.Categorical([f"site-{number}.example" for number in range(size)])
        mechanism = fw.BloomRAPPOR(candidates, 128, 2, 64, f=0.5, p=0.5, q=0.75, hash="md5")
        words = (
            "Bloom RAPPOR, 128 bits, 2 hashes, 64 cohorts, f = .5, p = .5, q = .75, 200 candidates"
        )
    truth = shares(size)
    reports = mechanism.obfuscate(rng.choice(size, people, p=truth), rng)
    started = process_time()
    estimate = fw.gibu(fw.collect([(mechanism, reports)]))
    spent = process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    error = np.sqrt(np.mean((estimate.theta - truth) ** 2))
    return (
        f"| {words} | {people:,} | {estimate.status}, gap {estimate.gap:.1e} | {estimate.steps} | "
        f"{spent:.1f} s | {peak:,.0f} MB | {error:.5f} |"
    )


HEAD = f"""\
epsilon of T reports together, {EPSILON:g} for one and {LIFETIME:g} for a lifetime:
"""
ERRORS = f"""
Root mean squared error of a share: {VALUES} values with shares 1, 1/2, 1/3, ..., {PEOPLE:,} people,
{RUNS} runs. A protocol's rows are of the same answers and reports. `fw.Repeated` takes the
T reports of a person by their joint law. The mean of the periods takes single reports of each by a
formula, clipped and scaled to 1, and averages. The last column is the estimate from the permanent
answers themselves, which T reports approach.
"""


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield HEAD
    yield from promises()
    yield ERRORS
    yield from errors()
    yield "\nOne estimate of many people, in a process of its own:\n"
    yield "| mechanism | people | | passes | CPU | peak memory | error of a share |"
    yield "| --- " * 7 + "|"
    for which in LARGE:
        command = [sys.executable, "-m", "benchmarks.longitudinal", which]
        yield subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip()
    yield "\nThe law of 10 reports of L-SUE over 8 values, for 800 records, is that of a sum over"
    yield f"all 256 permanent answers within {against_enumeration():.1e}, relative."


def main() -> None:
    """Write the page, or print one row of its last table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.longitudinal", description=__doc__)
    parser.add_argument("only", nargs="?", choices=LARGE)
    only = parser.parse_args().only
    if only:
        print(large(only))
    else:
        write("longitudinal", "python -m benchmarks.longitudinal", "\n".join(page()))


if __name__ == "__main__":
    main()
