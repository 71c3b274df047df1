"""What came of all runs, as a table by solver and a list of the faults."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tools.stress.trials import AUTOMATIC, BAD, Run

_SHOWN = 40
"""Faults that are listed; the file of JSON has all."""


def table(runs: Sequence[Run]) -> str:
    """Return one line a solver: runs, verdicts, the worst understatement of a gap, seconds."""
    names = sorted({run.solver for run in runs}, key=lambda name: (name != AUTOMATIC, name))
    verdicts = ("certified", "stalled", "refused", *BAD)
    head = ["solver", "runs", *verdicts, "true - told gap", "CPU-s"]
    lines = [head]
    for name in names:
        own = [run for run in runs if run.solver == name]
        count = Counter(run.verdict for run in own)
        worst = max((run.excess for run in own), default=-np.inf)
        seconds = sum(run.seconds for run in own)
        cells = [f"{count[verdict]:,}" for verdict in verdicts]
        lines.append([name, f"{len(own):,}", *cells, f"{worst:.2g}", f"{seconds:.0f}"])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    mixtures = len({run.mixture for run in runs})
    return f"{mixtures:,} mixtures, {len(runs):,} runs\n{text}"


def faults(runs: Sequence[Run], seed: int) -> str:
    """List what broke, with the command that shows it again."""
    bad = [run for run in runs if run.verdict in BAD]
    if not bad:
        return "Nothing broke."
    lines = [f"{len(bad):,} faults; one again: python -m tools.stress --seed {seed} --only NUMBER"]
    lines += [f"  {run.mixture} {run.solver} {run.verdict}: {run.detail}" for run in bad[:_SHOWN]]
    if len(bad) > _SHOWN:
        lines.append(f"  and {len(bad) - _SHOWN:,} more")
    return "\n".join(lines)
