"""What came of all runs, as a table by solver and a list of the faults."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from freewill.core.types import FloatArray
from tools.faults import Fault, listed
from tools.stress.functions import FUNCTIONS
from tools.stress.trials import BAD, SOLVERS, Run

_SHOWN = 40
"""Kinds of faults that are listed; the file of JSON has all."""
_LEVEL, _UNFAIR = 0.05, 1e-4
"""Level of the tests that the table counts, and the chance at which all together are a fault."""


def table(runs: Sequence[Run]) -> str:
    """Return one line a function: runs, verdicts, the worst gap, p-values below .05, seconds."""
    names = list(dict.fromkeys([*SOLVERS, *FUNCTIONS, *(run.function for run in runs)]))
    verdicts = ("right", "wide", "stalled", "refused", *BAD)
    lines = [["function", "runs", *verdicts, "true - told gap", "p < .05", "CPU-s"]]
    for name in names:
        own = [run for run in runs if run.function == name]
        if not own:
            continue
        count = Counter(run.verdict for run in own)
        worst = max(run.excess for run in own)
        tested = p_values(own)
        cells = [f"{count[verdict]:,}" for verdict in verdicts]
        gap = "" if np.isneginf(worst) else f"{worst:.2g}"
        rejected = f"{np.mean(tested < _LEVEL):.3f}" if tested.size else ""
        seconds = f"{sum(run.seconds for run in own):.0f}"
        lines.append([name, f"{len(own):,}", *cells, gap, rejected, seconds])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    mixtures = len({run.mixture for run in runs})
    return f"{mixtures:,} mixtures, {len(runs):,} runs\n{text}"


def p_values(runs: Sequence[Run]) -> FloatArray:
    """Return the p-values of hypotheses that hold."""
    return np.array([run.p_value for run in runs if run.p_value is not None])


def too_small(values: FloatArray) -> float:
    """Return the chance that p-values of hypotheses that hold are as small as these together.

    With D the largest excess of their distribution over the uniform one, e^(-2 n D^2) at most
    (Massart 1990). Tests may be cautious, and theirs larger than uniform: that is no fault.

    >>> too_small(np.array([0.2, 0.6, 0.9])) > 0.5, too_small(np.full(100, 0.3)) < 1e-9
    (True, True)
    """
    ranked = np.sort(values)
    excess = (np.arange(1, ranked.size + 1) / ranked.size - ranked).max(initial=0.0)
    return float(np.exp(-2 * ranked.size * max(excess, 0.0) ** 2))


def unfair(runs: Sequence[Run]) -> str:
    """Say which tests reject what holds too often; nothing where none does."""
    lines = []
    for name in sorted({run.function for run in runs}):
        tested = p_values([run for run in runs if run.function == name])
        if tested.size and (chance := too_small(tested)) < _UNFAIR:
            often = f"{np.mean(tested < _LEVEL):.1%} of what holds at 5 %"
            lines.append(f"{name} rejects {often} (chance {chance:.1g})")
    return "\n".join(lines)


def faults(runs: Sequence[Run], seed: int) -> str:
    """List what broke, with the command to see it again."""
    bad = (
        Fault(run.mixture, run.function, run.verdict, run.detail)
        for run in runs
        if run.verdict in BAD
    )
    return listed(bad, BAD, "stress", seed, _SHOWN)
