"""Whether reports that look forged may be of honest people, whose choice depends on their value."""

from freewill.errors import EvidenceError, FreewillError, printable
from freewill.stats.choice.aware import choice_aware
from freewill.stats.choice.check import check_choice
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.evidence import Evidence

MOST_PLAUSIBLE = 0.1
"""Share of the reports beyond which a mechanism that breaks its law is likelier than forgers."""
_LONGEST = 1000


class HonestReports(UserWarning):
    """Reports were set aside that honest people may well have sent."""


def doubt_of(evidence: Evidence, free: Estimate, share: float, gained: float) -> str:
    """Say why reports that were set aside may be honest; nothing where forgeries explain them best.

    Where the old hide and the young do not, too many young values come by the open mechanism, and
    each such output looks forged. Both explanations are judged by what they add to the
    log-likelihood of all people, less their cost: `gained` by forged reports, `criterion` of
    `choice_aware` by a choice law. One symbol that many forge is explained best by its atom, and
    a choice by value by its law, which has fewer coefficients than there are outputs. `free` is
    gibu's estimate, `share` that of the reports set aside.
    """
    try:
        check = check_choice(evidence, start=free)
    except EvidenceError:
        # No group is large enough to be tested.
        return ""
    if not check.holds:
        try:
            law = choice_aware(evidence).criterion
        except FreewillError:
            # Too many coefficients to fit: then the test alone decides.
            law = float("inf")
        if law > gained:
            return (
                f"But honest people may have sent them: {printable(check.verdict, _LONGEST)}. That "
                f"looks the same and explains the reports better than forgeries do. Do not call "
                f"them forged, and do not take this estimate: take fw.choice_aware."
            )
    if share > MOST_PLAUSIBLE:
        return (
            f"But {share:.0%} of all reports are more than forgers plausibly send: see by "
            f"fw.check_fit whether a client breaks its law before calling them forged."
        )
    return ""
