"""Two mechanisms that are equally optimal by one criterion, and what a collector learns from each.

Draws docs/images/shokri.png and prints the table of benchmarks/results/selections.md.
"""

from pathlib import Path

import numpy as np
from scipy.stats import binom

import freewill as fw
from freewill.present import plots

LINE = fw.Linear(0, 99)
THRESHOLD = 10.0
PEOPLE = 100_000
SEEDS = 10
SELECTIONS = ("max-entropy", "vertex")


def main() -> None:
    """Draw the laws and measure the error of GIBU under each."""
    truth = binom.pmf(np.arange(100), 99, 0.5)
    truth /= truth.sum()
    mechanisms = [fw.Shokri(LINE, THRESHOLD, selection=selection) for selection in SELECTIONS]
    print("| selection | adversary's loss | bits unknown | outputs used | rank | EMD of GIBU |")
    print("| --- | --- | --- | --- | --- | --- |")
    for mechanism in mechanisms:
        promise, law = mechanism.guarantee(), mechanism.law()
        errors = [error(mechanism, truth, seed) for seed in range(SEEDS)]
        spread = np.std(errors, ddof=1) / np.sqrt(SEEDS)
        print(
            f"| {mechanism.selection} | {promise.adversary_loss:.6g} | {promise.entropy:.2f} "
            f"| {int((law.max(axis=0) > 1e-9).sum())} | {np.linalg.matrix_rank(law)} "
            f"| {np.mean(errors):.3f} ± {spread:.3f} |"
        )
    path = Path(__file__).parent.parent / "docs" / "images" / "shokri.png"
    path.parent.mkdir(exist_ok=True)
    plots.laws([m.law() for m in mechanisms], LINE, titles=list(SELECTIONS), path=path)
    print(f"\npicture: {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def error(mechanism: fw.Shokri, truth: np.ndarray, seed: int) -> float:
    """Return the earth mover's distance between the truth and what GIBU makes of the reports."""
    rng = np.random.default_rng(seed)
    values = rng.choice(LINE.size, size=PEOPLE, p=truth)
    estimate = fw.gibu(fw.collect([(mechanism, mechanism.obfuscate(values, rng))]))
    return fw.emd(estimate.theta, truth, LINE)


if __name__ == "__main__":
    main()
