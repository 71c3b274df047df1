"""What `freewill estimate` says of who chooses what: a law that was found, or a doubt of none."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freewill.cli.methods import AnyMethod
from freewill.cli.show import remark
from freewill.core.progress import progress
from freewill.errors import EvidenceError, ParameterError, printable, several
from freewill.present import plots
from freewill.present.plots.choices import names_of, refuse_crowd
from freewill.present.readable.page import quick
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.choice.check import check_choice, preference
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.evidence import Evidence
from freewill.stats.evidence import names_of as group_names
from freewill.stats.robust import RobustEstimate

_LONGEST = 2000
"""Characters of a verdict, in which mechanisms are named."""
_MOST = 10
"""Mechanisms whose people are told of in words."""


@dataclass(frozen=True)
class Drawn:
    """The picture of who chooses what, if one was asked for."""

    path: Path | None
    method: AnyMethod

    def __post_init__(self) -> None:
        if self.path is not None and self.method.estimator != "choice-aware":
            raise ParameterError(
                f"--plot-choice draws who chooses what, which {self.method.label} does not tell: "
                f"add --method choice-aware."
            )

    def check(self, evidence: Evidence) -> None:
        """Refuse, before the work, what finds no room."""
        if self.path is not None:
            refuse_crowd(evidence.alphabet, len(evidence.groups))

    def draw(self, found: Estimate, level: float) -> None:
        """Draw it."""
        if self.path is not None and isinstance(found, ChoiceAwareEstimate):
            plots.choices(found, path=self.path, level=level)
            remark(f"picture of who chooses what written to {self.path}")


def doubt(found: Estimate, method: AnyMethod) -> str:
    """Say that the choice was not free where a method takes it to be and a quick test rejects it.

    Nothing where the test would take long, or cannot be made: `freewill check` tells.
    """
    evidence = found.evidence
    if not method.takes_free_choice or evidence is None or len(evidence.groups) < 2:
        return ""
    if isinstance(found, RobustEstimate) and found.doubt:
        return ""  # it says so itself
    if not quick(found):
        return ""
    try:
        with progress("looking who chooses what"):
            check = check_choice(evidence, start=found)
    except EvidenceError:
        return ""
    if check.holds:
        return ""
    return (
        f"{printable(check.verdict, _LONGEST)}. {method.label} takes the choice to be free: "
        f"--method choice-aware does not."
    )


def told(found: Estimate) -> list[str]:
    """Say in words by what the choice depends on the value, how sure that is, and who does what."""
    if not isinstance(found, ChoiceAwareEstimate):
        return []
    tried = several(len(found.fits), "choice law")
    if found.is_free:
        return [
            f"The choice was found free of the value: of {tried} tried, none explains the reports "
            f"better than a free choice."
        ]
    lines = [
        f"The choice depends on the value. Basis: {found.basis}, the best of {tried} tried; "
        f"criterion (log-evidence) {found.criterion:.4g} above a free choice, likelihood ratio "
        f"{found.likelihood_ratio:.4g}."
    ]
    shares = found.theta @ found.choice
    clear = _told_apart(found)
    for name, share, column, apart in zip(
        names_of(found), shares, found.choice.T, clear, strict=True
    ):
        who = preference(found.theta * (column - share), found.theta, found.alphabet)
        words = f"chosen {who}" if apart else "who prefers it, the reports do not tell"
        lines.append(f"  {printable(name)}, {share:.1%} of all: {words}")
    if len(lines) > _MOST + 1:
        lines[_MOST + 1 :] = [f"  and {len(lines) - _MOST - 1} more: --json has them all."]
    return lines


def _told_apart(found: ChoiceAwareEstimate) -> list[bool]:
    """Say of which groups the test of free choice finds that their people are not as everybody.

    The law as a whole was found not to be free; single groups may hold too few reports, or too
    noisy ones, to say whom they consist of.
    """
    evidence = found.evidence
    if evidence is None:
        return [True] * found.choice.shape[1]
    names = group_names(evidence)
    try:
        clear = {one.name for one in check_choice(evidence, start=found.fits[0].theta).deviating}
    except EvidenceError:
        clear = set(names)
    return [name in clear for name in names]


def described(found: Estimate, level: float | None) -> dict[str, Any]:
    """Describe a choice law for JSON, with a level its intervals too; nothing where there is none.

    Lists have one number a value, in the order of the values.
    """
    if not isinstance(found, ChoiceAwareEstimate):
        return {}
    columns = {"choice": found.choice}
    if level is not None:
        columns["low"], columns["high"] = found.choice_intervals(level)
    mechanisms = [
        {"name": name, **{what: matrix[:, place].tolist() for what, matrix in columns.items()}}
        for place, name in enumerate(names_of(found))
    ]
    return {
        "choice": {
            "free": found.is_free,
            "basis": found.basis,
            "criterion": found.criterion,
            "likelihood_ratio": found.likelihood_ratio,
            "blind": list(found.blind),
            "mechanisms": mechanisms,
        }
    }
