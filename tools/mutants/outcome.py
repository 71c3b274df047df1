"""The kill rate of each room, its standard error, and the mutants that nobody noticed."""

import math
from collections.abc import Callable, Iterable
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


def print_outcome(
    trials: list[Trial], known: dict[str, str], all_of_them: int, room: Callable[[Path], str]
) -> None:
    """Print the survivors, then the table by room."""
    listed = {trial.name: _listed(trial, known) for trial in trials}
    excused = [trial for trial in trials if listed[trial.name] and not trial.killed]
    counted = [trial for trial in trials if trial.killed or not listed[trial.name]]
    surprising = {listed[t.name] for t in trials if listed[t.name] and t.killed}
    for trial in sorted(counted, key=lambda trial: (str(trial.mutant.path), trial.mutant.line)):
        if not trial.killed:
            mutant = trial.mutant
            print(f"{mutant.path}:{mutant.line}: {trial.verdict}\n    {mutant.change}")
    for name in sorted(line for line in surprising if line and not line.endswith("=> *")):
        print(f"listed as equivalent, yet killed: {name}")
    if len(trials) == all_of_them:
        files = {trial.name.partition(": ")[0] for trial in trials}
        for name in sorted(set(known) - {line for line in listed.values() if line}):
            if name.partition(": ")[0] in files:
                print(f"listed as equivalent, yet no such mutant: {name}")
    share = len(trials) / max(all_of_them, 1)
    print(f"\n{'room':<14}{'mutants':>9}{'killed':>9}{'rate':>9}{'s.e.':>8}")
    rooms = sorted({room(trial.mutant.path) for trial in trials})
    for name in rooms:
        _row(name, [trial for trial in counted if room(trial.mutant.path) == name], share)
    _row("all", counted, share)
    print(f"\n{len(excused)} more are equivalent to the original, with reasons in the list.")


def _listed(trial: Trial, known: dict[str, str]) -> str | None:
    """Return the line of the list that names a mutant."""
    for line in (trial.name, f"{trial.name.split(' => ')[0]} => *"):
        if line in known:
            return line
    return None


def _row(name: str, trials: Iterable[Trial], share: float) -> None:
    verdicts = [trial.killed for trial in trials]
    if not verdicts:
        return
    count, killed = len(verdicts), sum(verdicts)
    rate = killed / count
    # Of a sample without replacement; all mutants leave no sampling error.
    error = math.sqrt(rate * (1 - rate) / count * (1 - share))
    print(f"{name:<14}{count:>9,}{killed:>9,}{rate:>9.1%}{error:>8.1%}")
