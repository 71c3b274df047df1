"""What may explain reports that do not fit: one explanation, and all of them side by side."""

import math
from dataclasses import dataclass, field
from typing import Any

from freewill.core.presented import Presented
from freewill.stats.choice.aware import ChoiceAwareEstimate

CHOICE, EPSILON, FORGED = "choice by value", "another epsilon", "forged reports"
BOTH = f"{CHOICE} and {EPSILON}"
SURE = 10.0
"""Nats by which an explanation must beat others for theta, or intervals, to follow it alone."""
_TWINS = {
    CHOICE: "reports that imitate the laws at made-up values look the same",
    EPSILON: "reports drawn without regard to any value may look the same",
}
"""What no report could tell from an explanation."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One explanation of the reports, and what it is worth.

    `kind` is "choice by value", "another epsilon", both, or "forged reports". `gain` is what it
    adds to the log-likelihood of all people, in nats, less what its parameters cost, over free
    choice, laws that hold and nobody who forges. `model` is what was fitted: a
    `ChoiceAwareEstimate`, the evidence with the epsilon that fits, or the atoms.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 4)
    >>> groups = [(fw.KRR(line, 3.0), range(5), [900, 100, 100, 100, 100]),
    ...           (fw.KRR(line, 1.0), range(5), [250, 250, 250, 250, 250])]
    >>> best = fw.explain_misfit(fw.collect(groups)).explanations[0]
    >>> best.kind, round(best.gain)
    ('another epsilon', 64)
    """

    kind: str
    gain: float
    text: str
    model: Any = field(repr=False)

    def __str__(self) -> str:
        return f"{self.kind}, {self.gain:+,.1f} nats: {self.text}"


@dataclass(frozen=True, eq=False)
class Misfit(Presented):
    """What explains the reports: all explanations, the best first, and which of them are left.

    `left_out` says of the others why they were not judged. A gain is about the logarithm of a Bayes
    factor, so that one above log(1 / (1 - level)), 3.0 at .95, is as rare as 1 - level where free
    choice, laws and honesty hold; and explanations as near to each other cannot be told apart.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 4)
    >>> groups = [(fw.KRR(line, 3.0), range(5), [900, 100, 100, 100, 100]),
    ...           (fw.KRR(line, 1.0), range(5), [250, 250, 250, 250, 250])]
    >>> misfit = fw.explain_misfit(fw.collect(groups))
    >>> misfit.holds, misfit.verdict[:31]
    (False, 'another epsilon, +64.2 nats: k-')
    """

    explanations: tuple[Hypothesis, ...]
    left_out: dict[str, str]
    level: float

    @property
    def margin(self) -> float:
        """Nats by which one explanation must be better than another."""
        return -math.log(1 - self.level)

    @property
    def holds(self) -> bool:
        """Whether nothing speaks clearly against free choice, the laws and honest reports."""
        return not any(one.gain > self.margin for one in self.explanations)

    @property
    def plausible(self) -> tuple[Hypothesis, ...]:
        """The explanations that add something, and that cannot be told from the best."""
        least = max((one.gain for one in self.explanations), default=0.0) - self.margin
        return tuple(one for one in self.explanations if one.gain > 0 and one.gain >= least)

    def best_of(self, kind: str) -> Hypothesis | None:
        """Return the plausible explanation of a kind, None where it is none."""
        return next((one for one in self.plausible if one.kind == kind), None)

    @property
    def winner(self) -> Hypothesis | None:
        """The one explanation that is clearly better than all others; None where there is none."""
        return self.plausible[0] if not self.holds and len(self.plausible) == 1 else None

    @property
    def left(self) -> tuple[Hypothesis, ...]:
        """The explanations that speak clearly, and that the best does not beat by `SURE`."""
        best = max((one.gain for one in self.explanations), default=0.0)
        least = max(self.margin, best - SURE)
        return tuple(one for one in self.explanations if one.gain > least)

    @property
    def aware(self) -> ChoiceAwareEstimate | None:
        """The estimate by the choice law where nothing else is plausible; None where it is not.

        Forged reports must be worse by `SURE`: theta is moved furthest where these are taken for
        people who choose by their value, and gibu's is between.
        """
        gains = {one.kind: one.gain for one in self.explanations}
        kinds = {one.kind for one in self.plausible}
        forged = gains.get(FORGED, 0.0)
        if self.holds or CHOICE not in kinds or kinds - {CHOICE, BOTH}:
            return None
        if forged > self.margin and gains[CHOICE] < forged + SURE:
            return None
        aware: ChoiceAwareEstimate
        (aware,) = (one.model for one in self.explanations if one.kind == CHOICE)
        return aware

    @property
    def verdict(self) -> str:
        """What explains the reports, in words."""
        named = "; or ".join(map(str, self.plausible))
        if self.holds:
            also = f" (as good: {named})" if named else ""
            return f"nothing speaks against free choice, the laws and honest reports{also}"
        twins = [_TWINS[one.kind] for one in self.plausible if one.kind in _TWINS]
        looks = f"; {'; '.join(twins)}" if twins else ""
        several_left = "" if self.winner else "cannot be told apart: "
        return f"{several_left}{named}{looks}"

    def __str__(self) -> str:
        lines = [f"  {one}" for one in self.explanations if one not in self.plausible]
        left = [f"  {kind}: not judged, {why}" for kind, why in self.left_out.items()]
        return "\n".join([self.verdict, *lines, *left])
