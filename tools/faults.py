"""What broke in many trials: the worst first, and the like together."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_NUMBERS = 6
"""Trials that are named of each."""


class Fault(NamedTuple):
    """A trial that broke: its number, what kind it was of, its verdict and what it says."""

    number: int
    kind: str
    verdict: str
    detail: str


def listed(faults: Iterable[Fault], worst: Sequence[str], tool: str, seed: int, most: int) -> str:
    """List faults by verdict, the `worst` first, with the command to see one again.

    Two are alike if they differ in their numbers and in what they quote only.
    """
    alike: dict[tuple[int, str, str], list[Fault]] = {}
    for one in faults:
        words = re.sub(r"'[^']*'|\"[^\"]*\"|(?<!:)-?\d[\d.e+-]*", "#", one.detail)
        alike.setdefault((worst.index(one.verdict), one.kind, words), []).append(one)
    if not alike:
        return "Nothing broke."
    many = sum(map(len, alike.values()))
    lines = [f"{many:,} faults; one again: python -m tools.{tool} --seed {seed} --only NUMBER"]
    for key in sorted(alike)[:most]:
        same = alike[key]
        numbers = ", ".join(str(one.number) for one in same[:_NUMBERS])
        first = same[0]
        lines.append(f"  {len(same):,} x {first.kind} {first.verdict}: {first.detail} [{numbers}]")
    if len(alike) > most:
        lines.append(f"  and {len(alike) - most:,} kinds more")
    return "\n".join(lines)
