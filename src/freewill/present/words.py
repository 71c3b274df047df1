"""Results in words, the same on the command line, in notebooks and on the dashboard."""

import math
from collections.abc import Mapping

from freewill.domain.alphabets.base import has_distance
from freewill.domain.mechanisms.base import brief
from freewill.errors import printable, several
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.choice.check import preference
from freewill.stats.compare import Comparison
from freewill.stats.difference import written
from freewill.stats.estimators.estimate import Estimate, in_words
from freewill.stats.evidence import names_of, some_of
from freewill.stats.fit import Verdict

_LONGEST = 2000
"""Characters of a line."""
_MOST = 10
"""Mechanisms whose people are described in words."""
HOLDS = {True: "holds", False: "FAILS", None: "-"}
WHAT_TO_DO = {
    "free choice": (
        "The estimate assumes that people choose their mechanism without regard to their value, "
        "and they do not: shares lean towards those who chose a more informative mechanism. "
        "`freewill estimate -m choice-aware` estimates without this assumption, and shows who "
        "chooses what (docs/choice-aware.md)."
    ),
    "laws": (
        "Reports are not distributed as their mechanism would send them: a device with another "
        "epsilon, or forged reports. Find out what sends them; `freewill estimate -m robust` "
        "bounds their influence (docs/fit.md, docs/robust.md)."
    ),
}


def check_lines(verdicts: Mapping[str, Verdict]) -> list[str]:
    """Return one line an assumption: its name, whether it holds, what the test says, and of what.

    Groups that were not tested come with the reason.
    """
    wide, lines = max(map(len, verdicts), default=0), []
    for name, verdict in verdicts.items():
        left_out = verdict.details.get("left_out", {}).items()
        left = some_of([f"{printable(group)} ({why})" for group, why in left_out])
        text = printable(verdict.text + (f"; not tested: {left}" if left else ""), _LONGEST)
        lines.append(f"{name:<{wide}}  {HOLDS[verdict.holds]:<5}  {text}.")
    return lines


def unresolved_text(estimate: Estimate) -> str:
    """Say what the reports cannot resolve, however many there are; nothing where they resolve all.

    The advice behind it is for whoever designs the survey.
    """
    if not estimate.unresolved:
        return ""
    among = (
        f" among {in_words(estimate.confounded, estimate.alphabet)}" if estimate.confounded else ""
    )
    return (
        f"{several(estimate.unresolved, 'direction')} of the distribution{among} without a trace "
        f"in these reports: other distributions explain them as well."
    )


def as_commands(text: str) -> str:
    """Return advice that names functions in the words of the command line."""
    text = text.replace("fw.choice_aware", "--method choice-aware")
    return text.replace("fw.check_fit", "`freewill check`")


def mechanism_names(estimate: ChoiceAwareEstimate) -> list[str]:
    """Return what the mechanisms are called: by the survey, else by what they are."""
    if estimate.evidence is None:
        return [brief(mechanism) for mechanism in estimate.mechanisms]
    return names_of(estimate.evidence, short=True)


def choice_lines(estimate: Estimate) -> list[str]:
    """Say by what the choice depends on the value, how sure that is, and who chooses what."""
    if not isinstance(estimate, ChoiceAwareEstimate):
        return []
    check = estimate.check
    p_value = "" if check is None else f" ({written(check.p_value)})"
    if estimate.is_free:
        return [f"The choice was found free of the value: nothing speaks against it{p_value}."]
    if estimate.basis == "none":
        return [f"The choice depends on the value{p_value}, and no choice law explains how."]
    lines = [
        f"The choice depends on the value{p_value}. Basis: {estimate.basis}, the best of "
        f"{several(len(estimate.fits), 'choice law')} tried; criterion (log-evidence) "
        f"{estimate.criterion:+.4g} beside a free choice, likelihood ratio "
        f"{estimate.likelihood_ratio:.4g}."
    ]
    theta, shares = estimate.theta, estimate.theta @ estimate.choice
    columns = zip(
        mechanism_names(estimate), shares, estimate.choice.T, _deviating(estimate), strict=True
    )
    for name, share, column, deviates in columns:
        who = preference(theta * (column - share), theta, estimate.alphabet)
        words = f"chosen {who}" if deviates else "who prefers it, the reports do not tell"
        lines.append(f"  {printable(name)}, {share:.1%} of all: {words}")
    if len(lines) > _MOST + 1:
        lines[_MOST + 1 :] = [f"  and {len(lines) - _MOST - 1} more: --json has them all."]
    return lines


def _deviating(estimate: ChoiceAwareEstimate) -> list[bool]:
    """Say of which groups the test of free choice finds that their people are not as everybody.

    The law as a whole was found not to be free; single groups may hold too few reports, or too
    noisy ones, to say whom they consist of. All, where nothing was tested.
    """
    if estimate.evidence is None or estimate.check is None:
        return [True] * estimate.choice.shape[1]
    deviating = {group.name for group in estimate.check.deviating}
    return [name in deviating for name in names_of(estimate.evidence)]


def apart(comparison: Comparison) -> str:
    """Say how far two distributions are from each other."""
    if not has_distance(comparison.alphabet):
        return f"no {comparison.distance}: records have none without weights"
    if not math.isfinite(comparison.emd):
        return f"no {comparison.distance}: it is for 1,024 values at most"
    scale, unit = {"km": (1, " km"), "share": (100, " %")}.get(comparison.unit, (1, ""))
    point, low, high = (
        f"{scale * end:.3g}" for end in (comparison.emd, comparison.emd_low, comparison.emd_high)
    )
    return f"{comparison.distance} {point}{unit} ({low} to {high}{unit})"
