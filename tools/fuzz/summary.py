"""What a run came to: a table by kind, and the faults, the like together."""

from collections import Counter
from collections.abc import Sequence

from tools.faults import Fault, listed
from tools.fuzz.trials import BAD, KINDS, Outcome

_SHOWN = 60


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
    """List what broke, with the command to see it again."""
    bad = (
        Fault(run.number, run.kind, run.verdict, run.detail) for run in runs if run.verdict in BAD
    )
    return listed(bad, BAD, "fuzz", seed, _SHOWN)
