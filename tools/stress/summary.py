"""What came of all runs, as a table by solver and a list of the faults."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tools.stress.trials import AUTOMATIC, BAD, Run

_SHOWN = 40
"""Kinds of faults that are listed; the file of JSON has all."""
_NUMBERS = 6
"""Mixtures that are named of each."""


def table(runs: Sequence[Run]) -> str:
    """Return one line a solver: runs, verdicts, the worst understatement of a gap, seconds."""
    names = sorted({run.function for run in runs}, key=lambda name: (name != AUTOMATIC, name))
    verdicts = ("right", "wide", "stalled", "refused", *BAD)
    head = ["function", "runs", *verdicts, "true - told gap", "CPU-s"]
    lines = [head]
    for name in names:
        own = [run for run in runs if run.function == name]
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
    """List what broke, the worst first and the like together, with the command to see it again."""
    bad = [run for run in runs if run.verdict in BAD]
    if not bad:
        return "Nothing broke."
    alike: dict[tuple[int, str, str], list[Run]] = {}
    for run in bad:
        # Two faults are alike if they differ in their numbers only.
        words = re.sub(r"-?\d[\d.e+-]*", "#", run.detail)
        alike.setdefault((BAD.index(run.verdict), run.function, words), []).append(run)
    lines = [f"{len(bad):,} faults; one again: python -m tools.stress --seed {seed} --only NUMBER"]
    for key in sorted(alike)[:_SHOWN]:
        same = alike[key]
        numbers = ", ".join(str(run.mixture) for run in same[:_NUMBERS])
        lines.append(
            f"  {len(same):,} x {same[0].function} {same[0].verdict}: {same[0].detail} [{numbers}]"
        )
    if len(alike) > _SHOWN:
        lines.append(f"  and {len(alike) - _SHOWN:,} kinds more")
    return "\n".join(lines)
