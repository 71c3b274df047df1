"""What `freewill estimate` is asked to print: shares of values or bands, with intervals or not."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.groups import Groups, Values, coarser
from freewill.errors import ParameterError, several
from freewill.numeric.solvers.solution import OnStep
from freewill.present.readable.doubt import warning
from freewill.present.readable.page import quick
from freewill.present.readable.shares import Shares
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.evidence import Evidence
from freewill.stats.functionals import refuse_many
from freewill.stats.information import several_people
from freewill.stats.intervals import Intervals

_LEVEL = 0.95


def check_bands(bands: int | None, alphabet: Alphabet) -> None:
    """Refuse to merge neighbours where there are none."""
    if bands is not None and alphabet.plane is None:
        raise ParameterError(
            f"--bands {bands}: it merges neighbours on a line or a grid, and {alphabet} have none. "
            f"Leave it out."
        )


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    intervals: bool = False
    level: float | None = None
    joint: bool = False
    bands: int | None = None

    def __post_init__(self) -> None:
        for name, given in (("level", self.level is not None), ("joint", self.joint)):
            if given and not self.intervals:
                raise ParameterError(f"--{name} says how intervals are made: add --intervals.")
        if self.level is not None and not 0 < self.level < 1:
            raise ParameterError(
                f"--level {self.level:g}: expected a number between 0 and 1, as 0.95 for 95 %."
            )

    def check(self, evidence: Evidence) -> None:
        """Refuse, before the work, what this evidence and its alphabet do not allow."""
        alphabet = evidence.alphabet
        check_bands(self.bands, alphabet)
        if self.intervals:
            several_people(evidence, "--intervals")
            many, size = self.groups(alphabet).count, alphabet.size
            what = f"--intervals for {several(many, 'share')}, of {several(size, 'value')},"
            larger = 2 * min(self.bands or 1, size)
            refuse_many(many, size, what, f"Merge more of them: --bands {larger} or larger.")

    def groups(self, alphabet: Alphabet) -> Groups:
        """Return what shares are of."""
        return Values(alphabet) if self.bands is None else coarser(alphabet, self.bands)

    def shares(self, found: Estimate) -> Shares:
        """Return the shares of an estimate."""
        return Shares(found, self.groups(found.alphabet))

    def look(self, shares: Shares, on_step: OnStep | None = None) -> Intervals | None:
        """Return the intervals, if they were asked for."""
        return shares.intervals(self.usual_level, self.joint, on_step) if self.intervals else None

    def warning(self, shares: Shares, sure: Intervals | None) -> str:
        """Say how unsure the largest shares are, where people are few; nothing where many."""
        found = shares.estimate
        # With a choice law one solve is of all values together, and a warning is not worth seconds.
        slow = isinstance(found, ChoiceAwareEstimate) and not quick(found)
        large = {"large": 0} if slow else {}
        return warning(shares, sure, "--intervals tells more.", self.usual_level, **large)

    @property
    def usual_level(self) -> float:
        """How often intervals hold the truth."""
        return _LEVEL if self.level is None else self.level


def described(sure: Intervals) -> dict[str, Any]:
    """Describe intervals for JSON, in the order of the shares."""
    settings = {name: getattr(sure, name) for name in ("level", "joint", "critical", "advice")}
    effective = np.atleast_1d(sure.effective_people).tolist()
    columns = {name: column.tolist() for name, column in sure.columns().items()}
    return {**settings, **columns, "effective_people": effective}
