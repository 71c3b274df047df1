"""The kill rate of each room, its standard error, and the mutants that nobody noticed."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.mutations import Mutant


@dataclass(frozen=True)
class Trial:
    """A mutant and what became of it: killed, late, survived or not covered."""

    mutant: Mutant
    verdict: str

    @property
    def killed(self) -> bool:
        """Whether some test failed, or did not end."""
        return self.verdict in ("killed", "late")

    @property
    def name(self) -> str:
        """The fault as the list of equivalent mutants writes it."""
        parts = self.mutant.path.parts
        inside = "/".join(parts[parts.index("src") + 2 :])
        return f"{inside}: {self.mutant.change}"


def equivalents(file: Path) -> dict[str, str]:
    """Read the list of mutants that no test could see: name by name, each with its reason.

    A line that starts with # gives the reason of the lines below it. `=> *` stands for every
    change of that statement.
    """
    reasons: dict[str, str] = {}
    reason = ""
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            reasons[line.strip()] = reason
    return reasons


@dataclass(frozen=True)
class Rate:
    """The sample of a room: the share of its mutants that are killed, equivalent ones apart."""

    room: str
    size: int
    tried: int
    equivalent: int
    killed: int

    @property
    def share(self) -> float:
        """Killed among those that a test could kill."""
        return self.killed / max(self.tried - self.equivalent, 1)

    @property
    def variance(self) -> float:
        """Of a sample without replacement: all mutants leave no sampling error."""
        left = 1 - self.tried / self.size
        return self.share * (1 - self.share) / max(self.tried - self.equivalent, 1) * left


def print_outcome(
    trials: list[Trial],
    known: dict[str, str],
    sizes: Mapping[str, int],
    room: Callable[[Path], str],
) -> None:
    """Print the survivors, then the table by room; `sizes` says how many mutants each room has."""
    listed = {trial.name: _listed(trial, known) for trial in trials}
    for trial in sorted(trials, key=lambda trial: (str(trial.mutant.path), trial.mutant.line)):
        if not trial.killed and not listed[trial.name]:
            mutant = trial.mutant
            print(f"{mutant.path}:{mutant.line}: {trial.verdict}\n    {mutant.change}")
    surprising = {listed[trial.name] or "*" for trial in trials if trial.killed}
    for name in sorted(line for line in surprising if not line.endswith("*")):
        print(f"listed as equivalent, yet killed: {name}")
    if len(trials) == sum(sizes.values()):
        files = {trial.name.partition(": ")[0] for trial in trials}
        for name in sorted(set(known) - {line for line in listed.values() if line}):
            if name.partition(": ")[0] in files:
                print(f"listed as equivalent, yet no such mutant: {name}")
    tried = Counter(room(trial.mutant.path) for trial in trials)
    killed = Counter(room(trial.mutant.path) for trial in trials if trial.killed)
    equivalent = Counter(
        room(trial.mutant.path) for trial in trials if listed[trial.name] and not trial.killed
    )
    _print_table([Rate(r, sizes[r], tried[r], equivalent[r], killed[r]) for r in sorted(tried)])


def _print_table(rates: Sequence[Rate]) -> None:
    """Print a row for each room, and one for all of them, each weighted by its mutants."""
    print(f"\n| room | mutants | tried | equivalent | killed | rate | s.e. |\n|{' --- |' * 7}")
    for rate in rates:
        _print_row(rate, rate.share, rate.variance)
    total = Rate("all", *(sum(counts) for counts in zip(*map(_counts, rates), strict=True)))
    weights = [rate.size / total.size for rate in rates]
    share = sum(weight * rate.share for weight, rate in zip(weights, rates, strict=True))
    variance = sum(w**2 * rate.variance for w, rate in zip(weights, rates, strict=True))
    _print_row(total, share, variance)


def _counts(rate: Rate) -> tuple[int, int, int, int]:
    return rate.size, rate.tried, rate.equivalent, rate.killed


def _print_row(rate: Rate, share: float, variance: float) -> None:
    counts = " | ".join(f"{count:,}" for count in _counts(rate))
    print(f"| {rate.room} | {counts} | {share:.1%} | {math.sqrt(variance):.1%} |")


def _listed(trial: Trial, known: dict[str, str]) -> str | None:
    """Return the line of the list that names a mutant."""
    for line in (trial.name, f"{trial.name.split(' => ')[0]} => *"):
        if line in known:
            return line
    return None
