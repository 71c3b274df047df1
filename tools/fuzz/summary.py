"""What a run came to: a table by kind, and the faults, the like together."""

import re
from collections import Counter
from collections.abc import Sequence

from tools.fuzz.trials import BAD, KINDS, Outcome

_SHOWN, _NUMBERS = 60, 6


def table(runs: Sequence[Outcome]) -> str:
    """Return the table by kind, in Markdown."""
    heads = ["kind", "inputs", "accepted", "refused", "failures", "slowest, s", "peak, MB", "CPU-s"]
    rows = [heads, ["---"] * len(heads)]
    for name in [*KINDS, "all"]:
        own = [run for run in runs if name in (run.kind, "all")]
        if own:
            rows.append([name, *_cells(own)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(own: Sequence[Outcome]) -> list[str]:
    count = Counter(run.verdict for run in own)
    numbers = len(own), count["accepted"], count["refused"], sum(count[bad] for bad in BAD)
    slowest, peak = max(run.seconds for run in own), max(run.megabytes for run in own)
    seconds = sum(run.seconds for run in own)
    return [*(f"{n:,}" for n in numbers), f"{slowest:.1f}", f"{peak:,}", f"{seconds:.0f}"]


def faults(runs: Sequence[Outcome], seed: int) -> str:
    """List what broke, the worst first and the like together, with the command to see it again."""
    bad = [run for run in runs if run.verdict in BAD]
    if not bad:
        return "Nothing broke."
    alike: dict[tuple[int, str, str], list[Outcome]] = {}
    for run in bad:
        # Two faults are alike if they differ in their numbers and in what they quote only.
        words = re.sub(r"'[^']*'|\"[^\"]*\"|(?<!:)-?\d[\d.e+-]*", "#", run.detail)
        alike.setdefault((BAD.index(run.verdict), run.kind, words), []).append(run)
    lines = [f"{len(bad):,} faults; one again: python -m tools.fuzz --seed {seed} --only NUMBER"]
    for key in sorted(alike)[:_SHOWN]:
        same = alike[key]
        numbers = ", ".join(str(run.number) for run in same[:_NUMBERS])
        first = same[0]
        lines.append(f"  {len(same):,} x {first.kind} {first.verdict}: {first.detail} [{numbers}]")
    if len(alike) > _SHOWN:
        lines.append(f"  and {len(alike) - _SHOWN:,} kinds more")
    return "\n".join(lines)
