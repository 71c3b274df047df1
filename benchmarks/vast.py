"""Mechanisms for vast alphabets: how long Hadamard response takes, and the passes of hashing.

`python -m benchmarks.vast hadamard [--epsilon 1]` takes 2^20 values and 10^6 people, `python -m
benchmarks.vast hashing` 1,000 values and 10^6 people whose epsilons are 1 to 5. Both print the
CPU seconds, the steps and the peak memory of a certified estimate.
"""

import argparse
import resource
from time import process_time

import numpy as np

import freewill as fw

PEOPLE = 10**6


def evidence_of(kinds: list[fw.Mechanism], size: int) -> fw.Evidence:
    """Draw people with shares 1, 1/2, 1/3, ..., as many of each mechanism."""
    rng = np.random.default_rng(0)
    truth = 1 / np.arange(1.0, size + 1)
    values = rng.choice(size, size=PEOPLE, p=truth / truth.sum())
    parts = zip(kinds, np.array_split(values, len(kinds)), strict=True)
    return fw.collect([(one, one.obfuscate(some, rng)) for one, some in parts])


def main() -> None:
    """Draw, estimate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vast", description=__doc__)
    parser.add_argument("kind", choices=["hadamard", "hashing"])
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    if options.kind == "hadamard":
        alphabet = fw.Linear(0, (1 << 20) - 1)
        evidence = evidence_of([fw.HadamardResponse(alphabet, options.epsilon)], alphabet.size)
        theta = np.full(alphabet.size, 1 / alphabet.size)
        started = process_time()
        evidence.operator.forward(theta)
        print(f"a product: {process_time() - started:.3f} s")
    else:
        alphabet = fw.Linear(0, 999)
        kinds: list[fw.Mechanism] = [fw.LocalHashing(alphabet, float(e)) for e in range(1, 6)]
        evidence = evidence_of(kinds, alphabet.size)
    started = process_time()
    estimate = fw.gibu(evidence, tol=1e-6)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent = process_time() - started
    print(f"{estimate}\n{spent:.1f} s of CPU, {estimate.steps} steps, peak {peak:,.0f} MB")


if __name__ == "__main__":
    main()
